"""Turn image files into pixels: the code that the program runs, and that ``export`` copies into ``predict.py``.

It needs only Pillow and NumPy. ``how`` is a :class:`zoo.data.images.reading.Reading`, or its copy in ``model.json``.
"""

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import ExifTags, Image, ImageCms


def read(path: Any, how: Any) -> Any:
    """Return the pixels of an image file, uint8 (height, width, channels)."""
    with Image.open(path) as image:
        return prepared(loaded(image, how), how)


def read_srgb(path: Any) -> Any:
    """Return the pixels of an image file in sRGB, uint8 (height, width, 3)."""
    with Image.open(path) as image:
        image.load()
        return np.array(srgb(upright(image)))


def srgb(image: Image.Image, warn: Callable[[str], Any] = warnings.warn) -> Image.Image:
    """Convert an image to sRGB by its color profile, on white if transparent."""
    profile = image.info.get("icc_profile")
    plain = image if image.mode == "CMYK" and profile else opaque(image)
    if profile and plain.mode in ("L", "RGB", "CMYK"):
        try:
            given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            turned = ImageCms.profileToProfile(plain, given, ImageCms.createProfile("sRGB"), outputMode="RGB")
            return turned or plain
        except (ImageCms.PyCMSError, OSError, ValueError) as error:
            warn(f"The color profile of an image is damaged or unknown and is ignored: {error}")
    return opaque(plain).convert("RGB")


def loaded(image: Image.Image, how: Any) -> Image.Image:
    """Decode the first frame, upright."""
    if how.reduce:
        edge = how.reduce * max(how.height, how.width)
        image.draft(None, (edge, edge))
    image.load()
    return upright(image) if how.orientation == "exif" else image


def prepared(image: Image.Image, how: Any) -> Any:
    """Return a decoded image in the colors and the size of the network."""
    plain = opaque(image, how.background)
    if how.color != "gray":
        return np.array(fit(plain.convert("RGB"), how))
    gray = plain.convert("L")
    if gray.size == (how.width, how.height) and len(image.getbands()) == 1 and image.mode != "P":
        return np.array(gray)[..., None]
    return (drawn(np.asarray(gray), how) if how.resize == "ink" else np.array(fit(gray, how)))[..., None]


def upright(image: Image.Image) -> Image.Image:
    """Rotate an image by its EXIF, unless the EXIF is damaged.

    Pillow's own function copies upright images, and fails if the EXIF cannot be rewritten.
    """
    way = Image.Transpose
    turns = {
        2: way.FLIP_LEFT_RIGHT, 3: way.ROTATE_180, 4: way.FLIP_TOP_BOTTOM, 5: way.TRANSPOSE,
        6: way.ROTATE_270, 7: way.TRANSVERSE, 8: way.ROTATE_90,
    }  # fmt: skip
    try:
        turn = turns.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # damaged EXIF is not worth an error, since the image itself was decoded
        return image
    return image if turn is None else image.transpose(turn)


def opaque(image: Image.Image, background: str = "white") -> Image.Image:
    """Convert an image to 8-bit ``1``, ``L`` or ``RGB``.

    Raises:
        ValueError: its colors cannot be converted, or the range of its values is unknown.
    """
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return Image.fromarray(eight_bits(np.asarray(image), image.mode))
    try:
        if image.has_transparency_data:
            clear = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", clear.size, background), clear)
        return image if image.mode in ("1", "L", "RGB") else image.convert("RGB")
    except ValueError as error:
        raise ValueError(f"its colors (mode {image.mode}) cannot be converted") from error


def eight_bits(values: Any, mode: str) -> Any:
    """Scale 16-bit, 32-bit and float grays to 0..255 by the range of their values."""
    low, high = float(values.min()), float(values.max())
    scales = {1.0: 255.0, 255.0: 1.0} if mode == "F" else {255.0: 1.0, 65535.0: 1 / 257}
    if mode.startswith("I;16"):
        scales = {65535.0: 1 / 257}
    for top, scale in scales.items():
        if low >= 0 and high <= top:
            return np.rint(values * scale).astype(np.uint8)
    ranges = " or ".join(f"0 to {top:g}" for top in scales)
    raise ValueError(f"its gray values go from {low:g} to {high:g}, not {ranges}")


def fit(image: Image.Image, how: Any) -> Image.Image:
    """Resize an image to the size of the network."""
    wanted, smooth = (how.width, how.height), Image.Resampling[how.filter.upper()]
    if how.resize == "crop":
        return image.resize(wanted, smooth, box=middle(image.size, wanted, how.crop), reducing_gap=3.0)
    return image if image.size == wanted else image.resize(wanted, smooth, reducing_gap=3.0 if how.reduce else None)


def middle(size: tuple[int, int], wanted: tuple[int, int], share: float) -> tuple[float, float, float, float]:
    """Return the largest central box with the proportions of ``wanted``, its sides scaled by ``share``."""
    scale = share * min(size[0] / wanted[0], size[1] / wanted[1])
    width, height = max(1.0, scale * wanted[0]), max(1.0, scale * wanted[1])
    left, top = (size[0] - width) / 2, (size[1] - height) / 2
    return (left, top, left + width, top + height)


def drawn(gray: Any, how: Any) -> Any:
    """Draw white ink on black, fitted into a square and centered by its mass, like MNIST.

    Source: http://yann.lecun.com/exdb/mnist/. In its first 20,000 images, the center of mass is at row and column
    14.0. The longer side of the ink is 20 pixels in all but 3.
    """
    ink, page = contrast(gray, how), np.zeros((how.height, how.width), np.uint8)
    rows, columns = (np.flatnonzero(ink.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return page
    small = scaled_ink(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], how)
    mass = small.astype(np.float64)
    top, left = (
        round(min(max(side / 2 - float(sums @ np.arange(extent) / mass.sum()), 0), side - extent))
        for side, sums, extent in zip(page.shape, (mass.sum(1), mass.sum(0)), small.shape)  # noqa: B905
    )
    page[top : top + small.shape[0], left : left + small.shape[1]] = small
    return page


def contrast(gray: Any, how: Any) -> Any:
    """Return the contrast of each pixel with the paper, 0 to 1; the paper is the median of the border."""
    paper = float(np.median(np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])))
    ink = (gray.astype(np.float32) - paper) * (-1 if paper > 127 else 1)
    if ink.max() < how.ink_blank:
        return np.zeros_like(ink)
    ink /= float(ink.max())
    return np.where(ink < how.ink_faint, np.float32(0), ink)


def scaled_ink(ink: Any, how: Any) -> Any:
    """Scale the longer side of the ink, and its strongest value to 255."""
    scale = how.ink_side / max(ink.shape)
    size = (max(1, round(ink.shape[1] * scale)), max(1, round(ink.shape[0] * scale)))
    smooth = Image.Resampling[how.filter.upper()]
    values = np.asarray(Image.fromarray(ink).resize(size, smooth)).clip(0)
    return np.rint(values * (255 / values.max())).astype(np.uint8)
