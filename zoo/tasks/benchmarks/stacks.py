"""Time one network on several stacks and in several precisions, in alternating turns."""

import dataclasses
import statistics
from collections.abc import Iterator

from zoo.config.overrides import Overrides
from zoo.config.schemas.benchmarks import StacksConfig
from zoo.config.tasks import Command, Table, Task
from zoo.core import console
from zoo.core.errors import require_known
from zoo.environments import store
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.execution.worker_process import Feed, Outcome
from zoo.execution.worker_session import WorkerSession
from zoo.protocol.request import InterleavedBench
from zoo.runs.context import create_context
from zoo.runs.lifecycle import recorded_run
from zoo.runs.result import Run
from zoo.tasks.benchmarks import networks, participants, results
from zoo.tasks.benchmarks.participants import Participant
from zoo.tasks.benchmarks.results import Row

COLUMNS = (
    "network", "stack", "precision", "mode", "batch_size", "device", "device_kind", "rounds", "median_ms", "q1_ms",
    "q3_ms", "count", "items_per_s", "times_the_first", "times_the_first_q1", "times_the_first_q3", "gflop_per_item",
    "gflop_per_s", "share_of_peak", "build_s", "compile_s", "peak_memory_bytes", "largest_error", "correct",
)  # fmt: skip
# Training adds two backward passes: gradients of the inputs and of the weights.
PASSES = {"inference": 1, "training": 3}
Turns = list[list[float]]
TURNS = "turns"


def bench(overrides: Overrides) -> Run:
    context = create_context(BENCH, overrides)
    settings = context.settings
    require_known("network", [settings.network], networks.known())
    choices = participants.choices(context, settings.compare_to)
    name = settings.network.replace("/", "_")
    with recorded_run(context, ["bench", settings.bench, name, context.choice.backend.name]):
        context.record.bench, context.record.model = settings.bench, settings.network
        everyone = [StackParticipant(each) for each in participants.participant_contexts(context, choices)]
        whole = _play(everyone, settings)
        rows = [row for each in everyone for row in each.rows(settings)]
        compare_with_first(rows)
        results.write(context.folder, COLUMNS, rows)
        context.record.summary = list(sentences(rows))
        participants.summarize(context, everyone, whole)
    return context.result


@dataclasses.dataclass
class StackParticipant(Participant):
    cases: list[Row] = dataclasses.field(default_factory=list)
    turns: list[Turns] = dataclasses.field(default_factory=list)
    peak: float | None = None
    session: WorkerSession | None = None

    def start(self, settings: StacksConfig) -> None:
        """Start the worker and wait until every case is ready; failed cases keep their errors."""
        request = request_of(self.context, {"name": settings.network}, "bench_interleaved")
        request.bench = InterleavedBench(
            network=networks.network(settings.network, self.context.folder), modes=settings.modes,
            precisions=settings.precisions, batch_size=settings.batch_size,
        )  # fmt: skip

        def working(feed: Feed) -> Outcome:
            outcome = execute(self.context, request, feed=feed, live=False)
            raise_if_failed(self.context, outcome)
            return outcome

        with self.errors_recorded():
            # Build the environment first, so that no other output interrupts its progress bars.
            store.ensure(self.context.choice.stack, self.context.machine.platform)
            self.session = WorkerSession(working)
            ready = self.session.start()
            self.peak = ready.peak_gflop_per_s
            self.cases = [{"error": None} | row for row in ready.rows or []]
            self.turns = [[] for _ in self.cases]

    def take_turn(self, case: int, seconds: float) -> None:
        """Let the worker time a case; store the times or the error."""
        if self.error or self.session is None or self.cases[case]["error"]:
            return
        with self.errors_recorded():
            said = self.session.ask({"case": case, "seconds": seconds})
            self.cases[case] |= {"error": said.error, "peak_memory_bytes": said.peak_memory_bytes}
            self.turns[case] += [said.taken_s] if said.taken_s else []

    def rows(self, settings: StacksConfig) -> list[Row]:
        known = self.known | {"network": settings.network}
        pairs = zip(self.cases, self.turns, strict=True)
        rows = [known | figures(case, turns, settings.batch_size, self.peak) for case, turns in pairs]
        failed = {"mode": "", "precision": "", "batch_size": settings.batch_size, "error": self.error}
        return [*rows, known | failed] if self.error else rows


def _play(everyone: list[StackParticipant], settings: StacksConfig) -> bool:
    """Run all rounds, every second one in reverse order; return False if the user stopped them."""
    cases = range(len(settings.modes) * len(settings.precisions))
    try:
        for participant in everyone:
            console.say(f"Preparing {participant.context.choice.stack.name}")
            participant.start(settings)
        turns = [(participant, case) for case in cases for participant in everyone]
        with console.bar("taking turns", total=settings.rounds) as bar:
            for number in range(settings.rounds):
                for participant, case in turns if number % 2 == 0 else turns[::-1]:
                    participant.take_turn(case, settings.turn_s)
                bar.advance(1)
    except KeyboardInterrupt:
        console.say("\nStopping; the results so far are kept.")
        return False
    finally:
        for session in filter(None, (participant.session for participant in everyone)):
            session.finish()
    return True


def figures(case: Row, turns: Turns, batch: int, peak: float | None) -> Row:
    """Return the row of a case: median and quartiles over all calls of all turns.

    Args:
        case: the worker's row for the case.
        turns: seconds of each call, one list per turn.
        batch: items per call.
        peak: GFLOP/s of the fastest matrix product in float32, to compare float32 rows with.
    """
    taken = [second for turn in turns for second in turn]
    row = case | {"batch_size": batch, "rounds": len(turns), "count": len(taken), TURNS: turns}
    if not taken:
        return row
    low, middle, high = quartiles(taken)
    row |= {"median_ms": 1e3 * middle, "q1_ms": 1e3 * low, "q3_ms": 1e3 * high, "items_per_s": batch / middle}
    row["gflop_per_s"] = row["items_per_s"] * case["gflop_per_item"] * PASSES[case["mode"]]
    if peak and case["precision"] == "float32":
        row["share_of_peak"] = row["gflop_per_s"] / peak
    return row


def quartiles(values: list[float]) -> list[float]:
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def compare_with_first(rows: list[Row]) -> None:
    """Add the speed relative to the first row of the same mode: median and quartiles of the rounds' ratios."""
    first: dict[str, list[float]] = {}
    for row in rows:
        own = [statistics.median(turn) for turn in row.pop(TURNS, [])]
        if not own:
            continue
        ratios = [one / other for one, other in zip(first.setdefault(row["mode"], own), own, strict=False)]
        low, middle, high = quartiles(ratios)
        row |= {"times_the_first": middle, "times_the_first_q1": low, "times_the_first_q3": high}


HEADINGS = ["stack", "precision", "mode", "batch", "ms", "items/s", "times the first", "of peak", "answers"]


def cells(row: Row) -> list[str]:
    start = [row["stack"], row["precision"], row["mode"], str(row["batch_size"])]
    if row.get("error") or not row.get("median_ms"):
        return [*start, f"failed: {row['error']}" if row.get("error") else "stopped before it was timed", *[""] * 4]
    short = networks.short
    share = f"{100 * row['share_of_peak']:.0f} %" if row.get("share_of_peak") else ""
    return [
        *start, f"{short(row['median_ms'])} ({short(row['q1_ms'])} to {short(row['q3_ms'])})",
        short(row["items_per_s"]), _times(row), share, networks.verdict(row),
    ]  # fmt: skip


def _times(row: Row) -> str:
    return f"{row['times_the_first']:.2f} ({row['times_the_first_q1']:.2f} to {row['times_the_first_q3']:.2f})"


def sentences(rows: list[Row]) -> Iterator[str]:
    """Yield the fastest row of each mode, compared with the first, and the failures."""
    timed: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("median_ms"):
            timed.setdefault(row["mode"], []).append(row)
    for mode, group in timed.items():
        best, start = max(group, key=lambda row: float(row["times_the_first"])), group[0]
        names = [f"{row['stack']} in {row['precision']}" for row in (best, start)]
        ratio = "the first" if best is start else f"{_times(best)} times as fast as {names[1]}"
        rate = networks.short(best["items_per_s"])
        yield f"{mode}: {names[0]} is the fastest, {rate} items/s: {ratio}"
    for row in [row for row in rows if row.get("error")]:
        yield f"{', '.join(filter(None, (row['stack'], row['precision'], row['mode'])))}: {row['error']}"


def tables(run: Run) -> list[Table]:
    return [("", HEADINGS, [cells(row) for row in results.read(run.folder)])]


BENCH = Command("bench", "stacks", "bench_stacks", StacksConfig, bench, tables=tables)
TASK = Task("stacks", (BENCH,), needs_model=False)
