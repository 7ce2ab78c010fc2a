"""Decode users' image files, upright and as RGB, for every task."""

import contextlib
import functools
import io
import logging
import os
import stat
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from zoo.core.arrays import Bytes, Image, np
from zoo.core.errors import listed
from zoo.core.files import files_below
from zoo.data.images import reading, unknown_kinds
from zoo.data.images.reading import Reading

READABLE = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".avif"),
    *(".ppm", ".pgm", ".pbm", ".pnm"),
)
NAMES = listed(READABLE)
# Files with these names are tried; HEIC needs pillow-heif, and is reported without it instead of ignored.
SUFFIXES = (*READABLE, ".heic", ".heif")
# Formats that contain one image as plain data; those that start another program (EPS, PDF) are excluded.
FORMATS = ("PNG", "JPEG", "MPO", "BMP", "GIF", "TIFF", "WEBP", "AVIF", "PPM", "HEIF")
# Limit on an image's original size, checked before decoding: 268 MB of colors. A small file can claim far more.
MOST_PIXELS, MOST_BYTES = 89_478_485, 1 << 30
# Limit on the time to decode: a file of many progressive scans or long comments takes minutes.
MOST_SECONDS = 20.0


class UnreadableError(Exception):
    """A file cannot be used as an image. The message is the reason, without the name of the file."""


def decode(path: Path, size: tuple[int, int], resize: str = "stretch") -> "Bytes":
    """Decode one image to uint8 (height, width, 3), RGB, 0..255; for ``resize`` see :class:`Reading`."""
    return read(path, reading.photo(size, resize))


def read(path: Path, how: Reading) -> "Bytes":
    """Decode one image to uint8 (height, width, channels).

    Args:
        path: the content decides the format, not the name.

    Raises:
        UnreadableError: it is empty, truncated, damaged, too large, not an image, or unreadable.
    """
    return read_with_thumb(path, how, 0)[0]


def read_with_thumb(path: Path, how: Reading, side: int) -> "tuple[Bytes, Bytes | None]":
    """Like :func:`read`, but also return a thumbnail of the whole image, fitted into a square of ``side`` pixels."""
    from zoo.data.images import pixels

    image = _opened(path, how)
    with convertible():
        result: Bytes = pixels.prepared(image, how)
        if not side:
            return result, None
        if how.reduce and max(how.height, how.width) < side:  # decoded again: a thumbnail must not change the answer
            image = open_upright(path, 2 * side)
        image = to_rgb(image)
        image.thumbnail((side, side), Image.Resampling.BILINEAR, reducing_gap=3.0)
        return result, np.array(image)


@contextlib.contextmanager
def convertible() -> Iterator[None]:
    """Raise UnreadableError for errors of converting a decoded image."""
    try:
        yield
    except ValueError as error:
        raise UnreadableError(str(error)) from error
    except (OSError, MemoryError) as error:
        raise UnreadableError(f"it cannot be converted ({error})") from error


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Raise UnreadableError for errors of decoding an image: malformed bytes make decoders raise nearly any."""
    try:
        yield
    except UnreadableError:
        raise
    except Exception as error:
        raise UnreadableError(f"it is damaged or of an unknown variety ({error})") from error


def open_upright(path: Path, edge: int = 0) -> "Image.Image":
    """Open the first frame of a file in its original mode, rotated by its EXIF.

    Args:
        edge: pixels down to which a JPEG may be decoded at a half, a quarter or an eighth. This is several times as
            fast; 0 keeps its size.

    Raises:
        UnreadableError: it cannot be decoded.
    """
    return _opened(path, Reading(edge, edge, reduce=min(edge, 1)))


def _opened(path: Path, how: Reading) -> "Image.Image":
    from PIL import UnidentifiedImageError

    from zoo.data.images import pixels

    with readable():
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):  # reading a pipe could block forever
                raise UnreadableError("it is not a file")
            if not 0 < status.st_size <= MOST_BYTES:
                raise UnreadableError("the file is larger than 1 GiB" if status.st_size else "the file is empty")
            with Timed(path, MOST_SECONDS) as file, Image.open(file, formats=formats()) as image:
                if image.width * image.height > MOST_PIXELS:
                    reason = f"it is {image.width:,} x {image.height:,}: more than {MOST_PIXELS:,} pixels"
                    raise UnreadableError(reason)
                return pixels.loaded(image, how)
        except Image.DecompressionBombError as error:
            raise UnreadableError(f"it has more than {MOST_PIXELS:,} pixels") from error
        except UnidentifiedImageError as error:
            raise UnreadableError(unknown_kinds.describe(path)) from error
        except FileNotFoundError as error:
            raise UnreadableError("there is no such file") from error
        except PermissionError as error:
            raise UnreadableError("it may not be read (permission denied)") from error


def has_frames(path: Path) -> bool:
    """Return whether an image has a second page or frame, other than the preview that phones add."""
    # Malformed bytes make decoders raise nearly any exception; a sound file without a second frame raises EOFError.
    with contextlib.suppress(Exception), Timed(path, MOST_SECONDS) as file:
        image = Image.open(file, formats=formats())
        image.seek(1)
        return image.format != "MPO"
    return False


class Timed(io.BufferedReader):
    """A file whose reading and decoding stops with an error after some seconds of processor time of one thread."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(path.open("rb", 0), 1 << 16)
        self._seconds, self._began = seconds, time.thread_time()

    def check(self) -> None:
        if time.thread_time() - self._began > self._seconds:
            raise UnreadableError(f"it takes longer than {self._seconds:g} s to decode")

    def read(self, size: int | None = -1, /) -> bytes:
        self.check()
        return super().read(size)


def formats() -> list[str]:
    _prepare()
    return [name for name in FORMATS if name in Image.OPEN]


@functools.cache
def _prepare() -> None:
    """Load the decoders, and set how Pillow's warnings are treated: ignored, or raised as errors."""
    Image.init()
    with contextlib.suppress(ImportError):
        import pillow_heif

        pillow_heif.register_heif_opener(thumbnails=False)
    logging.getLogger("PIL").setLevel(logging.CRITICAL)  # its errors are raised too
    # Set globally, because warning filters are shared by the threads that decode images.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


def to_rgb(image: "Image.Image") -> "Image.Image":
    """Convert an image to 8-bit ``RGB``, on white if transparent; raise UnreadableError if its colors are unknown."""
    from zoo.data.images import pixels

    with convertible():
        return pixels.opaque(image).convert("RGB")


def iter_images(folder: Path, unreadable: list[tuple[str, str]] | None = None) -> Iterator[str]:
    """Yield the names of image files below a folder; ``unreadable`` receives (name, reason) of unlistable folders."""

    def failed(closed: Path, error: OSError) -> None:
        if unreadable is not None:
            unreadable.append((str(closed), error.strerror or str(error)))

    return (name for name in files_below(folder, failed) if is_named(os.path.join(folder, name)))


def is_named(path: str | Path) -> bool:
    """Return whether a file has the suffix of an image or, without any known suffix, begins like one."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in SUFFIXES or unknown_kinds.has_suffix(suffix):
        return suffix in SUFFIXES
    return os.path.isfile(path) and unknown_kinds.begins_like(path, "image")
