"""Sources of an image classifier: a run, a saved model, keras.applications, or published weights.

Only :func:`find` distinguishes them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from zoo.config import model_files
from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.config.tasks import Command
from zoo.core import file_kinds
from zoo.data.array_datasets import ArrayDataset
from zoo.environments.machine import Machine
from zoo.runs.context import RunContext
from zoo.tasks import trained_run
from zoo.tasks.image_classification.predict_photos import Classifier
from zoo.tasks.image_classification.source import application, frozen, published, saved
from zoo.tasks.image_classification.source.run import TrainedRun

# Fields needed from the record of the training run.
NEEDED = {"config.model": dict, "config.data": dict, "data.class_names": list}


class Source(Protocol):
    """Source of a classifier: a :class:`TrainedRun`, or one of the modules of this package."""

    def add_defaults(self, overrides: Overrides, here: Machine, photos: bool, /) -> Overrides:
        """Add backend and stack if the user chose none; ``photos``: a run receives color images, one at a time."""

    def classifier(self, context: RunContext[ClassifierConfig], dataset: ArrayDataset | None = None, /) -> Classifier:
        """Return the network for images that are decoded at its size, or for the small gray images of a data set."""


def find(command: Command[Any], overrides: Overrides, needed: Mapping[str, type] = NEEDED) -> Source:
    """Return the source that ``run=`` or ``model=`` names; ``needed`` are required fields of a run's record."""
    model = overrides.get("model")
    if not model or (overrides.get("run") and model_files.is_named(model)):  # the model file of a run
        run = trained_run.open_run(command, overrides, needed)
        return TrainedRun(run, trained_run.model(run, given=model, verb=command.verb))
    if model_files.is_saved(model):
        return frozen if model_files.kind_of(str(model)).word in file_kinds.FROZEN else saved
    return application if model_files.is_application(model) else published


def add_defaults(
    command: Command[Any], overrides: Overrides, here: Machine, sees_photos: Callable[[TrainedRun], bool]
) -> Overrides:
    """Call :meth:`Source.add_defaults`; the command itself rejects settings without a model and a run."""
    if not overrides.get("model") and not overrides.get("run"):
        return overrides
    result = find(command, overrides)
    return result.add_defaults(overrides, here, isinstance(result, TrainedRun) and sees_photos(result))
