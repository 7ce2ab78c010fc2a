"""Sessions of workers that stay ready and execute one command at a time."""

import contextlib
import json
import queue
import threading
from collections.abc import Callable
from typing import IO, TypeVar

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
        self._messages: queue.SimpleQueue[Event | Outcome | BaseException] = queue.SimpleQueue()
        self._stdin: IO[bytes] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> ReadyEvent:
        self._thread.start()
        return self._wait(ReadyEvent)

    def ask(self, command: Json) -> BatchEvent:
        assert self._stdin is not None  # noqa: S101  (it is ready)
        with contextlib.suppress(BrokenPipeError):  # the error follows as an event
            self._stdin.write(json.dumps(command).encode() + b"\n")
            self._stdin.flush()
        return self._wait(BatchEvent)

    def finish(self) -> None:
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._messages.put(self._work(self))
        except BaseException as error:  # raised again in the thread that waits for the worker
            self._messages.put(error)

    def _wait(self, kind: type[E]) -> E:
        while True:
            message = self._messages.get()
            if isinstance(message, BaseException):
                raise message
            if isinstance(message, Outcome):
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
