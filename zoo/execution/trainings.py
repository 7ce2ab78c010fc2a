"""Follow training runs that a launcher executes, and stop them when their outcome is clear."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.execution.launchers import Executor, Job
from zoo.execution.sweeps import attempts
from zoo.protocol.events import EpochEvent, StartEvent
from zoo.runs import event_log

# Takes the epoch, the metric and the seconds so far; returns whether to continue.
GoesOn = Callable[[int, float, float], bool]


@dataclass
class Training:
    """A training run that an executor runs.

    Attributes:
        metric: a metric of every epoch.
        target: value of the metric to reach; infinity for none.
        log: file of its output.
        reached_s: seconds from the worker's start, with libraries loaded, to the end of the epoch with the target.
        is_stopped: whether a stop was requested.
        epochs: epoch, metric and seconds of each epoch so far.
    """

    folder: Path
    job: Job
    metric: str
    target: float
    log: Path
    reached_s: float | None = None
    is_stopped: bool = False
    epochs: list[tuple[int, float, float]] = field(default_factory=list)
    _began: float | None = None
    _seen_at: float = 0.0

    def __post_init__(self) -> None:
        self._tail = event_log.Tail(self.folder / "events.jsonl")

    def follow(self, goes_on: GoesOn) -> bool:
        """Read new epochs, and stop the run if its outcome is clear; return True until it has ended.

        ``goes_on`` is called for every new epoch, and with epoch 0 and minus infinity without a new epoch.
        """
        is_running = self.job.is_running()  # checked first: the last line is written before the end
        self.epochs += (fresh := self._new_epochs())
        if not self.is_stopped:
            elapsed = 0.0 if self._began is None else time.monotonic() - self._seen_at
            for epoch, value, seconds in fresh or [(0, float("-inf"), elapsed)]:
                if value >= self.target:
                    self.reached_s = seconds
                if self.reached_s is not None or not goes_on(epoch, value, seconds):
                    self.is_stopped = True
                    break
            if self.is_stopped and is_running:
                self.job.interrupt()
        return is_running

    def _new_epochs(self) -> list[tuple[int, float, float]]:
        """Return the epoch, metric and seconds of each complete line written since the last call."""
        epochs = []
        for event in self._tail.new():
            if isinstance(event, StartEvent) and self._began is None:
                self._began, self._seen_at = event.t, time.monotonic()
            if isinstance(event, EpochEvent) and self._began is not None:
                value = getattr(event, self.metric, None)
                if value is None:
                    self.job.interrupt()
                    raise ZooError(
                        f"The epochs of {self.folder} have no {self.metric}, by which trials are compared",
                        "Keep a part for validation. For labels or a number, add data.target=.",
                    )
                epochs.append((event.epoch, float(value), event.t - self._began))
        return epochs


def begin(executor: Executor, settings: list[str], folder: Path, log: Path, metric: str, target: float) -> Training:
    """Submit a training run to an executor; ``folder`` must not exist, and ``log`` is for its output.

    ``settings`` are in command-line syntax; see :class:`Training` for ``metric`` and ``target``.
    """
    where = [f"output.root={folder.parent}", f"output.name={folder.name}"]
    job = executor.submit(attempts.of_zoo(folder.name, ["train", *settings, *where], log))
    return Training(folder, job, metric, target, log)
