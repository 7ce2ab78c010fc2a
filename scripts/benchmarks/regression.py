"""Has a recipe become slower? Its step, measured in matrix products of the same run, against what was recorded.

python scripts/benchmarks/regression.py [--model mnist_dense] [--stack tf-2.21] [--record | --repeat 10]
    [KEY=VALUE ...]

Not seconds are compared, which differ from machine to machine and from minute to minute, but ratios: what a step of
the recipe takes, in the products of two matrices by numpy that were computed between the steps, one thread each. The
median of a process's ratios, the least of three processes, is held against the one recorded for this machine and
stack in recipes/MODEL/cpu.step.json; one that is more than the tolerance above it is a regression (exit status 1).
Ratios of another machine are no measure: they are only shown (exit status 2), and so is one above it while others
work on the machine. ``--record`` writes down what is measured, ``--repeat`` tells how often an unchanged recipe would
be taken for slower.
"""

import argparse
import dataclasses
import datetime
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from zoo.config import compose
from zoo.config.schemas.image_classification import TrainConfig
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import machine, stacks, store
from zoo.runs import records
from zoo.tasks.benchmarks import networks

WORKER = Path(__file__).with_name("workers") / "regression.py"
TOLERANCE = 0.10
SECONDS = 8.0
PROCESSES = 3
# A product that takes so many times its processor time on the clock: others work on the machine.
TOO_BUSY = 1.5
ONE_THREAD = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Measured:
    """What a recipe's step takes, in products: the median, the quartiles, and of how many groups of steps.

    ``busy`` is how many times its processor time a product took: much above 1 others work on the machine.
    """

    ratio: float
    q1: float
    q3: float
    count: int
    busy: float = 1.0


def measure(model: str, stack: str, settings: list[str], worker: Path = WORKER, seconds: float = SECONDS) -> Measured:
    """Train a recipe for so long in the stack's own interpreter.

    Args:
        model: a classifier of pictures.
        stack: where.
        settings: ``key=value``, laid over the recipe.
        worker: what runs there.
        seconds: of training, compiling included.

    Raises:
        ZooError: there is no such recipe or stack, or it did not train.
    """
    composed = compose.compose("train", [f"model={model}", "backend=cpu", "data=mnist", *settings])
    if not isinstance(composed, TrainConfig):
        raise ZooError(f"{model} is no classifier of pictures", "Name one: --model mnist_dense")
    network, row = networks.network(model)["model"], stacks.load(stack)
    edge = network["args"].get("input_size")
    shape = [edge, edge, 3] if edge else network["args"]["input_shape"]
    trainer = dataclasses.asdict(composed.trainer) | {"seed": composed.seed, "epochs": 1}
    request = {
        "zoo": str(ROOT / "zoo"), "framework": row.framework, "model": network, "train": trainer, "shape": shape,
        "classes": network["args"].get("classes", 1000), "seconds": seconds,
    }  # fmt: skip
    ready = store.ensure(row, machine.probe().platform)
    command = [str(ready.python), "-I", "-B", str(worker), json.dumps(request)]
    variables = store.child_environment(row) | {"ZOO_KERAS": row.keras} | ONE_THREAD
    answer = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ZooError(f"{model} did not train on {stack}: {answer.stderr.strip()[-800:]}", "Train it by the zoo.")
    told = json.loads(answer.stdout.splitlines()[-1])
    low, middle, high = statistics.quantiles(told["wall"], n=4)
    return Measured(round(middle, 3), round(low, 3), round(high, 3), len(told["wall"]), round(told["busy"], 3))


def best(
    model: str,
    stack: str,
    settings: list[str],
    worker: Path = WORKER,
    seconds: float = SECONDS,
    times: int = PROCESSES,
) -> Measured:
    """The least of several processes: one is slower than another by some percent, whatever it computes.

    Raises:
        ZooError: as :func:`measure`.
    """
    return min((measure(model, stack, settings, worker, seconds) for _ in range(times)), key=lambda each: each.ratio)


def file(model: str) -> Path:
    """Where the recorded ratios of a recipe lie."""
    return paths.RECIPES / model / "cpu.step.json"


def recorded(model: str, stack: str, settings: list[str]) -> list[dict[str, Any]]:
    """The rows of that recipe, stack and settings, of all machines."""
    rows = json.loads(file(model).read_text(encoding="utf-8")) if file(model).is_file() else []
    return [row for row in rows if row["stack"] == stack and row["changed"] == settings]


def here() -> str:
    """This machine, as it stands in the rows."""
    return machine.describe(machine.probe())


def verdict(found: Measured, rows: list[dict[str, Any]], where: str, tolerance: float) -> tuple[int, str]:
    """Exit status and words: 0 as recorded, 1 slower, 2 nothing to compare with."""
    own = [row for row in rows if row["machine"] == where]
    told = f"a step takes {found.ratio:.2f} products ({found.q1:.2f} to {found.q3:.2f})"
    if not own:
        others = "; ".join(f"{row['ratio']:.2f} on {row['machine']}" for row in rows) or "nothing"
        return 2, f"{told}; not compared: recorded is {others}. --record writes it down for this machine."
    times = found.ratio / own[-1]["ratio"]
    against = f"{told}, recorded {own[-1]['ratio']:.2f}: {times:.2f} times"
    if times > 1 + tolerance and found.busy > TOO_BUSY:
        others = f"others work on this machine (a product took {found.busy:.1f} times its time)"
        return 2, f"cannot tell: {against}, but {others}"
    if times > 1 + tolerance:
        return 1, f"SLOWER: {against}, tolerated up to {1 + tolerance:.2f}"
    return 0, f"as recorded: {against}"


def record(model: str, stack: str, settings: list[str], found: Measured) -> Path:
    """Write a ratio down, in place of the one that this machine has there."""
    path, where = file(model), here()
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    key = (where, stack, settings)
    rows = [row for row in rows if (row["machine"], row["stack"], row["changed"]) != key]
    lock = store.ensure(stacks.load(stack), machine.probe().platform).lock_sha256
    row = {"machine": where, "stack": stack, "changed": settings, "lock_sha256": lock, **dataclasses.asdict(found)}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows.append(row | {"unit": "numpy products of 256 x 256, one thread", "date": today,
                       "commit": records.git_commit()})  # fmt: skip
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    os.replace(aside, path)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Measure, and compare or record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mnist_dense")
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    told = parser.parse_args(arguments)
    worst = 0
    for _ in range(told.repeat):
        try:
            found = best(told.model, told.stack, told.settings, seconds=told.seconds)
        except ZooError as error:
            print(f"error: {error.message}\n{error.remedy}", file=sys.stderr)
            return 1
        if told.record:
            path = record(told.model, told.stack, told.settings, found)
            print(f"{found.ratio:.2f} products a step, written to {path}")
            continue
        code, words = verdict(found, recorded(told.model, told.stack, told.settings), here(), told.tolerance)
        print(f"{told.model} on {told.stack}: {words}", flush=True)
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
