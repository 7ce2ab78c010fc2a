"""Where runs are executed: on this machine or through an engine on remote machines, in one or several processes."""

import pkgutil
from dataclasses import dataclass, field

from zoo.config.setting import OUTWARD, PLACE, SPEED, setting
from zoo.core.paths import PACKAGE

FOLDERS = [str(PACKAGE / "execution" / "launchers")]
# Modules in the folder of launchers that are not launchers.
_PARTS = ("commands",)


def launcher_names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(FOLDERS) if module.name not in _PARTS)


@dataclass
class LauncherSettings:
    name: str = setting(
        "local", "where runs are executed; local is this machine, ssh a list of hosts; short form: launcher=NAME",
        choices=launcher_names, affects=SPEED)  # fmt: skip
    jobs: int | None = setting(
        None, "largest number of simultaneous runs; null means one on this machine, and no limit with slurm and ray. "
        "With ssh, null depends on the hosts", at_least=1, at_most=10_000, affects=SPEED)  # fmt: skip
    retries: int = setting(
        2, "how often a failed run of a sweep is restarted from its last checkpoint", at_least=0, at_most=1000,
        affects=SPEED)  # fmt: skip
    cpus: int = setting(1, "cores per run", at_least=1, at_most=10_000, affects=SPEED, needs="launcher.name=slurm|ray")
    gpus: int = setting(0, "GPUs per run", at_least=0, at_most=1000, affects=SPEED, needs="launcher.name=slurm|ray")
    memory_gb: float | None = setting(
        None, "memory per run in GB; null means the partition's default", at_least=0.01, at_most=1e6,
        affects=SPEED, needs="launcher.name=slurm")  # fmt: skip
    # Slurm warns a job 90 seconds before its limit: a shorter job would be queued again before it has trained.
    minutes: int = setting(
        1440, "time limit of a run; a run that reaches it is queued again and continues from its last "
        "checkpoint", at_least=3, at_most=10_000_000, affects=SPEED, needs="launcher.name=slurm")  # fmt: skip
    partition: str | None = setting(
        None, "slurm's partition; null means the default one", affects=PLACE, needs="launcher.name=slurm"
    )
    address: str | None = setting(
        None, "Ray cluster, such as 10.0.0.1:6379; null means the one on this machine, or a new one", literal=True,
        affects=OUTWARD, needs="launcher.name=ray")  # fmt: skip
    hosts: list[str] = setting(
        [], "hosts of ssh as in ~/.ssh/config; or a file with one host per line, optionally with jobs=N or "
        "python=PATH", literal=True, affects=OUTWARD, needs="launcher.name=ssh")  # fmt: skip
    python: str | None = setting(
        None, "interpreter with the zoo on other machines; null means the same path as on this one", literal=True,
        affects=OUTWARD, needs="launcher.name!=local")  # fmt: skip
    options: list[str] = setting(
        [], "further options of sbatch, such as [account=lab,constraint=a100], or of ssh, such as [-p,2222]",
        literal=True, affects=OUTWARD, needs="launcher.name=slurm|ssh")  # fmt: skip


@dataclass
class Distributed:
    """How several processes share each batch of one training run."""

    processes: int = setting(1, "number of processes that share each batch", at_least=1, at_most=1024, affects=SPEED)
    threads: int | None = setting(
        None, "threads of each process; null divides the cores of this machine", at_least=1, at_most=1024,
        affects=SPEED)  # fmt: skip
    port: int | None = setting(
        None, "TCP port of the first process; null takes a free one", at_least=1024, at_most=65_535, affects=PLACE,
        needs="distributed.processes!=1")  # fmt: skip
    nodes: int = setting(
        1, "number of machines, this one included; launcher=ssh, slurm or ray starts the remaining ones", at_least=1,
        at_most=1024, affects=SPEED)  # fmt: skip
    join_s: float = setting(
        60.0, "seconds to wait for all processes at the beginning", at_least=1, at_most=86_400, affects=SPEED,
        needs="distributed.processes!=1")  # fmt: skip

    def checks(self) -> list[str | None]:
        too_many = f"distributed.nodes must be at most distributed.processes, {self.processes}, got {self.nodes}"
        return [too_many if self.nodes > self.processes else None]


@dataclass
class Shareable:
    """Settings for training runs that can use several processes."""

    distributed: Distributed = field(default_factory=Distributed)
