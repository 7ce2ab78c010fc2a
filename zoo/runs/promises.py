"""Compare the results of a training run with its recipe's promise, if the promise applies."""

import dataclasses
from typing import Any

from zoo.config import bounds, compose, setting
from zoo.config.overrides import Overrides, leaves
from zoo.config.schemas.image_classification import TrainConfig
from zoo.config.schemas.style_network import StyleNetworkConfig
from zoo.config.schemas.text import TextTraining
from zoo.config.tasks import Command
from zoo.runs import ranges
from zoo.runs.records import Json, RunRecord

Promising = TrainConfig | TextTraining | StyleNetworkConfig


def judge(command: Command[Any], settings: Promising, record: RunRecord) -> Json:
    """Return fields of ``run.json`` that compare the results of a training run with the recipe's promise.

    ``expected`` has each bound with its verdict; ``expected_not_applicable`` has the bounds and why there is no
    verdict. The result is empty without a promise, or if the run did not finish.
    """
    if not any(settings.expect.values()) or record.exit != "completed":
        return {}
    promised = bounds.metrics(settings.expect.get(record.data["name"]))
    promise = {name: bounds.of(name, value) for name, value in promised.items()}
    stopped = [f"stopped by trainer.{record.stopped}"] if record.get("stopped") else []
    because = _other_data(settings, record) or [*changes(command, settings, record.data["name"]), *stopped]
    if because:
        return {"expected_not_applicable": {"expected": promise, "because": because}}
    metrics = record.metrics
    return {"expected": {name: row | {"met": bounds.is_met(row, metrics[name])} for name, row in promise.items()}}


def not_applicable(record: Json) -> str:
    """Return why the recipe's promise does not apply to a run, or an empty text if it applies or is missing."""
    row = record.get("expected_not_applicable")
    if not row:
        return ""
    shown = ", ".join(f"{name} of {bounds.words(each)}" for name, each in row["expected"].items())
    promise = f"The recipe's promise ({shown})" if shown else "The recipe's promise"
    return f"{promise} does not apply to this run: {', '.join(row['because'])}"


def changes(command: Command[Any], settings: Promising, data: str) -> list[str]:
    """Return the settings that differ from the recipe and affect the results: ``trainer.epochs=1 (recipe: 4)``."""
    config = dataclasses.asdict(settings)
    rows = differences(command, config, data)
    trainer = settings.trainer
    proven = ranges.of(command, settings.model["name"], data, settings.backend.name)
    if proven and proven.contains(trainer.batch_size, trainer.learning_rate, dict(leaves(config))[proven.precision]):
        rows = [row for row in rows if row[0] not in ranges.SETTINGS]
    measured = {ranges.BATCH: f", measured with {proven}"} if proven else {}
    return [f"{name}={_text(value)} (recipe: {_text(usual)}{measured.get(name, '')})" for name, value, usual in rows]


def differences(command: Command[Any], config: Json, data: str, **groups: str) -> list[tuple[str, Any, Any]]:
    """Return name, value and the recipe's value of each setting that affects the results and differs.

    ``config`` has all settings of a training run on the data set ``data``. The recipe is composed for the same model,
    backend and data, and with the options ``groups``. It includes the settings of its promise for the data. A
    promised checksum of weights replaces their path.
    """
    point = ranges.point(command, config["model"]["name"], config["backend"]["name"], data)
    composed: Any = compose.compose(command, point | Overrides.of(groups))
    recipe = dict(leaves(dataclasses.asdict(composed)))
    recipe |= bounds.settings(composed.expect.get(data))
    recipe |= {"weights": config["weights"]} if recipe.get("weights_checksum") else {}
    return [
        (name, value, recipe.get(name))
        for name, value in leaves(config)
        if value != recipe.get(name) and setting.of(command.schema, name).affects is setting.NUMBERS
    ]


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


def _other_data(settings: Promising, record: RunRecord) -> list[str]:
    name = record.data["name"]
    if not settings.expect.get(name):
        return [f"data={name} (promised for: {', '.join(key for key, row in settings.expect.items() if row)})"]
    sha256 = settings.expect[name].get("sha256")
    same = sha256 in (None, record.data["sha256"])
    return [] if same else ["the data differ from the data of the promise"]
