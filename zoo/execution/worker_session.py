"""Sessions of workers that stay ready and execute one command at a time."""

import contextlib
import json
import queue
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import IO, TypeVar

from zoo.core.download import in_thread
from zoo.core.errors import ZooError
from zoo.execution.worker_process import Feed, Outcome
from zoo.protocol.events import BatchEvent, Event, ReadyEvent
from zoo.protocol.part import Json

E = TypeVar("E", bound=Event)


class WorkerSession:
    """A worker that prepares itself and then executes one command at a time.

    ``work`` runs in a thread: it starts the worker with this session as its feed, and returns when it has ended.
    """

    def __init__(self, work: Callable[[Feed], Outcome]) -> None:
        self._work = work
        self._messages: queue.SimpleQueue[Event | Future[Outcome]] = queue.SimpleQueue()
        self._stdin: IO[bytes] | None = None
        self._working: Future[Outcome] | None = None

    def start(self) -> ReadyEvent:
        self._working = in_thread(lambda: self._work(self))
        self._working.add_done_callback(self._messages.put)
        return self._wait(ReadyEvent)

    def ask(self, command: Json) -> BatchEvent:
        assert self._stdin is not None  # noqa: S101  (it is ready)
        with contextlib.suppress(BrokenPipeError):  # the error follows as an event
            self._stdin.write(json.dumps(command).encode() + b"\n")
            self._stdin.flush()
        return self._wait(BatchEvent)

    def finish(self) -> None:
        self.stop()
        if self._working is not None:
            wait([self._working])

    def _wait(self, kind: type[E]) -> E:
        while True:
            message = self._messages.get()
            if isinstance(message, Future):
                message.result()  # raises the error of the thread
                raise ZooError("The worker ended too early", "See its worker.log.")
            if isinstance(message, kind):
                return message

    # -- called by worker_process.run, in the worker's thread

    def begin(self, stdin: IO[bytes]) -> None:
        self._stdin = stdin

    def event(self, event: Event) -> None:
        self._messages.put(event)

    def stop(self) -> None:
        """Close the worker's standard input, which ends its commands."""
        if self._stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # already gone
                self._stdin.close()
