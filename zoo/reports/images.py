"""Check images in a run folder and embed them in the page."""

import base64
import io
import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.core.arrays import Image, NDArray, np
from zoo.data.images import decode
from zoo.reports.html import Html, tag
from zoo.runs import untrusted

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
KINDS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
MOST_BYTES = 8_000_000
# Larger images are reduced, so that the page is small enough for e-mail.
KEPT_BYTES, KEPT_SIDE = 1_500_000, 1_600
MOST_FRAMES = 400
THUMBNAIL = 64


@dataclass(frozen=True)
class EmbeddedImage:
    """An image as a data URL, with a note if it was reduced."""

    address: str
    width: int
    height: int
    note: str = ""


def read(path: Path) -> EmbeddedImage:
    """Read an image file, reduced if it is very large; raise UnreadableError if it is invalid or too large."""
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=list(KINDS)) as image:
            kind, (width, height) = str(image.format), image.size
            frames = int(getattr(image, "n_frames", 1))
    except Exception as error:  # damaged bytes raise nearly any exception
        raise decode.UnreadableError("it is damaged, or its format cannot be shown in a page") from error
    if width * height * min(frames, MOST_FRAMES) > decode.MOST_PIXELS or frames > MOST_FRAMES:
        raise decode.UnreadableError(f"it has {width:,} x {height:,} pixels and {frames:,} frames: too many")
    small = path.stat().st_size <= KEPT_BYTES and max(width, height) <= KEPT_SIDE
    if small or frames > 1:
        return EmbeddedImage(_address(KINDS[kind], path.read_bytes()), width, height)
    reduced = decode.to_rgb(decode.open_upright(path))
    reduced.thumbnail((KEPT_SIDE, KEPT_SIDE))
    note = f"reduced for this page; the file has {width:,} x {height:,} pixels"
    return EmbeddedImage(_encoded(reduced, "JPEG"), reduced.width, reduced.height, note)


def _encoded(image: "Image.Image", kind: str) -> str:
    out = io.BytesIO()
    image.save(out, kind, **({"quality": 88} if kind == "JPEG" else {"optimize": True}))
    return _address(KINDS[kind], out.getvalue())


def _address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def shown(folder: Path, name: str, words: str) -> Html:
    """Return an image with ``words`` as caption and alternative text, or the reason why it cannot be shown."""
    path = untrusted.own_file(folder, name, MOST_BYTES)
    if path is None:
        return tag("p", f"{name}: not shown, it is not a regular file in this folder or is too large.")
    try:
        picture = read(path)
    except (decode.UnreadableError, OSError) as error:
        return tag("p", f"{name}: not shown, {error}.")
    note = f" ({picture.note})" if picture.note else ""
    image = tag("img", src=picture.address, width=picture.width, height=picture.height, alt=words)
    return tag("figure", image, tag("figcaption", words, " ", tag("code", name), note), class_="picture")


def thumbnails(folder: Path, name: str, most: int) -> list[Html]:
    """Return thumbnails of the first images in a file, (n, height, width, 1 or 3) uint8, or none if it is invalid."""
    path = untrusted.own_file(folder, name, 8_000_000_000)
    array = _mapped(path) if path else None
    if array is None:
        return []
    drawn = []
    for index, pixels in enumerate(array[:most]):
        image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
        if max(image.size) > THUMBNAIL:
            image.thumbnail((THUMBNAIL, THUMBNAIL))
        drawn.append(tag("img", src=_encoded(image, "PNG"), width=THUMBNAIL, height=THUMBNAIL,
                         alt=f"network input {index + 1}", class_="tiny"))  # fmt: skip
    return drawn


def _mapped(path: Path) -> "NDArray[Any] | None":
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, MemoryError, RecursionError, TypeError):
        return None  # a third party's file may be invalid; thumbnails are optional
    fits = isinstance(array, np.ndarray) and array.dtype == np.uint8 and array.ndim == 4
    return array if fits and array.shape[3] in (1, 3) and 0 < max(array.shape[1:3]) <= 4096 else None
