"""Calibration: which point is taken, what the user's own settings leave to choose, and what is remembered."""

import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import machines
from zoo.cli.main import main
from zoo.config import config_files
from zoo.core import paths
from zoo.environments import machine
from zoo.execution import calibration

Train = Callable[..., dict[str, Any]]
ROW = {"batch_size": [16, 128], "learning_rate": "sqrt", "precisions": ["float32", "mixed_bfloat16"]}
# Of the recipe of mnist for digits.
RATE = 0.02


@pytest.fixture
def train(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """Train mnist on digits, for which the recipe has a range; return the record of the run."""
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: ROW)

    def run(*settings: str, script: str = "ok", status: int = 0, name: str = "a") -> dict[str, Any]:
        monkeypatch.setenv("FAKE_WORKER", script)
        begun = [] if any(word.startswith("resume=") for word in settings) else [
            "model=mnist", "data=digits", "trainer.calibrate=true", f"output.name={name}"]  # fmt: skip
        assert main(["train", *begun, *settings]) == status
        record: dict[str, Any] = json.loads(Path("runs", name, "run.json").read_text())
        return record

    return run


def point(record: dict[str, Any]) -> tuple[Any, ...]:
    """Batch size, learning rate and precision of a run, and what set them."""
    names = ("batch_size", "learning_rate", "precision")
    return tuple((record["config"]["trainer"][name], record["set_by"].get(f"trainer.{name}")) for name in names)


def timed(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(row["batch_size"], row["precision"], row.get("items_per_s", row.get("problem")))
            for row in record["calibration"]["rows"]]  # fmt: skip


def test_the_fastest_point_is_taken_and_recorded(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    record = train()
    assert point(record) == ((128, "calibration"), (2 * RATE, "calibration"), ("float32", "calibration"))
    assert timed(record) == [(32, "float32", 320), (32, "mixed_bfloat16", 128),
                             (64, "float32", 640), (128, "float32", 1280)]  # fmt: skip
    assert record["calibration"]["taken"]["trainer.batch_size"] == 128
    sent = json.loads(Path("runs/a/request.json").read_text())
    assert (sent["train"]["batch_size"], sent["train"]["learning_rate"]) == (128, 2 * RATE)
    assert "calibration" not in sent
    shown = capsys.readouterr().err
    assert "Calibrating: at most 10 s" in shown
    assert "  batch_size=128 precision=float32: 1,280 items/s" in shown
    assert "trainer.batch_size=128 trainer.learning_rate=0.04 trainer.precision=float32, 4.00 times" in shown


def test_a_range_of_a_promise_with_other_settings_is_not_used(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"settings": {"model": {"dropout": 0.3}}, "test_accuracy": 0.9}
    settle = calibration.settle

    def with_settings(context: Any, *arguments: Any) -> None:
        context.settings.expect["digits"] = own
        settle(context, *arguments)

    monkeypatch.setattr(calibration, "settle", with_settings)
    assert point(train())[0] == (32, "data")
    assert "has no measured range for data=digits" in capsys.readouterr().err
    assert point(train("model.dropout=0.3", name="b"))[0] == (128, "calibration")


def test_an_interrupted_run_is_resumed_at_its_point(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    train("trainer.epochs=9", "trainer.on_oom=stop", script="dies-once", status=1)
    capsys.readouterr()
    record = train("resume=runs/a")
    assert "alibrat" not in capsys.readouterr().err
    assert record["exit"] == "completed"
    assert point(record)[0] == (128, "calibration")
    assert json.loads(Path("runs/a/request.json").read_text())["train"]["batch_size"] == 128


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (["trainer.batch_size=48"], ((48, "user"), (RATE, "recipe"), ("float32", "calibration"))),
        (["trainer.learning_rate=0.01"], ((32, "data"), (0.01, "user"), ("float32", "calibration"))),
        (["trainer.precision=mixed_bfloat16"],
         ((128, "calibration"), (2 * RATE, "calibration"), ("mixed_bfloat16", "user"))),
    ],
)  # fmt: skip
def test_what_the_user_sets_stays(train: Train, given: list[str], taken: tuple[Any, ...]) -> None:
    assert point(train(*given)) == taken


@pytest.mark.parametrize("script", ["oom", "aborts"])
def test_a_size_that_needs_too_much_memory_is_not_taken(train: Train, script: str) -> None:
    record = train(script=script)
    assert point(record) == ((32, "data"), (RATE, "recipe"), ("float32", "calibration"))
    assert timed(record)[-1] == (64, "float32", "out of memory")
    assert record["exit"] == "completed"


def test_a_size_that_turns_out_too_large_later_is_halved(train: Train) -> None:
    taken = train()["calibration"]
    train(script="oom", name="other")
    for path in (paths.cache_dir() / "calibrations").iterdir():
        path.write_text(json.dumps(taken))
    record = train(script="oom", name="later")
    assert (point(record)[0], record["adjusted"]) == ((128, "calibration"), {"trainer.batch_size": 32})
    assert (record["exit"], record["set_by"]["trainer.on_oom"]) == ("completed", "calibration")
    assert train("trainer.on_oom=stop", script="oom", name="stops", status=1)["exit"] == "failed"


def test_where_the_first_point_is_killed_smaller_batches_are_tried(train: Train) -> None:
    record = train(script="starved", status=1)  # so is the training, at any size
    assert timed(record) == [(32, "float32", "out of memory"), (16, "float32", 160),
                             (16, "mixed_bfloat16", 64)]  # fmt: skip
    assert point(record)[0] == (16, "calibration")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["trainer.batch_size=64", "trainer.precision=float32"], "batch size and precision are given"),
        (["distributed.processes=2", "stack=torch"], "processes share the batches"),
    ],
)
def test_it_says_why_there_is_nothing_to_time(
    train: Train, settings: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = train(*settings)
    assert f"Not calibrated: {why}" in capsys.readouterr().err
    assert "calibration" not in record


def test_a_recipe_without_a_range_is_not_calibrated(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: {})
    assert "calibration" not in train()
    assert "the recipe of mnist has no measured range for data=digits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "backend", "settings", "calibrates"),
    [
        ("m1_pro", "mps", (), True),
        ("m1_pro", "mps", ("trainer.calibrate=false",), False),
        ("m1_pro", "mps", ("preset=smoke",), False),
        ("m1_pro", "mps", ("preset=smoke", "trainer.calibrate=true"), True),
        ("m1_pro", "cpu", (), False),
    ],
)
def test_gpus_calibrate_by_themselves(
    train: Train,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    backend: str,
    settings: tuple[str, ...],
    calibrates: bool,
) -> None:
    monkeypatch.setattr(machine, "probe", lambda: machines.load(name))
    record = train("trainer.calibrate=null", f"backend={backend}", *settings)
    assert ("calibration" in record) is calibrates


def test_results_are_kept_for_machine_stack_model_and_input(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, numbers = machine.probe(), itertools.count()
    monkeypatch.setattr(machine, "probe", lambda: here)

    def is_timed(*settings: str) -> bool:
        assert point(train(*settings, name=f"run{next(numbers)}"))[0] == (128, "calibration")
        return "Calibrating" in capsys.readouterr().err

    assert is_timed()
    assert not is_timed()
    assert not is_timed("trainer.epochs=3", "seed=4")
    assert is_timed("model.dropout=0.3")
    assert is_timed("augment.flip=true")
    assert is_timed("trainer.optimizer=sgd")
    assert is_timed("stack=torch", "backend=cpu")
    monkeypatch.setattr(machine, "probe", lambda: dataclasses.replace(here, chip="another"))
    assert is_timed()
    monkeypatch.setattr(machine, "probe", lambda: here)
    assert not is_timed()
    for each in (paths.cache_dir() / "calibrations").iterdir():
        each.write_text("[]")
    assert is_timed()


def test_a_point_that_is_hardly_faster_is_not_taken(
    train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train()
    (path,) = (paths.cache_dir() / "calibrations").iterdir()
    content = json.loads(path.read_text())
    for factor, size, by in ((1.09, 32, "data"), (1.11, 128, "calibration")):
        content["rows"][-1]["items_per_s"] = 640 * factor
        content["rows"][0]["items_per_s"] = content["rows"][-2]["items_per_s"] = 640
        path.write_text(json.dumps(content))
        assert point(train(name=f"times{size}"))[0] == (size, by)


def test_a_worker_that_fails_says_why(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["model=mnist", "data=digits", "trainer.calibrate=true"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_WORKER", "error")
        assert main(["train", *settings]) == 1
    assert "it does not work" in capsys.readouterr().err
    assert not (paths.cache_dir() / "calibrations").exists()
