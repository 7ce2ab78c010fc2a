"""Show benchmarks: the rows of ``results.csv`` and their charts."""

from pathlib import Path

from zoo.reports.bars import side_by_side
from zoo.reports.charts import Axis, Mark, Series, lines
from zoo.reports.html import Child, Html, join, table, tag
from zoo.reports.sections import provenance
from zoo.reports.units import data, heading, label, named
from zoo.runs import untrusted
from zoo.runs.untrusted import Untrusted, number_in
from zoo.tasks.benchmarks import crossover, operations

Row = dict[str, str]
Place = tuple[str, str, str]
# For comparisons: the column with the name of the run; a file cannot contain this name.
RUN = "\x00run"
MOST_COLUMNS = 16
# Columns that the page shows in other sections.
ELSEWHERE = {
    "machine", "zoo_version", "git_commit", "date", "platform", "system", "python", "numpy", "keras", "source",
}  # fmt: skip


def section(record: Untrusted, folder: Path) -> Html | None:
    results = untrusted.table(folder, "results.csv")
    if not results:
        return None
    return join([
        _charts(results),
        _table(results),
        provenance.reported(record.text("bench"), []) if record.text("bench") else None,
    ])  # fmt: skip


def _table(results: list[Row]) -> Html:
    """Show all rows; constant columns are below the table, empty columns are omitted."""
    names = [name for name in results[0] if name not in ELSEWHERE and any(row.get(name) for row in results)]
    constant = [name for name in names if len({row.get(name) for row in results}) == 1] if len(results) > 1 else []
    various = [name for name in names if name not in constant]
    shown = list(dict.fromkeys([*various[:MOST_COLUMNS], *({"error"} & set(various))]))
    same = [[", " if at else "", label(name), " ", _cell(results[0], name)] for at, name in enumerate(constant)]
    figures = [
        at
        for at, name in enumerate(shown)
        if at and all(number_in(row.get(name) or "0") is not None for row in results)
    ]
    cells = [[_cell(row, name) for name in shown] for row in results]
    drawn = table("All results", [heading(name) for name in shown], cells, figures)
    return join([drawn, tag("p", "The same in every row: ", same, ".") if same else None])


def _cell(row: Row, name: str) -> Child:
    text = row.get(name, "")
    value = number_in(text)
    if name == "grade":
        return provenance.badge(text)
    if value is None:
        return {"True": "yes", "False": "NO"}.get(text, text)
    return named(name, value) if name.endswith("_bytes") else data(value)


def compared(runs: list[tuple[str, Path]]) -> Html | None:
    """Draw the charts of several benchmarks; the same kind of work shares a chart."""
    return _charts([row | {RUN: name} for name, folder in runs for row in untrusted.table(folder, "results.csv")])


def _charts(results: list[Row]) -> Html | None:
    steps = [row for row in results if row.get("what")]
    passes = ("stack", "implementation", "way", "mode", "precision", "device_kind")
    drawn = [
        *(_operation(results, name) for name in dict.fromkeys(row.get("operation", "") for row in results) if name),
        _networks(results),
        _bars(steps, "median_s", ("what",), "Seconds (lower is better)"),
        _bars(results, "pass_ms", passes, "Milliseconds per pass (lower is better)"),
    ]
    return tag("div", [chart for chart in drawn if chart], class_="pair") if any(drawn) else None


def _operation(results: list[Row], operation: str) -> Html:
    curves: dict[Place, dict[float, float]] = {}
    for row in results:
        size, taken = number_in(row.get("size")), number_in(row.get("median_ms"))
        if row.get("operation") == operation and size and taken and min(size, taken) > 0:
            place = row.get(RUN, ""), row.get("device", ""), row.get("device_kind", "")
            curves.setdefault(place, {})[size] = taken
    series = [Series(_called(place), sorted(times.items())) for place, times in curves.items()]
    words = operations.WORDS.get(operation, operation)
    return lines(series, Axis("n", log=True), Axis("milliseconds", log=True), f"Time of {words}", _marks(curves))


def _called(place: Place) -> str:
    run, device, kind = place
    name = device if device == operations.PLAIN else f"{kind.upper()} ({device})"
    return f"{run}: {name}" if run else name


def _marks(curves: dict[Place, dict[float, float]]) -> list[Mark]:
    """Mark the size above which the GPU is faster than the CPU or, without a GPU, the CPU is faster than NumPy."""
    if len({run for run, _, _ in curves}) > 1:
        return []  # several runs have several crossovers, shown in their own sections
    plain = [place for place in curves if place[1] == operations.PLAIN]
    slow = [place for place in curves if place[2] == "cpu" and place not in plain]
    fast = [place for place in curves if place[2] == "gpu"]
    pairs = [(one, other) for one in slow for other in fast] or [(one, other) for one in plain for other in slow]
    crossovers = [(other[2].upper(), crossover.crossover(curves[one], curves[other])) for one, other in pairs]
    return [Mark(at, None, f"{name} faster from n = {crossover.scientific(at)}") for name, at in crossovers if at]


def _networks(results: list[Row]) -> Html | None:
    if not any(row.get("times_the_first") for row in results):
        return _bars(results, "items_per_s", ("network", "mode", "batch_size"), "Items per second (higher is better)")
    drawn = []
    for mode in dict.fromkeys(row["mode"] for row in results if row.get("mode")):
        turns = [row for row in results if row.get("mode") == mode]
        names = [name for name in ("network", "batch_size") if len({row.get(name) for row in turns}) > 1]
        caption = f"{mode}, items per second (higher is better)"
        drawn.append(_bars(turns, "items_per_s", ("stack", "precision", *names), caption))
    return join(drawn)


def _said(row: Row, name: str) -> str:
    return f"batch {row[name]}" if name == "batch_size" and row.get(name) else row.get(name, "")


_BAR_UNITS = {"items_per_s": "items/s", "median_s": "s", "pass_ms": "ms"}


def _bars(results: list[Row], figure: str, names: tuple[str, ...], caption: str) -> Html | None:
    drawn = []
    for row in results:
        value = number_in(row.get(figure))
        if value is not None:
            reported = row.get("grade") == "reported"
            where = untrusted.cut(row.get("machine", ""), 60) if reported else ""
            parts = [*(_said(row, name) for name in (RUN, *names)), where]
            drawn.append((", ".join(part for part in parts if part), value, reported))
    return side_by_side(drawn, caption, _BAR_UNITS[figure]) if drawn else None
