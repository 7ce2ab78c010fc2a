"""The search for a recipe that gets to its result sooner."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import real_stacks, scripts
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.tasks import registry

tune = scripts.load("tune")
SPACE = tune.Space("val_accuracy", {"digits": 0.95}, {
    "trainer.batch_size": {"choices": [16, 64]},
    "trainer.learning_rate": {"low": 0.001, "high": 0.1, "log": True},
    "trainer.epochs": {"low": 2, "high": 9},
})  # fmt: skip


def search(folder: Path, seed: int = 1) -> Any:
    pytest.importorskip("optuna")
    return tune.Search(folder, SPACE, ["model=mnist_dense"], 0.95, seed)


def trained(monkeypatch: pytest.MonkeyPatch, seconds: Any) -> list[list[str]]:
    """Trainings that take as long as told; they begin far from the target and come nearer every second."""
    asked: list[list[str]] = []

    def train(settings: list[str], folder: Path, metric: str, target: float, goes_on: Any) -> Any:
        asked.append(settings)
        needed = seconds(settings)
        if isinstance(needed, BaseException):
            raise needed
        for epoch in range(1, 100):
            if epoch >= needed:
                return tune.Ended(needed, folder)
            if not goes_on(epoch, target - (needed - epoch) / 100, float(epoch)):
                return tune.Ended(None, folder)
        return tune.Ended(None, folder)

    monkeypatch.setattr(tune, "train", train)
    return asked


def value(settings: list[str], name: str) -> float:
    return float(next(text for text in settings if text.startswith(f"{name}=")).partition("=")[2])


def by_batch(settings: list[str]) -> float:
    return value(settings, "trainer.batch_size") / 4 + value(settings, "trainer.learning_rate")


def test_the_soonest_is_found_and_the_slower_are_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = trained(monkeypatch, by_batch)
    study = search(tmp_path)
    study.run(10)
    assert len(asked) == 10
    assert study.best.params["trainer.batch_size"] == 16
    assert study.best.value == pytest.approx(4, abs=0.11)
    assert study.counts()["pruned"] > 0
    for settings in asked:
        assert value(settings, "trainer.epochs") in range(2, 10)
        assert "seed=1" in settings


def test_a_study_goes_on_after_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([5.0, 4.0, KeyboardInterrupt()])
    trained(monkeypatch, lambda _: next(answers))
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path).run(5)
    again = search(tmp_path)
    assert again.best.value == 4.0
    trained(monkeypatch, lambda _: 3.0)
    again.run(1)
    assert (again.best.value, again.counts()["trials"]) == (3.0, 3)
    with pytest.raises(ZooError, match="other settings"):
        search(tmp_path, seed=2)


def test_ctrl_c_writes_the_winner_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("optuna")
    answers = iter([5.0, KeyboardInterrupt()])
    trained(monkeypatch, lambda _: next(answers))
    arguments = ["--study", str(tmp_path / "study"), "--output", str(tmp_path / "kept.json"), "--stack", "tf-2.21"]
    assert tune.main(arguments) == 0
    (row,) = json.loads((tmp_path / "kept.json").read_text())
    assert (row["search_s"], row["trials"], row["confirmed_s"]) == (5.0, 1, {"recipe": [], "winner": []})
    assert set(row["values"]) == set(tune.space_of("mnist_dense", "cpu").values)
    assert "start the same command again" in capsys.readouterr().out


def test_the_winner_is_confirmed_in_turns_and_kept_with_its_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = trained(monkeypatch, lambda settings: 2.0 if "trainer.batch_size" in " ".join(settings) else 6.0)
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps([{"data": "mnist", "stack": "tf-2.21", "machine": "x", "fixed": []}]))
    arguments = ["--study", str(tmp_path / "study"), "--output", str(kept), "--stack", "tf-2.21"]
    pytest.importorskip("optuna")
    assert tune.main([*arguments, "--trials", "2", "--confirm", "2"]) == 0
    other, row = json.loads(kept.read_text())
    assert other["data"] == "mnist"
    assert row["confirmed_s"] == {"recipe": [6.0, 6.0], "winner": [2.0, 2.0]}
    assert (row["times_as_fast"], row["trials"], row["seed"], row["grade"]) == (3.0, 2, 1, "measured")
    assert row["machine"]
    assert row["date"]
    assert [settings[-1] for settings in asked[2:]] == ["seed=2", "seed=2", "seed=3", "seed=3"]


def test_what_was_luck_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("optuna")
    trained(monkeypatch, lambda settings: 2.0 if "seed=1" in settings else 1000.0)
    arguments = ["--study", str(tmp_path / "study"), "--output", str(tmp_path / "kept.json"), "--stack", "tf-2.21"]
    assert tune.main([*arguments, "--trials", "2"]) == 1
    assert "nothing is written" in capsys.readouterr().out
    assert not (tmp_path / "kept.json").exists()


def test_mistakes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert tune.main(["--model", "mobilenet"]) == 1
    assert "declares no search space" in capsys.readouterr().err
    assert tune.main(["--data", "folder"]) == 1
    assert "names no target for folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert tune.main(["--study", str(tmp_path), "--stack", "tf-2.21"]) == 1
    assert "keras-gpu-zoo[tune]" in capsys.readouterr().err
    monkeypatch.setattr(paths, "CONFIGS", tmp_path)
    (tmp_path / "tune" / "m").mkdir(parents=True)
    (tmp_path / "tune" / "m" / "cpu.yaml").write_text("metric: val_accuracy\ntarget: {}\nvalues: {a: {low: 1}}\n")
    with pytest.raises(ZooError, match="give choices, or low and high"):
        tune.space_of("m", "cpu")


def test_every_space_names_settings_that_there_are() -> None:

    files = sorted((paths.CONFIGS / "tune").rglob("*.yaml"))
    assert files
    for path in files:
        model = path.parent.relative_to(paths.CONFIGS / "tune").as_posix()
        space = tune.space_of(model, path.stem)
        for name, row in space.values.items():
            for each in row.get("choices") or [row["low"], row["high"]]:
                registry.compose_settings(
                    "train", [f"model={model}", f"backend={path.stem}", "data=digits", f"{name}={each}"]
                )


@pytest.mark.slow
@pytest.mark.stacks("tf-1.8")
def test_a_training_ends_when_it_has_reached_the_target(tmp_path: Path) -> None:
    real_stacks.environment("tf-1.8")
    fixed = ["model=mnist_dense", "data=digits", "stack=tf-1.8", "backend=cpu", "backend.probes=false"]
    seen: list[int] = []

    def goes_on(epoch: int, value: float, seconds: float) -> bool:
        seen.append(epoch)
        return True

    began = time.monotonic()
    ended = tune.train([*fixed, "trainer.epochs=2000"], tmp_path / "run", "val_accuracy", 0.5, goes_on)
    assert ended.seconds is not None
    assert 0 < ended.seconds < time.monotonic() - began
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["exit"] == "interrupted"
    assert not tune.train([*fixed, "trainer.epochs=2"], tmp_path / "again", "val_accuracy", 2.0, goes_on).seconds
