"""Jupyter kernels of stacks: kernelspecs in the user's Jupyter folder, with the Python of an environment."""

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from zoo.core.errors import ZooError, require_known
from zoo.core.files import remove as remove_path
from zoo.core.files import write_json
from zoo.environments import marker
from zoo.execution.proven_stack import ProvenStack

PACKAGE = "ipykernel"
SPEC = "kernel.json"
# Variables of Jupyter and the user that would affect the stack; an empty value counts as unset.
EMPTIED = ("PYTHONHOME", "TF_USE_LEGACY_KERAS")


@dataclass(frozen=True)
class Kernel:
    """A kernel installed by the zoo; ``state`` is ``"ready"`` or the problem."""

    name: str
    stack: str
    state: str
    folder: Path


def folder() -> Path:
    """Return the folder in which Jupyter searches for the user's kernels."""
    data = os.environ.get("JUPYTER_DATA_DIR")
    if data:
        return Path(data) / "kernels"
    if sys.platform == "darwin" and os.environ.get("JUPYTER_PLATFORM_DIRS", "").lower() not in ("1", "true", "yes"):
        return Path.home() / "Library" / "Jupyter" / "kernels"
    import platformdirs

    return Path(platformdirs.user_data_dir("jupyter", appauthor=False)) / "kernels"


def check_name(name: str) -> str:
    """Return the name of a kernel; raise ZooError if it is invalid, or if a different program installed the kernel."""
    if not re.fullmatch(r"[a-z0-9._-]+", name):
        raise ZooError(f"{name!r} is not a valid name of a kernel", "Use a-z, 0-9 and the characters . _ -")
    if (folder() / name).exists() and name not in {kernel.name for kernel in installed()}:
        raise ZooError(f"{folder() / name} was not installed by zoo", "Choose another name: --name NAME")
    return name


def install(stack: ProvenStack, name: str | None = None) -> Path:
    """Register a stack with :data:`PACKAGE` as a kernel, or replace a kernel of the zoo; return its folder."""
    parts = [part for part in stack.label.split("+") if part != PACKAGE]
    target = folder() / check_name(name or "-".join(["zoo", *parts]))
    python = stack.environment.python
    path = {"PATH": f"{python.parent}{os.pathsep}${{PATH}}", "VIRTUAL_ENV": str(stack.environment.folder)}
    spec = {
        "argv": [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": f"{' + '.join(parts)} (zoo)",
        "language": "python",
        "env": {**dict.fromkeys(EMPTIED, ""), **path, **stack.own_variables()},
        "metadata": {"debugger": True, "zoo": {"stack": stack.label, "environment": str(stack.environment.folder)}},
    }
    write_json(target / SPEC, spec, parents=True)
    return target


def installed() -> list[Kernel]:
    return [kernel for spec in sorted(folder().glob(f"*/{SPEC}")) if (kernel := _read(spec))]


def _read(spec: Path) -> Kernel | None:
    try:
        own = json.loads(spec.read_text(encoding="utf-8"))["metadata"]["zoo"]
        there = marker.python_of(Path(own["environment"])).exists()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    state = "ready" if there else "its environment is missing; install it again"
    return Kernel(spec.parent.name, str(own["stack"]), state, spec.parent)


def remove(names: list[str] | None) -> list[Path]:
    """Remove kernels by name, or all that the zoo installed (None); return the removed folders."""
    present = {kernel.name: kernel.folder for kernel in installed()}
    require_known("kernel installed by zoo", names or [], present)
    gone = [place for name, place in present.items() if names is None or name in names]
    for place in gone:
        remove_path(place)
    return gone
