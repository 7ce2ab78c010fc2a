"""Helpers of the benchmarks: command lines, processes in a stack's interpreter, trainings by the command line."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scripts.benchmarks import ratios

ROOT = Path(__file__).resolve().parent.parent.parent
WORKERS = Path(__file__).with_name("workers")
# The command line in a process that then reports its own peak memory.
WITH_PEAK = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from zoo.cli.main import main
code = main(sys.argv[2:])
print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
sys.exit(code)
"""


def parser(description: str | None, output: bool = True) -> argparse.ArgumentParser:
    """Create a command line whose help is the docstring of the script.

    Args:
        description: the docstring.
        output: add the option ``--output`` for :func:`write_ratios`.
    """
    created = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if output:
        created.add_argument("--output", type=Path, help="JSON file for ratios.py")
    return created


def write_ratios(path: Path | None, rows: list[tuple[Any, ...]]) -> None:
    """Write rows for ratios.py, each the arguments of :func:`ratios.row`, if there is a path."""
    if path:
        ratios.write(path, [ratios.row(*row) for row in rows])


def stack_command(stack: str, worker: str | Path, *arguments: object) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment variables that run a worker script in a stack's interpreter.

    Args:
        stack: name of the stack, built if it is not there yet.
        worker: a script in the folder ``workers``, or its path.
        arguments: of the script.
    """
    from zoo.environments import machine, stacks, store

    row = stacks.load(stack)
    python = store.ensure(row, machine.probe().platform).python
    command = [str(python), "-I", "-B", str(WORKERS / worker), *map(str, arguments)]
    return command, store.child_environment(row) | {"ZOO_KERAS": row.keras}


def run_in_stack(stack: str, worker: str, *arguments: object) -> dict[str, Any]:
    """Run a worker script and return its last line of output, which is JSON.

    Raises:
        subprocess.CalledProcessError: the script failed.
    """
    command, variables = stack_command(stack, worker, *arguments)
    process = subprocess.run(command, stdout=subprocess.PIPE, env=variables, check=True)
    answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answer


class WorkerProcess:
    """A worker script that answers each line of JSON with a line of JSON.

    ``variables`` come on top of those of the stack; None takes one away.
    """

    def __init__(
        self, stack: str, worker: str, *arguments: object, variables: dict[str, str | None] | None = None
    ) -> None:
        command, own = stack_command(stack, worker, *arguments)
        every = {**own, **(variables or {})}
        environment = {name: value for name, value in every.items() if value is not None}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the worker lives)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, env=environment, text=True)

    def ask(self, **question: Any) -> dict[str, Any]:
        """Send a question and wait for the answer.

        Raises:
            RuntimeError: the worker ended; the message is the end of its log.
        """
        assert self._process.stdin is not None  # noqa: S101  (a pipe, see above)
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise RuntimeError(self._log.read().decode("utf-8", "replace")[-2000:])
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Close the worker's input and wait until it ends."""
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.close()
        self._process.wait()


def in_turns(processes: dict[str, WorkerProcess], rounds: int, steps: int) -> dict[str, list[float]]:
    """Let workers of training_step.py take turns of several steps each; end them.

    Threads of OpenMP spin for milliseconds after the last step of a turn: the first step of the next is disturbed.

    Returns:
        Seconds of the least step of each round, for each worker.
    """
    for process in processes.values():
        process.ask(steps=2)  # compiles, and gets its memory
    least: dict[str, list[float]] = {name: [] for name in processes}
    for _ in range(rounds):
        for name, process in processes.items():
            least[name].append(min(process.ask(steps=steps)["seconds"]))
    for process in processes.values():
        process.close()
    return least


def times_as_fast(ours: list[float], theirs: list[float]) -> tuple[list[float], str]:
    """Return how many times as fast ours is in each round, and that in words: median and extremes."""
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    return ratios, f"{statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})"


def zoo(verb: str, settings: list[str]) -> dict[str, Any]:
    """Run a command of the zoo and return the record of its run.

    Raises:
        subprocess.CalledProcessError: it failed, and has said why.
    """
    command = [sys.executable, "-m", "zoo", verb, *settings, "--json"]
    process = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    record: dict[str, Any] = json.loads(process.stdout)
    return record


def train(settings: list[str]) -> tuple[dict[str, Any], float]:
    """Train by the command line; return the run's record and the wall time of the process in seconds.

    Raises:
        subprocess.CalledProcessError: the training failed, and has said why.
    """
    began = time.monotonic()
    return zoo("train", settings), time.monotonic() - began


def training_s(record: dict[str, Any]) -> float:
    """Return the seconds of training and compiling in a run's record."""
    return float(record["phases"]["train_s"] + record["phases"]["compile_s"])


def run_with_peak(arguments: list[str], folder: Path) -> tuple[dict[str, Any], int]:
    """Run the command line in a process of its own; return the run's record and the process's peak memory in bytes.

    Args:
        arguments: command and settings.
        folder: run folder, which must not exist yet.
    """
    where = [f"output.root={folder.parent}", f"output.name={folder.name}"]
    command = [sys.executable, "-c", WITH_PEAK, str(ROOT), *arguments, *where]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(process.stderr[-2000:])
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return record, int(process.stdout.rpartition("PEAK")[2])
