"""Select PyTorch's stack for models that it trains fastest on a CPU, unless the user names a stack.

Measured by scripts/benchmarks/style_transfer.py and before_after.py, see docs/background/benchmarks.md.
"""

from zoo.config import declared, references
from zoo.config.overrides import Overrides
from zoo.environments import selection, stacks
from zoo.environments.machine import Machine

STACK = "torch"
# Platforms where training was timed on several stacks; elsewhere the order of the backend's stacks applies.
MEASURED = ("linux-x86_64",)


def add(overrides: Overrides, here: Machine) -> Overrides:
    """Add the stack, if the user names none and the CPU is used."""
    if any(overrides.get(key) for key in (references.KEY, *declared.keys_with("names_stack"))):
        return overrides
    wanted = overrides.get("backend")
    if wanted in (None, "auto"):
        wanted = selection.select(None, here).backend.name
    if wanted != "cpu" or here.platform not in stacks.load(STACK).platforms:
        return overrides
    return overrides.with_("machine", {"backend": "cpu", "stack": STACK})


def add_to_training(overrides: Overrides, here: Machine) -> Overrides:
    """Like :func:`add`, for texts and wide image networks, on platforms that were measured."""
    return add(overrides, here) if here.platform in MEASURED else overrides
