"""Time the command line, the lookup of the environment, and the start of training."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.benchmarks import StartupConfig
from zoo.config.schemas.common import Settings
from zoo.config.tasks import Command, Task
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import store
from zoo.runs.context import RunContext, create_context
from zoo.runs.lifecycle import recorded_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks.benchmarks import results
from zoo.tasks.benchmarks.results import Row

COLUMNS = ("what", "median_s", "q1_s", "q3_s", "count", "limit_s", "kept")
COMMANDS = {"command line: --help": ["--help"], "command line: list": ["list"]}
# The limits that the zoo promises.
LIMITS_S = {"command line: --help": 0.4, "environment found": 0.1, "zoo: all that the worker does not do": 1.0}
TRAINING = ["train", "model=mnist", "data=digits", "trainer.epochs=1", "--json"]


def bench(overrides: Overrides) -> Run:
    context = create_context(BENCH, overrides)
    settings = context.settings
    words = ["bench", settings.bench, context.choice.backend.name]
    with recorded_run(context, words), tempfile.TemporaryDirectory() as root:
        context.record.bench = settings.bench
        # Build a missing environment before the timing starts.
        store.ensure(context.choice.stack, context.machine.platform)
        times = _taken(context, settings.count, Path(root))
        rows = [_row(what, taken) | results.known(context) for what, taken in times.items()]
        results.write(context.folder, COLUMNS, rows)
        context.record.summary, context.record.exit = list(sentences(rows)), "completed"
    return context.result


def _taken(context: RunContext[Settings], count: int, root: Path) -> dict[str, list[float]]:
    rounds: list[dict[str, float]] = []
    for turn in range(count + 1):
        console.say(f"round {turn} of {count}" if turn else "warm round")
        seconds = {what: _process(words)[0] for what, words in COMMANDS.items()}
        began = time.perf_counter()
        store.ensure(context.choice.stack, context.machine.platform)
        seconds["environment found"] = time.perf_counter() - began
        rounds.append(seconds | _training(context, root / str(turn)))
    return {what: [seconds[what] for seconds in rounds[1:]] for what in rounds[0]}


def _process(words: list[str]) -> tuple[float, str]:
    began = time.perf_counter()
    answer = subprocess.run([sys.executable, "-m", "zoo", *words], capture_output=True, text=True, check=False)
    taken = time.perf_counter() - began
    if answer.returncode:
        raise ZooError(f"`python -m zoo {' '.join(words)}` failed: {answer.stderr.strip()[-500:]}", "Run it by hand.")
    return taken, answer.stdout


def _training(context: RunContext[Settings], root: Path) -> dict[str, float]:
    """Train one epoch on digits; return the seconds of each part of the process."""
    where = [f"backend={context.choice.backend.name}", f"stack={context.choice.stack.name}", f"output.root={root}"]
    whole, printed = _process([*TRAINING, *where])
    record: Json = json.loads(printed)
    context.record.update({key: record[key] for key in ("device", "versions", "probes")})
    phases = record["phases"]
    (folder,) = root.iterdir()
    worker = _worker_s(folder)
    return {
        "worker: imports": phases["import_s"], "worker: probes": phases["probes_s"],
        "worker: build the model": phases["build_s"], "worker: first step": phases["compile_s"],
        "worker: in all": worker, "zoo: all that the worker does not do": whole - worker,
        "train one epoch: whole process": whole,
    }  # fmt: skip


def _worker_s(folder: Path) -> float:
    """Return the seconds from the writing of the request, when the worker starts, to the worker's last event."""
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return float(json.loads(lines[-1])["t"] - (folder / "request.json").stat().st_mtime)


def _row(what: str, taken: list[float]) -> Row:
    low, middle, high = statistics.quantiles(taken, n=4)
    limit = LIMITS_S.get(what)
    kept = None if limit is None else middle <= limit
    return {"what": what, "median_s": middle, "q1_s": low, "q3_s": high, "count": len(taken), "limit_s": limit,
            "kept": kept}  # fmt: skip


def sentences(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        promise = ""
        if row["limit_s"] is not None:
            promise = f", promised {row['limit_s']} s: {'kept' if row['kept'] else 'NOT KEPT'}"
        yield f"{row['what']}: {row['median_s']:.3f} s ({row['q1_s']:.3f} to {row['q3_s']:.3f}){promise}"


BENCH = Command("bench", "startup", "bench_startup", StartupConfig, bench)
TASK = Task("startup", (BENCH,), needs_model=False)
