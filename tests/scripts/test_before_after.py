"""The table of an earlier commit, this one and peers: what it measures, keeps and prints."""

import json
from pathlib import Path

import pytest

from tests.support import scripts

before_after = scripts.load("benchmarks/before_after")


def test_each_round_is_measured_once_and_a_stopped_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def ours(tree: Path, number: int, folder: Path) -> dict[str, float]:
        asked.append((tree.name, number))
        assert folder.is_dir()
        return {"speed": {"old": 4.0, "new": 2.0}[tree.name] + number, "accuracy": 0.5}

    def peer(number: int) -> dict[str, float]:
        asked.append(("peer", number))
        return {"speed": 30.0}

    rows = {"a": before_after.Row("work", "s", ours, {"someone": peer})}
    trees, log = {"before": tmp_path / "old", "now": tmp_path / "new"}, tmp_path / "log"
    monkeypatch.setattr(before_after, "product", lambda: 0.5)
    before_after.measure(rows, trees, 1, log, tmp_path)
    assert sorted(asked) == [("new", 0), ("new", 1), ("old", 0), ("old", 1), ("peer", 1)]
    before_after.measure(rows, trees, 3, log, tmp_path)
    assert len(asked) == len(set(asked)) == 11
    measured = [json.loads(line) for line in log.read_text().splitlines()]
    capsys.readouterr()
    before_after.show(rows, measured)
    *_, line = capsys.readouterr().out.splitlines()
    assert "| work, s | 6.0 (5.0 to 7.0), right 0.5000 (0.5000 to 0.5000) | 4.0 (3.0 to 5.0)" in line
    assert "someone 30.0 (30.0 to 30.0)" in line
    assert line.endswith("| 1.50 (1.40 to 1.67) | 7.50 (6.00 to 10.00) |")
    (first, second, third) = before_after.compared(rows, measured, "abc1234")
    assert (first[2], second[2]) == ("the zoo at abc1234", "someone")
    assert third[2:] == ("100 matrix products of 2048 x 2048 by NumPy", [50 / 3, 50 / 4, 50 / 5])
    assert first[3] == [pytest.approx(each) for each in (5 / 3, 6 / 4, 7 / 5)]


def test_without_an_earlier_commit_rows_are_compared_with_matrix_products(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"a": before_after.Row("work", "images/s", lambda *_: {"speed": 30.0}, {}, prepares=False)}
    before_after.measure(rows, {"now": tmp_path}, 2, tmp_path / "log", tmp_path)
    measured = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    before_after.show(rows, measured)
    assert "| work, images/s |  | 30.0 (30.0 to 30.0) |  |  |  |" in capsys.readouterr().out
    ((_, _, against, ratios),) = before_after.compared(rows, measured, "")
    assert against == "a matrix product of 2048 x 2048 by NumPy"
    assert ratios == [pytest.approx(30 * line["product_s"]) for line in measured]


def test_of_a_rate_more_is_better() -> None:
    row = before_after.Row("work", "images/s", None, {}, prepares=False)
    assert before_after.times(row, [30.0], [20.0]) == [1.5]
