"""Timing: what is told, what is written, and one real run of it."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from zoo import api
from zoo.cli import execution
from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Settings
from zoo.core.errors import ZooError
from zoo.execution import worker_process
from zoo.protocol.events import DoneEvent
from zoo.protocol.request import EncoderBench, Request
from zoo.runs.context import RunContext
from zoo.tasks import registry
from zoo.tasks.benchmarks import encoder as bench_encoder
from zoo.tasks.benchmarks import results
from zoo.worker.jobs import bench_encoder as encoder_job

TINY = ["length=16", "passes=2", "repeats=2", "model.layers=1", "model.d_model=16", "model.heads=2", "model.d_ff=32"]


def row(implementation: str, taken: list[float], precision: str = "float32", **rest: Any) -> results.Row:
    known = {"implementation": implementation, "precision": precision, "device_kind": "cpu", "stack": "torch"}
    return (
        known | {"mode": "evaluation", "device": "cpu", "grade": "measured"} | results.figures(taken, 10, 5e10) | rest
    )


def test_figures_are_the_median_of_all_repeats_and_name_their_units() -> None:
    figures_row = results.figures([3.0, 1.0, 2.0], 10, 5e10)
    assert (figures_row["median_s"], figures_row["fastest_s"], figures_row["slowest_s"], figures_row["repeats"]) == (
        2.0,
        1.0,
        3.0,
        3,
    )
    assert (figures_row["pass_ms"], figures_row["gflop_per_pass"], figures_row["tflop_per_s"]) == (200.0, 50.0, 0.25)


def test_the_share_of_the_peak_is_that_of_the_same_precision() -> None:
    rows = [row("zoo", [2.0]), row("matrix product", [1.0, 0.5]), row("zoo", [2.0], "bfloat16")]
    results.share_of_peak(rows)
    assert rows[0]["peak_tflop_per_s"] == 1.0
    assert rows[0]["share_of_peak"] == 0.25
    assert "share_of_peak" not in rows[2]


def test_every_row_stands_alone(tmp_path: Path) -> None:
    rows = [row("zoo", [2.0]), row("torch", [], error="out of memory"), *results.published("transformer")]
    results.write(tmp_path, results.ENCODER_COLUMNS, rows)
    columns = [*results.ENCODER_COLUMNS, "error", *results.KNOWN]
    assert all(list(each) == columns for each in results.read(tmp_path))
    with (tmp_path / "results.csv").open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [each["error"] for each in written[:2]] == ["", "out of memory"]
    assert {each["grade"] for each in written[2:]} == {"reported"}
    assert all(each["source"] and each["date"] and float(each["median_s"]) > 0 for each in written[2:])
    assert "failed: out of memory" in results.cells(rows[1])


def test_published_figures_of_the_encoder_are_the_six_of_their_source() -> None:
    seconds = [each["median_s"] for each in results.published("transformer")]
    assert seconds == [0.658, 1.261, 4.325, 4.158, 1.894, 5.251]


@pytest.mark.parametrize(
    ("overrides", "word"),
    [
        (["modes=[evaluating]"], "evaluating"),
        (["precisions=[float64]"], "float64"),
        (["implementation=tensorflow"], "implementation"),
        (["passes=0"], "passes"),
        (["modes=[]"], "modes needs at least one value"),
        (["model=mnist"], "bench"),
    ],
)
def test_wrong_settings_are_told(overrides: list[str], word: str) -> None:
    with pytest.raises(ZooError, match=word):
        registry.dispatch(
            "bench",
            Overrides.parse(["model=transformer", *overrides] if "model=mnist" not in overrides else overrides),
        )


def test_one_layer_can_be_asked_for() -> None:
    settings: Any = registry.compose_settings("bench", Overrides.parse(["model=transformer", "model.layers=1"]))
    assert settings.model["layers"] == 1


def test_the_bare_encoder_is_not_trained() -> None:
    with pytest.raises(ZooError, match="train"):
        api.train(model="transformer")


def test_the_work_of_a_pass_is_counted() -> None:
    sizes = {"layers": 6, "d_model": 512, "heads": 8, "d_ff": 2048}
    assert encoder_job.flops(sizes, 1024, 1) == 6 * (2 * 1024 * (4 * 512**2 + 2 * 512 * 2048) + 4 * 1024**2 * 512)


def test_pytorchs_module_is_timed_on_pytorch_alone_and_once_as_it_was_published() -> None:
    bench = EncoderBench(
        precisions=["float32", "bfloat16"], implementations=["zoo", "torch"], modes=["training"], compiled=False,
        as_published=True, length=8, batch=1, passes=1, repeats=1,
    )  # fmt: skip
    cases = [(case["implementation"], case["mode"], case["precision"]) for case in encoder_job.cases(bench, "torch")]
    assert cases == [
        ("zoo", "training", "float32"),
        ("torch", encoder_job.PUBLISHED, "float32"),
        ("torch", "training", "float32"),
        ("matrix product", "", "float32"),
        ("zoo", "training", "bfloat16"),
        ("torch", "training", "bfloat16"),
        ("matrix product", "", "bfloat16"),
    ]
    assert {case["implementation"] for case in encoder_job.cases(bench, "jax")} == {"zoo", "matrix product"}


class Workers:
    """What stacks answer in turn: seconds, an error, or an interruption."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def __call__(self, context: RunContext[Settings], request: Request) -> worker_process.Outcome:
        name = context.choice.stack.name
        self.asked.append(name)
        answer = self._answers[name].pop(0)
        if isinstance(answer, ZooError):
            raise answer
        context.record.device = {"name": "cpu", "device_kind": "cpu"}
        case = {"implementation": "zoo", "way": "eager", "mode": "evaluation", "precision": "float32"}
        timings = [case | {"taken_s": answer, "first_s": 0.1, "error": None, "flops": 1e9}]
        (context.folder / "rows.json").write_text(json.dumps(timings))
        return worker_process.Outcome(done=DoneEvent(metrics={}, phases={}), interrupted=not answer)


def timed(monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[Any]]) -> tuple[Workers, Any]:
    workers = Workers(answers)
    monkeypatch.setattr(bench_encoder, "execute", workers)
    return workers, registry.dispatch(
        "bench", Overrides.parse(["model=transformer", "stack=torch", "compare_to=[jax]", "rounds=2", "length=8"])
    )


def test_stacks_take_turns_and_one_that_fails_is_a_row(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"torch": [[1.0, 2.0], [3.0]], "jax": [[4.0], ZooError("it fell over", "")]}
    workers, run = timed(monkeypatch, answers)
    assert workers.asked == ["torch", "jax", "torch", "jax"]
    rows = results.read(run.folder)
    assert [(row["stack"], row["median_s"], row["repeats"]) for row in rows[:2]] == [
        ("torch", 2.0, 3),
        ("jax", 4.0, 1),
    ]
    assert (rows[2]["stack"], rows[2]["error"]) == ("jax", "it fell over")
    assert run.exit == "completed"
    assert len(execution.tables(run)[0][2]) == 3


def test_what_was_timed_before_ctrl_c_is_kept(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers, run = timed(monkeypatch, {"torch": [[1.0]], "jax": [[]]})
    assert workers.asked == ["torch", "jax"]
    assert [row["median_s"] for row in results.read(run.folder)] == [1.0, None]
    assert run.exit == "interrupted"
    assert "stopped before it was timed" in execution.tables(run)[0][2][1]


def test_nothing_at_all_is_an_error(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZooError, match="Nothing could be timed"):
        timed(monkeypatch, {"torch": [ZooError("no", "")], "jax": [ZooError("nor here", "")]})


@pytest.mark.stacks("torch", "openvino")
def test_both_implementations_are_timed_and_what_cannot_be_is_a_row(tmp_path: Path) -> None:
    overrides = ["model=transformer", "stack=torch", "implementation=both", "compare_to=[openvino]", *TINY]
    run = registry.dispatch(
        "bench",
        Overrides.parse(
            [*overrides, "compiled=false", "precisions=[float32,bfloat16]", "rounds=2", f"output.root={tmp_path}"]
        ),
    )
    rows = results.read(run.folder)
    done = {
        (each["stack"], each["implementation"], each["mode"], each["precision"]) for each in rows if not each["error"]
    }
    for precision in ("float32", "bfloat16"):
        for mode in ("evaluation", "training"):
            assert {("torch", "zoo", mode, precision), ("torch", "torch", mode, precision)} <= done
    assert ("openvino", "zoo", "evaluation", "float32") in done
    assert ("torch", "torch", "as published", "float32") in done
    assert all(each["repeats"] == 4 and each["median_s"] > 0 for each in rows if not each["error"])
    failed = [each for each in rows if each["error"]]
    if ("openvino", "zoo", "evaluation", "bfloat16") not in done:  # not all processors have it
        refused = next(each for each in failed if (each["mode"], each["precision"]) == ("evaluation", "bfloat16"))
        assert "this CPU has no instructions for bf16" in refused["error"]
        failed.remove(refused)
    assert {(each["stack"], each["mode"]) for each in failed} == {("openvino", "training"), ("openvino", "")}
    assert all(each["machine"] and each["python"] and each["framework"] for each in rows)
    assert not any(each["grade"] == "reported" for each in rows)  # these are of other sizes
    record = json.loads((run.folder / "run.json").read_text())
    assert record["exit"] == "completed"
    assert [place["stack"]["name"] for place in record["places"]] == ["torch", "openvino"]
