"""Several runs held against each other, and what has to be known before that is done."""

from collections.abc import Callable
from pathlib import Path

from zoo.page import facts, results
from zoo.page.bars import shares
from zoo.page.charts import Axis, Series, lines
from zoo.page.markup import Child, Html, join, table, tag
from zoo.page.quantities import label, named
from zoo.page.told import Told

Runs = list[tuple[str, Told]]
MOST_FIGURES = 8
# What makes times comparable, and what makes results comparable.
SAME: tuple[tuple[str, Callable[[Told], str], str], ...] = (
    ("machine", facts.machine_line, "their times say nothing of each other"),
    ("data", lambda told: told.text("data", "sha256") or told.text("data", "name"), "nor do their results"),
    ("preset", lambda told: told.text("config", "preset"), "a shortened run shows only that it works"),
    ("grade", facts.grade, "a stand-in tells nothing of the GPU"),
    ("zoo", lambda told: told.text("git_commit"), "the code may have changed between them"),
)


def figures(runs: Runs) -> Html:
    """A row a run, a column a figure."""
    names = _names(runs)
    cells: list[list[Child]] = [
        [name, told.text("verb"), told.text("model"), told.text("backend"), told.text("stack", "name"),
         told.text("device", "description") or told.text("device", "name"), told.text("data", "name"),
         facts.badge(told.text("exit")), *(_figure(told, where, key) for where, key in names)]
        for name, told in runs
    ]  # fmt: skip
    headings = ["run", "verb", "model", "backend", "stack", "device", "data", "exit"]
    shown = [label(key) for _, key in names]
    return table("Figures of the runs", [*headings, *shown], cells, range(len(headings), len(headings) + len(shown)))


def _names(runs: Runs) -> list[tuple[str, str]]:
    """Which figures are worth a column: those that most runs have, results before times."""
    count: dict[tuple[str, str], int] = {}
    for _, told in runs:
        for name, row in told.items("metrics"):
            if row.number() is not None:
                count[("metrics", name)] = count.get(("metrics", name), 0) + 1
    order = sorted(count, key=lambda pair: (not pair[1].startswith("test"), -count[pair]))
    times = [("phases", name) for name in ("train_s", "infer_s") if any(t.number("phases", name) for _, t in runs)]
    return [*order[:MOST_FIGURES], *times, ("", "seconds"), ("", "peak_memory_bytes")]


def _figure(told: Told, where: str, key: str) -> Html:
    return named("seconds_s" if key == "seconds" else key, told.part(*([where] if where else [])).number(key))


def remarks(runs: Runs) -> Html | None:
    """In what the runs differ that makes a comparison unfair."""
    said = []
    for what, value, meaning in SAME:
        found: dict[str, list[str]] = {}
        for name, told in runs:
            found.setdefault(value(told) or "unknown", []).append(name)
        if len(found) > 1:
            rows = [tag("li", f"{each}: {', '.join(names)}") for each, names in found.items()]
            said.append(tag("li", tag("strong", f"Not the same {what}"), f"; {meaning}.", tag("ul", rows)))
    if not said:
        return tag("p", "Same machine, data, preset, grade and commit.")
    return tag("ul", said, class_="warnings")


def curves(folders: list[tuple[str, Path]]) -> Html | None:
    """Validation loss and accuracy of all runs by epoch."""
    histories = [(name, results.history(folder)) for name, folder in folders]
    drawn = []
    for key, axis in (("val_loss", Axis("validation loss", log=True)), ("val_accuracy", Axis("validation accuracy"))):
        series = [Series(name, results.points(rows, key)) for name, rows in histories]
        drawn.append(lines(series, Axis("epoch", whole=True), axis, f"{axis.label.capitalize()} by epoch"))
    return tag("div", drawn, class_="pair") if any(drawn) else None


def time(runs: Runs) -> Html | None:
    """Where the time of each run went, to one scale."""
    drawn = shares([(name, results.phases(told)) for name, told in runs], "Seconds by phase", "s")
    return drawn or None


def differences(runs: Runs) -> Html | None:
    """The settings that are not the same in all runs."""
    flat = [facts.settings(told) for _, told in runs]
    keys = [key for key in dict.fromkeys(key for each in flat for key in each)
            if len({each.get(key) for each in flat}) > 1 and not key.startswith("output.")]  # fmt: skip
    if not keys:
        return None
    rows: list[list[Child]] = [[key, *(each.get(key, "") for each in flat)] for key in keys]
    return join([table("Settings that differ", ["setting", *(name for name, _ in runs)], rows)])
