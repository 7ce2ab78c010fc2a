"""The benchmarks of single operations, networks and start-up: their timing, rows, words and charts."""

import csv
import json
import os
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support import parts, real_stacks
from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.protocol.request import OperationsBench, Request
from zoo.reports import page as report_page
from zoo.reports.sections import benchmarks as drawn
from zoo.runs import untrusted
from zoo.tasks import discovery, registry
from zoo.tasks.benchmarks import networks, operations, startup
from zoo.tasks.benchmarks import results as bench_results
from zoo.worker.benchmarks import golden, timing
from zoo.worker.jobs import bench_operations

Row = dict[str, Any]


class Silent:
    """Events that nobody reads, and a stop that nobody asks for."""

    asked = False

    def step(self, **fields: object) -> None: ...
    def emit(self, event: str, **fields: object) -> None: ...


def request(folder: Path, **sizes: list[int]) -> Request:
    bench = OperationsBench(operations=list(sizes), sizes=sizes, count=4, max_s=5.0)
    return parts.request(run_dir=str(folder), device=parts.device(framework="numpy"), bench=bench)


def test_every_size_is_a_row_with_its_spread_and_a_right_result(tmp_path: Path) -> None:
    phases: dict[str, float] = {}
    done = bench_operations.run(request(tmp_path, row_column=[100, 10_000], square=[16]), Silent(), Silent(), phases)
    content = json.loads((tmp_path / "rows.json").read_text())
    assert {row["size"] for row in content} == {100, 10_000, 16}
    for row in content:
        assert row["q1_ms"] <= row["median_ms"] <= row["q3_ms"]
        assert row["count"] == 4
        assert row["gflop_per_s"] == pytest.approx(
            bench_operations.flops(row["operation"], row["size"]) / row["median_ms"] / 1e6
        )
        assert row["correct"], row
    assert done["metrics"]["failed"] == 0


def test_a_wrong_product_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "dot", lambda left, right: left @ right * 1.01)
    bench_operations.run(request(tmp_path, square=[16]), Silent(), Silent(), {})
    assert not any(row["correct"] for row in json.loads((tmp_path / "rows.json").read_text()))


def test_what_does_not_fit_into_memory_is_a_row_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_operations.memory, "total_bytes", lambda: 10**6)
    bench_operations.run(request(tmp_path, row_column=[100, 10**9]), Silent(), Silent(), {})
    content = json.loads((tmp_path / "rows.json").read_text())
    assert ["MemoryError" in row.get("error", "") for row in content] == [False, False, True, True]


def test_a_convolution_is_held_against_numpy() -> None:
    x, kernel = bench_operations.operands("convolution", 8)
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    right = sum(padded[:, i : i + 8, j : j + 8] @ kernel[i, j] for i in range(3) for j in range(3))
    assert bench_operations._error("convolution", [x, kernel], right) < 1e-12
    assert bench_operations._error("convolution", [x, kernel], np.roll(right, 1, axis=1)) > bench_operations.TOLERANCE


def test_rounds_end_in_time_but_not_before_three() -> None:
    called: list[int] = []
    assert len(timing.rounds(lambda: called.append(1), 10, warm=2)) == 10
    assert len(called) == 12
    assert len(timing.rounds(lambda: None, 10, most_s=0.0)) == 3


OPERATIONS = [
    {"operation": "row_column", "size": size, "device": device, "device_kind": kind, "median_ms": ms, "correct": True}
    for device, kind, fixed, each in (("numpy", "cpu", 0, 2e-6), ("/CPU:0", "cpu", 0.01, 1e-6),
                                      ("/GPU:0", "gpu", 1, 1e-7))
    for size in (10**2, 10**4, 10**6, 10**8)
    for ms in [fixed + each * size]
]  # fmt: skip


def test_the_crossover_is_said_in_words() -> None:
    said = list(operations.sentences(OPERATIONS))
    words = "From n = 1.2e6 on the GPU (/GPU:0) is faster than the CPU (/CPU:0): 9.1 times"
    assert any(words in text for text in said), said
    assert "All 12 results are correct." in said
    alone = [row for row in OPERATIONS if row["device_kind"] == "cpu"]
    assert any("No accelerator" in text for text in operations.sentences(alone))


def test_wrong_and_failed_rows_are_said() -> None:
    rows = [
        OPERATIONS[4] | {"correct": False, "largest_error": 0.16},
        {**OPERATIONS[5], "median_ms": None, "error": "OSError: no"},
    ]
    said = " ".join(operations.sentences(rows))
    assert "row_column 100 on /CPU:0 (off by 16 %)" in said
    assert "OSError: no" in said


class Tags(HTMLParser):
    """Texts of a page and how often each tag is in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def run_folder(folder: Path, rows: list[Row], **record: Any) -> Path:
    names = dict.fromkeys(name for row in rows for name in row)
    with (folder / "results.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, list(names))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "run.json").write_text(json.dumps({"exit": "completed", "verb": "bench", **record}))
    return folder


def test_the_page_draws_the_curves_and_marks_the_crossover(tmp_path: Path) -> None:
    run_folder(tmp_path, OPERATIONS, bench="matmul", summary=["said so"])
    page = Tags(report_page.page([tmp_path]))
    assert page.tags.count("polyline") == 3
    assert "GPU faster from n = 1.2e6" in page.texts
    assert "said so" in page.texts
    assert any("Published figures" in text for text in page.texts)


@pytest.mark.parametrize("key", ["items_per_s", "median_s", "pass_ms"])
def test_the_page_draws_bars_for_other_benchmarks(tmp_path: Path, key: str) -> None:
    rows = [{"network": "mnist", "what": "import", "stack": "torch", key: 4.0, "grade": "measured"},
            {"network": "mnist", "what": "import", "stack": "jax", key: 2.0, "grade": "reported"}]  # fmt: skip
    run_folder(tmp_path, rows)
    shown = drawn.section(untrusted.read_record(tmp_path), tmp_path)
    assert shown is not None
    assert Tags(shown).tags.count("rect") == 2
    assert shown.count("(reported)") == 1


def test_several_benchmarks_are_drawn_into_one_chart(tmp_path: Path) -> None:
    folders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        folders.append(run_folder(tmp_path / name, OPERATIONS, bench="matmul"))
    page = Tags(report_page.page(folders))
    assert page.tags.count("polyline") == 6 + 3 + 3
    assert " one: GPU (/GPU:0)" in page.texts or "one: GPU (/GPU:0)" in page.texts


def test_rows_from_a_stranger_do_no_harm(tmp_path: Path) -> None:
    row = {"operation": "<script>", "size": "nan", "device": "<b>", "device_kind": "gpu", "median_ms": "1e999"}
    rows = [row, row | {"size": "-1", "device_kind": "cpu", "median_ms": "x"}]
    page = Tags(report_page.page([run_folder(tmp_path, rows, told=[{"a": 1}, "<i>", None], bench=["x"])]))
    assert not {"script", "b", "i"} & set(page.tags)


def test_every_row_stands_alone(tmp_path: Path) -> None:
    bench_results.write(tmp_path, ("what",), [{"what": "a", "error": None}, {"what": "b", "error": "why"}])
    with (tmp_path / "results.csv").open() as source:
        rows = list(csv.DictReader(source))
    assert [row["error"] for row in rows] == ["", "why"]
    assert list(rows[0]) == ["what", "error", *bench_results.KNOWN]
    assert json.loads((tmp_path / "results.json").read_text())[1]["what"] == "b"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["bench=matmull"], "did you mean 'matmul'?"),
        (["bench=matmul", "square=[]"], "square needs at least one value"),
        (["bench=matmul", "operations=[sqare]"], "did you mean 'square'?"),
        (["bench=matmul", "count=1"], "count must be from 3"),
        (["bench=networks", "modes=[dreaming]"], "modes must be one of"),
        (["bench=networks", "networks=[mnits]"], "did you mean 'mnist'?"),
        (["bench=startup", "count=0"], "count must be from 3"),
    ],
)
def test_wrong_settings_are_told_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZooError, match=r".") as caught:
        registry.dispatch("bench", Overrides.parse(overrides))
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_networks_know_their_arguments_and_answers() -> None:
    network = {name: networks.network(name, paths.ROOT) for name in ("mnist", "mobilenet")}
    assert network["mnist"].model.args["input_shape"] == [28, 28, 1]
    assert network["mnist"].golden["args"]["classes"] == 10
    assert networks._golden("mobilenet", {"alpha": 1.0, "input_size": 128}) is None
    assert networks._golden("mnist", {"input_shape": [32, 32, 1], "classes": 10}) is None
    assert network["mobilenet"].golden["model"] == "mobilenet"
    answers = np.zeros((5, 1000))
    answers[:, network["mobilenet"].golden["classes"]] = network["mobilenet"].golden["probabilities"]
    assert golden.largest_error(network["mobilenet"].golden, answers) == 0
    assert golden.largest_error(network["mobilenet"].golden, answers + 0.5) == pytest.approx(0.5)


def test_a_row_of_a_network_is_said_with_its_verdict() -> None:
    row = {"network": "mobilenet", "mode": "inference", "batch_size": 1, "median_ms": 10.0, "q1_ms": 9.0}
    row |= {"q3_ms": 11.0, "items_per_s": 100.0, "gflop_per_s": 114.0, "share_of_peak": 0.25, "largest_error": 0.5}
    said = list(networks.sentences([row | {"correct": False}, row | {"error": "why"}], 456.0))
    assert "25 % of the peak; FAIL, largest error 0.5" in said[0]
    assert said[1].endswith("why")


def test_promises_of_the_start_are_judged() -> None:
    rows = [startup._row(what, [0.3, 0.5, 0.4]) for what in ("command line: --help", "environment found", "other")]
    assert [row["kept"] for row in rows] == [True, False, None]
    said = list(startup.sentences(rows))
    assert said[0].endswith("promised 0.4 s: kept")
    assert said[1].endswith("NOT KEPT")


def test_settings_compose_for_every_kind() -> None:
    for kind in discovery.benchmarks():
        assert (
            registry.compose_settings("bench", Overrides.parse([f"bench={kind}", "backend=cpu"])).backend.name == "cpu"
        )


def test_the_worker_s_own_time_is_read_from_its_events(tmp_path: Path) -> None:
    events = [{"event": "start", "t": 10.0}, {"event": "epoch", "t": 11.0}, {"event": "done", "t": 14.0}]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    (tmp_path / "request.json").write_text("{}")
    os.utime(tmp_path / "request.json", (7.5, 7.5))
    assert startup._worker_s(tmp_path) == 6.5


@pytest.mark.stacks
@pytest.mark.parametrize("stack", ["tf-1.8", pytest.param("tf-2.21", marks=pytest.mark.slow)])
def test_operations_and_networks_on_real_stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: str) -> None:
    real_stacks.environment(stack)
    where = [f"stack={stack}", "backend=cpu", f"output.root={tmp_path}", "count=3", "backend.probes=false"]
    small = ["row_column=[100]", "square=[64]", "convolution=[8]"]
    rows = results(registry.dispatch("bench", Overrides.parse(["bench=matmul", *where, *small])).folder)
    assert len(rows) == 5
    assert all(row["correct"] and not row["error"] for row in rows), rows
    rows = results(
        registry.dispatch(
            "bench", Overrides.parse(["bench=networks", *where, "networks=[mnist]", "batch_sizes=[8]"])
        ).folder
    )
    assert [row["mode"] for row in rows] == ["inference", "training"]
    assert [row["correct"] for row in rows] == [True, None]
    assert all(row["gflop_per_item"] == pytest.approx(0.00488, rel=0.01) and not row["error"] for row in rows), rows


def results(folder: Path) -> list[Row]:
    rows: list[Row] = json.loads((folder / "results.json").read_text())
    return rows


def test_a_benchmark_that_was_stopped_before_its_first_row_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part: Any = None
    context: Any = SimpleNamespace(folder=tmp_path, record=SimpleNamespace(bench="matmul"))
    monkeypatch.setattr(bench_results, "request_of", lambda *_: SimpleNamespace())
    for name in ("execute", "raise_if_failed"):
        monkeypatch.setattr(bench_results, name, lambda *_: None)
    with pytest.raises(ZooError, match="stopped before its first result"):
        bench_results.timed(context, "bench_operations", part)
