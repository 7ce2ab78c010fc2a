"""Classify any number of photos with a trained network."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig, InferConfig
from zoo.config.schemas.common import Arguments
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import backends, selection, stacks
from zoo.environments.machine import Machine
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol import memory
from zoo.protocol.request import FeaturesPart
from zoo.protocol.targets import CLASSES, NUMBER
from zoo.runs.context import RunContext
from zoo.runs.lifecycle import recorded_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks.image_classification import photo_stream
from zoo.tasks.image_classification.photo_stream import Listed, PhotoStream, Take
from zoo.tasks.image_classification.prediction_writer import FeatureNames, NumberWriter, PredictionWriter, TableWriter

# (mean, scale) of pixels 0 to 255 by channel; `imagenet` has torchvision's values.
SCALES = {
    "0..1": ([0.0] * 3, [255.0] * 3), "-1..1": ([127.5] * 3, [127.5] * 3),
    "imagenet": ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]), "none": ([0.0] * 3, [1.0] * 3),
}  # fmt: skip


@dataclass(frozen=True)
class Classifier:
    """A network with its weights and classes.

    Attributes:
        size: (height, width) of its images.
        weights: ``.npz`` for the worker; None if the model has them.
        record: its fields in ``run.json``.
        kind: kind of target, see :mod:`zoo.protocol.targets`; ``classes`` has the names of its labels or numbers.
        thresholds: of each label, from which probability on it is given; None for classes and numbers.
    """

    model: Arguments
    size: tuple[int, int]
    weights: Path | None
    classes: list[str]
    record: Json
    kind: str = CLASSES
    thresholds: list[float] | None = None

    @property
    def predicted(self) -> str:
        return "numbers" if self.kind == NUMBER else self.kind

    def refuse_needless(self, context: RunContext[ClassifierConfig]) -> None:
        """Raise an error for settings that need one class for each image."""
        keys = ("classes", "top", "sheets", "probabilities", "precision") if self.kind == NUMBER else ("top",)
        if self.kind != CLASSES:
            context.refuse_needless(f"with {self.model['name']}, which predicts {self.predicted}", *keys)
            if context.settings.precision == "auto":
                raise ZooError("precision=auto compares classes, and there are labels", "Name a precision.")


def fastest(overrides: Overrides, here: Machine) -> Overrides:
    """Add the fastest backend for prediction if the user names none: OpenVINO on a CPU."""
    stack = overrides.get("stack")
    if overrides.get("backend") not in (None, "auto"):
        return overrides
    available = stacks.by_name()
    if stack:
        owners = [row for row in backends.load_all() if stack in row.stacks]
        usable = [row.name for row in owners if selection.evaluate(row, here, available, stack).stack]
        is_decided = len(owners) == 1 and usable
        return overrides.with_("machine", {"backend": usable[0]}) if is_decided else overrides
    if overrides.get("backend.python") or selection.select(None, here).device_kind != "cpu":
        return overrides
    if selection.evaluate(backends.load("openvino"), here, available).stack is None:
        return overrides
    console.say("Using OpenVINO, the fastest on a CPU (built once, in up to a minute); backend=cpu uses TensorFlow")
    return overrides.with_("machine", {"backend": "openvino"})


@contextlib.contextmanager
def recorded(context: RunContext[ClassifierConfig], classifier: Classifier) -> Iterator[str]:
    """Start a run of a classifier and record its outcome; yield the name of the network."""
    name = str(classifier.model["name"])
    with recorded_run(context, [context.verb, name, context.choice.backend.name]):
        context.record.update({"model": name, **classifier.record})
        yield name


def predict(context: RunContext[InferConfig], classifier: Classifier) -> Run:
    settings = context.settings
    if not settings.wants_features:
        classifier.refuse_needless(context)
    photos = photo_stream.listed(str(settings.input), lambda: sys.stdin.buffer)
    with recorded(context, classifier) as name:
        title = f"{name} on {context.choice.stack.name}: {settings.input}"
        features = features_of(context)
        how = title, settings.sheets, settings.probabilities, settings.top
        with FeatureNames(context.folder) if features else writer_of(context.folder, classifier, *how) as writer:
            names = {"numbers" if classifier.kind == NUMBER else "class_names": classifier.classes}
            about = {"name": str(settings.input), **names}
            predict_all(context, classifier, photos, writer, writer.take, about, features)
    return context.result


def features_of(context: RunContext[InferConfig]) -> FeaturesPart | None:
    """Return the part of a request for features, or None for predictions."""
    settings, path = context.settings, str(context.folder / FeatureNames.ARRAY)
    return FeaturesPart(layer=settings.output.layer, path=path) if settings.wants_features else None


def writer_of(
    folder: Path, classifier: Classifier, title: str, sheets: int = 0, whole: bool = False, best: int | None = None
) -> PredictionWriter | NumberWriter:
    """Return the writer of a classifier's predictions; the arguments are those of :class:`PredictionWriter`."""
    if classifier.kind == NUMBER:
        return NumberWriter(folder, classifier.classes)
    return PredictionWriter(folder, classifier.classes, title, sheets, whole, best, classifier.thresholds)


def predict_all(
    context: RunContext[ClassifierConfig], classifier: Classifier, photos: Listed, writer: TableWriter, take: Take,
    about: Json, features: FeaturesPart | None = None,
) -> None:  # fmt: skip
    """Let the worker predict every image; record ``about`` the data, and what was written and skipped.

    ``take`` is called with each image and its outputs; ``features`` requests features instead of probabilities.
    """
    for folder in photos.closed:
        writer.skip(folder)
    settings = context.settings
    batch = min(settings.batch_size or 32, photos.count or 65_536)
    stream = PhotoStream(photos.names, classifier.size, batch, settings.resize, writer.thumbs, take, writer.skip)
    try:
        with contextlib.closing(stream):
            if not stream.prime():
                raise ZooError("No usable images", f"{context.folder / 'skipped.csv'} lists the reasons.")
            request = request_of(context, classifier.model, "predict_stream", classifier.weights)
            classes = 0 if features else len(classifier.classes)
            request.stream = stream.share(context.folder, classes, photos.count, settings.precision)
            request.features = features
            outcome = execute(context, request, feed=stream)
    finally:
        skipped = [list(row) for row in writer.skipped]
        context.record.data = about | {"items": writer.written, "skipped": skipped}
        context.record.data["skipped_items"] = writer.skipped_count
    context.record.host_peak_memory_bytes = memory.peak_bytes()
    raise_if_failed(context, outcome)
    if outcome.done and outcome.done.features:
        context.record.features = outcome.done.features
    if stream.taken:
        context.record.metrics |= {
            "end_to_end_s": round(stream.end_to_end_s, 4),
            "end_to_end_items_per_s": stream.taken / stream.end_to_end_s,
        }
