"""zoo.execution.worker_session: a worker that stays ready gets one command at a time."""

import io
import json
from collections.abc import Callable
from typing import IO, Any

import pytest

from zoo.core.errors import ZooError
from zoo.execution.worker_process import Feed, Outcome
from zoo.execution.worker_session import WorkerSession
from zoo.protocol.events import BatchEvent, Event, ReadyEvent, WarningEvent


class Pipe(io.BytesIO):
    """The standard input of a worker, which answers each command with an event."""

    def __init__(self, feed: Feed, answers: list[Event]) -> None:
        super().__init__()
        self._feed, self._answers = feed, answers
        self.commands: list[Any] = []
        self.is_broken = False

    def write(self, content: Any) -> int:
        if self.is_broken:
            raise BrokenPipeError
        self.commands.append(json.loads(content))
        return len(content)

    def flush(self) -> None:
        if self.commands and not self.is_broken:
            self._feed.event(self._answers.pop(0))


def session(work: Callable[[Feed], Outcome]) -> WorkerSession:
    return WorkerSession(work)


def test_a_worker_is_asked_once_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Event] = [BatchEvent(seconds=1.0), BatchEvent(seconds=2.0)]
    pipes: list[Pipe] = []

    def work(feed: Feed) -> Outcome:
        pipes.append(Pipe(feed, answers))
        feed.begin(pipes[0])
        feed.event(WarningEvent(message="x"))
        feed.event(ReadyEvent(peak_gflop_per_s=5.0))
        return Outcome()

    running = session(work)
    assert running.start().peak_gflop_per_s == 5.0
    running._messages.get()  # the outcome; this worker answers from the pipe
    assert [running.ask({"size": size}).seconds for size in (3, 4)] == [1.0, 2.0]
    assert pipes[0].commands == [{"size": 3}, {"size": 4}]
    running.finish()
    assert pipes[0].closed
    running.finish()


def test_a_worker_that_ends_too_early_is_an_error() -> None:
    with pytest.raises(ZooError, match="The worker ended too early"):
        session(lambda _feed: Outcome()).start()


def test_an_error_of_the_worker_is_raised_for_the_one_who_waits() -> None:
    def work(_feed: Feed) -> Outcome:
        raise KeyError("no stack")

    with pytest.raises(KeyError, match="no stack"):
        session(work).start()


def test_a_broken_pipe_is_explained_by_the_event_that_follows() -> None:
    def work(feed: Feed) -> Outcome:
        stdin = Pipe(feed, [])
        stdin.is_broken = True
        feed.begin(stdin)
        feed.event(ReadyEvent())
        return Outcome()

    running = session(work)
    running.start()
    with pytest.raises(ZooError, match="The worker ended too early"):
        running.ask({})


def test_a_session_that_never_started_can_be_finished() -> None:
    class Stuck(io.BytesIO):
        def close(self) -> None:
            raise BrokenPipeError

    running = session(lambda _feed: Outcome())
    running.finish()
    stdin: IO[bytes] = Stuck()
    running.begin(stdin)
    running.stop()
