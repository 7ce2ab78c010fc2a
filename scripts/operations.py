"""Check which operations of the models the GPU has, in each stack with a GPU of a Mac.

    python scripts/operations.py                 check every such stack with a lock for macOS
    python scripts/operations.py torch-2.2       check those of these stacks

What each model calls in training and inference was recorded on Linux into `scripts/linking/operations`. It is held
against the wheel that the stack's lock pins, which is downloaded with its hash and not installed:

- PyTorch: the list of operations in the wheel. 64-bit floating-point numbers are missing on MPS.
- TensorFlow: the names in the library of tensorflow-metal. What it has no kernel for runs on the processor.
- JAX: the names that jax-mps's library looks up.
- MLX: the functions for the GPU in its library.
- PlaidML: the functions of its Keras backend that raise NotImplementedError.

A stack whose own operations were not recorded is held against those of a neighbor: an older version can call other
operations for the same layer. The exit status is 1 if an operation is missing.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import link_check
from scripts.linking import (
    jax_operations,
    mlx_operations,
    plaidml_operations,
    record,
    tensorflow_operations,
    torch_operations,
    wheels,
)  # fmt: skip
from scripts.linking.record import Calls
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import stacks

PLATFORMS = ("macos-arm64", "macos-x86_64")
DEVICES = {"mps", "metal", "mlx", "plaidml"}
# Stacks that do not run on Linux, or were not recorded -> the stack whose operations were.
NEIGHBORS = {"torch-2.2": "torch", "torch-2.1": "torch", "jax-mps": "jax", "tf-2.11": "tf-2.12"}
# Framework -> the package that has its operations for the GPU; of PyTorch, the whole lock is unpacked already.
PACKAGES = {"tensorflow": "tensorflow-metal", "jax": "jax-mps", "mlx": "mlx-metal", "plaidml": "plaidml-keras"}
# MPS has kernels, but not for these types; the record shows what was called with them.
WIDE = ("float64", "complex128")
LISTS = "aten::_foreach_"
# The record of a training whose PyTorch has no operations on lists of tensors for MPS.
ONE_BY_ONE = "mnist, one weight at a time"


@dataclass
class Verdict:
    """Where the operations of a model run; what is in no list runs on the GPU.

    Attributes:
        processor: computed on the processor, with a copy there and back.
        missing: they end the program.
        avoided: missing, and not called in this version, because the models do without.
        unknown: the library does not tell.
    """

    processor: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    avoided: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def cell(self, count: int) -> str:
        """Return the numbers as one cell of a table."""
        parts = {"processor": self.processor, "missing": self.missing, "avoided": self.avoided, "?": self.unknown}
        counts = [f"{len(names)} {text}" for text, names in parts.items() if names]
        return ", ".join([str(count - sum(map(len, parts.values()))), *counts])


Judge = Callable[[Calls], Verdict]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print stack x model: how many operations run where, and the names of those that do not run on the GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stacks", nargs="*", metavar="STACK")
    options = parser.parse_args(arguments)
    places = list(_places(options.stacks or stacks.names()))
    models = sorted({model for row, _ in places for model in recorded(row.name)})
    print("| stack | platform |", " | ".join(models), "|")
    print("|---|---|" + "---|" * len(models))
    notes: list[str] = []
    any_missing = False
    for row, platform in places:
        judge, calls = _judge(row, platform), recorded(row.name)
        verdicts = {model: judge(calls[model]) for model in models if model in calls}
        cells = [verdicts[model].cell(len(calls[model])) if model in calls else "" for model in models]
        print("|", " | ".join([row.name, platform, *cells]), "|", flush=True)
        any_missing |= any(verdict.missing for verdict in verdicts.values())
        notes += _notes(f"{row.name}, {platform}", list(verdicts.values()))
    print("\n".join(notes))
    return int(any_missing)


def _notes(place: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the names of the operations that do not run on the GPU, by reason."""
    for kind in ("processor", "missing", "unknown"):
        if names := sorted({name for verdict in verdicts for name in getattr(verdict, kind)}):
            yield f"{place}, {kind}: {', '.join(names)}"


def recorded(stack: str) -> dict[str, Calls]:
    """Return model -> operations on a stack, or on the one that stands in for it."""
    return record.read(NEIGHBORS.get(stack, stack))


def _places(names: Sequence[str]) -> Iterator[tuple[stacks.Stack, str]]:
    """Yield each lock of the stacks for a Mac whose GPU they use."""
    for row in map(stacks.load, names):
        for platform in PLATFORMS:
            usable = platform in row.platforms and row.keras != "none"
            if usable and DEVICES.intersection(row.platforms[platform].devices):
                yield row, platform


def _judge(row: stacks.Stack, platform: str) -> Judge:
    """Return what decides where an operation runs, by the wheel of a lock."""
    if row.framework == "torch":
        return _torch(row, platform)
    folder = _unpacked(row, platform)
    if row.framework == "tensorflow":
        names = tensorflow_operations.named(_file(folder, tensorflow_operations.LIBRARY))
        return lambda calls: Verdict(**dict(
            zip(("processor", "unknown"), tensorflow_operations.on_processor(calls, names), strict=True)
        ))  # fmt: skip
    if row.framework == "jax":
        handled = jax_operations.handled(_file(folder, jax_operations.LIBRARY))
        return lambda calls: Verdict(missing=jax_operations.missing(calls, handled))
    if row.framework == "mlx":
        functions, refused = mlx_operations.kernels(_file(folder, mlx_operations.LIBRARY))
        return lambda calls: Verdict(**dict(
            zip(("missing", "unknown"), mlx_operations.sort_out(calls, functions, refused), strict=True)
        ))  # fmt: skip
    always, _ = plaidml_operations.missing(folder / plaidml_operations.BACKEND)
    return lambda calls: Verdict(missing=[name for name in calls if name in always])


def _unpacked(row: stacks.Stack, platform: str) -> Path:
    """Unpack the package with the operations of a stack's GPU."""
    text = wheels.only(stacks.lock_file(row, platform).read_text(encoding="utf-8"), PACKAGES[row.framework])
    folder = paths.cache_dir() / "link_check" / "plugins" / f"{row.name}-{platform}"
    folder.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f"{folder.name}.lock"
    part.write_text(text, encoding="utf-8")
    variables = {"MACOSX_DEPLOYMENT_TARGET": row.platforms[platform].minimum_os or "14.0"}
    wheels.unpack(part, wheels.TRIPLES[platform], row.python, variables, folder, folder.parent / "sources")
    return folder


def _file(folder: Path, name: str) -> Path:
    path = next(folder.rglob(name), None)
    if path is None:
        raise ZooError(f"{folder} has no {name}", "Delete the folder and repeat.")
    return path


def _torch(row: stacks.Stack, platform: str) -> Judge:
    oldest, cache = row.platforms[platform].minimum_os or "14.0", paths.cache_dir() / "link_check"
    folder, _ = link_check.unpacked(stacks.lock_file(row, platform), row, platform, oldest, cache)
    operations = torch_operations.installed(folder)

    def judge(calls: Calls) -> Verdict:
        verdict = Verdict()
        for name, types in calls.items():
            grade = "missing" if set(types).intersection(WIDE) else operations.grade(name)
            if grade == "fallback":
                verdict.processor.append(name)
            elif grade == "missing":
                # Without operations on lists, the models' optimizers update one weight after another: ONE_BY_ONE.
                (verdict.avoided if name.startswith(LISTS) else verdict.missing).append(name)
        return verdict

    return judge


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
        sys.exit(code)
    except ZooError as error:
        sys.exit(str(error))
    except BrokenPipeError:  # the reader, such as `head`, has enough; Python would print an error at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
