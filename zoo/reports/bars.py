"""Draw bar charts as inline SVG: the parts of a whole, or single values for comparison."""

from collections.abc import Sequence

from zoo.reports.charts import COLOURS, legend
from zoo.reports.html import Html, tag

WIDTH, ROW, BAR = 440, 46, 18
Part = tuple[str, float]


def shares(rows: Sequence[tuple[str, Sequence[Part]]], caption: str, unit: str) -> Html:
    """Draw a bar per row, divided into its parts, on a common scale.

    Args:
        rows: name and parts of each bar; parts that are not positive are omitted.
        caption: followed by the parts for screen readers.
        unit: unit of the parts, such as ``s``.
    """
    kept = [(name, [(part, value) for part, value in parts if value > 0]) for name, parts in rows]
    longest = max((sum(value for _, value in parts) for _, parts in kept), default=0.0)
    if longest <= 0:
        return Html("")
    order = list(dict.fromkeys(part for _, parts in kept for part, _ in parts))
    drawn = [_row(index, name, parts, order, (WIDTH - 2) / longest, unit) for index, (name, parts) in enumerate(kept)]
    spoken = [f"{name}: " + ", ".join(f"{part} {value:.3g} {unit}" for part, value in parts) for name, parts in kept]
    squares = [tag("rect", x=0, y=0, width=12, height=12, class_=_colour(number)) for number in range(len(order))]
    return _figure(drawn, spoken, caption, legend(zip(order, squares, strict=True), 12))


def _figure(drawn: Sequence[Html], spoken: Sequence[str], caption: str, names: Html | None = None) -> Html:
    """Return a chart with one entry in ``spoken``, for screen readers, for each bar."""
    picture = tag("svg", drawn, viewBox=f"0 0 {WIDTH} {ROW * len(spoken)}", role="img", class_="chart bars",
                  aria_label=f"{caption}. {'; '.join(spoken)}")  # fmt: skip
    return tag("figure", picture, names, tag("figcaption", caption))


def _colour(number: int) -> str:
    return f"bar c{number % COLOURS}"


def _row(index: int, name: str, parts: Sequence[Part], order: list[str], scale: float, unit: str) -> Html:
    top, x, drawn = ROW * index, 1.0, []
    total = sum(value for _, value in parts)
    for part, value in parts:
        width = value * scale
        words = tag("title", f"{name}, {part}: {value:.3g} {unit} ({100 * value / total:.0f} %)")
        drawn.append(tag("rect", words, x=round(x, 1), y=top + 20, width=round(max(width, 0.5), 1), height=BAR,
                         class_=_colour(order.index(part))))  # fmt: skip
        x += width
    said = f"{name}: {total:.3g} {unit}" if name else f"{total:.3g} {unit}"
    return tag("g", tag("text", said, x=1, y=top + 14), drawn)


def side_by_side(rows: Sequence[tuple[str, float, bool]], caption: str, unit: str) -> Html:
    """Draw a bar per value from zero; values from publications look different."""
    kept = [(name, value, apart) for name, value, apart in rows if value > 0]
    if not kept:
        return Html("")
    scale = (WIDTH - 2) / max(value for _, value, _ in kept)
    drawn = []
    for index, (name, value, apart) in enumerate(kept):
        top = ROW * index
        words = f"{name}: {value:.4g} {unit}" + (" (reported)" if apart else "")
        drawn += [
            tag("text", words, x=1, y=top + 14),
            tag("rect", x=1, y=top + 20, width=round(max(value * scale, 0.5), 1), height=BAR,
                class_="bar c0" + (" apart" if apart else "")),
        ]  # fmt: skip
    spoken = [f"{name} {value:.4g} {unit}{', reported' if apart else ''}" for name, value, apart in kept]
    return _figure(drawn, spoken, caption)
