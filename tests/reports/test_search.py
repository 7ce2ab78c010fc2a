"""zoo.reports.search: the page of a search shows the winner, its evidence and all trials."""

import html
import json
import re
from pathlib import Path

from zoo.reports import search

WINNER = {
    "model": "mnist", "trial": 7, "search_s": 61.5, "times_as_fast": 1.25, "stack": "torch", "launcher": "local",
    "jobs": 2, "machine": "<b>M1</b>", "date": "2026-11-26", "note": "",
    "values": {"trainer.batch_size": 64}, "confirmed_s": {"winner": [3.5, None], "recipe": [4.5]},
}  # fmt: skip
TRIALS = [
    {"number": 0, "state": "complete", "result": 3.456789, "epochs": 2, "values": {"a": 1}},
    {"number": 1, "state": "pruned", "result": None, "epochs": 1, "values": {"a": 2, "b": 0.5}},
]


def cells(page: str) -> list[list[str]]:
    """The texts of all rows of all tables."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    results = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in results]


def page_of(folder: Path, result: object) -> str:
    (folder / search.RESULT).write_text(json.dumps(result))
    return search.page(folder)


def test_the_winner_and_its_evidence(tmp_path: Path) -> None:
    assert not search.is_search(tmp_path)
    importances = {"trainer.batch_size": 0.123456}
    page = page_of(tmp_path, {"winner": WINNER, "trials": TRIALS, "importances": importances})
    assert search.is_search(tmp_path)
    assert "<h1>Search: mnist</h1>" in page
    assert f"2 trials · {tmp_path.name}" in page
    rows = cells(page)
    for row in (
        ["trainer.batch_size", "64"], ["winner", "3.5, not reached"], ["recipe", "4.5"], ["trial", "7"],
        ["seconds in the search", "61.5"], ["times as fast as the recipe, median over seeds", "1.25"],
        ["machine", "<b>M1</b>"], ["trials at a time", "2"], ["trainer.batch_size", "0.1235"],
        ["Trial", "State", "Result", "Epochs", "a", "b"], ["0", "complete", "3.457", "2", "1", ""],
        ["1", "pruned", "", "1", "2", "0.5"],
    ):  # fmt: skip
        assert row in rows
    assert re.findall(r'href="#([a-z]+)"', page) == ["main", "trials", "winner", "importance", "all"]


def test_a_search_without_a_winner_and_trials(tmp_path: Path) -> None:
    page = page_of(tmp_path, {"trials": []})
    assert "There is no winner yet" in page
    assert f"<h1>Search: {tmp_path.name}</h1>" in page
    assert "0 trials" in page
    assert cells(page) == []
