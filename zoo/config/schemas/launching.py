"""Where runs are executed: on this machine, or by an engine on others."""

import pkgutil
from dataclasses import dataclass, field

from zoo.config.ranges import one_of, within, within_or_null
from zoo.config.schemas.fields import literal
from zoo.core.paths import PACKAGE

FOLDERS = [str(PACKAGE / "execution" / "launchers")]
# Modules of the folder of launchers that start nothing.
_PARTS = ("commands",)


def launcher_names() -> list[str]:
    """Return the names of all launchers."""
    return sorted(module.name for module in pkgutil.iter_modules(FOLDERS) if module.name not in _PARTS)


@dataclass
class LauncherSettings:
    """Where runs are executed, and how many at a time.

    Attributes:
        name: local, this machine; slurm; ray; ssh, a list of hosts. launcher=NAME is the same.
        jobs: runs at a time at most; null means one here, those that the hosts have room for, and no limit of the
            zoo's own with slurm and ray, which queue what finds no room.
        retries: how often a run of a sweep that failed is tried again, from its last checkpoint.
        cpus: processor cores that slurm or ray reserves for a run.
        gpus: GPUs that slurm or ray reserves for a run.
        memory_gb: memory that slurm reserves for a run; null means the partition's default.
        minutes: time limit of slurm for a run, which is queued again from its last checkpoint when it is reached.
        partition: of slurm; null means the default one.
        address: of the Ray cluster, such as 10.0.0.1:6379; null means the one that runs here, or a new one here.
        hosts: of ssh, as ~/.ssh/config names them; or one file with a host a line, followed by jobs=N or python=PATH
            where it differs.
        python: interpreter with the zoo on other machines; null means the path of the one that runs here.
        options: further options of sbatch, such as [account=lab,constraint=a100]; or of ssh, such as [-p,2222].
    """

    name: str = "local"
    jobs: int | None = None
    retries: int = 2
    cpus: int = 1
    gpus: int = 0
    memory_gb: float | None = None
    minutes: int = 1440
    partition: str | None = None
    address: str | None = literal()
    hosts: list[str] = field(default_factory=list)
    python: str | None = literal()
    options: list[str] = field(default_factory=list)

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            one_of("launcher", self.name, launcher_names()),
            within_or_null("launcher.jobs", self.jobs, 1, 10_000),
            within("launcher.retries", self.retries, 0, 1000),
            within("launcher.cpus", self.cpus, 1, 10_000),
            within("launcher.gpus", self.gpus, 0, 1000),
            within_or_null("launcher.memory_gb", self.memory_gb, 0.01, 1e6),
            within("launcher.minutes", self.minutes, 1, 10_000_000),
        ]
