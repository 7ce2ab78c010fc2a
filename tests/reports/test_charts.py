"""zoo.reports.charts: points are drawn where they belong, with scales that people can read."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from zoo.reports import charts
from zoo.reports.charts import Axis, Mark, Series

X, Y = Axis("epoch", whole=True), Axis("loss")


def drawn(chart: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<all>{chart}</all>")  # noqa: S314


def texts(chart: str, kind: str = "text") -> list[str]:
    return ["".join(each.itertext()) for each in drawn(chart).iter(kind)]


def points(chart: str) -> list[list[tuple[float, float]]]:
    rows = [each.attrib["points"] for each in drawn(chart).iter("polyline")]
    return [[(float(x), float(y)) for x, y in (pair.split(",") for pair in row.split(" "))] for row in rows]


def test_points_are_in_proportion_and_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    chart = charts.lines([Series("a", [(0, 0), (1, 1), (4, 2)])], X, Y, "caption")
    ((first, second, third),) = points(chart)
    assert third[0] - first[0] == pytest.approx(4 * (second[0] - first[0]), abs=0.2)
    assert first[1] - third[1] == pytest.approx(2 * (first[1] - second[1]), abs=0.2)
    left, right, floor = charts.LEFT, charts.WIDTH - charts.RIGHT, charts.HEIGHT - charts.BOTTOM
    width, height = right - left, floor - charts.TOP
    # six hundredths of the range are free at each end
    assert first == (
        pytest.approx(left + width * 0.06 / 1.12, abs=0.1),
        pytest.approx(floor - height * 0.06 / 1.12, abs=0.1),
    )
    assert third[0] == pytest.approx(right - width * 0.06 / 1.12, abs=0.1)


def test_a_chart_is_read_to_those_who_do_not_see_it() -> None:
    chart = charts.lines([Series("a", [(1, 0.5), (3, 0.25)]), Series("b", [(2, 2000)])], X, Y, "Loss by epoch")
    (picture,) = [each for each in drawn(chart).iter("svg") if each.attrib["class"] == "chart"]
    assert picture.attrib["aria-label"] == (
        "Loss by epoch. epoch from 0.88 to 3.12. a: from 0.5 to 0.25. b: from 2,000 to 2,000."
    )
    assert texts(chart, "figcaption") == ["Loss by epoch"]
    assert [text.strip() for text in texts(chart, "li")] == ["a", "b"]
    assert {"epoch", "loss"} <= set(texts(chart))
    assert texts(chart, "title") == ["a: 0.5 at 1", "a: 0.25 at 3", "b: 2,000 at 2"]


def test_nothing_is_drawn_without_a_point() -> None:
    assert charts.lines([], X, Y, "c") == charts.lines([Series("a", [])], X, Y, "c") == ""
    log = Axis("loss", log=True)
    assert charts.lines([Series("a", [(1, 0), (2, -1)])], X, log, "c") == ""
    chart = charts.lines([Series("a", [(1, 0)]), Series("b", [(1, 0), (2, 1), (3, 10)])], X, log, "c")
    assert [len(each) for each in points(chart)] == [2]
    assert [text.strip() for text in texts(chart, "li")] == ["b"]
    assert charts.lines([Series("a", [(0, 1)])], Axis("s", log=True), Y, "c") == ""


def test_a_logarithm_makes_equal_ratios_equal_distances() -> None:
    chart = charts.lines([Series("a", [(1, 1), (2, 10), (3, 100)])], X, Axis("loss", log=True), "c")
    ((first, second, third),) = points(chart)
    assert first[1] - second[1] == pytest.approx(second[1] - third[1], abs=0.2)


def test_series_differ_in_colour_dash_and_marker() -> None:
    chart = charts.lines([Series(str(n), [(n, n)], apart=n == 9) for n in range(10)], X, Y, "c")
    styles = [each.attrib["class"] for each in drawn(chart).iter("polyline")]
    assert styles == [f"line c{n % 8} d{n % 4}" + (" apart" if n == 9 else "") for n in range(10)]
    chart = charts.lines([Series(str(n), [(0, n)]) for n in range(4)], X, Y, "c")
    kinds = [each.tag for each in drawn(chart).iter() if "dot" in each.attrib.get("class", "")]
    assert kinds == ["circle", "rect", "polygon", "polygon"] * 2
    corners = [len(each.attrib["points"].split(" ")) for each in drawn(chart).iter("polygon")]
    assert corners == [3, 4, 3, 4]


def test_markers_are_around_their_point() -> None:
    chart = charts.lines([Series(str(n), [(0, n)]) for n in range(4)], X, Y, "c")
    places = [row[0] for row in points(chart)]
    square = next(each for each in drawn(chart).iter("rect") if each.attrib.get("class", "").startswith("dot"))
    assert float(square.attrib["x"]) + 3 == pytest.approx(places[1][0])
    assert float(square.attrib["y"]) + float(square.attrib["height"]) / 2 == pytest.approx(places[1][1])
    circle = next(each for each in drawn(chart).iter("circle"))
    assert (float(circle.attrib["cx"]), float(circle.attrib["cy"])) == places[0]


def test_many_points_have_no_markers_and_very_many_are_thinned() -> None:
    few, many = (charts.lines([Series("a", [(n, n) for n in range(count)])], X, Y, "c") for count in (48, 49))
    assert (len(texts(few, "title")), len(texts(many, "title"))) == (48, 0)
    assert [len(points(each)[0]) for each in (few, many)] == [48, 49]
    counts = {count: [Series("a", [(n, n) for n in range(count)])] for count in (799, 1000)}
    whole, thinned = (points(charts.lines(rows, X, Y, "c"))[0] for rows in counts.values())
    assert (len(whole), len(thinned)) == (799, 501)
    ends = points(charts.lines([Series("a", [(0, 0), (999, 999)])], X, Y, "c"))[0]
    assert (thinned[0], thinned[-1]) == (ends[0], ends[1])


@pytest.mark.parametrize(
    ("low", "high", "whole", "expected"),
    [
        (0, 10, False, [0, 2, 4, 6, 8, 10]),
        (0, 1, False, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 12, False, [0, 2.5, 5, 7.5, 10]),
        (1, 4, True, [1, 2, 3, 4]),
        (0.7, 3.3, True, [1, 2, 3]),
        (0, 40, True, [0, 10, 20, 30, 40]),
        (0, 20, False, [0, 5, 10, 15, 20]),
        (-3, 3, False, [-2, 0, 2]),
        (990, 1010, False, [990, 995, 1000, 1005, 1010]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, whole: bool, expected: list[float]) -> None:
    assert charts._steps(low, high, whole) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 100, [1, 2, 5, 10, 20, 50, 100]),
        (0.9, 6, [1, 2, 5]),
        (1, 10_000, [1, 10, 100, 1000, 10_000]),
        (1, 1e9, [1, 1e2, 1e4, 1e6, 1e8]),
    ],
)
def test_ticks_of_a_logarithm_are_decades(low: float, high: float, expected: list[float]) -> None:
    assert charts._decades(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "log", "expected"),
    [
        (0.97, False, "0.97"), (2000, False, "2,000"), (999, False, "999"), (12_345, False, "12,345"),
        (1e6, True, "10⁶"), (20_000, True, "2·10⁴"), (9_999, True, "9,999"), (0.001, True, "0.001"),
        (0.0005, True, "5·10⁻⁴"), (1e-12, True, "10⁻¹²"), (-2000, False, "-2,000"),
    ],
)  # fmt: skip
def test_numbers_of_an_axis(value: float, log: bool, expected: str) -> None:
    assert charts.tick(value, Axis("x", log=log)) == expected


def test_an_axis_with_long_numbers_has_more_room() -> None:
    narrow, wide = (points(charts.lines([Series("a", [(0, 0), (1, top)])], X, Y, "c"))[0] for top in (1, 123_456_789))
    assert wide[0][0] > narrow[0][0] + 20
    assert wide[1][0] < charts.WIDTH - charts.RIGHT


def test_equal_values_are_in_the_middle() -> None:
    for value in (0.0, 5.0, -2.0):
        ((place,),) = points(charts.lines([Series("a", [(3, value)])], X, Y, "c"))
        middle = (charts.TOP + charts.HEIGHT - charts.BOTTOM) / 2
        assert place[1] == pytest.approx(middle, abs=0.1)


def marked(*marks: Mark) -> list[dict[str, Any]]:
    chart = charts.lines([Series("a", [(0, 0), (10, 1)])], X, Y, "c", marks)
    rows = [each for each in drawn(chart).iter("text") if each.attrib.get("class") == "said"]
    return [{"words": row.text, **row.attrib} for row in rows]


def test_marks_are_labelled_on_the_side_with_more_space() -> None:
    left, right = marked(Mark(1, None, "early"), Mark(9, None, "late"))
    assert (left["words"], left["text-anchor"], right["text-anchor"]) == ("early", "start", "end")
    chart = charts.lines([Series("a", [(0, 0), (10, 1)])], X, Y, "c", [Mark(1, None, "early")])
    upright = next(each for each in drawn(chart).iter("line") if each.attrib.get("class") == "mark")
    assert upright.attrib["x1"] == upright.attrib["x2"]
    assert float(left["x"]) == float(upright.attrib["x1"]) + 6
    low, high = marked(Mark(5, 0.1, "low"), Mark(5, 0.9, "high"))
    assert float(low["y"]) > float(high["y"])
    ring = re.search(
        r'cy="([\d.]+)" r="7"', charts.lines([Series("a", [(0, 0), (10, 1)])], X, Y, "c", [Mark(5, 0.1, "l")])
    )
    assert ring is not None
    assert float(low["y"]) == float(ring[1]) - 14


def test_marks_outside_of_the_chart_are_left_out() -> None:
    assert marked(Mark(-1, None, "x"), Mark(11, None, "x"), Mark(5, 1.2, "x"), Mark(5, -0.2, "x")) == []
    assert len(marked(Mark(0, None, "x"), Mark(10, 1, "x"))) == 2
