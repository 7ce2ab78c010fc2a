"""Measure where recipes reach their targets: both ends of a range and its middle, each precision, several seeds.

python scripts/maintenance/measure_ranges.py --data FOLDER [--model MODEL] [--stack STACK] [--seeds 3]
python scripts/maintenance/measure_ranges.py --runs FOLDER     take in trainings that were made already

The ranges are those that the recipes state (`range:`). Each training is one line in recipes/MODEL/range.json as soon
as it is done, so a second start continues where the first ended. A checkout with changes gives no measurements.
FOLDER holds a folder named as each data set, or files with the checksums that the recipes name, also of weights.
"""

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from zoo.config import bounds, config_files
from zoo.config.overrides import leaves
from zoo.core import console, paths
from zoo.core import schema as files
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write
from zoo.environments import machine
from zoo.runs import promises, ranges
from zoo.tasks import discovery, recipe_status, registry

BACKEND = "cpu"
Row = dict[str, Any]


def file(model: str) -> Path:
    """Return the file of the measurements of a model."""
    return paths.RECIPES / model / "range.json"


def read(model: str) -> list[Row]:
    """Return the measurements of a model that are of its recipe as it is now."""
    rows: list[Row] = json.loads(file(model).read_text(encoding="utf-8")) if file(model).is_file() else []
    known: dict[str, str] = {}
    for data in {row["data"] for row in rows}:
        known[data] = recipe_status.recipe_sha256(model, BACKEND, data)
    return [row for row in rows if row["recipe_sha256"] == known[row["data"]]]


def stated() -> Iterator[tuple[str, str, ranges.Range]]:
    """Yield model, data set and range of every range that a recipe states."""
    for model in recipe_status.trained_models():
        (recipe, *_) = config_files.recipe_files(model, "")
        for data in files.read_yaml(recipe).get(config_files.RANGE, {}):
            proven = ranges.of(_command(model), model, data, BACKEND)
            if proven:
                yield model, data, proven


def _command(model: str) -> Any:
    return discovery.command("train", config_files.task_of(model))


def points(proven: ranges.Range, seeds: int) -> list[tuple[int, str, int]]:
    """Return batch size, precision and seed of every training that a range needs."""
    (low, high), own = proven.batch_size, proven.usual[0]
    middle = own if low < own < high else 2 ** round(math.log2(low * high) / 2)
    return list(itertools.product(sorted({low, middle, high}), proven.precisions, range(1, seeds + 1)))


def missing(model: str, data: str, proven: ranges.Range, seeds: int) -> list[tuple[int, str, int]]:
    """Return the points that are not measured yet."""
    known = {(row["batch_size"], row["precision"], row["seed"]) for row in read(model) if row["data"] == data}
    return [point for point in points(proven, seeds) if point not in known]


def inside(model: str, data: str, proven: ranges.Range) -> list[Row]:
    """Return the measurements inside of a range; those outside show why it ends where it does."""
    rows = [row for row in read(model) if row["data"] == data]
    values = ("batch_size", "learning_rate", "precision")
    return [row for row in rows if proven.contains(*(row[name] for name in values))]


def missed(row: Row, target: dict[str, Any]) -> bool:
    """Return whether a measurement misses the target."""
    return not bounds.is_met(bounds.of(row["metric"], target[row["metric"]]), row["value"])


def row_of(record: dict[str, Any]) -> Row | None:
    """Return the measurement that a run is; None where it is not one of a recipe's points."""
    model, data = str(record["model"]), record["data"]["name"]
    commit, config = str(record["git_commit"]), record["config"]
    promise = recipe_status.promised(model, BACKEND).get(data)
    whole = record["exit"] == "completed" and config.get("preset", "full") == "full"
    if not whole or commit.endswith("-dirty") or not promise:
        return None
    changed = promises.differences(_command(model), config, data)
    if any(name not in ranges.SETTINGS for name, *_ in changed):
        return None
    metric = next(iter(bounds.metrics(promise)))
    trainer, proven = config["trainer"], ranges.of(_command(model), model, data, BACKEND)
    known = {name: record["versions"][name] for name in recipe_status.FRAMEWORKS if name in record["versions"]}
    precision = dict(leaves(config))[proven.precision if proven else ranges.PRECISION]
    return {
        "data": data,
        "batch_size": trainer["batch_size"],
        "learning_rate": trainer["learning_rate"],
        "precision": record["metrics"].get("precision") if precision == "auto" else precision,
        "seed": config["seed"],
        "metric": metric,
        "value": record["metrics"][metric],
        "stack": record["stack"]["name"],
        "versions": known,
        "hardware": machine.hardware(machine.Machine(**{**record["machine"], "gpus": []})),
        "date": record["finished"][:10],
        "commit": commit,
        "recipe_sha256": recipe_status.recipe_sha256(model, BACKEND, data),
    }


def add(model: str, row: Row) -> None:
    """Write a measurement, in place of an earlier one of the same point."""
    same = ("data", "batch_size", "learning_rate", "precision", "seed")
    rows = [each for each in read(model) if any(each[name] != row[name] for name in same)]
    rows = sorted([*rows, row], key=lambda each: [each[name] for name in same])
    atomic_write(file(model), "[\n" + ",\n".join(json.dumps(each, sort_keys=True) for each in rows) + "\n]\n")


def take_in(folder: Path) -> int:
    """Take in the runs of a folder; return how many are measurements."""
    count = 0
    for path in sorted(folder.glob("*/run.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        row = row_of(record) if record.get("data") and record.get("verb") == "train" else None
        if row:
            add(str(record["model"]), row)
            count += 1
    return count


def measure(model: str, data: str, proven: ranges.Range, given: argparse.Namespace) -> None:
    """Train every missing point of a range."""
    todo = missing(model, data, proven, given.seeds)
    took: list[float] = []
    promise = recipe_status.promised(model, BACKEND)[data]
    for number, (size, precision, seed) in enumerate(todo):
        left = f", about {sum(took) / len(took) * (len(todo) - number) / 60:.0f} min left" if took else ""
        console.say(f"[{number + 1}/{len(todo)}{left}] {model} on {data}: batch {size}, {precision}, seed {seed}")
        start = time.monotonic()
        point = ranges.point(_command(model), model, BACKEND, data)
        folder = Path(given.data) if point.is_given("data") else None
        settings = {"seed": seed, "stack": given.stack} | recipe_status.promised_settings(promise, data, folder)
        point = point.with_("user", settings | proven.settings(size, precision))
        row = row_of(dict(registry.dispatch("train", point).record))
        if row is None:
            raise ZooError("The training is not one of the recipe", "Commit your changes, and start again.")
        add(model, row)
        took.append(time.monotonic() - start)


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, or take in runs; return 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--runs", help="folder with run folders to take in, instead of training")
    parser.add_argument("--model", help="only this model")
    parser.add_argument("--stack", help="the stack to train on")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args(arguments)
    if not given.data and not given.runs:
        parser.error("give --data FOLDER or --runs FOLDER")
    failed = False
    try:
        if given.runs:
            console.say(f"{take_in(Path(given.runs))} runs are measurements")
        for model, data, proven in stated():
            if given.model in (None, model):
                if given.data:
                    measure(model, data, proven, given)
                rows = inside(model, data, proven)
                failed |= any(missed(row, proven.target) for row in rows)
                left = len(missing(model, data, proven, given.seeds))
                console.say(f"{model} on {data}: {len(rows)} measured, {left} missing")
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
