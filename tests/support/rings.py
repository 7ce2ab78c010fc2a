"""Which tests run by default, which by ``--all-stacks`` and which by ``--nightly``, and in what order."""

import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.environments import stacks

# One stack of each kind: Keras 3 on TensorFlow, Keras 3 on PyTorch, and the oldest Keras.
DEFAULT = ("tf-2.21", "torch", "tf-1.8")
# One for each framework of Keras 3, as in scripts/lock.py.
NIGHTLY = ("torch", "jax", "tf-2.21", "openvino", "mlx")
OTHER_MARKS = ("slow", "network")
REPORT = "zoo_deselected"
# The time, in seconds since 1970, after which no further test of the larger ring begins.
UNTIL = "ZOO_TESTS_UNTIL"


def needed(item: pytest.Item) -> set[str]:
    """The stacks that a test shows: those of its parameters and those that its mark names."""
    marks = list(item.iter_markers("stacks"))
    callspec = getattr(item, "callspec", None)
    values = callspec.params.values() if marks and callspec else ()
    named = {name for mark in marks for name in mark.args}
    return named | {value for value in values if isinstance(value, str) and value in stacks.names()}


def in_default(item: pytest.Item) -> bool:
    """Whether a test runs without ``--all-stacks``."""
    return needed(item) <= set(DEFAULT) and not any(item.get_closest_marker(name) for name in OTHER_MARKS)


def chosen(config: pytest.Config) -> str:
    """The ring that the command line asks for."""
    if config.getoption("--nightly"):
        return "stacks with a nightly Keras"
    return "all that pytest alone leaves out" if config.getoption("--all-stacks") else "default"


def includes(config: pytest.Config, item: pytest.Item) -> bool:
    """Whether a test is of the chosen ring."""
    if config.getoption("--nightly"):
        return with_nightly_keras(item)
    return in_default(item) != config.getoption("--all-stacks")


def with_nightly_keras(item: pytest.Item) -> bool:
    """Whether a test needs stacks that can have a nightly Keras, and no others."""
    return bool(needed(item)) and needed(item) <= set(NIGHTLY) and not item.get_closest_marker("network")


def skip_late(config: pytest.Config) -> None:
    """Skip a test of the larger ring that begins too late, so that CI on a slow machine ends with a report."""
    until = os.environ.get(UNTIL)
    if until and config.getoption("--all-stacks") and time.time() > float(until):
        pytest.skip(f"no time is left: {UNTIL}={until} has passed. Run pytest --all-stacks without it")


def order(item: pytest.Item) -> int:
    """Real stacks first, since they take longest, and timing last, where they wait for nobody."""
    if item.get_closest_marker("timing"):
        return 2
    return 0 if item.get_closest_marker("stacks") else 1


def report(config: pytest.Config, count: int) -> None:
    """Let the process that prints the closing line know how many tests were left out."""
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[REPORT] = count


def take_report(node: Any) -> None:
    """Write the number into the closing line, once."""
    reporter = node.config.pluginmanager.get_plugin("terminalreporter")
    count = getattr(node, "workeroutput", {}).get(REPORT, 0)
    if count and not reporter.stats.get("deselected"):
        reporter.stats["deselected"] = [SimpleNamespace() for _ in range(count)]
