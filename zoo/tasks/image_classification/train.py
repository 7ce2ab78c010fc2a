"""Train an image classifier: data, split, worker, curves, and the recipe's promise."""

import contextlib
import dataclasses
from typing import Any

from zoo.config import config_files, model_files, references
from zoo.config.arguments import problems as argument_problems
from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Settings
from zoo.config.schemas.image_classification import TrainConfig
from zoo.config.tasks import Command, Task
from zoo.core import console
from zoo.core.errors import ZooError, counted
from zoo.data import array_datasets, training_set
from zoo.data.training_set import TrainingSet
from zoo.environments.machine import Machine
from zoo.execution import calibration, worker_process
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.events import ArtifactEvent, Event, StartEvent
from zoo.protocol.request import AugmentPart, FineTunePart, FreezePart, ImageData, ImageTrainPart, Request
from zoo.protocol.targets import NUMBER
from zoo.runs import plots, promises
from zoo.runs.context import RunContext, create_training_context
from zoo.runs.history import History, title
from zoo.runs.lifecycle import recorded_run, set_data
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import fastest_stack, few_items, summaries
from zoo.tasks.image_classification import error_analysis, evaluate, export, predict
from zoo.tasks.image_classification.source import application
from zoo.weights import pretrained


def train(overrides: Overrides) -> Run:
    context = create_training_context(TRAIN, overrides)
    why_data = _resolve_data(context)
    _resolve_size(context)
    weights = _weights(context)
    material = training_set.prepare(context.settings)
    _refuse_small_images(context.settings, material)
    _refuse_needless(context, material)
    _choose_recipe(context, len(material.splits["train"]))
    few_items.adapt(context, overrides, {part: len(rows) for part, rows in material.splits.items()})
    known = material.targets
    if known and known.kind == NUMBER and context.settings.augment.flip and not overrides.is_given("augment.flip"):
        context.overlay("machine", {"augment.flip": False})
        console.say("Images are not mirrored, which may change their number. If it does not: augment.flip=true")
    calibration.settle(context, lambda trial: _train_request(trial, material, weights))
    settings, images = context.settings, counted(len(material.splits["train"]), "image")
    pretrained_first = weights or application.loads_imagenet(settings.model, settings.weights)
    epochs = settings.trainer.epochs + (settings.fine_tune.head_epochs if pretrained_first else 0)
    if known:
        console.say(known.words(known.part(material.splits["train"], settings.trainer.loss)))
    console.say(f"Training {settings.model['name']} on {images} for {counted(epochs, 'epoch')}")
    with recorded_run(context, [str(settings.model["name"]), context.choice.backend.name]):
        set_data(context, material.record | {"reason": why_data})
        context.record.weights = weights.record if weights else None
        beside = _Beside(context, material)
        outcome = execute(context, _train_request(context, material, weights), beside.watch, started=plots.make_ready)
        beside.finish(outcome)
        context.record.update(promises.judge(TRAIN, settings, context.record))
        if context.reference:
            compared = references.comparison(context.reference.published or [], context.record.to_json())
            context.record.reference = {"name": context.reference.name, "compared": compared}
    return context.result


def _refuse_small_images(settings: TrainConfig, material: TrainingSet) -> None:
    """Raise an error for a network of photos and a data set of images below its smallest input size."""
    size = {"input_size": min(material.input_shape[:2])} if "input_size" in settings.model else {}
    if problems := argument_problems({**settings.model, **size}):
        raise ZooError(
            f"{settings.data.name} has images of {size['input_size']} pixels: {problems[0]}",
            "Train model=mnist with them, or save larger images in class folders: data=folder data.root=DIR",
        )


def _refuse_needless(context: RunContext[TrainConfig], material: TrainingSet) -> None:
    context.refuse_without_validation(len(material.splits["validation"]), "images")
    if material.given and "test" not in material.given:
        context.refuse_needless(f"with {context.settings.data.root}, which has parts, but no test part", "data.test")
    if material.targets:
        why = f"with targets that are not classes (data.target={material.targets.kind})"
        context.refuse_needless(why, "trainer.label_smoothing", "data.balance")
        if context.settings.trainer.label_smoothing or context.settings.data.balance:
            context.overlay("machine", {"trainer.label_smoothing": 0.0, "data.balance": False})
            console.say(f"The recipe's label smoothing and balance of classes are off {why}")
    for part in material.given:
        context.refuse_needless(f"with {context.settings.data.root}, which has a part for it", f"data.{part}")


def _resolve_data(context: RunContext[TrainConfig]) -> str:
    if context.settings.data.name != "auto":
        return ""
    name, why = array_datasets.resolve("auto", context.settings.data.root)
    context.overlay("machine", {"data": name})
    quick = "; data=digits is a small set that trains in seconds" if name == "mnist" else ""
    (console.say if quick else console.warn)(f"data=auto: {why}{quick}")
    return why


def _resolve_size(context: RunContext[TrainConfig]) -> None:
    model = context.settings.model
    if not model_files.is_application(model["name"]):
        return
    size = application.size_of(str(model["name"]), context.choice.stack, context.machine.platform)
    if size and not model["input_size"] and not context.settings.data.size:
        context.overlay("weights", {"model.input_size": size})


def _choose_recipe(context: RunContext[TrainConfig], items: int) -> None:
    if not _is_without_recipe(context.settings) or context.overrides.is_given("recipes"):
        return
    size = "small" if items < 2_000 else "medium" if items < 20_000 else "large"
    recipe = f"{config_files.ANY}/{size}"
    context.overlay("recipe", {"recipes": recipe})
    console.say(f"Recipe {recipe}, for {items:,} training images; your settings override it")


def _is_without_recipe(settings: TrainConfig) -> bool:
    return "file" in settings.model or model_files.is_application(settings.model["name"])


def _weights(context: RunContext[TrainConfig]) -> pretrained.PretrainedWeights | None:
    """Return the initial weights, if any; without them, the settings of fine-tuning have no effect.

    The file determines arguments of the model that the user did not set. A resumed run keeps its arguments.
    """
    settings, fine_tune = context.settings, context.settings.fine_tune
    application.refuse_checksum(settings.weights_checksum, settings.model, settings.weights)
    if application.loads_imagenet(settings.model, settings.weights):  # Keras loads them
        if not context.resumes:
            application.refuse_offline(settings.model["name"], context.choice.stack)
        return None
    given = set(settings.model) if context.resumes else context.overrides.given("model")
    chosen = pretrained.choose(settings.weights, settings.model, given, settings.weights_checksum)
    if chosen and chosen.arguments:
        context.overlay("weights", chosen.settings)
    if chosen is None and not _is_without_recipe(settings) and (fine_tune.head_epochs or fine_tune.unfreeze_from):
        console.say("weights=none: there is nothing to fine-tune, so all layers are trained from the first epoch")
    return chosen


def _train_request(
    context: RunContext[TrainConfig], material: TrainingSet, weights: pretrained.PretrainedWeights | None
) -> Request:
    settings = context.settings
    classes = len(material.class_names)
    arguments: Json = {"input_shape": list(material.input_shape), "classes": classes}
    by_keras = application.loads_imagenet(settings.model, settings.weights)
    if by_keras:
        arguments["weights"] = settings.weights
    scaling = material.normalization or (weights.network.scaling if weights and weights.network else None)
    if scaling:
        arguments["normalise"] = scaling
    npz = weights.npz if weights else None
    request = request_of(context, settings.model, "train_image_classifier", npz, arguments)
    if request.model and material.targets:
        request.model.target = material.targets.part(material.splits["train"], settings.trainer.loss)
    request.train = ImageTrainPart(**dataclasses.asdict(settings.trainer), seed=settings.seed)
    request.fine_tune = FineTunePart(**dataclasses.asdict(settings.fine_tune)) if weights or by_keras else None
    request.freeze = FreezePart(**dataclasses.asdict(settings.freeze))
    request.data = ImageData(
        **training_set.save(material, context.folder), classes=classes, balance=settings.data.balance,
        placement=settings.data.placement, augment=AugmentPart(**dataclasses.asdict(settings.augment)),
    )  # fmt: skip
    return request


class _Beside:
    """Draws curves and mistakes as soon as possible, while the worker continues."""

    def __init__(self, context: RunContext[Settings], material: TrainingSet) -> None:
        self._context, self._material, self._history = context, material, History(context)
        self._judgement: dict[str, Any] | None = None

    def watch(self, event: Event) -> None:
        self._history.watch(event)
        if isinstance(event, StartEvent):
            self._judgement = None
        elif isinstance(event, ArtifactEvent) and event.kind == "judged":
            # An error must not stop the worker: it occurs again in `finish`, which reports it.
            with contextlib.suppress(Exception):
                self._judgement = self._judged()

    def finish(self, outcome: worker_process.Outcome) -> None:
        """Draw what is missing; raise an error if the worker did not finish."""
        self._history.finish(outcome.epochs)
        raise_if_failed(self._context, outcome)
        self._context.record.judgement = self._judgement or self._judged()

    def _judged(self) -> Json | None:
        return error_analysis.keep(self._context.folder, self._material, title(self._context))


# Smallest alpha for which PyTorch is added: TensorFlow trains some layers of narrower networks faster.
WIDE = 0.5


def add_defaults(overrides: Overrides, here: Machine) -> Overrides:
    """Add the stack that trains the model fastest, if the user names none."""
    name, alpha = overrides.get("model"), overrides.get("model.alpha") or "1.0"
    wide = alpha.replace(".", "", 1).isdigit() and float(alpha) >= WIDE
    faster = name == "mnist_fast" or (wide and name in ("mobilenet", "mobilenet_v2"))
    return fastest_stack.add_to_training(overrides, here) if faster else overrides


TRAIN = Command(
    "train", "classify", "train", TrainConfig, train, add_defaults,
    summaries.FIGURES, summaries.COLUMNS, summaries.training,
)  # fmt: skip
# Benchmarks build networks without a fixed input size for handwritten digits.
COMMANDS = (TRAIN, predict.INFER, evaluate.EVALUATE, export.EXPORT)
TASK = Task("classify", COMMANDS, network_arguments={"input_shape": [28, 28, 1], "classes": 10})
