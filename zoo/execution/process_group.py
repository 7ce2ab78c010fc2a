"""The processes of one training on this machine, seen as one: the first one tells, and none outlives the others."""

import queue
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zoo.core import paths
from zoo.execution.launchers import Command, Executor, Job, Launcher, Process

# Number of a process among those of its training.
RANK = "ZOO_RANK"
# So long the others may take to end by themselves, and to say why, once one of them has ended.
GRACE_S = 5.0
POLL_S = 0.1
# PyTorch and numpy read the first two, TensorFlow the next two, JAX the last.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "NPROC")


@dataclass(frozen=True)
class Meeting:
    """How the processes of one training find each other.

    Attributes:
        processes: how many there are.
        threads: of each of them.
        host: name of the first one's machine for the others; None means what it calls itself.
        port: where it listens; None means any free one.
        join_s: how long they wait for each other.
        nodes: on how many machines they are.
    """

    processes: int
    threads: int
    host: str | None = "127.0.0.1"
    port: int | None = None
    join_s: float = 60.0
    nodes: int = 1

    def requested(self) -> dict[str, object]:
        """Return the part ``distributed`` of a request; each call is for another start, with a key of its own."""
        return {**vars(self), "id": secrets.token_hex(4), "key": secrets.token_hex(16)}


class ProcessGroup:
    """Several processes as one.

    Args:
        processes: them, by number.
        lost: called once when one has ended before its time, with its number and its exit status.
    """

    def __init__(self, processes: list[Process], lost: Callable[[int, int], None]) -> None:
        self._processes, self._lost = processes, lost
        self.stdin: IO[bytes] | None = processes[0].stdin
        self.stdout: IO[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._status: int | None = None
        for process in processes:
            threading.Thread(target=self._read, args=(process,), daemon=True).start()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def events(self) -> Iterable[bytes]:
        """Yield the lines of the standard output of all until all are closed."""
        open_ones = len(self._processes)
        while open_ones:
            line = self._lines.get()
            if line is None:
                open_ones -= 1
            else:
                yield line

    def _read(self, process: Process) -> None:
        for line in process.events():
            self._lines.put(line)
        self._lines.put(None)

    def _watch(self) -> None:
        """End all once one has ended with an error; the status of that one is theirs."""
        running = dict(enumerate(self._processes))
        ends: float | None = None
        while running:
            for rank in [rank for rank, process in running.items() if not process.is_running()]:
                status = running.pop(rank).wait()
                if status and self._status is None:
                    self._status, ends = status, time.monotonic() + GRACE_S
                    self._lost(rank, status)
            if ends is not None and time.monotonic() > ends:
                self.kill()
            time.sleep(POLL_S)

    def interrupt(self) -> None:
        """Ask the first to stop after the current step; it tells the others."""
        self._processes[0].interrupt()

    def terminate(self) -> None:
        """End all at once."""
        self.kill()

    def kill(self) -> None:
        """End all."""
        for process in self._processes:
            if process.is_running():
                process.kill()

    def is_running(self) -> bool:
        """Whether any has not ended."""
        return any(process.is_running() for process in self._processes)

    def wait(self) -> int:
        """Wait for the end of all; return the exit status of the first that failed."""
        self._watching.join()
        return self._status or 0


class RemoteProcess:
    """A process on another machine, which an executor started; it tells the first process what it has to tell."""

    stdin: IO[bytes] | None = None
    stdout: IO[bytes] | None = None

    def __init__(self, job: Job) -> None:
        self._job = job

    def events(self) -> Iterable[bytes]:
        """Yield nothing."""
        return ()

    def interrupt(self) -> None:
        """Leave it to the first process, which stops all."""

    def terminate(self) -> None:
        """End it."""
        self._job.kill()

    def kill(self) -> None:
        """End it."""
        self._job.interrupt()
        self._job.kill()

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._job.is_running()

    def wait(self) -> int:
        """Wait for its end; return its exit status."""
        return self._job.wait()


def thread_variables(threads: int) -> dict[str, str]:
    """Return the environment variables that limit a process to so many threads."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


@dataclass(frozen=True)
class Starter:
    """What starts one process; see :class:`zoo.execution.launchers.Launcher`.

    Attributes:
        others: starts processes on other machines, where there are any.
    """

    launcher: Launcher
    command: list[str]
    env: dict[str, str]
    cwd: Path
    lock: int | None
    others: Executor | None = None

    def start(self, rank: int, meeting: Meeting, stdin: bool) -> Process:
        """Start the process of a number, on its machine: the first ones are here."""
        node = rank * meeting.nodes // meeting.processes
        if node == 0 or self.others is None:
            variables = {**self.env, **thread_variables(meeting.threads), RANK: str(rank)}
            return self.launcher.start(self.command, variables, self.cwd, stdin=stdin, lock=self.lock)
        words = [sys.executable, "-m", "zoo.execution.member", str(self.cwd), str(rank), str(meeting.threads)]
        log, variables = self.cwd / f"worker_{rank}.log", {"PYTHONPATH": str(paths.PACKAGE.parent)}
        command = Command(f"process-{rank}", words, Path.cwd(), log, variables)
        places = self.others.places
        return RemoteProcess(self.others.submit(command, places[(node - 1) % len(places)]))


def start(starter: Starter, stdin: bool, meeting: Meeting, lost: Callable[[int, int], None]) -> ProcessGroup:
    """Start all processes of a training.

    Args:
        starter: starts each of them.
        stdin: give the first one a standard input.
        meeting: how many there are.
        lost: see :class:`ProcessGroup`.
    """
    started: list[Process] = []
    try:
        for rank in range(meeting.processes):
            started.append(starter.start(rank, meeting, stdin and rank == 0))
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    return ProcessGroup(started, lost)
