"""Workers held open side by side, each of which works only when it is asked to."""

import contextlib
import json
import queue
import threading
from collections.abc import Callable
from typing import IO, Any

from zoo.core.errors import ZooError
from zoo.runs.worker_process import Feed, Outcome

Event = dict[str, Any]


class WorkerSession:
    """A worker that prepares itself and then answers one order at a time.

    Args:
        work: starts the worker with this as its feed and comes back when it has ended; runs in a thread of its own.
    """

    def __init__(self, work: Callable[[Feed], Outcome]) -> None:
        self._work = work
        self._said: queue.SimpleQueue[Event | Outcome | BaseException] = queue.SimpleQueue()
        self._stdin: IO[bytes] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Event:
        """Start the worker; its ``ready`` event.

        Raises:
            ZooError: it did not get that far.
        """
        self._thread.start()
        return self._wait("ready")

    def ask(self, order: Event) -> Event:
        """Give an order; the ``batch`` event that answers it.

        Raises:
            ZooError: the worker is gone.
        """
        assert self._stdin is not None  # noqa: S101  (it is ready)
        with contextlib.suppress(BrokenPipeError):  # what it died of comes next
            self._stdin.write(json.dumps(order).encode() + b"\n")
            self._stdin.flush()
        return self._wait("batch")

    def finish(self) -> None:
        """Let the worker end, and wait for that."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._said.put(self._work(self))
        except BaseException as error:  # raised again where somebody waits for the worker
            self._said.put(error)

    def _wait(self, kind: str) -> Event:
        while True:
            said = self._said.get()
            if isinstance(said, BaseException):
                raise said
            if isinstance(said, Outcome):
                raise ZooError("The worker ended before its time", "Its worker.log tells more.")
            if said["event"] == kind:
                return said

    # -- what the runner calls, in the worker's thread

    def begin(self, stdin: IO[bytes]) -> None:
        """Keep the worker's standard input."""
        self._stdin = stdin

    def event(self, event: Event) -> None:
        """Hand an event on to whoever waits."""
        self._said.put(event)

    def stop(self) -> None:
        """Nothing more is asked."""
        if self._stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it is gone already
                self._stdin.close()
