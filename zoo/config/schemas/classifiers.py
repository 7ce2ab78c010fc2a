"""Settings for using image classifiers: predictions, features, and evaluation on labeled data."""

import re
from dataclasses import dataclass, field
from typing import ClassVar

from zoo.config.schemas import common
from zoo.config.schemas.image_classification import TableReading
from zoo.config.setting import setting

SCALES = ("0..1", "-1..1", "imagenet", "none")
KINDS = ("predictions", "features")


@dataclass
class InferOutput(common.Output):
    kind: str = setting(
        "predictions", "predictions, or features: the output of a layer for each image, in features.npy. "
        "features.csv lists the images; short form: output=features", choices=KINDS)  # fmt: skip
    layer: str | None = setting(None, "layer of the features; null means the last but one", literal=True)

    def checks(self) -> list[str | None]:
        without = "output.layer is for features only: add output=features, or remove it"
        return [without if self.layer and self.kind != "features" else None]


@dataclass
class ClassifierConfig(common.Settings):
    """Settings of every command that uses an image classifier."""

    shorthands: ClassVar[dict[str, str]] = common.CHECKSUM

    model: common.Arguments = field(default_factory=dict)
    run: str | None = common.run_setting()
    weights: str = setting(
        "none", "without a run: zoo or zoo/NAME (the zoo's own weights), imagenet (published weights), or a file",
        literal=True)  # fmt: skip
    weights_checksum: str | None = common.checksum_setting()
    classes: str | None = setting(
        None, "without a run: file with the class names, one per line or as JSON; null searches next to the "
        "weights", literal=True)  # fmt: skip
    scale: str | None = setting(
        None, "without a run: range of the pixels; none is 0 to 255; null takes it from the file of weights or the "
        "saved model", choices=SCALES, literal=True)  # fmt: skip
    size: str = setting(
        "auto", "edge in pixels for a saved model that takes images of any size; auto takes it from the file",
        literal=True)  # fmt: skip
    batch_size: int | None = setting(
        None, "images per batch; null means 32 for color, 128 for grayscale", at_least=1, at_most=65_536
    )
    resize: str = setting(
        "stretch", "how images are resized; crop keeps the center, nearest uses the pixels of keras.utils.load_img",
        choices=common.RESIZES)  # fmt: skip
    precision: str = setting(
        "float32", "lower precision is faster and less exact; auto uses it if it is faster and changes fewer than 1 "
        "in 200 predictions", choices=("auto", *common.PRECISIONS))  # fmt: skip

    @property
    def wants_features(self) -> bool:
        return False

    def checks(self) -> list[str | None]:
        return [self._classifier_check(), common.checksum_problem(self.weights_checksum, self.weights)]

    def _classifier_check(self) -> str | None:
        if not self.run and not self.model:
            return (
                "run is missing: give run=RUN_FOLDER, run=last, or model=NAME with weights=zoo, weights=imagenet or "
                "weights=PATH"
            )
        if "saved" in self.model:
            return self._saved_check()
        if self.size != "auto":
            return "size= is for saved models (model=FILE.keras or model=FILE.h5); use model.input_size= instead"
        if self.run and (self.classes or self.scale):
            return f"run={self.run} has its own classes and scaling: remove classes= and scale="
        if self.run and self.weights == "none" and "file" in self.model:
            return None
        if "file" in self.model:
            return (
                f"run is missing: give run=RUN_FOLDER, a run trained with {self.model['name']}. Without a "
                "run, save the whole network, model.save('NAME.keras'), and give model=NAME.keras"
            )
        if self.run and (self.model or self.weights != "none"):
            return f"run={self.run} has its own model and weights: remove model= and weights=, or run="
        if self.model and self.weights == "none":
            return (
                "weights is missing: give weights=zoo (see `python -m zoo list weights`), weights=imagenet, or a PATH"
            )
        return None

    def _saved_check(self) -> str | None:
        name = self.model["name"]
        if self.run or self.weights != "none":
            return f"{name} has its own weights: remove weights= and run="
        if self.size != "auto" and not re.fullmatch(r"[1-9]\d{0,3}", self.size):
            return f"size must be auto or a number of pixels, got {self.size!r}"
        return None


@dataclass
class InferConfig(ClassifierConfig):
    shorthands: ClassVar[dict[str, str]] = common.CHECKSUM | {"output": "output.kind"}

    output: InferOutput = field(default_factory=InferOutput)
    input: str | None = setting(
        None, "image, folder of images, - for paths on standard input, .npy array, or test: the run's test images",
        literal=True)  # fmt: skip
    data: common.TestData = field(default_factory=common.TestData)
    top: int | None = setting(
        None, "classes to show for each image, most likely first; null means 5 for color, 1 for grayscale",
        at_least=1, at_most=1000)  # fmt: skip
    sheets: int = setting(10, "largest number of contact sheets", at_least=0, at_most=10_000)
    probabilities: bool = setting(False, "write the probabilities of all classes to probabilities.npy")

    @property
    def wants_features(self) -> bool:
        return self.output.kind == "features"

    def checks(self) -> list[str | None]:
        missing = "input is missing: give input=IMAGE, a folder, -, a .npy array, or input=test"
        needless = "output=features writes no probabilities: remove probabilities=true"
        classless = "precision=auto compares classes, and output=features has none: name a precision"
        return [
            *super().checks(), needless if self.probabilities and self.wants_features else None,
            classless if self.precision == "auto" and self.wants_features else None, None if self.input else missing,
        ]  # fmt: skip


@dataclass
class EvaluationData(TableReading):
    """The labeled images for evaluation: a folder per class, a table, or a data set of the zoo."""

    name: str = setting("folder")

    def checks(self) -> list[str | None]:
        texts = f"data={self.name} contains texts; give images for an image classifier: data=folder data.root=DIR"
        return [*super().checks(), texts if self.name.startswith("text_") else None]


@dataclass
class EvaluateConfig(ClassifierConfig):
    data: EvaluationData = field(default_factory=EvaluationData)

    @property
    def uses_own_data(self) -> bool:
        """Return True if no data is named, so that the run's own test part is used."""
        return self.data.name == "folder" and self.data.root is None

    def checks(self) -> list[str | None]:
        missing = (
            "data is missing: give data=folder data.root=DIR with a folder for each class, or data=mnist, fashion or "
            "digits. run=RUN alone evaluates the test part of the run's data"
        )
        return [*super().checks(), missing if self.uses_own_data and not self.run else None]
