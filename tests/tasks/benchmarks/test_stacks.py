"""One network on several stacks in turns: who is asked when, what is kept, and what is made of it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.cli import execution
from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Settings
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.execution import worker_process
from zoo.protocol.events import BatchEvent, DoneEvent, ErrorEvent, ReadyEvent
from zoo.protocol.request import InterleavedBench, Request
from zoo.reports.sections import benchmarks as drawn
from zoo.runs import untrusted
from zoo.runs.context import RunContext
from zoo.tasks import registry
from zoo.tasks.benchmarks import networks
from zoo.tasks.benchmarks import stacks as bench_stacks

Row = dict[str, Any]


class Stacks:
    """Workers that answer as told: by stack the seconds of every call, an error, or a death."""

    def __init__(self, seconds: dict[str, Any]) -> None:
        self._seconds = seconds
        self.asked: list[tuple[str, int]] = []
        self.interrupt_at = -1

    def work(self, context: RunContext[Settings], request: Request, feed: Any, live: bool) -> worker_process.Outcome:
        assert not live
        name, (read, write) = context.choice.stack.name, os.pipe()
        answer = self._seconds[name]
        context.record.device = {"name": f"{name}'s", "device_kind": "cpu"}
        if isinstance(answer, ZooError):
            raise answer
        feed.begin(os.fdopen(write, "wb"))
        bench = request.bench
        assert isinstance(bench, InterleavedBench)
        cases = [(mode, precision) for precision in bench.precisions for mode in bench.modes]
        rows = [
            {"mode": mode, "precision": precision, "gflop_per_item": 1.0, "build_s": 1.0} for mode, precision in cases
        ]
        if name == "openvino":
            rows[1] |= {"error": "UserError: OpenVINO cannot train"}
        feed.event(ReadyEvent(rows=rows, peak_gflop_per_s=1000.0))
        with os.fdopen(read) as orders:
            for order in map(json.loads, orders):
                self.asked.append((name, order["case"]))
                if answer == "dies":
                    return worker_process.Outcome(error=ErrorEvent(message="it fell over", type="UserError"))
                feed.event(BatchEvent(case=order["case"], taken_s=[answer] * 3, peak_memory_bytes=1))
        return worker_process.Outcome(done=DoneEvent(metrics={}, phases={}))


Timed = Callable[..., tuple[Stacks, Any]]


@pytest.fixture
def timed(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Timed:
    def run(seconds: dict[str, Any], *more: str) -> tuple[Stacks, Any]:
        stacks = Stacks(seconds)
        monkeypatch.setattr(bench_stacks, "execute", stacks.work)
        first, *others = seconds
        settings = [f"stack={first}", f"compare_to=[{','.join(others)}]", "backend=cpu", "rounds=2", *more]
        return stacks, registry.dispatch("bench", Overrides.parse(["bench=stacks", *settings]))

    return run


def rows_of(run: Any) -> list[Row]:
    rows: list[Row] = json.loads((run.folder / "results.json").read_text())
    return rows


def test_stacks_take_turns_forwards_and_backwards(timed: Timed) -> None:
    stacks, run = timed({"tf-2.21": 0.002, "torch": 0.001, "openvino": 0.004})
    forwards = [("tf-2.21", 0), ("torch", 0), ("openvino", 0), ("tf-2.21", 1), ("torch", 1)]
    assert stacks.asked == [*forwards, *forwards[::-1]]
    rows = rows_of(run)
    assert [(row["stack"], row["mode"]) for row in rows] == [
        (name, mode) for name in ("tf-2.21", "torch", "openvino") for mode in ("inference", "training")
    ]
    assert [row["times_the_first"] for row in rows] == [1.0, 1.0, 2.0, 2.0, 0.5, None]
    assert (rows[2]["items_per_s"], rows[2]["count"], rows[2]["rounds"]) == (pytest.approx(32_000), 6, 2)
    assert rows[2]["share_of_peak"] == pytest.approx(32.0)
    assert rows[3]["gflop_per_s"] == pytest.approx(3 * 32_000)
    assert "cannot train" in rows[5]["error"]
    assert all(row["machine"] and row["backend"] and row["network"] == "mnist" for row in rows)
    said = " ".join(execution.summary(run))
    assert "inference: torch in float32 is the fastest" in said
    assert "2.00 (2.00 to 2.00) times as fast as tf-2.21" in said
    (_, headings, cells), = execution.tables(run)  # fmt: skip
    assert {len(row) for row in cells} == {len(headings)}
    assert "failed: UserError" in cells[5][4]


def test_a_stack_that_fails_is_a_row_and_the_others_go_on(timed: Timed) -> None:
    stacks, run = timed({"tf-2.21": 0.002, "torch": ZooError("no such thing", ""), "jax": "dies"})
    rows = rows_of(run)
    assert [row["error"] for row in rows if row["stack"] == "tf-2.21"] == [None, None]
    assert [row["error"] for row in rows if row["stack"] == "torch"] == ["no such thing"]
    assert "it fell over" in [row["error"] for row in rows if row["stack"] == "jax"][-1]
    assert [asked for asked in stacks.asked if asked[0] == "jax"] == [("jax", 0)]
    assert run.exit == "completed"
    assert len(run.record["places"]) == 3


def test_ctrl_c_keeps_what_was_timed(timed: Timed, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = bench_stacks.StackParticipant.take_turn

    def take_turn(self: Any, case: int, seconds: float) -> None:
        if case == 1:
            raise KeyboardInterrupt
        plain(self, case, seconds)

    monkeypatch.setattr(bench_stacks.StackParticipant, "take_turn", take_turn)
    _, run = timed({"tf-2.21": 0.002, "torch": 0.001})
    assert run.exit == "interrupted"
    assert [bool(row["median_ms"]) for row in rows_of(run)] == [True, False, True, False]
    assert "stopped before it was timed" in execution.tables(run)[0][2][1]


def test_nothing_at_all_is_an_error(timed: Timed) -> None:
    with pytest.raises(ZooError, match="Nothing could be timed"):
        timed({"tf-2.21": ZooError("no", "")})


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["network=mnits"], "did you mean 'mnist'?"),
        (["network=style_transfer"], "no network"),
        (["precisions=[float64]"], "precisions must be one of"),
        (["modes=[]"], "modes needs at least one value"),
        (["rounds=0"], "rounds must be from 1"),
        (["compare_to=[torhc]"], "torch"),
    ],
)
def test_wrong_settings_are_told_before_anything_is_done(pretending: Path, overrides: list[str], words: str) -> None:
    with pytest.raises(ZooError, match=r".") as caught:
        registry.dispatch("bench", Overrides.parse(["bench=stacks", "backend=cpu", *overrides]))
    assert words in str(caught.value)
    assert not (pretending / "runs").exists()


def test_every_network_can_be_told_to_a_worker() -> None:
    known = networks.known()
    assert {"mnist", "mobilenet_v2", "transformer", "transformer/lm", "style_transfer/fast"} <= set(known)
    assert "style_transfer" not in known
    for name in known:
        path = paths.PACKAGE / "models" / networks.network(name, paths.ROOT).model.name
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_the_page_has_a_chart_a_mode(timed: Timed) -> None:
    _, run = timed({"tf-2.21": 0.002, "torch": 0.001, "openvino": 0.004})
    shown = drawn.section(untrusted.read_record(run.folder), run.folder)
    assert shown is not None
    assert shown.count("<figure>") == 2
    assert "inference, items per second" in shown
    assert "cannot train" in shown


@pytest.mark.stacks("torch", "openvino")
def test_real_stacks_in_turns(tmp_path: Path) -> None:
    overrides = [
        "network=mnist_dense",
        "stack=torch",
        "compare_to=[openvino]",
        "precisions=[float32,bfloat16]",
        "batch_size=4",
    ]
    where = ["backend=cpu", "backend.probes=false", f"output.root={tmp_path}"]
    run = registry.dispatch("bench", Overrides.parse(["bench=stacks", *overrides, *where, "rounds=2", "turn_s=0"]))
    rows = rows_of(run)
    done = {(row["stack"], row["precision"], row["mode"]) for row in rows if not row["error"]}
    wanted = {("torch", precision, mode) for precision in ("float32", "bfloat16") for mode in ("inference", "training")}
    assert wanted | {("openvino", "float32", "inference")} <= done
    assert all(row["count"] >= 2 and row["gflop_per_item"] == pytest.approx(0.000203264) for row in rows
               if not row["error"])  # fmt: skip
    assert all(row["correct"] for row in rows if (row["precision"], row["mode"]) == ("float32", "inference"))


@pytest.mark.stacks
def test_a_network_that_takes_no_pictures_is_timed(tmp_path: Path) -> None:
    names = ["transformer/classifier"]
    where = ["stack=tf-2.21", "backend=cpu", "backend.probes=false", f"output.root={tmp_path}"]
    run = registry.dispatch(
        "bench",
        Overrides.parse(["bench=networks", f"networks=[{','.join(names)}]", *where, "batch_sizes=[1]", "count=3"]),
    )
    rows = rows_of(run)
    assert [(row["network"], row["mode"]) for row in rows] == [
        (name, mode) for name in names for mode in ("inference", "training")
    ]
    assert not any(row["error"] for row in rows), rows
    assert all(row["gflop_per_item"] > 0.001 for row in rows)
