"""What the benchmarks are told that ``bench=`` names: single operations, networks, stacks in turns, start-up."""

from dataclasses import dataclass, field

from zoo.config.schemas.common import Settings, one_of, within

OPERATIONS = ("row_column", "square", "convolution")
MODES = ("inference", "training")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass
class MatmulConfig(Settings):
    """Everything ``bench=matmul`` is told.

    Attributes:
        bench: matmul: single operations on numpy, the processor and the accelerator, small to large.
        stack: name of the stack to use; null means the backend's best for this machine.
        operations: row_column (a row of n times a column of n), square (two matrices), convolution (3x3).
        row_column: the n to time.
        square: edges of the matrices.
        convolution: edges of the 8 pictures with 32 channels.
        count: how often each is timed, after a warm round.
        most_s: seconds after which no more rounds of one size are begun; three are made in any case.
    """

    bench: str = "matmul"
    operations: list[str] = field(default_factory=lambda: list(OPERATIONS))
    row_column: list[int] = field(default_factory=lambda: [10**power for power in range(2, 9)])
    square: list[int] = field(default_factory=lambda: [2**power for power in range(5, 12)])
    convolution: list[int] = field(default_factory=lambda: [2**power for power in range(3, 8)])
    count: int = 10
    most_s: float = 10.0

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        found = [one_of("operations", name, OPERATIONS) for name in self.operations]
        for key, most in (("row_column", 10**9), ("square", 32_768), ("convolution", 4_096)):
            found += [within(key, size, 1, most) for size in getattr(self, key)]
            found.append(None if getattr(self, key) else f"{key} must name at least one size")
        found += [within("count", self.count, 3, 10_000), within("most_s", self.most_s, 0.01, 3_600)]
        return [problem for problem in found if problem]


@dataclass
class NetworksConfig(Settings):
    """Everything ``bench=networks`` is told.

    Attributes:
        bench: networks: the classifiers, compiled, warmed up and run apart, held against known answers.
        stack: name of the stack to use; null means the backend's best for this machine.
        networks: names of the models; an empty list means all classifiers of pictures.
        modes: inference, training, or both.
        batch_sizes: items at a time.
        warm: calls before the clock.
        count: how often each is timed.
        most_s: seconds after which no more calls of one row are begun; three are made in any case.
    """

    bench: str = "networks"
    networks: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=lambda: list(MODES))
    batch_sizes: list[int] = field(default_factory=lambda: [1, 32])
    warm: int = 2
    count: int = 20
    most_s: float = 10.0

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        found = [one_of("modes", mode, MODES) for mode in self.modes]
        found += [within("batch_sizes", size, 1, 65_536) for size in self.batch_sizes]
        found += [within("warm", self.warm, 1, 1_000), within("count", self.count, 3, 10_000)]
        found.append(within("most_s", self.most_s, 0.01, 3_600))
        return [problem for problem in found if problem]


@dataclass
class StacksConfig(Settings):
    """Everything ``bench=stacks`` is told.

    Attributes:
        bench: stacks: one network on several stacks and in several precisions, taking turns.
        network: name of the model.
        stack: the first stack, which the others are held against; null means the backend's best for this machine.
        beside: stacks that are timed on the processor in turn with the first.
        precisions: float32, bfloat16, float16: what layers compute in; weights are float32 in any case.
        modes: inference, training, or both.
        batch_size: items at a time.
        rounds: how often each takes its turn.
        turn_s: seconds of one turn; one call is made in any case.
    """

    bench: str = "stacks"
    network: str = "mnist"
    beside: list[str] = field(default_factory=lambda: ["torch", "jax", "openvino"])
    precisions: list[str] = field(default_factory=lambda: ["float32"])
    modes: list[str] = field(default_factory=lambda: list(MODES))
    batch_size: int = 32
    rounds: int = 10
    turn_s: float = 0.5

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        found = [one_of("modes", mode, MODES) for mode in self.modes]
        found += [one_of("precisions", precision, PRECISIONS) for precision in self.precisions]
        found += [f"{key} is empty" for key in ("modes", "precisions") if not getattr(self, key)]
        found += [within("batch_size", self.batch_size, 1, 65_536), within("rounds", self.rounds, 1, 10_000)]
        found.append(within("turn_s", self.turn_s, 0.0, 600.0))
        return [problem for problem in found if problem]


@dataclass
class StartupConfig(Settings):
    """Everything ``bench=startup`` is told.

    Attributes:
        bench: startup: how long it takes until the command line answers and the first step is made.
        stack: name of the stack to use; null means the backend's best for this machine.
        count: how often each process is started, after a warm round.
    """

    bench: str = "startup"
    count: int = 5

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        problem = within("count", self.count, 3, 1_000)
        return [problem] if problem else []
