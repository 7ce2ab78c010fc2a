"""How threads of OpenMP wait: PyTorch with several settings, in turns, alone and beside other work.

python scripts/benchmarks/waiting.py [--stack torch] [--rounds 8] [--steps 12] [--output FILE]

One process a setting stays alive; all take turns in an order that changes every round, so that each ratio is of
measurements from the same few seconds. Beside: one busy Python process for each processor; a second PyTorch process
with the same setting. Reported are medians of the time as a multiple of that without any setting, with quartiles.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

# name -> variables (a number: threads of PyTorch)
SETTINGS: dict[str, dict[str, str] | int] = {
    "default": {},
    "GOMP_SPINCOUNT=100000": {"GOMP_SPINCOUNT": "100000"},
    "GOMP_SPINCOUNT=30000": {"GOMP_SPINCOUNT": "30000"},
    "GOMP_SPINCOUNT=10000": {"GOMP_SPINCOUNT": "10000"},
    "GOMP_SPINCOUNT=3000": {"GOMP_SPINCOUNT": "3000"},
    "GOMP_SPINCOUNT=1000": {"GOMP_SPINCOUNT": "1000"},
    "OMP_WAIT_POLICY=passive": {"OMP_WAIT_POLICY": "passive"},
    "one thread": 1,
}
CONDITIONS = ("alone", "one busy process", "a busy process a processor", "a second PyTorch")
SPIN = "while True: pass"


def main() -> int:
    """Measure and print."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("--stack", default="torch")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--conditions", nargs="*", default=CONDITIONS)
    parser.add_argument("--output", type=Path, help="JSON file for all seconds")
    options = parser.parse_args()
    pairs = {name: [start(options.stack, setting) for _ in range(2)] for name, setting in SETTINGS.items()}
    for workers in pairs.values():
        ask(workers[:1], 3)
    measured = {}
    for condition in options.conditions:
        measured[condition] = rounds(pairs, condition, options)
        show(condition, measured[condition])
    if options.output:
        options.output.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    return 0


def start(stack: str, setting: dict[str, str] | int) -> common.WorkerProcess:
    """Start a worker with a setting and nothing else of its kind."""
    threads, variables = (setting, {}) if isinstance(setting, int) else (0, setting)
    unset: dict[str, str | None] = dict.fromkeys(("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS"))
    return common.WorkerProcess(stack, "waiting.py", threads, variables={**unset, **variables})


def rounds(
    pairs: dict[str, list[common.WorkerProcess]], condition: str, options: argparse.Namespace
) -> dict[str, list[float]]:
    """Return the seconds of each setting in every round."""
    seconds: dict[str, list[float]] = {name: [] for name in pairs}
    busy = {"one busy process": 1, "a busy process a processor": os.cpu_count() or 1}.get(condition, 0)
    with beside(busy):
        for number in range(options.rounds):
            for name in random.Random(number).sample(list(pairs), len(pairs)):  # noqa: S311
                workers = pairs[name] if condition == "a second PyTorch" else pairs[name][:1]
                seconds[name].append(max(ask(workers, options.steps)))
            print(f"{condition}: round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    return seconds


@contextlib.contextmanager
def beside(count: int) -> Iterator[None]:
    """Keep processors busy while inside."""
    processes = [subprocess.Popen([sys.executable, "-I", "-S", "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ask(workers: list[common.WorkerProcess], steps: int) -> list[float]:
    """Let workers compute at the same time."""
    with ThreadPoolExecutor(len(workers)) as pool:
        return [answer["seconds"] for answer in pool.map(lambda worker: worker.ask(steps=steps), workers)]


def show(condition: str, seconds: dict[str, list[float]]) -> None:
    """Print a table of one condition."""
    print(f"{condition}: default {statistics.median(seconds['default']):.2f} s", flush=True)
    for name, values in seconds.items():
        ratios = [value / base for value, base in zip(values, seconds["default"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        print(f"  {name:<26}{middle:5.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    sys.exit(main())
