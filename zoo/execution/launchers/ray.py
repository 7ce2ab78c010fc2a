"""Execute commands as tasks of a Ray cluster."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.config.schemas.launching import LauncherSettings
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.execution.launchers import Command, Executor, Job, commands

LOST = 255


class RayJob:
    """A task of Ray.

    Args:
        reference: Ray's reference to the exit status of the command.
        place: the requested node, or empty.
    """

    def __init__(self, ray: Any, reference: Any, place: str) -> None:
        self._ray, self._reference, self.place = ray, reference, place
        self.ticket = str(reference.task_id().hex())

    def is_running(self) -> bool:
        return not self._ray.wait([self._reference], timeout=0)[0]

    def interrupt(self) -> None:
        """Cancel the task; a running command is stopped cleanly."""
        self._ray.cancel(self._reference, force=False)

    def kill(self) -> None:
        """Kill the process of the task; its command ends with a pipe."""
        self._ray.cancel(self._reference, force=True)

    def wait(self) -> int:
        """Wait for the end of the task; return the exit status of its command, or 255 if Ray lost the task."""
        try:
            status, self.place = self._ray.get(self._reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, ZooError):
                raise ZooError(cause.message, cause.remedy) from error
            return LOST
        except (self._ray.exceptions.RayError, KeyboardInterrupt):
            return LOST
        return int(status)


def _execute(command: Command) -> tuple[int, str]:
    import socket

    return commands.execute(command), socket.gethostname()


class RayExecutor(Executor):
    """Submits commands to a Ray cluster, which ends the tasks of a process that has ended."""

    def __init__(self, ray: Any, settings: LauncherSettings) -> None:
        self._ray, self._settings, self.jobs = ray, settings, settings.jobs
        nodes = [node for node in ray.nodes() if node["Alive"]]
        self._nodes = {f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}": node["NodeID"] for node in nodes}
        self.places = sorted(self._nodes)
        self._task = ray.remote(_execute)

    def submit(self, command: Command, place: str | None = None) -> Job:
        """Submit a command; Ray queues it until the cores are free."""
        for name, wanted in (("CPU", self._settings.cpus), ("GPU", self._settings.gpus)):
            most = max((node["Resources"].get(name, 0) for node in self._ray.nodes() if node["Alive"]), default=0)
            if wanted > most:
                key = "launcher.cpus" if name == "CPU" else "launcher.gpus"
                raise ZooError(
                    f"No node of the Ray cluster has {wanted} {name}s; the most is {most:g}", f"Lower {key}."
                )
        options: dict[str, Any] = {"num_cpus": self._settings.cpus, "num_gpus": self._settings.gpus}
        if place is not None:
            kind = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            options["scheduling_strategy"] = kind(self._nodes[place], soft=False)
        task = self._task.options(name=f"zoo-{command.name}", max_retries=0, **options)
        return RayJob(self._ray, task.remote(command), place or "")


@contextlib.contextmanager
def opened(settings: LauncherSettings, folder: Path) -> Iterator[RayExecutor]:
    """Open an executor; see :class:`zoo.execution.launchers.Launcher`.

    Use the cluster at ``launcher.address``, or the cluster that runs on this machine, or start a local one.
    """
    need = "launcher=ray needs the library ray"
    ray = paths.optional("ray", "ray", need)
    paths.optional("ray.util.scheduling_strategies", "ray", need)  # not imported by ray itself
    try:
        ray.init(address=settings.address, log_to_driver=False, configure_logging=False, include_dashboard=False)
    except Exception as error:  # Ray raises many types, also plain Exception
        where = settings.address or "this machine"
        raise ZooError(
            f"The Ray cluster at {where} does not answer: {error}", "Run: ray start --head (docs/how-to/scaling.md)"
        ) from error
    try:
        yield RayExecutor(ray, settings)
    finally:
        ray.shutdown()
