"""Time single operations from small to large, to find the size above which the accelerator is faster."""

from collections.abc import Iterator

from zoo.config.overrides import Overrides
from zoo.config.schemas.benchmarks import MatmulConfig
from zoo.config.tasks import Command, Task
from zoo.protocol.request import OperationsBench
from zoo.runs.context import create_context
from zoo.runs.lifecycle import recorded_run
from zoo.runs.result import Run
from zoo.tasks.benchmarks import crossover, results
from zoo.tasks.benchmarks.results import Row

COLUMNS = ("operation", "size", "device", "device_kind", "median_ms", "q1_ms", "q3_ms", "count", "gflop_per_s",
           "largest_error", "correct")  # fmt: skip
WORDS = {
    "row_column": "a row of n numbers times a column of n",
    "square": "two n x n matrices",
    "convolution": "a 3x3 convolution of 8 images, n x n, with 32 channels",
}
PLAIN = "numpy"


def bench(overrides: Overrides) -> Run:
    context = create_context(BENCH, overrides)
    settings = context.settings
    with recorded_run(context, ["bench", settings.bench, context.choice.backend.name]):
        context.record.bench = settings.bench
        sizes = {name: getattr(settings, name) for name in WORDS}
        part = OperationsBench(operations=settings.operations, sizes=sizes, count=settings.count, max_s=settings.max_s)
        rows = results.timed(context, "bench_operations", part)
        results.write(context.folder, COLUMNS, rows)
        context.record.summary = list(sentences(rows))
    return context.result


def sentences(rows: list[Row]) -> Iterator[str]:
    """Yield the crossovers, the failures, and whether all products were correct."""
    for operation, words in WORDS.items():
        times = curves(rows, operation)
        names = [(name, kind) for name, kind in times if name != PLAIN]
        pairs = [((PLAIN, "cpu"), each) for each in names if each[1] == "cpu"]
        pairs += [(one, other) for one in names for other in names if (one[1], other[1]) == ("cpu", "gpu")]
        for one, other in pairs:
            if one in times:
                yield f"{words}: {crossover.words(times[one], times[other], (_called(*one), _called(*other)))}"
    if not any(row["device_kind"] == "gpu" for row in rows):
        yield "No accelerator was timed, only the CPU, with and without the framework."
    timed = [row for row in rows if row.get("median_ms")]
    off = "{operation} {size:,} on {device} (off by {percent:.2g} %)"
    wrong = [off.format(**row, percent=100 * row["largest_error"]) for row in timed if not row["correct"]]
    if wrong:
        yield f"WRONG, more than 0.1 % from NumPy's result in float64: {', '.join(wrong)}"
    else:
        yield f"All {len(timed)} results are correct."
    failed = [row for row in rows if row.get("error") and row["device"] != PLAIN]
    yield from (f"{row['operation']} {row['size']} on {row['device']}: {row['error']}" for row in failed)


def curves(rows: list[Row], operation: str) -> dict[tuple[str, str], dict[float, float]]:
    """Return milliseconds by size, for every device (name, kind) that ran an operation."""
    curves: dict[tuple[str, str], dict[float, float]] = {}
    for row in rows:
        if row["operation"] == operation and row.get("median_ms"):
            curves.setdefault((row["device"], row["device_kind"]), {})[row["size"]] = row["median_ms"]
    return curves


def _called(name: str, kind: str) -> str:
    return name if name == PLAIN else f"the {kind.upper()} ({name})"


BENCH = Command("bench", "matmul", "bench_matmul", MatmulConfig, bench)
TASK = Task("matmul", (BENCH,), needs_model=False)
