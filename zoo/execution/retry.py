"""Retry a failed worker, and give hints if no retry helps."""

from collections.abc import Callable
from pathlib import Path

from zoo.core import console
from zoo.core.files import write_json
from zoo.execution import diagnosis
from zoo.execution.worker_process import Outcome
from zoo.protocol.events import OUT_OF_MEMORY, USER_ERROR
from zoo.protocol.request import ImageTrainPart, Request
from zoo.runs import event_log, records
from zoo.runs.records import RunRecord


def run_with_retries(folder: Path, record: RunRecord, request: Request, once: Callable[[Path], Outcome]) -> Outcome:
    """Run a worker on a request; restart it from its last checkpoint as often as the settings allow.

    ``once`` runs the request at a path until it ends. Failed attempts are added to ``record``.

    Returns:
        The outcome of the last attempt, with the epochs of all attempts.
    """
    path, attempts = folder / "request.json", 0
    minutes = request.train.max_minutes if isinstance(request.train, ImageTrainPart) else None
    while True:
        write_json(path, request.to_json())
        outcome = once(path)
        outcome.epochs = event_log.epochs(folder / "events.jsonl", outcome.epochs)
        again = _halved(folder, request, outcome, record) or _restarted(request, outcome, attempts)
        if again is None:
            return outcome
        attempts += 1
        what = outcome.error.message if outcome.error else f"the worker was ended ({outcome.returncode})"
        record.attempts = [*record.get("attempts", []), {"failed": what, "at": records.now()}]
        if minutes and again.train:  # the limit applies to all attempts together
            spent = sum(row.epoch_s or 0.0 for row in outcome.epochs)
            again.train = again.train.replace(max_minutes=max(1e-3, minutes - spent / 60))
        request = again


def _halved(folder: Path, request: Request, outcome: Outcome, record: RunRecord) -> Request | None:
    train = request.train
    if not isinstance(train, ImageTrainPart) or train.on_oom != "halve" or train.batch_size < 2:
        return None
    if not diagnosis.ran_out_of_memory(outcome, folder):
        return None
    size = train.batch_size
    record.adjusted = record.get("adjusted", {}) | {"trainer.batch_size": size // 2}
    console.warn(f"Out of memory with trainer.batch_size={size}; continuing with {size // 2}")
    return request.replace(resume=True, train=train.replace(batch_size=size // 2))


def _restarted(request: Request, outcome: Outcome, attempts: int) -> Request | None:
    died = outcome.returncode < 0 and not outcome.done and not outcome.interrupted
    if not died or not isinstance(request.train, ImageTrainPart) or attempts >= request.train.restarts:
        return None
    console.warn("The worker was killed; restarting it from its last checkpoint")
    return request.replace(resume=True)


def recovery_hints(folder: Path, outcome: Outcome, record: RunRecord) -> list[str]:
    """Return hints for a failed run: resume it, with smaller batches if memory ran out."""
    if record.verb != "train" or outcome.failed_with(USER_ERROR):
        return []
    size = record.config.get("trainer", {}).get("batch_size")
    size = record.get("adjusted", {}).get("trainer.batch_size", size)
    smaller = f" trainer.batch_size={size // 2}" if isinstance(size, int) and size > 1 else ""
    resume = records.resume_command(folder, record.config)
    if outcome.failed_with(OUT_OF_MEMORY):
        return [f"To resume with smaller batches: {resume}{smaller}"]
    if not any((folder / "checkpoints").glob("*.json")):
        return []
    died = outcome.returncode < 0 and not outcome.silent_s
    hint = [f"If memory ran out, use smaller batches: add{smaller}"] if died and smaller else []
    return [f"To resume from the last checkpoint: {resume}", *hint]
