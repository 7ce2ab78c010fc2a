"""Run a request in a worker's process and follow its events."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from zoo.core import console
from zoo.environments.store import worker_command
from zoo.execution import launchers, process_group
from zoo.execution.watchdog import EventFile, ProcessLimits, stopping, watchdog
from zoo.protocol import events
from zoo.protocol.request import DistributedPart
from zoo.runs import event_log

NO_LIMITS = ProcessLimits()


@dataclass
class Outcome:
    """The outcome of a worker.

    Attributes:
        start: None if the worker did not start.
        done: None if it did not finish.
        artifacts: files that the worker reported.
        interrupted: whether the user requested a stop.
        silent_s: seconds without an event before it was killed, or 0.
        returncode: exit status; negative for a signal.
        process: name of the process with this exit status.
    """

    start: events.StartEvent | None = None
    done: events.DoneEvent | None = None
    error: events.ErrorEvent | None = None
    epochs: list[events.EpochEvent] = field(default_factory=list)
    artifacts: list[Path] = field(default_factory=list)
    interrupted: bool = False
    silent_s: float = 0.0
    returncode: int = 0
    process: str = "The worker"

    def lost(self, process: str, status: int) -> None:
        """Record the process that failed; if it was killed, record the signal as its error.

        A reported error remains, unless it only says that another process was lost.
        """
        self.process, self.returncode = process, status
        if status < 0 and (not self.error or self.failed_with(events.GROUP_BROKEN)):
            message = f"{process} was killed by {signal.Signals(-status).name}"
            self.error = events.ErrorEvent(type=events.GROUP_BROKEN, message=message)

    def hung(self, seconds: float) -> None:
        self.silent_s = seconds

    def add(self, event: events.Event) -> None:
        match event:
            case events.StartEvent():
                self.start = event
            case events.EpochEvent():
                self.epochs.append(event)
            case events.ResumeEvent():  # later epochs are trained again
                self.epochs = [row for row in self.epochs if row.epoch < event.epoch]
            case events.ArtifactEvent():
                self.artifacts.append(Path(event.path))
            case events.ErrorEvent():
                self.error = self.error or event  # later errors are consequences of the first
            case events.DoneEvent():
                self.done = event

    def failed_with(self, *kinds: str) -> bool:
        return self.error is not None and self.error.type in kinds


class Feed(Protocol):
    """Gives a worker more work while it runs."""

    def begin(self, stdin: IO[bytes]) -> None:
        """Start to feed ``stdin`` of the worker, and close it at the end; must return immediately."""

    def event(self, event: events.Event) -> None:
        """Handle an event of the worker."""

    def stop(self) -> None:
        """Handle the user's request to stop."""


def run(
    python: Path, environment: dict[str, str], request: Path, show: Callable[[events.Event], None],
    feed: Feed | None = None, limits: ProcessLimits = NO_LIMITS, started: Callable[[], None] | None = None,
    launcher: str = "local", meeting: DistributedPart | None = None, others: launchers.Executor | None = None,
) -> Outcome:  # fmt: skip
    """Run one request in the worker until it ends.

    Args:
        python: interpreter of the stack's environment.
        environment: the worker's complete environment variables.
        request: path of ``request.json``; ``events.jsonl`` and ``worker.log`` are written next to it.
        show: called with every event as it arrives.
        feed: communicates with the worker while it runs, if the request needs it.
        started: called once the worker runs; must return immediately.
        launcher: name of the launcher that starts the process.
        meeting: how the processes connect, if several share the request.
        others: starts processes on other machines.
    """
    outcome, folder, starter = Outcome(), request.parent, launchers.load(launcher)

    def asked() -> None:
        outcome.interrupted = True
        if feed:
            feed.stop()

    # Unbuffered, so that closing the file on a full disk does not write a line again.
    with (folder / "events.jsonl").open("ab", buffering=0) as out:
        command, stdin = worker_command(python, request), feed is not None
        process: launchers.Process
        if meeting is None:
            process = starter.start(command, environment, folder, stdin=stdin, lock=limits.lock)
        else:
            group = process_group.Starter(starter, command, environment, folder, limits.lock, others)
            process = process_group.start(group, stdin, meeting, outcome.lost)
        stopped = stopping(process, asked, folder / "host.log", limits.outlives_terminal)
        with stopped, watchdog(process, limits.hang_s, outcome.hung) as alive:
            if feed and process.stdin:
                feed.begin(process.stdin)
            if started:
                started()
            file = EventFile(out)
            for line in process.events():
                alive()
                file.write(line)
                event = event_log.parse(line)
                if event is None:  # such as a truncated last line
                    console.warn(f"The worker wrote a line that is not an event: {line[:120]!r}")
                    continue
                outcome.add(event)
                if feed:
                    feed.event(event)
                show(event)
            outcome.returncode = process.wait()
    return outcome
