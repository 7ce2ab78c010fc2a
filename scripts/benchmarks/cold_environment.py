"""Time to build the environment of a stack: the zoo against venv and pip, with the same lock.

python scripts/benchmarks/cold_environment.py [--stack tf-2.21] [--rounds 2] [--output FILE]

Both take turns, and neither downloads: an untimed round fills the caches of uv and pip. The zoo's time is that of
`python -m zoo env create`, including the check that the stack computes and byte compilation; pip's is that of
creating a virtual environment and of `pip install --require-hashes`, which compiles as well.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common


def main() -> int:
    """Measure and print."""
    parser = common.parser(__doc__)
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    from zoo.environments import machine, stacks, store

    stack, platform = stacks.load(options.stack), machine.probe().platform
    python, lock = store.ensure(stack, platform).python, stacks.lock_file(stack, platform)
    ratios = []
    for number in range(options.rounds + 1):
        zoo_s, pip_s = zoo(options.stack), pip(python, lock)
        print(f"{'round ' + str(number) if number else 'untimed round'}: zoo {zoo_s:.1f} s, pip {pip_s:.1f} s "
              f"({pip_s / zoo_s:.2f} times as long)", flush=True)  # fmt: skip
        ratios.append(pip_s / zoo_s)
    row = ("building an environment", options.stack, "venv and pip", ratios[1:])
    common.write_ratios(options.output, [row])
    return 0


def zoo(stack: str) -> float:
    """Return the seconds of building it in an empty cache of the zoo; uv's cache stays."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "zoo", "env", "create", stack]
        began = time.monotonic()
        subprocess.run(
            command, cwd=common.ROOT, env={**os.environ, "ZOO_CACHE": cache}, capture_output=True, check=True
        )
        return time.monotonic() - began


def pip(python: Path, lock: Path) -> float:
    """Return the seconds of venv and pip."""
    folder = Path(tempfile.mkdtemp())
    try:
        began = time.monotonic()
        subprocess.run([str(python), "-m", "venv", str(folder / "venv")], capture_output=True, check=True)
        install = ["-m", "pip", "install", "--no-deps", "--require-hashes", "--quiet", "-r", str(lock)]
        subprocess.run([str(folder / "venv" / "bin" / "python"), *install], check=True)
        return time.monotonic() - began
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
