"""Using a trained classifier on pictures of the user's own, or on the test set that it was trained beside."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config import config_files, model_files
from zoo.config.overrides import value_of
from zoo.config.schemas.classifiers import ClassifierConfig, InferConfig
from zoo.config.schemas.common import Settings, TestData
from zoo.config.schemas.image_classification import DataSettings, TrainConfig
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.data import training_set
from zoo.data.images import unknown_kinds
from zoo.data.training_set import TrainingSet
from zoo.environments.machine import Machine
from zoo.execution import worker_process
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.execution.worker_process import Request
from zoo.runs import records, tables
from zoo.runs.context import RunContext, create_context, refuse_without_keras
from zoo.runs.lifecycle import record_outcome, start_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import trained_run
from zoo.tasks.image_classification import applications, feature_writer, predict_photos, saved_model, summary

USUAL_BATCH = 128


# What is taken from the record of the run that trained.
NEEDED = {"config.model": dict, "config.data": dict, "data.class_names": list}
NEEDED_FOR_ARRAYS = {"config.model.name": str, "config.data.name": str, "data.name": str, "data.sha256": str,
           "data.input_shape": list}  # fmt: skip


def infer(overrides: list[str]) -> Run:
    """Use a trained run, or published weights, on pictures."""
    refuse_video(value_of("input", overrides))
    if is_without_run(overrides):
        context = _create_context(overrides)
        return predict_photos.predict(context, named_classifier(context))
    source = trained_run.open_run(INFER, overrides, NEEDED)
    model = trained_run.model(source, given=value_of("model", overrides))
    if _sees_photos(model, value_of("input", overrides)):
        return predict_photos.predict(_create_context(overrides), classifier_of(source, model))
    records.require(source.folder, source.record, NEEDED_FOR_ARRAYS)
    context = _create_context(overrides)
    refuse_precision(context.settings)
    inputs = _inputs(context.settings, source)
    name = model["name"]
    start_run(context, ["infer", name, context.choice.backend.name])
    with record_outcome(context):
        context.record.model, context.record.trained_run = name, str(source.folder)
        context.record.data = inputs.record
        outcome = execute(context, _infer_request(context, source, inputs, model))
        _keep_predictions(context, outcome, inputs, source)
    return context.result


def opened(overrides: list[str]) -> tuple[RunContext[InferConfig], predict_photos.Classifier, str | None]:
    """Open what ``run=`` or ``model=`` names for pictures that come one by one; ``input=`` is not looked at.

    Returns:
        The context, the network, and how grey pictures are made for it, see
        :func:`zoo.data.images.grayscale.load`; None where it sees colours.
    """
    overrides = [*overrides, "input=-"]
    if is_without_run(overrides):
        context = _create_context(overrides)
        return context, named_classifier(context), None
    source = trained_run.open_run(INFER, overrides, NEEDED)
    model = trained_run.model(source, given=value_of("model", overrides))
    context = _create_context(overrides)
    gray = model["args"]["input_shape"][2] == 1
    return context, classifier_of(source, model), style_of(source) if gray else None


def style_of(source: Run) -> str:
    """Return how pictures of the user's own are made like those that a run was trained on."""
    return "digits" if source.record["data"].get("name") in ("mnist", "digits") else "plain"


def refuse_video(source: str | None) -> None:
    """Stop where images are to come from a video or a camera."""
    moving = unknown_kinds.moving(source) if source else None
    if moving:
        raise ZooError(f"{moving[0]}: neither videos nor cameras are read", moving[1])


def add_defaults(overrides: list[str], here: Machine) -> list[str]:
    """Add the fastest backend for photos, or backend, stack and resizing of the run that ``run=`` names.

    Photos get the run's size as in training; where a processor trained, the fastest processor stack predicts.
    """
    return defaults(INFER, overrides, here, lambda model: _sees_photos(model, value_of("input", overrides)))


def defaults(
    command: Command[Any], overrides: list[str], here: Machine, sees_photos: Callable[[Json], bool]
) -> list[str]:
    """As :func:`add_defaults`, for any command that uses a classifier.

    Args:
        command: the command.
        overrides: as on the command line.
        here: the machine to choose for.
        sees_photos: whether a model of a run is to see images in color, one after the other.
    """
    if saved_model.is_named(overrides):
        return saved_model.add_defaults(overrides, here)
    if model_files.is_application(value_of("model", overrides)):
        return overrides
    if is_without_run(overrides) or not value_of("run", overrides):
        name = value_of("model", overrides)
        known = str(name).strip("'\"") in config_files.options("model") or model_files.is_named(name)
        return predict_photos.fastest(overrides, here) if known else overrides
    source = trained_run.open_run(command, overrides, NEEDED)
    model = trained_run.model(source, given=value_of("model", overrides))
    if not sees_photos(model):
        return trained_run.add_defaults(overrides, here)
    if value_of("resize", overrides) is None:
        overrides = [*overrides, f"resize={source.record['config']['data'].get('resize', 'stretch')}"]
    if source.record["promise"] == "cpu":
        return predict_photos.fastest(overrides, here)
    return trained_run.add_defaults(overrides, here)


def is_without_run(overrides: list[str]) -> bool:
    """Return whether ``model=`` stands for a network with weights, and not for the model file of a run."""
    model = value_of("model", overrides)
    return bool(model) and not (value_of("run", overrides) and model_files.is_named(model))


def _create_context(overrides: list[str]) -> RunContext[InferConfig]:
    context = create_context(INFER, overrides)
    refuse_without_keras(context)
    return context


@dataclass
class Inputs:
    """Small images that are predicted at once: names, how to write them, labels if they have any, and the record."""

    names: list[str]
    save: Callable[[Path], None]
    labels: Any
    record: Json


def _sees_photos(trained: Json, source: str | None) -> bool:
    """Whether pictures of ``input=`` are to be decoded in colour, one after the other."""
    return is_of_photos(trained) and bool(source) and source != "test" and not str(source).endswith(".npy")


def is_of_photos(trained: Json) -> bool:
    """Return whether a model of a run takes images in color."""
    shape = trained["args"].get("input_shape") or []
    return len(shape) == 3 and shape[2] == 3


def named_classifier(context: RunContext[ClassifierConfig]) -> predict_photos.Classifier:
    """Return the network that ``model=`` names, without a run."""
    settings, stack, platform = context.settings, context.choice.stack, context.machine.platform
    if "saved" in settings.model:
        return saved_model.classifier(settings, stack, platform)
    if model_files.is_application(settings.model["name"]):
        return applications.classifier(settings, stack, platform)
    return predict_photos.of_weights(context)


def classifier_of(source: Run, trained: Json) -> predict_photos.Classifier:
    """Return the network that a run trained, for images in color."""
    height, width, _ = trained["args"]["input_shape"]
    classes = list(source.record["data"]["class_names"])
    weights = source.folder / "weights.npz"
    return predict_photos.Classifier(trained, (height, width), weights, classes, {"trained_run": str(source.folder)})


def _inputs(settings: InferConfig, source: Run) -> Inputs:
    trained = source.record["data"]
    if settings.input == "test":
        return test_set(source, settings.data)
    from zoo.data.images import grayscale

    loaded = grayscale.load(str(settings.input), tuple(trained["input_shape"]), style_of(source))
    for name, reason in loaded.skipped:
        console.warn(f"Left out {name}: {reason}")
    record = {
        "name": str(settings.input),
        "items": len(loaded.names),
        "skipped": [list(row) for row in loaded.skipped],
    }
    return Inputs(loaded.names, loaded.save, None, record | {"class_names": trained["class_names"]})


def trained_on(source: Run, asked: TestData) -> TrainingSet:
    """Return the data that a run was made with, the test part as much of it as is asked for."""
    trained = source.record["config"]
    data, model = DataSettings(**trained["data"]), trained["model"]
    given = {key: value for key, value in dataclasses.asdict(asked).items() if value is not None}
    data = dataclasses.replace(data, **given)
    material = training_set.prepare(TrainConfig(model=model, data=data, seed=trained["seed"]))
    trained_run.refuse_other_data(source, data.name, material.record["sha256"])
    return material


def test_set(source: Run, limits: TestData) -> Inputs:
    """Return the test part that the run was made with, or as much of it as is asked for."""
    import numpy as np

    material = trained_on(source, limits)
    data = material.record
    rows = material.splits["test"]
    if not len(rows):
        raise ZooError(f"{source.folder} was trained without a test part", "Give input= a picture or a folder.")
    pixels, labels = training_set.part(material, "test")
    names = [material.names[row] if material.names else f"test[{row}]" for row in rows]
    record = {"name": data["name"], "items": len(rows), "sha256": data["sha256"]}

    def save(path: Path) -> None:
        np.save(path, pixels, allow_pickle=False)

    return Inputs(names, save, labels, record | {"class_names": material.class_names})


def refuse_precision(settings: ClassifierConfig) -> None:
    """Refuse a lower precision for images that are answered as one array, in float32."""
    if settings.precision != "float32":
        raise ZooError(
            f"precision={settings.precision} is for images that are read one by one from files",
            "Arrays, the test part of a run, and grayscale images are answered in float32: remove precision=.",
        )


def _infer_request(context: RunContext[InferConfig], source: Run, inputs: Inputs, trained: Json) -> Request:
    import numpy as np

    # Copies inside the run folder: what was asked stays beside what was answered.
    pixels, labels = context.folder / "inputs.npy", context.folder / "labels.npy"
    inputs.save(pixels)
    if inputs.labels is not None:
        np.save(labels, inputs.labels, allow_pickle=False)
    wanted = context.settings.wants_features
    features = feature_writer.part(context.folder, context.settings.output.layer) if wanted else {}
    return (
        request_of(context, trained, "predict")
        | features
        | {
            "weights": str(source.folder / "weights.npz"),
            "data": {"x": str(pixels), "y": None if inputs.labels is None else str(labels)},
            "infer": {"batch_size": context.settings.batch_size or USUAL_BATCH},
        }
    )


def _keep_predictions(
    context: RunContext[Settings], outcome: worker_process.Outcome, inputs: Inputs, source: Run
) -> None:
    raise_if_failed(context, outcome)
    if "features" in outcome.done:
        _keep_names(context, outcome, inputs)
    path = context.folder / "probabilities.npy"
    if path.is_file():
        import numpy as np

        probabilities = np.load(path, allow_pickle=False)
        names = inputs.names[: len(probabilities)]
        classes = source.record["data"]["class_names"]
        tables.write_predictions(context.folder / "predictions.csv", names, classes, probabilities)


def _keep_names(context: RunContext[Settings], outcome: worker_process.Outcome, inputs: Inputs) -> None:
    context.record.update({"features": outcome.done["features"]})
    with feature_writer.FeatureNames(context.folder) as names:
        for name in inputs.names[: outcome.done["metrics"]["items"]]:
            names.add(name)


INFER = Command(
    "infer",
    "classify",
    "infer",
    InferConfig,
    infer,
    add_defaults=add_defaults,
    summary=summary.lines,
    tables=summary.tables,
)
