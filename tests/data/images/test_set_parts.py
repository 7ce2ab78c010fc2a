"""Recognize the parts of a data set; refuse ambiguous folders and name both readings."""

import itertools
import json
import subprocess
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from PIL import Image

from tests.support import scripts
from zoo.config.schemas.image_classification import DataSettings
from zoo.core.errors import ZooError
from zoo.data.images import folder_scan, image_table, labelled_folder, set_parts


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
        f"{folder}/{name}/1.png": part for folder, part in ((train, "train"), (test, "test")) for name in ("cat", "dog")
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


def test_thumbnails_of_a_storage_device_within_a_class_are_not_its_images(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{kind}/{n}.png" for kind in "ab" for n in range(3)), "a/@eaDir/0.png/SYNOPHOTO_THUMB_M.png")
    assert folder_scan.scan(str(tmp_path)).notes[-1] == "2 classes: a (3), b (3)"


def test_copies_of_a_set_are_named_and_variants_are_not_copies(tmp_path: Path) -> None:
    """natural-images: the archive holds the set twice, once in a further folder."""
    names = [f"{kind}/{number}.png" for kind in ("cat", "dog") for number in range(6)]
    root = lay(tmp_path, *(f"{folder}/{name}" for folder in ("data/set", "set") for name in names))
    with pytest.raises(ZooError, match="the folders data, set contain the same 12 images") as caught:
        folder_scan.scan(str(root))
    assert caught.value.remedy == f"Give one of them: data.root={root / 'set'}."
    for name in names:
        Image.new("RGB", (9, 9), "blue").save(root / "set" / name)
    with pytest.raises(ZooError, match="is ambiguous"):
        folder_scan.scan(str(root))


def test_the_inner_folders_of_subjects_are_classes_in_a_table(tmp_path: Path) -> None:
    """leapGestRecog: each of ten subjects has a folder of each gesture."""
    root = lay(tmp_path / "a set", *(f"{subject:02}/0{n}_{n}/0.png" for subject in range(5) for n in range(6)))
    with pytest.raises(ZooError, match="all contain the folders 00_0, 01_1") as caught:
        folder_scan.scan(str(root))
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(caught.value.remedy)))
    assert (listing.class_names, len({*listing.groups})) == ([f"0{n}_{n}" for n in range(6)], 5)


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
    with pytest.raises(ZooError, match=r"only images are in .*: classes, or classes and images") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"data.root={tmp_path / 'labelled'}." in caught.value.remedy
    assert folder_scan.scan(str(tmp_path), "classes").class_names == ["labelled", "unlabelled"]


def test_folds_of_classes_next_to_unlabeled_parts_are_named_first(tmp_path: Path) -> None:
    """C-NMC: three folds of two classes, and two test parts without class folders."""
    folds = (f"C-NMC_training_data/fold_{fold}/{name}/{fold}.bmp" for fold in range(3) for name in ("all", "hem"))
    tests = (f"C-NMC_test_{name}_phase_data/C-NMC_test_{name}_phase_data/1.bmp" for name in ("prelim", "final"))
    lay(tmp_path, *folds, *tests)
    with pytest.raises(ZooError, match="only images are in C-NMC_test_final_phase_data, C-NMC_test_pre") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"data.root={tmp_path / 'C-NMC_training_data'}. If" in caught.value.remedy


def test_two_folders_of_one_part_are_refused(tmp_path: Path) -> None:
    lay(tmp_path, *in_parts("train", "test", "test2"))
    with pytest.raises(ZooError, match="two folders for the test part: test and test2"):
        folder_scan.scan(str(tmp_path))


def test_the_folder_further_down_is_named(tmp_path: Path) -> None:
    lay(tmp_path, "archive/dataset/cat/1.png", "archive/dataset/dog/1.png", "archive/__MACOSX/x/1.png")
    with pytest.raises(ZooError, match="only one folder of images, 'archive'") as caught:
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
    with pytest.raises(ZooError, match=r"val has the subfolders cat, dog, which also exist next") as caught:
        folder_scan.scan(str(tmp_path / "set"), "auto")
    assert f"A copy: give it alone: data.root={tmp_path / 'set' / 'val'}." in caught.value.remedy
    assert folder_scan.scan(str(tmp_path / "set"), "classes").class_names == ["cat", "dog", "val"]


@pytest.mark.parametrize(
    ("images", "table"),
    [
        ("train/images", "metadata.csv"), ("train/images", "train/metadata.jsonl"), ("images", "list.txt"),
        ("train/images", "data/train-00000-of-00001.parquet"), ("trainval", "categories.txt"),
        ("trainval", "annotations/labels.json"),
    ],
)  # fmt: skip
def test_a_table_of_classes_is_named(tmp_path: Path, images: str, table: str) -> None:
    lay(tmp_path, f"{images}/1.png", f"{images}/2.png")
    (tmp_path / table).parent.mkdir(exist_ok=True)
    (tmp_path / table).write_text("file_name,label\n1.png,cat\n")
    (tmp_path / "README.txt").write_text("About.")
    with pytest.raises(ZooError, match=f"has images such as '{images}/1.png', but no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    if Path(table).suffix in (".csv", ".txt", ".jsonl"):
        root = tmp_path if table.startswith("train/") else tmp_path / table  # each part has its table
        assert f"Read the labels with `data=image_table data.root={root}`; or: " in caught.value.remedy
    else:
        assert f"Labels are not read from {table}: write them as CSV, and give data=image_table." in caught.value.remedy


@pytest.mark.parametrize(
    ("folders", "what"),
    [
        (("images_001/images", "images_002/images"), "shares of one set"),
        (("images_part_1", "images_part_2"), "shares of one set"), (("batch1", "batch2"), "shares of one set"),
        (("imagesa/a/a", "imagesb/b/b"), "shares of one set"), (("Part A", "Part B"), "shares of one set"),
        (("aligned", "crop_part1"), "copies of the same images"),
    ],
)  # fmt: skip
def test_shares_and_copies_of_unsorted_images_are_not_classes(
    tmp_path: Path, folders: tuple[str, ...], what: str
) -> None:
    lay(tmp_path, *(f"{folder}/20_0_{number}_20170109150557335.png" for folder in folders for number in range(5)))
    (tmp_path / "labels.csv").write_text("image,label\n20_0_1_20170109150557335.png,a\n")
    with pytest.raises(ZooError, match=what) as caught:
        folder_scan.scan(str(tmp_path))
    assert (
        f"read the labels with `data=image_table data.root={tmp_path}/labels.csv`; or: sort its" in caught.value.remedy
    )
    assert len(folder_scan.scan(str(tmp_path), "classes").class_names) == 2


@pytest.mark.parametrize(
    "names",
    [
        ("s1/1.png", "s2/1.png"), ("class 1/a.png", "class 2/a.png"), ("0/img_0001.png", "1/img_0001.png"),
        ("a/frame1.png", "a/frame2.png", "a/frame3.png", "a/frame4.png", "b/frame1.png", "b/frame2.png",
         "b/frame3.png", "b/frame4.png"),
    ],
)  # fmt: skip
def test_numbered_classes_and_counters_are_not_shares_or_copies(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert len(folder_scan.scan(str(lay(tmp_path, *names))).class_names) == 2


def test_folders_of_systems_and_devices_are_not_classes(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "cat/1.png",
        "dog/1.png",
        "$RECYCLE.BIN/S-1/1.png",
        "System Volume Information/1.png",
        "#recycle/1.png",
    )
    assert folder_scan.scan(str(tmp_path)).class_names == ["cat", "dog"]


@pytest.mark.parametrize(
    ("train", "test"),
    [("seg_train/seg_train", "seg_test/seg_test"), ("Final_Training/Images", "Final_Test"), ("train/data", "test")],
)
def test_a_folder_between_a_part_and_its_classes_is_skipped(tmp_path: Path, train: str, test: str) -> None:
    listing = folder_scan.scan(str(lay(tmp_path, *in_parts(train, test))))
    assert (listing.class_names, set(listing.parts)) == (["cat", "dog"], {"train", "test"})
    assert labelled_folder.find(str(tmp_path)).root == tmp_path / test


def test_a_part_with_one_folder_of_unsorted_images_is_reported(tmp_path: Path) -> None:
    lay(tmp_path, *in_parts("train"), "val/images/1.png")
    (tmp_path / "val" / "val_annotations.txt").write_text("1.png cat\n2.png dog\n")
    listing = folder_scan.scan(str(tmp_path))
    assert set(listing.parts) == {"train"}
    assert any("1 image without class" in note and "data=image_table data.root=" in note for note in listing.notes)


def test_variants_of_one_set_can_be_given_alone(tmp_path: Path) -> None:
    with pytest.raises(ZooError) as caught:
        folder_scan.scan(str(lay(tmp_path, *in_parts("color", "gray", "segmented"))))
    assert f"give one of them, such as data.root={tmp_path / 'color'}" in caught.value.remedy


def test_parts_without_classes_name_the_table_of_labels(tmp_path: Path) -> None:
    lay(tmp_path, "train_images/1.png", "test_images/2.png")
    for name in ("sample_submission.csv", "test.csv", "train.csv"):
        (tmp_path / name).write_text("id,label\n1,a\n")
    with pytest.raises(ZooError, match="names of parts") as caught:
        folder_scan.scan(str(tmp_path))
    assert (
        f"read the labels with `data=image_table data.root={tmp_path}/train.csv`; or: sort the" in caught.value.remedy
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cats.zip", "an archive"), ("a/clip.AVI", "a video"), ("train/x/1.dcm", "a medical image"),
        ("a/1.svg", "an image of an unsupported format"), ("a/1.NEF", "a raw photograph"), ("a.csv", "a table"),
        ("train00.tfrec", "a TFRecord file of images or other records"), ("data_batch_1", "not an image"),
    ],
)  # fmt: skip
def test_what_a_folder_contains_instead_of_images_is_named(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b"content")
    (tmp_path / "README.md").write_text("About.") if name != "data_batch_1" else None
    with pytest.raises(ZooError, match=f"files such as {name}, which is {kind}"):
        folder_scan.scan(str(tmp_path))


def test_spellings_of_one_class_are_refused(tmp_path: Path) -> None:
    lay(tmp_path / "set", "Cat/1.png", "cat/2.png", "dog/3.png")
    with pytest.raises(ZooError, match="'Cat' and 'cat', which differ in capitals, blanks or codes of accents only"):
        folder_scan.scan(str(tmp_path / "set"))
    assert len(folder_scan.scan(str(tmp_path / "set"), "classes").class_names) == 3
    for accents in ("e\u0301", "\u00e9"):  # as macOS and Linux write the same letter
        lay(tmp_path / "coded", f"caf{accents}/1.png", "dog/1.png")
    with pytest.raises(ZooError, match="codes of accents only"):
        folder_scan.scan(str(tmp_path / "coded"))
    assert folder_scan.scan(str(lay(tmp_path / "letters", "A/1.png", "a/2.png"))).class_names == ["A", "a"]


def test_loose_images_and_folders_within_classes_are_reported(tmp_path: Path) -> None:
    lay(tmp_path, "a/abbey/1.png", "a/airfield/1.png", "b/bar/1.png", "b/1.png", "new.png", "notes.txt.png", "._1.png")
    (tmp_path / "notes.txt").touch()
    _, loose, inner = folder_scan.scan(str(tmp_path)).notes
    assert loose.startswith("Not used: 2 images next to class folders, such as new.png")
    assert "such as a/abbey, are of the class a." in inner


def test_backslashes_in_names_are_explained(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(lay(tmp_path, "train\\cat\\1.png")))
    assert "unpack the archive with `unzip`" in caught.value.remedy


def test_parts_of_unsorted_images_further_down_are_not_recommended(tmp_path: Path) -> None:
    lay(tmp_path, "faces/train/1.png", "faces/val/2.png")
    (tmp_path / "label_train.csv").write_text("file,age\n1.png,33\n")
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert "Read the labels with `data=image_table data.root=" in caught.value.remedy
    assert "label_train.csv" in caught.value.remedy


def test_classes_within_folders_are_refused_with_both_readings(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{name}/{n}.png" for name in ("in/abbey", "in/airfield", "out/b") for n in "12"))
    with pytest.raises(ZooError, match="such as in/abbey: either may be the classes") as caught:
        folder_scan.scan(str(tmp_path))
    assert "The outer folders: add data.layout=classes. " in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    for column, names in (("folder1", ["in", "out"]), ("folder2", ["abbey", "airfield", "b"])):
        assert f"data.label_column={column} for the classes {', '.join(names)}" in caught.value.remedy
        settings = DataSettings(name="image_table", **{**given, "label_column": column})
        assert image_table.scan(settings).class_names == names
    assert folder_scan.scan(str(tmp_path), "classes").class_names == ["in", "out"]
    assert folder_scan.scan(str(lay(tmp_path, "in/1.png"))).class_names == ["in", "out"]


def test_first_letters_of_folders_are_not_classes(tmp_path: Path) -> None:
    """SUN397: the deepest folders are the classes, below their first letter."""
    classes = ("abbey", "apartment_building/outdoor", "bakery/kitchen", "bakery/shop", "bar")
    lay(tmp_path / "sun", *(f"{name[0]}/{name}/sun_{n}{name[:2]}.jpg" for name in classes for n in range(3)))
    with pytest.raises(ZooError, match="such as a/abbey: the outer ones are first letters") as caught:
        folder_scan.scan(str(tmp_path / "sun"))
    assert "data.layout=classes" not in caught.value.remedy
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(caught.value.remedy)))
    assert listing.class_names == list(classes)


def test_a_class_in_the_name_of_the_last_folder_is_one_of_both_readings(tmp_path: Path) -> None:
    """MURA: parts, bones, patients and studies, whose names contain the label."""
    places = itertools.product(("train", "valid"), ("XR_ELBOW", "XR_HAND"), range(4), "12")
    studies = [
        f"{part}/{bone}/patient{n + 9 * (part == 'valid')}/study{s}_{('negative', 'positive')[n % 2]}/image1.png"
        for part, bone, n, s in places
    ]
    lay(tmp_path / "mura", *studies)
    with pytest.raises(ZooError, match="either may be the classes") as caught:
        folder_scan.scan(str(tmp_path / "mura"))
    assert "data.layout=classes" not in caught.value.remedy
    assert "\nOr data.label_column=kind data.group=folder3 for the classes negative, positive" in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    assert (given["label_column"], given["group"]) == ("folder2", "folder3")
    listing = image_table.scan(DataSettings(name="image_table", **{**given, "label_column": "kind"}))
    assert (listing.class_names, {*listing.parts}) == (["negative", "positive"], {"train", "validation"})


def test_slides_within_classes_are_groups(tmp_path: Path) -> None:
    """BreakHis: slides in classes, and magnifications in them."""
    slides = itertools.product(("adenosis", "papilloma"), ("14-22549AB", "14-22549CD", "14-1G"), ("40X", "100X"), "12")
    names = [f"SOB/{kind}/SOB_B_{kind[0]}_{slide}/{zoom}/SOB-{slide}-{n}.png" for kind, slide, zoom, n in slides]
    root = lay(tmp_path, *names) / "SOB"
    with pytest.raises(ZooError, match="either may be the classes") as caught:
        folder_scan.scan(str(root))
    assert "The outer folders: add data.layout=classes data.group=folder2. " in caught.value.remedy
    assert "data.label_column=folder3 data.group=folder2 for the classes 100X, 40X" in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    assert (given["label_column"], given["group"]) == ("folder1", "folder2")
    listing = folder_scan.scan(str(root), "classes")
    assert listing.notes[-1].endswith("With data.group=folder2, the images of a patient or an object stay in one part")
    assert len({*set_parts.groups_of(listing.names, "folder2")}) == 6
    with pytest.raises(ZooError, match=r"has what data\.group=folder9 means"):
        set_parts.groups_of(listing.names, "folder9")


def test_slides_in_the_names_of_images_are_groups() -> None:
    names = [
        f"{kind}/SOB_B_A-14-{slide}-40-{n:03}.png" for kind in "ab" for slide in ("22549AB", "3411F") for n in (1, 2)
    ]
    names += [f"a/SOB_B_A-14-9461-40-{n:03}.png" for n in (1, 2)]
    (note,) = set_parts.groups_notes(names, [0, 1] * len(names), [])
    assert note.endswith("data.group=part5")
    assert not set_parts.groups_notes(
        [f"a/x-{year}-{n}-b.png" for year in range(2001, 2009) for n in "12"], [0, 1] * 8, []
    )


@pytest.mark.parametrize(
    ("name", "part"),
    [("{photo}-{tile}", "part1"), ("image{photo}_{tile}x", None), ("IMG{photo}-{tile}", None),
     ("2018010{photo}-{tile}", None), ("frame{photo}.{tile}", None)],
)  # fmt: skip
def test_pieces_of_one_photograph_are_groups_and_counters_are_not(name: str, part: str | None) -> None:
    """SDNET2018: 7001-100.jpg is a piece of photograph 7001, and another class has more of its pieces."""
    names = [
        f"{'cu'[tile % 2]}/{name.format(photo=7000 + photo if part else photo, tile=tile)}.jpg"
        for photo in range(1, 6)
        for tile in range(9)
    ]
    notes = set_parts.groups_notes(names, [0, 1] * len(names), [])
    assert [note.rpartition("data.group=")[2] for note in notes] == [part] * bool(part)


def test_images_without_a_suffix_are_named_with_the_ways_to_their_classes(tmp_path: Path) -> None:
    """Yale faces: GIF files whose names end with the expression."""
    root = tmp_path / "yalefaces"
    root.mkdir()
    for person, kind in itertools.product(range(1, 5), ("centerlight", "glasses", "happy", "normal")):
        Image.new("L", (8, 8), person).save(root / f"subject{person:02}.{kind}", "GIF")
    (root / "Readme.txt").write_text("About.")
    with pytest.raises(ZooError, match=r"has images such as 'subject01.centerlight' \(by its content\)") as caught:
        folder_scan.scan(str(root))
    given = scripts.table_written(caught.value.remedy)
    assert (given["label_column"], given["group"]) == ("last", "part1")
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert (listing.class_names, len({*listing.groups})) == (["centerlight", "glasses", "happy", "normal"], 4)
    assert "If each person is a class: data.label_column=part1" in caught.value.remedy
    for kind in ("happy", "normal"):
        (root / kind.upper()).mkdir()
        for file in root.glob(f"*.{kind}"):
            file.rename(root / kind.upper() / file.name)
    notes = folder_scan.scan(str(root)).notes
    assert any(note.startswith("Read by their content: 8 files without an image suffix, such as") for note in notes)


def test_labels_and_parts_of_matlab_are_written_as_a_table(tmp_path: Path) -> None:
    """102 Flowers: a label for each image, and the numbers of the images of each part."""
    root = lay(tmp_path / "flowers", *(f"jpg/image_{number:05}.jpg" for number in range(1, 13)))
    scipy.io.savemat(root / "imagelabels.mat", {"labels": np.array([[1, 2, 3] * 4], np.uint8)})
    numbers = {"trnid": [1, 2, 3, 10, 11, 12], "valid": [4, 5, 6], "tstid": [7, 8, 9]}
    scipy.io.savemat(root / "setid.mat", {key: np.array([each], np.uint16) for key, each in numbers.items()})
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(root))
    assert "Labels are not read from imagelabels.mat, setid.mat: python scripts/table_of.py" in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert listing.class_names == ["1", "2", "3"]
    assert [listing.parts.count(part) for part in ("train", "validation", "test")] == [6, 3, 3]
    assert listing.parts[listing.names.index("jpg/image_00004.jpg")] == "validation"


def test_a_set_with_parts_is_named_before_another_with_the_same_classes(tmp_path: Path) -> None:
    sizes = ("cast/cast/train", "cast/cast/test", "cast512/cast512")
    lay(tmp_path, *(f"{folder}/{name}/{number}.png" for folder in sizes for name in ("bad", "ok") for number in "12"))
    with pytest.raises(ZooError, match="each may be a whole data set") as caught:
        folder_scan.scan(str(tmp_path))
    roots = f"data.root={tmp_path}/cast/cast or data.root={tmp_path}/cast512/cast512"
    assert caught.value.remedy.startswith(f"Give one of them: {roots}. ")
    assert set(folder_scan.scan(str(tmp_path / "cast" / "cast")).parts) == {"train", "test"}


def test_altered_copies_are_not_joined_with_the_originals(tmp_path: Path) -> None:
    """Monkeypox Skin Lesion Dataset: originals, altered copies, and a fold with parts."""
    folders = ("Original/Original/Monkey Pox", "Original/Original/Others", "Augmented/Augmented/Others_augmented")
    lay(tmp_path, *(f"{folder}/{n}.png" for folder in (*folders, "Augmented/Augmented/Pox_augmented") for n in "12"))
    with pytest.raises(ZooError, match="either may be the classes") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"data.root={tmp_path}/Original/Original" in caught.value.remedy
    assert "copy all" not in caught.value.remedy
    lay(tmp_path, *(f"Fold1/Fold1/{part}/{name}/1.png" for part in ("Train", "Val", "Test") for name in "ab"))
    with pytest.raises(ZooError, match="Augmented, Fold1, Original: each has class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy.startswith(f"Give one of them: data.root={tmp_path}/Fold1/Fold1 or ")


def test_one_folder_next_to_the_images_of_a_class_is_reported(tmp_path: Path) -> None:
    """Whole slides next to the cells that were cropped from them."""
    lay(tmp_path, "a/1.png", "a/CROPPED/1_1.png", "b/2.png", "b/CROPPED/2_1.png")
    assert "such as a/CROPPED, are of the class a." in folder_scan.scan(str(tmp_path)).notes[-1]


def test_images_next_to_a_folder_of_their_copies_are_of_the_outer_class(tmp_path: Path) -> None:
    """SIPaKMeD: slides of a class in a folder of its name, and the cells that were cropped from them."""
    lay(tmp_path, *(f"im_{name}/im_{name}/{file}.bmp" for name in "ab" for file in ("1", "2", "CROPPED/1_1")))
    listing = folder_scan.scan(str(tmp_path))
    assert listing.class_names == ["im_a", "im_b"]
    assert any("such as im_a/im_a/CROPPED, are of the class im_a." in note for note in listing.notes)


def test_a_part_of_names_with_a_number_is_a_class_without_it(tmp_path: Path) -> None:
    """JAFFE: KA.AN1.1.tiff is person KA, angry for the first time."""
    for person, code, number in itertools.product(("KA", "KL", "KM"), ("AN", "HA"), "12"):
        lay(tmp_path / "jaffe", f"{person}.{code}{number}.{len(person)}.png")
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path / "jaffe"))
    assert scripts.table_written(caught.value.remedy)["label_column"].startswith("letters2")
    assert "KA.AN1.2.png,,,,KA,2,KA.AN1.2,KA,AN1,AN,2" in (tmp_path / "jaffe.csv").read_text()


def test_a_folder_between_a_class_and_its_subfolders_hides_nothing(tmp_path: Path) -> None:
    lay(tmp_path, "a/images/abbey/1.png", "a/images/airfield/1.png", "b/1.png", "c/1.png")
    assert "such as a/images/abbey, are of the class a." in folder_scan.scan(str(tmp_path)).notes[-1]
    for name in "bc":
        lay(tmp_path, f"{name}/images/bar/1.png", f"{name}/images/bay/1.png")
        (tmp_path / name / "1.png").unlink()
    with pytest.raises(ZooError, match="such as a/images/abbey: either may be the classes"):
        folder_scan.scan(str(tmp_path))


@pytest.mark.parametrize("name", ["seg_pred/1.png", "seg_pred/seg_pred/1.png", "papers/1.png"])
def test_unsorted_images_next_to_parts_are_not_used(tmp_path: Path, name: str) -> None:
    listing = folder_scan.scan(str(lay(tmp_path, *in_parts("seg_train", "seg_test"), name)))
    assert (listing.class_names, set(listing.parts)) == (["cat", "dog"], {"train", "test"})
    folder = tmp_path / name.partition("/")[0]
    assert any(note.endswith(f"infer run=last input={folder}") for note in listing.notes)
    lay(tmp_path, "more/cat/1.png", "more/owl/1.png")
    with pytest.raises(ZooError, match="and also images in more"):
        folder_scan.scan(str(tmp_path))


@pytest.mark.parametrize("first", ["images", "annotations"])
def test_large_files_of_coco_are_recognized_by_their_ends(tmp_path: Path, first: str) -> None:
    lay(tmp_path, "train_a/1.png", "train_b/1.png")
    entry = {"images": '{"file_name": "1.png", "id": 1}', "annotations": '{"image_id": 1, "category_id": 1}'}
    second = "annotations" if first == "images" else "images"
    content = f'{{"{first}": [{entry[first]}], "pad": "{" " * (8 << 20)}", "{second}": [{entry[second]}]}}'
    (tmp_path / "labels.json").write_text(content)
    tracemalloc.start()
    note = set_parts.labels_note(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert f"table_of.py coco {tmp_path}/labels.json {tmp_path}/labels.json.csv" in note
    assert peak < 4 << 20
    (tmp_path / "labels.json").write_text('{"images": ["1.png"], "classes": ["a"]}')
    assert "coco" not in set_parts.labels_note(tmp_path)


def test_a_name_without_the_part_has_no_group() -> None:
    assert set_parts.groups_of(["a/S1_2.png", "b/S2.png"], "part2") == ["2", ""]


def test_a_table_next_to_the_classes_is_named(tmp_path: Path) -> None:
    lay(tmp_path, "p1/1.png", "p2/1.png")
    (tmp_path / "clinical.csv").write_text("patient,diagnosis\np1,well\n")
    note = f"Not used: clinical.csv. Read its labels with `data=image_table data.root={tmp_path}/clinical.csv`"
    assert f"{note}; data.group=COLUMN keeps persons apart" in folder_scan.scan(str(tmp_path)).notes


def test_a_table_above_the_folder_of_classes_is_named_if_it_names_their_images(tmp_path: Path) -> None:
    """State Farm: the drivers are only in driver_imgs_list.csv, next to the folder imgs."""
    lay(
        tmp_path,
        *(f"imgs/train/c{label}/img_{label}{n}.png" for label in "01" for n in range(4)),
        "imgs/test/img_9.png",
    )
    drivers, other = tmp_path / "driver_imgs_list.csv", tmp_path / "other.csv"
    drivers.write_text("subject,classname,img\n" + "".join(f"p{n},c0,img_0{n}.png\n" for n in range(4)))
    other.write_text("a,b\n" * 9)
    command = f"data=image_table data.root={drivers}"
    with pytest.raises(ZooError) as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy.endswith(f"data.root={tmp_path}/imgs\nRead the labels with `{command}`")
    notes = folder_scan.scan(str(tmp_path / "imgs")).notes
    named = [note for note in notes if note.startswith("Not used: ")]
    assert named == [
        f"Not used: driver_imgs_list.csv. Read its labels with `{command}`; data.group=COLUMN keeps persons apart"
    ]
    drivers.unlink()
    assert not any("Not used: " in note for note in folder_scan.scan(str(tmp_path / "imgs")).notes)


def test_lists_of_images_next_to_the_folder_of_classes_are_named_and_become_a_table(tmp_path: Path) -> None:
    """DTD: splits in labels/train1.txt, whose lines are paths without a class."""
    names = [f"{label}/{label}_{number:04}.jpg" for label in ("banded", "dotted") for number in range(6)]
    lay(tmp_path, *(f"images/{name}" for name in names))
    (tmp_path / "labels").mkdir()
    for part, kept in (("train1", names[::2]), ("val1", names[1::2])):
        (tmp_path / "labels" / f"{part}.txt").write_text("".join(f"{name}\n" for name in kept))
    table = tmp_path / "labels/train1.txt"
    notes = folder_scan.scan(str(tmp_path / "images")).notes
    settings = DataSettings(name="image_table", root=str(table), images=str(tmp_path / "images"))
    with pytest.raises(ZooError, match=r"lists images without their classes") as caught:
        image_table.scan(settings)
    (note,) = [note for note in notes if note.startswith("Not used: labels/train1.txt, labels/val1.txt, lists of the")]
    for message in (note, caught.value.remedy):
        listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(message)))
        assert (listing.class_names, {*listing.parts}) == (["banded", "dotted"], {"train", "validation"})
        trained = [name for name, part in zip(listing.names, listing.parts, strict=True) if part == "train"]
        assert sorted(trained) == names[::2]
        (tmp_path / "images.csv").unlink()


def test_lists_of_paths_without_a_suffix_give_the_official_test_part(tmp_path: Path) -> None:
    """Food-101: lists without suffixes in meta, next to a list of the classes and the same lists as JSON."""
    names = [f"{label}/{number}" for label in ("apple_pie", "baklava") for number in range(1005649, 1005655)]
    lay(tmp_path, *(f"images/{name}.jpg" for name in names))
    (tmp_path / "meta").mkdir()
    for part, kept in (("train", names[::2]), ("test", names[1::2])):
        (tmp_path / "meta" / f"{part}.txt").write_text("".join(f"{name}\n" for name in kept))
        (tmp_path / "meta" / f"{part}.json").write_text(json.dumps({"apple_pie": kept}))
    (tmp_path / "meta/classes.txt").write_text("apple_pie\nbaklava\n")
    with pytest.raises(ZooError, match="has only one folder of images") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy == f"The class folders are further down: data.root={tmp_path / 'images'}"
    notes = folder_scan.scan(str(tmp_path / "images")).notes
    (note,) = [
        note for note in notes if note.startswith("Not used: meta/test.txt, meta/train.txt, lists of the images")
    ]
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(note)))
    assert (listing.class_names, Counter(listing.parts)) == (["apple_pie", "baklava"], {"train": 6, "test": 6})


def test_a_part_of_the_names_may_be_the_class(tmp_path: Path) -> None:
    """UTKFace: AGE_GENDER_RACE_DATE.jpg."""
    root = lay(tmp_path, *(f"faces/{n + 20}_{n % 2}_{n % 3}_2017{n:04}.jpg.chip.jpg" for n in range(24))) / "faces"
    with pytest.raises(ZooError, match=r"no class folders") as caught:
        folder_scan.scan(str(root))
    given = scripts.table_written(caught.value.remedy)
    assert given["label_column"] == "part2"
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert (listing.class_names, len(listing.names)) == (["0", "1"], 24)


def test_the_folder_of_classes_next_to_a_set_for_detection_is_named(tmp_path: Path) -> None:
    """Blood cells: two archives, each in a folder of its own name."""
    lay(tmp_path, "detect/detect/JPEGImages/1.jpg", *in_parts("sort/sort/images/TRAIN", "sort/sort/images/TEST"))
    (tmp_path / "detect/detect/Annotations").mkdir()
    (tmp_path / "detect/detect/Annotations/1.xml").write_text("<annotation/>")
    with pytest.raises(ZooError, match=r"for detection or segmentation") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy.endswith(f"Another folder: data.root={tmp_path}/sort/sort/images")


def test_names_of_parts_need_images_and_are_no_classes(tmp_path: Path) -> None:
    """Cassava and Plant Pathology: train_tfrecords next to train_images, and Test_0.jpg next to Train_0.jpg."""
    lay(tmp_path, *(f"{part}_images/{n}.jpg" for part in ("train", "test") for n in range(3)))
    for name in ("train_tfrecords", "test_tfrecords"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.tfrec").touch()
    with pytest.raises(ZooError, match=r"has test_images, train_images, which are names of parts of a data set"):
        folder_scan.scan(str(tmp_path))
    root = lay(tmp_path / "plants", *(f"images/{part}_{n}.jpg" for part in ("Train", "Test") for n in range(9)))
    with pytest.raises(ZooError) as caught:
        folder_scan.scan(str(root))
    assert "names of the images may begin with" not in caught.value.remedy


def test_patients_within_classes_can_be_kept_together(tmp_path: Path) -> None:
    names = (
        f"{label}/p{patient}/{n}.png" for label, own in (("bird", "12"), ("cat", "34")) for patient in own for n in "56"
    )
    lay(tmp_path, *names)
    with pytest.raises(ZooError, match="such as bird/p1") as caught:
        folder_scan.scan(str(tmp_path))
    assert "add data.layout=classes data.group=folder2." in caught.value.remedy
    assert "With data.group=folder2, " in folder_scan.scan(str(tmp_path), layout="classes").notes[-1]


def test_a_part_without_images_is_named(tmp_path: Path) -> None:
    lay(tmp_path, *in_parts("train"))
    (tmp_path / "test/cat").mkdir(parents=True)
    (tmp_path / "val").mkdir()
    notes = folder_scan.scan(str(tmp_path)).notes
    assert {"test/ contains no images, so there is no test part", "val/ contains no images"} <= set(notes)


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    for name, words in (
        ("set.zip", "an archive, not a folder\nUnpack it"),
        ("x.NII.gz", "a medical image"),
        ("a.mp3", "a sound"),
    ):
        (tmp_path / name).write_bytes(b"content")
        with pytest.raises(ZooError) as caught:
            folder_scan.scan(str(tmp_path / name))
        assert f"data.root={tmp_path / name} is {words}" in str(caught.value)
    lay(tmp_path, "1.png")
    with pytest.raises(ZooError, match=r"1.png is an image, not a folder"):
        folder_scan.scan(str(tmp_path / "1.png"))


def test_a_folder_of_unlabeled_images_next_to_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="unlabeled contains images next to the class folders cat, dog"):
        folder_scan.scan(str(lay(tmp_path, "cat/1.png", "dog/1.png", "unlabeled/1.png")))


def test_domains_with_a_folder_between_them_and_their_classes_are_refused(tmp_path: Path) -> None:
    names = [f"{domain}/images/{name}/1.png" for domain in ("amazon", "webcam") for name in ("bike", "mug")]
    with pytest.raises(ZooError, match="amazon, webcam all contain the folders bike, mug"):
        folder_scan.scan(str(lay(tmp_path, *names)))


def test_labels_next_to_folders_of_persons_are_named_before_these(tmp_path: Path) -> None:
    lay(tmp_path, "faces/7890/1.png", "faces/7891/1.png")
    for name, words in (
        ("classes.txt", ""),
        ("fold_0_data.txt", "Read the labels with `data=image_table data.root="),
    ):
        (tmp_path / name).write_text("user_id\timage\tage\n" + "7890\t1.png\t33\n" * bool(words))
        with pytest.raises(ZooError, match="only one folder of images, 'faces'") as caught:
            folder_scan.scan(str(tmp_path))
        assert caught.value.remedy.startswith(words or "The class folders are further down")
        assert caught.value.remedy.endswith(f"data.root={tmp_path / 'faces'}")


def test_lists_of_classes_are_not_labels(tmp_path: Path) -> None:
    """Animals with Attributes, and birds of CUB-200."""
    lay(tmp_path, *(f"JPEGImages/{name}/{number}.jpg" for name in ("cow", "deer") for number in range(3)))
    for name in (
        "classes.txt",
        "trainclasses.txt",
        "testclasses.txt",
        "predicates.txt",
        "images.txt",
        "train_test_split.txt",
    ):
        (tmp_path / name).write_text("cow\ndeer\n")
    with pytest.raises(ZooError, match="has only one folder of images, 'JPEGImages'") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy == f"The class folders are further down: data.root={tmp_path / 'JPEGImages'}"


def test_a_copy_of_the_classes_next_to_them_is_to_be_removed(tmp_path: Path) -> None:
    lay(
        tmp_path,
        *(f"{prefix}{name}/{number}.jpg" for prefix in ("", "set/") for name in ("no", "yes") for number in "123"),
    )
    with pytest.raises(ZooError, match="which also exist next to it") as caught:
        folder_scan.scan(str(tmp_path))
    assert "A copy: give it alone: data.root=" in caught.value.remedy


def test_validation_images_without_classes_are_replaced_from_the_training_images(tmp_path: Path) -> None:
    """Tiny ImageNet."""
    lay(
        tmp_path,
        *(f"train/{name}/images/{number}.jpg" for name in ("n1", "n2") for number in "123"),
        "val/images/1.jpg",
    )
    (tmp_path / "val/val_annotations.txt").write_text("1.jpg\tn1\t0\t32\t44\t62\n2.jpg\tn1\t0\t2\t4\t6\n")
    (note,) = [note for note in folder_scan.scan(str(tmp_path)).notes if "val/ contains" in note]
    assert "which are not used, and train/ gives the validation part. " in note
    assert "val_annotations.txt" in note


def test_a_table_that_names_no_image_is_not_recommended(tmp_path: Path) -> None:
    lay(tmp_path, "images/a1.png", "images/a2.png")
    (tmp_path / "certainties.txt").write_text("1 not visible\n2 guessing\n3 probably\n4 definitely\n")
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert "certainties" not in caught.value.remedy
    (tmp_path / "labels.txt").write_text("images/a1.png 1\nimages/a2.png 2\nimages/a3.png 2\n")
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"data.root={tmp_path / 'labels.txt'}`" in caught.value.remedy


@pytest.mark.parametrize("below", ["", "train", "images"])
def test_classes_in_the_names_of_images_are_named_with_a_command(tmp_path: Path, below: str) -> None:
    root = tmp_path / "my set"
    lay(root / below, *(f"{name}.{number}.jpg" for name in ("cat", "big dog") for number in range(5)))
    if below == "train":
        lay(root / "test1", *(f"{number}.jpg" for number in range(5)))
    with pytest.raises(ZooError, match="class folders") as caught:
        folder_scan.scan(str(root))
    assert "may begin with their classes, such as big dog, cat: " in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    assert image_table.scan(DataSettings(name="image_table", **given)).class_names == ["big dog", "cat"]


def test_classes_in_the_names_of_all_parts_keep_their_parts(tmp_path: Path) -> None:
    """Food-11: training/3_17.jpg; in a small part, the second number alone would look like the class."""
    sizes = (("training", 8), ("validation", 3), ("evaluation", 3))
    root = lay(
        tmp_path / "food", *(f"{part}/{c}_{n}.jpg" for part, size in sizes for c in range(11) for n in range(size))
    )
    with pytest.raises(ZooError, match=r"no class folders") as caught:
        folder_scan.scan(str(root))
    assert "may begin with their classes, such as 0, 1, 10 and 8 more" in caught.value.remedy
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(caught.value.remedy)))
    assert len(listing.class_names) == 11
    assert [listing.parts.count(part) for part in ("train", "validation", "test")] == [88, 33, 33]


def test_two_training_folders_are_classes_further_down(tmp_path: Path) -> None:
    """Real and fake faces: training_fake and training_real are no parts."""
    lay(
        tmp_path,
        *(
            f"faces/training_{name}/{level}_{n}.jpg"
            for name in ("fake", "real")
            for level in ("easy", "hard")
            for n in range(9)
        ),
    )
    for path in (tmp_path / "faces" / "training_fake").iterdir():
        Image.new("RGB", (9, 9), "blue").save(path)
    with pytest.raises(ZooError, match=r"has only one folder of images, 'faces'") as caught:
        folder_scan.scan(str(tmp_path))
    assert "may begin with" not in caught.value.remedy
    assert folder_scan.scan(str(tmp_path / "faces")).class_names == ["training_fake", "training_real"]


def test_a_table_next_to_folders_and_unsorted_images_is_named_first(tmp_path: Path) -> None:
    """ODIR: preprocessed images and a table next to the folders of the data set."""
    lay(
        tmp_path,
        "ODIR/Training Images/1_left.jpg",
        "ODIR/Testing Images/9_left.jpg",
        "images/1_left.jpg",
        "images/2_left.jpg",
    )
    (tmp_path / "full_df.csv").write_text("filename,labels\n1_left.jpg,N\n2_left.jpg,D\n")
    with pytest.raises(ZooError, match=r"only images are in .*: classes, or classes and images") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy.startswith(
        f"Read the labels with `data=image_table data.root={tmp_path}/full_df.csv`; or: "
    )


def test_numbers_may_belong_to_classes_in_the_names_of_images(tmp_path: Path) -> None:
    """COIL-100: an object with its number, then the angle."""
    root = tmp_path / "coil"
    lay(root, *(f"obj{name}__{angle}.png" for name in (1, 10, 2) for angle in range(0, 60, 5)))
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(root))
    given = scripts.table_written(caught.value.remedy)
    assert image_table.scan(DataSettings(name="image_table", **given)).class_names == ["obj1", "obj10", "obj2"]


@pytest.mark.parametrize(("codes", "said"), [("AN HA SU", True), ("AN HA 7", False), ("AN", False)])
def test_codes_in_the_names_of_images_may_be_the_classes(tmp_path: Path, codes: str, said: bool) -> None:
    """KDEF: a folder for each person, and the emotion in the name of the file."""
    lay(tmp_path, *(f"{name}/{name}{code}.jpg" for name in ("AF01", "AF02", "BM01") for code in codes.split()))
    notes = folder_scan.scan(str(tmp_path)).notes
    assert any(f"one of {len(codes.split())} codes, such as AN" in note for note in notes) == said


def test_a_part_of_the_names_in_folders_of_persons_is_written_as_a_table(tmp_path: Path) -> None:
    """MRL Eye: person, number, gender, glasses, state of the eye, reflections, light, sensor."""
    root = tmp_path / "mrl eyes"
    persons = [f"s{number:04}" for number in range(1, 5)]
    lay(root, *(f"{name}/{name}_{n:05}_0_0_{n % 2}_{n % 3}_0_01.png" for name in persons for n in range(12)))
    (note,) = [note for note in folder_scan.scan(str(root)).notes if "one of" in note]
    given = scripts.table_written(note)
    assert (given["label_column"], given["group"]) == ("part5", "folder1")
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert (listing.class_names, len(listing.names), {*listing.groups}) == (["0", "1"], 48, {*persons})


def test_folders_of_patients_with_classes_are_written_as_a_table_with_groups(tmp_path: Path) -> None:
    """IDC: a folder for each patient, and in it one for each class."""
    root = tmp_path / "idc 5"
    lay(root, *(f"{each}/{name}/{each}_x{n}.png" for each in (10253, 10254, 8863) for name in "01" for n in range(4)))
    with pytest.raises(ZooError, match="is ambiguous") as caught:
        folder_scan.scan(str(root))
    given = scripts.table_written(caught.value.remedy)
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert (listing.class_names, len(listing.names), len({*listing.groups})) == (["0", "1"], 24, 3)


def test_masks_and_copies_with_the_names_of_photos_are_left_out(tmp_path: Path) -> None:
    """Magnetic tiles: a JPEG and its mask as PNG, side by side."""
    names = [
        f"{kind}/Imgs/exp{n}.{suffix}" for kind in ("hole", "free") for n in range(10) for suffix in ("jpg", "png")
    ]
    lay(tmp_path, *names[:-1])
    listing = folder_scan.scan(str(tmp_path))
    assert (len(listing.names), {Path(name).suffix for name in listing.names}) == (20, {".jpg"})
    assert any(note.startswith("Not used: 19 files such as free/Imgs/exp0.png") for note in listing.notes)


def test_parts_with_label_files_next_to_class_folders_are_used(tmp_path: Path) -> None:
    """NEU-DET: class folders in images, and a label file for each image in annotations."""
    for part in ("train", "validation"):
        lay(tmp_path, *(f"{part}/images/{kind}/{kind}_{n}.jpg" for kind in ("crazing", "patches") for n in range(6)))
        for name in (f"{part}/annotations/{kind}_{n}.xml" for kind in ("crazing", "patches") for n in range(6)):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("<annotation/>")
    listing = folder_scan.scan(str(tmp_path))
    assert (listing.class_names, {*listing.parts}) == (["crazing", "patches"], {"train", "validation"})
    assert any("annotations" in note for note in listing.notes)


@pytest.mark.parametrize(
    ("name", "part"), [("S{p:03}_{s:03}_{n:08}", "part1"), ("original_{p}_{n}", "part2"), ("photo {n}", None)]
)
def test_numbers_of_persons_in_the_names_are_proposed_as_groups(tmp_path: Path, name: str, part: str | None) -> None:
    """CK+48; signatures."""
    root = tmp_path / "set"
    for kind, first in (("anger", 0), ("fear", 4)):
        names = (name.format(p=p, s=2, n=10 * p + n + first) for p in range(1, 7) for n in range(4))
        lay(root, *(f"{kind}/{each}.png" for each in names))
    listing = folder_scan.scan(str(root))
    notes = set_parts.groups_notes(listing.names, listing.labels, listing.parts)
    assert [note.partition("may number a person")[2].partition("data.group=")[2] for note in notes] == [part] * bool(
        part
    )


def test_persons_in_both_given_parts_are_counted(tmp_path: Path) -> None:
    """OCT2017: CNV-1016042-1, with the number of the patient."""
    for part, first in (("train", 0), ("test", 4)):
        patients = range(1_016_040 + first, 1_016_046 + first)
        lay(
            tmp_path,
            *(f"{part}/{kind}/{kind}-{p}-{n}.png" for kind in ("CNV", "DME") for p in patients for n in (1, 2)),
        )
    listing = folder_scan.scan(str(tmp_path))
    (note,) = set_parts.groups_notes(listing.names, listing.labels, listing.parts)
    assert ", of which 2 are in the training part and in the test part" in note
    assert note.endswith("data.group=part2")


def test_outer_and_inner_folders_together_may_be_the_classes(tmp_path: Path) -> None:
    """Omniglot: character01 is a different sign in each alphabet."""
    root = tmp_path / "my set"
    lay(
        root,
        *(f"{outer}/character0{inner}/{n}.png" for outer in ("Greek", "Tengwar") for inner in "12" for n in "34"),
    )
    with pytest.raises(ZooError, match="is ambiguous") as caught:
        folder_scan.scan(str(root))
    assert "Or data.label_column=folders for the outer and inner ones together" in caught.value.remedy
    given = {**scripts.table_written(caught.value.remedy), "label_column": "folders"}
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert listing.class_names == [f"{outer}/character0{inner}" for outer in ("Greek", "Tengwar") for inner in "12"]
    assert len(listing.names) == 8


def test_counted_images_have_no_classes_in_their_names(tmp_path: Path) -> None:
    lay(tmp_path, *(f"image_{number}.jpg" for number in range(9)), "cover1.jpg")
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert "may begin with" not in caught.value.remedy


def test_unpacked_archives_are_no_classes(tmp_path: Path) -> None:
    lay(tmp_path, *(f"ships/ships/{label}__2018_{number}.png" for label in "01" for number in range(5)),
        *(f"scenes/scenes/lb_{number}.png" for number in range(4)))  # fmt: skip
    with pytest.raises(ZooError, match="each with one folder of the same name") as caught:
        folder_scan.scan(str(tmp_path))
    assert "begin with their classes, such as 0, 1: " in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    assert image_table.scan(DataSettings(name="image_table", **given)).class_names == ["0", "1"]
    assert folder_scan.scan(str(tmp_path), "classes").class_names == ["scenes", "ships"]


def test_a_second_copy_in_lower_case_is_not_to_be_joined(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{top}/{name}/1.png" for top in ("Leaf Set", "leaf set") for name in "ab"))
    with pytest.raises(ZooError, match="differ in capitals, blanks or codes of accents only") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"give one: data.root='{tmp_path}/leaf set'." in caught.value.remedy


def test_classes_with_longer_names_in_the_training_part_are_renamed(tmp_path: Path) -> None:
    lay(
        tmp_path,
        *(f"train/{name}/1.png" for name in ("adeno_left", "normal")),
        "test/adeno/1.png",
        "test/normal/1.png",
    )
    with pytest.raises(ZooError, match="does not have: 'adeno'") as caught:
        folder_scan.scan(str(tmp_path))
    command = caught.value.remedy.partition("rename them: ")[2]
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    assert folder_scan.scan(str(tmp_path)).class_names == ["adeno_left", "normal"]


def test_names_of_a_part_and_a_class_are_explained_with_a_command(tmp_path: Path) -> None:
    """As in sets for pairs of domains: trainA, trainB, testA, testB."""
    lay(tmp_path / "my set", *(f"{part}{name}/{n}.png" for part in ("train", "test") for name in "AB" for n in "12"))
    with pytest.raises(ZooError, match="names of a part and of a class, a, b") as caught:
        folder_scan.scan(str(tmp_path / "my set"))
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(caught.value.remedy)))
    assert (listing.class_names, sorted(set(listing.parts))) == (["a", "b"], ["test", "train"])
    lay(tmp_path / "scenes", *in_parts("seg_train", "seg_test"))
    table_of = scripts.load("table_of")
    assert table_of.main(["names", str(tmp_path / "scenes"), str(tmp_path / "scenes.csv")]) == 0
    settings = DataSettings(name="image_table", root=f"{tmp_path}/scenes.csv", images=f"{tmp_path}/scenes")
    settings.label_column = "folder2"
    assert set(image_table.scan(settings).parts) == {"test", "train"}


def test_a_folder_further_down_is_quoted_for_the_shell(tmp_path: Path) -> None:
    lay(tmp_path / "outer", "The set/cat/1.png", "The set/dog/1.png")
    with pytest.raises(ZooError, match="has only one folder of images") as caught:
        folder_scan.scan(str(tmp_path / "outer"))
    assert (caught.value.remedy or "").endswith(f"data.root='{tmp_path / 'outer' / 'The set'}'")


@pytest.mark.parametrize("names", [["pred/{}.png"], ["other set/TRAIN/{}.png", "other set/VAL/{}.png"]])
def test_images_without_classes_next_to_the_classes_are_a_question(tmp_path: Path, names: list[str]) -> None:
    patterns = ["yes/{}.png", "no/{}.png", *names]
    with pytest.raises(ZooError, match="next to the class folders no, yes: a class of that name"):
        folder_scan.scan(str(lay(tmp_path, *(each.format(n) for each in patterns for n in range(3)))))


def test_parts_in_class_folders_are_sorted_by_the_command(tmp_path: Path) -> None:
    root = tmp_path / "my set"
    places = [f"{name}/{part}" for name in ("bolt", "nut") for part in ("Train", "Test")]
    lay(root, *(f"{place}/{number}.png" for place in places for number in "12"),
        "bolt/Train/Label/1_label.png", "nut/Train/Label/1_label.png")  # fmt: skip
    with pytest.raises(ZooError, match="all contain the folders Test, Train") as caught:
        folder_scan.scan(str(root))
    command = caught.value.remedy.splitlines()[0].partition("a class: ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    listing = folder_scan.scan(str(root / "FOLDER"))
    assert (listing.class_names, sorted(listing.parts)) == (["bolt", "nut"], ["test"] * 4 + ["train"] * 4)


def test_parts_with_classes_further_down_are_named_next_to_unsorted_images(tmp_path: Path) -> None:
    lay(tmp_path, *(f"images/{part}/{name}/{n}.png" for part in ("train", "val") for name in "ab" for n in "12"),
        "images/test/1.png", "images/test/2.png")  # fmt: skip
    with pytest.raises(ZooError, match="has only one folder of images") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy.endswith(f"data.root={tmp_path}/images")


def test_folders_of_clips_are_told_from_classes(tmp_path: Path) -> None:
    """UCF-101 as frames: v_Diving_g01_c02/frame000001.jpg."""
    clips = [f"v_{action}_g0{group}_c01" for action in ("Diving", "YoYo") for group in (1, 2, 3)]
    lay(tmp_path, *(f"{clip}/frame00000{number}.png" for clip in clips for number in range(4)))
    with pytest.raises(ZooError, match="or the frames of one clip each") as caught:
        folder_scan.scan(str(tmp_path))
    given = scripts.table_written(str(caught.value.remedy))
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert (listing.class_names, len(listing.names), len({*listing.groups})) == (["v_Diving", "v_YoYo"], 24, 6)
    assert len(folder_scan.scan(str(tmp_path), "classes").class_names) == 6


@pytest.mark.parametrize(
    "names",
    [
        ("Apple Red 1/0_100.png", "Apple Red 2/r_1_90.png", "Plum 1/5_10.png", "Plum 2/8_9.png"),
        ("class_1/1.png", "class_2/1.png", "class_3/1.png"), ("a_1/x.png", "a_2/x.png", "b_1/x.png", "b_2/x.png"),
    ],
)  # fmt: skip
def test_numbered_varieties_are_no_clips(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert len(folder_scan.scan(str(lay(tmp_path, *names))).class_names) == len(names)


def test_a_link_to_itself_is_no_folder(tmp_path: Path) -> None:
    lay(tmp_path, "cat/1.png", "dog/1.png")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "cat" / "self.png").symlink_to("self.png")
    assert folder_scan.scan(str(tmp_path)).class_names == ["cat", "dog"]


def test_the_list_of_training_images_is_named_before_that_of_tests(tmp_path: Path) -> None:
    """Indoor scenes: the lists lie two levels above the class folders."""
    names = [f"{kind}/{kind}{n}_gif.jpg" for kind in ("bakery", "bathroom") for n in range(6)]
    lay(tmp_path / "indoorCVPR_09" / "Images", *names)
    for part, chosen in (("Train", names[::2]), ("Test", names[1::2])):
        (tmp_path / f"{part}Images.txt").write_text("\n".join(chosen))
    notes = folder_scan.scan(str(tmp_path / "indoorCVPR_09" / "Images")).notes
    (note,) = [note for note in notes if note.startswith("Not used: ../TestImages.txt, ../TrainImages.txt, lists of")]
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(note)))
    assert (listing.class_names, Counter(listing.parts)) == (["bakery", "bathroom"], {"train": 6, "test": 6})


def test_arrays_of_names_and_records_in_matlab_files_give_the_parts(tmp_path: Path) -> None:
    """Stanford Dogs lists names for each part, and Stanford Cars records; both parts of the latter number from 1."""
    names = [f"n0{k}-{kind}/n0{k}_{n}.jpg" for k, kind in enumerate(("Beagle", "Boxer"), 1) for n in range(6)]
    dogs = lay(tmp_path / "dogs", *(f"Images/{name}" for name in names))
    for file, kept in (("file_list", names), ("train_list", names[::2]), ("test_list", names[1::2])):
        cells = np.array([[name] for name in kept], object)
        content = {"file_list": cells, "labels": np.array([[int(name[2])] for name in kept], np.uint8)}
        scipy.io.savemat(dogs / f"{file}.mat", content)
    cars = lay(tmp_path / "cars", *(f"cars_{part}/{n:05}.jpg" for part in ("train", "test") for n in range(1, 7)))
    for part in ("train", "test"):
        records = np.zeros((1, 6), [("class", "O"), ("fname", "O")])
        for n in range(6):
            records[0, n] = (np.array([[n % 2 + 1]], np.uint8), np.array([f"{n + 1:05}.jpg"]))
        scipy.io.savemat(cars / f"cars_{part}_annos.mat", {"annotations": records})
    scipy.io.savemat(cars / "cars_meta.mat", {"class_names": np.array([["Acura", "Audi"]], object)})
    for root, column, classes in ((dogs, "labels", ["1", "2"]), (cars, "name of class", ["Acura", "Audi"])):
        with pytest.raises(ZooError) as caught:
            folder_scan.scan(str(root))
        given = {**scripts.table_written(caught.value.remedy), "label_column": column}
        listing = image_table.scan(DataSettings(name="image_table", **given))
        assert (listing.class_names, Counter(listing.parts)) == (classes, {"train": 6, "test": 6})
        assert all(part in name for name, part in zip(listing.names, listing.parts, strict=True) if root == cars)


@pytest.mark.parametrize(
    ("numbers", "says"), [([1, 2, 9], "that of no image"), ([1, 4], "of two parts"), (None, "no array with a label")]
)
def test_numbers_of_matlab_that_do_not_fit_the_images_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], numbers: list[int] | None, says: str
) -> None:
    root = lay(tmp_path / "set", *(f"image_{n}.jpg" for n in range(1, 7)))
    labels = np.array([[1, 2] * (3 if numbers else 2)], np.uint8)
    scipy.io.savemat(root / "labels.mat", {"labels": labels, "trnid": np.array([numbers or [1]]), "tstid": [[4, 5, 6]]})
    assert scripts.load("table_of").main(["matlab", str(root), str(tmp_path / "out.csv")]) == 1
    assert says in " ".join(capsys.readouterr().err.split())


def test_numbers_of_persons_as_classes_are_named_with_the_codes_of_their_images(tmp_path: Path) -> None:
    """RAVDESS as spectrograms: folders of actors, and the emotion in the third part of the names."""
    actors = itertools.product(range(1, 5), range(1, 5), (1, 2))
    root = lay(tmp_path / "set", *(f"Actor_0{a}/03-01-0{e}-01-02-0{r}-0{a}.png" for a, e, r in actors))
    notes = folder_scan.scan(str(root)).notes
    assert any("look like numbers of persons" in note for note in notes)
    (note,) = [note for note in notes if note.startswith("Each name holds one of 4 codes")]
    given = scripts.table_written(note)
    assert (given["label_column"], given["group"]) == ("part3", "folder1")
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert (listing.class_names, len({*listing.groups})) == (["01", "02", "03", "04"], 4)


def test_folders_of_patients_are_groups_of_a_table() -> None:
    """CheXpert: train/patient00001/study1/view1_frontal.jpg."""
    names = [f"train/patient{n:05}/study{s}/view1_frontal.jpg" for n in range(5) for s in "123"]
    (note,) = set_parts.groups_notes(names, [0, 1] * len(names), [])
    assert note.startswith("Folder 2 of the paths, such as patient00000, may number a person")
    assert note.endswith("data.group=folder2")


def test_numbers_of_training_images_give_the_official_parts(tmp_path: Path) -> None:
    """CUB-200: images.txt numbers the images, and train_test_split.txt has 1 for each in the training part."""
    root = tmp_path / "CUB"
    names = [f"00{k}.{name}/{name}_{n:04}_79{k}{n}.jpg" for k, name in enumerate(("Auk", "Owl"), 1) for n in range(6)]
    lay(root / "images", *names)
    (root / "images.txt").write_text("".join(f"{number} {name}\n" for number, name in enumerate(names, 1)))
    (root / "train_test_split.txt").write_text("".join(f"{number} {number % 2}\n" for number in range(1, 13)))
    with pytest.raises(ZooError) as caught:
        folder_scan.scan(str(root))
    assert caught.value.remedy == f"The class folders are further down: data.root={root / 'images'}"
    (note,) = [note for note in folder_scan.scan(str(root / "images")).notes if note.startswith("Not used: ")]
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(note)))
    trained = [name for name, part in zip(listing.names, listing.parts, strict=True) if part == "train"]
    assert (listing.class_names, sorted(trained)) == (["001.Auk", "002.Owl"], names[::2])
    lay(tmp_path / "other", *(f"{kind}/{n}.png" for kind in ("bolt", "nut") for n in range(3)))
    assert not any("lists of" in note for note in folder_scan.scan(str(tmp_path / "other")).notes)


def test_a_table_is_named_if_the_folders_of_a_part_are_persons(tmp_path: Path) -> None:
    """CheXpert, given as a folder."""
    lay(tmp_path, *(f"{part}/patient{n}/view1.png" for part, n in (("train", 1), ("train", 2), ("valid", 3))))
    (tmp_path / "train.csv").write_text("Path,Edema\ntrain/patient1/view1.png,1\ntrain/patient2/view1.png,0\n")
    with pytest.raises(ZooError, match="has classes that train/ does not have: 'patient3'") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy.startswith(f"Read the labels with `data=image_table data.root={tmp_path}/train.csv`. ")


def test_the_slide_is_proposed_and_not_the_photo_within_it() -> None:
    """Malaria cells: C103P64ThinF_IMG_141500_cell_12 is a piece of a photo of a slide."""
    names = [
        f"{'pu'[cell % 2]}/C10{slide}P64ThinF_IMG_{141000 + 100 * slide + photo}_cell_{cell}.png"
        for slide in range(4)
        for photo in range(3)
        for cell in range(4)
    ]
    (note,) = set_parts.groups_notes(names, [0, 1] * len(names), [])
    assert note.startswith("Part 1 of the names, such as C100P64ThinF, ")
    assert note.endswith("data.group=part1")


def test_a_part_of_the_names_that_is_the_class_is_no_group() -> None:
    """GTSRB: 00002_00007_00029 is class, track and frame; test images are numbered."""
    train = [(label, f"Train/{label}/{label:05}_{track:05}_{n:05}.png")
             for label in range(4) for track in range(6) for n in range(3)]  # fmt: skip
    names = [name for _, name in train] + [f"Test/{n:05}.png" for n in range(12)]
    labels, parts = [label for label, _ in train] + [n % 4 for n in range(12)], ["train"] * 72 + ["test"] * 12
    (note,) = set_parts.groups_notes(names, labels, parts)
    assert note.endswith("data.group=part2")


def test_two_folders_with_the_same_images_are_no_classes(tmp_path: Path) -> None:
    """Fashion Product Images: images/ and myntradataset/images/, and a table of the labels."""
    lay(tmp_path, *(f"{folder}/{n}.jpg" for folder in ("images", "myntradataset/images") for n in range(1163, 1190)))
    rows = "".join(f"{n},{'Shirts' if n % 2 else 'Jeans'}\n" for n in range(1163, 1190))
    (tmp_path / "styles.csv").write_text("id,articleType\n" + rows)
    with pytest.raises(ZooError, match="the folders images, myntradataset contain the same 27 images") as caught:
        folder_scan.scan(str(tmp_path))
    assert "styles.csv" in caught.value.remedy
    Image.new("RGB", (9, 9), "blue").save(tmp_path / "images" / "1170.jpg")
    assert len(folder_scan.scan(str(tmp_path)).class_names) == 2


def test_a_set_named_val_with_class_folders_is_not_called_unlabeled(tmp_path: Path) -> None:
    """NCT-CRC-HE-100K and CRC-VAL-HE-7K have the same class folders."""
    lay(tmp_path, *(f"{part}/{kind}/{n}.png" for part in ("NCT-CRC", "CRC-VAL") for kind in ("ADI", "LYM", "TUM")
                    for n in range(4)))  # fmt: skip
    for path in (tmp_path / "CRC-VAL").rglob("*.png"):
        Image.new("RGB", (9, 9), "blue").save(path)
    with pytest.raises(ZooError, match="all contain the folders ADI, LYM, TUM"):
        folder_scan.scan(str(tmp_path))


def test_files_that_do_not_name_the_images_are_not_offered_as_labels(tmp_path: Path) -> None:
    lay(tmp_path, *(f"set/{name}/{name}{number:05}.png" for name in ("cat", "dog") for number in range(3)))
    for name, text in (
        ("notes/notes.txt", "cat00001 is sharp\nthe rest is not\nsee also\nthe other set\n"),
        ("notes/one.txt", "cat00001 and dog00002\n"), ("todo.csv", "task,done\nbuy milk,1\n"),
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    listing = folder_scan.scan(str(tmp_path / "set"))
    assert listing.notes == ["2 classes: cat (3), dog (3)"]
    with pytest.raises(ZooError, match="only one folder of images, 'set'") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy == f"The class folders are further down: data.root={tmp_path / 'set'}"
    (tmp_path / "persons.csv").write_text("image,person\ncat00001,1\ndog00002,2\n")
    assert folder_scan.scan(str(tmp_path / "set")).notes[-1].startswith("Not used: persons.csv. Read its labels with")


def test_a_copy_of_all_parts_next_to_them_is_not_used(tmp_path: Path) -> None:
    """Chest X-Ray Images: chest_xray/chest_xray has the same parts."""
    names = in_parts("train", "test")
    root = lay(tmp_path, *names, *(f"copy/{name}" for name in names))
    assert sorted(folder_scan.scan(str(root)).names) == sorted(names)
    lay(tmp_path, "copy/train/cat/2.png")
    with pytest.raises(ZooError, match=r"contains the parts .* and also images in copy"):
        folder_scan.scan(str(root))


def test_names_that_begin_with_several_words_become_classes_by_the_command(tmp_path: Path) -> None:
    """LEGO bricks: 3001 brick 2x4 017L.png."""
    kinds = ("3001 brick 2x4", "2357 brick corner 1x2x2", "3022 Plate 2x2")
    root = lay(
        tmp_path / "set", *(f"{kind} {number:03d}{side}.png" for kind in kinds for number in range(4) for side in "LR")
    )
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(root))
    given = scripts.table_written(caught.value.remedy)
    listing = image_table.scan(DataSettings(name="image_table", **given))  # type: ignore[arg-type]
    assert listing.class_names == sorted(kinds)
