"""What style transfer by optimisation is told."""

from dataclasses import dataclass, field
from typing import Any

from zoo.config.schemas.common import Settings, one_of, within

NETWORKS = ("auto", "vgg19", "vgg16", "squeezenet", "random")
OPTIMIZERS = ("lbfgs", "adam")
PRECISIONS = ("auto", "float32", "bfloat16")
COLOURS = ("style", "content")
MOST_STYLES = 8


@dataclass
class Strength:
    """What counts how much. Style is 1 where nothing of the painting is there, content 1 where nothing of the photo.

    Attributes:
        style: weight of what the painting looks like.
        content: weight of what the photo shows.
        roughness: weight of how much neighbouring pixels differ.
    """

    style: float = 1.0
    content: float = 0.05
    roughness: float = 0.001


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
    """Everything ``train model=style_transfer`` is told.

    Attributes:
        content: the photo; null means one that comes with scikit-learn.
        style: the painting; null means one that comes with the zoo.
        styles: several paintings instead of one: [a.jpg,b.jpg].
        style_weights: how much each of them counts: [2,1]; empty means all the same.
        masks: for each of them a picture, white where it is to be used, or an empty text: everywhere.
        size: longer side of the result in pixels; 0 means that of the photo.
        style_scale: size of the strokes; 2 makes them twice as large.
        steps: looks at the losses at the full size; smaller sizes get twice as many each.
        smallest: longer side from which on sizes are doubled; size itself where that is smaller.
        features: what judges the pictures: vgg19, vgg16, squeezenet, random; auto: what there are weights of.
        feature_weights: its weights: a file, or the folder of a model.json; random needs none.
        optimizer: lbfgs or adam.
        rate: how far pixels move in the first step, in grey levels.
        start: content, noise, or a picture to go on from.
        colours: style takes the painting's colours, content keeps the photo's.
        every: steps between two pictures of the making; 0 keeps none.
        save: file to write the result to as well, its format by the suffix.
        overwrite: replace that file if it is there.
        precision: float32, bfloat16 (Keras 3), or auto: bfloat16 where that is known to be faster.
        checkpoint_minutes: the picture is kept so often, for train resume=RUN to go on from.
        seed: of the noise and of the random features.
        stack: name of the stack to use; null means the fastest known for this machine.
    """

    model: dict[str, Any] = field(default_factory=dict)
    content: str | None = None
    style: str | None = None
    styles: list[str] = field(default_factory=list)
    style_weights: list[float] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    size: int = 512
    style_scale: float = 1.0
    steps: int = 30
    smallest: int = 128
    features: str = "auto"
    feature_weights: str | None = None
    layers: Layers = field(default_factory=Layers)
    strength: Strength = field(default_factory=Strength)
    optimizer: str = "lbfgs"
    rate: float = 4.0
    start: str = "content"
    colours: str = "style"
    every: int = 20
    save: str | None = None
    overwrite: bool = False
    precision: str = "auto"
    checkpoint_minutes: float = 1.0
    seed: int = 1

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        strength = self.strength
        found = [
            within("size", self.size, 16, 8192) if self.size else None,
            within("smallest", self.smallest, 32, 8192),
            within("style_scale", self.style_scale, 0.1, 10.0),
            within("steps", self.steps, 1, 100_000),
            within("rate", self.rate, 0.01, 255.0),
            within("every", self.every, 0, 100_000),
            within("checkpoint_minutes", self.checkpoint_minutes, 0.0, 1e6),
            within("seed", self.seed, 0, 2**31 - 1),
            *(within(f"strength.{key}", value, 0.0, 1e6) for key, value in vars(strength).items()),
            one_of("features", self.features, NETWORKS),
            one_of("optimizer", self.optimizer, OPTIMIZERS),
            one_of("precision", self.precision, PRECISIONS),
            one_of("colours", self.colours, COLOURS),
            *self._style_problems(),
        ]
        return [problem for problem in found if problem]

    def _style_problems(self) -> list[str]:
        found = []
        count = len(self.styles) or 1
        if self.style and self.styles:
            found.append("give style or styles, not both")
        if count > MOST_STYLES:
            found.append(f"styles must be at most {MOST_STYLES}, got {count}")
        for key, values in (("style_weights", self.style_weights), ("masks", self.masks)):
            if values and len(values) != count:
                found.append(f"{key} must be one for each style, {count}, got {len(values)}")
        if self.style_weights and (min(self.style_weights) < 0 or sum(self.style_weights) <= 0):
            found.append(f"style_weights must be numbers from 0 on, one of them above, got {self.style_weights}")
        if self.strength.style == 0 and self.strength.content == 0:
            found.append("strength.style and strength.content are both 0: there is nothing to be like")
        return found
