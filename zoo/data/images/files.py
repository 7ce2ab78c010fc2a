"""Picture files whole: every frame in true colours with what the file tells of them, and written by the suffix.

Colours are turned into sRGB where a file carries another colour profile, for that is what networks know and what
viewers take an untagged picture for.
"""

import contextlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.files import atomic_file
from zoo.data.images import decode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Bytes = NDArray[np.uint8]

# Suffix -> what Pillow calls the format, and how to write it.
WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    ".jpg": ("JPEG", {"quality": 95, "subsampling": 0}),
    ".jpeg": ("JPEG", {"quality": 95, "subsampling": 0}),
    ".png": ("PNG", {"compress_level": 3}),
    ".webp": ("WEBP", {"quality": 95}),
    ".tif": ("TIFF", {"compression": "tiff_deflate"}),
    ".tiff": ("TIFF", {"compression": "tiff_deflate"}),
    ".bmp": ("BMP", {}),
    ".gif": ("GIF", {}),
}
# These can hold several frames, one after the other.
MOVING = (".gif", ".webp", ".png")
_EXIF = ("JPEG", "PNG", "WEBP", "TIFF")
_USUAL_FRAME_MS = 100


@dataclass(frozen=True)
class ImageMetadata:
    """What a file says beside its colours.

    Attributes:
        exif: as bytes, upright already; empty where there is none.
        durations: milliseconds of every frame; empty for a picture that stands still.
    """

    exif: bytes = b""
    durations: tuple[int, ...] = ()


def open_image(path: Path) -> "tuple[ImageMetadata, Iterator[Bytes]]":
    """Open a picture.

    Returns:
        What the file tells, and every frame as uint8 (rows, columns, 3), sRGB, upright, on white where it is
        transparent. Later frames are decoded as they are asked for, and then may raise as well.

    Raises:
        UnreadableError: it cannot be decoded.
    """
    first = decode.open_upright(path)
    durations = _durations(path) if path.suffix.lower() in MOVING else ()
    return ImageMetadata(_exif(first), durations), _frames(path, first, len(durations))


def _exif(image: "Image") -> bytes:
    """EXIF of a picture that was turned upright. TIFF keeps its own layout there, which means nothing elsewhere."""
    if "exif" not in image.info:
        return b""
    try:
        return image.getexif().tobytes()
    except Exception as error:  # it is read lazily, by code that trusts what it reads
        console.warn(f"The EXIF of a picture is damaged and is left out: {error}")
        return b""


def _durations(path: Path) -> tuple[int, ...]:
    """Milliseconds of every frame of a moving picture; empty for one that stands still."""
    with _readable(), _open(path) as image:
        count = getattr(image, "n_frames", 1)
        if count == 1:
            return ()
        durations = []
        for number in range(count):
            image.seek(number)
            image.load()  # WebP tells the time of a frame only then
            durations.append(int(image.info.get("duration") or _USUAL_FRAME_MS))
        return tuple(durations)


def _frames(path: Path, first: "Image", count: int) -> "Iterator[Bytes]":
    import numpy as np

    yield np.asarray(true_colours(first))
    if count < 2:
        return
    with _readable(), _open(path) as image:
        for number in range(1, count):
            image.seek(number)
            yield np.asarray(true_colours(image.copy()))


def _open(path: Path) -> "Image":
    from PIL import Image

    return Image.open(path, formats=[name for name in decode.FORMATS if name in Image.OPEN])


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except decode.UnreadableError:
        raise
    # Decoders meet bytes that nobody foresaw with nearly any exception.
    except Exception as error:
        raise decode.UnreadableError(f"it is damaged or of an unknown variety ({error})") from error


def true_colours(image: "Image") -> "Image":
    """The same picture as sRGB, by its colour profile where it has one, on white where it is transparent.

    Raises:
        UnreadableError: its colours cannot be converted.
    """
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    plain = image if image.mode == "CMYK" and profile else decode.opaque(image)
    if not profile or plain.mode not in ("L", "RGB", "CMYK"):
        return decode.colours(plain)
    try:
        given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        turned = ImageCms.profileToProfile(plain, given, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError) as error:
        console.warn(f"The colour profile of a picture is damaged or of another kind, and is passed over: {error}")
        return decode.colours(plain)
    assert turned is not None  # noqa: S101  (only where the picture is changed in place)
    return turned


def write(path: Path, pictures: Iterable["Bytes"], about: ImageMetadata) -> None:
    """Write one picture, or the frames of a moving one, in the format that the suffix names.

    It is written aside and moved into place, so that nothing is lost that was there before and no half file is seen.

    Args:
        path: where to.
        pictures: uint8 (rows, columns, 3) each; all but the first are left out where the format stands still.
        about: EXIF, and the times of the frames.

    Raises:
        ZooError: the suffix is unknown, the picture is too large for the format, or there is no room.
    """
    from PIL import Image

    kind, options = output_format(path)
    # All frames at once: the encoders want to look at them more than once.
    first, *rest = (Image.fromarray(each) for each in pictures)
    extra: dict[str, Any] = {"exif": about.exif} if about.exif and kind in _EXIF else {}
    if len(about.durations) > 1 and path.suffix.lower() in MOVING:
        extra |= {"save_all": True, "append_images": rest, "duration": list(about.durations), "loop": 0}
    with atomic_file(path, parents=True) as part:
        try:
            first.save(part, kind, **options, **extra)
        except (ValueError, OverflowError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            # What encoders raise of a picture that their format cannot hold.
            raise ZooError(f"{path} cannot be written: {error}", "Choose another suffix, such as .png.") from error


def output_format(path: Path) -> tuple[str, dict[str, Any]]:
    """What Pillow calls the format that a suffix names, and how to write it.

    Raises:
        ZooError: it names none that is written here.
    """
    if path.suffix.lower() not in WRITTEN:
        raise ZooError(f"Pictures cannot be written to {path.name!r}", f"End the name in {', '.join(WRITTEN)}.")
    return WRITTEN[path.suffix.lower()]
