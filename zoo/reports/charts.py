"""Draw line charts as inline SVG, in the colors of the page; series also differ in dashes and markers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zoo.reports.html import Child, Html, tag
from zoo.reports.units import short

WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 12, 44
DIGIT = 8.0  # largest width of a digit in the page's fonts
MARKED = 48
COLOURS = 8
Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    label: str
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Series:
    """A line: its name and its points from left to right; ``apart`` marks values from publications."""

    name: str
    points: Sequence[Point]
    apart: bool = False


@dataclass(frozen=True)
class Mark:
    """A mark: a ring at a point, or a vertical line at ``x`` if ``y`` is None."""

    x: float
    y: float | None
    words: str


@dataclass
class _Scale:
    axis: Axis
    low: float
    high: float
    start: float
    length: float
    ticks: list[float]

    def __call__(self, value: float) -> float:
        low, high, value = (math.log10(v) if self.axis.log else v for v in (self.low, self.high, value))
        return round(self.start + self.length * (value - low) / ((high - low) or 1.0), 1)


def lines(series: Sequence[Series], x: Axis, y: Axis, caption: str, marks: Sequence[Mark] = ()) -> Html:
    """Draw a line chart with legend and caption; return nothing if no point can be drawn.

    Args:
        series: colors repeat after eight series, dashes and markers after four.
        caption: also read by screen readers.
    """
    drawable = [Series(each.name, _drawable(each.points, x, y), each.apart) for each in series]
    kept = {number: each for number, each in enumerate(drawable) if each.points}
    if not kept:
        return Html("")
    points = [point for each in kept.values() for point in each.points]
    up = _scale(y, [point[1] for point in points], HEIGHT - BOTTOM, TOP + BOTTOM - HEIGHT)
    longest = max((len(tick(value, y)) for value in up.ticks), default=0)
    left = min(max(LEFT, 28 + DIGIT * longest), WIDTH / 2)
    across = _scale(x, [point[0] for point in points], left, WIDTH - left - RIGHT)
    inside = [mark for mark in marks if across.low <= mark.x <= across.high]
    drawn = [
        *_grid(across, up),
        *(_line(number, each, across, up) for number, each in kept.items()),
        *(_mark(each, across, up) for each in inside if each.y is None or up.low <= each.y <= up.high),
    ]
    spoken = " ".join(
        f"{each.name}: from {short(each.points[0][1])} to {short(each.points[-1][1])}." for each in kept.values()
    )
    description = f"{caption}. {x.label} from {short(across.low)} to {short(across.high)}. {spoken}"
    picture = tag("svg", drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=description, class_="chart")
    keys = [(each.name, _key(number, _style(number, each.apart))) for number, each in kept.items()]
    return tag("figure", picture, legend(keys, 28), tag("figcaption", caption))


def legend(keys: Iterable[tuple[str, Child]], width: int) -> Html:
    """Draw the legend: each name after its key, which is ``width`` wide."""
    rows = [
        tag("li", tag("svg", key, viewBox=f"0 0 {width} 12", class_="key", aria_hidden="true"), " ", name)
        for name, key in keys
    ]
    return tag("ul", rows, class_="legend")


def _key(number: int, style: str) -> list[Html]:
    return [tag("line", x1=0, y1=6, x2=28, y2=6, class_=f"line {style}"), _marker(number, 14, 6, style)]


def _drawable(points: Sequence[Point], x: Axis, y: Axis) -> list[Point]:
    kept = [point for point in points if (point[0] > 0 or not x.log) and (point[1] > 0 or not y.log)]
    step = max(1, len(kept) // 400)
    return [*kept[::step], *([kept[-1]] if step > 1 else [])]


def _scale(axis: Axis, values: list[float], start: float, length: float) -> _Scale:
    low, high = min(values), max(values)
    if axis.log:
        low, high = low / 1.15, high * 1.15
        ticks = _decades(low, high)
        if len(ticks) < 3 and high - low > 1e-300:  # for a smaller range, the ticks would not be distinct
            ticks = _steps(low, high, axis.whole, parts=7)
    else:
        room = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
        low, high = low - room, high + room
        ticks = _steps(low, high, axis.whole)
    return _Scale(axis, low, high, start, length, ticks)


def _steps(low: float, high: float, whole: bool, parts: int = 5) -> list[float]:
    rough = (high - low) / parts
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.99)
    step = max(1.0, math.ceil(step)) if whole else step
    first = math.ceil(low / step)
    return [step * (first + number) for number in range(8) if step * (first + number) <= high]


def _decades(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if high / low < 2000 else (1,)
    apart = max(1, math.ceil((last - first) / 8))
    values = [10.0**power * factor for power in range(first, last + 1, apart) for factor in factors]
    return [value for value in values if low <= value <= high]


def _grid(across: _Scale, up: _Scale) -> list[Html]:
    left, right, floor = across.start, WIDTH - RIGHT, HEIGHT - BOTTOM
    drawn = []
    for value in up.ticks:
        y = up(value)
        drawn.append(tag("line", x1=left, y1=y, x2=right, y2=y, class_="grid"))
        drawn.append(tag("text", tick(value, up.axis), x=left - 6, y=y + 4, text_anchor="end"))
    for value in across.ticks:
        x = across(value)
        drawn.append(tag("line", x1=x, y1=TOP, x2=x, y2=floor, class_="grid"))
        drawn.append(tag("text", tick(value, across.axis), x=x, y=floor + 16, text_anchor="middle"))
    middle = (TOP + floor) / 2
    return [
        *drawn,
        tag("text", across.axis.label, x=(left + right) / 2, y=HEIGHT - 6, text_anchor="middle"),
        tag("text", up.axis.label, x=0, y=0, text_anchor="middle", transform=f"translate(12 {middle}) rotate(-90)"),
    ]


_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def tick(value: float, axis: Axis) -> str:
    """Format a number for an axis: ``0.97``, ``2,000``, ``10⁶``."""
    if axis.log and value > 0 and (value >= 10_000 or value < 0.001):
        power = math.floor(math.log10(value) + 1e-9)
        head = f"{value / 10.0**power:.3g}"
        return ("" if head == "1" else f"{head}·") + "10" + str(power).translate(_POWERS)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _style(number: int, apart: bool) -> str:
    return f"c{number % COLOURS} d{number % 4}" + (" apart" if apart else "")


def _line(number: int, series: Series, across: _Scale, up: _Scale) -> Html:
    style = _style(number, series.apart)
    places = [(across(x), up(y)) for x, y in series.points]
    path = " ".join(f"{x},{y}" for x, y in places)
    dots = [
        tag("g", tag("title", f"{series.name}: {short(y)} at {short(x)}"), _marker(number, *place, style))
        for (x, y), place in zip(series.points, places, strict=True)
        if len(places) <= MARKED
    ]
    return tag("g", tag("polyline", points=path, class_=f"line {style}"), dots)


def _marker(number: int, x: float, y: float, style: str) -> Html:
    kind, fill = number % 4, f"dot {style}"
    if kind == 0:
        return tag("circle", cx=x, cy=y, r=3, class_=fill)
    if kind == 1:
        return tag("rect", x=round(x - 3, 1), y=round(y - 3, 1), width=6, height=6, class_=fill)
    corners = ((0, -4), (4, 3), (-4, 3)) if kind == 2 else ((0, -4), (4, 0), (0, 4), (-4, 0))
    path = " ".join(f"{round(x + dx, 1)},{round(y + dy, 1)}" for dx, dy in corners)
    return tag("polygon", points=path, class_=fill)


def _mark(mark: Mark, across: _Scale, up: _Scale) -> Html:
    x, floor = across(mark.x), HEIGHT - BOTTOM
    side = "end" if x > WIDTH / 2 else "start"
    beside = x - 6 if side == "end" else x + 6
    if mark.y is None:
        upright = tag("line", x1=x, y1=TOP, x2=x, y2=floor, class_="mark")
        return tag("g", upright, tag("text", mark.words, x=beside, y=TOP + 12, text_anchor=side, class_="said"))
    y = up(mark.y)
    ring = tag("circle", tag("title", mark.words), cx=x, cy=y, r=7, class_="ring")
    # On the side with more space: a loss curve falls towards its best epoch, an accuracy curve rises.
    words = tag("text", mark.words, x=min(x, WIDTH - 40), y=y + 22 if y < HEIGHT / 2 else y - 14,
                text_anchor="middle", class_="said")  # fmt: skip
    return tag("g", ring, words)
