"""Decode users' image files, upright and as RGB, for every task."""

import functools
import io
import os
import stat
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.schemas.common import RESIZES
from zoo.core.errors import listed
from zoo.core.files import files_below
from zoo.data.images import unknown_kinds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Bytes = NDArray[np.uint8]

READABLE = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".avif"),
    *(".ppm", ".pgm", ".pbm", ".pnm"),
)
NAMES = listed(READABLE)
# Files with these names are tried; HEIC cannot be decoded, but is reported instead of ignored.
SUFFIXES = (*READABLE, ".heic", ".heif")
# Formats that contain one image as plain data; those that start another program (EPS, PDF) are excluded.
FORMATS = ("PNG", "JPEG", "MPO", "BMP", "GIF", "TIFF", "WEBP", "AVIF", "PPM")
# Limit on an image's original size, checked before decoding: 268 MB of colors. A small file can claim far more.
MOST_PIXELS = 89_478_485
# Limit on the time to decode: a file of many progressive scans or long comments takes minutes.
MOST_SECONDS = 20.0
# Share of the image's shorter side that "crop" keeps, as usual for published ImageNet results: 224 of 256.
CROP = 0.875


class UnreadableError(Exception):
    """The reason why a file is not usable as an image, to follow its name."""


def decode(path: Path, size: tuple[int, int], resize: str = "stretch") -> "Bytes":
    """Decode one image to uint8 (height, width, 3), RGB, 0..255, rotated by its EXIF, on white if transparent.

    Args:
        path: the content decides the format, not the name.
        size: (height, width) in pixels.
        resize: ``"stretch"``: the whole image, smoothed, without its proportions. ``"crop"``: its center, with its
            proportions. ``"nearest"``: the pixels that ``keras.utils.load_img(target_size=size)`` takes, unsmoothed.

    Raises:
        UnreadableError: it is empty, truncated, damaged, too large, not an image, or unreadable.
    """
    return decode_with_thumb(path, size, resize)[0]


def decode_with_thumb(
    path: Path, size: tuple[int, int], resize: str = "stretch", thumb: int = 0
) -> "tuple[Bytes, Bytes | None]":
    """Do the same as :func:`decode`; also return the whole image, with its proportions, in a square of ``thumb``."""
    import numpy as np
    from PIL import Image

    # Twice the target size: resizing then smooths away what the JPEG decoder drops.
    edge = 2 * max(*size, thumb)
    try:
        image = to_rgb(open_upright(path, None if resize == "nearest" else (edge, edge)))
        pixels = np.array(fit(image, size, resize))
        if not thumb:
            return pixels, None
        image.thumbnail((thumb, thumb), Image.Resampling.BILINEAR, reducing_gap=3.0)
        return pixels, np.array(image)
    except (OSError, MemoryError) as error:
        raise UnreadableError(f"it cannot be converted ({error})") from error


def open_upright(path: Path, hint: tuple[int, int] | None = None) -> "Image":
    """Open the first frame of a file in its original mode, rotated by its EXIF.

    Args:
        hint: (width, height) down to which a JPEG may be decoded at a half, a quarter or an eighth, which is several
            times as fast; None keeps its size.

    Raises:
        UnreadableError: it cannot be decoded.
    """
    from PIL import Image, UnidentifiedImageError

    _prepare()
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe could block forever
            raise UnreadableError("it is not a file")
        if status.st_size == 0:
            raise UnreadableError("the file is empty")
        with _Timed(path.open("rb", 0)) as file, Image.open(file, formats=formats()) as image:
            if image.width * image.height > MOST_PIXELS:
                reason = f"it is {image.width:,} x {image.height:,}: more than {MOST_PIXELS:,} pixels"
                raise UnreadableError(reason)
            if hint:
                image.draft(None, hint)
            image.load()
            return _upright(image)
    except UnreadableError:
        raise
    except Image.DecompressionBombError as error:
        raise UnreadableError(f"it has more than {MOST_PIXELS:,} pixels") from error
    except UnidentifiedImageError as error:
        raise UnreadableError(unknown_kinds.describe(path)) from error
    except FileNotFoundError as error:
        raise UnreadableError("there is no such file") from error
    except PermissionError as error:
        raise UnreadableError("it may not be read (permission denied)") from error
    # Malformed bytes make decoders raise nearly any exception.
    except Exception as error:
        raise UnreadableError(f"it is damaged or of an unknown variety ({error})") from error


class _Timed(io.BufferedReader):
    """A file that takes at most ``MOST_SECONDS`` of processor time to be read and decoded by one thread."""

    def __init__(self, raw: io.FileIO) -> None:
        super().__init__(raw, 1 << 16)
        self._began = time.thread_time()

    def read(self, size: int | None = -1, /) -> bytes:
        if time.thread_time() - self._began > MOST_SECONDS:
            raise UnreadableError(f"it takes longer than {MOST_SECONDS:g} s to decode")
        return super().read(size)


def formats() -> list[str]:
    from PIL import Image

    return [name for name in FORMATS if name in Image.OPEN]


def _upright(image: "Image") -> "Image":
    """Rotate an image by its EXIF, unless the EXIF is damaged.

    Pillow's own function copies upright images, and fails if the EXIF cannot be rewritten.
    """
    from PIL import ExifTags
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM, 5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE, 8: Transpose.ROTATE_90,
    }  # fmt: skip
    try:
        turn = turns.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # damaged EXIF is not worth an error, since the image itself was decoded
        return image
    return image if turn is None else image.transpose(turn)


@functools.cache
def _prepare() -> None:
    """Load the decoders; Pillow's warnings are irrelevant to users, or errors here."""
    from PIL import Image

    Image.init()
    # Set globally, because warning filters are shared by the threads that decode images.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


def opaque(image: "Image") -> "Image":
    """Convert an image to 8-bit ``1``, ``L`` or ``RGB``, on white if transparent.

    Raises:
        UnreadableError: its colors cannot be converted, or the range of its values is unknown.
    """
    import numpy as np
    from PIL import Image

    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return Image.fromarray(_eight_bits(np.asarray(image), image.mode))
    try:
        if image.has_transparency_data:
            clear = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
        return image if image.mode in ("1", "L", "RGB") else image.convert("RGB")
    except ValueError as error:
        raise UnreadableError(f"its colours (mode {image.mode}) cannot be converted") from error


def to_rgb(image: "Image") -> "Image":
    """Convert an image to 8-bit ``RGB``, on white if transparent; raise the errors of :func:`opaque`."""
    image = opaque(image)
    return image if image.mode == "RGB" else image.convert("RGB")


def fit(image: "Image", size: tuple[int, int], resize: str = "stretch") -> "Image":
    """Resize an image to (height, width); for ``resize`` see :func:`decode`."""
    from PIL import Image

    if resize not in RESIZES:
        raise ValueError(f"resize must be one of {', '.join(RESIZES)}, got {resize!r}")
    wanted = (size[1], size[0])
    if resize == "nearest":
        return image.resize(wanted, Image.Resampling.NEAREST)
    box = _middle(image.size, wanted) if resize == "crop" else None
    if box is None and image.size == wanted:
        return image
    return image.resize(wanted, Image.Resampling.BILINEAR, box=box, reducing_gap=3.0)


def _middle(size: tuple[int, int], wanted: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return the largest central box with the proportions of ``wanted``, its sides scaled by ``CROP``."""
    scale = CROP * min(size[0] / wanted[0], size[1] / wanted[1])
    width, height = max(1.0, scale * wanted[0]), max(1.0, scale * wanted[1])
    left, top = (size[0] - width) / 2, (size[1] - height) / 2
    return (left, top, left + width, top + height)


def _eight_bits(values: "NDArray[Any]", mode: str) -> "Bytes":
    """Scale 16-bit, 32-bit and float grays to 0..255 by the range of their values."""
    import numpy as np

    low, high = float(values.min()), float(values.max())
    scales = {1.0: 255.0, 255.0: 1.0} if mode == "F" else {255.0: 1.0, 65535.0: 1 / 257}
    if mode.startswith("I;16"):
        scales = {65535.0: 1 / 257}
    for top, scale in scales.items():
        if low >= 0 and high <= top:
            return np.rint(values * scale).astype(np.uint8)
    ranges = " or ".join(f"0 to {top:g}" for top in scales)
    raise UnreadableError(f"its grey values go from {low:g} to {high:g}, not {ranges}")


def iter_images(folder: Path, unreadable: list[tuple[str, str]] | None = None) -> Iterator[str]:
    """Yield the names of image files below a folder; ``unreadable`` receives (name, reason) of unlistable folders."""

    def failed(closed: Path, error: OSError) -> None:
        if unreadable is not None:
            unreadable.append((str(closed), error.strerror or str(error)))

    return (name for name in files_below(folder, failed) if os.path.splitext(name)[1].lower() in SUFFIXES)
