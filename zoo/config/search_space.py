"""The search space and target of a recipe: ``configs/tune/MODEL/BACKEND.yaml``, or a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config import declared
from zoo.config.overrides import Overrides
from zoo.core import paths, schema
from zoo.core.errors import ZooError
from zoo.core.files import read_json
from zoo.core.paths import user_path
from zoo.protocol.events import EpochEvent


@dataclass(frozen=True)
class Range:
    """The values of a setting: ``choices``, or ``low`` to ``high``, on a logarithmic scale with ``log``."""

    choices: list[Any] | None = None
    low: int | float | None = None
    high: int | float | None = None
    log: bool = False


@dataclass(frozen=True)
class Space:
    """A search space and its target.

    Attributes:
        metric: metric of an epoch to maximize, such as ``val_accuracy``.
        target: value to reach, by data set.
        values: ranges by setting.
    """

    metric: str
    target: dict[str, float]
    values: dict[str, Range]


def load(model: str, backend: str, file: str | None = None) -> Space:
    """Read the search space of a recipe, or of a user's file."""
    path = user_path(file) if file else paths.CONFIGS / "tune" / model / f"{backend}.yaml"
    if not path.is_file():
        usual = "See configs/tune/mnist_dense/cpu.yaml, write one like it, and give space=FILE."
        raise ZooError(f"There is no file {path}" if file else f"{model} on {backend} declares no search space", usual)
    content = schema.read_yaml(path)
    problems = schema.violations(content, Space)
    if not problems:
        rows = content["values"].items()
        problems = [text for name, row in rows for text in _range_problems(f"values.{name}", row)]
        problems += [] if content["values"] else ["values: name at least one setting"]
        if not (name := content["metric"]).startswith("val_") or not hasattr(EpochEvent, name):
            problems.append(f"metric: expected a validation metric, such as val_accuracy, got {name!r}")
    schema.refuse("search space", path, problems)
    values = {name: Range(**row) for name, row in content["values"].items()}
    return Space(content["metric"], content["target"], values)


def _range_problems(name: str, row: dict[str, Any]) -> list[str]:
    key = name.removeprefix("values.")
    if "." not in key or declared.is_private(key) or key.partition(".")[0] in ("backend", "launcher", "distributed"):
        return [f"{name}: a search varies settings such as trainer.epochs or model.dropout only"]
    low, high = row.get("low"), row.get("high")
    if row.get("choices"):
        return [f"{name}: give choices, or low and high"] if low is not None or high is not None else []
    if low is None or high is None:
        return [f"{name}: give choices, or low and high"]
    if not low < high or (row.get("log") and low <= 0):
        return [f"{name}: low must be less than high, and more than 0 with log: true"]
    return []


def words(values: dict[str, Any]) -> str:
    return " ".join(Overrides.of(values).words)


def existing(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a winners file, or nothing if the file is missing."""
    if not path.is_file():
        return []
    rows = read_json(path, "Name another file: keep=FILE")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ZooError(f"{path} does not contain a list of winners", "Name another file: keep=FILE")
    return rows
