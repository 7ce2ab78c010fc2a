"""Convert users' images, of any size and mode, to the input of a grayscale model."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from zoo.core import console
from zoo.core.arrays import Bytes, np
from zoo.core.errors import ZooError, listed
from zoo.core.paths import existing_input
from zoo.data import npy_images
from zoo.data.images import decode, reading
from zoo.data.images.reading import Reading

KINDS = f"Give an image ({decode.NAMES}), a folder of them, or a .npy array."


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Images for a model.

    Attributes:
        parts: uint8 (m, height, width, 1) arrays, together the n named images.
        skipped: (name, reason) of skipped images.
    """

    names: list[str]
    parts: "Iterable[Bytes]"
    skipped: list[tuple[str, str]]

    def save(self, path: Path) -> None:
        """Write all images to one .npy file; raise OSError if that fails."""
        npy_images.write(path, len(self.names), iter(self.parts))


def load(source: str, shape: tuple[int, ...], style: str, names: list[str] | None = None) -> Inputs:
    """Read an image, a folder of images (recursively, sorted by name), or a .npy array; warn of skipped images.

    Arrays are used unchanged: uint8, or floats of 0 to 1; (n, h, w), (n, h, w, 1), (n, h*w) or (h, w). Images become
    gray, with white for transparent parts. A gray image of the right size is used unchanged; for any other, style
    ``"digits"`` draws it like MNIST, and ``"plain"`` resizes it.

    Args:
        shape: (height, width, 1) of one input of the model.
        names: of the images of a folder to use, if not all.
    """
    if len(shape) != 3 or shape[2] != 1:
        raise ZooError(f"The model takes inputs of shape {shape}", "Image files need the shape (height, width, 1).")
    if source == "-":
        raise ZooError("input=- is only for models of color photos", "Give a file or a folder: input=PATH.")
    how = reading.gray((shape[0], shape[1]), style)
    path = existing_input(source, KINDS)
    if path.is_dir():
        return _folder(path, how, names)
    if path.suffix.lower() == ".npy":
        stored = npy_images.NpyImages(path, shape)
        names = [path.name] if len(stored) == 1 else [f"{path.name}[{index}]" for index in range(len(stored))]
        return Inputs(names, stored, [])
    try:
        return Inputs([path.name], [_picture(path, how)[None]], [])
    except decode.UnreadableError as reason:
        raise ZooError(f"{path} cannot be used: {reason}", KINDS) from reason


def _folder(folder: Path, how: Reading, chosen: list[str] | None) -> Inputs:
    skipped: list[tuple[str, str]] = []
    files = list(decode.iter_images(folder, skipped)) if chosen is None else chosen
    if not files:
        raise ZooError(f"No images in {folder}" + _reasons(skipped), KINDS)
    names, read = [], []
    with console.bar(f"Reading {len(files):,} images", len(files)) as bar:
        for name in files:
            try:
                read.append(_picture(folder / name, how))
                names.append(name)
            except decode.UnreadableError as reason:
                skipped.append((name, str(reason)))
            bar.advance(1)
    if not read:
        raise ZooError(f"No usable images in {folder}" + _reasons(skipped), KINDS)
    for name, why in skipped:
        console.warn(f"Skipped {name}: {why}")
    return Inputs(names, [np.stack(read)], skipped)


def _picture(path: Path, how: Reading) -> "Bytes":
    pixels = decode.read(path, how)
    if how.resize == "ink" and not pixels.any():
        console.warn(f"{path.name} is blank: no ink stands out from its background")
    return pixels


def _reasons(skipped: list[tuple[str, str]]) -> str:
    return "\n" * bool(skipped) + listed((f"  {name}: {reason}" for name, reason in skipped), "\n")
