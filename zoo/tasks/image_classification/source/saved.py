"""A classifier from a saved model: the stack of its Keras generation, and its classes."""

import json
from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.core import console
from zoo.core.errors import ZooError, counted
from zoo.core.paths import user_path
from zoo.data.array_datasets import ArrayDataset
from zoo.environments import stacks
from zoo.environments.machine import Machine
from zoo.protocol.targets import CLASSES, LABELS, NUMBER
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.tasks import target_analysis
from zoo.tasks.image_classification.predict_photos import SCALES, Classifier
from zoo.weights import class_names, saved_models
from zoo.weights.saved_models import SavedModel

# The latest Keras 2 in the zoo reads the files of all earlier versions.
KERAS_2 = "tf-2.12"

# Descriptions next to a model: of an export, and of an export for hubs.
FACTS, CONFIG = "model.json", "config.json"
MOST_BYTES = 16 << 20


def add_defaults(overrides: Overrides, here: Machine, _: bool) -> Overrides:
    """Add a stack of the generation of Keras that wrote the model, if the user chose none."""
    model = saved_models.read(str(overrides.get("model")))
    chosen = overrides.get("stack")
    if chosen:
        _refuse_other_generation(model, chosen, here.platform)
        return overrides
    if model.generation == 2 and overrides.get("backend") in (None, "auto", "cpu"):
        console.say(f"{model.path.name} was saved by Keras {model.version}: {KERAS_2} reads it")
        return overrides.with_("machine", {"backend": "cpu", "stack": KERAS_2})
    return overrides


def _refuse_other_generation(model: SavedModel, name: str, platform: str) -> None:
    stack = stacks.load(name)
    version = stacks.pins(stacks.lock_file(stack, platform)).get("keras", "2")
    generation = 2 if stack.keras == "tf.keras" else int(version.partition(".")[0])
    if generation != model.generation:
        raise ZooError(
            f"{model.path} was saved by Keras {model.version}, and stack {name} has Keras {generation}",
            f"Leave stack= out, or choose one with Keras {model.generation}: `python -m zoo list stacks`.",
        )


def classifier(context: RunContext[ClassifierConfig], dataset: ArrayDataset | None = None) -> Classifier:
    settings = context.settings
    model = saved_models.read(str(settings.model["saved"]))
    if context.verb != "export":  # export uses a stack of the model's generation
        _refuse_other_generation(model, context.choice.stack.name, context.machine.platform)
    about = {} if settings.wants_features else exported(model.path)
    kind = LABELS if model.labels else target_of(about)
    own = about.get("classes") if settings.classes is None else None
    if own and len(own) == (model.outputs or 0) and all(isinstance(name, str) for name in own):
        names = list(own)
    elif model.measures and not settings.wants_features and not (model.unsure and _is_named(settings, model)):
        kind = NUMBER
        if model.unsure:
            console.say(f"{model.path.name} ends in one number. If it is the logit of two classes, give classes=FILE")
        count = model.outputs or 1
        names = ["number"] if count == 1 else [f"number_{place}" for place in range(1, count + 1)]
    else:
        names = [] if settings.wants_features else _class_names(settings, model)
    size = size_of(settings, model.path, model.input_shape[:2])
    channels = model.input_shape[2]
    known = scaling_of(about) if settings.scale is None else None
    mean, deviation = known or SCALES[_scale(settings, model)]
    if channels == 1:
        mean, deviation = [sum(mean) / 3], [sum(deviation) / 3]
    classes = None if kind == NUMBER else len(names) or None
    arguments: Json = {"classes": classes, "channels": channels, "normalise": (mean, deviation)}
    if kind == LABELS:
        arguments["labels"] = True
    request = {"name": model.path.name, "args": arguments, "saved": str(model.path)}
    record = {"source": str(model.path), "file": str(model.path), "sha256": model.sha256, "keras": model.version}
    what = counted(len(names), "number") if kind == NUMBER else f"{len(names)} {kind}"
    what = "features" if settings.wants_features else what
    console.say(f"{model.path.name}: Keras {model.version}, {size[0]} x {size[1]} x {channels}, {what}")
    limits = target_analysis.thresholds(about, len(names)) if kind == LABELS else None
    result = Classifier(request, size, None, names, {"weights": record}, kind, limits)
    if dataset and kind != CLASSES:
        message = f"{settings.model['name']} predicts {result.predicted}, not classes"
        raise ZooError(message, "Evaluate it with your own images.")
    return result


def _scale(settings: ClassifierConfig, model: SavedModel) -> str:
    """Return the scaling of pixels: the one that the file defines, or the user's setting."""
    name, layer, wanted = model.path.name, model.scaled_by, model.wanted_scale
    if wanted and settings.scale not in (None, wanted):
        raise ZooError(
            f"scale={settings.scale} contradicts {name}: its layer {layer!r} scales pixels itself",
            f"Remove scale=, or use scale={wanted}.",
        )
    if wanted:
        console.say(f"scale={wanted}: the layer {layer!r} of {name} scales pixels")
        return wanted
    if settings.scale is None:
        hint = f"; its layer {layer!r} changes pixels, so scale=none is likely" if layer else ""
        raise ZooError(
            f"scale is missing: {name} does not define how pixels were scaled in training{hint}",
            f"Add one of: {', '.join(f'scale={each}' for each in SCALES)}. Usual are -1..1 for Teachable Machine, "
            "MobileNet, Inception and Xception, small ones too, and 0..1 for most other networks of Keras. "
            "scale=none keeps 0 to 255, as image_dataset_from_directory does. With a wrong one, answers are wrong "
            "and look certain: look it up in the code of the training, or try images "
            "of known classes.",
        )
    if layer and settings.scale != "none":
        console.warn(f"The layer {layer!r} of {name} changes pixels: scale=none is likely right")
    return settings.scale


def facts(path: Path, name: str) -> Json:
    """Return the description in a file next to a model, or an empty dict."""
    place = path.parent / name
    if path.parent.name == "onnx" and not place.is_file():  # as Hugging Face lays out its exports
        place = path.parent.parent / name
    if not place.is_file() or place.stat().st_size > MOST_BYTES:
        return {}
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        console.warn(f"{place} cannot be read and is not used: {error}")
        return {}
    return content if isinstance(content, dict) else {}


def exported(path: Path) -> Json:
    """Return the description that an export of the zoo wrote next to a model, or an empty dict."""
    content = facts(path, FACTS) or facts(path, CONFIG)
    return content if "format" in content else {}


def scaling_of(about: Json) -> tuple[Any, Any] | None:
    """Return (mean, scale) of pixels in the description of an export, or None."""
    known = about.get("preprocessing")
    if isinstance(known, dict) and known.get("color") in ("RGB", "gray"):
        return known["subtract"], known["divide"]
    return None


def target_of(about: Json) -> str:
    """Return the kind of target in the description of an export."""
    return str(about["target"]) if about.get("target") in (LABELS, NUMBER) else CLASSES


def size_of(settings: ClassifierConfig, path: Path, edges: tuple[int | None, int | None]) -> tuple[int, int]:
    """Return the (height, width) of the images: the file's size, or ``size=`` if the model accepts any size."""
    height, width = edges
    if settings.size == "auto":
        if height is None or width is None:
            raise ZooError(f"{path} takes images of any size", "Give size=PIXELS, such as size=224.")
        return height, width
    size = int(settings.size)
    if (height or size, width or size) != (size, size):
        raise ZooError(f"{path} takes images of {height} x {width}, not {size} x {size}", "Leave size= out.")
    return size, size


def _is_named(settings: ClassifierConfig, model: SavedModel) -> bool:
    return bool(settings.classes) or any((model.path.parent / name).is_file() for name in class_names.BESIDE)


def _class_names(settings: ClassifierConfig, model: SavedModel) -> list[str]:
    count = 2 if model.outputs == 1 else model.outputs
    if count is None:
        if settings.classes is None:
            raise ZooError(f"{model.path} does not define its number of classes", "Give classes=FILE, a name a line.")
        return class_names.read(user_path(settings.classes))
    return class_names.choose(settings.classes, model.path, count)
