"""Starting the worker, following its events, stopping it politely."""

import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from zoo import protocol
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.runs import event_log, known_issues
from zoo.runs.watchdog import Guard, Keep, watched

INTERRUPT_GRACE_S = 30.0
TERMINATE_GRACE_S = 5.0
LOG_TAIL_LINES = 20
# An exception that nobody catches in C++ is told in so many lines, the last ones of the log.
WORDS_OF_C_LINES = 3
UNGUARDED = Guard()


@dataclass
class Outcome:
    """What became of a worker.

    Attributes:
        start: the ``start`` event: versions, device and its proof; empty if the worker did not get that far.
        done: the ``done`` event; empty if it did not finish.
        error: the ``error`` event; empty if there was none.
        epochs: the ``epoch`` events.
        artifacts: files it announced.
        interrupted: the user asked it to stop.
        silent_s: it was ended after so many seconds without a sign of life; 0 otherwise.
        returncode: exit status; negative for a signal.
    """

    start: dict[str, Any] = field(default_factory=dict)
    done: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)
    epochs: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[Path] = field(default_factory=list)
    interrupted: bool = False
    silent_s: float = 0.0
    returncode: int = 0

    def hung(self, seconds: float) -> None:
        """It is about to be ended after so many seconds of silence."""
        self.silent_s = seconds


class Feed(Protocol):
    """What hands a worker more work while it runs."""

    def begin(self, stdin: IO[bytes]) -> None:
        """The worker has started and reads ``stdin``, which the feed closes; must return at once."""

    def event(self, event: dict[str, Any]) -> None:
        """The worker said something."""

    def stop(self) -> None:
        """The user asked to stop."""


def run(
    python: Path,
    environment: dict[str, str],
    request: Path,
    show: Callable[[dict[str, Any]], None],
    feed: Feed | None = None,
    guard: Guard = UNGUARDED,
    started: Callable[[], None] | None = None,
) -> Outcome:
    """Run one request in the worker to its end.

    Args:
        python: interpreter of the stack's environment.
        environment: the worker's environment variables, complete.
        request: path of ``request.json``; ``events.jsonl`` and ``worker.log`` are written beside it.
        show: called with every event as it comes.
        feed: speaks to the worker while it runs, where the request needs that.
        guard: what the worker is held to.
        started: called once the worker runs; must return at once.
    """
    folder, outcome = request.parent, Outcome()
    command = [str(python), "-I", "-B", str(paths.WORKER), str(request)]
    # Unbuffered: a line that a full disk does not take must not come back when the file is closed.
    with (
        (folder / "events.jsonl").open("ab", buffering=0) as kept,
        (folder / "worker.log").open("ab") as log,
        guard.tied() as (inherited, variable),
    ):
        try:
            # A session of its own: Ctrl-C reaches only the host, which then stops the worker in its own way.
            worker = subprocess.Popen(
                command, stdin=subprocess.PIPE if feed else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                env={**environment, **variable}, cwd=folder, start_new_session=True, pass_fds=inherited,
            )  # fmt: skip
        except OSError as error:
            raise ZooError(
                f"Cannot start {python}: {error.strerror or error}",
                "`python -m zoo env list` shows its state.",
            ) from error
        stopper = _Stopper(worker, outcome, feed)
        gone = _Gone(folder / "host.log", None if guard.outlives_terminal else stopper)
        with _stopping(worker, stopper, gone), watched(worker, guard.hang_s, outcome.hung) as alive:
            assert worker.stdout is not None  # noqa: S101  (it was asked for above)
            if feed and worker.stdin:
                feed.begin(worker.stdin)
            if started:
                started()
            for event in _events(worker.stdout, kept):
                alive()
                _take(event, outcome)
                if feed:
                    feed.event(event)
                show(event)
            outcome.returncode = worker.wait()
    return outcome


def _events(stream: IO[bytes], kept: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream and keep every line; what is no event (a torn last line) is said and left out."""
    keep = Keep(kept)
    for line in stream:
        keep(line)
        event = event_log.parse(line)
        if event is not None and event["event"] in protocol.EVENTS:
            yield event
        else:
            console.warn(f"The worker wrote a line that is no event: {line[:120]!r}")


def _take(event: dict[str, Any], outcome: Outcome) -> None:
    match event["event"]:
        case "start":
            outcome.start = event
        case "epoch":
            outcome.epochs.append(event)
        case "resume":  # what follows is trained again
            outcome.epochs = [row for row in outcome.epochs if row["epoch"] < event["epoch"]]
        case "artifact":
            outcome.artifacts.append(Path(event["path"]))
        case "error":
            outcome.error = event
        case "done":
            outcome.done = event


@contextlib.contextmanager
def _stopping(worker: "subprocess.Popen[bytes]", stopper: "_Stopper", gone: "_Gone") -> Iterator[None]:
    """While inside, Ctrl-C and SIGTERM stop the worker, a closed terminal as told; no way out leaves it running."""
    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        wanted = {"SIGINT": stopper.signalled, "SIGTERM": stopper.signalled, "SIGHUP": gone.signalled}
        numbers = {getattr(signal, name): act for name, act in wanted.items() if hasattr(signal, name)}
        previous = {number: signal.signal(number, act) for number, act in numbers.items()}
    try:
        yield
    finally:
        stopper.rest()
        for number, handler in previous.items():
            signal.signal(number, handler)
        if worker.poll() is None:
            worker.kill()
            worker.wait()


class _Gone:
    """The terminal was closed: what would be shown goes to a file from now on, and the worker is stopped or not."""

    def __init__(self, log: Path, stopper: "_Stopper | None") -> None:
        self._log, self._stopper = log, stopper

    def signalled(self, number: int, frame: Any) -> None:
        console.leave_terminal(self._log)
        if self._stopper is not None:
            self._stopper.signalled(number, frame)


class _Stopper:
    """Three polite steps: ask (SIGINT), insist (SIGTERM), end (SIGKILL), each when asked again or out of patience."""

    def __init__(self, worker: "subprocess.Popen[bytes]", outcome: Outcome, feed: Feed | None) -> None:
        self._worker, self._outcome, self._feed = worker, outcome, feed
        self._steps = 0
        self._timer: threading.Timer | None = None

    def signalled(self, _number: int, _frame: Any) -> None:
        self._next()

    def _next(self) -> None:
        self._outcome.interrupted = True
        self.rest()
        self._steps += 1
        if self._steps == 1:
            console.say("\nStopping after the step in hand; what was learnt is kept. Ctrl-C again: stop at once.")
            if self._feed:
                self._feed.stop()
            self._send(signal.SIGINT, INTERRUPT_GRACE_S)
        elif self._steps == 2:
            console.say("Stopping now.")
            self._send(signal.SIGTERM, TERMINATE_GRACE_S)
        elif self._worker.poll() is None:
            self._worker.kill()

    def _send(self, number: signal.Signals, patience_s: float) -> None:
        if self._worker.poll() is None:
            self._worker.send_signal(number)
        self._timer = threading.Timer(patience_s, self._next)
        self._timer.daemon = True
        self._timer.start()

    def rest(self) -> None:
        """Forget about the next step."""
        if self._timer is not None:
            self._timer.cancel()


def log_tail(folder: Path, lines: int = LOG_TAIL_LINES) -> str:
    """The last lines of ``worker.log``."""
    path = folder / "worker.log"
    if not path.is_file():
        return ""
    with path.open("rb") as source:
        source.seek(max(0, path.stat().st_size - 65_536))
        text = source.read().decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-lines:])


def ran_out_of_memory(outcome: Outcome, folder: Path) -> bool:
    """Whether a worker ended for want of memory: it said so, the system killed it, or C++ had no more and gave up."""
    if outcome.done or outcome.interrupted or outcome.silent_s:
        return False
    if outcome.error:
        return outcome.error.get("type") == protocol.OUT_OF_MEMORY
    return outcome.returncode == -signal.SIGKILL or (
        outcome.returncode < 0 and "bad_alloc" in log_tail(folder, WORDS_OF_C_LINES)
    )


def failure(outcome: Outcome, folder: Path, backend: str) -> ZooError:
    """The error that says why a worker did not finish: the end of its log, and what is known of such logs."""
    tail, log = log_tail(folder), folder / "worker.log"
    findings = [found for found in known_issues.explain(tail, backend) if found.effect != "harmless"]
    told = [known_issues.render(findings)] if findings else []
    known = "".join(f"{text}\n" for text in [*told, *_probe_words(outcome)])
    ending = _ending(outcome, folder)
    if outcome.error.get("type") in protocol.ERROR_KINDS:
        return ZooError(ending, f"{known}What there is of the run is kept in {folder}, its log included.")
    return ZooError(ending, f"{known}The end of {log}:\n{_indented(tail)}")


def _probe_words(outcome: Outcome) -> list[str]:
    """What is known of the probes that failed."""
    names = {row.get("issue") for row in outcome.start.get("probes") or []} - {None}
    return [
        f"{found.id}: {found.cause}\n  what to do: {found.remedy} {found.command}\n  source: {found.source}"
        for found in known_issues.issues()
        if found.id in names
    ]


def _ending(outcome: Outcome, folder: Path) -> str:
    if outcome.error:
        return f"The worker stopped: {outcome.error.get('message')}"
    if outcome.silent_s:
        return (
            f"The worker showed no sign of life for {outcome.silent_s / 60:.1f} minutes and was ended: its device or"
            " driver hangs, or a step takes longer than trainer.hang_minutes allows"
        )
    if outcome.returncode < 0:
        name = signal.Signals(-outcome.returncode).name
        often = "often the system, out of memory" if name == "SIGKILL" else "out of memory"
        why = f" ({often}: try a smaller batch)" if ran_out_of_memory(outcome, folder) else ""
        return f"The worker was killed by {name}{why}"
    return f"The worker ended with status {outcome.returncode} and did not say why"


def _indented(text: str) -> str:
    return "\n".join(f"  | {line}" for line in text.splitlines())
