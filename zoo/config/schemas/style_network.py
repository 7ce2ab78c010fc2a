"""Settings for training and applying feed-forward style networks."""

from dataclasses import dataclass, field

from zoo.config import ranges
from zoo.config.ranges import FEATURE_NETWORKS, FEATURE_PRECISIONS, OPTIMIZERS, PRECISIONS, one_of, within
from zoo.config.schemas.common import Arguments, Settings, TrainingOutput, literal
from zoo.config.schemas.distributed import Shareable
from zoo.config.schemas.style_transfer import COLORS, MAX_STYLES, LossWeights, style_weights_problem

ANY = "style_transfer/any"
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
        checkpoint_minutes: time between two checkpoints, from which train resume=RUN continues.
    """

    steps: int = 2000
    report: int = 100
    batch_size: int = 4
    size: int = 256
    optimizer: str = "adam"
    learning_rate: float = 0.002
    schedule: str = "cosine"
    warmup: float = 0.02
    checkpoint_minutes: float = 1.0

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
            within("trainer.checkpoint_minutes", self.checkpoint_minutes, 0.0, 10_000.0),
            one_of("trainer.optimizer", self.optimizer, OPTIMIZERS),
            one_of("trainer.schedule", self.schedule, SCHEDULES),
        ]


def _loss_weights() -> LossWeights:
    return LossWeights(style=10.0, content=1.0, total_variation=0.1)


@dataclass
class StyleNetworkConfig(Shareable, Settings):
    """Settings of ``train model=style_transfer/fast``.

    Attributes:
        weights: start from a trained network: zoo/NAME, a file, or the folder of a published one; null: from none.
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
    weights: str | None = literal()
    style: str | None = literal()
    style_size: int = 256
    photos: str | None = literal()
    features: str = "auto"
    feature_weights: str | None = literal()
    strength: LossWeights = field(default_factory=_loss_weights)
    trainer: StyleTrainer = field(default_factory=StyleTrainer)
    precision: str = "auto"
    seed: int = 1
    output: TrainingOutput = field(default_factory=TrainingOutput)

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        if self.model["name"] == ANY:
            return [f"{ANY} is used as it was published; train style_transfer/fast"]
        return ranges.problems(
            [
                within("style_size", self.style_size, 32, 2048),
                one_of("features", self.features, FEATURE_NETWORKS),
                *self.trainer.checks(),
                *self.distributed.checks(),
                *self.output.checks(),
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
    """Settings of ``infer model=style_transfer/fast`` and ``infer model=style_transfer/any``.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        weights: a network instead: zoo/NAME, folder of a manifest.json, or a file of weights; for any: the folder of
            the published files, which are downloaded otherwise.
        input: image, animated image, video (with ffmpeg), or folder of images or of the frames of a film.
        style: the painting, for model=style_transfer/any.
        styles: several paintings instead of one: [a.jpg,b.jpg].
        style_weights: weight of each of them: [2,1]; empty weights all the same.
        strength: 1 is the style, 0 the photo.
        size: longer side of the result in pixels; 0 means that of the photo.
        colors: style takes the painting's colors, content keeps the photo's.
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
    style: str | None = literal()
    styles: list[str] = field(default_factory=list)
    style_weights: list[float] = field(default_factory=list)
    strength: float = 1.0
    size: int = 0
    colors: str = "style"
    save: str | None = literal()
    overwrite: bool = False
    tile: int = 512
    precision: str = "float32"

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        return ranges.problems(
            [
                within("tile", self.tile, *TILES),
                within("strength", self.strength, 0.0, 1.0),
                within("size", self.size, 16, 32_768) if self.size else None,
                one_of("colors", self.colors, COLORS),
                one_of("precision", self.precision, PRECISIONS),
                None if self.input else "input is missing: give input=IMAGE, or a folder of images",
                *(self._any_checks() if self.takes_any else self._fast_checks()),
            ]
        )

    @property
    def takes_any(self) -> bool:
        """Whether the network takes any painting."""
        return self.model.get("name") == ANY

    def _fast_checks(self) -> list[str | None]:
        one_source = bool(self.run) != bool(self.weights)
        return [
            None if one_source else "give either run=RUN_FOLDER (or run=last) or weights=FILE_OR_FOLDER",
            f"a style network has one style of its own; style= is for model={ANY}" if self.style else None,
            f"a style network has one style of its own; styles= is for model={ANY}" if self.styles else None,
        ]

    def _any_checks(self) -> list[str | None]:
        count = len(self.styles) or 1
        return [
            f"{ANY} is not trained here: run= is for style_transfer/fast" if self.run else None,
            None if bool(self.style) != bool(self.styles) else "give either style=PAINTING or styles=[A,B]",
            f"styles must be at most {MAX_STYLES}, got {count}" if count > MAX_STYLES else None,
            style_weights_problem(self.style_weights, count),
        ]
