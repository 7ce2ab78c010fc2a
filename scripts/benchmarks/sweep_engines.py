"""A sweep of eight trainings one after the other, two at a time, by Slurm and by Ray: seconds, and equal weights?

python scripts/benchmarks/sweep_engines.py [--stack tf-1.8] [--epochs 5]

Each engine is started on this machine for its sweep: Slurm with one node of two cores (Debian's packages slurmctld,
slurmd and munge, as root), and a Ray cluster of two nodes of one core. What is not installed is left out. The seconds
are those of the command alone: engines run, environments are built.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import pytest

from scripts.benchmarks import common
from tests.support import engines

SEEDS = range(1, 9)


@contextlib.contextmanager
def started(engine: str, folder: Path) -> Iterator[tuple[str, list[str], dict[str, str] | None]]:
    """Start an engine; yield the interpreter and the settings to use it with, and the variables."""
    if engine == "slurm":
        with engines.slurm(folder) as variables:
            yield sys.executable, ["launcher=slurm", "launcher.jobs=2"], variables
    elif engine == "ray":
        with engines.ray(folder) as (python, address, variables):
            yield str(python), ["launcher=ray", "launcher.jobs=2", f"launcher.address={address}"], variables
    else:
        yield sys.executable, [f"launcher.jobs={2 if engine == 'two at a time' else 1}"], None


def main() -> int:
    """Run the sweeps, and print seconds and which weights are those of the first."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("--stack", default="tf-1.8")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    sweep = [f"seed={','.join(map(str, SEEDS))}", "model=mnist_dense", "data=digits", f"stack={options.stack}"]
    sweep += ["backend=cpu", "backend.probes=false", f"trainer.epochs={options.epochs}"]
    expected: list[bytes] = []
    for engine in ("one after the other", "two at a time", "slurm", "ray"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            try:
                with started(engine, folder) as (python, words, variables):
                    began = time.monotonic()
                    command = [python, "-m", "zoo", "train", "-m", *sweep, *words]
                    command += [f"output.root={folder / 'runs'}", "output.name=sweep"]
                    subprocess.run(command, cwd=common.ROOT, env=variables, check=True, capture_output=True)
                    spent = time.monotonic() - began
            except pytest.skip.Exception as reason:
                print(f"{engine}: left out, {reason}", flush=True)
                continue
            runs = folder / "runs" / "sweep"
            weights = [(runs / f"{number:03}" / "weights.npz").read_bytes() for number in SEEDS]
        expected = expected or weights
        equal = sum(one == other for one, other in zip(weights, expected, strict=True))
        print(f"{engine}: {spent:.0f} s; {equal} of {len(SEEDS)} have the weights of the first sweep", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
