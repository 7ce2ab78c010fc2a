"""zoo.reports.sections.benchmarks: rows of results as a table, as curves and as bars."""

import csv
import re
from pathlib import Path

import pytest

from zoo.reports import bars
from zoo.reports.sections import benchmarks
from zoo.runs.untrusted import Untrusted


def save(folder: Path, rows: list[dict[str, object]]) -> Path:
    folder.mkdir(exist_ok=True)
    with (folder / "results.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder


def section(folder: Path, rows: list[dict[str, object]]) -> str:
    return benchmarks.section(Untrusted({}), save(folder, rows)) or ""


def texts(markup: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", markup)]


def operation(device: str, kind: str, times: dict[int, float]) -> list[dict[str, object]]:
    rows = [{"operation": "matmul", "size": size, "median_ms": time} for size, time in times.items()]
    return [row | {"device": device, "device_kind": kind} for row in rows]


SLOW, FAST = {64: 1.0, 256: 4.0, 1024: 64.0}, {64: 2.0, 256: 2.0, 1024: 4.0}


def test_without_rows_there_is_nothing(tmp_path: Path) -> None:
    assert benchmarks.section(Untrusted({}), tmp_path) is None
    assert benchmarks.compared([("a", tmp_path)]) is None


def test_columns_that_are_the_same_everywhere_are_below_the_table(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"name": "a", "ok": "True", "peak_bytes": 2e9, "batch": 8, "empty": "", "machine": "M1", "time_ms": 1.23456},
        {"name": "b", "ok": "False", "peak_bytes": 3e9, "batch": 8, "empty": "", "machine": "M1", "time_ms": ""},
    ]
    shown = section(tmp_path, rows)
    assert texts(shown) == [
        "Name", "Ok", "Peak", "Time, ms", "a", "yes", "2 GB", "1.235", "b", "NO", "3 GB", "",
    ]  # fmt: skip
    assert "The same in every row: batch " in shown
    assert "M1" not in shown
    alone = section(tmp_path, rows[:1])
    assert texts(alone)[:4] == ["Name", "Ok", "Peak", "Batch"]
    assert "The same" not in alone


def test_at_most_16_columns_are_shown_and_the_error(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(20)] + ["error"]
    shown = texts(section(tmp_path, [dict.fromkeys(names, 1), dict.fromkeys(names, 2)]))
    assert len(shown) == 3 * 17
    assert shown[15:17] == ["C15", "Error"]


def test_times_of_an_operation_are_curves_with_the_size_above_which_the_gpu_is_faster(tmp_path: Path) -> None:
    shown = section(tmp_path, operation("TFRT", "cpu", SLOW) + operation("Metal", "gpu", FAST))
    assert "CPU (TFRT)" in shown
    assert "GPU (Metal)" in shown
    assert len(re.findall(r"GPU faster from n = [\d.e]+", shown)) >= 1
    assert "CPU faster" not in shown
    assert "milliseconds" in shown


def test_without_a_gpu_the_cpu_is_compared_with_numpy(tmp_path: Path) -> None:
    shown = section(tmp_path, operation(benchmarks.operations.PLAIN, "cpu", SLOW) + operation("TFRT", "cpu", FAST))
    assert "CPU faster from n = " in shown
    assert f"CPU ({benchmarks.operations.PLAIN})" not in shown
    assert benchmarks.operations.PLAIN in shown


def test_several_runs_share_a_chart_without_marks(tmp_path: Path) -> None:
    folders = [save(tmp_path / name, operation("TFRT", "cpu", SLOW) + operation("Metal", "gpu", FAST)) for name in "ab"]
    shown = benchmarks.compared(list(zip(("first", "second"), folders, strict=True))) or ""
    assert "first: CPU (TFRT)" in shown
    assert "second: GPU (Metal)" in shown
    assert "faster" not in shown
    assert shown.count("<figure") == 1


@pytest.mark.parametrize(
    ("row", "named", "caption"),
    [
        ({"network": "mnist", "mode": "train", "batch_size": 8, "items_per_s": 512.345},
         "mnist, train, batch 8: 512.3 items/s", "Items per second"),
        ({"what": "--help", "median_s": 0.25}, "--help: 0.25 s", "Seconds (lower is better)"),
        ({"stack": "torch", "way": "plain", "mode": "train", "pass_ms": 3.5, "device_kind": "cpu"},
         "torch, plain, train, cpu: 3.5 ms", "Milliseconds per pass"),
        ({"stack": "torch", "pass_ms": 3.5, "grade": "reported", "machine": "m" * 99},
         f"torch, {'m' * 60} … (39 more characters): 3.5 ms (reported)", "Milliseconds per pass"),
    ],
)  # fmt: skip
def test_other_figures_are_bars(tmp_path: Path, row: dict[str, object], named: str, caption: str) -> None:
    shown = section(tmp_path, [row])
    (drawn,) = re.findall(r"<svg.*?</svg>", shown, re.DOTALL)
    assert re.findall(r"<text[^>]*>(.*?)</text>", drawn) == [named]
    assert caption in shown


def test_stacks_that_take_turns_have_a_chart_a_mode(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"stack": stack, "mode": mode, "network": "mnist", "batch_size": 8, "items_per_s": 9, "times_the_first": 1}
        for mode in ("train", "infer")
        for stack in ("torch", "jax")
    ]
    shown = section(tmp_path, rows)
    assert re.findall(r"<figcaption>(.*?)</figcaption>", shown) == [
        "train, items per second (higher is better)", "infer, items per second (higher is better)",
    ]  # fmt: skip
    assert re.findall(r"<text[^>]*>(.*?)</text>", shown) == ["torch: 9 items/s", "jax: 9 items/s"] * 2


def test_bars_begin_at_zero_and_fill_the_width() -> None:
    shown = bars.side_by_side([("a", 4.0, False), ("b", 1.0, True), ("none", 0.0, False), ("c", 1e-9, False)], "T", "s")
    sizes = re.findall(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" class="([^"]+)"', shown)
    assert sizes == [
        ("1", "20", "438.0", "18", "bar c0"), ("1", "66", "109.5", "18", "bar c0 apart"),
        ("1", "112", "0.5", "18", "bar c0"),
    ]  # fmt: skip
    assert re.findall(r'y="(\d+)">([^<]+)</text>', shown) == [
        ("14", "a: 4 s"), ("60", "b: 1 s (reported)"), ("106", "c: 1e-09 s"),
    ]  # fmt: skip
    assert 'viewBox="0 0 440 138"' in shown
    assert 'aria-label="T. a 4 s; b 1 s, reported; c 1e-09 s"' in shown
    assert bars.side_by_side([("none", 0.0, False)], "T", "s") == ""


def test_bars_are_divided_into_their_parts_on_one_scale() -> None:
    rows = [("a", [("load", 1.0), ("train", 3.0), ("none", 0.0)]), ("", [("train", 2.0)])]
    shown = bars.shares(rows, "Time", "s")
    sizes = re.findall(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="18" class="([^"]+)"', shown)
    assert sizes == [
        ("1.0", "20", "109.5", "bar c0"), ("110.5", "20", "328.5", "bar c1"), ("1.0", "66", "219.0", "bar c1"),
    ]  # fmt: skip
    assert re.findall(r"<title>(.*?)</title>", shown) == [
        "a, load: 1 s (25 %)", "a, train: 3 s (75 %)", ", train: 2 s (100 %)",
    ]  # fmt: skip
    assert re.findall(r'y="(\d+)">([^<]+)</text>', shown) == [("14", "a: 4 s"), ("60", "2 s")]
    assert re.findall(r"</svg> (\w+)</li>", shown) == ["load", "train"]
    assert bars.shares([("a", [("none", 0.0)])], "Time", "s") == ""
