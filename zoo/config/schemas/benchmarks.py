"""Settings of benchmarks: single operations, networks, several stacks, start-up, the transformer's encoder."""

from dataclasses import dataclass, field
from typing import Any

from zoo.config import ranges
from zoo.config.ranges import MODES, PRECISIONS, one_of, within
from zoo.config.schemas.common import Arguments, Settings

OPERATIONS = ("row_column", "square", "convolution")
IMPLEMENTATIONS = {"zoo": ["zoo"], "torch": ["torch"], "both": ["zoo", "torch"]}
ENCODER_MODES = ("evaluation", "training")


def _filled(key: str, values: list[Any]) -> str | None:
    return None if values else f"{key} is empty"


@dataclass
class MatmulConfig(Settings):
    """Settings of ``bench=matmul``.

    Attributes:
        bench: matmul: single operations on numpy, the processor and the accelerator, small to large.
        stack: name of the stack to use; null means the backend's best for this machine.
        operations: row_column (a row of n times a column of n), square (two matrices), convolution (3x3).
        row_column: the n to time.
        square: edges of the matrices.
        convolution: edges of the 8 images with 32 channels.
        count: timed calls of each, after a warm-up round.
        max_s: seconds after which no more rounds of one size begin; there are at least three.
    """

    bench: str = "matmul"
    operations: list[str] = field(default_factory=lambda: list(OPERATIONS))
    row_column: list[int] = field(default_factory=lambda: [10**power for power in range(2, 9)])
    square: list[int] = field(default_factory=lambda: [2**power for power in range(5, 12)])
    convolution: list[int] = field(default_factory=lambda: [2**power for power in range(3, 8)])
    count: int = 10
    max_s: float = 10.0

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        return ranges.problems(
            [
                *(one_of("operations", name, OPERATIONS) for name in self.operations),
                *_size_checks("row_column", self.row_column, 10**9),
                *_size_checks("square", self.square, 32_768),
                *_size_checks("convolution", self.convolution, 4_096),
                within("count", self.count, 3, 10_000),
                within("max_s", self.max_s, 0.01, 3_600),
            ]
        )


def _size_checks(key: str, sizes: list[int], largest: int) -> list[str | None]:
    return [
        *(within(key, size, 1, largest) for size in sizes),
        None if sizes else f"{key} must name at least one size",
    ]


@dataclass
class NetworksConfig(Settings):
    """Settings of ``bench=networks``.

    Attributes:
        bench: networks: build, compile and call times of the classifiers, with their outputs checked.
        stack: name of the stack to use; null means the backend's best for this machine.
        networks: names of the models; an empty list means all image classifiers.
        modes: inference, training, or both.
        batch_sizes: items at a time.
        warm: warm-up calls that are not timed.
        count: timed calls of each.
        max_s: seconds after which no more calls of one row begin; there are at least three.
    """

    bench: str = "networks"
    networks: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=lambda: list(MODES))
    batch_sizes: list[int] = field(default_factory=lambda: [1, 32])
    warm: int = 2
    count: int = 20
    max_s: float = 10.0

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        return ranges.problems(
            [
                *(one_of("modes", mode, MODES) for mode in self.modes),
                *(within("batch_sizes", size, 1, 65_536) for size in self.batch_sizes),
                within("warm", self.warm, 1, 1_000),
                within("count", self.count, 3, 10_000),
                within("max_s", self.max_s, 0.01, 3_600),
            ]
        )


@dataclass
class StacksConfig(Settings):
    """Settings of ``bench=stacks``.

    Attributes:
        bench: stacks: one network on several stacks and in several precisions, interleaved.
        network: name of the model.
        stack: the first stack, which the others are compared with; null means the backend's best for this machine.
        compare_to: stacks that are timed on the processor in turn with the first.
        precisions: float32, bfloat16, float16: what layers compute in; weights are always float32.
        modes: inference, training, or both.
        batch_size: items at a time.
        rounds: turns of each stack.
        turn_s: seconds of one turn, in which there is at least one call.
    """

    bench: str = "stacks"
    network: str = "mnist"
    compare_to: list[str] = field(default_factory=lambda: ["torch", "jax", "openvino"])
    precisions: list[str] = field(default_factory=lambda: ["float32"])
    modes: list[str] = field(default_factory=lambda: list(MODES))
    batch_size: int = 32
    rounds: int = 10
    turn_s: float = 0.5

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        return ranges.problems(
            [
                *(one_of("modes", mode, MODES) for mode in self.modes),
                *(one_of("precisions", precision, PRECISIONS) for precision in self.precisions),
                _filled("modes", self.modes),
                _filled("precisions", self.precisions),
                within("batch_size", self.batch_size, 1, 65_536),
                within("rounds", self.rounds, 1, 10_000),
                within("turn_s", self.turn_s, 0.0, 600.0),
            ]
        )


@dataclass
class StartupConfig(Settings):
    """Settings of ``bench=startup``.

    Attributes:
        bench: startup: time until the command line answers and the first training step is done.
        stack: name of the stack to use; null means the backend's best for this machine.
        count: starts of each process, after a warm-up round.
    """

    bench: str = "startup"
    count: int = 5

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        return ranges.problems([within("count", self.count, 3, 1_000)])


@dataclass
class EncoderBenchConfig(Settings):
    """Settings of ``bench model=transformer``.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        implementation: zoo, the zoo's encoder; torch, PyTorch's own module, on a stack of PyTorch; both.
        compare_to: stacks that are timed on the processor in turn with the first, such as [jax,openvino].
        modes: evaluation, and training: the forward pass with dropout, recording what gradients need.
        precisions: float32, bfloat16, float16: of weights and computation.
        compiled: also time the graphs of torch.compile and XLA.
        length: positions of the input.
        batch: inputs at a time.
        passes: forward passes per timing, as in published figures.
        repeats: timings in a row by one process.
        rounds: turns of each stack.
    """

    model: Arguments = field(default_factory=dict)
    implementation: str = "zoo"
    compare_to: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=lambda: list(ENCODER_MODES))
    precisions: list[str] = field(default_factory=lambda: ["float32", "bfloat16"])
    compiled: bool = True
    length: int = 1024
    batch: int = 1
    passes: int = 10
    repeats: int = 3
    rounds: int = 1

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        return ranges.problems(
            [
                within("length", self.length, 1, 65_536),
                within("batch", self.batch, 1, 65_536),
                within("passes", self.passes, 1, 10_000),
                within("repeats", self.repeats, 1, 10_000),
                within("rounds", self.rounds, 1, 1_000),
                one_of("implementation", self.implementation, IMPLEMENTATIONS),
                *(one_of("modes", mode, ENCODER_MODES) for mode in self.modes),
                *(one_of("precisions", precision, PRECISIONS) for precision in self.precisions),
                *ranges.model_problems(self.model),
                _filled("modes", self.modes),
                _filled("precisions", self.precisions),
            ]
        )
