"""Settings for training image classifiers."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from zoo.config.schemas import common
from zoo.config.schemas.launching import Shareable
from zoo.config.schemas.text import LabelledData, delimiter_problem
from zoo.config.setting import PLACE, SPEED, like, setting
from zoo.core.errors import listed

NORMALIZATIONS = ("model", "unit", "symmetric", "standard", "raw")
_TABLE, _OWN = "data.name=image_table", "data.name=folder|image_table"


@dataclass
class FineTune:
    """Fine-tuning of a network with trained weights."""

    head_epochs: int = setting(
        0, "passes over the training images, without augmentation, in which only the last layer learns", at_least=0,
        at_most=100_000, needs="weights")  # fmt: skip
    head_learning_rate: float = setting(
        0.003, "highest learning rate of head_epochs", at_least=1e-9, at_most=10,
        needs="weights and fine_tune.head_epochs")  # fmt: skip
    probe: int = setting(
        1_000, "up to this number of training images, a logistic regression on features competes with fine-tuning; 0 "
        "turns it off", at_least=0, at_most=20_000, needs="weights and fine_tune.head_epochs")  # fmt: skip
    unfreeze_from: str | None = setting(
        None, "first layer that learns in trainer.epochs; null means all layers", needs="weights"
    )
    unfreeze_share: float | None = setting(
        None, "share of the layers, counted from the last, that learns in trainer.epochs; instead of unfreeze_from",
        at_least=0, at_most=1, needs="weights")  # fmt: skip
    freeze_normalization: bool = setting(
        True, "keep normalization layers and their statistics unchanged, also in trainer.epochs", needs="weights"
    )


@dataclass
class Freeze:
    """How to stop training the first layers early, for speed (Brock et al. 2017, FreezeOut)."""

    before: str | None = setting(None, "layers before this one stop learning early; null means none")
    after: float = setting(
        0.25, "share of the steps of trainer.epochs after which they stop", at_least=0, at_most=1,
        needs="freeze.before")  # fmt: skip


@dataclass
class Augment:
    flip: bool = setting(False, "mirror every other image, left to right")
    crop: float = setting(
        0.0, "largest shift of an image as a share of its edge; the gap is filled by reflection", at_least=0,
        at_most=0.5)  # fmt: skip
    color: float = setting(
        0.0, "largest change of brightness, contrast and saturation, as a share", at_least=0, at_most=0.9
    )
    randaugment: int = setting(
        0, "operations drawn for each image, such as 2 (RandAugment, Cubuk et al. 2019)", at_least=0, at_most=14
    )
    magnitude: float = setting(
        9.0, "strength of the operations of randaugment", at_least=0, at_most=30, needs="augment.randaugment"
    )
    mixup: float = setting(
        0.0, "mix each image and its label with another's, by shares from Beta(mixup, mixup), such as 0.2 (Zhang et "
        "al. 2017); 0 mixes nothing", at_least=0, at_most=100)  # fmt: skip


@dataclass
class TableReading(common.TestData):
    """How a table with the classes of images is read."""

    images: str | None = setting(
        None, "folder of the images that a table of labels names; null: the folder of the table", literal=True,
        affects=PLACE, adjustable=True, placeholder="IMAGES", needs=_TABLE)  # fmt: skip
    image_column: str | None = setting(
        None, "column of a table with files or ids of images: its name, or its number from 0; null detects it",
        literal=True, needs=_TABLE)  # fmt: skip
    label_column: str | None = like(LabelledData, "label_column", default=None, needs=_TABLE)
    target: str | None = like(LabelledData, "target", needs=_TABLE)
    encoding: str = like(LabelledData, "encoding", needs=_TABLE)
    delimiter: str = like(LabelledData, "delimiter", needs=_TABLE)
    quoting: str = like(LabelledData, "quoting", needs=_TABLE)
    header: bool | None = like(LabelledData, "header", needs=_TABLE)
    group: str | None = setting(
        None, "column of a table, such as patient_id, or part2 of file names such as S1_P07_3, or folder2 of paths: "
        "images with the same value stay in the same part of the data", literal=True, needs=_OWN)  # fmt: skip

    def checks(self) -> list[str | None]:
        return [delimiter_problem(self.delimiter)]


@dataclass
class DataSettings(TableReading, common.TrainingData):
    """The fields of an image data set that users can set."""

    name: str = setting("auto")
    test: float = setting(
        0.1, "share of all images set aside for testing, if the data have no test part", at_least=0, at_most=0.9,
        needs=_OWN)  # fmt: skip
    layout: str = setting(
        "auto", "how folders are read: auto recognizes train, val and test; classes takes every folder as a class",
        choices=("auto", "classes"), needs="data.name=folder")  # fmt: skip
    size: int | None = setting(
        None, "edge of your own images in pixels; null means the size of the model, or 64 if it takes any",
        at_least=4, at_most=1024, needs=_OWN)  # fmt: skip
    resize: str = setting(
        "stretch", "how images are resized; crop keeps the center and the proportions", choices=common.RESIZES,
        needs=_OWN)  # fmt: skip
    normalize: str = setting(
        "model", "range of the pixels: model (the range that it was designed for), unit (0 to 1), symmetric (-1 to "
        "1), standard (mean 0, deviation 1) or raw (0 to 255)", choices=NORMALIZATIONS)  # fmt: skip
    strict: bool = like(LabelledData, "strict", needs=_OWN)
    balance: bool = setting(False, "weight the training images so that all classes count equally")


@dataclass
class TrainConfig(common.Seeded, Shareable, common.Tracking, common.Settings):
    """Settings of ``train`` for an image classifier."""

    shorthands: ClassVar[dict[str, str]] = common.CHECKSUM

    model: common.Arguments = field(default_factory=dict)
    data: DataSettings = field(default_factory=DataSettings)
    trainer: common.Trainer = field(default_factory=common.Trainer)
    fine_tune: FineTune = field(default_factory=FineTune)
    freeze: Freeze = field(default_factory=Freeze)
    augment: Augment = field(default_factory=Augment)
    weights: str = setting(
        "none", "initial weights: zoo or zoo/NAME (the zoo's own), imagenet (published), a file, or none (random)",
        literal=True)  # fmt: skip
    weights_checksum: str | None = common.checksum_setting()
    preset: str = setting("full")
    expect: dict[str, Any] = setting({}, "expected result of the recipe, by data set", affects=SPEED)
    output: common.TrainingOutput = field(default_factory=common.TrainingOutput)

    def checks(self) -> list[str | None]:
        wanted, size = self.model.get("input_size"), self.data.size
        other_size = wanted is not None and size not in (None, wanted)
        no_epochs = not self.trainer.epochs and (not self.fine_tune.head_epochs or self.weights == "none")
        epochs = "trainer.epochs must be at least 1, got 0; 0 is valid only with fine_tune.head_epochs and weights"
        given = [f"augment.{name}" for name, value in vars(self.augment).items() if value and name != "magnitude"]
        placement = f"data.placement=device does not support augmentation: remove {listed(given)}"
        return [
            f"data.size is {size}, but model.input_size is {wanted}: remove data.size" if other_size else None,
            epochs if no_epochs else None,
            placement if self.data.placement == "device" and given else None,
            common.checksum_problem(self.weights_checksum, self.weights),
        ]
