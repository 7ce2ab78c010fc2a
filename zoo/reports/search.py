"""The page about a search: its plot, the winner with its evidence, and all trials."""

from pathlib import Path

from zoo.reports import images
from zoo.reports import page as report_page
from zoo.reports.html import Child, Html, join, table, tag
from zoo.reports.units import short
from zoo.runs.untrusted import Untrusted, read_json

RESULT = "search.json"
PICTURE = "trials.png"


def is_search(folder: Path) -> bool:
    return (folder / RESULT).is_file()


def page(folder: Path) -> str:
    """Return the page about the search in a folder, which may come from a third party."""
    result = read_json(folder, RESULT)
    trials = result.rows("trials")
    winner = result.part("winner")
    parts: list[report_page.Part] = [
        ("trials", "Trials", images.shown(folder, PICTURE, "Seconds of each trial, and importance of each setting:")),
        ("winner", "Winner", _winner(winner)),
        ("importance", "Importance of the settings", _importances(result)),
        ("all", "All trials", _trials(trials)),
    ]
    title = f"Search: {winner.text('model') or folder.name}"
    return report_page.simple(title, f"{len(trials)} trials · {folder.name}", [part for part in parts if part[2]])


def _winner(winner: Untrusted) -> Html:
    if not isinstance(winner.value, dict):
        return tag("p", "There is no winner yet: no trial has reached the target with every new seed.")
    values: list[list[Child]] = [[name, value.text()] for name, value in winner.items("values")]
    times: list[list[Child]] = [
        [name, ", ".join(each.text() or "not reached" for each in row.rows())]
        for name, row in winner.items("confirmed_s")
    ]
    facts: list[list[Child]] = [
        [words, winner.text(key)]
        for key, words in (("trial", "trial"), ("search_s", "seconds in the search"),
                           ("times_as_fast", "times as fast as the recipe, median over seeds"), ("stack", "stack"),
                           ("launcher", "launcher"), ("jobs", "trials at a time"), ("machine", "machine"),
                           ("date", "date"), ("note", "note"))
    ]  # fmt: skip
    return join([
        table("Settings of the winner", ["Setting", "Value"], values),
        table("Seconds to the target with new seeds", ["Who", "Seconds"], times),
        table("Evidence", ["What", "Value"], facts),
    ])  # fmt: skip


def _importances(result: Untrusted) -> Html | None:
    rows: list[list[Child]] = [[name, short(share.number())] for name, share in result.items("importances")]
    words = "Importance of each setting for the distance to the target after epoch 2 (fANOVA)"
    return table(words, ["Setting", "Share"], rows, [1]) if rows else None


def _trials(trials: list[Untrusted]) -> Html | None:
    names = list(dict.fromkeys(name for trial in trials for name, _ in trial.items("values")))
    rows: list[list[Child]] = [
        [trial.text("number"), trial.text("state"), short(trial.number("seconds")), trial.text("epochs"),
         *(trial.text("values", name) for name in names)]
        for trial in trials
    ]  # fmt: skip
    headings = ["Trial", "State", "Seconds", "Epochs", *names]
    return table("Trials in their order", headings, rows, [2, 3]) if rows else None
