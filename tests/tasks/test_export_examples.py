"""The code that an export copies reads files as the program does, without the program."""

import inspect
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageCms

from zoo.data.images import decode, files, pixels, reading
from zoo.data.images.reading import Reading
from zoo.data.text import tokenization
from zoo.tasks import export_examples
from zoo.tasks.image_classification import export as image_export
from zoo.tasks.style_transfer import export as style_export
from zoo.tasks.text import export as text_export

DIGIT = np.zeros((28, 28, 1), np.uint8)
DIGIT[4:24, 10:14] = 255
DIGIT[4:8, 8:22] = 180
COLORS = np.random.default_rng(0).integers(0, 256, (2, 30, 26, 3), np.uint8)
READINGS = [
    *[reading.photo((33, 21), resize) for resize in ("stretch", "crop", "nearest")],
    *[reading.gray((28, 28), style) for style in reading.STYLES],
]


def copied(functions: Any) -> dict[str, Any]:
    """The functions, from their sources, with nothing but the libraries."""
    names: dict[str, Any] = {"np": np, "Image": Image, "ExifTags": ExifTags, "ImageCms": ImageCms}
    code = "from __future__ import annotations\nimport io, warnings\n" + "\n".join(map(inspect.getsource, functions))
    exec(code, names)  # noqa: S102  (our own code)
    return names


@pytest.mark.parametrize("how", READINGS, ids=lambda how: f"{how.color}-{how.resize}")
def test_the_copied_code_reads_images_of_all_kinds_as_the_program(how: Reading, tmp_path: Path) -> None:
    of = [DIGIT] if how.color == "gray" else list(COLORS)
    paths = export_examples.images(of, tmp_path / "files")
    assert len(paths) == export_examples.COUNT
    read = copied(image_export._code(how, inside=False))["read"]
    described = SimpleNamespace(**json.loads(json.dumps(how._asdict())))
    for path in paths:
        np.testing.assert_array_equal(read(path, described), decode.read(path, how), str(path))


def test_the_copied_code_reads_colors_of_style_networks_as_the_program(tmp_path: Path) -> None:
    read = copied(tuple(getattr(pixels, name) for name in style_export.CODE))["read_srgb"]
    for path in export_examples.images(list(COLORS), tmp_path / "files"):
        np.testing.assert_array_equal(read(path), next(files.open_image(path)[1]))


def test_dark_ink_on_white_is_read_as_light_ink_on_black(tmp_path: Path) -> None:
    light = Image.fromarray(DIGIT[..., 0]).resize((140, 150))
    light.save(tmp_path / "light.png")
    Image.eval(light, lambda value: 255 - value).save(tmp_path / "dark.png")
    how = reading.gray((28, 28), "digits")
    dark = pixels.read(tmp_path / "dark.png", how)
    np.testing.assert_array_equal(dark, pixels.read(tmp_path / "light.png", how))
    assert dark[0, 0] == 0
    assert dark.max() == 255


def test_a_thumbnail_does_not_change_the_pixels_of_a_small_network(tmp_path: Path) -> None:
    Image.fromarray(COLORS[0]).resize((900, 700)).save(tmp_path / "large.jpg")
    how = reading.photo((32, 32))
    whole, thumb = decode.read_with_thumb(tmp_path / "large.jpg", how, 224)
    np.testing.assert_array_equal(whole, decode.read(tmp_path / "large.jpg", how))
    assert thumb is not None
    assert thumb.shape == (174, 224, 3)


def test_examples_of_texts_are_given_in_other_forms() -> None:
    texts = export_examples.texts(["a fine film", "a poor one"])
    assert len(texts) == export_examples.COUNT
    assert len(set(texts)) > 10


def test_of_a_short_text_no_example_is_without_tokens(tmp_path: Path) -> None:
    tokenizer = tokenization.learn("characters", ["to be or not"], 50, lowercase=False)
    np.save(tmp_path / "items.npy", np.array(tokenizer.encode("to be or not"), np.int32))
    texts, data = text_export._examples("next_token", tokenizer, tmp_path)
    assert len(texts) > 10
    assert (np.diff(np.load(str(data.offsets))) > 0).all()
