"""Images that occur in two parts or in two classes."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from tests.support.questions import DATA
from zoo.data.images import duplicates, folder_dataset, folder_scan

EDGE = 64


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))


def scene(seed: int) -> Image.Image:
    """A smooth image that differs from that of any other seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), np.uint8)
    return Image.fromarray(pixels).resize((100, 80), Image.Resampling.BICUBIC)


def lay(root: Path, per_class: int = 6) -> Path:
    for number, (part, name) in enumerate((p, n) for p in ("train", "test") for n in ("cat", "dog")):
        folder = root / part / name
        folder.mkdir(parents=True)
        for image in range(per_class):
            scene(100 * number + image).save(folder / f"{image}.png")
    return root


def find(root: Path, layout: str = "auto") -> duplicates.Duplicates:
    folder = folder_dataset.prepare(folder_scan.scan(str(root), layout), EDGE)
    return duplicates.find(folder, folder_dataset.split(folder, 0.2, 0.2, 1, None, None))


def test_different_images_are_no_duplicates(tmp_path: Path) -> None:
    twice = find(lay(tmp_path / "set"))
    assert not twice.known.any()
    assert (twice.identical, twice.examples, twice.contradictions) == (0, [], [])


def test_identical_files_in_two_parts_and_in_two_classes(tmp_path: Path) -> None:
    root = lay(tmp_path / "set")
    shutil.copy(root / "train" / "cat" / "1.png", root / "test" / "cat" / "copy.png")
    shutil.copy(root / "train" / "dog" / "2.png", root / "train" / "cat" / "wrong.png")
    twice = find(root)
    assert twice.examples == [("test/cat/copy.png", "train/cat/1.png")]
    assert (int(twice.known.sum()), len(twice.known), twice.identical) == (1, 13, 1)
    assert twice.contradictions == [("train/cat/wrong.png", "train/dog/2.png")]


def test_nearly_identical_images_in_two_classes_of_one_part(tmp_path: Path) -> None:
    root = lay(tmp_path / "set")
    scene(102).resize((140, 112), Image.Resampling.LANCZOS).save(root / "train" / "cat" / "again.jpg", quality=70)
    scene(1).resize((140, 112), Image.Resampling.LANCZOS).save(root / "train" / "cat" / "same class.jpg", quality=70)
    twice = find(root)
    assert twice.similar == [("train/cat/again.jpg", "train/dog/2.png")]
    assert (twice.contradictions, twice.examples) == ([], [])


def test_the_part_with_the_same_images_is_named(tmp_path: Path) -> None:
    root = lay(tmp_path / "set")
    assert find(root).part == ""
    for number, name in enumerate(("cat", "dog")):
        (root / "val" / name).mkdir(parents=True)
        scene(500 + number).save(root / "val" / name / "1.png")
    shutil.copy(root / "val" / "cat" / "1.png", root / "test" / "cat" / "copy.png")
    assert find(root).part == "validation"
    scene(501).resize((140, 112), Image.Resampling.LANCZOS).save(root / "test" / "dog" / "again.jpg", quality=70)
    assert find(root).part == "validation"
    shutil.copy(root / "val" / "cat" / "1.png", root / "train" / "cat" / "copy.png")
    twice = find(root)
    assert ("test/cat/copy.png", "train/cat/copy.png") in twice.examples
    assert twice.part == "training or validation"


@pytest.mark.parametrize(
    "change",
    [
        lambda image: image,
        lambda image: image.resize((140, 112), Image.Resampling.LANCZOS),
        lambda image: image.filter(ImageFilter.GaussianBlur(0.7)),
    ],
    ids=["encoded again", "resized", "blurred"],
)
def test_nearly_identical_images_are_found(tmp_path: Path, change: "object") -> None:
    root = lay(tmp_path / "set")
    changed = change(scene(3))  # type: ignore[operator]
    changed.save(root / "test" / "dog" / "again.jpg", quality=70)
    twice = find(root)
    assert twice.examples == [("test/dog/again.jpg", "train/cat/3.png")]
    assert twice.identical == 0


def test_hashes_are_kept_and_a_mirrored_image_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = lay(tmp_path / "set")
    scene(3).transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(root / "test" / "dog" / "mirrored.png")
    assert not find(root).known.any()
    monkeypatch.setattr(duplicates, "CHUNK", "not read again")
    assert not find(root).known.any()


def test_plain_images_are_not_called_alike(tmp_path: Path) -> None:
    for name, color in (("cat", (200, 30, 30)), ("dog", (30, 200, 30))):
        (tmp_path / "set" / name).mkdir(parents=True)
        for number in range(10):
            shade = tuple(level + number for level in color)
            Image.new("RGB", (EDGE, EDGE), shade).save(tmp_path / "set" / name / f"{number}.png")
    assert not find(tmp_path / "set").known.any()


def test_small_images_are_compared_by_content_only(tmp_path: Path) -> None:
    folder = folder_dataset.prepare(folder_scan.scan(str(lay(tmp_path / "set"))), 8)
    assert not duplicates.find(folder, folder_dataset.split(folder, 0.2, 0.2, 1, None, None)).known.any()


@pytest.mark.skipif(not (DATA / "cases").is_dir(), reason="the sample cases are not here")
def test_a_published_set_with_duplicates() -> None:
    twice = find(DATA / "cases" / "16_duplicate_pictures" / "data")
    assert twice.known.all()
    assert twice.contradictions
