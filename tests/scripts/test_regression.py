"""The project's own check for recipes that became slower."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import SUPPORT, scripts
from zoo.core import paths

SLOWER = SUPPORT / "slower_recipe.py"


regression = scripts.load("benchmarks/regression")
ratios = scripts.load("benchmarks/ratios")


def measured(ratio: float) -> Any:
    return regression.Measured(ratio, ratio * 0.9, ratio * 1.1, 60)


ROWS = [{"machine": "here", "ratio": 10.0}, {"machine": "there", "ratio": 5.0}]


@pytest.mark.parametrize(("ratio", "code"), [(10.0, 0), (10.9, 0), (11.1, 1), (12.0, 1), (4.0, 0)])
def test_a_ratio_is_held_against_the_one_of_this_machine(ratio: float, code: int) -> None:
    status, words = regression.verdict(measured(ratio), ROWS, "here", 0.1)
    assert status == code
    assert ("SLOWER" in words) == (code == 1)


def test_another_machine_is_not_compared_but_told() -> None:
    code, words = regression.verdict(measured(99.0), ROWS, "elsewhere", 0.1)
    assert code == 2
    assert "not compared" in words
    assert "10.00 on here; 5.00 on there" in words
    assert regression.verdict(measured(99.0), [], "here", 0.1)[0] == 2


def test_on_a_busy_machine_nothing_is_called_slower() -> None:
    busy = regression.Measured(20.0, 18.0, 22.0, 60, 3.0)
    code, words = regression.verdict(busy, ROWS, "here", 0.1)
    assert code == 2
    assert "others work on this machine" in words


def test_the_least_of_several_processes_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([measured(9.0), measured(8.0), measured(10.0)])
    monkeypatch.setattr(regression, "measure", lambda *_: next(answers))
    assert regression.best("mnist_dense", "tf-2.21", []).ratio == 8.0


def test_a_recorded_ratio_replaces_only_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mnist").mkdir()
    monkeypatch.setattr(paths, "RECIPES", tmp_path)
    monkeypatch.setattr(regression.store, "ensure", lambda *_: type("Ready", (), {"lock_sha256": "0"}))
    for settings, ratio in ([[], 10.0], [["trainer.batch_size=8"], 3.0], [[], 11.0]):
        regression.record("mnist", "tf-2.21", settings, measured(ratio))
    assert [row["ratio"] for row in regression.recorded("mnist", "tf-2.21", [])] == [11.0]
    assert [row["ratio"] for row in regression.recorded("mnist", "tf-2.21", ["trainer.batch_size=8"])] == [3.0]
    assert (
        regression.verdict(measured(11.0), regression.recorded("mnist", "tf-2.21", []), regression.here(), 0.1)[0] == 0
    )


def test_ratios_of_several_scripts_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    rows = [ratios.row("MobileNet, inference", "openvino", "Keras", [4.0, 5.0, 4.5], 0.31),
            ratios.row("style", "torch", "Keras's example", [12.5], note="one thread")]  # fmt: skip
    ratios.write(tmp_path / "a.json", rows)
    ratios.write(tmp_path / "b.json", [rows[0] | {"machine": "another", "date": "2026-01-01"}])
    monkeypatch.setattr(sys, "argv", ["ratios.py", "--markdown", *map(str, sorted(tmp_path.iterdir()))])
    assert ratios.main() == 0
    said = capsys.readouterr().out
    assert "4.50 (4.00 to 5.00)" in said
    assert "31 %" in said
    assert "style: one thread" in said
    assert "another; measured 2026-01-01" in said
    encoder = {"mode": "evaluation", "precision": "float32", "stack": "torch", "grade": "measured", "repeats": 3}
    encoder |= {"fastest_s": 1.9, "slowest_s": 2.1, "share_of_peak": 0.5, "machine": "m", "date": "2026-01-01T00"}
    timed = [encoder | {"implementation": name, "median_s": taken, "git_commit": None}
             for name, taken in (("zoo", 2.0), ("zoo", 3.0), ("torch", 4.0))]  # fmt: skip
    (tmp_path / "b.json").write_text(json.dumps(timed))
    (row,) = ratios.read(tmp_path / "b.json")
    assert (row["times_as_fast"], row["share_of_peak"]) == (2.0, 0.5)
    stacks = {"network": "mnist", "mode": "training", "batch_size": 32, "rounds": 3, "share_of_peak": 0.2}
    stacks |= {"machine": "m", "date": "2026-01-01T00", "git_commit": None, "precision": "float32"}
    rows = [stacks | {"stack": name, "times_the_first": times, "times_the_first_q1": low, "times_the_first_q3": high}
            for name, times, low, high in (("tf-2.21", 1.0, 1.0, 1.0), ("torch", 0.5, 0.4, 0.8))]  # fmt: skip
    (tmp_path / "b.json").write_text(json.dumps([*rows, stacks | {"stack": "jax", "times_the_first": None}]))
    (row,) = ratios.read(tmp_path / "b.json")
    assert (row["against"], row["times_as_fast"], row["least"], row["most"]) == ("torch, float32", 2.0, 1.25, 2.5)
    monkeypatch.setattr(sys, "argv", ["ratios.py", str(tmp_path / "b.json"), "--output", str(tmp_path / "all.json")])
    assert ratios.main() == 0
    assert ratios.read(tmp_path / "all.json") == [row]
    (tmp_path / "b.json").write_text('[{"what": 1}]')
    assert ratios.main() == 1


@pytest.mark.stacks("tf-2.21")
def test_a_recipes_steps_are_measured_in_products() -> None:
    measured = regression.measure("mnist_dense", "tf-2.21", ["trainer.batch_size=8"], seconds=0.1)
    assert 0 < measured.q1 <= measured.ratio <= measured.q3
    assert measured.count >= 8


@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.stacks("tf-2.21")
def test_a_planted_fifth_is_caught_and_an_unchanged_recipe_passes() -> None:
    """The slower recipe is measured between two measurements of the unchanged one. A machine whose speed changes in
    these seconds cannot tell, so there are three attempts; it is no verdict where these two do not agree either."""

    def measured(*worker: Path) -> Any:
        return regression.best("mnist_dense", "tf-2.21", [], *worker, seconds=4.0, times=2)

    attempts = []
    for _ in range(3):
        before, slower, after = measured(), measured(SLOWER), measured()
        low, high = sorted((before, after), key=lambda each: float(each.ratio))
        recorded = [{"machine": "here", "ratio": low.ratio}]
        verdicts = [regression.verdict(each, recorded, "here", regression.TOLERANCE) for each in (high, slower)]
        if [code for code, _ in verdicts] == [0, 1]:
            return
        busy = max(each.busy for each in (before, slower, after)) > regression.TOO_BUSY
        attempts.append((busy or high.ratio / low.ratio > 1 + regression.TOLERANCE / 2, verdicts))
    if any(unsteady for unsteady, _ in attempts):
        pytest.skip("others work on this machine, or its speed changes: steps cannot be compared")
    pytest.fail(f"three times: {attempts}")
