"""Read whole picture files, every frame with its metadata, and write them in the format of the suffix.

Colors are converted to sRGB where a file carries another color profile: networks are trained on sRGB, and viewers
take it for granted in an untagged picture.
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
    """Metadata of a picture file.

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
    """Return the EXIF of a picture that was rotated upright, where it has some."""
    if "exif" not in image.info:
        return b""
    try:
        return image.getexif().tobytes()
    except Exception as error:  # it is read lazily, by code that trusts what it reads
        console.warn(f"The EXIF of a picture is damaged and is left out: {error}")
        return b""


def _durations(path: Path) -> tuple[int, ...]:
    """Return the milliseconds of every frame of an animation; empty for a still picture."""
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

    yield np.asarray(to_srgb(first))
    if count < 2:
        return
    with _readable(), _open(path) as image:
        for number in range(1, count):
            image.seek(number)
            yield np.asarray(to_srgb(image.copy()))


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


def to_srgb(image: "Image") -> "Image":
    """Convert a picture to sRGB, by its color profile where it has one, on white where it is transparent.

    Raises:
        UnreadableError: its colours cannot be converted.
    """
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    plain = image if image.mode == "CMYK" and profile else decode.opaque(image)
    if not profile or plain.mode not in ("L", "RGB", "CMYK"):
        return decode.to_rgb(plain)
    try:
        given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        turned = ImageCms.profileToProfile(plain, given, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError) as error:
        console.warn(f"The colour profile of a picture is damaged or of another kind, and is passed over: {error}")
        return decode.to_rgb(plain)
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
    """Return Pillow's name for the format of a suffix, and its options for writing.

    Raises:
        ZooError: it names none that is written here.
    """
    if path.suffix.lower() not in WRITTEN:
        raise ZooError(f"Pictures cannot be written to {path.name!r}", f"End the name in {', '.join(WRITTEN)}.")
    return WRITTEN[path.suffix.lower()]
