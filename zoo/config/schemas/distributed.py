"""Settings of one training on several processes."""

from dataclasses import dataclass, field

from zoo.config.ranges import within, within_or_null


@dataclass
class Distributed:
    """How one training runs on several processes, each of which takes its share of every batch.

    Attributes:
        processes: how many; 1 trains in one process as ever.
        threads: of each process, one alone too; null divides the cores of this machine among its processes.
        port: where the processes meet on the first one's machine; null takes a free one.
        nodes: machines that share them evenly, this one included; the others are those of launcher=ssh, slurm or ray.
        join_s: how long they wait for each other at the beginning.
    """

    processes: int = 1
    threads: int | None = None
    port: int | None = None
    nodes: int = 1
    join_s: float = 60.0

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            within("distributed.processes", self.processes, 1, 1024),
            within_or_null("distributed.threads", self.threads, 1, 1024),
            within_or_null("distributed.port", self.port, 1024, 65_535),
            within("distributed.nodes", self.nodes, 1, self.processes),
            within("distributed.join_s", self.join_s, 1.0, 86_400.0),
        ]


@dataclass
class Shareable:
    """What trainings have that several processes can share."""

    distributed: Distributed = field(default_factory=Distributed)
