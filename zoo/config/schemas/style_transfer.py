"""Settings for style transfer by optimization."""

import math
from dataclasses import dataclass, field

from zoo.config.schemas import common
from zoo.config.setting import OUTWARD, SPEED, like, setting

COLORS = ("style", "content")
MAX_STYLES = 8
# Steps and checkpoints of style transfer are short, so a checkpoint every minute costs little.
STYLE_CHECKPOINT_MINUTES = 1.0


@dataclass
class LossWeights:
    """Weights of the losses. The style or content loss is 1 if the painting or photo has no influence."""

    style: float = setting(1.0, "weight of the style loss", at_least=0, at_most=1e9)
    content: float = setting(0.05, "weight of the content loss", at_least=0, at_most=1e9)
    total_variation: float = setting(
        0.001, "weight of the total variation, the difference of neighboring pixels", at_least=0, at_most=1e9
    )


@dataclass
class Layers:
    """Layers of the feature network whose outputs are compared."""

    style: list[str] = setting([], "layers for the style; [] means the default layers that the weights include")
    content: list[str] = setting([], "layers for the content; [] means the default layers that the weights include")


@dataclass
class Painting:
    """The paintings, and how the result is written."""

    style: str | None = setting(
        None, "the painting; null means one that the zoo includes, but style_transfer/any needs one", literal=True
    )
    styles: list[str] = setting([], "several paintings instead of one: [a.jpg,b.jpg]")
    style_weights: list[float] = setting([], "weight of each painting: [2,1]; [] means equal weights")
    colors: str = setting("style", "whose colors the result has: the painting's or the photo's", choices=COLORS)
    save: str | None = setting(
        None, "further file for the result, or folder for several; its suffix selects the format", literal=True,
        affects=OUTWARD)  # fmt: skip
    overwrite: bool = setting(False, "replace files of save that exist", affects=OUTWARD, needs="save")

    def style_checks(self) -> list[str | None]:
        count, weights = len(self.styles) or 1, self.style_weights
        bad = bool(weights) and (min(weights) < 0 or not 0 < sum(weights) < math.inf)
        return [
            f"styles must be at most {MAX_STYLES}, got {count}" if count > MAX_STYLES else None,
            f"style_weights must be one for each style, {count}, got {len(weights)}"
            if weights and len(weights) != count
            else f"style_weights must be numbers of at least 0, one of them above 0, got {weights}"
            if bad
            else None,
        ]


@dataclass
class Features:
    features: str = setting(
        "auto", "the feature network; auto means one whose weights are available", choices=common.FEATURE_NETWORKS
    )
    feature_weights: str | None = setting(
        None, "weights of the feature network: a file, or the folder of a model.json; random needs none", literal=True
    )
    download: str = setting(
        "ask", "whether features=auto downloads SqueezeNet (3 MB) if it finds no weights; ask asks in a terminal",
        choices=("ask", "yes", "no"))  # fmt: skip
    precision: str = setting(
        "auto", "feature network's precision; bfloat16 needs Keras 3; auto is bfloat16 if it is known to be faster",
        choices=common.FEATURE_PRECISIONS)  # fmt: skip


@dataclass
class StyleConfig(Painting, Features, common.Seeded, common.Settings):
    """Settings of ``train model=style_transfer``."""

    model: common.Arguments = field(default_factory=dict)
    content: str | None = setting(None, "the photo; null means one that scikit-learn includes", literal=True)
    masks: list[str] = setting(
        [], "a mask for each painting: an image, white where the painting applies; an empty text means everywhere"
    )
    size: int = setting(
        512, "longer side of the result in pixels; 0 keeps the photo's size", at_least=16, at_most=8192, or_zero=True
    )
    style_scale: float = setting(1.0, "size of the strokes; 2 makes them twice as large", at_least=0.1, at_most=10)
    steps: int = setting(
        30, "evaluations of the loss at the full size; smaller sizes get twice as many each", at_least=1,
        at_most=100_000)  # fmt: skip
    min_size: int = setting(
        128, "longer side of the first image; it is doubled until it reaches size", at_least=32, at_most=8192
    )
    layers: Layers = field(default_factory=Layers)
    strength: LossWeights = field(default_factory=LossWeights)
    optimizer: str = setting("lbfgs", "method that changes the pixels", choices=("lbfgs", "adam"))
    rate: float = setting(4.0, "change of the pixels in the first step, in gray levels", at_least=0.01, at_most=255)
    start: str = setting("content", "content, noise, or an image to continue from", literal=True)
    every: int = setting(
        20, "steps between two intermediate images; 0 keeps none", at_least=0, at_most=100_000, affects=SPEED
    )
    checkpoint_minutes: float = like(common.FaultTolerance, "checkpoint_minutes", default=STYLE_CHECKPOINT_MINUTES)

    def checks(self) -> list[str | None]:
        count = len(self.styles) or 1
        wrong_masks = f"masks must be one for each style, {count}, got {len(self.masks)}"
        nothing = "strength.style and strength.content are both 0: there is nothing to optimize"
        return [
            "give style or styles, not both" if self.style and self.styles else None,
            *self.style_checks(),
            wrong_masks if self.masks and len(self.masks) != count else None,
            nothing if self.strength.style == 0 and self.strength.content == 0 else None,
        ]
