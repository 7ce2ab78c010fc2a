"""Benchmarks on the page: the rows of ``results.csv``, and the charts that belong to them."""

from collections.abc import Callable
from pathlib import Path

from zoo import bench_matmul, crossover
from zoo.page import facts
from zoo.page import told as telling
from zoo.page.bars import side_by_side
from zoo.page.charts import Axis, Mark, Series, lines
from zoo.page.markup import Child, Html, join, table, tag
from zoo.page.quantities import data, label, named
from zoo.page.told import Told, number_in

Row = dict[str, str]
MOST_COLUMNS = 16
# Told elsewhere on the page.
ELSEWHERE = {
    "machine",
    "zoo_version",
    "git_commit",
    "date",
    "platform",
    "system",
    "python",
    "numpy",
    "keras",
    "source",
}
UNITS = (("_ms", "ms"), ("_s", "s"))


def rows(folder: Path) -> list[Row]:
    """The rows of the results."""
    return telling.table(folder, "results.csv")


def section(told: Told, folder: Path) -> Html | None:
    """What the benchmark found: in charts and in rows; figures of others apart."""
    found = rows(folder)
    if not found:
        return None
    charts = [chart for draw in (_operations, _networks, _startup, _passes) if (chart := draw(found))]
    return join([
        tag("div", charts, class_="pair") if charts else None,
        _table(found),
        facts.reported(told.text("bench"), []) if told.text("bench") else None,
    ])  # fmt: skip


def _table(found: list[Row]) -> Html:
    """All rows; a column that says the same in each is said once, and an empty one not at all."""
    names = [name for name in found[0] if name not in ELSEWHERE and any(row.get(name) for row in found)]
    constant = [name for name in names if len({row.get(name) for row in found}) == 1] if len(found) > 1 else []
    shown = [name for name in names if name not in constant][:MOST_COLUMNS]
    same = ", ".join(f"{label(name)} {found[0][name]}" for name in constant)
    figures = [at for at, name in enumerate(shown) if at and all(_is_figure(row.get(name, "")) for row in found)]
    cells: list[list[Child]] = [[_cell(row, name) for name in shown] for row in found]
    drawn = table("All results", [_heading(name) for name in shown], cells, figures)
    return join([drawn, tag("p", f"In every row: {same}.") if same else None])


def _is_figure(text: str) -> bool:
    return not text or number_in(text) is not None


def _heading(name: str) -> str:
    unit = next((unit for ending, unit in UNITS if name.endswith(ending) and not name.endswith("per_s")), "")
    return f"{name.removesuffix('_' + unit).replace('_', ' ')}, {unit}" if unit else label(name)


def _cell(row: Row, name: str) -> Child:
    text = row.get(name, "")
    value = number_in(text)
    if name == "grade":
        return facts.badge(text)
    if value is None:
        return {"True": "yes", "False": "NO"}.get(text, text)
    return named(name, value) if name.endswith("_bytes") else data(value)


def _numbers(found: list[Row], wanted: Callable[[Row], bool], x: str, y: str) -> dict[float, float]:
    pairs = [(number_in(row.get(x)), number_in(row.get(y))) for row in found if wanted(row)]
    return {left: right for left, right in pairs if left is not None and right is not None and min(left, right) > 0}


def _operations(found: list[Row]) -> Html | None:
    """Milliseconds by size on paper with logarithmic axes, the crossover marked; a chart an operation."""
    drawn = [_operation(found, name) for name in dict.fromkeys(row.get("operation", "") for row in found) if name]
    return join(drawn) if any(drawn) else None


def _operation(found: list[Row], operation: str) -> Html:
    places = list(dict.fromkeys((row.get("device", ""), row.get("device_kind", "")) for row in found))
    curves = {
        place: _numbers(found, lambda row, at=place: _is_of(row, operation, at), "size", "median_ms")  # type: ignore[misc]
        for place in places
    }
    series = [Series(_called(place), sorted(times.items())) for place, times in curves.items()]
    words = bench_matmul.WORDS.get(operation, operation)
    return lines(series, Axis("n", log=True), Axis("milliseconds", log=True), f"Time of {words}", _marks(curves))


def _is_of(row: Row, operation: str, place: tuple[str, str]) -> bool:
    return row.get("operation") == operation and (row.get("device"), row.get("device_kind")) == place


def _called(place: tuple[str, str]) -> str:
    return place[0] if place[0] == bench_matmul.PLAIN else f"{place[1].upper()} ({place[0]})"


def _marks(curves: dict[tuple[str, str], dict[float, float]]) -> list[Mark]:
    """Where the accelerator begins to win over the processor; without one, the processor over numpy."""
    plain = [place for place in curves if place[0] == bench_matmul.PLAIN]
    slow = [place for place in curves if place[1] == "cpu" and place not in plain]
    fast = [place for place in curves if place[1] == "gpu"]
    pairs = [(one, other) for one in slow for other in fast] or [(one, other) for one in plain for other in slow]
    found = [(other, crossover.crossover(curves[one], curves[other])) for one, other in pairs]
    return [
        Mark(at, None, f"from n = {crossover.scientific(at)} the {other[1].upper()} wins")
        for other, at in found
        if at
    ]


def _networks(found: list[Row]) -> Html | None:
    """Items a second of every network, mode and batch size."""
    rows = [
        (f"{row['network']}, {row.get('mode', '')}, batch {row.get('batch_size', '')}", value, _is_reported(row))
        for row in found
        if row.get("network") and (value := number_in(row.get("items_per_s"))) is not None
    ]
    return side_by_side(rows, "Items per second: longer is faster", "items/s") if rows else None


def _startup(found: list[Row]) -> Html | None:
    """Seconds of every part of a start."""
    rows = [(row["what"], value, False) for row in found
            if row.get("what") and (value := number_in(row.get("median_s"))) is not None]  # fmt: skip
    return side_by_side(rows, "Seconds: shorter is faster", "s") if rows else None


def _passes(found: list[Row]) -> Html | None:
    """Milliseconds a pass of an encoder, one's own figures and those of others."""
    rows = [
        (" ".join(part for part in (row.get("stack"), row.get("implementation"), row.get("way"), row.get("mode"),
                                    row.get("precision"), _place(row)) if part), value, _is_reported(row))
        for row in found if (value := number_in(row.get("pass_ms"))) is not None
    ]  # fmt: skip
    return side_by_side(rows, "Milliseconds a pass: shorter is faster", "ms") if rows else None


def _place(row: Row) -> str:
    return telling.cut(row.get("machine", ""), 60) if _is_reported(row) else row.get("device_kind", "")


def _is_reported(row: Row) -> bool:
    return row.get("grade") == "reported"
