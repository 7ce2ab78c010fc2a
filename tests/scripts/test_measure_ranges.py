"""Ranges of recipes are proven by trainings, and only by trainings of the recipe."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import scripts
from zoo.core import paths
from zoo.runs import ranges

MEASURE = scripts.load("maintenance/measure_ranges")
STATED = list(MEASURE.stated())
RANGE = ranges.Range((64, 256), "sqrt", ("float32", "mixed_bfloat16"), {"test_accuracy": 0.99}, (256, 0.02))


@pytest.mark.parametrize(("model", "data", "proven"), STATED, ids=[f"{model}-{data}" for model, data, _ in STATED])
def test_every_stated_range_is_measured_and_reaches_its_target(model: str, data: str, proven: Any) -> None:
    assert MEASURE.missing(model, data, proven, seeds=3) == []
    rows = MEASURE.inside(model, data, proven)
    assert not [row for row in rows if MEASURE.missed(row, proven.target)]
    assert not [row for row in rows if row["commit"].endswith("-dirty")]


def test_a_range_needs_both_ends_and_the_middle_in_every_precision() -> None:
    points = MEASURE.points(RANGE, 3)
    assert {size for size, *_ in points} == {64, 128, 256}
    assert len(points) == 3 * 2 * 3
    wide = ranges.Range((64, 1024), "sqrt", ("float32",), {}, (256, 0.02))
    assert {size for size, *_ in MEASURE.points(wide, 1)} == {64, 256, 1024}


def finished(**changes: Any) -> dict[str, Any]:
    """A run record as far as a measurement needs it."""
    from zoo.config.overrides import Overrides
    from zoo.tasks import registry

    words = ["model=mnist", "backend=cpu", "data=mnist", "trainer.batch_size=64", "trainer.learning_rate=0.01",
             "trainer.precision=float32", *changes.pop("words", [])]  # fmt: skip
    settings = registry.compose_settings("train", Overrides.parse(words))

    machine = {"os": "linux", "os_version": "12", "os_build": "1", "arch": "x86_64", "python_arch": "x86_64",
               "chip": "A Processor", "cores": 2, "memory_bytes": 2**34, "gpus": []}  # fmt: skip
    return {
        "model": "mnist", "exit": "completed", "verb": "train", "git_commit": "1" * 40, "data": {"name": "mnist"},
        "config": json.loads(json.dumps(dataclasses.asdict(settings))), "metrics": {"test_accuracy": 0.9917},
        "stack": {"name": "tf-2.21"}, "versions": {"tensorflow": "2.21.0"}, "machine": machine,
        "finished": "2026-11-26T12:00:00+00:00",
    } | changes  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"git_commit": "1" * 40 + "-dirty"},
        {"exit": "interrupted"},
        {"words": ["preset=smoke"]},
        {"words": ["trainer.epochs=1"]},
        {"words": ["data=fashion"], "data": {"name": "fashion"}},
    ],
    ids=str,
)
def test_what_is_no_measurement(changes: dict[str, Any]) -> None:
    assert MEASURE.row_of(finished(**changes)) is None


def test_runs_are_taken_in_once_and_shown_in_the_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, record in {
        "a": finished(),
        "b": finished(words=["trainer.epochs=1"]),
        "c": finished(words=["seed=2"]),
    }.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text(json.dumps(record))
    monkeypatch.setattr(paths, "RECIPES", tmp_path)
    (tmp_path / "mnist").mkdir()
    monkeypatch.setattr(MEASURE.recipe_status, "promised", lambda *_: {"mnist": {"test_accuracy": 0.99}})
    assert MEASURE.take_in(tmp_path / "runs") == 2
    assert MEASURE.take_in(tmp_path / "runs") == 2
    rows = MEASURE.read("mnist")
    assert [(row["batch_size"], row["seed"], row["value"], row["hardware"]) for row in rows] == [
        (64, 1, 0.9917, "a-processor-16gb"), (64, 2, 0.9917, "a-processor-16gb"),
    ]  # fmt: skip
    assert len(MEASURE.missing("mnist", "mnist", RANGE, 3)) == 18 - 2
    assert not MEASURE.missed(rows[0], RANGE.target)
    assert MEASURE.missed(rows[0] | {"value": 0.9899}, RANGE.target)


def test_measurements_of_an_earlier_recipe_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = MEASURE.row_of(finished())
    monkeypatch.setattr(paths, "RECIPES", tmp_path)
    (tmp_path / "mnist").mkdir()
    MEASURE.file("mnist").write_text(json.dumps([row, row | {"seed": 2, "recipe_sha256": "0" * 64}]))
    assert [each["seed"] for each in MEASURE.read("mnist")] == [1]
