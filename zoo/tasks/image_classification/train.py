"""Training a classifier of pictures: data, split, worker, curves, and the recipe's promise."""

import contextlib
import dataclasses
from typing import Any

from zoo.config import compose, references
from zoo.config.schemas.image_classification import TrainConfig
from zoo.config.tasks import Command
from zoo.core import console
from zoo.data import array_datasets, training_set
from zoo.data.training_set import Material
from zoo.runs import plots, promises, worker_process
from zoo.runs.context import (
    Line,
    open_folder,
    prepare,
    raise_if_failed,
    recorded,
    refuse_untrainable,
    request_of,
    work,
)
from zoo.runs.history import History, title
from zoo.runs.result import Run
from zoo.tasks.image_classification import error_analysis
from zoo.weights import pretrained


def train(overrides: list[str]) -> Run:
    """Train as told.

    Args:
        overrides: as on the command line, ``group=option`` and ``key=value``.

    Raises:
        ZooError: anything that stops the run, with what to do about it; the run folder then holds its record.
    """
    line = prepare("train", overrides, "classify")
    settings = line.settings
    assert isinstance(settings, TrainConfig)  # noqa: S101  (composed for this verb)
    refuse_untrainable(line)
    settings, why_data = _settled(line, settings)
    weights = _weights(settings)
    material = training_set.prepare(settings)
    open_folder(line, [str(settings.model["name"]), line.choice.backend.name])
    with recorded(line):
        line.record["data"] = material.record | {"reason": why_data}
        line.record["weights"] = weights.record if weights else None
        beside = _Beside(line, material)
        outcome = work(
            line, _train_request(line, settings, material, weights), beside.watch, started=plots.make_ready
        )
        beside.finish(outcome)
        _judge(line, settings)
        if line.reference:
            compared = references.comparison(line.reference.published or [], line.record)
            line.record["reference"] = {"name": line.reference.name, "compared": compared}
    return Run(line.folder, line.record)


def _settled(line: Line, settings: TrainConfig) -> tuple[TrainConfig, str]:
    """Resolve ``data=auto``, and compose again for what it resolved to."""
    if settings.data.name != "auto":
        return settings, ""
    name, why = array_datasets.resolve("auto", settings.data.root)
    line.overrides = [*(text for text in line.overrides if not text.startswith("data=")), f"data={name}"]
    composed, line.text = compose.compose_with_text("train", line.overrides)
    assert isinstance(composed, TrainConfig)  # noqa: S101  (composed for this verb)
    line.settings = composed
    (console.say if name == "mnist" else console.warn)(f"data=auto: {why}")
    return composed, why


def _weights(settings: TrainConfig) -> pretrained.Chosen | None:
    """The weights to start from; without any, what is told of fine-tuning has no meaning."""
    chosen, told = pretrained.choose(settings.weights, settings.model), settings.fine_tune
    if chosen is None and (told.head_epochs or told.unfreeze_from):
        console.say("weights=none: there is nothing to fine-tune, so all layers learn from the first epoch")
    return chosen


def _train_request(
    line: Line, settings: TrainConfig, material: Material, weights: pretrained.Chosen | None
) -> dict[str, Any]:
    request = request_of(line, settings.model, "train_image_classifier")
    classes = len(material.class_names)
    request["model"]["args"] |= {"input_shape": list(material.input_shape), "classes": classes}
    if material.normalise:
        request["model"]["args"]["normalise"] = material.normalise
    alike = {"classes": classes, "balance": settings.data.balance, "augment": dataclasses.asdict(settings.augment)}
    return request | {
        "train": dataclasses.asdict(settings.trainer) | {"seed": settings.seed},
        "fine_tune": dataclasses.asdict(settings.fine_tune) if weights else None,
        "freeze": dataclasses.asdict(settings.freeze),
        "data": training_set.save(material, line.folder) | alike,
        "weights": str(weights.npz) if weights else None,
        "weights_hint": weights.hint if weights else "",
    }


class _Beside:
    """Draws curves and mistakes as soon as they are known, beside what the worker still does."""

    def __init__(self, line: Line, material: Material) -> None:
        self._line, self._material, self._history = line, material, History(line)
        self._judgement: dict[str, Any] | None = None

    def watch(self, event: dict[str, Any]) -> None:
        """Take note of an event of the worker."""
        self._history.watch(event)
        if event["event"] == "start":
            self._judgement = None
        elif event["event"] == "artifact" and event["kind"] == "judged":
            # What goes wrong here must not end the worker: it goes wrong again in `finish`, where it is told.
            with contextlib.suppress(Exception):
                self._judgement = self._judged()

    def finish(self, outcome: worker_process.Outcome) -> None:
        """Draw what is left; say why where the worker did not finish."""
        self._history.finish(outcome)
        raise_if_failed(self._line, outcome)
        self._line.record["judgement"] = self._judgement or self._judged()

    def _judged(self) -> dict[str, Any] | None:
        return error_analysis.keep(self._line.folder, self._material, title(self._line))


def _judge(line: Line, settings: TrainConfig) -> None:
    line.record |= promises.judge(settings, line.record)


TRAIN = Command("train", "classify", "train", TrainConfig, train)
