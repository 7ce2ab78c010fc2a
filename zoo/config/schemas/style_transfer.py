"""Settings for style transfer by optimization."""

import math
from dataclasses import dataclass, field

from zoo.config import ranges
from zoo.config.ranges import FEATURE_NETWORKS, FEATURE_PRECISIONS, one_of, within
from zoo.config.schemas.common import Arguments, Settings, literal

PIXEL_OPTIMIZERS = ("lbfgs", "adam")
COLORS = ("style", "content")
MAX_STYLES = 8


@dataclass
class LossWeights:
    """Weights of the losses. Style is 1 with nothing of the painting, content 1 with nothing of the photo.

    Attributes:
        style: weight of the style loss.
        content: weight of the content loss.
        total_variation: weight of the total variation, by which neighboring pixels differ.
    """

    style: float = 1.0
    content: float = 0.05
    total_variation: float = 0.001

    def checks(self, largest: float) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [within(f"strength.{name}", value, 0.0, largest) for name, value in vars(self).items()]


@dataclass
class Layers:
    """Which layers of the feature network are compared; empty means the usual ones, as far as the weights reach.

    Attributes:
        style: names of layers for the style.
        content: names of layers for the content.
    """

    style: list[str] = field(default_factory=list)
    content: list[str] = field(default_factory=list)


@dataclass
class StyleConfig(Settings):
    """Settings of ``train model=style_transfer``.

    Attributes:
        content: the photo; null means one that comes with scikit-learn.
        style: the painting; null means one that comes with the zoo.
        styles: several paintings instead of one: [a.jpg,b.jpg].
        style_weights: weight of each of them: [2,1]; empty weights all the same.
        masks: for each of them an image, white where it applies, or an empty text: everywhere.
        size: longer side of the result in pixels; 0 means that of the photo.
        style_scale: size of the strokes; 2 makes them twice as large.
        steps: evaluations of the loss at the full size; smaller sizes get twice as many each.
        min_size: longer side of the first size, which is doubled up to size; size itself where that is smaller.
        features: the feature network: vgg19, vgg16, squeezenet, random; auto: one that has weights here.
        feature_weights: its weights: a file, or the folder of a model.json; random needs none.
        optimizer: lbfgs or adam.
        rate: how far pixels move in the first step, in gray levels.
        start: content, noise, or an image to continue from.
        colors: style takes the painting's colors, content keeps the photo's.
        every: steps between two intermediate images; 0 keeps none.
        save: file to write the result to as well; the suffix selects its format.
        overwrite: replace that file if it exists.
        precision: float32, bfloat16 (Keras 3), or auto: bfloat16 where that is known to be faster.
        checkpoint_minutes: time between two checkpoints, from which train resume=RUN continues.
        seed: random seed for the noise and the random features.
        stack: name of the stack to use; null means the fastest known for this machine.
    """

    model: Arguments = field(default_factory=dict)
    content: str | None = literal()
    style: str | None = literal()
    styles: list[str] = field(default_factory=list)
    style_weights: list[float] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    size: int = 512
    style_scale: float = 1.0
    steps: int = 30
    min_size: int = 128
    features: str = "auto"
    feature_weights: str | None = literal()
    layers: Layers = field(default_factory=Layers)
    strength: LossWeights = field(default_factory=LossWeights)
    optimizer: str = "lbfgs"
    rate: float = 4.0
    start: str = literal("content")
    colors: str = "style"
    every: int = 20
    save: str | None = literal()
    overwrite: bool = False
    precision: str = "auto"
    checkpoint_minutes: float = 1.0
    seed: int = 1

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        return ranges.problems(
            [
                within("size", self.size, 16, 8192) if self.size else None,
                within("min_size", self.min_size, 32, 8192),
                within("style_scale", self.style_scale, 0.1, 10.0),
                within("steps", self.steps, 1, 100_000),
                within("rate", self.rate, 0.01, 255.0),
                within("every", self.every, 0, 100_000),
                within("checkpoint_minutes", self.checkpoint_minutes, 0.0, 1e6),
                ranges.seed(self.seed),
                *self.strength.checks(1e6),
                one_of("features", self.features, FEATURE_NETWORKS),
                one_of("optimizer", self.optimizer, PIXEL_OPTIMIZERS),
                one_of("precision", self.precision, FEATURE_PRECISIONS),
                one_of("colors", self.colors, COLORS),
                *self._style_checks(),
            ]
        )

    def _style_checks(self) -> list[str | None]:
        count = len(self.styles) or 1
        return [
            "give style or styles, not both" if self.style and self.styles else None,
            f"styles must be at most {MAX_STYLES}, got {count}" if count > MAX_STYLES else None,
            f"masks must be one for each style, {count}, got {len(self.masks)}"
            if self.masks and len(self.masks) != count
            else None,
            style_weights_problem(self.style_weights, count),
            "strength.style and strength.content are both 0: there is nothing to optimize"
            if self.strength.style == 0 and self.strength.content == 0
            else None,
        ]


def style_weights_problem(weights: list[float], count: int) -> str | None:
    """Return what is wrong with the weights of so many styles, or None."""
    if weights and len(weights) != count:
        return f"style_weights must be one for each style, {count}, got {len(weights)}"
    if weights and (min(weights) < 0 or not 0 < sum(weights) < math.inf):
        return f"style_weights must be numbers from 0 on, one of them above, got {weights}"
    return None
