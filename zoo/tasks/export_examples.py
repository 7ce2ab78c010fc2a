"""Create image files and texts of many kinds, to check the program in the README of an export."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zoo.core.arrays import Bytes, Image, np

COUNT = 20
Change = Callable[["Image.Image"], "Image.Image"]
# Mode or change, scale factor, suffix and options of each file.
_PLAIN: dict[str, Any] = {}
_KINDS: tuple[tuple[str, float, str, dict[str, Any]], ...] = (
    ("RGB", 1, ".png", _PLAIN), ("RGB", 2.37, ".png", _PLAIN), ("L", 1, ".png", _PLAIN), ("L", 3.41, ".png", _PLAIN),
    ("RGB", 5.13, ".jpg", {"quality": 95}), ("RGB", 2.11, ".jpg", {"exif": 6}), ("RGB", 2.57, ".jpg", {"exif": 3}),
    ("L", 4.3, ".jpg", {"exif": 8}), ("RGBA", 2.2, ".png", _PLAIN), ("LA", 2.9, ".png", _PLAIN),
    ("P", 2.71, ".png", _PLAIN), ("P", 3.3, ".gif", {"transparency": 0}), ("1", 4.7, ".png", _PLAIN),
    ("inverted", 2.3, ".png", _PLAIN), ("inverted", 3.9, ".jpg", {"quality": 90}), ("I;16", 2.43, ".png", _PLAIN),
    ("CMYK", 2.61, ".jpg", _PLAIN), ("RGB", 0.7, ".bmp", _PLAIN), ("RGB", 2.83, ".webp", {"lossless": True}),
    ("wide", 3.17, ".tif", _PLAIN),
)  # fmt: skip


def images(pixels: "Sequence[Bytes]", folder: Path) -> list[Path]:
    """Write 20 files of uint8 images (height, width, channels), repeating the first ones if there are fewer."""
    folder.mkdir()
    paths = []
    for number, (kind, factor, suffix, options) in enumerate(_KINDS):
        array = pixels[number % len(pixels)]
        image = Image.fromarray(array[..., 0] if array.shape[-1] == 1 else array)
        size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
        image = _changed(image if factor == 1 else image.resize(size, Image.Resampling.BICUBIC), kind)
        if "exif" in options:
            exif = Image.Exif()
            exif[0x0112] = options["exif"]
            options = {"exif": exif}
        paths.append(folder / f"{number:02d}-{kind.replace(';', '')}{suffix}")
        image.save(paths[-1], **options)
    return paths


def _changed(image: "Image.Image", kind: str) -> "Image.Image":
    from PIL import ImageOps

    if kind == "I;16":
        return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    if kind == "inverted":
        return ImageOps.invert(image)
    if kind == "wide":
        return image.resize((image.width * 2, image.height))
    if kind in ("RGBA", "LA"):
        image = image.convert(kind)
        image.putalpha(Image.linear_gradient("L").resize(image.size))
        return image
    return image.convert(kind)


def texts(given: Sequence[str]) -> list[str]:
    """Return 20 texts: the given ones, most of them in another form, such as uppercase or HTML."""
    forms: tuple[Callable[[str], str], ...] = (
        str, str.upper, lambda text: f"<p>{text}</p> &amp; \u2019tis it\u2019s", lambda text: f"{text}\n\n{text}",
        lambda text: f" \t{text} 12.5% \u00e9\u00df\u65e5\u672c\U0001f642 zzzqqq",
        lambda text: text[: len(text) // 2],
        lambda text: " ".join([text] * 40), str.title, lambda text: f"{text}!!! -- '{text}'", str.swapcase,
    )  # fmt: skip
    chosen = [given[(number + number // len(forms)) % len(given)] for number in range(COUNT)]
    return [forms[number % len(forms)](text) for number, text in enumerate(chosen)]
