"""Building the environment of a stack from nothing: the zoo against venv and pip, with the same lock.

python scripts/benchmarks/cold_environment.py [--stack tf-2.21] [--rounds 2] [--output FILE]

Both take turns, and neither downloads: a round before the clock fills uv's and pip's caches. The zoo's time is that
of `python -m zoo env create`, the check that the stack computes and the compiling included, pip's that of
making a virtual environment and of `pip install --require-hashes`, which compiles as well.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ratios

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, help="a JSON file for ratios.py")
    told = parser.parse_args()
    from zoo.environments import machine, stacks, store

    stack, platform = stacks.load(told.stack), machine.probe().platform
    python, lock = store.ensure(stack, platform).python, stacks.lock_file(stack, platform)
    times = []
    for number in range(told.rounds + 1):
        zoo_s, pip_s = zoo(told.stack), pip(python, lock)
        print(f"{'round ' + str(number) if number else 'before the clock'}: zoo {zoo_s:.1f} s, pip {pip_s:.1f} s "
              f"({pip_s / zoo_s:.2f} times as long)", flush=True)  # fmt: skip
        times.append(pip_s / zoo_s)
    if told.output:
        ratios.write(told.output, [ratios.row("building an environment", told.stack, "venv and pip", times[1:])])
    return 0


def zoo(stack: str) -> float:
    """Seconds of building it in a cache of its own; what uv keeps is where it always is."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "zoo", "env", "create", stack]
        began = time.monotonic()
        subprocess.run(command, cwd=ROOT, env={**os.environ, "ZOO_CACHE": cache}, capture_output=True, check=True)
        return time.monotonic() - began


def pip(python: Path, lock: Path) -> float:
    """Seconds of the same by hand."""
    folder = Path(tempfile.mkdtemp())
    try:
        began = time.monotonic()
        subprocess.run([str(python), "-m", "venv", str(folder / "made")], capture_output=True, check=True)
        install = ["-m", "pip", "install", "--no-deps", "--require-hashes", "--quiet", "-r", str(lock)]
        subprocess.run([str(folder / "made" / "bin" / "python"), *install], check=True)
        return time.monotonic() - began
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
