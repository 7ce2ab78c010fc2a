"""Execute commands as jobs of Slurm, through submitit.

A job outlives this process and is found again by its ticket. Its state comes from squeue, which needs no accounting.
"""

import contextlib
import getpass
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.config.schemas.launching import LauncherSettings
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.execution import launchers
from zoo.execution.launchers import Command, Job, commands

ASK_S = 1.0
# Delay until a shared folder shows a result that another machine wrote.
RESULT_S = 10.0
LOST = 255
# Before a job's time limit, Slurm signals all of its processes; only submitit's process must react.
SHIELD = ["/bin/sh", "-c", 'trap "" USR2; exec "$@"', "sh"]


class Shielded:
    """A command that submitit calls on the node, and queues again after a timeout or preemption; it must resume."""

    def __init__(self, command: Command) -> None:
        self._command = replace(command, words=[*SHIELD, *command.words])
        self._job: commands.Child | None = None

    def __call__(self) -> int:
        self._job = commands.start(self._command)
        while self._job.is_running():
            time.sleep(commands.POLL_S)
        return self._job.wait()

    def checkpoint(self) -> Any:
        """Stop the command cleanly; submitit queues it again."""
        import submitit

        if self._job is not None:
            commands.stop(self._job)
        self._job = None
        return submitit.helpers.DelayedSubmission(self)


class SlurmJob:
    """A job of Slurm and submitit, listed in the queue while it waits or runs."""

    def __init__(self, queue: "Queue", job: Any) -> None:
        self._queue, self._job, self.ticket = queue, job, str(job.job_id)

    @property
    def place(self) -> str:
        """Return the node, or an empty string while it is unknown."""
        return self._queue.nodes.get(self.ticket, "")

    def is_running(self) -> bool:
        return not self._has_answered() and self._queue.has(self.ticket)

    def interrupt(self) -> None:
        """Cancel the job: Slurm sends SIGTERM, and SIGKILL after its KillWait."""
        self._cancel()

    def kill(self) -> None:
        self._cancel("--signal=KILL", "--full")
        self._cancel()

    def wait(self) -> int:
        """Wait for the end of the job; return its exit status, or LOST or CANCELED if Slurm ended it."""
        while self.is_running():
            time.sleep(ASK_S)
        deadline = time.monotonic() + RESULT_S
        while not self._has_answered() and time.monotonic() < deadline:
            time.sleep(0.1)
        if not self._has_answered():
            shown = ["scontrol", "show", "job", "--oneliner", self.ticket]  # for some minutes after the end
            answer = subprocess.run(shown, capture_output=True, text=True, check=False)
            return launchers.CANCELED if " JobState=CANCELLED " in answer.stdout else LOST
        try:
            return int(self._job.result())
        except Exception as error:  # submitit raises any error of the remote process
            message = f"Slurm's job {self.ticket} could not run its command: {error}"
            raise ZooError(message, f"Its log is {self._job.paths.stderr}") from error

    def _has_answered(self) -> bool:
        return bool(self._job.paths.result_pickle.is_file())

    def _cancel(self, *options: str) -> None:
        subprocess.run(["scancel", *options, self.ticket], capture_output=True, check=False)


class Queue:
    """The waiting and running jobs of this user, and their nodes, from squeue; refreshed at most once a second."""

    def __init__(self) -> None:
        self._asked, self.jobs, self.nodes = 0.0, set[str](), dict[str, str]()

    def has(self, ticket: str) -> bool:
        if time.monotonic() - self._asked >= ASK_S:
            self._asked = time.monotonic()
            command = ["squeue", "--noheader", "--format=%i|%T|%N", f"--user={getpass.getuser()}"]
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
            if not answer.returncode:  # the last known state stays while the controller restarts
                rows = [line.strip().split("|") for line in answer.stdout.splitlines() if line.count("|") == 2]
                self.jobs = {number for number, _, _ in rows}
                self.nodes |= {number: node for number, _, node in rows if node}
        return ticket in self.jobs


class SlurmExecutor:
    """Submits commands to Slurm; ``folder`` is for submitit's files."""

    def __init__(self, settings: LauncherSettings, folder: Path) -> None:
        submitit: Any = paths.optional("submitit", "slurm", "launcher=slurm needs the library submitit")
        self.jobs, self.places = settings.jobs, [settings.partition or "slurm"]
        self._folder, self._queue, self._submitit = folder, Queue(), submitit
        try:
            self._executor = submitit.SlurmExecutor(folder, max_num_timeout=1000, python=settings.python)
        except RuntimeError as error:
            raise ZooError(f"Slurm is not available: {error}", "Start the command on a machine with sbatch.") from error
        self._parameters = _parameters(settings)

    def submit(self, command: Command, place: str | None = None) -> Job:
        try:
            self._executor.update_parameters(**self._parameters, job_name=f"zoo-{command.name}")
            job = self._executor.submit(Shielded(command))
        except (ValueError, subprocess.SubprocessError, self._submitit.core.utils.FailedJobError) as error:
            raise ZooError(f"Slurm rejected the job: {error}", "Check `sinfo` and launcher.options.") from error
        self._queue.jobs.add(str(job.job_id))
        return SlurmJob(self._queue, job)

    def find(self, ticket: str) -> Job | None:
        job = SlurmJob(self._queue, self._submitit.SlurmJob(self._folder, ticket, [0]))
        return job if ticket.isdigit() and job.is_running() else None


def _parameters(settings: LauncherSettings) -> dict[str, Any]:
    wrong = [text for text in settings.options if not text.partition("=")[0].replace("-", "").isalnum()]
    if wrong:
        raise ZooError(f"{wrong[0]!r} is not an option of sbatch", "Write launcher.options=[account=lab,exclusive].")
    pairs = [text.lstrip("-").partition("=") for text in settings.options]
    rows = {
        "time": settings.minutes,
        "cpus_per_task": settings.cpus,
        "partition": settings.partition,
        "gpus_per_node": settings.gpus or None,
        "mem": None if settings.memory_gb is None else f"{int(settings.memory_gb * 1024)}M",
        "additional_parameters": {name: value or True for name, _, value in pairs} or None,
    }
    return {name: value for name, value in rows.items() if value is not None}


def opened(settings: LauncherSettings, folder: Path) -> contextlib.nullcontext[SlurmExecutor]:
    return contextlib.nullcontext(SlurmExecutor(settings, folder))
