"""Settings for training and applying feed-forward style networks."""

from dataclasses import dataclass, field

from zoo.config import ranges
from zoo.config.ranges import FEATURE_NETWORKS, FEATURE_PRECISIONS, OPTIMIZERS, PRECISIONS, one_of, within
from zoo.config.schemas.common import Arguments, Settings, literal
from zoo.config.schemas.style_transfer import LossWeights

TILES = (64, 4096)
SCHEDULES = ("constant", "cosine")
UPSAMPLING = ("nearest", "transposed")


@dataclass
class StyleTrainer:
    """How to train a feed-forward style network.

    Attributes:
        steps: optimizer steps.
        report: steps between two reports; each stores the current weights and a sample.
        batch_size: crops of photos per step.
        size: edge of these crops in pixels.
        optimizer: adam, momentum, rmsprop or sgd.
        learning_rate: the highest learning rate.
        schedule: constant, or cosine: falls to a hundredth along half a cosine.
        warmup: share of all steps in which the learning rate rises.
    """

    steps: int = 2000
    report: int = 100
    batch_size: int = 4
    size: int = 256
    optimizer: str = "adam"
    learning_rate: float = 0.002
    schedule: str = "cosine"
    warmup: float = 0.02

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            within("trainer.steps", self.steps, 1, 10_000_000),
            within("trainer.report", self.report, 1, 100_000),
            within("trainer.batch_size", self.batch_size, 1, 256),
            within("trainer.size", self.size, 32, 1024),
            f"trainer.size must be a multiple of 4, got {self.size}" if self.size % 4 else None,
            within("trainer.learning_rate", self.learning_rate, 1e-9, 10.0),
            within("trainer.warmup", self.warmup, 0.0, 0.9),
            one_of("trainer.optimizer", self.optimizer, OPTIMIZERS),
            one_of("trainer.schedule", self.schedule, SCHEDULES),
        ]


def _loss_weights() -> LossWeights:
    return LossWeights(style=5.0, content=1.0, total_variation=0.1)


@dataclass
class StyleNetworkConfig(Settings):
    """Settings of ``train model=style_transfer/fast``.

    Attributes:
        style: the painting; null means one that comes with the zoo.
        style_size: its shorter side in pixels, to which it is scaled first; larger gives larger strokes.
        photos: folder of photos; null means two that come with scikit-learn.
        features: the feature network: vgg19, vgg16, squeezenet, random; auto: one that has weights here.
        feature_weights: its weights: a file, or the folder of a model.json; random needs none.
        precision: of the feature network: float32, bfloat16 (Keras 3), or auto: bfloat16 where that is faster.
        seed: random seed for weight initialization, the random features and the crops of the photos.
        stack: name of the stack to use; null means the backend's best for this machine.
    """

    model: Arguments = field(default_factory=dict)
    style: str | None = literal()
    style_size: int = 256
    photos: str | None = literal()
    features: str = "auto"
    feature_weights: str | None = literal()
    strength: LossWeights = field(default_factory=_loss_weights)
    trainer: StyleTrainer = field(default_factory=StyleTrainer)
    precision: str = "auto"
    seed: int = 1

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        return ranges.problems(
            [
                within("style_size", self.style_size, 32, 2048),
                one_of("features", self.features, FEATURE_NETWORKS),
                *self.trainer.checks(),
                one_of("precision", self.precision, FEATURE_PRECISIONS),
                *self._model_checks(),
                ranges.seed(self.seed),
                *self.strength.checks(1e9),
            ]
        )

    def _model_checks(self) -> list[str | None]:
        kernel_size = self.model["kernel_size"]
        return [
            one_of("model.upsampling", self.model["upsampling"], UPSAMPLING),
            within("model.filters", self.model["filters"], 1, 256),
            within("model.blocks", self.model["blocks"], 0, 64),
            within("model.kernel_size", kernel_size, 1, 31),
            f"model.kernel_size must be odd, got {kernel_size}" if kernel_size % 2 == 0 else None,
        ]


@dataclass
class RestyleConfig(Settings):
    """Settings of ``infer model=style_transfer/fast``.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        weights: a published network instead: folder of a manifest.json, or a file of weights.
        input: image, animated image, or folder of images or of the frames of a film.
        save: file or folder for the result; its suffix selects the format; null means inside the run folder.
        overwrite: replace images that exist already.
        tile: edge in pixels of the tiles that large images are computed in; smaller takes less memory.
        precision: float32; float16 or bfloat16, faster and less exact, where stack and processor support them.
        stack: name of the stack to use; null means the run's own, or the backend's best.
    """

    model: Arguments = field(default_factory=dict)
    run: str | None = literal()
    weights: str | None = literal()
    input: str | None = literal()
    save: str | None = literal()
    overwrite: bool = False
    tile: int = 512
    precision: str = "float32"

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        one_source = bool(self.run) != bool(self.weights)
        return ranges.problems(
            [
                within("tile", self.tile, *TILES),
                one_of("precision", self.precision, PRECISIONS),
                None if one_source else "give either run=RUN_FOLDER (or run=last) or weights=FILE_OR_FOLDER",
                None if self.input else "input is missing: give input=IMAGE, or a folder of images",
            ]
        )
