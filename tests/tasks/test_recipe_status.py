"""Which recorded trainings count, what is known of a recipe on a backend, and what is left to validate."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.core.files import file_sha256
from zoo.environments import backends, machine, stacks
from zoo.runs import evidence
from zoo.tasks import recipe_status

HERE = machine.Machine(
    os="linux", os_version="12", os_build="1", arch="x86_64", python_arch="x86_64", chip="A Processor", cores=2,
    memory_bytes=2**34, cpu_features=["avx", "avx2", "fma"], glibc="2.36",
)  # fmt: skip


def training(model: str = "mnist", stack: str = "tf-2.21", **changes: Any) -> evidence.Row:
    lock = stacks.lock_file(stacks.load(stack), "linux-x86_64")
    return {
        "grade": "measured", "stack": stack, "platform": "linux-x86_64", "machine": "m", "os_build": None,
        "hardware": machine.hardware(HERE), "device": {"name": "CPU:0", "device_kind": "cpu", "proof": "matmul"},
        "data": {"name": "mnist", "sha256": "0" * 64}, "metric": "test_accuracy", "value": 0.9912, "expected": 0.99,
        "seconds": {"train_s": 60.0}, "versions": stacks.pins(lock), "date": "2026-11-26", "commit": "1" * 40,
        "command": "python -m zoo validate", "source": None, "preset": "full", "changed": [],
        "lock_sha256": file_sha256(lock), "recipe_sha256": recipe_status.recipe_sha256(model, "cpu", "mnist"),
    } | changes  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"grade": "reported", "recipe_sha256": None, "lock_sha256": None}, ""),
        ({"preset": "smoke"}, "not the whole recipe"),
        ({"changed": ["trainer.epochs=1"]}, "not the whole recipe"),
        ({"commit": "1" * 40 + "-dirty"}, "of a checkout with uncommitted changes"),
        ({"recipe_sha256": "0" * 64}, "stale: the recipe has changed"),
        ({"recipe_sha256": None}, "stale: the recipe has changed"),
        ({"lock_sha256": "0" * 64}, "stale: the lock has changed"),
        ({"stack": "tf-9"}, "stale: the lock has changed"),
    ],
)
def test_which_trainings_count(changes: dict[str, Any], reason: str) -> None:
    assert recipe_status.discounted("mnist", "cpu", training() | changes) == reason


def test_the_checksum_of_a_recipe_follows_what_it_computes_and_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe_status.recipe_sha256("mnist", "cpu", "mnist")
    assert recipe_status.recipe_sha256("mnist", "metal", "mnist") == before
    assert recipe_status.recipe_sha256("mnist", "cpu", "fashion") != before
    assert recipe_status.recipe_sha256("transformer/lm", "cpu", "text_file") != recipe_status.recipe_sha256(
        "transformer/lm", "plaidml", "text_file"
    )
    compose = recipe_status.compose.compose

    def changed(key: str, value: Any) -> str:
        def composed(*given: Any) -> Any:
            settings: Any = compose(*given)
            setattr(settings.trainer, key, value)
            return settings

        monkeypatch.setattr(recipe_status.compose, "compose", composed)
        return recipe_status.recipe_sha256("mnist", "cpu", "mnist")

    assert changed("hang_minutes", 7.0) == before
    assert changed("epochs", 3) != before


def test_the_best_grade_and_its_newest_keras_are_shown() -> None:
    rows = [training(), training(stack="torch", versions={"torch": "2.15.0", "keras": "3.9.0"}),
            training(recipe_sha256="0" * 64)]  # fmt: skip
    known = recipe_status.status("mnist", backends.load("cpu"), rows)
    assert (known.grade, known.stack, known.stale) == ("measured", "tf-2.21", 1)
    assert known.words == f"measured: tensorflow 2.21.0, keras {known.versions['keras']}, 2026-11-26 (1 stale)"
    assert known.result.startswith("test_accuracy 0.9912 (at least 0.99: reached)")


def test_a_stand_in_counts_for_the_backend_that_it_stands_in_for_and_for_its_recipe_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "user_dir", lambda: tmp_path)
    file = evidence.own_file("mnist", "cpu")
    evidence.add(file, training(stack="tf-2.19", grade="stand-in"))
    evidence.add(file, training(stack="tf-2.21"))
    metal = backends.load("metal")
    known = recipe_status.status("mnist", metal, recipe_status.rows_of("mnist", metal)[-1:])
    assert (known.grade, known.stack) == ("stand-in", "tf-2.19")
    assert not [row for row in recipe_status.rows_of("mnist", backends.load("cuda")) if row["hardware"]]


@pytest.mark.parametrize(("file", "grade"), [(stacks.LINKED_FILE, "linked"), ("none.json", "resolved")])
def test_without_a_training_the_lock_says_what_is_resolved_and_linked(
    file: str, grade: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "LINKED_FILE", file)
    known = recipe_status.status("mobilenet", backends.load("cuda"), [])
    assert (known.grade, known.stack, known.result) == (grade, "torch-cuda", "")
    assert known.words.startswith(f"{grade}: torch 2.15.0, keras 3.15.1, ")
    assert recipe_status.status("mnist", backends.load("cuda-mac"), []).words == "-"


def test_linked_files_are_better_than_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    load = stacks.load

    def linked(name: str) -> stacks.Stack:
        row = stacks.Evidence("linked", "macos-arm64", "metal", "its files fit together", "scripts/link_check.py")
        stack = load(name)
        others = [each for each in stack.evidence if each.grade != "linked"]
        return dataclasses.replace(stack, evidence=[*others, *([row] if name == "tf-2.12" else [])])

    monkeypatch.setattr(stacks, "load", linked)
    known = recipe_status.status("mobilenet", backends.load("metal"), [])
    assert (known.grade, known.stack) == ("linked", "tf-2.12")


def planned(*words: str) -> list[str]:
    plans = [each.overrides for each in recipe_status.planned(Overrides.parse(words), HERE)]
    return [" ".join(str(each.get(key)) for key in ("model", "backend", "stack")) for each in plans]


def test_what_is_validated_here_is_left_out_and_every_stack_is_planned_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "user_dir", lambda: tmp_path)
    first = planned("model=mnist")
    assert "mnist jax jax" in first
    assert "mnist plaidml plaidml-0.7" in first
    assert "mnist cpu mlx" in first
    assert "mnist cpu tf-2.21" in first
    assert len({text.split()[2] for text in first}) == len(first)
    assert "mnist cpu export" not in first
    evidence.add(evidence.own_file("mnist", "cpu"), training())
    evidence.add(evidence.own_file("mnist", "cpu"), training(stack="torch", recipe_sha256="0" * 64))
    left = planned("model=mnist", "stack=tf-2.21,torch")
    assert left == ["mnist cpu torch"]


def test_data_are_found_by_name_or_by_checksum(tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    (tmp_path / "deep").mkdir()
    play = tmp_path / "deep" / "play.txt"
    play.write_text("To be")
    assert recipe_status.data_root(tmp_path, "mnist", None) == tmp_path / "mnist"
    assert recipe_status.data_root(tmp_path, "text_file", file_sha256(play)) == play
    assert recipe_status.data_root(tmp_path, "text_file", "0" * 64) == tmp_path / "text_file"


def test_the_settings_of_a_promise_come_with_the_paths_of_its_files(tmp_path: Path) -> None:
    weights = tmp_path / "weights.h5"
    weights.write_text("0.25")
    checksum = file_sha256(weights)
    promise = {"settings": {"model": {"alpha": 0.25}, "weights_checksum": checksum}, "test_accuracy": 0.8}
    own = {"model.alpha": 0.25, "weights_checksum": checksum}
    assert recipe_status.promised_settings(promise, "folder", None) == own
    places = {"weights": str(weights), "data.root": str(tmp_path / "folder")}
    assert recipe_status.promised_settings(promise, "folder", tmp_path) == own | places


def test_time_left_follows_earlier_trainings_and_those_that_are_done() -> None:
    none = Overrides()
    known, unknown = recipe_status.Planned(none, 120.0), recipe_status.Planned(none, None)
    assert recipe_status.seconds_left([unknown], []) is None
    assert recipe_status.seconds_left([known, unknown], []) == 240.0
    assert recipe_status.seconds_left([known, unknown], [60.0]) == 210.0
