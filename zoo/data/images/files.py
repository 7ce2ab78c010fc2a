"""Read complete image files, with all frames and metadata, and write them in the format of the suffix.

Colors with another profile are converted to sRGB: networks are trained on it, and viewers assume it by default.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zoo.core import console
from zoo.core.arrays import Bytes, Image, np
from zoo.core.errors import ZooError
from zoo.core.files import atomic_file
from zoo.data.images import decode

# Suffix -> Pillow's name of the format, and options for writing.
WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    **dict.fromkeys((".jpg", ".jpeg"), ("JPEG", {"quality": 95, "subsampling": 0})),
    ".png": ("PNG", {"compress_level": 3}),
    ".webp": ("WEBP", {"quality": 95}),
    **dict.fromkeys((".tif", ".tiff"), ("TIFF", {"compression": "tiff_deflate"})),
    ".bmp": ("BMP", {}),
    ".gif": ("GIF", {}),
}
# Formats that can store several frames.
MOVING = (".gif", ".webp", ".png")
_EXIF = ("JPEG", "PNG", "WEBP", "TIFF")
_ALPHA = ("PNG", "WEBP", "TIFF", "GIF")
# For transparent animations: a GIF clears each frame before the next; Pillow's WebP keeps alpha in key frames only.
_CLEAR_OPTIONS = {"GIF": {"disposal": 2}, "WEBP": {"kmin": 1, "kmax": 1}}
_USUAL_FRAME_MS = 100
# Limit on the time to decode all frames of an animation.
MOST_SECONDS = 200.0


@dataclass(frozen=True)
class ImageMetadata:
    """Metadata of an image file.

    Attributes:
        exif: for the upright image; empty if there is none.
        durations: milliseconds of every frame; empty for a still image.
        plays: number of times that an animation is shown; 0 means endlessly.
        transparent: the file itself if parts of it are transparent, else None.
    """

    exif: bytes = b""
    durations: tuple[int, ...] = ()
    plays: int = 0
    transparent: Path | None = None


def open_image(path: Path) -> "tuple[ImageMetadata, Iterator[Bytes]]":
    """Open an image.

    Returns:
        The metadata, and every frame as uint8 (rows, columns, 3), sRGB, upright, on white if transparent. Later
        frames are decoded on demand and can raise errors too.

    Raises:
        UnreadableError: it cannot be decoded.
    """
    first = decode.open_upright(path)
    metadata = _animation(path) if path.suffix.lower() in MOVING else None
    metadata = metadata or ImageMetadata(transparent=path if _is_transparent(first) else None)
    frames = (np.asarray(to_srgb(image)) for image in _frames(path, first, len(metadata.durations)))
    return replace(metadata, exif=_exif(first)), frames


def _exif(image: "Image.Image") -> bytes:
    """Return the EXIF of an image that was rotated upright, without its orientation."""
    if "exif" not in image.info:
        return b""
    from PIL import ExifTags

    try:
        exif = image.getexif()
        exif.pop(ExifTags.Base.Orientation, None)
        return exif.tobytes()
    except Exception as error:  # read lazily, by code without checks
        console.warn(f"Ignoring damaged EXIF data of an image: {error}")
        return b""


def _animation(path: Path) -> ImageMetadata | None:
    """Return durations, plays and transparency of an animation, or None for a still image."""
    with decode.readable(), decode.Timed(path, MOST_SECONDS) as file, _open(file) as image:
        count = getattr(image, "n_frames", 1)
        if count == 1:
            return None
        durations, transparent = [], False
        for number in range(count):
            image.seek(number)
            image.load()  # required for the duration of a WebP frame
            file.check()
            durations.append(int(image.info.get("duration") or _USUAL_FRAME_MS))
            transparent = transparent or _is_transparent(image)
        loop = image.info.get("loop")
        if image.format == "GIF":  # counts repetitions after the first play (0: endless, None: no repetition)
            loop = 1 if loop is None else loop + 1 if loop else 0
        return ImageMetadata(
            durations=tuple(durations), plays=int(loop or 0), transparent=path if transparent else None
        )


def _loop_option(kind: str, plays: int) -> dict[str, int]:
    if kind != "GIF":
        return {"loop": plays}
    return {} if plays == 1 else {"loop": plays - 1 if plays else 0}


def _is_transparent(image: "Image.Image") -> bool:
    return image.has_transparency_data and _alpha(image).getextrema()[0] != 255


def _alpha(image: "Image.Image") -> "Image.Image":
    """Return the opacity of an image, mode ``L``, 255 for opaque."""
    return image.convert("RGBA").getchannel("A")


def _with_alpha(pictures: "Iterable[Image.Image]", path: Path, count: int) -> Iterator["Image.Image"]:
    for picture, image in zip(pictures, _frames(path, decode.open_upright(path), count), strict=False):
        picture.putalpha(_alpha(image).resize(picture.size))
        yield picture


def _frames(path: Path, first: "Image.Image", count: int) -> Iterator["Image.Image"]:
    yield first
    if count < 2:
        return
    with decode.readable(), _open(path) as image:
        for number in range(1, count):
            image.seek(number)
            yield image.copy()


def _open(path: "Path | decode.Timed") -> "Image.Image":
    return Image.open(path, formats=decode.formats())


def to_srgb(image: "Image.Image") -> "Image.Image":
    """Convert an image to sRGB by its color profile, on white if transparent; raise UnreadableError on failure."""
    from zoo.data.images import pixels

    with decode.convertible():
        return pixels.srgb(image, console.warn)


def write(path: Path, pictures: Iterable["Bytes"], about: ImageMetadata) -> None:
    """Write an image, or the frames of an animation, atomically in the format of the suffix.

    Args:
        pictures: uint8 (rows, columns, 3) each; still formats keep only the first.
        about: EXIF, durations, plays, and the file whose transparency is kept.
    """
    kind, options = output_format(path)
    # All frames at once, because encoders read them repeatedly.
    images: Iterator[Image.Image] = (Image.fromarray(each) for each in pictures)
    if about.transparent and kind in _ALPHA:
        images = _with_alpha(images, about.transparent, len(about.durations))
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
            # Encoders raise this if the format cannot store the image.
            raise ZooError(f"{path} cannot be written: {error}", "Choose another suffix, such as .png.") from error


def output_format(path: Path) -> tuple[str, dict[str, Any]]:
    """Return Pillow's name for the format of a suffix, and its options for writing."""
    if path.suffix.lower() not in WRITTEN:
        raise ZooError(f"Cannot write an image as {path.name!r}", f"End the name in {', '.join(WRITTEN)}.")
    return WRITTEN[path.suffix.lower()]
