"""Recognize the parts of a data set; refuse ambiguous folders and name both readings."""

from pathlib import Path

import pytest
from PIL import Image

from zoo.core.errors import ZooError
from zoo.data.images import folder_scan, labelled_folder


def lay(root: Path, *names: str) -> Path:
    """Make one image for each name."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 9), "red").save(root / name)
    return root


def in_parts(*parts: str) -> list[str]:
    return [f"{part}/{name}/1.png" for part in parts for name in ("cat", "dog")]


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("Training", "Testing"), ("training_set", "test_set"), ("seg_train", "seg_test"), ("train", "test1"),
        ("asl_alphabet_train", "asl_alphabet_test"), ("train", "eval"), ("Train Data", "Test Data"),
        ("trainval", "test"), ("TrainingSet", "TestSet"), ("flowers-train", "flowers-test"), ("trn", "tst"),
        ("train_images", "test_images"),
    ],
)  # fmt: skip
def test_parts_are_recognized_by_their_names(tmp_path: Path, train: str, test: str) -> None:
    listing = folder_scan.scan(str(lay(tmp_path, *in_parts(train, test))))
    assert listing.class_names == ["cat", "dog"]
    assert dict(zip(listing.names, listing.parts, strict=True)) == {
        f"{folder}/{name}/1.png": part
        for folder, part in ((train, "train"), (test, "test"))
        for name in ("cat", "dog")
    }
    assert f"{train}/ is the train part" in listing.notes[0]
    assert labelled_folder.find(str(tmp_path)).part == test


@pytest.mark.parametrize(
    ("folders", "parts"),
    [
        (("train", "val", "test"), {"train", "validation", "test"}),
        (("train", "eval", "test"), {"train", "validation", "test"}),
        (("x_train", "x_valid", "x_test"), {"train", "validation", "test"}),
        (("train", "dev"), {"train", "validation"}),
    ],
)
def test_three_parts(tmp_path: Path, folders: tuple[str, ...], parts: set[str]) -> None:
    assert set(folder_scan.scan(str(lay(tmp_path, *in_parts(*folders)))).parts) == parts


@pytest.mark.parametrize(
    "classes",
    [("bullet_train", "steam_train"), ("test_tube", "train_car"), ("cat", "train"), ("training_shoe", "boot")],
)
def test_names_of_classes_are_not_parts(tmp_path: Path, classes: tuple[str, ...]) -> None:
    listing = folder_scan.scan(str(lay(tmp_path, *(f"{name}/1.png" for name in classes))))
    assert (listing.class_names, listing.parts) == (sorted(classes), [])


def test_folders_that_hold_the_same_folders_are_refused_with_both_readings(tmp_path: Path) -> None:
    lay(tmp_path, *in_parts("fold_a", "fold_b"))
    with pytest.raises(ZooError, match=r"the folders fold_a, fold_b all contain the folders cat, dog") as caught:
        folder_scan.scan(str(tmp_path))
    assert "rename them to train and test" in caught.value.remedy
    assert "data.layout=classes" in caught.value.remedy
    assert folder_scan.scan(str(tmp_path), "classes").class_names == ["fold_a", "fold_b"]


def test_a_layout_of_classes_outranks_names(tmp_path: Path) -> None:
    assert folder_scan.scan(str(lay(tmp_path, *in_parts("train", "test"))), "classes").class_names == [
        "test",
        "train",
    ]


def test_test_images_without_classes_are_reported(tmp_path: Path) -> None:
    lay(tmp_path, *in_parts("train"), "test1/1.png", "test1/2.png")
    listing = folder_scan.scan(str(tmp_path))
    assert set(listing.parts) == {"train"}
    (note,) = [note for note in listing.notes if "2 images" in note]
    assert f"python -m zoo infer run=last input={tmp_path / 'test1'}" in note


def test_a_flat_test_folder_next_to_classes_is_refused(tmp_path: Path) -> None:
    lay(tmp_path, "cat/1.png", "dog/1.png", "test/1.png")
    with pytest.raises(ZooError, match="test images without labels"):
        folder_scan.scan(str(tmp_path))
    assert "test" in folder_scan.scan(str(tmp_path), "classes").class_names


def test_folders_of_classes_next_to_images_without_labels_are_refused(tmp_path: Path) -> None:
    lay(tmp_path, "labelled/0/1.png", "labelled/1/1.png", "unlabelled/1.png")
    with pytest.raises(ZooError, match="two classes, or classes and images without labels") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"data.root={tmp_path / 'labelled'}." in caught.value.remedy
    assert folder_scan.scan(str(tmp_path), "classes").class_names == ["labelled", "unlabelled"]


def test_two_folders_of_one_part_are_refused(tmp_path: Path) -> None:
    lay(tmp_path, *in_parts("train", "test", "test2"))
    with pytest.raises(ZooError, match="two folders for the test part: test and test2"):
        folder_scan.scan(str(tmp_path))


def test_the_folder_further_down_is_named(tmp_path: Path) -> None:
    lay(tmp_path, "archive/dataset/cat/1.png", "archive/dataset/dog/1.png", "archive/__MACOSX/x/1.png")
    with pytest.raises(ZooError, match="only one class, 'archive'") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"data.root={tmp_path / 'archive' / 'dataset'}" in caught.value.remedy


def test_classes_are_listed_with_their_numbers(tmp_path: Path) -> None:
    listing = folder_scan.scan(str(lay(tmp_path, "cat/1.png", "cat/2.png", "dog/1.png")))
    assert listing.notes == ["2 classes: cat (2), dog (1)"]


def test_a_part_beside_the_classes_that_it_repeats_is_no_class(tmp_path: Path) -> None:
    for name in ("cat", "dog", "val/cat", "val/dog"):
        folder = tmp_path / "set" / name
        folder.mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(folder / "a.png")
    with pytest.raises(ZooError, match=r"val has the subfolders cat, dog, which also exist next"):
        folder_scan.scan(str(tmp_path / "set"), "auto")
    assert folder_scan.scan(str(tmp_path / "set"), "classes").class_names == ["cat", "dog", "val"]


@pytest.mark.parametrize(
    ("images", "table"),
    [
        ("train/images", "metadata.csv"), ("train/images", "train/metadata.jsonl"), ("images", "list.txt"),
        ("train/images", "data/train-00000-of-00001.parquet"), ("trainval", "categories.txt"),
        ("trainval", "annotations/labels.json"), ("jpg", "imagelabels.mat"),
    ],
)  # fmt: skip
def test_a_table_of_classes_is_named(tmp_path: Path, images: str, table: str) -> None:
    lay(tmp_path, f"{images}/1.png", f"{images}/2.png")
    (tmp_path / table).parent.mkdir(exist_ok=True)
    (tmp_path / table).write_text("file_name,label")
    (tmp_path / "README.txt").write_text("About.")
    with pytest.raises(ZooError, match=f"has images such as '{images}/1.png', but no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"Labels are not read from files such as {table}." in caught.value.remedy
