"""The page about a search: its plot, the winner with its evidence, and all trials."""

from pathlib import Path

from zoo.reports import images
from zoo.reports import page as report_page
from zoo.reports.html import Html, join, table, tag
from zoo.reports.units import short
from zoo.runs.untrusted import Untrusted, read_json

RESULT = "search.json"
PICTURE = "trials.png"
FACTS = (
    ("trial", "trial"), ("search_s", "seconds in the search"), ("search_result", "result in the search"),
    ("gain", "gain over the recipe, mean"), ("times_as_fast", "times as fast as the recipe, median over seeds"),
    ("stack", "stack"), ("launcher", "launcher"), ("jobs", "trials at a time"), ("machine", "machine"),
    ("date", "date"), ("note", "note"),
)  # fmt: skip


def is_search(folder: Path) -> bool:
    return (folder / RESULT).is_file()


def page(folder: Path) -> str:
    """Return the page about the search in a folder, which may come from a third party."""
    result = read_json(folder, RESULT)
    trials = result.rows("trials")
    winner = result.part("winner")
    shares = [[name, short(share.number())] for name, share in result.items("importances")]
    words = "Importance of each setting for the metric after epoch 2 (fANOVA)"
    importances = table(words, ["Setting", "Share"], shares, [1]) if shares else None
    parts = [
        ("trials", "Trials", images.shown(folder, PICTURE, "Result of each trial, and importance of each setting:")),
        ("winner", "Winner", _winner(winner)),
        ("importance", "Importance of the settings", importances),
        ("all", "All trials", _trials(trials)),
    ]
    subtitle = tag("p", f"{len(trials)} trials · {folder.name}", class_="subtitle")
    return report_page.framed(f"Search: {winner.text('model') or folder.name}", subtitle, parts)


def _winner(winner: Untrusted) -> Html:
    if not isinstance(winner.value, dict):
        return tag("p", "There is no winner yet: no trial is confirmed by every new seed.")
    values = [[name, value.text()] for name, value in winner.items("values")]
    times = [
        [name, ", ".join(each.text() or "not reached" for each in row.rows())]
        for name, row in [*winner.items("confirmed_s"), *winner.items("confirmed")]
    ]
    return join([
        table("Settings of the winner", ["Setting", "Value"], values),
        table("Results with new seeds", ["Who", winner.text("metric") or "Seconds to the target"], times),
        table("Evidence", ["What", "Value"], [[words, winner.text(key)] for key, words in FACTS]),
    ])  # fmt: skip


def _trials(trials: list[Untrusted]) -> Html | None:
    names = list(dict.fromkeys(name for trial in trials for name, _ in trial.items("values")))
    rows = [
        [trial.text("number"), trial.text("state"), short(trial.number("result")), trial.text("epochs"),
         *(trial.text("values", name) for name in names)]
        for trial in trials
    ]  # fmt: skip
    headings = ["Trial", "State", "Result", "Epochs", *names]
    return table("Trials in their order", headings, rows, [2, 3]) if rows else None
