"""What timing is told."""

from dataclasses import dataclass, field
from typing import Any

from zoo.config.schemas.common import Settings, model_argument, one_of, within

IMPLEMENTATIONS = {"zoo": ["zoo"], "torch": ["torch"], "both": ["zoo", "torch"]}
MODES = ("evaluation", "training")
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass
class EncoderBenchConfig(Settings):
    """Everything ``bench model=transformer`` is told.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        implementation: zoo, the zoo's encoder; torch, PyTorch's own module, on a stack of PyTorch; both.
        beside: stacks that are timed on the processor in turn with the first, such as [jax,openvino].
        modes: evaluation, and training: the forward pass with dropout, recording what gradients need.
        precisions: float32, bfloat16, float16: of weights and computation.
        compiled: time what torch.compile and XLA make of it, too.
        length: positions of the input.
        batch: inputs at a time.
        passes: how many make one time, as in published figures.
        repeats: times taken in a row by one process.
        rounds: how often all stacks take their turn.
    """

    model: dict[str, Any] = field(default_factory=dict)
    implementation: str = "zoo"
    beside: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=lambda: list(MODES))
    precisions: list[str] = field(default_factory=lambda: ["float32", "bfloat16"])
    compiled: bool = True
    length: int = 1024
    batch: int = 1
    passes: int = 10
    repeats: int = 3
    rounds: int = 1

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        limits = {"length": 65_536, "batch": 65_536, "passes": 10_000, "repeats": 10_000, "rounds": 1_000}
        found = [within(key, getattr(self, key), 1, most) for key, most in limits.items()]
        found.append(one_of("implementation", self.implementation, tuple(IMPLEMENTATIONS)))
        found += [one_of("modes", mode, MODES) for mode in self.modes]
        found += [one_of("precisions", precision, PRECISIONS) for precision in self.precisions]
        found += [model_argument(key, value) for key, value in self.model.items()]
        found += [f"{key} is empty" for key in ("modes", "precisions") if not getattr(self, key)]
        return [problem for problem in found if problem]
