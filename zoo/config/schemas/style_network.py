"""Settings for training and applying feed-forward style networks."""

from dataclasses import dataclass, field
from typing import Any

from zoo.config.schemas import common
from zoo.config.schemas.launching import Shareable
from zoo.config.schemas.style_transfer import STYLE_CHECKPOINT_MINUTES, Features, LossWeights, Painting
from zoo.config.schemas.text import TextTrainer
from zoo.config.setting import SPEED, like, setting

ANY = "style_transfer/any"
# The name of the data in records and promises: photos and the painting.
DATA = "photos"
TILES = (64, 4096)
# Crops of photos take far more memory than the images of classifiers.
MAX_CROPS = 256


@dataclass
class StyleTrainer:
    steps: int = like(TextTrainer, "steps", default=2000)
    report: int = setting(
        100, "steps between two reports; each stores the current weights and a sample", at_least=1, at_most=100_000
    )
    batch_size: int = like(common.Trainer, "batch_size", default=4)
    size: int = setting(256, "edge of the crops of photos in pixels, a multiple of 4", at_least=32, at_most=1024)
    optimizer: str = like(common.Trainer, "optimizer", default="adam")
    learning_rate: float = like(common.Trainer, "learning_rate", default=0.002)
    schedule: str = like(common.Trainer, "schedule", default="cosine")
    warmup: float = like(common.Trainer, "warmup", default=0.02)
    checkpoint_minutes: float = like(common.FaultTolerance, "checkpoint_minutes", default=STYLE_CHECKPOINT_MINUTES)

    def checks(self) -> list[str | None]:
        cycle = "trainer.schedule must be constant or cosine for a style network, got 'one_cycle'"
        crops = f"trainer.batch_size must be at most {MAX_CROPS} for a style network, got {self.batch_size}"
        return [
            f"trainer.size must be a multiple of 4, got {self.size}" if self.size % 4 else None,
            cycle if self.schedule == "one_cycle" else None,
            crops if self.batch_size > MAX_CROPS else None,
        ]


@dataclass
class StyleNetworkConfig(Features, common.Seeded, Shareable, common.Settings):
    """Settings of ``train model=style_transfer/fast``."""

    model: common.Arguments = field(default_factory=dict)
    weights: str | None = setting(
        None, "weights to start from: zoo/NAME, a file, or the folder of a published network; null means random ones",
        literal=True)  # fmt: skip
    style: str | None = like(Painting, "style", default=None)
    style_size: int = setting(
        256, "shorter side that the painting is scaled to, in pixels; larger gives larger strokes", at_least=32,
        at_most=2048)  # fmt: skip
    photos: str | None = setting(None, "folder of photos; null means two that scikit-learn includes", literal=True)
    strength: LossWeights = field(default_factory=lambda: LossWeights(style=10.0, content=1.0, total_variation=0.1))
    trainer: StyleTrainer = field(default_factory=StyleTrainer)
    expect: dict[str, Any] = setting({}, "expected result of the recipe, by data set", affects=SPEED)
    output: common.TrainingOutput = field(default_factory=common.TrainingOutput)

    def problems(self) -> list[str]:
        if self.model["name"] == ANY:
            return [f"{ANY} cannot be trained; train style_transfer/fast"]
        return super().problems()

    def checks(self) -> list[str | None]:
        edge = self.model["kernel_size"]
        return [f"model.kernel_size must be odd, got {edge}" if edge % 2 == 0 else None]


@dataclass
class RestyleConfig(Painting, common.Settings):
    """Settings of ``infer model=style_transfer/fast`` and ``infer model=style_transfer/any``."""

    model: common.Arguments = field(default_factory=dict)
    run: str | None = common.run_setting()
    weights: str | None = setting(
        None, "instead of a run: zoo/NAME, folder of a manifest.json, or a file of weights; for style_transfer/any "
        "the folder of the published files, null downloads them", literal=True)  # fmt: skip
    input: str | None = setting(
        None, "image, animated image, video (needs ffmpeg), or folder of images or of the frames of a film",
        literal=True)  # fmt: skip
    strength: float = setting(1.0, "1 is the style, 0 the photo", at_least=0, at_most=1)
    size: int = setting(
        0, "longer side of the result in pixels; 0 keeps the photo's size", at_least=16, at_most=32_768, or_zero=True
    )
    tile: int = setting(
        512, "edge in pixels of the tiles that large images are split into; smaller tiles need less memory",
        at_least=TILES[0], at_most=TILES[1])  # fmt: skip
    precision: str = setting(
        "float32", "lower precision is faster and less exact, if stack and processor support it",
        choices=common.PRECISIONS)  # fmt: skip

    def checks(self) -> list[str | None]:
        missing = "input is missing: give input=IMAGE, or a folder of images"
        return [None if self.input else missing, *(self._any_checks() if self.takes_any else self._fast_checks())]

    @property
    def takes_any(self) -> bool:
        return self.model.get("name") == ANY

    def _fast_checks(self) -> list[str | None]:
        one_source = bool(self.run) != bool(self.weights)
        return [
            None if one_source else "give either run=RUN_FOLDER (or run=last) or weights=FILE_OR_FOLDER",
            f"style= is for model={ANY}; this network has one built-in style" if self.style else None,
            f"styles= is for model={ANY}; this network has one built-in style" if self.styles else None,
        ]

    def _any_checks(self) -> list[str | None]:
        return [
            f"{ANY} is not trained here: run= is for style_transfer/fast" if self.run else None,
            None if bool(self.style) != bool(self.styles) else "give either style=PAINTING or styles=[A,B]",
            *self.style_checks(),
        ]
