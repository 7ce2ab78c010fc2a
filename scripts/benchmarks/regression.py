"""Detect slower recipes: the time of a step, in matrix products of the same run, against a recorded value.

python scripts/benchmarks/regression.py [--model mnist_dense] [--stack tf-2.21] [--record | --repeat 10]
    [KEY=VALUE ...]

Seconds differ from machine to machine and from minute to minute; ratios are compared instead: the time of a step over
the time of a NumPy matrix product computed between the steps, one thread each. The median of a process's ratios, the
smallest of three processes, is compared with the one recorded for this machine and stack in
recipes/MODEL/cpu.step.json. A ratio above it by more than the tolerance is a regression (exit status 1). Ratios of
other machines are shown without comparison (exit status 2), and so is a ratio above it while the machine is busy.
``--record`` stores the measurement; ``--repeat`` shows how often an unchanged recipe would be called slower.
"""

import dataclasses
import datetime
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common
from zoo.config.overrides import Overrides
from zoo.config.schemas.image_classification import TrainConfig
from zoo.core import files, paths
from zoo.core.errors import ZooError
from zoo.environments import machine, stacks, store
from zoo.runs import records
from zoo.tasks import registry
from zoo.tasks.benchmarks import networks

WORKER = common.WORKERS / "regression.py"
TOLERANCE = 0.10
SECONDS = 8.0
PROCESSES = 3
# Above this ratio of wall time to processor time of a product, the machine is busy with other work.
TOO_BUSY = 1.5
ONE_THREAD = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Measured:
    """The time of a recipe's step in products.

    Attributes:
        ratio: median over groups of steps.
        q1, q3: quartiles.
        count: number of groups.
        busy: wall time over processor time of a product; much above 1, the machine is busy with other work.
    """

    ratio: float
    q1: float
    q3: float
    count: int
    busy: float = 1.0


def measure(model: str, stack: str, settings: list[str], worker: Path = WORKER, seconds: float = SECONDS) -> Measured:
    """Train a recipe for some seconds in the stack's interpreter.

    Args:
        model: an image classifier.
        stack: name of the stack.
        settings: ``key=value``, overriding the recipe.
        worker: script that trains.
        seconds: time of training, compilation included.
    """
    composed = registry.compose_settings(
        "train", Overrides.parse([f"model={model}", "backend=cpu", "data=mnist", *settings])
    )
    if not isinstance(composed, TrainConfig):
        raise ZooError(f"{model} is no image classifier", "Name one: --model mnist_dense")
    network = networks.network(model, common.ROOT).model
    size = network.args.get("input_size")
    shape = [size, size, 3] if size else network.args["input_shape"]
    trainer = dataclasses.asdict(composed.trainer) | {"seed": composed.seed, "epochs": 1}
    request = {
        "zoo": str(common.ROOT / "zoo"), "framework": stacks.load(stack).framework, "model": network.to_json(),
        "train": trainer, "shape": shape,
        "classes": network.args.get("classes", 1000), "seconds": seconds,
    }  # fmt: skip
    command, variables = common.stack_command(stack, worker, json.dumps(request))
    answer = subprocess.run(command, env=variables | ONE_THREAD, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ZooError(
            f"{model} did not train on {stack}: {answer.stderr.strip()[-800:]}", "Train it with: python -m zoo train"
        )
    result = json.loads(answer.stdout.splitlines()[-1])
    low, middle, high = statistics.quantiles(result["wall"], n=4)
    return Measured(round(middle, 3), round(low, 3), round(high, 3), len(result["wall"]), round(result["busy"], 3))


def best(
    model: str,
    stack: str,
    settings: list[str],
    worker: Path = WORKER,
    seconds: float = SECONDS,
    times: int = PROCESSES,
) -> Measured:
    """Return the smallest ratio of several processes, which differ by some percent whatever they compute."""
    return min((measure(model, stack, settings, worker, seconds) for _ in range(times)), key=lambda each: each.ratio)


def file(model: str) -> Path:
    """Return the file of a recipe's recorded ratios."""
    return paths.RECIPES / model / "cpu.step.json"


def recorded(model: str, stack: str, settings: list[str]) -> list[dict[str, Any]]:
    """Return the rows of a recipe, stack and settings, of all machines."""
    rows = json.loads(file(model).read_text(encoding="utf-8")) if file(model).is_file() else []
    return [row for row in rows if row["stack"] == stack and row["changed"] == settings]


def here() -> str:
    """Describe this machine as the rows do."""
    return machine.describe(machine.probe())


def verdict(measured: Measured, rows: list[dict[str, Any]], where: str, tolerance: float) -> tuple[int, str]:
    """Return exit status and message: 0 as recorded, 1 slower, 2 nothing to compare with."""
    own = [row for row in rows if row["machine"] == where]
    step = f"a step takes {measured.ratio:.2f} products ({measured.q1:.2f} to {measured.q3:.2f})"
    if not own:
        others = "; ".join(f"{row['ratio']:.2f} on {row['machine']}" for row in rows) or "nothing"
        return 2, f"{step}; not compared: recorded is {others}. --record stores it for this machine."
    times = measured.ratio / own[-1]["ratio"]
    against = f"{step}, recorded {own[-1]['ratio']:.2f}: {times:.2f} times"
    if times > 1 + tolerance and measured.busy > TOO_BUSY:
        others = f"others work on this machine (a product took {measured.busy:.1f} times its processor time)"
        return 2, f"cannot tell: {against}, but {others}"
    if times > 1 + tolerance:
        return 1, f"SLOWER: {against}, tolerated up to {1 + tolerance:.2f}"
    return 0, f"as recorded: {against}"


def record(model: str, stack: str, settings: list[str], measured: Measured) -> Path:
    """Store a ratio, replacing the one of this machine."""
    path, where = file(model), here()
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    key = (where, stack, settings)
    rows = [row for row in rows if (row["machine"], row["stack"], row["changed"]) != key]
    lock = store.ensure(stacks.load(stack), machine.probe().platform).lock_sha256
    row = {"machine": where, "stack": stack, "changed": settings, "lock_sha256": lock, **dataclasses.asdict(measured)}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows.append(row | {"unit": "numpy products of 256 x 256, one thread", "date": today,
                       "commit": records.git_commit()})  # fmt: skip
    files.atomic_write(path, json.dumps(rows, indent=1) + "\n")
    return path


def main(arguments: list[str] | None = None) -> int:
    """Measure, and compare or record."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("--model", default="mnist_dense")
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    worst = 0
    for _ in range(options.repeat):
        try:
            measured = best(options.model, options.stack, options.settings, seconds=options.seconds)
        except ZooError as error:
            print(f"error: {error.message}\n{error.remedy}", file=sys.stderr)
            return 1
        if options.record:
            path = record(options.model, options.stack, options.settings, measured)
            print(f"{measured.ratio:.2f} products a step, written to {path}")
            continue
        code, message = verdict(
            measured, recorded(options.model, options.stack, options.settings), here(), options.tolerance
        )
        print(f"{options.model} on {options.stack}: {message}", flush=True)
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
