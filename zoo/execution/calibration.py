"""Select the fastest batch size and precision in a recipe's range with a few timed steps, before training.

A separate process takes the steps, so training has the same result as with these settings on the command line.
If the system kills the process for its memory use, that point is not selected and the run continues.
"""

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.config import bounds
from zoo.config.overrides import Overrides, leaves
from zoo.core import console, planning
from zoo.core.files import write_json
from zoo.environments import store
from zoo.environments.machine import Machine
from zoo.environments.store import Environment
from zoo.execution import diagnosis, execution, probe_cache, worker_process
from zoo.protocol.events import Event, PointEvent
from zoo.protocol.request import CalibrationPart, ImageTrainPart, Request
from zoo.runs import ranges, records
from zoo.runs.context import RunContext
from zoo.runs.ranges import BATCH, PRECISION, RATE, Range
from zoo.runs.records import Json, RunRecord

SECONDS = 10.0
# A smaller gain may be noise; the recipe's own point is used.
GAIN = 1.1
SPEED, MEMORY, ON_OOM = "items_per_s", "out of memory", "trainer.on_oom"
# Parts of a request that affect the time of a step.
TIMED = {
    "model": ("name", "args", "sha256"),
    "train": ("optimizer", "ema", "jit", "clip", "weight_decay", "max_memory_gb"),
    "data": ("augment", "balance", "placement"),
}


def settle(
    context: RunContext[Any], request_of: Callable[[RunContext[Any]], Request], fixed_steps: bool = False
) -> None:
    """Apply the fastest point of the recipe's range to settings that are not set, if calibration is requested.

    Args:
        context: a run that has not started; a resumed run keeps its point.
        request_of: returns the training request for the folder of a context.
        fixed_steps: the number of steps does not depend on the batch size, so only the precision is chosen.
    """
    settings, wanted = context.settings, context.settings.trainer.calibrate
    automatic = context.choice.device_kind == "gpu" and settings.preset == "full"
    if context.resumes or planning.is_planning() or not (automatic if wanted is None else wanted):
        return
    model, data = str(settings.model["name"]), settings.data.name
    fits = bounds.settings(settings.expect.get(data)).items() <= dict(leaves(dataclasses.asdict(settings))).items()
    proven = ranges.of(context.command, model, data, context.choice.backend.name) if fits else None
    points = _points(context, proven, fixed_steps) if proven else None
    if proven and points and settings.distributed.processes == 1:
        _take(context, proven, _found(context, points, request_of))
    elif wanted:
        why = "processes share the batches" if points else "batch size and precision are given"
        none = f"the recipe of {model} has no measured range for data={data}"
        console.warn(f"Not calibrated: {why if proven else none}")


def _points(context: RunContext[Any], proven: Range, fixed_steps: bool) -> CalibrationPart | None:
    """Return the points to time, the current settings first, or None if everything is set."""
    trainer, given = context.settings.trainer, context.overrides.is_given
    low, high = proven.batch_size
    sizes, precisions = [trainer.batch_size], [trainer.precision]
    if not (fixed_steps or given(BATCH) or given(RATE)):  # another size would need another rate
        doubled = {high, *(low << power for power in range((high // low).bit_length()))}
        sizes += sorted(doubled - {trainer.batch_size})
    if not given(PRECISION):
        precisions += [each for each in proven.precisions if each != trainer.precision]
    points = CalibrationPart(batch_sizes=sizes, precisions=precisions, seconds=SECONDS)
    return points if len(sizes) * len(precisions) > 1 else None


def _found(context: RunContext[Any], points: CalibrationPart, request_of: Callable[[RunContext[Any]], Request]) -> Json:
    """Return the timings of the points and their date, from the cache if available."""
    with tempfile.TemporaryDirectory(prefix="zoo-calibration-") as folder:
        trial = dataclasses.replace(context, folder=Path(folder), record=RunRecord())
        request = request_of(trial).replace(calibration=points, probes=False)
        assert isinstance(request.train, ImageTrainPart)  # noqa: S101  (only these have a range)
        request.train = request.train.replace(export=[], on_nan="stop", max_minutes=None)
        if request.fine_tune:  # skip the stage that trains the head, whose features take long to compute
            request.fine_tune = request.fine_tune.replace(head_epochs=0)
        environment = execution.ensure_environment(trial)
        path = None if context.settings.backend.python else _file(environment, context.machine, request)
        cached = probe_cache.content(path, ("rows", "date"))
        if cached:
            return cached
        rows = _timed(trial, environment, request, points)
    timings = {"rows": rows, "date": records.today()}
    if path:
        probe_cache.write(path, timings)
    return timings


def _file(environment: Environment, machine: Machine, request: Request) -> Path:
    parts = request.to_json()
    settings = {name: {key: parts.get(name, {}).get(key) for key in keys} for name, keys in TIMED.items()}
    sources = [probe_cache.sources_sha256(name) for name in ("worker", "models")]
    more = [request.job, parts["calibration"], parts.get("fine_tune"), parts.get("freeze"), settings, sources]
    return probe_cache.place("calibrations", environment, machine, request.device, more)


def _timed(context: RunContext[Any], environment: Environment, request: Request, points: CalibrationPart) -> list[Json]:
    """Time the points in a worker, and the smaller sizes in another worker if the first ran out of memory."""
    console.say(f"Calibrating: at most {SECONDS:.0f} s after the first step (trainer.calibrate=false skips it)")
    rows: list[Json] = []
    sizes = points.batch_sizes
    while sizes:
        request.calibration = points.replace(batch_sizes=sizes)
        rows += _run(context, environment, request)
        again = all(row.get("problem") == MEMORY for row in rows)
        sizes = sorted((size for size in sizes if again and size < rows[-1]["batch_size"]), reverse=True)
    return rows


def _run(context: RunContext[Any], environment: Environment, request: Request) -> list[Json]:
    """Run a worker; return a row for each point that it started."""
    rows: list[Json] = []
    path, folder = context.folder / "request.json", context.folder
    write_json(path, request.to_json())

    def watch(event: Event) -> None:
        if isinstance(event, PointEvent):
            if event.seconds is not None:  # the point was begun before
                rows.pop()
            rows.append({name: value for name, value in event.to_json().items() if name not in ("t", "event")})
            _show(rows[-1])

    variables = store.child_environment(context.choice.stack, context.choice.env)
    with store.in_use(environment):
        outcome = worker_process.run(environment.python, variables, path, watch)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.error or not rows:
        raise diagnosis.failure(outcome, folder, context.choice.backend.name)
    if "seconds" not in rows[-1]:
        lost = f"the worker was ended ({outcome.returncode})" if outcome.returncode else "no time left"
        rows[-1]["problem"] = MEMORY if diagnosis.ran_out_of_memory(outcome, folder) else lost
        _show(rows[-1])
    return rows


def _show(row: Json) -> None:
    result = f"{row[SPEED]:,.0f} items/s" if SPEED in row else row.get("problem")
    if result:
        console.say(f"  batch_size={row['batch_size']} precision={row['precision']}: {result}")


def _take(context: RunContext[Any], proven: Range, timings: Json) -> None:
    timed, own = [row for row in timings["rows"] if SPEED in row], timings["rows"][0]
    if not timed:
        console.warn("Calibration timed no point; using the recipe's own point")
        return
    best = max(timed, key=lambda row: row[SPEED])
    if SPEED in own and best[SPEED] < GAIN * own[SPEED]:
        best = own
    trainer, given = context.settings.trainer, context.overrides.is_given
    present = {BATCH: trainer.batch_size, RATE: trainer.learning_rate, PRECISION: trainer.precision}
    point = proven.settings(best["batch_size"], best["precision"])
    if point[BATCH] == trainer.batch_size:
        point[RATE] = trainer.learning_rate
    changed = {key: value for key, value in point.items() if value != present[key] and not given(key)}
    # Evaluation and checkpoints may need more memory than steps.
    if changed.get(BATCH, 0) > trainer.batch_size and not given(ON_OOM):
        changed[ON_OOM] = "halve"
    context.overlay("calibration", changed)
    context.calibration = timings | {"taken": point}
    ratio = f", {best[SPEED] / own[SPEED]:.2f} times the speed of the recipe's own point" if SPEED in own else ""
    console.say(f"Calibration of {timings['date']}: {' '.join(Overrides.of(point).words)}{ratio}")
