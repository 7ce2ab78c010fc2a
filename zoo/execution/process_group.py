"""The processes of a distributed training run as a group: the first reports; if one fails, all are stopped."""

import math
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zoo.core import paths
from zoo.execution.launchers import Command, Executor, Job, Launcher, Process
from zoo.protocol.request import DistributedPart
from zoo.protocol.variables import RANK
from zoo.runs import event_log

# Time for the remaining processes to end or to report an error after one has failed.
GRACE_S = 2.0
POLL_S = 0.1
# PyTorch and numpy read the first two, TensorFlow the next two, JAX the last.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "NPROC")


class ProcessGroup:
    """Several processes that act as one process, in the order of their ranks.

    ``lost`` is called once, with the name and exit status of a process that failed.
    """

    def __init__(self, processes: list[Process], lost: Callable[[str, int], None]) -> None:
        self._processes, self._lost = processes, lost
        self.stdin: IO[bytes] | None = processes[0].stdin
        self.stdout: IO[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._status = 0
        for process in processes:
            threading.Thread(target=self._read, args=(process,), daemon=True).start()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def events(self) -> Iterable[bytes]:
        """Yield the lines of all standard outputs until all are closed."""
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
        """End all processes after one fails; its status becomes the group's.

        Processes that lose a killed one may be seen to end before it. Its signal is the cause, except SIGABRT, which
        libraries raise. Without a signal, all that ended within GRACE_S of the first failure are compared.
        """
        running, failed, ends = dict(enumerate(self._processes)), [], math.inf
        while running:
            ended = {rank: process.wait() for rank, process in running.items() if not process.is_running()}
            running = {rank: process for rank, process in running.items() if rank not in ended}
            failed += [(status, rank) for rank, status in ended.items() if status]
            if failed and not self._status:
                status, rank = min(failed)
                ends = min(ends, time.monotonic() + GRACE_S)
                if status < -signal.SIGABRT or not running or time.monotonic() >= ends:
                    self._status = status
                    self._lost(f"process {rank} of {len(self._processes)}", status)
                    self.kill()
            time.sleep(POLL_S)

    def interrupt(self) -> None:
        """Request a stop of the first process after the current step; it notifies the remaining processes."""
        self._processes[0].interrupt()

    def kill(self) -> None:
        for process in self._processes:
            if process.is_running():
                process.kill()

    terminate = kill

    def is_running(self) -> bool:
        return any(process.is_running() for process in self._processes)

    def wait(self) -> int:
        """Wait for the end of all processes; return the exit status of the first that failed, or 0."""
        self._watching.join()
        return self._status


class RemoteProcess:
    """A process on another machine, started by an executor; ``log`` contains its output and errors."""

    stdin: IO[bytes] | None = None
    stdout: IO[bytes] | None = None

    def __init__(self, job: Job, log: Path) -> None:
        self._job, self._log = job, log
        self.is_running, self.wait = job.is_running, job.wait
        self._begin = log.stat().st_size if log.is_file() else 0

    def events(self) -> Iterable[bytes]:
        """Return the reported events in the log, after the process has ended."""
        while self._job.is_running():
            time.sleep(POLL_S)
        lines = self._log.read_bytes()[self._begin :].splitlines(keepends=True) if self._log.is_file() else []
        return [line for line in lines if event_log.parse(line)]

    def interrupt(self) -> None:
        """Do nothing: the first process stops all processes."""

    def kill(self) -> None:
        self._job.interrupt()
        self._job.kill()

    terminate = kill


def thread_variables(threads: int) -> dict[str, str]:
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


@dataclass(frozen=True)
class Starter:
    """Starts a process through the launcher, or through ``others`` on another machine."""

    launcher: Launcher
    command: list[str]
    env: dict[str, str]
    cwd: Path
    lock: int | None
    others: Executor | None = None

    def start(self, rank: int, meeting: DistributedPart, stdin: bool) -> Process:
        """Start the process of a rank on its machine; the lowest ranks run on this one."""
        node = rank * meeting.nodes // meeting.processes
        if node == 0 or self.others is None:
            variables = {**self.env, **thread_variables(meeting.threads), RANK: str(rank)}
            return self.launcher.start(self.command, variables, self.cwd, stdin=stdin, lock=self.lock)
        words = [sys.executable, "-P", "-m", "zoo.execution.member", str(self.cwd), str(rank), str(meeting.threads)]
        log, variables = self.cwd / f"worker_{rank}.log", {"PYTHONPATH": str(paths.PACKAGE.parent)}
        command = Command(f"process-{rank}", words, Path.cwd(), log, variables)
        places = self.others.places
        return RemoteProcess(self.others.submit(command, places[(node - 1) % len(places)]), log)


def start(starter: Starter, stdin: bool, meeting: DistributedPart, lost: Callable[[str, int], None]) -> ProcessGroup:
    """Start all processes of a training run; ``stdin`` gives the first a standard input."""
    for left in starter.cwd.glob(".meeting-*"):  # left by an aborted attempt
        left.unlink()
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
