"""Settings for using classifiers of images: on images, for their features, and on labelled data."""

import re
from dataclasses import dataclass, field
from typing import ClassVar

from zoo.config import ranges
from zoo.config.ranges import ANSWER_PRECISIONS, RESIZES, one_of, within, within_or_null
from zoo.config.schemas.common import CHECKSUM, Arguments, Output, Settings, TestData, literal

SCALES = ("0..1", "-1..1", "imagenet", "none")
KINDS = ("predictions", "features")


@dataclass
class InferOutput(Output):
    """Where the run folder goes, and what is written into it.

    Attributes:
        kind: predictions; or features, what a layer makes of every image: features.npy, with the names of the images
            in features.csv. output=features is short for output.kind=features.
        layer: of features, the layer; null means the one before the last.
    """

    kind: str = "predictions"
    layer: str | None = literal()

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        without = "output.layer is for features only: add output=features, or remove it"
        needless = without if self.layer and self.kind != "features" else None
        return [one_of("output.kind", self.kind, KINDS), needless]


@dataclass
class ClassifierConfig(Settings):
    """Settings of everything that uses a classifier of images.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        weights: without a run: zoo, the zoo's own, or zoo/NAME; imagenet, the published ones; or a file.
        weights_checksum: sha256 that the file of weights must have; weights.checksum= is the same.
        classes: without a run: file with the names of the classes, one a line or JSON; null looks beside the weights.
        scale: without a run: what pixels are made to be: 0..1, -1..1, imagenet or none, which is 0 to 255; null means
            what the file of weights or of the saved model tells.
        size: of a saved model that takes images of any size: edge in pixels; auto takes that of the file.
        stack: name of the stack to use; null means the fastest here, or the run's own where the backend has it.
        batch_size: images at a time; null means 32 for color, 128 for grayscale.
        resize: how images get the network's size: stretch; crop, which keeps the middle; nearest, as Keras does.
        precision: float32; float16 or bfloat16, faster and less exact, where the processor supports them; auto: one
            of these where it gives less than one in 200 of the first 600 images another class, and is faster.
    """

    shorthands: ClassVar[dict[str, str]] = CHECKSUM

    model: Arguments = field(default_factory=dict)
    run: str | None = literal()
    weights: str = literal("none")
    weights_checksum: str | None = literal()
    classes: str | None = literal()
    scale: str | None = literal()
    size: str = literal("auto")
    batch_size: int | None = None
    resize: str = "stretch"
    precision: str = "float32"

    @property
    def wants_features(self) -> bool:
        """Return whether the output of a layer is asked for, and no classes."""
        return False

    def classifier_checks(self) -> list[str | None]:
        """Return what is missing or out of range, None for what is not."""
        return [
            within_or_null("batch_size", self.batch_size, 1, 65_536),
            one_of("resize", self.resize, RESIZES),
            one_of("precision", self.precision, ANSWER_PRECISIONS),
            self._classifier_check(),
            ranges.checksum(self.weights_checksum, self.weights),
            *ranges.model_problems(self.model),
        ]

    def _classifier_check(self) -> str | None:
        if not self.run and not self.model:
            return (
                "run is missing: give run=RUN_FOLDER, run=last, or model=NAME with weights=zoo, weights=imagenet or "
                "weights=PATH"
            )
        if "saved" in self.model:
            return self._saved_check()
        if self.size != "auto":
            return "size= is for saved models, model=FILE.keras or model=FILE.h5; others have model.input_size="
        if self.run and (self.classes or self.scale):
            return f"run={self.run} has its own classes and scaling: remove classes= and scale="
        if self.run and self.weights == "none" and "file" in self.model:
            return None
        if "file" in self.model:
            return f"run is missing: give run=RUN_FOLDER, of a run that was trained with {self.model['name']}"
        if self.run and (self.model or self.weights != "none"):
            return f"run={self.run} has its own model and weights: remove model= and weights=, or run="
        if self.model and self.weights == "none":
            return (
                "weights is missing: give weights=zoo (see `python -m zoo list weights`), weights=imagenet, or a PATH"
            )
        return one_of("scale", self.scale, SCALES) if self.scale else None

    def _saved_check(self) -> str | None:
        name = self.model["name"]
        if self.run or self.weights != "none":
            return f"{name} has its own weights: remove weights= and run="
        if self.size != "auto" and not re.fullmatch(r"[1-9]\d{0,3}", self.size):
            return f"size must be auto or a number of pixels, got {self.size!r}"
        return one_of("scale", self.scale, SCALES) if self.scale else None


@dataclass
class InferConfig(ClassifierConfig):
    """Settings of ``infer`` with a classifier of images.

    Attributes:
        input: image, folder of images, ``-`` for paths on standard input, .npy array, or ``test``, the run's.
        top: how many classes are shown of each image, likeliest first; null means 5 for color, 1 for grayscale.
        sheets: pages of contact sheets at most.
        probabilities: keep all of them, in probabilities.npy, and not only the best.
    """

    shorthands: ClassVar[dict[str, str]] = CHECKSUM | {"output": "output.kind"}

    output: InferOutput = field(default_factory=InferOutput)
    input: str | None = literal()
    data: TestData = field(default_factory=TestData)
    top: int | None = None
    sheets: int = 10
    probabilities: bool = False

    @property
    def wants_features(self) -> bool:
        """Return whether the output of a layer is asked for, and no classes."""
        return self.output.kind == "features"

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        missing = "input is missing: give input=IMAGE, a folder, -, a .npy array, or input=test"
        needless = "output=features writes no probabilities: remove probabilities=true"
        classless = "precision=auto compares classes, and output=features has none: name a precision"
        return ranges.problems(
            [
                *self.classifier_checks(),
                within("sheets", self.sheets, 0, 10_000),
                within_or_null("top", self.top, 1, 1000),
                *self.data.checks(),
                *self.output.checks(),
                needless if self.probabilities and self.wants_features else None,
                classless if self.precision == "auto" and self.wants_features else None,
                None if self.input else missing,
            ]
        )


@dataclass
class EvaluationData:
    """The labelled images that a classifier is evaluated on.

    Attributes:
        root: folder of images, one folder a class, or with such folders below test/ or val/; of other data sets, the
            folder with their files.
        test_limit: use only this many images: the first of a data set, of a folder in turn from each class.
    """

    name: str = "folder"
    root: str | None = literal()
    test_limit: int | None = None

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        texts = f"data={self.name} holds texts, and classifiers of images are evaluated: data=folder data.root=DIR"
        return [
            within_or_null("data.test_limit", self.test_limit, 1, 10**9),
            texts if self.name.startswith("text_") else None,
        ]


@dataclass
class EvaluateConfig(ClassifierConfig):
    """Settings of ``evaluate`` with a classifier of images."""

    data: EvaluationData = field(default_factory=EvaluationData)

    @property
    def uses_own_data(self) -> bool:
        """Return whether the run's own test part is meant, because no data are named."""
        return self.data.name == "folder" and self.data.root is None

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        missing = (
            "data is missing: give data=folder data.root=DIR with a folder for each class, or data=mnist, fashion or "
            "digits; run=RUN alone takes the test part of its own data"
        )
        return ranges.problems(
            [
                *self.classifier_checks(),
                *self.data.checks(),
                missing if self.uses_own_data and not self.run else None,
            ]
        )
