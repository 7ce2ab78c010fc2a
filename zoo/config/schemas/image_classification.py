"""Settings for training and using classifiers of images."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from zoo.config import ranges
from zoo.config.ranges import RESIZES, one_of, within, within_or_null
from zoo.config.schemas.common import CHECKSUM, Arguments, Settings, Tracking, Trainer, TrainingOutput, literal
from zoo.config.schemas.distributed import Shareable

NORMALIZATIONS = ("model", "unit", "symmetric", "standard", "raw")


LAYOUTS = ("auto", "classes")


@dataclass
class FineTune:
    """How to train a network that starts from trained weights.

    Attributes:
        head_epochs: passes over the unaltered training images in which only the last layer learns; 0 for none.
        head_learning_rate: the highest learning rate of these.
        unfreeze_from: the first layer that learns in the epochs after them, trainer.epochs; null means all layers.
        unfreeze_share: instead: the share of all layers, counted from the last, that learns in these epochs.
        freeze_normalization: keep normalization layers, their statistics included, as they are in these too.
    """

    head_epochs: int = 0
    head_learning_rate: float = 0.003
    unfreeze_from: str | None = None
    unfreeze_share: float | None = None
    freeze_normalization: bool = True

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            within("fine_tune.head_epochs", self.head_epochs, 0, 100_000),
            within("fine_tune.head_learning_rate", self.head_learning_rate, 1e-9, 10.0),
            within_or_null("fine_tune.unfreeze_share", self.unfreeze_share, 0.0, 1.0),
        ]


@dataclass
class Freeze:
    """How to stop training the first layers before the others, for speed (Brock et al. 2017, FreezeOut).

    Attributes:
        before: the layers before this one stop learning; null means that all learn to the end.
        after: the share of the steps of trainer.epochs after which they do.
    """

    before: str | None = None
    after: float = 0.25

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [within("freeze.after", self.after, 0.0, 1.0)]


@dataclass
class Augment:
    """How to alter images while training on them, differently each time.

    Attributes:
        flip: mirror every other image, left to right.
        crop: share of the edge by which images are shifted at most; what comes in is mirrored.
        color: share by which brightness, contrast and saturation change at most.
        randaugment: operations drawn for each image, such as 2 (RandAugment, Cubuk et al. 2019); 0 for none.
        magnitude: strength of these, 0 to 30.
        mixup: mix every image and its label with another's, by shares drawn from Beta(mixup, mixup), such as 0.2
            (Zhang et al. 2017); 0 mixes nothing.
    """

    flip: bool = False
    crop: float = 0.0
    color: float = 0.0
    randaugment: int = 0
    magnitude: float = 9.0
    mixup: float = 0.0

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            within("augment.crop", self.crop, 0.0, 0.5),
            within("augment.color", self.color, 0.0, 0.9),
            within("augment.randaugment", self.randaugment, 0, 14),
            within("augment.magnitude", self.magnitude, 0.0, 30.0),
            within("augment.mixup", self.mixup, 0.0, 100.0),
        ]


@dataclass
class DataSettings:
    """What can be set of a data set; the rest of its row is fixed.

    Attributes:
        root: folder that holds the files; null means the zoo's cache, filled by download.
        train_limit: use only this many training images.
        test_limit: use only this many test images.
        validation: share of the training images set aside to choose the best epoch.
        test: share of all images set aside for testing, of a folder without a test part.
        layout: how the folders of a data set are read: auto, or classes, where every folder is a class.
        size: edge of your own images in pixels; null means what the model asks for.
        resize: how they get it: stretch; crop, which keeps the middle and the proportions; nearest.
        normalize: model, as it was made for; unit, 0 to 1; symmetric, -1 to 1; standard, mean 0 and deviation 1; raw.
        strict: refuse a folder with images that cannot be read, instead of leaving them out.
        balance: weight the training images so that every class counts the same.
    """

    name: str = "auto"
    root: str | None = literal()
    train_limit: int | None = None
    test_limit: int | None = None
    validation: float = 0.1
    test: float = 0.1
    layout: str = "auto"
    size: int | None = None
    resize: str = "stretch"
    normalize: str = "model"
    strict: bool = False
    balance: bool = False

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            within("data.validation", self.validation, 0.0, 0.9),
            within("data.test", self.test, 0.0, 0.9),
            within_or_null("data.size", self.size, 4, 1024),
            one_of("data.resize", self.resize, RESIZES),
            one_of("data.layout", self.layout, LAYOUTS),
            one_of("data.normalize", self.normalize, NORMALIZATIONS),
            within_or_null("data.train_limit", self.train_limit, 1, 10**9),
            within_or_null("data.test_limit", self.test_limit, 1, 10**9),
        ]


@dataclass
class TrainConfig(Shareable, Tracking, Settings):
    """Settings of ``train`` for a classifier of images.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        weights: to start from: zoo, the zoo's own, or zoo/NAME; imagenet, the published ones; a file; none, random
            ones.
        weights_checksum: sha256 that the file of weights must have; weights.checksum= is the same.
        seed: random seed for the split, weight initialization, shuffling and the framework.
        expect: the result that the recipe promises, by data set.
    """

    shorthands: ClassVar[dict[str, str]] = CHECKSUM

    model: Arguments = field(default_factory=dict)
    data: DataSettings = field(default_factory=DataSettings)
    trainer: Trainer = field(default_factory=Trainer)
    fine_tune: FineTune = field(default_factory=FineTune)
    freeze: Freeze = field(default_factory=Freeze)
    augment: Augment = field(default_factory=Augment)
    weights: str = literal("none")
    weights_checksum: str | None = literal()
    preset: str = "full"
    seed: int = 1
    expect: dict[str, Any] = field(default_factory=dict)
    output: TrainingOutput = field(default_factory=TrainingOutput)

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        parts = (self.trainer, self.fine_tune, self.freeze, self.augment, self.data, self.output, self.distributed)
        checks = [check for part in parts for check in part.checks()]
        checks += [ranges.seed(self.seed), self._size_check(), self._epochs_check()]
        checks += [ranges.checksum(self.weights_checksum, self.weights)]
        return ranges.problems([*checks, *ranges.model_problems(self.model)])

    def _epochs_check(self) -> str | None:
        if self.trainer.epochs or (self.fine_tune.head_epochs and self.weights != "none"):
            return None
        return "trainer.epochs must be at least 1 unless fine_tune.head_epochs come before them, got 0"

    def _size_check(self) -> str | None:
        wanted = self.model.get("input_size")
        if wanted is None or self.data.size in (None, wanted):
            return None
        return f"data.size is {self.data.size}, but model.input_size is {wanted}: leave data.size out"
