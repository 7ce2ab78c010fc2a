"""zoo.data.training_set: rows, labels and scales of what a classifier is trained on."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo.config.schemas.image_classification import DataSettings, TrainConfig
from zoo.core.errors import ZooError
from zoo.data import training_set
from zoo.runs.untrusted import table


@pytest.fixture
def fruit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten images a class; green is 100 in all of them, red and blue tell the class and the number."""
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    for label, name in enumerate(("lime", "plum")):
        (tmp_path / "fruit" / name).mkdir(parents=True)
        for number in range(10):
            color = (100 * label + number, 100, 200 - number)
            Image.new("RGB", (8, 8), color).save(tmp_path / "fruit" / name / f"{number}.png")
    return tmp_path / "fruit"


def prepare(root: Path, **settings: Any) -> training_set.TrainingSet:
    data = DataSettings(name="folder", root=str(root), size=8, test=0.2, validation=0.25, **settings)
    return training_set.prepare(TrainConfig(data=data, model={"name": "mnist"}))


def rows_of(digits: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> training_set.TrainingSet:
    monkeypatch.setenv("ZOO_CACHE", str(digits))
    return training_set.prepare(TrainConfig(data=DataSettings(name="digits", **settings), model={"name": "mnist"}))


def test_every_row_has_the_label_of_its_folder(fruit: Path) -> None:
    material = prepare(fruit)
    assert {name: len(rows) for name, rows in material.splits.items()} == {"train": 12, "validation": 4, "test": 4}
    for part in material.splits:
        pixels, labels = training_set.part(material, part)
        assert (pixels[:, 0, 0, 0] // 100 == labels).all()
        assert (pixels[:, 0, 0, 1] == 100).all()
    assert (material.class_names, material.input_shape) == (["lime", "plum"], (8, 8, 3))
    assert material.normalization is None
    record = material.record
    assert (record["train_items"], record["validation_items"], record["test_items"]) == (12, 4, 4)
    assert (record["name"], record["published"], record["skipped_items"]) == ("folder", False, 0)
    assert (record["split_seed"], record["input_shape"]) == (1, [8, 8, 3])
    assert record["split"] == "test: 0.2 of every class; validation: 0.25 of the rest of every class"


def test_groups_are_proposed_unless_they_are_given(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in fruit.rglob("*.png"):
        path.rename(path.with_name(f"P{int(path.stem) // 2:03}_{path.stem}.png"))
    prepare(fruit)
    assert capsys.readouterr().err.count("To keep its images in one part: data.group=part1") == 1
    prepare(fruit, group="part1")
    assert "data.group=part1" not in capsys.readouterr().err


def test_parts_that_one_group_leaves_empty_are_named(fruit: Path) -> None:
    names = sorted(path.relative_to(fruit) for path in fruit.rglob("*.png"))
    for count, words in (
        (1, "test: none, because g has too few groups; validation: none, because g has too few groups"),
        (20, "test: 0.2 of every class, by g; validation: 0.25 of the rest of every class, by g"),
    ):
        rows = "".join(f"{name},{name.parent},{number % count}\n" for number, name in enumerate(names))
        (fruit / "t.csv").write_text(f"image,label,g\n{rows}")
        data = DataSettings(name="image_table", root=str(fruit / "t.csv"), size=8, test=0.2, validation=0.25, group="g")
        material = training_set.prepare(TrainConfig(data=data, model={"name": "mnist"}))
        assert material.record["split"] == words


def test_a_channel_of_one_value_is_divided_by_one(fruit: Path) -> None:
    material = prepare(fruit, normalize="standard")
    assert material.normalization is not None
    pixels = training_set.part(material, "train")[0].astype(float)
    mean, scale = material.normalization
    assert mean == pytest.approx(pixels.mean((0, 1, 2)))
    assert scale == pytest.approx([pixels[..., 0].std(), 1.0, pixels[..., 2].std()])
    assert scale[2] > 1


@pytest.mark.parametrize(
    ("normalize", "scaling"),
    [("unit", (0.0, 255.0)), ("symmetric", (127.5, 127.5)), ("raw", (0.0, 1.0))],
)
def test_a_fixed_scale_needs_no_image(
    digits: Path, monkeypatch: pytest.MonkeyPatch, normalize: str, scaling: tuple[float, float]
) -> None:
    assert rows_of(digits, monkeypatch, normalize=normalize).normalization == ([scaling[0]], [scaling[1]])


def test_published_rows_are_split_and_limited(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    material = rows_of(digits, monkeypatch, train_limit=100, test_limit=7, validation=0.2, normalize="standard")
    assert material.splits["test"].tolist() == list(range(7))
    assert (material.record["train_items"], material.record["validation_items"]) == (80, 20)
    pixels, labels = training_set.part(material, "train")
    assert (len(pixels), len(labels), sorted(set(labels.tolist()))) == (80, 80, list(range(10)))
    assert len(training_set.part(material, "test")[1]) == 7
    assert material.normalization is not None
    assert material.normalization[0] == pytest.approx([pixels.astype(float).mean()])
    assert material.normalization[1] == pytest.approx([pixels.astype(float).std()])
    assert material.record["name"] == "digits"
    assert (material.names, material.skipped, material.known) == (None, [], None)


def test_a_run_folder_gets_split_labels_and_what_was_left_out(
    fruit: Path, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fruit / "lime" / "broken.png").write_bytes(b"no image")
    run = tmp_path / "run"
    run.mkdir()
    material = prepare(fruit)
    files = training_set.save(material, run)
    assert set(files) == {"x_train", "x_test", "y_train", "y_test", "split"}
    assert np.load(files["y_train"]).tolist() == np.load(files["y_test"]).tolist()
    with np.load(files["split"]) as split:
        assert {name: split[name].tolist() for name in split.files} == {
            name: rows.tolist() for name, rows in material.splits.items()
        }
    assert [row["file"] for row in table(run, "skipped.csv")] == ["lime/broken.png"]
    other = tmp_path / "other"
    other.mkdir()
    files = training_set.save(rows_of(digits, monkeypatch), other)
    assert [path.name for path in other.iterdir()] == ["split.npz"]
    assert "y_train" in files
    with pytest.raises(ZooError, match="Cannot write"):
        training_set.save(material, tmp_path / "none")


def test_images_of_the_test_that_are_trained_on_are_told(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(10):
        (fruit / "plum" / f"{number}.png").write_bytes((fruit / "plum" / "0.png").read_bytes())
    (fruit / "lime" / "same.png").write_bytes((fruit / "plum" / "0.png").read_bytes())
    material = prepare(fruit)
    assert material.known is not None
    known = int(material.known.sum())
    assert 2 <= known <= 3
    assert (material.record["duplicates"], material.record["duplicates_in_two_classes"]) == (known, 10)
    said = capsys.readouterr().err
    share = f"{known / len(material.known):.1%}"
    assert f"{known} of {len(material.known)} test images ({share}) equal or resemble training images" in said
    assert "10 identical files in two classes: " in said
    assert said.count("same.png and plum/") == 4
    assert "and 7 more" in said


def test_parts_of_the_folder_are_named_and_the_rest_is_drawn(fruit: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for part in ("train", "test"):
        (parts / part).symlink_to(fruit)
    assert prepare(parts).record["split"] == (
        "as in the folder: test, train; validation: 0.25 of the rest of every class"
    )


def test_test_images_like_validation_images_are_not_called_training_images(
    fruit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part, name in (("train", "a"), ("train", "b"), ("val", "a"), ("val", "b"), ("test", "a"), ("test", "b")):
        (tmp_path / "parts" / part / name).mkdir(parents=True)
        for number in range(2):
            picture = fruit / ("lime" if name == "a" else "plum") / f"{number + 2 * (part == 'train')}.png"
            shutil.copy(picture, tmp_path / "parts" / part / name)
    assert prepare(tmp_path / "parts").record["duplicates_in"] == "validation"
    warning = " ".join(capsys.readouterr().err.split())
    assert "4 of 4 test images (100.0%) equal or resemble validation images (4 identical files)" in warning
    assert "The test accuracy may be too high" in warning


def test_the_size_of_images_is_that_of_the_model_or_64(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = DataSettings(name="folder", root=str(fruit))
    assert training_set.prepare(TrainConfig(data=data, model={"name": "any"})).input_shape == (64, 64, 3)
    said = " ".join(capsys.readouterr().err.split())
    assert "Images are resized to 64 x 64 pixels. For another size: data.size=PIXELS" in said
    assert training_set.prepare(TrainConfig(data=data, model={"name": "a", "input_size": 12})).input_shape[0] == 12


def test_something_must_be_left_to_train_on(fruit: Path) -> None:
    with pytest.raises(ZooError, match="are left for training"):
        training_set.prepare(
            TrainConfig(data=DataSettings(name="folder", root=str(fruit), size=8, test=0.99), model={"name": "a"})
        )
