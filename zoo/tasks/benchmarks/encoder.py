"""Timing the transformer's encoder on one stack or on several, in turn, with the processor always beside a GPU."""

import dataclasses
import json
from typing import Any

from zoo.config.schemas.benchmarks import IMPLEMENTATIONS, EncoderBenchConfig
from zoo.config.schemas.common import Settings
from zoo.config.tasks import Command, Task
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import selection
from zoo.runs.context import RunContext, create_context
from zoo.runs.execution import execute, raise_if_failed, request_of
from zoo.runs.lifecycle import record_outcome, start_run
from zoo.runs.result import Run
from zoo.tasks.benchmarks import participants, results
from zoo.tasks.benchmarks import rows as bench_rows
from zoo.tasks.benchmarks.rows import Row

TORCH = "torch"
# Published figures stand beside one's own only where the same was done: ten passes over 1,024 vectors.
PUBLISHED = {"length": 1024, "batch": 1, "passes": 10, "layers": 6, "d_model": 512, "heads": 8, "d_ff": 2048}


def bench(overrides: list[str]) -> Run:
    """Time as told.

    Args:
        overrides: as on the command line, ``group=option`` and ``key=value``.

    Raises:
        ZooError: nothing could be timed; what a single stack could not do is a row of the results.
    """
    context = create_context(BENCH, overrides)
    settings = context.settings
    choices = _choices(context, settings)
    start_run(context, [str(settings.model["name"]), context.choice.backend.name])
    with record_outcome(context):
        taking_part = [_Place(each) for each in participants.participant_contexts(context, choices)]
        turns = (_visit(place, settings) for _ in range(settings.rounds) for place in taking_part)
        whole = all(turns)
        rows = [row for place in taking_part for row in place.rows(settings)]
        bench_rows.share_of_peak(rows)
        if _is_published(settings):
            rows += bench_rows.published(str(settings.model["name"]))
        results.write(context.folder, bench_rows.COLUMNS, rows)
        context.record.summary, context.record.timings = _told(rows), len(rows)
        participants.conclude(context, taking_part)
        context.record.exit = "completed" if whole else "interrupted"
    return context.result


@dataclasses.dataclass
class _Place:
    """One stack on one device, and what came of timing there."""

    context: RunContext[EncoderBenchConfig]
    found: list[Row] = dataclasses.field(default_factory=list)
    error: str | None = None

    def rows(self, settings: EncoderBenchConfig) -> list[Row]:
        """Its results, each of them complete in itself."""
        known = _known(self.context)
        names = ("implementation", "way", "mode", "precision", "first_s", "error")
        told = [
            known
            | {name: row[name] for name in names}
            | (bench_rows.figures(row["taken_s"], settings.passes, row["flops"]) if not row["error"] else {})
            for row in self.found
        ]
        failed = {"implementation": settings.implementation, "mode": "", "precision": "", "error": self.error}
        return [*told, known | failed] if self.error else told


def _choices(context: RunContext[EncoderBenchConfig], settings: EncoderBenchConfig) -> list[selection.Selection]:
    """Every stack that takes part, the first being the one that was chosen; each only once."""
    found = participants.choices(context, settings.compare_to)
    wanted = IMPLEMENTATIONS[settings.implementation]
    if TORCH in wanted and not any(choice.stack.framework == TORCH for choice in found):
        console.say("PyTorch's own module needs a stack of PyTorch; it is timed beside")
        found.append(participants.on_processor(context, TORCH))
    if wanted == [TORCH]:
        found = [choice for choice in found if choice.stack.framework == TORCH]
    return found


def _visit(place: _Place, settings: EncoderBenchConfig) -> bool:
    """Let a stack take its turn; what goes wrong is kept. False means that the user wants to stop."""
    if place.error:
        return True
    try:
        outcome = execute(place.context, _request(place.context, settings))
        raise_if_failed(place.context, outcome)
    except ZooError as error:
        participants.keep_error(place, error)
        return True
    told = place.context.folder / "rows.json"
    if outcome.done:  # one that was stopped before has left the rows of its turn before, or none
        fresh = json.loads(told.read_text(encoding="utf-8"))
        for old, new in zip(place.found, fresh, strict=False):
            old["taken_s"] += new["taken_s"]
            old["error"] = old["error"] or new["error"]
        place.found = place.found or fresh
    return not outcome.interrupted


def _request(context: RunContext[EncoderBenchConfig], settings: EncoderBenchConfig) -> dict[str, Any]:
    named = ("modes", "precisions", "compiled", "length", "batch", "passes", "repeats")
    told = {name: getattr(settings, name) for name in named}
    told |= {"implementations": IMPLEMENTATIONS[settings.implementation], "as_published": True}
    return request_of(context, settings.model, "bench_encoder") | {"bench": told}


def _known(context: RunContext[Settings]) -> Row:
    """What is true of every row of a stack."""
    return results.known(context) | participants.device(context) | {"model": context.record.model}


def _is_published(settings: EncoderBenchConfig) -> bool:
    told = vars(settings) | settings.model
    return all(told[key] == value for key, value in PUBLISHED.items())


def _told(rows: list[Row]) -> list[str]:
    """The fastest of each implementation, mode and precision, and how the zoo's stands to PyTorch's."""
    best: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = (str(row["implementation"]), str(row["mode"]), str(row["precision"]))
        if row["grade"] != "reported" and row.get("median_s") and key[0] in ("zoo", "torch"):
            best[key] = min(best.get(key, row), row, key=lambda each: float(each["median_s"]))
    told = []
    for (name, mode, precision), row in best.items():
        theirs = best.get(("torch", mode, precision))
        if name == "zoo" and theirs:
            ratio = row["median_s"] / theirs["median_s"]
            told.append(
                f"{mode}, {precision}: the zoo's fastest ({row['stack']} {row['way']}) takes {ratio:.2f} "
                f"of the time of PyTorch's fastest ({theirs['way']})"
            )
    return told


BENCH = Command("bench", "encode", "bench_encoder", EncoderBenchConfig, bench)
TASK = Task("encode", (BENCH,), network_arguments={"length": 256})
