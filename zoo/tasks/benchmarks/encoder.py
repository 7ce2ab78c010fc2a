"""Time the transformer's encoder on one or more stacks in turn; with a GPU, also on the CPU."""

import dataclasses
import json

from zoo.config.overrides import Overrides
from zoo.config.schemas.benchmarks import IMPLEMENTATIONS, EncoderBenchConfig
from zoo.config.schemas.common import Settings
from zoo.config.tasks import Command, Table, Task
from zoo.core import console
from zoo.environments import selection
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import EncoderBench, Request
from zoo.runs.context import RunContext, create_context
from zoo.runs.lifecycle import recorded_run
from zoo.runs.result import Run
from zoo.tasks.benchmarks import participants, results
from zoo.tasks.benchmarks.participants import Participant
from zoo.tasks.benchmarks.results import Row

TORCH = "torch"
# Published results are shown only for the same task: ten passes over 1,024 vectors.
PUBLISHED = {"length": 1024, "batch": 1, "passes": 10, "layers": 6, "d_model": 512, "heads": 8, "d_ff": 2048}


def bench(overrides: Overrides) -> Run:
    context = create_context(BENCH, overrides)
    settings = context.settings
    selections = _selections(context, settings)
    with recorded_run(context, [str(settings.model["name"]), context.choice.backend.name]):
        everyone = [EncoderParticipant(each) for each in participants.participant_contexts(context, selections)]
        turns = (_take_turn(each, settings) for _ in range(settings.rounds) for each in everyone)
        whole = all(turns)
        rows = [row for each in everyone for row in each.rows(settings)]
        results.share_of_peak(rows)
        values = vars(settings) | settings.model
        if all(values[key] == value for key, value in PUBLISHED.items()):
            rows += results.published(str(settings.model["name"]))
        results.write(context.folder, results.ENCODER_COLUMNS, rows)
        context.record.summary, context.record.timings = _summary(rows), len(rows)
        participants.summarize(context, everyone, whole)
    return context.result


@dataclasses.dataclass
class EncoderParticipant(Participant):
    timings: list[Row] = dataclasses.field(default_factory=list)

    def rows(self, settings: EncoderBenchConfig) -> list[Row]:
        known = self.known | {"model": self.context.record.model}
        names = ("implementation", "way", "mode", "precision", "first_s", "error")
        rows = [
            known
            | {name: row[name] for name in names}
            | (results.figures(row["taken_s"], settings.passes, row["flops"]) if not row["error"] else {})
            for row in self.timings
        ]
        failed = {"implementation": settings.implementation, "mode": "", "precision": "", "error": self.error}
        return [*rows, known | failed] if self.error else rows


def _selections(context: RunContext[EncoderBenchConfig], settings: EncoderBenchConfig) -> list[selection.Selection]:
    """Return the stacks to time, without duplicates, the selected one first."""
    selections = participants.choices(context, settings.compare_to)
    wanted = IMPLEMENTATIONS[settings.implementation]
    if TORCH in wanted and not any(choice.stack.framework == TORCH for choice in selections):
        console.say("PyTorch's own module needs stack torch, which is also timed")
        selections.append(selection.select("cpu", context.machine, TORCH))
    if wanted == [TORCH]:
        selections = [choice for choice in selections if choice.stack.framework == TORCH]
    return selections


def _take_turn(participant: EncoderParticipant, settings: EncoderBenchConfig) -> bool:
    """Time a participant and record its errors; return False after Ctrl-C."""
    if not participant.error:
        with participant.errors_recorded():
            outcome = execute(participant.context, _request(participant.context, settings))
            raise_if_failed(participant.context, outcome)
    if participant.error:
        return True
    if outcome.done:  # after an interrupted turn, rows.json is missing or from the previous turn
        path = participant.context.folder / "rows.json"
        fresh = json.loads(path.read_text(encoding="utf-8"))
        for old, new in zip(participant.timings, fresh, strict=False):
            old["taken_s"] += new["taken_s"]
            old["error"] = old["error"] or new["error"]
        participant.timings = participant.timings or fresh
    return not outcome.interrupted


def _request(context: RunContext[Settings], settings: EncoderBenchConfig) -> Request:
    request = request_of(context, settings.model, "bench_encoder")
    request.bench = EncoderBench(
        implementations=IMPLEMENTATIONS[settings.implementation], as_published=True, modes=settings.modes,
        precisions=settings.precisions, compiled=settings.compiled, length=settings.length, batch=settings.batch,
        passes=settings.passes, repeats=settings.repeats,
    )  # fmt: skip
    return request


def _summary(rows: list[Row]) -> list[str]:
    """Compare the zoo's fastest result with PyTorch's, for each mode and precision."""
    best: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = (str(row["implementation"]), str(row["mode"]), str(row["precision"]))
        if row["grade"] != "reported" and row.get("median_s") and key[0] in ("zoo", "torch"):
            best[key] = min(best.get(key, row), row, key=lambda each: float(each["median_s"]))
    lines = []
    for (name, mode, precision), row in best.items():
        theirs = best.get(("torch", mode, precision))
        if name == "zoo" and theirs:
            ratio = row["median_s"] / theirs["median_s"]
            lines.append(
                f"{mode}, {precision}: the zoo's fastest ({row['stack']} {row['way']}) takes {ratio:.2f} "
                f"of the time of PyTorch's fastest ({theirs['way']})"
            )
    return lines


def tables(run: Run) -> list[Table]:
    return [("", results.HEADINGS, [results.cells(row) for row in results.read(run.folder)])]


BENCH = Command("bench", "encode", "bench_encoder", EncoderBenchConfig, bench, tables=tables)
TASK = Task("encode", (BENCH,), network_arguments={"length": 256})
