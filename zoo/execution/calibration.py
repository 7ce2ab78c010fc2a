"""Choose the fastest point in the range of a recipe by a few timed steps, before the first step of a training.

The steps are taken by a process of its own. So the training is the one that the same settings on the command line
give, and a point at which the system kills the process for its memory is not taken, which is no failure.
"""

import dataclasses
import datetime
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.core import console, planning
from zoo.core.files import write_json
from zoo.environments import store
from zoo.environments.store import Environment
from zoo.execution import diagnosis, execution, probe_cache, worker_process
from zoo.protocol.events import Event, PointEvent
from zoo.protocol.request import CalibrationPart, ImageTrainPart, Request
from zoo.runs import ranges
from zoo.runs.context import RunContext
from zoo.runs.ranges import BATCH, PRECISION, RATE, Range
from zoo.runs.records import Json, RunRecord

SECONDS = 10.0
# A point that is faster by less than that may be so by chance: the recipe's own is taken.
GAIN = 1.05
MEMORY = "out of memory"
# The settings of a training that decide how long a step takes.
TIMED = ("optimizer", "ema", "jit", "clip", "weight_decay", "max_memory_gb")


def settle(context: RunContext[Any], request_of: Callable[[RunContext[Any]], Request]) -> None:
    """Lay the fastest point of the recipe's range over the settings of a training, where calibration is wanted.

    What the user or a reference sets stays. A resumed run keeps its point.

    Args:
        context: of a run that has not started.
        request_of: returns the request of the training, for the folder of a context.
    """
    settings, wanted = context.settings, context.settings.trainer.calibrate
    automatic = context.choice.device_kind == "gpu" and settings.preset == "full"
    if context.resumes or planning.is_planning() or not (automatic if wanted is None else wanted):
        return
    model, data, backend = str(settings.model["name"]), settings.data.name, context.choice.backend.name
    proven = ranges.of(context.command, model, data, backend)
    points = _points(context, proven) if proven else None
    if proven is None or points is None or settings.distributed.processes > 1:
        if wanted:
            why = "processes share the batches" if proven and points else "batch size and precision are given"
            why = why if proven else f"the recipe of {model} has no measured range for data={data}"
            console.warn(f"Not calibrated: {why}")
        return
    with tempfile.TemporaryDirectory(prefix="zoo-calibration-") as folder:
        trial = dataclasses.replace(context, folder=Path(folder), record=RunRecord())
        request = request_of(trial).replace(calibration=points, probes=False, tensorboard=False)
        environment = execution.ensure_environment(trial)
        path = None if settings.backend.python else _file(environment, context, request)
        found = probe_cache.content(path, ("rows", "date")) or _measured(trial, environment, request)
    if path and _timed(found):
        probe_cache.write(path, found)
    _take(context, proven, found)


def _points(context: RunContext[Any], proven: Range) -> CalibrationPart | None:
    """Return the points to time, those of the settings first; None where all is given."""
    trainer, given = context.settings.trainer, context.overrides.is_given
    low, high = proven.batch_size
    sizes, precisions = [trainer.batch_size], [trainer.precision]
    if not (given(BATCH) or given(RATE)):  # another size would need another rate
        doubled = {high, *(low << power for power in range((high // low).bit_length()))}
        sizes += sorted(doubled - {trainer.batch_size})
    if not given(PRECISION):
        precisions += [each for each in proven.precisions if each != trainer.precision]
    points = CalibrationPart(batch_sizes=sizes, precisions=precisions, seconds=SECONDS)
    return points if len(sizes) * len(precisions) > 1 else None


def _file(environment: Environment, context: RunContext[Any], request: Request) -> Path:
    """Return the path of what was found on this machine with this stack, model and input."""
    assert request.model  # noqa: S101  (a training has one)
    asked = request.to_json()
    train = {name: value for name, value in asked["train"].items() if name in TIMED}
    network = {name: asked.get(name) for name in ("calibration", "fine_tune", "freeze", "job")}
    work = {name: asked["data"].get(name) for name in ("augment", "balance", "placement")}
    sources = [probe_cache.sources_sha256(name) for name in ("worker", "models")]
    what = [request.model.name, request.model.args, request.model.sha256, train, network, work, sources]
    return probe_cache.place("calibrations", environment, context.machine, request.device, what)


def _measured(context: RunContext[Any], environment: Environment, request: Request) -> Json:
    """Let a worker time the points; where it is killed at the first one, another begins with a smaller batch."""
    assert isinstance(request.train, ImageTrainPart)  # noqa: S101  (all that has a range)
    request.train = request.train.replace(export=[], on_nan="stop", max_minutes=None)
    if request.fine_tune:  # the last layer alone learns from features, which take long to compute
        request.fine_tune = request.fine_tune.replace(head_epochs=0)
    console.say(f"Calibrating for {SECONDS:.0f} s at most (trainer.calibrate=false takes the recipe's own point)")
    rows: list[Json] = []
    asked = request.calibration
    while asked:
        request.calibration, timed = asked, len(rows)
        rows += _run(context, environment, request)
        left = SECONDS - sum(row.get("seconds", SECONDS) for row in rows if row.get("problem") != MEMORY)
        smaller = sorted((size for size in asked.batch_sizes if size < rows[-1]["batch_size"]), reverse=True)
        killed = len(rows) == timed + 1 and rows[-1].get("seconds") is None and rows[-1]["problem"] == MEMORY
        again = killed and smaller and left > 0
        asked = asked.replace(batch_sizes=smaller, seconds=left) if again else None
    return {"rows": rows, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}


def _run(context: RunContext[Any], environment: Environment, request: Request) -> list[Json]:
    """Run the worker; return a row for each point that it began."""
    begun: list[Json] = []
    rows: list[Json] = []
    path = context.folder / "request.json"
    write_json(path, request.to_json())

    def watch(event: Event) -> None:
        if isinstance(event, PointEvent):
            row = {name: value for name, value in event.to_json().items() if name not in ("t", "event")}
            (begun if event.seconds is None else rows).append(row)
            _show(row)

    variables = store.child_environment(context.choice.stack, context.choice.env)
    with store.in_use(environment):
        outcome = worker_process.run(environment.python, variables, path, watch)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.start is None or outcome.error or not begun:
        raise diagnosis.failure(outcome, context.folder, context.choice.backend.name)
    for row in begun[len(rows) :]:
        memory = diagnosis.ran_out_of_memory(outcome, context.folder)
        lost = f"the worker was ended ({outcome.returncode})" if outcome.returncode else "no time left"
        rows.append(row | {"problem": MEMORY if memory else lost})
        _show(rows[-1])
    return rows


def _show(row: Json) -> None:
    speed = f"{row['items_per_s']:,.0f} items/s" if "items_per_s" in row else row.get("problem")
    if speed:
        console.say(f"  batch_size={row['batch_size']} precision={row['precision']}: {speed}")


def _timed(found: Json) -> list[Json]:
    return [row for row in found["rows"] if "items_per_s" in row]


def _take(context: RunContext[Any], proven: Range, found: Json) -> None:
    """Lay the fastest of the points over the settings, and report it."""
    timed, own = _timed(found), found["rows"][0]
    if not timed:
        console.warn("Calibration timed no point; the recipe's own is taken")
        return
    best = max(timed, key=lambda row: row["items_per_s"])
    ratio = best["items_per_s"] / own["items_per_s"] if own in timed else None
    if ratio and ratio < GAIN:
        best, ratio = own, 1.0
    point = proven.settings(best["batch_size"], best["precision"])
    if best["batch_size"] == context.settings.trainer.batch_size:
        del point[RATE]
    point = {key: value for key, value in point.items() if not context.overrides.is_given(key)}
    context.overlay("calibration", point)
    context.calibration = found | {"taken": point}
    than = f", {ratio:.2f} times the items/s of the recipe's own point" if ratio else ""
    console.say(f"Calibration of {found['date']}: {' '.join(f'{key}={value}' for key, value in point.items())}{than}")
