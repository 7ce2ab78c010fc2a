"""Rows of benchmarks are held against those that were measured earlier."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHECKOUT, scripts

ratios = scripts.load("benchmarks/ratios")


def row(what: str, median: float, least: float, machine: str = "here") -> dict[str, Any]:
    return {"what": what, "zoo": "", "against": "a peer", "times_as_fast": median, "least": least, "most": 9.0,
            "rounds": 5, "share_of_peak": None, "note": "", "machine": machine, "date": "2026-11-25"}  # fmt: skip


@pytest.mark.parametrize(
    ("median", "status"),
    [(2.0, 0), (1.63, 0), (1.61, 1)],  # the least was 1.8, a tenth of which is noise
)
def test_a_row_that_has_become_slower_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], median: float, status: int
) -> None:
    earlier = [row("a", 2.0, 1.8), row("a", 5.0, 4.9, "elsewhere"), row("b", 3.0, 2.9)]
    (tmp_path / "earlier.json").write_text(json.dumps(earlier))
    (tmp_path / "now.json").write_text(json.dumps([row("a", median, 1.0), row("new", 1.0, 1.0)]))
    assert ratios.main([str(tmp_path / "now.json"), "--check", str(tmp_path / "earlier.json")]) == status
    shown = capsys.readouterr().err
    assert ("slower: a, against a peer: 1.61 times as fast, was 2.00 (1.80 to 9.00)" in shown) == bool(status)


def test_matrix_products_of_another_machine_are_no_measure() -> None:
    now, there = row("a", 1.0, 1.0) | {"against": "a matrix product"}, row("a", 9.0, 9.0, "elsewhere")
    there |= {"against": "a matrix product"}
    assert ratios.slower([now], [there]) == (0, [])
    assert ratios.slower([now], [there | {"machine": "here"}])[0] == 1


def test_rows_that_nobody_measured_earlier_are_no_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "now.json").write_text(json.dumps([row("new", 1.0, 1.0)]))
    assert (
        ratios.main([str(tmp_path / "now.json"), "--check", str(CHECKOUT / "docs" / "background" / "ratios.json")]) == 1
    )
    assert "0 of 1 rows were compared" in capsys.readouterr().err
