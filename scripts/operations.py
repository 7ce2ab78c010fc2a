"""Check which operations of the models Apple's GPU has, in each PyTorch and TensorFlow stack for Macs.

    python scripts/operations.py                 check every such stack with a lock for macOS
    python scripts/operations.py torch-2.2       check those of these stacks

What each model calls in training and inference, with the types of its tensors, was recorded on the stand-in of
`tests/stacks/test_strict_mps.py` into `scripts/linking/operations.json`. It is held against the list of operations
in the wheel that the stack's lock pins, which is downloaded with its hash and not installed. The exit status is 1 if
an operation is missing.

Recorded with the PyTorch of the Linux stack: an older PyTorch can take other operations for the same layer.

TensorFlow computes on the processor what its plug-in has no kernel for, so nothing is missing there. Operations were
recorded by `tests/stacks/test_tensorflow_operations.py`, and are held against the names in the plug-in's library.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import link_check
from scripts.linking import tensorflow_operations, torch_operations, wheels
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write
from zoo.environments import stacks

CALLS = Path(__file__).resolve().parent / "linking" / "operations.json"
# Set in the environment, it makes the recording test write what is new.
UPDATE = "ZOO_UPDATE_OPERATIONS"
PLATFORMS = ("macos-arm64", "macos-x86_64")
# Stacks of TensorFlow -> the stack whose operations were recorded.
TENSORFLOW = {"tf-2.19": "tf-2.19", "tf-2.12": "tf-2.12", "tf-2.11": "tf-2.12", "tf-2.5": "tf-2.5"}
# MPS has kernels, but not for these types; the record shows what was called with them.
WIDE = ("float64", "complex128")
LISTS = "aten::_foreach_"
# The record of a training whose PyTorch has no operations on lists of tensors for MPS.
ONE_BY_ONE = "mnist, one weight at a time"
HEADING = """| stack | platform | model | on the GPU | composed | on lists, avoided | on the processor | missing |
|---|---|---|---|---|---|---|---|"""
TENSORFLOW_HEADING = """| stack | platform | model | operations | on the processor | not known |
|---|---|---|---|---|---|"""


def parse(text: str) -> dict[str, list[str]]:
    """Return operation -> types of its tensors, from the lines that the stand-in wrote."""
    calls: dict[str, set[str]] = {}
    for line in text.splitlines():
        name, *types = line.split()
        calls.setdefault(name, set()).update(types)
    return {name: sorted(types) for name, types in sorted(calls.items())}


def recorded() -> dict[str, dict[str, list[str]]]:
    """Return model -> operation -> types of its tensors."""
    content: dict[str, dict[str, list[str]]] = json.loads(CALLS.read_text(encoding="utf-8"))
    return content


def listed(model: str) -> dict[str, list[str]]:
    return recorded().get(model, {})


def update(model: str, seen: dict[str, list[str]]) -> None:
    """Replace the record of one model."""
    content = recorded() | {model: seen}
    rows = (
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(call)}: {json.dumps(types)}" for call, types in calls.items())
        + "\n }"
        for name, calls in sorted(content.items())
    )
    atomic_write(CALLS, "{\n" + ",\n".join(rows) + "\n}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print model x stack: where its operations run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stacks", nargs="*", metavar="STACK")
    options = parser.parse_args(arguments)
    torch = [row.name for row in stacks.load_all() if row.framework == "torch" and row.keras != "none"]
    names = options.stacks or [*torch, *TENSORFLOW]
    missing = False
    if tables := [name for name in names if name in torch]:
        print(HEADING)
    for row, platform in _places(tables):
        missing |= _check(row, platform)
    if tables := [name for name in names if name in TENSORFLOW]:
        print(TENSORFLOW_HEADING)
    for row, platform in _places(tables):
        _check_plugin(row, platform)
    return int(missing)


def _places(names: Sequence[str]) -> Iterator[tuple[stacks.Stack, str]]:
    """Yield each lock of the stacks for a Mac whose GPU they use."""
    for row in map(stacks.load, names):
        for platform in PLATFORMS:
            if platform in row.platforms and {"mps", "metal"}.intersection(row.platforms[platform].devices):
                yield row, platform


def _check_plugin(row: stacks.Stack, platform: str) -> None:
    """Print the rows of one lock with tensorflow-metal."""
    text = wheels.only(stacks.lock_file(row, platform).read_text(encoding="utf-8"), "tensorflow-metal")
    folder = paths.cache_dir() / "link_check" / "plugins" / f"{row.name}-{platform}"
    folder.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f"{folder.name}.lock"
    part.write_text(text, encoding="utf-8")
    variables = {"MACOSX_DEPLOYMENT_TARGET": row.platforms[platform].minimum_os or "14.0"}
    wheels.unpack(part, wheels.TRIPLES[platform], row.python, variables, folder, folder.parent / "sources")
    names = tensorflow_operations.named(next(folder.rglob(tensorflow_operations.LIBRARY)))
    for model, calls in tensorflow_operations.recorded()[TENSORFLOW[row.name]].items():
        lacking, unknown = tensorflow_operations.on_processor(calls, names)
        named = [", ".join(dict.fromkeys(text.partition(" ")[0] for text in texts)) for texts in (lacking, unknown)]
        cells = [row.name, platform, model, len(calls), *named]
        print("|", " | ".join(map(str, cells)), "|")


def _check(row: stacks.Stack, platform: str) -> bool:
    """Print the rows of one lock; return whether an operation is missing."""
    oldest, cache = row.platforms[platform].minimum_os or "14.0", paths.cache_dir() / "link_check"
    folder, _ = link_check.unpacked(stacks.lock_file(row, platform), row, platform, oldest, cache)
    operations = torch_operations.installed(folder)
    any_missing = False
    for model, calls in recorded().items():
        names: dict[str, list[str]] = {"gpu": [], "composed": [], "fallback": [], "missing": []}
        for name, types in calls.items():
            names["missing" if set(types).intersection(WIDE) else operations.grade(name)].append(name)
        # Where there are no operations on lists, the models' optimizers update one weight after another: ONE_BY_ONE.
        bad = [name for name in names["missing"] if not name.startswith(LISTS)]
        any_missing |= bool(bad)
        cells = [
            row.name,
            platform,
            model,
            len(names["gpu"]),
            len(names["composed"]),
            len(names["missing"]) - len(bad),
        ]
        print("|", " | ".join(map(str, [*cells, ", ".join(names["fallback"]), ", ".join(bad)])), "|")
    return any_missing


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ZooError as error:
        sys.exit(str(error))
