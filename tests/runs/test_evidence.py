"""What counts as evidence, and what must not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHECKOUT
from zoo.config import config_files
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import stacks
from zoo.runs import evidence

OWN = {
    "grade": "measured",
    "stack": "tf-2.21",
    "platform": "linux-x86_64",
    "machine": "Linux, x86_64, 2 cores",
    "hardware": "some-xeon-24gb",
    "os_build": None,
    "device": {"name": "/job:localhost/replica:0/task:0/device:CPU:0", "device_kind": "cpu", "proof": "matmul"},
    "data": {"name": "mnist", "sha256": "0" * 64, "train_items": 54000, "test_items": 10000},
    "metric": "test_accuracy",
    "value": 0.9912,
    "expected": 0.99,
    "seconds": {"train_s": 120.5},
    "versions": {"keras": "3.15.1"},
    "date": "2026-11-21",
    "commit": "0123456789" * 4,
    "command": "python -m zoo validate model=mnist backend=cpu data.root=DATA",
    "source": None,
    "preset": "full",
}
TOLD = OWN | {
    "grade": "reported", "commit": None, "command": None, "versions": {}, "expected": None,
    "preset": None, "date": "2021", "source": "https://example.org/article",
}  # fmt: skip


def refusal(row: dict[str, Any], path: Path) -> str:
    with pytest.raises(ZooError) as caught:
        evidence.add(path, row)
    assert not path.exists()
    return str(caught.value)


def test_a_row_is_kept_as_it_is_and_another_of_its_kind_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "mnist" / "cpu.validated.json"
    evidence.add(path, OWN)
    evidence.add(path, TOLD)
    assert evidence.read_file(path) == [OWN, TOLD]
    again = OWN | {"value": 0.9934, "date": "2026-11-22"}
    assert evidence.add(path, again) == [again, TOLD] == evidence.read_file(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "other",
    [
        {"grade": "stand-in"},
        {"stack": "tf-2.5"},
        {"platform": "macos-arm64"},
        {"hardware": "another-xeon-24gb"},
        {"data": OWN["data"] | {"name": "digits"}},
        {"preset": "smoke", "expected": None},
        {"device": {"name": "GPU:0", "device_kind": "gpu", "proof": "matmul", "description": "Apple M1"}},
        {"changed": ["trainer.epochs=3"], "expected": None},
    ],
    ids=lambda other: next(iter(other)),
)
def test_rows_that_stand_for_other_things_stay(tmp_path: Path, other: dict[str, Any]) -> None:
    path = tmp_path / "cpu.validated.json"
    evidence.add(path, OWN)
    assert len(evidence.add(path, OWN | other)) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grade": "mesured"}, "did you mean 'measured'"),
        ({"commit": None}, "needs commit"),
        ({"versions": {}}, "needs versions"),
        ({"hardware": ""}, "needs hardware"),
        ({"command": None}, "needs command"),
        ({"value": None}, "needs value"),
        ({"value": float("nan")}, "value is nan"),
        ({"value": True}, "value: expected a number or null, got True"),
        ({"device": {"name": "GPU", "device_kind": "gpu", "proof": None}}, "needs device.proof"),
        ({"data": {"name": "mnist", "sha256": None}}, "needs data.sha256"),
        ({"preset": "smoke"}, "has no expectation, but expected is"),
        ({"date": "yesterday"}, "not an ISO date"),
        ({"devise": {}}, "did you mean 'device'"),
        ({"command": "python -m zoo validate data.root=/home/somebody/mnist"}, "a path of one machine"),
        ({"machine": "my ~/models"}, "a path of one machine"),
        ({"seconds": {"train_s": "long"}}, "seconds.train_s: expected a number"),
    ],
)
def test_what_the_zoo_did_not_do_is_not_measured(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    assert words in refusal(OWN | change, tmp_path / "x.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": None}, "needs a source"),
        ({"commit": "0" * 40}, "the zoo did not run it"),
        ({"value": None, "seconds": {}}, "a note that says what was reported"),
    ],
)
def test_what_is_reported_says_by_whom(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    assert words in refusal(TOLD | change, tmp_path / "x.json")


def test_all_problems_of_a_row_are_told_at_once(tmp_path: Path) -> None:
    text = refusal(OWN | {"commit": "", "versions": {}, "date": "?"}, tmp_path / "x.json")
    assert text.count("  - ") == 3


@pytest.mark.parametrize("text", ["{", '{"grade": "measured"}', '[{"grade": "measured"}]'])
def test_a_damaged_file_is_told_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cpu.validated.json"
    path.write_text(text)
    with pytest.raises(ZooError):
        evidence.read_file(path)
    with pytest.raises(ZooError):
        evidence.add(path, OWN)
    assert path.read_text() == text


def test_nothing_recorded_is_no_error() -> None:
    assert evidence.read("mnist", "nothing") == []


def test_words_name_grade_figure_place_and_what_was_changed() -> None:
    text = evidence.words(OWN)
    assert text == (
        "measured: test_accuracy 0.9912 (at least 0.99: reached), 120.5 s of training on mnist, "
        "tf-2.21 on linux-x86_64, CPU:0 of some-xeon-24gb"
    )
    smoke = evidence.words(OWN | {"preset": "smoke", "expected": None, "changed": ["trainer.epochs=3"]})
    assert "only shows that it trains" in smoke
    assert "reached" not in smoke
    assert smoke.endswith("with trainer.epochs=3")
    assert "missed" in evidence.words(OWN | {"value": 0.5})


FILES = [path.relative_to(paths.RECIPES) for path in paths.RECIPES.rglob(f"*{evidence.SUFFIX}")]
RECORDED = sorted((path.parent.as_posix(), path.name.removesuffix(evidence.SUFFIX)) for path in FILES)


@pytest.mark.parametrize(("model", "backend"), RECORDED, ids=lambda name: name.replace("/", "-"))
def test_every_row_of_the_zoo_is_of_a_model_backend_and_stack_that_exist(model: str, backend: str) -> None:
    rows = evidence.read(model, backend)
    assert model in config_files.options("model")
    assert backend in config_files.options("backend")
    for row in rows:
        stack = stacks.load(row["stack"])
        assert row["preset"] in ("full", None), "a smoke-sized training validates nothing"
        assert not str(row["commit"]).endswith("-dirty"), "nobody can repeat a training of uncommitted changes"
        if row["grade"] != "reported":
            platform = stack.platforms[row["platform"]]
            assert (row["grade"] == "stand-in") == (platform.stand_in_for is not None)
    text = evidence.file(model, backend).read_text(encoding="utf-8")
    assert str(paths.ROOT) not in text
    assert str(Path.home()) not in text


def test_there_are_rows_and_figures_of_others() -> None:
    assert ("mnist_conv5", "cuda-mac") in RECORDED
    figures = {row["stack"]: row["figure"] for row in evidence.published()}
    assert figures["torch 2.1, mps"] == 0.658


def test_figures_are_by_the_models_they_are_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "RECIPES", tmp_path)
    row = {"what": "a", "machine": "b", "platform": None, "stack": "c", "figure": 1.5, "unit": "s", "date": "2020",
           "source": "d"}  # fmt: skip
    noted = row | {"figure": None, "unit": None, "note": "faster", "about": ["mnist"]}
    rows = [row, row | {"about": ["mnist", "matmul"]}, noted]
    (tmp_path / "reported.yaml").write_text(json.dumps({"figures": rows}))
    assert evidence.published() == rows
    assert evidence.published_about("mnist") == rows[1:]
    assert evidence.published_about("matmul") == rows[1:2]
    assert evidence.published_about("lenet") == []


def test_a_file_of_figures_contains_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "RECIPES", tmp_path)
    assert evidence.published() == []
    (tmp_path / "reported.yaml").write_text("[]")
    with pytest.raises(ZooError, match="a list called figures"):
        evidence.published()


def test_the_page_of_recipes_is_up_to_date() -> None:
    import importlib.util

    place = CHECKOUT / "scripts" / "maintenance" / "recipes_page.py"
    spec = importlib.util.spec_from_file_location("recipes_page", place)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.main(["--check"]) == 0
    page = script.PAGE.read_text(encoding="utf-8")
    for model in config_files.options("model"):
        assert f"## {model}\n" in page


@pytest.mark.parametrize(
    ("direction", "value", "verdict"),
    [("at_most", 1.79, "reached"), ("at_most", 2.5, "missed"), ("at_least", 1.79, "missed"), (None, 2.5, "reached")],
)
def test_a_figure_is_held_against_its_bound_in_the_bound_s_direction(
    tmp_path: Path, direction: str | None, value: float, verdict: str
) -> None:
    row = OWN | {"metric": "val_loss", "value": value, "expected": 1.88}
    row |= {"direction": direction} if direction else {}
    evidence.add(tmp_path / "cpu.validated.json", row)
    (kept,) = evidence.read_file(tmp_path / "cpu.validated.json")
    assert evidence.verdict(kept) == verdict
    assert f"({'at most' if direction == 'at_most' else 'at least'} 1.88: {verdict})" in evidence.figure(kept)


def test_an_unknown_direction_is_refused(tmp_path: Path) -> None:
    assert "direction 'above' is not one of at_least, at_most" in refusal(
        OWN | {"direction": "above"}, tmp_path / "a.json"
    )
