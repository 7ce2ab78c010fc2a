"""The architectures of keras.applications, ``model=keras/NAME``, in the Keras of a stack.

The list of names comes from the stack's Keras, and is cached for each environment.
"""

import contextlib
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.config import model_files
from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.core import console, download, paths, planning
from zoo.core.arrays import np
from zoo.core.errors import ZooError, unknown
from zoo.core.files import write_json
from zoo.data.array_datasets import ArrayDataset
from zoo.environments import store
from zoo.environments.machine import Machine
from zoo.environments.stacks import Stack
from zoo.protocol.events import DoneEvent, ErrorEvent
from zoo.protocol.request import ModelPart
from zoo.runs import event_log
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.tasks.image_classification import predict_photos
from zoo.tasks.image_classification.predict_photos import Classifier
from zoo.tasks.image_classification.source import published
from zoo.weights import class_names, pretrained

PREFIX = "keras/"
SERVER = "https://storage.googleapis.com/tensorflow/keras-applications/"


def loads_imagenet(model: Mapping[str, Any], weights: str) -> bool:
    return model_files.is_application(model["name"]) and weights == "imagenet"


def refuse_checksum(checksum: str | None, model: Mapping[str, Any], weights: str) -> None:
    if checksum and loads_imagenet(model, weights):
        raise ZooError(
            f"weights_checksum has no effect with model={model['name']}: Keras downloads and checks its own weights",
            "Leave it out, or download the file and give weights=FILE.",
        )


def refuse_offline(name: str, stack: Stack) -> None:
    """Raise an error if Keras has to download the weights of weights=imagenet but cannot reach their server."""
    models = paths.cache_dir() / "homes" / stack.name / ".keras" / "models"
    plain = re.sub(r"\W|_", "", name.removeprefix(PREFIX)).lower()
    files = models.iterdir() if models.is_dir() else ()
    if planning.is_planning() or any(re.sub(r"\W|_", "", file.name).lower().startswith(plain) for file in files):
        return
    if reason := download.unreachable(SERVER):
        raise ZooError(
            f"{name} weights=imagenet: Keras downloads these weights from {SERVER}: {reason}",
            "Connect to the network, or use weights=none or a file: weights=FILE.",
        )


def size_of(name: str, stack: Stack, platform: str) -> int | None:
    """Return the default edge of an architecture's images in pixels; None if unknown."""
    known = catalogue(stack, platform)
    plain = name.removeprefix(PREFIX)
    if plain not in known:
        raise unknown(f"architecture in the Keras of stack {stack.name}", plain, list(known))
    size = known[plain]
    return size if isinstance(size, int) else None


def catalogue(stack: Stack, platform: str) -> Json:
    """Return the image size of each architecture of a stack by name, cached for each environment."""
    environment = store.ensure(stack, platform)
    path = paths.cache_dir() / "applications" / f"{environment.folder.name}.json"
    known: Json = {}
    with contextlib.suppress(OSError, ValueError, TypeError):  # missing or damaged
        known = dict(json.loads(path.read_text(encoding="utf-8")))
    if not known:
        console.say(f"Asking the Keras of {stack.name} for its architectures")
        known = asked(stack, environment.python, "list_applications", "name its architectures")
        write_json(path, known, parents=True)
    return known


def asked(stack: Stack, python: Path, job: str, what: str, model: ModelPart | None = None) -> Json:
    """Run a job in a stack without a run folder and return its metrics; ``what`` describes it in messages."""
    try:
        answer = store.ask(stack, python, "infer", job, model)
    except subprocess.TimeoutExpired as error:
        raise ZooError(f"Stack {stack.name} did not {what} within {store.HEALTH_S:g} s", "Try again.") from error
    events = [event_log.parse(line.encode()) for line in answer.stdout.splitlines()]
    done = [event.metrics for event in events if isinstance(event, DoneEvent)]
    if not done:
        words = [event.message for event in events if isinstance(event, ErrorEvent)]
        said = " ".join(words)[:500] or answer.stderr[-500:]
        raise ZooError(f"Stack {stack.name} cannot {what}: {said}", f"Choose another {'model or ' * bool(model)}stack.")
    return done[0]


def add_defaults(overrides: Overrides, _: Machine, __: bool) -> Overrides:
    """Return the overrides unchanged: the user's stack has the architecture."""
    return overrides


def classifier(context: RunContext[ClassifierConfig], dataset: ArrayDataset | None = None) -> Classifier:
    settings = context.settings
    name = str(settings.model["name"])
    if dataset:
        raise published.in_color(name, dataset)
    size = settings.model.get("input_size") or size_of(name, context.choice.stack, context.machine.platform)
    if not size:
        raise ZooError(f"Keras does not define the image size of {name}", "Give model.input_size=PIXELS.")
    arguments: Json = {"input_shape": [size, size, 3]}
    refuse_checksum(settings.weights_checksum, settings.model, settings.weights)
    chosen = None
    if settings.weights != "imagenet":
        chosen = pretrained.choose(settings.weights, settings.model, checksum=settings.weights_checksum)
    if chosen is None:
        count, arguments["weights"] = 1000, settings.weights
    else:
        with np.load(chosen.npz, allow_pickle=False) as stored:
            count = int(stored[stored.files[-1]].shape[-1])
    names = class_names.choose(settings.classes, chosen.path if chosen else Path(), count, chosen is None)
    scaling = predict_photos.SCALES.get(str(settings.scale))
    model = {"name": name, "args": arguments | {"classes": count} | ({"normalise": scaling} if scaling else {})}
    record = chosen.record if chosen else {"source": settings.weights}
    return Classifier(model, (size, size), chosen.npz if chosen else None, names, {"weights": record})
