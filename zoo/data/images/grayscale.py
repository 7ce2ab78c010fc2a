"""Convert users' images, of any size and mode, to the input of a grayscale model."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.core import console
from zoo.core.errors import ZooError, listed, unknown
from zoo.core.paths import existing_input
from zoo.data import npy_images
from zoo.data.images import decode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

STYLES = ("digits", "plain")
KINDS = f"Give a picture ({decode.NAMES}), a folder of them, or a .npy array."
# Share of the contrast between ink and paper below which detail is treated as grain or JPEG noise.
FAINT = 0.25
# Gray levels, of 255: an image with less contrast is treated as an empty sheet.
BLANK = 16
INK_SIDE = 20


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Images for a model.

    Attributes:
        parts: uint8 (m, height, width, 1) arrays, together the n named images.
        skipped: (name, reason) of skipped images.
    """

    names: list[str]
    parts: "Iterable[Bytes]"
    skipped: list[tuple[str, str]]

    def save(self, path: Path) -> None:
        """Write all images to one .npy file; raise OSError if that fails."""
        npy_images.write(path, len(self.names), iter(self.parts))


def load(source: str, shape: tuple[int, ...], style: str) -> Inputs:
    """Read an image, a folder of images (recursively, sorted by name), or a .npy array.

    Arrays are used unchanged: uint8, or floats of 0 to 1; (n, h, w), (n, h, w, 1), (n, h*w) or (h, w). Images become
    gray, with white for transparent parts. A gray image of the right size is used unchanged; otherwise style
    ``"digits"`` draws it like MNIST, and ``"plain"`` resizes it.

    Args:
        shape: (height, width, 1) of one input of the model.
        style: ``"digits"`` or ``"plain"``.
    """
    if style not in STYLES:
        raise unknown("style of pictures", style, list(STYLES))
    if len(shape) != 3 or shape[2] != 1:
        raise ZooError(f"The model takes inputs of shape {shape}", "Pictures can be made for (height, width, 1).")
    path = existing_input(source, KINDS)
    if path.is_dir():
        return _folder(path, shape, style)
    if path.suffix.lower() == ".npy":
        stored = npy_images.NpyImages(path, shape)
        names = [path.name] if len(stored) == 1 else [f"{path.name}[{index}]" for index in range(len(stored))]
        return Inputs(names, stored, [])
    try:
        return Inputs([path.name], [_picture(path, shape, style)[None]], [])
    except decode.UnreadableError as reason:
        raise ZooError(f"{path} cannot be used: {reason}", KINDS) from reason


def _folder(folder: Path, shape: tuple[int, ...], style: str) -> Inputs:
    import numpy as np

    skipped: list[tuple[str, str]] = []
    files = list(decode.iter_images(folder, skipped))
    if not files:
        raise ZooError(f"The folder {folder} holds no picture" + _reasons(skipped), KINDS)
    names, read = [], []
    with console.bar(f"Reading {len(files):,} pictures", len(files)) as bar:
        for name in files:
            try:
                read.append(_picture(folder / name, shape, style))
                names.append(name)
            except decode.UnreadableError as reason:
                skipped.append((name, str(reason)))
            bar.advance(1)
    if not read:
        raise ZooError(f"None of the pictures in {folder} can be used" + _reasons(skipped), KINDS)
    return Inputs(names, [np.stack(read)], skipped)


def _picture(path: Path, shape: tuple[int, ...], style: str) -> "Bytes":
    import numpy as np
    from PIL import Image

    opened = decode.open_upright(path)
    grey = decode.opaque(opened).convert("L")
    height, width = shape[:2]
    if grey.size == (width, height) and len(opened.getbands()) == 1 and opened.mode != "P":
        return np.asarray(grey)[..., None]
    if style == "plain":
        return np.asarray(grey.resize((width, height), Image.Resampling.LANCZOS))[..., None]
    drawn = _to_mnist_style(np.asarray(grey), height, width)
    if not drawn.any():
        console.warn(f"{path.name} is blank: no ink stands out from its background")
    return drawn[..., None]


def _to_mnist_style(grey: "Bytes", height: int, width: int) -> "Bytes":
    """Draw white ink on black, fitted into 20 x 20 and centered by its mass, like MNIST.

    Source: http://yann.lecun.com/exdb/mnist/. There the center of mass is at row and column 14.0 (measured on the
    first 20,000 images), and the longer side of the ink is 20 pixels in all but 3 of them.
    """
    import numpy as np

    ink = _ink(grey)
    rows, columns = (np.flatnonzero(ink.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return np.zeros((height, width), np.uint8)
    small = _fit(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    top, left = (
        round(min(max(side / 2 - middle, 0), side - extent))
        for side, middle, extent in zip((height, width), _centre(small), small.shape, strict=True)
    )
    drawn = np.zeros((height, width), np.uint8)
    drawn[top : top + small.shape[0], left : left + small.shape[1]] = small
    return drawn


def _ink(grey: "Bytes") -> "NDArray[np.float32]":
    """Return the contrast of each pixel with the paper, 0 to 1; the paper is the median of the border."""
    import numpy as np

    border = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    paper = float(np.median(border))
    ink = grey.astype(np.float32) - paper
    if paper > 127:
        ink = -ink
    strongest = float(ink.max())
    if strongest < BLANK:
        return np.zeros_like(ink)
    ink /= strongest
    return np.where(ink < FAINT, np.float32(0), ink)


def _fit(ink: "NDArray[np.float32]") -> "Bytes":
    """Scale the longer side to 20 pixels and the strongest ink to 255."""
    import numpy as np
    from PIL import Image

    scale = INK_SIDE / max(ink.shape)
    size = (max(1, round(ink.shape[1] * scale)), max(1, round(ink.shape[0] * scale)))
    scaled = np.asarray(Image.fromarray(ink).resize(size, Image.Resampling.BICUBIC)).clip(0)
    drawn: Bytes = np.rint(scaled * (255 / scaled.max())).astype(np.uint8)
    return drawn


def _centre(ink: "Bytes") -> tuple[float, float]:
    import numpy as np

    mass = ink.astype(np.float64)
    rows, columns = (np.arange(size) for size in ink.shape)
    return float(mass.sum(1) @ rows / mass.sum()), float(mass.sum(0) @ columns / mass.sum())


def _reasons(skipped: list[tuple[str, str]]) -> str:
    return "\n" * bool(skipped) + listed((f"  {name}: {reason}" for name, reason in skipped), "\n")
