"""Check the values in files that contributors write: backends, stacks and published figures.

python scripts/maintenance/bundled_files.py

The zoo checks only the keys and types of these files when it reads them. This script also checks the values. It is part
of scripts/lock.py and scripts/maintenance/recipes_page.py; the problems of a file are printed at once.
"""

import argparse
import dataclasses
import datetime
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from zoo.core import console, paths, schema
from zoo.core.errors import ZooError, nearest
from zoo.environments import backends, stacks
from zoo.environments.backends import PRECISIONS, VENDORS, Backend
from zoo.environments.platforms import SYSTEMS, version_numbers
from zoo.environments.stacks import Platform, Stack
from zoo.runs import evidence

KINDS = ("cpu", "gpu")
PLATFORMS = ("linux-x86_64", "linux-arm64", "macos-arm64", "macos-x86_64")
FRAMEWORKS = tuple(paths.worker_modules("devices"))
KERASES = ("keras", "tf.keras", "none")
# tensorflow-metal requires no specific TensorFlow, so the installer accepts pairs that cannot work. Its last version
# uses symbols that TensorFlow 2.20 removed (tensorflow/tensorflow#126360). Keras 3.7 and newer add biases in a way
# that the plug-in silently fuses wrongly with ReLU (keras-team/keras#21668).
METAL_BEFORE = {"tensorflow": (2, 20), "tensorflow-macos": (2, 20), "keras": (3, 7)}


def check_backends(root: Path | None = None) -> None:
    """Raise an error that lists all problems of all backends."""
    folder = root or paths.CONFIGS / "backend"
    pairs = zip(backends.names(root), backends.load_all(root), strict=True)
    schema.refuse("folder of backends", folder, [problem for pair in pairs for problem in _of_backend(*pair)])


def _of_backend(name: str, row: Backend) -> Iterator[str]:
    if row.name != name:
        yield f"{name}.name: must be the file's name, got {row.name!r}"
    if row.device_kind not in KINDS:
        yield f"{name}.device_kind: must be cpu or gpu, got {row.device_kind!r}"
    if not row.runnable and not row.reason:
        yield f"{name}.reason: a backend that is not runnable must say why"
    for precision in row.known.precisions.keys() | row.known.untrusted.keys():
        if precision not in PRECISIONS:
            yield f"{name}.known: unknown precision {precision!r}{nearest(precision, PRECISIONS)}"
    for precision in row.known.precisions.keys() & row.known.untrusted.keys():
        yield f"{name}.known: {precision} is both trusted and untrusted"
    if row.runnable and not row.stacks:
        yield f"{name}.stacks: at least one is needed"
    for number, entry in enumerate(row.serves):
        where = f"{name}.serves.{number}"
        checks: list[tuple[str, str, tuple[str, ...]]] = [
            ("os", entry.os, (*SYSTEMS, "any")), ("arch", entry.arch, ("x86_64", "arm64", "any")),
            ("device_kind", entry.device_kind, KINDS),
            *(("vendors", vendor, tuple(VENDORS)) for vendor in entry.vendors),
        ]  # fmt: skip
        for key, value, valid in checks:
            if value not in valid:
                yield f"{where}.{key}: must be one of {', '.join(valid)}, got {value!r}"
        if entry.device_kind == "gpu" and not entry.vendors:
            yield f"{where}.vendors: an entry that drives a GPU must name the vendor"


def checked(stack: Stack) -> Stack:
    """Return the stack; raise an error that lists all of its problems."""
    schema.refuse("stack", stack.folder / "stack.yaml", list(_of_stack(stack)))
    return stack


def _of_stack(row: Stack) -> Iterator[str]:
    yield from _one_of(row.framework, FRAMEWORKS, "framework")
    yield from _one_of(row.keras, KERASES, "keras")
    if not re.fullmatch(r"3\.\d{1,2}", row.python):
        yield f'python: expected a version like "3.8", received {row.python!r}'
    if row.keras == "none" and row.trains:
        yield "trains: training requires Keras"
    if row.size_mb <= 0:
        yield f"size_mb: must be positive, received {row.size_mb}"
    try:
        datetime.date.fromisoformat(row.exclude_newer)
    except ValueError:
        yield f'exclude_newer: expected a date like "2021-07-01", received {row.exclude_newer!r}'
    if not row.platforms:
        yield "platforms: at least one is needed"
    for name, platform in row.platforms.items():
        yield from _of_platform(name, platform)
    for number, each in enumerate(row.evidence):
        grades = (*stacks.GRADES, stacks.LINKED, stacks.LINKED_STALE)  # the last two are of linked.json
        yield from _one_of(each.grade, grades, f"evidence.{number}.grade")
        yield from _one_of(each.platform, tuple(row.platforms), f"evidence.{number}.platform")


def _of_platform(name: str, row: Platform) -> Iterator[str]:
    where = f"platforms.{name}"
    yield from _one_of(name, PLATFORMS, where)
    yield from (f"{where}.{key}: must not be empty" for key in ("requirements", "devices") if not getattr(row, key))
    yield from (f"{where}.requirements: {text}" for text in _bad_pairs(row.requirements))
    if name.startswith("macos") and not re.fullmatch(r"\d+\.\d+", row.minimum_os or ""):
        yield f'{where}.minimum_os: expected a macOS version like "12.0", received {row.minimum_os!r}'


def _bad_pairs(requirements: list[str]) -> Iterator[str]:
    """Yield packages that conflict with tensorflow-metal, and packages that must be pinned with it."""
    pinned = dict(text.split("==", 1) for text in requirements if "==" in text)
    names = {re.split(r"[=<>!~\[; ]", text)[0] for text in requirements}
    if "tensorflow-metal" not in names:
        return
    for name in sorted(names & METAL_BEFORE.keys() - pinned.keys()):
        yield f"{name} must be pinned together with tensorflow-metal"
    for name, first_bad in METAL_BEFORE.items():
        if version_numbers(pinned.get(name, "0"))[:2] >= first_bad:
            limit = f"it must be older than {'.'.join(map(str, first_bad))}"
            yield f"{name} {pinned[name]} does not work with tensorflow-metal; {limit}"


def _one_of(value: str, valid: tuple[str, ...], where: str) -> list[str]:
    if value in valid:
        return []
    return [f"{where}: {value!r} is not one of {', '.join(valid)}{nearest(value, list(valid))}"]


@dataclasses.dataclass
class Figure:
    """A row of ``recipes/reported.yaml``.

    Attributes:
        about: comparable models, or benchmarks without a model, such as ``matmul``.
    """

    what: str
    machine: str
    platform: str | None
    stack: str
    figure: float | None
    unit: str | None
    date: str
    source: str
    note: str = ""
    about: list[str] = dataclasses.field(default_factory=list)


def check_figures() -> None:
    """Raise an error that lists all problems of the published figures."""
    evidence.refuse_wrong_rows(evidence.published_file(), evidence.published(), _of_figure)


def _of_figure(row: Any) -> list[str]:
    violations = schema.violations(row, Figure)
    if not violations and row["figure"] is None and not row.get("note"):
        violations.append("a row without a figure needs a note that says what was reported")
    if not violations and row["figure"] is not None and not row["unit"]:
        violations.append("a figure needs a unit")
    return violations


def check() -> None:
    """Raise an error for the first kind of files with problems."""
    check_backends()
    check_figures()
    for stack in stacks.load_all():
        checked(stack)


def main(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    description = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=description).parse_args(argv)
    try:
        check()
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
