"""Real trainings on real stacks: in this process or in one of their own, and each different one only once."""

import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.support import real_stacks
from tests.support.once import once
from zoo.cli.main import main

# The backends that need the fewest promises; of every other stack it is "cpu".
BACKENDS = {"plaidml-0.7": "plaidml"}
SMALL = ["model=mnist_dense", "data=digits", "backend.probes=false", "trainer.checkpoint_minutes=0.005"]


def ready(stack: str) -> list[str]:
    """Overrides that choose a stack; skips where it cannot be built here."""
    real_stacks.environment(stack)
    return [f"backend={BACKENDS.get(stack, 'cpu')}", f"stack={stack}"]


def record(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return content


def history(folder: Path) -> list[dict[str, str]]:
    with (folder / "history.csv").open(newline="") as source:
        return list(csv.DictReader(source))


def train(root: Path, *overrides: str) -> Path:
    """Run folder of a training; all processes of a test run share the same one."""
    return _once(root, "train", overrides)


def infer(root: Path, *overrides: str) -> Path:
    """Run folder of an inference, shared alike."""
    return _once(root, "infer", overrides)


def short(root: Path, stack: str) -> Path:
    """A short training of the convolutional network on one stack."""
    return train(root, *ready(stack), "model=mnist", "data=digits", "trainer.epochs=4")


def _once(root: Path, verb: str, overrides: tuple[str, ...]) -> Path:
    def run(folder: Path) -> None:
        assert main([verb, *overrides, f"output.root={root}", f"output.name={folder.name}"]) == 0

    return once(root / f"{verb}-{hashlib.sha256(repr(overrides).encode()).hexdigest()[:12]}", run)


class Training:
    """A real training in a process of its own, on the stack that starts fastest unless another is named."""

    def __init__(
        self, folder: Path, *overrides: str, stack: str = "tf-1.8", before: tuple[str, ...] = (), **options: Any
    ) -> None:
        words = ["train", *ready(stack), *SMALL, *overrides]
        words += [f"output.root={folder.parent}", f"output.name={folder.name}"]
        self.folder = folder
        self.host = subprocess.Popen(
            [*before, sys.executable, "-m", "zoo", *words],
            **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, **options},
        )

    def until(self, begin: str) -> str:
        """Read what it says, to the line that begins so."""
        assert self.host.stderr is not None
        for line in self.host.stderr:
            if line.startswith(begin):
                return str(line)
        raise AssertionError(f"it never said {begin!r}")

    @property
    def worker(self) -> psutil.Process:
        (worker,) = psutil.Process(self.host.pid).children()
        return worker

    def end(self) -> tuple[int, str]:
        """Its exit status and what it said since."""
        _, said = self.host.communicate(timeout=120)
        return self.host.returncode, said

    @property
    def record(self) -> dict[str, Any]:
        return record(self.folder)

    @property
    def epochs(self) -> list[int]:
        return [int(row["epoch"]) for row in history(self.folder)]
