"""Describe how an image file is converted to the network's input pixels."""

from typing import NamedTuple

from zoo.config.schemas.common import RESIZES
from zoo.core.errors import unknown

STYLES = ("digits", "plain")
# Share of the image's shorter side that "crop" keeps, as usual for published ImageNet results: 224 of 256.
CROP = 0.875


class Reading(NamedTuple):
    """The settings of :func:`zoo.data.images.pixels.read`; ``model.json`` of an export has the same fields.

    Attributes:
        height: of the network's input, in pixels, like ``width``.
        color: ``RGB``, or ``gray``, where gray files of the right size are used unchanged.
        resize: ``stretch``: the whole image, without its proportions; ``crop``: its center, with its proportions;
            ``nearest``: unsmoothed, without its proportions; ``ink``: strokes, drawn white on black.
        filter: Pillow's filter, with antialiasing when it reduces.
        crop: share of the shorter side that ``crop`` keeps.
        reduce: decode a JPEG at a fraction of its size, at least this multiple of the network's size; 0: at its full
            size.
        orientation: ``exif``: rotated by its EXIF.
        background: color below transparent parts.
        ink_side: longer side of the strokes, in pixels; they are centered by their mass.
        ink_faint: share of the contrast between ink and paper below which detail is grain or JPEG noise.
        ink_blank: gray levels, of 255: an image with less contrast is an empty sheet.
    """

    height: int
    width: int
    color: str = "RGB"
    resize: str = "stretch"
    filter: str = "bilinear"
    crop: float = CROP
    reduce: int = 2
    orientation: str = "exif"
    background: str = "white"
    ink_side: int = 20
    ink_faint: float = 0.25
    ink_blank: int = 16


def photo(size: tuple[int, int], resize: str = "stretch") -> Reading:
    """Return how a color image is resized to a network's (height, width)."""
    if resize not in RESIZES:
        raise ValueError(f"resize must be one of {', '.join(RESIZES)}, got {resize!r}")
    near = resize == "nearest"  # as Keras does, from all pixels
    return Reading(*size, resize=resize, filter="nearest" if near else "bilinear", reduce=0 if near else 2)


def gray(size: tuple[int, int], style: str) -> Reading:
    """Return how an image is resized to the (height, width) of a grayscale network: like digits, or plain."""
    if style not in STYLES:
        raise unknown("style of images", style, list(STYLES))
    ink = style == "digits"
    resize, smooth = ("ink", "bicubic") if ink else ("stretch", "lanczos")
    return Reading(*size, color="gray", resize=resize, filter=smooth, reduce=0)
