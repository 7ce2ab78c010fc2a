"""Settings for one training run on several processes."""

from dataclasses import dataclass, field

from zoo.config.setting import PLACE, SPEED, setting


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
