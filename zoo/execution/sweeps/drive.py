"""Submit the runs of a sweep to an executor, follow them, and retry failed runs."""

import collections
import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from zoo.core import console, processes
from zoo.core.errors import ZooError
from zoo.execution.launchers import CANCELED, Executor, Job, ssh
from zoo.execution.sweeps import attempts
from zoo.execution.sweeps.record import Element, Sweep
from zoo.runs import lock

POLL_S = 0.25
STOP_S = 90.0


@dataclass
class Progress:
    """The state of a sweep.

    Attributes:
        running: submitted jobs by element; they wait in the engine or run.
        failures: number of failed attempts by element.
        waiting: elements that are not submitted yet.
        places: last machine of each element.
        canceled: elements whose job was canceled in the engine; they are not started again.
    """

    running: dict[str, Job] = field(default_factory=dict)
    failures: "collections.Counter[str]" = field(default_factory=collections.Counter)
    waiting: "collections.deque[Element]" = field(default_factory=collections.deque)
    places: dict[str, str] = field(default_factory=dict)
    canceled: set[str] = field(default_factory=set)


Watch = Callable[[Progress], None]


def drive(sweep: Sweep, executor: Executor, launcher: str, retries: int, watch: Watch) -> Progress:
    """Execute all elements without a complete run.

    Args:
        sweep: the caller holds the lock of its folder.
        watch: called after possible changes.

    Raises:
        KeyboardInterrupt: the user stopped the sweep; all jobs have ended.
    """
    progress = Progress(waiting=collections.deque(sweep.missing()))
    with stopped_in_order(progress.running):
        _adopt(sweep, executor, launcher, progress)
        if progress.waiting:
            prepare(executor, attempts.preparations(sweep.verb, list(progress.waiting)), sweep.log("").parent)
        while progress.waiting or progress.running:
            _submit(sweep, executor, launcher, progress)
            _collect(sweep, retries, progress)
            watch(progress)
            time.sleep(POLL_S)
    return progress


def _adopt(sweep: Sweep, executor: Executor, launcher: str, progress: Progress) -> None:
    elements = {each.name: each for each in progress.waiting}
    for name, ticket in sweep.tickets(launcher).items():
        job = executor.find(ticket) if name in elements else None
        if job is not None:
            progress.running[name] = job
            progress.waiting.remove(elements[name])
            console.say(f"{name}: still managed by {launcher}, as {ticket}")


def _submit(sweep: Sweep, executor: Executor, launcher: str, progress: Progress) -> None:
    for _ in range(len(progress.waiting)):
        if executor.jobs is not None and len(progress.running) >= executor.jobs:
            return
        element = progress.waiting.popleft()
        # A process of an earlier sweep may still be writing; it ends soon.
        if any(lock.is_held(folder) for folder in sweep.attempts(element)):
            progress.waiting.append(element)
            continue
        if sweep.is_complete(element):
            continue
        job = executor.submit(attempts.command(sweep, element))
        progress.running[element.name] = job
        sweep.note(element, launcher=launcher, ticket=job.ticket)


def _collect(sweep: Sweep, retries: int, progress: Progress) -> None:
    """Process ended jobs; queue a failed element again if another attempt may succeed."""
    elements = {each.name: each for each in sweep.elements}
    for name, job in list(progress.running.items()):
        status = None if job.is_running() else job.wait()
        progress.places[name] = job.place or progress.places.get(name, "")
        if status is None:
            continue
        sweep.note(elements[name], place=progress.places[name])
        del progress.running[name]
        if sweep.is_complete(elements[name]):
            continue
        if status == CANCELED:
            progress.canceled.add(name)
            console.warn(f"{name}: the job was canceled and is not started again")
            continue
        progress.failures[name] += 1
        # Another attempt cannot help if the settings were rejected before the run began.
        may_differ = status != 1 or bool(sweep.attempts(elements[name]))
        again = progress.failures[name] <= retries and may_differ
        words = ending(sweep, elements[name], status)
        if isinstance(job, ssh.SshJob) and status == ssh.UNREACHABLE:
            words = f"{progress.places[name]} cannot be reached: {last_words(sweep.log(name)).splitlines()[-1]}"
        console.warn(f"{name}: {words}" + ("; retrying" if again else ""))
        if again:
            progress.waiting.append(elements[name])


def ending(sweep: Sweep, element: Element, status: int) -> str:
    run = sweep.run_of(element)
    error = (run or {}).get("error")
    if isinstance(error, dict) and error.get("message"):
        return str(error["message"]).splitlines()[0]
    if status == 1:
        return last_words(sweep.log(element.name))
    return f"it ended with exit status {status}" + (f", {run['exit']}" if run else "")


def last_words(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    begins = [at for at, line in enumerate(lines) if line.startswith("error: ")]
    shown = lines[begins[-1] :] if begins else lines
    return "\n".join(shown[-6:]).removeprefix("error: ") or f"nothing was written to {path}"


def prepare(executor: Executor, wanted: list[list[str]], logs: Path) -> None:
    """Build the environments that runs need, once per kind of machine, before submitting any run.

    ``wanted`` are arguments of the zoo that build them; ``logs`` is the folder for their output.
    """
    jobs: dict[str, tuple[str, Job]] = {}
    for number, place in enumerate(executor.places, 1):
        for at, arguments in enumerate(wanted, 1):
            name = f"prepare-{number}-{at}"
            jobs[name] = place, executor.submit(attempts.of_zoo(name, arguments, logs / f"{name}.log"), place)
    with stopped_in_order({name: job for name, (_, job) in jobs.items()}):
        for name, (place, job) in jobs.items():
            while job.is_running():
                time.sleep(POLL_S)
            if job.wait():
                raise ZooError(
                    f"The environment cannot be prepared on {place}: {last_words(logs / f'{name}.log')}",
                    f"The whole log: {logs / f'{name}.log'}",
                )


@contextlib.contextmanager
def stopped_in_order(running: dict[str, Job]) -> Iterator[None]:
    """If the block ends with an error, Ctrl-C or SIGTERM, interrupt all jobs, then kill the remaining jobs."""
    # SIGTERM and a closed terminal are treated like Ctrl-C.
    with processes.handling(dict.fromkeys((signal.SIGTERM, signal.SIGHUP), signal.default_int_handler)):
        try:
            yield
        except BaseException as error:
            if running:
                _stop(running, isinstance(error, KeyboardInterrupt))
            raise


def _stop(running: dict[str, Job], asked: bool) -> None:
    if asked:
        console.say("\nStopping: running trainings save a checkpoint. Press Ctrl-C again to stop immediately.")
    try:
        for job in running.values():
            job.interrupt()
        deadline = time.monotonic() + STOP_S
        while any(job.is_running() for job in running.values()) and time.monotonic() < deadline:
            time.sleep(POLL_S)
    finally:
        for job in running.values():
            if job.is_running():
                job.kill()
