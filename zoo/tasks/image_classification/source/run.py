"""A classifier from a training run."""

from dataclasses import dataclass

from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.core.errors import ZooError
from zoo.data.array_datasets import ArrayDataset
from zoo.environments.machine import Machine
from zoo.protocol.targets import CLASSES, LABELS
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import target_analysis, trained_run
from zoo.tasks.image_classification.predict_photos import Classifier, fastest


@dataclass(frozen=True)
class TrainedRun:
    """A training run, and the name and arguments of its model."""

    run: Run
    model: Json

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the (height, width, channels) of its images."""
        return tuple(self.model["args"].get("input_shape") or ())

    @property
    def is_of_photos(self) -> bool:
        return len(self.shape) == 3 and self.shape[2] == 3

    @property
    def style(self) -> str:
        """Return how a user's own gray images are converted to resemble the training images."""
        return "digits" if self.run.record["data"].get("name") in ("mnist", "digits") else "plain"

    def add_defaults(self, overrides: Overrides, here: Machine, photos: bool) -> Overrides:
        """Add the run's backend and stack. For photos, also add the resizing of training.

        If the run was trained on a CPU, photos are predicted by the fastest CPU stack.
        """
        if not photos:
            return trained_run.add_defaults(overrides, here)
        overrides = self.with_resize(overrides)
        if self.run.record["device_kind"] == "cpu":
            return fastest(overrides, here)
        return trained_run.add_defaults(overrides, here)

    def with_resize(self, overrides: Overrides) -> Overrides:
        """Add the ``resize`` setting of training."""
        if not self.is_of_photos or overrides.get("resize") is not None:
            return overrides
        return overrides.with_("run", {"resize": self.run.record["config"]["data"].get("resize", "stretch")})

    def classifier(self, _: RunContext[ClassifierConfig] | None = None, __: ArrayDataset | None = None) -> Classifier:
        """Return the network for images with any number of channels."""
        height, width, _channels = self.shape
        classes = [str(name) for name in self.run.record["data"]["class_names"]]
        outputs = (self.model.get("args") or {}).get("classes")
        if isinstance(outputs, int) and outputs != len(classes):
            raise ZooError(
                f"The record of {self.run.folder} names {len(classes)} classes, but its model has {outputs}",
                "run.json was changed. Train again, or restore it.",
            )
        weights, record = self.run.folder / "weights.npz", {"trained_run": str(self.run.folder)}
        kind = (self.model.get("target") or {"kind": CLASSES})["kind"]
        limits = None if kind != LABELS else target_analysis.thresholds(self.run.record, len(classes))
        return Classifier(self.model, (height, width), weights, classes, record, kind, limits)
