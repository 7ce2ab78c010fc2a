"""What training and using a feed-forward style network are told."""

from dataclasses import dataclass, field
from typing import Any

from zoo.config.schemas.common import INFERENCE_PRECISIONS, OPTIMIZERS, Settings, one_of, within

TILES = (64, 4096)
NETWORKS = ("auto", "vgg19", "vgg16", "squeezenet", "random")
SCHEDULES = ("constant", "cosine")
PRECISIONS = ("auto", "float32", "bfloat16")
UPSAMPLING = ("nearest", "transposed")


@dataclass
class StyleTrainer:
    """How to train a feed-forward style network.

    Attributes:
        steps: optimizer steps.
        report: steps from one report to the next; each leaves the weights so far and a sample.
        batch_size: pieces of photos per step.
        size: edge of these pieces in pixels.
        optimizer: adam, momentum, rmsprop or sgd.
        learning_rate: the highest learning rate.
        schedule: constant, or cosine: falls to a hundredth along half a cosine.
        warmup: share of all steps that climb to the learning rate.
    """

    steps: int = 2000
    report: int = 100
    batch_size: int = 4
    size: int = 256
    optimizer: str = "adam"
    learning_rate: float = 0.002
    schedule: str = "cosine"
    warmup: float = 0.02


@dataclass
class Strength:
    """What counts how much. Style is 1 where nothing of the painting is there, content 1 where nothing of the photo.

    Attributes:
        content: weight of what the photo shows.
        style: weight of what the painting looks like.
        roughness: weight of how much neighbouring pixels differ.
    """

    content: float = 1.0
    style: float = 5.0
    roughness: float = 0.1


@dataclass
class StyleNetworkConfig(Settings):
    """Everything ``train`` is told where a feed-forward style network is trained.

    Attributes:
        style: the painting; null means one that comes with the zoo.
        style_size: its shorter side in pixels, to which it is scaled first; larger gives larger strokes.
        photos: folder of photos; null means two that come with scikit-learn.
        features: what judges the pictures: vgg19, vgg16, squeezenet, random; auto: what there are weights of.
        feature_weights: its weights: a file, or the folder of a model.json; random needs none.
        precision: what the judge computes in: float32, bfloat16 (Keras 3), or auto: bfloat16 where that is faster.
        seed: of the first weights, the random features and the pieces of the photos.
        stack: name of the stack to use; null means the backend's best for this machine.
    """

    model: dict[str, Any] = field(default_factory=dict)
    style: str | None = None
    style_size: int = 256
    photos: str | None = None
    features: str = "auto"
    feature_weights: str | None = None
    strength: Strength = field(default_factory=Strength)
    trainer: StyleTrainer = field(default_factory=StyleTrainer)
    precision: str = "auto"
    seed: int = 1

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        trainer, model = self.trainer, self.model
        found = [
            within("style_size", self.style_size, 32, 2048),
            one_of("features", self.features, NETWORKS),
            within("trainer.steps", trainer.steps, 1, 10_000_000),
            within("trainer.report", trainer.report, 1, 100_000),
            within("trainer.batch_size", trainer.batch_size, 1, 256),
            within("trainer.size", trainer.size, 32, 1024),
            within("trainer.learning_rate", trainer.learning_rate, 1e-9, 10.0),
            within("trainer.warmup", trainer.warmup, 0.0, 0.9),
            one_of("trainer.optimizer", trainer.optimizer, OPTIMIZERS),
            one_of("precision", self.precision, PRECISIONS),
            one_of("model.upsampling", model["upsampling"], UPSAMPLING),
            one_of("trainer.schedule", trainer.schedule, SCHEDULES),
            within("seed", self.seed, 0, 2**31 - 1),
            within("model.filters", model["filters"], 1, 256),
            within("model.blocks", model["blocks"], 0, 64),
            within("model.edge", model["edge"], 1, 31),
        ]
        found += [within(f"strength.{name}", value, 0.0, 1e9) for name, value in vars(self.strength).items()]
        if trainer.size % 4:
            found.append(f"trainer.size must be a multiple of 4, got {trainer.size}")
        if model["edge"] % 2 == 0:
            found.append(f"model.edge must be odd, got {model['edge']}")
        return [problem for problem in found if problem]


@dataclass
class RestyleConfig(Settings):
    """Everything ``infer`` is told where pictures are restyled.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        weights: a published network instead: folder of a manifest.json, or a file of weights.
        input: picture, animated picture, or folder of pictures or of the frames of a film.
        save: file or folder for the result; its suffix gives the format; null means inside the run folder.
        overwrite: write over pictures that are there already.
        tile: edge in pixels of the pieces that large pictures are computed in; smaller takes less memory.
        precision: float32; float16 or bfloat16, faster and coarser, where the stack and the processor have them.
        stack: name of the stack to use; null means the run's own, or the backend's best.
    """

    model: dict[str, Any] = field(default_factory=dict)
    run: str | None = None
    weights: str | None = None
    input: str | None = None
    save: str | None = None
    overwrite: bool = False
    tile: int = 512
    precision: str = "float32"

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        found = [within("tile", self.tile, *TILES), one_of("precision", self.precision, INFERENCE_PRECISIONS)]
        if bool(self.run) == bool(self.weights):
            found.append("give either run=RUN_FOLDER (or run=last) or weights=FILE_OR_FOLDER")
        if not self.input:
            found.append("input is missing: give input=PICTURE, or a folder of pictures")
        return [problem for problem in found if problem]
