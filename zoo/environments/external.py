"""Inspect a user's own environment, and compare it with the lock of a stack."""

from pathlib import Path

from packaging.utils import canonicalize_name

from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.core.paths import user_path
from zoo.environments import marker, stacks
from zoo.environments.platforms import PYTHON_SYSTEMS, architecture
from zoo.environments.stacks import Stack
from zoo.environments.store import Environment


def inspect(python: Path, stack: Stack) -> tuple[Environment, list[str]]:
    """Return a user's environment, and its differences from the lock of a stack. The environment is not changed.

    ``python`` is its interpreter or its folder.
    """
    python = user_path(python).absolute()
    python = marker.python_of(python) if python.is_dir() else python
    if not python.is_file():
        raise ZooError(f"There is no Python at {python}", "Give backend.python the path of an interpreter.")
    content = marker.inventory(python)
    platform, notes = f"{PYTHON_SYSTEMS.get(content.system, content.system)}-{architecture(content.machine)}", []
    if platform not in stack.platforms:
        other = min(stack.platforms)
        notes.append(f"stack {stack.name} has no lock for {platform}; compared with {other}")
        platform = other
    lock = stacks.lock_file(stack, platform)
    if not f"{content.python}.".startswith(f"{stack.python}."):
        notes.append(f"Python is {content.python}; the stack is made for {stack.python}")
    present: dict[str, str] = {canonicalize_name(name): version for name, version in content.versions.items()}
    for name, version in stacks.pins(lock).items():
        if name not in present:
            notes.append(f"{name} {version} is missing")
        elif present[name] != version:
            notes.append(f"{name} is {present[name]}; the lock has {version}")
    folder = python.parent.parent
    return Environment(python, folder, lock, file_sha256(lock), content.versions, 0.0, content.python), notes
