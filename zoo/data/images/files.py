"""Read whole picture files, every frame with its metadata, and write them in the format of the suffix.

Colors are converted to sRGB where a file carries another color profile: networks are trained on sRGB, and viewers
take it for granted in an untagged picture.
"""

import contextlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
_ALPHA = ("PNG", "WEBP", "TIFF", "GIF")
# For transparent animations: a GIF clears each frame before the next; Pillow's WebP keeps alpha in key frames only.
_CLEAR_OPTIONS = {"GIF": {"disposal": 2}, "WEBP": {"kmin": 1, "kmax": 1}}
_USUAL_FRAME_MS = 100


@dataclass(frozen=True)
class ImageMetadata:
    """Metadata of a picture file.

    Attributes:
        exif: as bytes, upright already; empty where there is none.
        durations: milliseconds of every frame; empty for a picture that stands still.
        plays: how often an animation is shown; 0 means without end.
        transparent: the file itself where parts of it are transparent, else None.
    """

    exif: bytes = b""
    durations: tuple[int, ...] = ()
    plays: int = 0
    transparent: Path | None = None


def open_image(path: Path) -> "tuple[ImageMetadata, Iterator[Bytes]]":
    """Open a picture.

    Returns:
        What the file tells, and every frame as uint8 (rows, columns, 3), sRGB, upright, on white where it is
        transparent. Later frames are decoded as they are asked for, and then may raise as well.

    Raises:
        UnreadableError: it cannot be decoded.
    """
    first = decode.open_upright(path)
    metadata = _animation(path) if path.suffix.lower() in MOVING else None
    metadata = metadata or ImageMetadata(transparent=path if _is_transparent(first) else None)
    return replace(metadata, exif=_exif(first)), _frames(path, first, len(metadata.durations))


def _exif(image: "Image") -> bytes:
    """Return the EXIF of a picture that was rotated upright, where it has some, without what said how it lay."""
    if "exif" not in image.info:
        return b""
    from PIL import ExifTags

    try:
        exif = image.getexif()
        exif.pop(ExifTags.Base.Orientation, None)
        return exif.tobytes()
    except Exception as error:  # it is read lazily, by code that trusts what it reads
        console.warn(f"The EXIF of a picture is damaged and is left out: {error}")
        return b""


def _animation(path: Path) -> ImageMetadata | None:
    """Return times, showings and transparency of an animation; None for a still picture."""
    with _readable(), _open(path) as image:
        count = getattr(image, "n_frames", 1)
        if count == 1:
            return None
        durations, transparent = [], False
        for number in range(count):
            image.seek(number)
            image.load()  # WebP tells the time of a frame only then
            durations.append(int(image.info.get("duration") or _USUAL_FRAME_MS))
            transparent = transparent or _is_transparent(image)
        loop = image.info.get("loop")
        plays = _gif_plays(loop) if image.format == "GIF" else int(loop or 0)
        return ImageMetadata(durations=tuple(durations), plays=plays, transparent=path if transparent else None)


def _gif_plays(loop: int | None) -> int:
    """GIF counts repetitions after the first showing, 0 without end; without a count it is shown once."""
    return 1 if loop is None else loop + 1 if loop else 0


def _loop_option(kind: str, plays: int) -> dict[str, int]:
    if kind != "GIF":
        return {"loop": plays}
    return {} if plays == 1 else {"loop": plays - 1 if plays else 0}


def _is_transparent(image: "Image") -> bool:
    return image.has_transparency_data and _alpha(image).getextrema()[0] != 255


def _alpha(image: "Image") -> "Image":
    """Return the opacity of a picture, mode ``L``, 255 where it is opaque."""
    return image.convert("RGBA").getchannel("A")


def _alphas(path: Path) -> Iterator["Image"]:
    yield _alpha(decode.open_upright(path))
    with _readable(), _open(path) as image:
        for number in range(1, getattr(image, "n_frames", 1)):
            image.seek(number)
            yield _alpha(image)


def _with_alpha(pictures: "Iterable[Image]", path: Path) -> Iterator["Image"]:
    for picture, alpha in zip(pictures, _alphas(path), strict=False):
        picture.putalpha(alpha.resize(picture.size))
        yield picture


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
        about: EXIF, times of the frames, how often they play, and the file whose transparency is kept.
    """
    from PIL import Image

    kind, options = output_format(path)
    # All frames at once: the encoders want to look at them more than once.
    images: Iterator[Image.Image] = (Image.fromarray(each) for each in pictures)
    if about.transparent and kind in _ALPHA:
        images = _with_alpha(images, about.transparent)
    first, *rest = images
    extra: dict[str, Any] = {"exif": about.exif} if about.exif and kind in _EXIF else {}
    if len(about.durations) > 1 and path.suffix.lower() in MOVING:
        extra |= {"save_all": True, "append_images": rest, "duration": list(about.durations)}
        extra |= _loop_option(kind, about.plays) | (_CLEAR_OPTIONS.get(kind, {}) if first.mode == "RGBA" else {})
    with atomic_file(path, parents=True) as part:
        try:
            first.save(part, kind, **options, **extra)
        except (ValueError, OverflowError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            # What encoders raise of a picture that their format cannot hold.
            raise ZooError(f"{path} cannot be written: {error}", "Choose another suffix, such as .png.") from error


def output_format(path: Path) -> tuple[str, dict[str, Any]]:
    """Return Pillow's name for the format of a suffix, and its options for writing."""
    if path.suffix.lower() not in WRITTEN:
        raise ZooError(f"Pictures cannot be written to {path.name!r}", f"End the name in {', '.join(WRITTEN)}.")
    return WRITTEN[path.suffix.lower()]
