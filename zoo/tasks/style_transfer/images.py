"""Images for style transfer: opened in sRGB, sized, recolored, and shown side by side."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zoo.core import console
from zoo.core.arrays import Bytes, Image, np
from zoo.core.errors import ZooError
from zoo.core.files import storage_error, storage_errors
from zoo.data.images import decode, files


@dataclass(frozen=True)
class Picture:
    """An image file: its first frame in sRGB, upright, and its metadata."""

    path: Path
    pixels: "Bytes"
    metadata: files.ImageMetadata


def listed(folder: Path, remedy: str) -> list[str]:
    """Return the names of the images below a folder; warn about folders that cannot be listed."""
    closed: list[tuple[str, str]] = []
    names = list(decode.iter_images(folder, closed))
    for name, reason in closed:
        console.warn(f"Skipped {name}: {reason}")
    if not names:
        raise ZooError(f"No images in {folder}", remedy)
    return names


def store(path: Path, array: "Bytes") -> str:
    """Write an array for the worker, and return its path as in a request."""
    with storage_errors("write", path):
        np.save(path, array, allow_pickle=False)
    return str(path)


def opened(path: Path, role: str) -> Picture:
    """Open an image; ``role``, such as ``"content"``, is its name in messages."""
    try:
        if not path.exists():
            raise ZooError(f"No such image ({role}): {path}", f"Give the path of an image: {role}=FILE")
        metadata, frames = files.open_image(path)
        return Picture(path, next(frames), replace(metadata, durations=()))
    except decode.UnreadableError as error:
        raise ZooError(
            f"{path} ({role}) cannot be used: {error}", "Give a JPEG, PNG, TIFF, WebP, BMP or GIF."
        ) from error
    except OSError as error:  # no permission for its folder
        raise storage_error("read", path, error) from error


def fitted(pixels: "Bytes", long_side: int) -> "Bytes":
    """Resize an image to a longer side of ``long_side`` pixels, keeping the aspect ratio."""
    rows, columns = pixels.shape[:2]
    scale = long_side / max(rows, columns)
    return sized(pixels, max(1, round(rows * scale)), max(1, round(columns * scale)))


def sized(pixels: "Bytes", rows: int, columns: int) -> "Bytes":
    """Resize an image, in color (height, width, 3) or gray (height, width), to (rows, columns)."""
    if pixels.shape[:2] == (rows, columns):
        return pixels
    return np.asarray(Image.fromarray(pixels).resize((columns, rows), Image.Resampling.LANCZOS))


def sizes(long_side: int, min_size: int) -> list[int]:
    """Return longer sides from coarse to fine: ``long_side`` and its repeated halves, at least ``min_size``."""
    sides = [long_side]
    while sides[0] // 2 >= min_size:
        sides.insert(0, (sides[0] + 1) // 2)
    return sides


def recoloured(result: "Bytes", content: "Bytes") -> "Bytes":
    """Return the brightness of one image with the colors of another of the same size.

    Luminance-only transfer, Gatys et al. 2016 (https://arxiv.org/abs/1606.05897).
    """
    light = Image.fromarray(result).convert("YCbCr").split()[0]
    _, blue, red = Image.fromarray(content).convert("YCbCr").split()
    return np.asarray(Image.merge("YCbCr", (light, blue, red)).convert("RGB"))


def sheet(pictures: "list[tuple[str, Bytes]]", height: int = 360) -> "Bytes":
    """Draw images side by side, from (label, image) pairs, at one ``height``; very wide images are reduced."""
    from PIL import ImageDraw, ImageFont

    font, gap, line = ImageFont.load_default(16), 8, 28
    drawn: list[tuple[str, Any]] = []
    for word, pixels in pictures:
        rows, columns = pixels.shape[:2]
        scale = min(height / rows, 4 * height / columns)
        size = [max(1, round(edge * scale)) for edge in (rows, columns)]
        drawn.append((word, Image.fromarray(sized(pixels, *size))))
    width = sum(max(image.width, 60) + gap for _, image in drawn) + gap
    canvas = Image.new("RGB", (width, height + line + 2 * gap), "white")
    pen, left = ImageDraw.Draw(canvas), gap
    for word, image in drawn:
        canvas.paste(image, (left, gap + (height - image.height) // 2))
        pen.text((left, height + gap + 6), word, fill="black", font=font)
        left += max(image.width, 60) + gap
    return np.asarray(canvas)


def film(path: Path, steps: "list[Path]", last: "Bytes", long_side: int = 320) -> None:
    """Write an animated GIF of the optimization: every saved step, and the result for two seconds."""
    end = fitted(last, min(long_side, max(last.shape[:2])))
    frames = [sized(opened(step, "step").pixels, *end.shape[:2]) for step in steps]
    files.write(path, [*frames, end], files.ImageMetadata(durations=(*(150 for _ in frames), 2000)))
