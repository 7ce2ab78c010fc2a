"""PyTorch's stack for what it computes fastest on a processor, where the user names no stack.

Measured by scripts/benchmarks/style_transfer.py and before_after.py, see docs/benchmarks.md.
"""

from zoo.config import declared, references
from zoo.config.overrides import Overrides
from zoo.environments import selection, stacks
from zoo.environments.machine import Machine

STACK = "torch"
# Where trainings were timed on several stacks; elsewhere the order of the backend's stacks holds.
MEASURED = ("linux-x86_64",)


def add(overrides: Overrides, here: Machine) -> Overrides:
    """Name the stack, where the user named none and the processor computes.

    Args:
        overrides: of the user.
        here: the machine to choose for.
    """
    if any(overrides.get(key) for key in (references.KEY, *declared.stack_keys())):
        return overrides
    wanted = overrides.get("backend")
    if wanted in (None, "auto"):
        wanted = selection.select(None, here).backend.name
    if wanted != "cpu" or here.platform not in stacks.load(STACK).platforms:
        return overrides
    return overrides.with_("machine", {"backend": "cpu", "stack": STACK})


def add_to_training(overrides: Overrides, here: Machine) -> Overrides:
    """As :func:`add`, for trainings of texts and of wide networks of pictures (docs/benchmarks.md)."""
    return add(overrides, here) if here.platform in MEASURED else overrides
