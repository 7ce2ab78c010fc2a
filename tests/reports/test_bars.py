"""zoo.reports.bars: bars are as long as their values, on a common scale."""

import xml.etree.ElementTree as ElementTree

import pytest

from zoo.reports import bars


def rects(chart: str) -> list[dict[str, str]]:
    root = ElementTree.fromstring(f"<all>{chart}</all>")  # noqa: S314
    return [each.attrib for each in root.iter("rect") if each.attrib["class"].startswith("bar") and "x" in each.attrib
            and each.attrib["height"] == "18"]  # fmt: skip


def texts(chart: str, kind: str = "text") -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(f"<all>{chart}</all>").iter(kind)]  # noqa: S314


def test_parts_follow_one_another_on_a_common_scale() -> None:
    chart = bars.shares([("a", [("read", 1.0), ("train", 3.0)]), ("b", [("train", 1.0), ("none", 0.0)])], "Time", "s")
    first, second, third = rects(chart)
    assert [float(row["width"]) for row in (first, second, third)] == [109.5, 328.5, 109.5]
    assert (float(first["x"]), float(second["x"]), float(third["x"])) == (1.0, 110.5, 1.0)
    assert [row["y"] for row in (first, second, third)] == ["20", "20", "66"]
    assert [row["class"] for row in (first, second, third)] == ["bar c0", "bar c1", "bar c1"]
    assert texts(chart) == ["a: 4 s", "b: 1 s"]
    assert texts(chart, "title") == ["a, read: 1 s (25 %)", "a, train: 3 s (75 %)", "b, train: 1 s (100 %)"]
    assert [text.strip() for text in texts(chart, "li")] == ["read", "train"]
    assert 'aria-label="Time. a: read 1 s, train 3 s; b: train 1 s"' in chart
    assert 'viewBox="0 0 440 92"' in chart


def test_a_bar_without_a_name_has_its_sum_and_a_small_part_can_be_seen() -> None:
    chart = bars.shares([("", [("x", 1000.0), ("y", 0.001)])], "Time", "s")
    assert texts(chart) == ["1e+03 s"]
    assert rects(chart)[1]["width"] == "0.5"


@pytest.mark.parametrize("rows", [[], [("a", [])], [("a", [("x", 0.0), ("y", -1.0)])]])
def test_nothing_is_drawn_without_a_part(rows: list[tuple[str, list[tuple[str, float]]]]) -> None:
    assert bars.shares(rows, "Time", "s") == ""


def test_single_values_begin_at_zero_and_published_ones_look_different() -> None:
    chart = bars.side_by_side([("here", 2.0, False), ("none", 0.0, False), ("there", 1.0, True)], "Speed", "items/s")
    first, second = rects(chart)
    assert (first["width"], second["width"]) == ("438.0", "219.0")
    assert (first["class"], second["class"]) == ("bar c0", "bar c0 apart")
    assert (first["y"], second["y"]) == ("20", "66")
    assert texts(chart) == ["here: 2 items/s", "there: 1 items/s (reported)"]
    assert 'aria-label="Speed. here 2 items/s; there 1 items/s, reported"' in chart
    assert bars.side_by_side([("a", 0.0, False)], "Speed", "s") == ""
