"""Settings of benchmarks: single operations, networks, several stacks, start-up, the transformer's encoder."""

from dataclasses import dataclass, field

from zoo.config.schemas.common import MODES, PRECISIONS, Arguments, Settings
from zoo.config.setting import setting

OPERATIONS = ("row_column", "square", "convolution")
IMPLEMENTATIONS = {"zoo": ["zoo"], "torch": ["torch"], "both": ["zoo", "torch"]}
ENCODER_MODES = ("evaluation", "training")


@dataclass
class MatmulConfig(Settings):
    bench: str = setting(
        "matmul", "matmul: single operations of increasing size with NumPy, on the processor and on the accelerator"
    )
    operations: list[str] = setting(
        list(OPERATIONS), "row_column: product of two vectors; square: product of two matrices; convolution: 3x3",
        choices=OPERATIONS)  # fmt: skip
    row_column: list[int] = setting(
        [10**power for power in range(2, 9)], "lengths of the vectors", at_least=1, at_most=10**9, filled=True,
        needs="operations=row_column")  # fmt: skip
    square: list[int] = setting(
        [2**power for power in range(5, 12)], "sizes of the matrices", at_least=1, at_most=32_768, filled=True,
        needs="operations=square")  # fmt: skip
    convolution: list[int] = setting(
        [2**power for power in range(3, 8)], "sizes of the 8 images with 32 channels", at_least=1, at_most=4_096,
        filled=True, needs="operations=convolution")  # fmt: skip
    count: int = setting(10, "timed calls of each size, after a warm-up round", at_least=3, at_most=10_000)
    max_s: float = setting(
        10.0, "start no round of a size after this many seconds; the first three always run", at_least=0.01,
        at_most=3_600)  # fmt: skip


@dataclass
class NetworksConfig(Settings):
    bench: str = setting(
        "networks", "networks: build, compile and call times of the classifiers, with their outputs checked"
    )
    networks: list[str] = setting([], "names of the models; [] means all image classifiers")
    modes: list[str] = setting(list(MODES), "what is timed", choices=MODES)
    batch_sizes: list[int] = setting([1, 32], "items per batch", at_least=1, at_most=65_536)
    warm: int = setting(2, "warm-up calls that are not timed", at_least=1, at_most=1_000)
    count: int = setting(20, "timed calls of each network", at_least=3, at_most=10_000)
    max_s: float = setting(
        10.0, "start no call of a row after this many seconds; the first three always run", at_least=0.01,
        at_most=3_600)  # fmt: skip


@dataclass
class StacksConfig(Settings):
    bench: str = setting("stacks", "stacks: one network on several stacks and in several precisions, interleaved")
    network: str = setting("mnist", "name of the model")
    compare_to: list[str] = setting(
        ["torch", "jax", "openvino"], "further stacks to time on the processor, alternating with the first stack"
    )
    precisions: list[str] = setting(
        ["float32"], "precisions of the layers; weights are always float32", choices=PRECISIONS, filled=True
    )
    modes: list[str] = setting(list(MODES), "what is timed", choices=MODES, filled=True)
    batch_size: int = setting(32, "items per batch", at_least=1, at_most=65_536)
    rounds: int = setting(10, "turns of each stack", at_least=1, at_most=10_000)
    turn_s: float = setting(0.5, "seconds per turn; each turn has at least one call", at_least=0, at_most=600)


@dataclass
class StartupConfig(Settings):
    bench: str = setting("startup", "startup: time until the command line answers and the first training step is done")
    count: int = setting(5, "starts of each process, after a warm-up round", at_least=3, at_most=1_000)


@dataclass
class EncoderBenchConfig(Settings):
    """Settings of ``bench model=transformer``."""

    model: Arguments = field(default_factory=dict)
    implementation: str = setting(
        "zoo", "the zoo's encoder, or PyTorch's own module on a stack of PyTorch", choices=tuple(IMPLEMENTATIONS)
    )
    compare_to: list[str] = setting(
        [], "further stacks to time on the processor, alternating with the first stack, such as [jax,openvino]"
    )
    modes: list[str] = setting(
        list(ENCODER_MODES), "training is a forward pass with dropout that keeps what the gradients need",
        choices=ENCODER_MODES, filled=True)  # fmt: skip
    precisions: list[str] = setting(
        ["float32", "bfloat16"], "precisions of weights and computation", choices=PRECISIONS, filled=True
    )
    compiled: bool = setting(True, "also time the graphs of torch.compile and XLA")
    length: int = setting(1024, "positions of the input", at_least=1, at_most=65_536)
    batch: int = setting(1, "inputs per batch", at_least=1, at_most=65_536)
    passes: int = setting(10, "forward passes per timing, as in published figures", at_least=1, at_most=10_000)
    repeats: int = setting(3, "consecutive timings in one process", at_least=1, at_most=10_000)
    rounds: int = setting(1, "turns of each stack", at_least=1, at_most=1_000)
