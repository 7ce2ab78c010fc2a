"""Real environments of stacks for tests, and the one rule by which a test is skipped for want of one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from zoo.core.errors import MissingInterpreterError, NoLockError, UnreachableIndexError
from zoo.environments import interpreters, machine, stacks, store

# What a machine may lack; anything else that goes wrong is a failure.
ABSENT = (NoLockError, MissingInterpreterError, UnreachableIndexError)
ON_PROCESSORS = {"cpu", "plaidml"}

_required: frozenset[str] = frozenset()
_allowed: frozenset[str] | None = None


def allow(names: frozenset[str] | None) -> None:
    """Say which stacks tests may use: a name that a test uses but does not show would be built by every run."""
    global _allowed
    _allowed = names


def require(names: frozenset[str]) -> None:
    """Say which stacks no test may be skipped for."""
    global _required
    _required = names


def environment(name: str) -> tuple[stacks.Stack, store.Environment]:
    """A stack and its environment, built where it is not there yet.

    The test is skipped where this machine lacks the lock, the interpreter or the package index for it, and fails
    where the stack is one of those that may not be skipped.
    """
    row, platform = stacks.load(name), machine.probe().platform
    if not _runs_on_processors(row, platform):
        _skip(name, f"drives {row.platforms[platform].devices} on {platform}, and nothing else")
    if _allowed is not None and name not in _allowed:
        pytest.fail(f"{name} is not of the default ring: name it by @pytest.mark.stacks({name!r})")
    try:
        return row, store.ensure(row, platform)
    except ABSENT as error:
        _skip(name, error.message.splitlines()[0])


def python(name: str) -> Path:
    """The interpreter of a stack; skips as :func:`environment`."""
    return environment(name)[1].python


def required(option: str | None, variables: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The stacks that may not be skipped: those of the option, else in CI all that this machine can build.

    Args:
        option: the value of ``--no-skip-stacks``, names with commas between them; None where it is not given.
        variables: of the environment.

    Raises:
        pytest.UsageError: a name is no stack.
    """
    if option is None:
        in_ci = variables.get("CI", "").lower() in ("true", "1")
        return buildable(machine.probe().platform) if in_ci else frozenset()
    names = frozenset(filter(None, option.split(",")))
    if unknown := sorted(names.difference(stacks.names())):
        raise pytest.UsageError(f"--no-skip-stacks: no stack is called {', '.join(unknown)}")
    return names


def buildable(platform: str) -> frozenset[str]:
    """The stacks that run on the processors of Linux x86_64 and whose interpreter is there or can be downloaded."""
    if platform != "linux-x86_64":
        return frozenset()
    rows = [row for row in stacks.load_all() if platform in row.platforms and _runs_on_processors(row, platform)]
    return frozenset(row.name for row in rows if _has_python(row.python))


def _has_python(version: str) -> bool:
    return interpreters.is_downloadable(version) or interpreters.find(version, "x86_64") is not None


def _runs_on_processors(row: stacks.Stack, platform: str) -> bool:
    return platform not in row.platforms or bool(ON_PROCESSORS & set(row.platforms[platform].devices))


def _skip(name: str, why: str) -> NoReturn:
    if name in _required:
        pytest.fail(f"{name} may not be skipped here: {why}")
    pytest.skip(f"{name}: {why}")
