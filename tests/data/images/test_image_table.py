"""Tables of labels next to images: public kinds of tables, and those that cannot be used."""

import json
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import scripts
from zoo.config.schemas.image_classification import DataSettings
from zoo.core.errors import ZooError
from zoo.data.images import folder_dataset, folder_scan, image_table
from zoo.data.images.folder_scan import FolderListing


def lay(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def write(path: Path, *lines: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding=encoding, newline="")
    return path


def scan(root: Path, **settings: object) -> FolderListing:
    return image_table.scan(DataSettings(name="image_table", root=str(root), **settings))  # type: ignore[arg-type]


def classes(listing: FolderListing) -> dict[str, str]:
    return {name: listing.class_names[label] for name, label in zip(listing.names, listing.labels, strict=True)}


def labels(listing: FolderListing) -> dict[str, list[str]]:
    known = listing.targets
    assert known
    assert known.kind == "labels"
    chosen = ([known.names[place] for place in np.flatnonzero(row)] for row in known.values)
    return dict(zip(listing.names, chosen, strict=True))


def parts(listing: FolderListing) -> dict[str, str]:
    return dict(zip(listing.names, listing.parts, strict=True))


def refused(root: Path, **settings: object) -> ZooError:
    with pytest.raises(ZooError) as caught:
        scan(root, **settings)
    assert caught.value.remedy
    return caught.value


def rows(*patterns: str, count: int = 6) -> Iterable[str]:
    """Number patterns in turn: rows(*"ab") are the lines a, b, a, ... with {} as their number."""
    return (patterns[number % len(patterns)].replace("{}", str(number)) for number in range(count))


def test_ids_without_suffix_in_two_folders_with_lesions_as_groups(tmp_path: Path) -> None:
    """HAM10000."""
    lay(tmp_path, *(f"HAM10000_images_part_{1 + number % 2}/ISIC_{number}.jpg" for number in range(12)))
    body = (f"HAM_{number // 2},ISIC_{number},{('nv', 'mel')[number // 2 % 2]},histo,{number}.0,male,back"
            for number in range(12))  # fmt: skip
    table = write(tmp_path / "HAM10000_metadata.csv", "lesion_id,image_id,dx,dx_type,age,sex,localization", *body)
    listing = scan(table, group="lesion_id")
    assert listing.class_names == ["mel", "nv"]
    assert classes(listing)["HAM10000_images_part_2/ISIC_3.jpg"] == "mel"
    assert listing.groups[listing.names.index("HAM10000_images_part_1/ISIC_6.jpg")] == "HAM_3"
    assert "class in dx, image in image_id, group in lesion_id" in listing.notes[0]
    assert listing.notes[-1] == "2 classes: mel (6), nv (6)"


def test_ids_of_training_images_only(tmp_path: Path) -> None:
    """Dog breeds: labels.csv, train/ID.jpg, and test images without labels."""
    lay(tmp_path, *(f"train/{number:04x}.jpg" for number in range(6)), "test/ffff.jpg")
    listing = scan(
        write(tmp_path / "labels.csv", "id,breed", *(f"{number:04x},{'ab'[number % 2]}" for number in range(6)))
    )
    assert listing.class_names == ["a", "b"]
    assert listing.parts == []
    assert f"6 images of {tmp_path} with a row, 1 without, not used: test/ffff.jpg" in listing.notes


def test_columns_of_which_one_is_1(tmp_path: Path) -> None:
    """Plant Pathology and ISIC; with several, or none, the row and the columns are named."""
    lay(tmp_path, *rows("images/Train_{}.jpg"))
    head = "image_id,healthy,rust,scab"
    listing = scan(write(tmp_path / "train.csv", head, *rows("Train_{},1,0,0", "Train_{},0,0,1.0", "Train_{},0,1,0")))
    assert listing.class_names == ["healthy", "rust", "scab"]
    assert classes(listing)["images/Train_1.jpg"] == "scab"
    table = write(tmp_path / "train.csv", head, *rows("Train_{},1,0,0", "Train_{},0,1,1"))
    assert labels(scan(table))["images/Train_1.jpg"] == ["rust", "scab"]
    error = refused(table, target="classes")
    assert "train.csv, line 3: 2 columns of healthy, rust, scab are 1 for Train_1: rust, scab" in error.message
    assert "data.target=labels\nOne column as two classes: data.label_column=healthy" in error.remedy
    table = write(tmp_path / "train.csv", head, *rows("Train_{},1,0,0", "Train_{},0,0,1", "Train_{},0,0,0"))
    error = refused(table)
    assert (
        "line 4: none of the columns healthy, rust, scab is 1 for images/Train_2.jpg, in 2 rows of 6" in error.message
    )
    assert labels(scan(table, target="labels", label_column="healthy,scab"))["images/Train_2.jpg"] == []
    table = write(tmp_path / "train.csv", head, *rows("Train_{},1,0,x", "Train_{},0,1,1"))
    assert "column scab contains 'x'" in refused(table, label_column="rust,scab").message


def test_attributes_are_not_classes_but_one_of_them_can_be(tmp_path: Path) -> None:
    """CelebA: 1 and -1, all in one folder."""
    lay(tmp_path, *rows("img_align_celeba/00{}.jpg"))
    head = "image_id,Bald,Male,Smiling"
    table = write(tmp_path / "list_attr_celeba.csv", head, *rows("00{}.jpg,-1,1,1", "00{}.jpg,-1,-1,1"))
    assert labels(scan(table))["img_align_celeba/000.jpg"] == ["Male", "Smiling"]
    assert scan(table, label_column="Male").class_names == ["-1", "1"]
    blank = write(tmp_path / "list_attr.txt", *rows("00{}.jpg  -1  1  1", "00{}.jpg -1 -1  1"))
    assert "columns of 1, 2, 3 are 1 for 000.jpg" in refused(blank, target="classes").message


def test_a_map_next_to_the_table_names_numbers(tmp_path: Path) -> None:
    """Cassava."""
    lay(tmp_path, *rows("train_images/{}.JPG"))
    names = {"0": "CBB", "1": "Healthy", "2": "CMD"}
    (tmp_path / "label_num_to_disease_map.json").write_text(json.dumps(names))
    (tmp_path / "other.json").write_text("[1, 2]")
    listing = scan(write(tmp_path / "train.csv", "image_id,label", *rows("{}.jpg,0", "{}.jpg,1")))
    assert listing.class_names == ["CBB", "Healthy"]
    assert any("Names of the classes: " in note for note in listing.notes)
    assert scan(write(tmp_path / "train.csv", "image_id,label", *rows("{}.jpg,0", "{}.jpg,7"))).class_names == [
        "0",
        "7",
    ]


def test_tables_that_belong_together_by_number_are_named(tmp_path: Path) -> None:
    """CUB-200: three files separated by blanks."""
    lay(tmp_path, *rows("images/001.Black/b{}.jpg"))
    write(tmp_path / "images.txt", *rows("{} 001.Black/b{}.jpg"))
    for name in ("image_class_labels", "train_test_split"):
        write(tmp_path / f"{name}.txt", *rows("{} 1"))
    error = refused(tmp_path)
    assert "several tables: image_class_labels.txt, images.txt, train_test_split.txt" in error.message
    assert "Name one with image and class in each row" in error.remedy
    error = refused(tmp_path / "images.txt")
    assert "images.txt has no column of classes; its columns are 0, 1, a row: 1, 001.Black/b1.jpg" in error.message
    assert "If the folders of the images are their classes: data=folder data.root=DIR" in error.remedy


def test_columns_aligned_by_blanks_may_lack_the_title_of_the_images(tmp_path: Path) -> None:
    """CelebA: the number of rows, then one title less than there are columns."""
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    lines = [f"{number}.jpg {1 - 2 * (number % 2):2d} {1 - 2 * (number % 3 > 0):2d}  1" for number in range(12)]
    listing = scan(write(tmp_path / "list.txt", "12", "Hat Young Male ", *lines))
    assert listing.targets is not None
    assert listing.targets.names == ["Hat", "Male", "Young"]


def test_semicolons_and_measurements(tmp_path: Path) -> None:
    """GTSRB: a table in the folder of each class or of the test, in which a width is also the number of a file."""
    lay(tmp_path, *rows("0000{}.ppm"), "27.ppm")
    head = "Filename;Width;Height;Roi.X1;Roi.Y1;ClassId"
    listing = scan(
        write(tmp_path / "GT-final_test.csv", head, *rows("0000{}.ppm;27;30;5;6;16", "0000{}.ppm;29;30;5;6;1"))
    )
    assert listing.class_names == ["1", "16"]
    assert "separated by semicolons; a header" in listing.notes[0]


def test_tabs_without_header_and_boxes(tmp_path: Path) -> None:
    """Tiny ImageNet."""
    lay(tmp_path, *rows("images/val_{}.JPEG", count=9))
    table = write(
        tmp_path / "val_annotations.txt",
        *(f"val_{number}.JPEG\tn{number % 2}\t{number % 3}\t{number}\t44\t62" for number in range(9)),
    )
    listing = scan(table)
    assert listing.class_names == ["n0", "n1"]
    assert "separated by tabs; no header; utf-8; class in 1, image in 0" in listing.notes[0]
    assert len(listing.names) == 9


def test_numbers_of_columns_are_not_cells_of_the_first_row(tmp_path: Path) -> None:
    """Udacity's driving logs."""
    lay(tmp_path, *rows("center_{}.jpg", "left_{}.jpg", count=60))
    log = (f"C:\\me\\IMG\\center_{2 * n}.jpg, C:\\me\\IMG\\left_{2 * n + 1}.jpg, {n % 9 / 9}, 0" for n in range(30))
    table = write(tmp_path / "log.csv", *log)
    error = refused(table)
    assert error.message.endswith("several columns may hold the images: 0, 1")
    assert error.remedy == "Choose one, such as data.image_column=0"
    listing = scan(table, image_column="0", label_column="2", target="number")
    assert "no header; utf-8; number in 2, image in 0" in listing.notes[0]
    assert len(listing.names) == 30


def test_grades_are_classes_and_ages_are_not(tmp_path: Path) -> None:
    """APTOS and UTKFace."""
    lay(tmp_path, *(f"train_images/{number:03}.png" for number in range(90)))
    ids = [f"{number:03}" for number in range(90)]
    table = write(tmp_path / "train.csv", "id_code,diagnosis", *(f"{each},{int(each) % 5}" for each in ids))
    assert scan(table).class_names == ["0", "1", "2", "3", "4"]
    write(tmp_path / "test.csv", "id_code", "999")
    assert any("Not used: " in note and "no column diagnosis" in note for note in scan(tmp_path).notes)
    for title in ("age", "value"):
        error = refused(
            write(tmp_path / "ages.csv", f"image,{title}", *(f"{each},{int(each) // 2 * 2}" for each in ids))
        )
        assert f"column {title} holds numbers from 0 to 88, not classes; a row: 000 | 0" in error.message
        assert f"To predict this number: data.target=number data.label_column={title}" in error.remedy
        known = scan(tmp_path / "ages.csv", target="number").targets
        assert known
        assert (known.names, known.values.max()) == ([title], 88)
    error = refused(write(tmp_path / "price.csv", "image,price", *(f"{each},{each}.5" for each in ids)))
    assert "column price holds numbers from 0.5 to 89.5, not classes" in error.message


def test_paths_classes_and_parts(tmp_path: Path) -> None:
    lay(tmp_path, *rows("data/{}.jpg", count=8))
    lines = rows(
        "data/{}.jpg,cat,train",
        "data/{}.jpg,dog,train",
        "data/{}.jpg,cat,Validation",
        "data/{}.jpg,dog,test",
        count=8,
    )
    listing = scan(write(tmp_path / "all.csv", "path,label,split", *lines))
    assert parts(listing)["data/2.jpg"] == "validation"
    assert parts(listing)["data/7.jpg"] == "test"
    assert "2 classes: cat (2 train, 2 validation), dog (2 train, 2 test)" in listing.notes[-1]
    error = refused(write(tmp_path / "all.csv", "path,label,split", *rows("data/{}.jpg,a,train", "data/{}.jpg,b,test")))
    assert "has no training images of 'b'" in error.message
    error = refused(write(tmp_path / "all.csv", "path,label,split", *rows("data/{}.jpg,a,test", "data/{}.jpg,b,test")))
    assert "has no training images of 'a', 'b'" in error.message
    numbers = [f"data/{{}}.jpg,{'ab'[number % 2]},{number % 3}" for number in range(6)]
    error = refused(write(tmp_path / "all.csv", "path,label,split", *rows(*numbers)))
    assert "column split of" in error.message
    assert "holds 0, 1, 2" in error.message
    words = [f"data/{{}}.jpg,{'ab'[number % 2]},{('train', 'group2')[number % 2]}" for number in range(6)]
    error = refused(write(tmp_path / "all.csv", "path,label,split", *rows(*words)))
    assert "holds group2, train, and it is not known which part each means" in error.message


def test_numbers_and_other_names_of_the_same_classes(tmp_path: Path) -> None:
    """Butterflies and birds: spaces in the names of columns and files."""
    lay(tmp_path, *(f"{part}/AN 88/{n} a.jpg" for part in ("train", "valid") for n in range(4)))
    kinds = [('"AN 88"', "X y"), ('"ZEBRA, LONG"', "Z z")]
    lines = (
        f"{n % 2},{part}/AN 88/{n} a.jpg,{kinds[n % 2][0]},{part},{kinds[n % 2][1]}"
        for part in ("train", "valid")
        for n in range(4)
    )
    listing = scan(write(tmp_path / "butterflies.csv", "class id,filepaths,labels,data set,scientific name", *lines))
    assert listing.class_names == ["AN 88", "ZEBRA, LONG"]
    assert set(listing.parts) == {"train", "validation"}


def test_tables_of_parts_in_a_folder(tmp_path: Path) -> None:
    lay(tmp_path, *rows("images/{}.png", count=8))
    write(tmp_path / "train_labels.csv", "image,label", *rows("{}.png,a", "{}.png,b", count=4))
    write(tmp_path / "valid_labels.csv", "image,label", "4.png,a", "5.png,b")
    write(tmp_path / "test_labels.csv", "image,label", "6.png,a", "7.png,b")
    write(tmp_path / "sample_submission.csv", "image,label", "0.png,a")
    listing = scan(tmp_path)
    assert [parts(listing)[f"images/{number}.png"] for number in (3, 4, 7)] == ["train", "validation", "test"]
    assert "Not read: sample_submission.csv" in listing.notes
    write(tmp_path / "test_labels.csv", "image,label", "0.png,a", "7.png,b")
    error = refused(tmp_path)
    assert "0.png has two rows that differ: 'a' train (train_labels.csv, line 2) and 'a' test (test_l" in error.message


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("a/1.png", "a/1.png"),
        ("A\\1.PNG", "a/1.png"),
        (r"C:\Users\me\set\a\1.png", "a/1.png"),
        ("/kaggle/input/set/b/1", "b/1.png"),
        ("./b/../a/1.png", "a/1.png"),
        ("3", "b/3.JPG"),
        ("3.jpg", "b/3.JPG"),
        ("2.png", "2.png"),
    ],
)
def test_what_names_an_image(tmp_path: Path, cell: str, name: str) -> None:
    lay(tmp_path, "a/1.png", "b/1.png", "b/3.JPG", "2.png", "old/2.png", "c/5.png", "c/6.png", "c/7.png")
    listing = scan(write(tmp_path / "t.csv", "file,label", f"{cell},x", "5.png,y", "6.png,x", "7.png,y"))
    assert classes(listing)[name] == "x"
    assert len(listing.names) == 4


def test_rows_without_an_image_are_counted_and_named(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"), "a/9.png", "b/9.png")
    lines = ["none.png,a", "9.png,a", "0,", "old/x.png,a", "2", *rows("{}.png,a", "{}.png,b")]
    listing = scan(write(tmp_path / "t.csv", "file,label", *lines))
    assert listing.unreadable == [
        ("none.png", "t.csv, line 2: no such image"),
        ("9.png", "t.csv, line 3: it may be any of a/9.png, b/9.png; choose with data.images=DIR"),
        ("0", "t.csv, line 4: the label is empty"),
        ("old/x.png", "t.csv, line 5: no such image"),
        ("t.csv, line 6", "1 columns instead of 2"),
    ]


def test_few_images_need_the_column(tmp_path: Path) -> None:
    lay(tmp_path, "1.png", "2.png")
    table = write(tmp_path / "t.csv", "file,label", *rows("{}.png,a", "{}.png,b"))
    assert "no column that names images: 2 of 6 rows match at best" in refused(table).message
    assert "4 of the 6 rows" in refused(table, image_column="file").message
    lay(tmp_path / "all", *rows("{}.png"))
    assert scan(table, images=str(tmp_path / "all")).root == tmp_path / "all"


def test_repeated_rows_are_counted_and_contradictions_refused(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"))
    lines = [*rows("{}.png,a", "{}.png,b"), "1,b"]
    assert "1 row of t.csv repeat another" in scan(write(tmp_path / "t.csv", "f,label", *lines)).notes
    error = refused(write(tmp_path / "t.csv", "f,label", *lines, "1,a"))
    assert "1 has two rows that differ: 'b' (t.csv, line 3) and 'a' (t.csv, line 9)" in error.message


def test_ambiguous_columns_are_named(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"), *rows("m{}.png"))
    table = write(
        tmp_path / "t.csv",
        "image,mask,kind,shape",
        *rows("{}.png,m{}.png,a,x", "{}.png,m{}.png,b,x", "{}.png,m{}.png,b,y"),
    )
    assert "several columns may hold the images: image, mask" in refused(table).message
    error = refused(table, image_column="image")
    assert "several columns may hold the classes: kind, shape" in error.message
    assert error.remedy == "Choose one, such as data.label_column=kind"
    assert scan(table, image_column="0", label_column="shape").class_names == ["x", "y"]
    assert "did you mean 'shape'?" in refused(table, image_column="image", label_column="shap").message


def test_lists_of_labels_are_refused_and_can_be_combinations(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"))
    for one, two in (("scab", "scab rust"), ("a|b", "a"), ("['a', 'b']", "['a']")):
        table = write(
            tmp_path / "t.tsv", "image\tlabels", *rows(f"{{}}.png\t{one}", f"{{}}.png\t{two}", "{}.png\trust")
        )
        error = refused(table)
        assert "column labels holds several labels for an image, such as" in error.message
        assert error.remedy.endswith("Each combination as a class: data.target=classes data.label_column=labels")
        assert len(scan(table, target="classes").class_names) == 3
        known = scan(table, target="labels").targets
        assert known
        assert (len(known.names), known.values.sum()) == ({"scab": 2}.get(one, 3), 8)
        assert len(scan(table, label_column="labels").class_names) == 3
    table = write(tmp_path / "t.tsv", "image\tlabels", *rows("{}.png\tgreat white", "{}.png\ttiger"))
    assert scan(table).class_names == ["great white", "tiger"]


def test_nothing_outside_of_the_images_is_read(tmp_path: Path) -> None:
    lay(tmp_path / "set", *rows("images/{}.png"))
    lay(tmp_path, "secret/1.png", "x.png")
    head, body = "file,label", list(rows("images/{}.png,a", "images/{}.png,b"))
    table = tmp_path / "set" / "t.csv"
    error = refused(write(table, head, *body, "../secret/1.png,a"))
    assert "t.csv names '../secret/1.png', which is outside of the folder of images" in error.message
    listing = scan(write(table, head, *body, "../x.png,a", str(tmp_path / "x.png") + ",a", "/etc/passwd,a"))
    assert [reason[-13:] for _, reason in listing.unreadable] == ["no such image"] * 3
    write(table, head, "../set/images/0.png,a", *body[1:])
    assert classes(scan(table))["images/0.png"] == "a"
    error = refused(write(table, head, *body[1:], f"{tmp_path}/secret/1.png,a"))  # and not images/1.png
    assert f"names '{tmp_path}/secret/1.png', which is outside of the folder of images" in error.message
    (tmp_path / "link").symlink_to(tmp_path / "set")
    for place in (tmp_path / "set", tmp_path / "link"):
        assert classes(scan(write(table, head, f"{place}/images/0.png,a", *body[1:])))["images/0.png"] == "a"


def test_a_class_for_each_image_is_refused(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.png" for number in range(24)))
    table = write(tmp_path / "t.csv", "image,label", *rows("{}.png,a", "{}.png,b", count=24))
    error = refused(table, label_column="image")
    assert "each of 24 images has its own class, such as '0.png'" in error.message


def test_quotes_line_ends_and_encodings(tmp_path: Path) -> None:
    lay(tmp_path, 'a "b"\n1.png', "é.png", "2.png", "3.png")
    lines = ['"a ""b""\n1.png",x', "é.png,ÿ", "2.png,x", "3.png,ÿ"]
    for encoding in ("utf-8-sig", "cp1252", "utf-16"):
        listing = scan(write(tmp_path / "t.csv", "image,label", *lines, encoding=encoding))
        assert classes(listing) == {'a "b"\n1.png': "x", "é.png": "ÿ", "2.png": "x", "3.png": "ÿ"}


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    lay(tmp_path, "1.png", "2.png", "e/empty.csv", "e/1.png")
    assert "the file is empty" in refused(tmp_path / "e" / "empty.csv").message
    assert "has a single row, image, label" in refused(write(tmp_path / "t.csv", "image,label")).message
    assert "contains only one class" not in refused(write(tmp_path / "t.csv", "image,label", "1,a", "2,a")).message
    assert "has one class only: 'a'" in refused(write(tmp_path / "t.csv", "image,label", "1,a", "2,a")).message
    assert scan(write(tmp_path / "t.csv", "image,label", "1,a", "2,b")).class_names == ["a", "b"]
    (tmp_path / "t.csv").write_bytes(b"\x00\x01\xff" * 99)
    assert "t.csv, line 1: byte 0xff in place 3 is not utf-8" in refused(tmp_path / "t.csv").message
    Image.new("RGB", (9, 9)).save(tmp_path / "b.csv", "PNG")
    assert "is an image, not a text" in refused(tmp_path / "b.csv").message
    assert (
        "does not" in refused(tmp_path / "no.csv").message or "There is no file" in refused(tmp_path / "no.csv").message
    )
    table = write(tmp_path / "scans.csv", "id,class", "1,a", "2,b")
    lay(tmp_path / "scans", "1.dcm", "2.dcm")
    assert (
        "is not a folder that contains images, but files such as 1.dcm"
        in refused(table, images=str(tmp_path / "scans")).message
    )
    alone = refused(write(tmp_path / "alone" / "a.csv", "id,class", "1,a", "2,b"))
    assert "is not a folder that contains images, and data.images names no other" in alone.message
    assert "Give the folder of the images with data.images=DIR" in alone.remedy
    assert "a.csv is empty" in refused(write(tmp_path / "alone" / "a.csv")).message
    lay(tmp_path / "none", "a.bin")
    assert "contains no table" in refused(tmp_path / "none").message
    with pytest.raises(ZooError, match="data=image_table needs a table"):
        image_table.scan(DataSettings(name="image_table"))


def fill(root: Path, count: int = 24) -> Path:
    random = np.random.default_rng(1)
    root.mkdir()
    for number in range(count):
        pixels = random.integers(0, 120, (12, 12, 3), dtype=np.uint8) + np.uint8(120 * (number % 2))
        Image.fromarray(pixels).save(root / f"{number}.png")
    return root


def test_groups_stay_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    root = fill(tmp_path / "images")
    table = write(tmp_path / "t.csv", "image,label,patient", *(f"{n},{'ab'[n % 2]},p{n // 3}" for n in range(24)))
    folder = folder_dataset.prepare(scan(table, group="patient"), 12)
    for seed in range(4):
        split = folder_dataset.split(folder, 0.2, 0.2, seed, None, None)
        assert sorted(np.concatenate(list(split.values()))) == list(range(24))
        patients = [{folder.listing.groups[row] for row in own} for own in split.values()]
        assert all(patients)
        assert sum(map(len, patients)) == len(set().union(*patients)) == 8
    plain = folder_dataset.prepare(scan(table, images=str(root)), 12)
    assert plain.pictures == folder.pictures, "the same cache"
    assert plain.sha256 != folder.sha256
    write(
        table,
        "image,label,patient,split",
        *(f"{n},{'ab'[n % 2]},p{n // 3},{'train' if n < 20 else 'test'}" for n in range(24)),
    )
    assert "the group p6 is in two parts, train and test" in refused(table, group="patient").message
    write(table, "image,label,patient", *(f"{n},{'ab'[n // 21]},p{n // 21}" for n in range(24)))
    alone = folder_dataset.prepare(scan(table, group="patient"), 12)
    with pytest.raises(ZooError, match="No training images are left for") as caught:
        folder_dataset.split(alone, 0.9, 0.9, 1, None, None)
    assert "choose another seed" in caught.value.remedy


def test_linked_images_are_used_as_in_folders(tmp_path: Path) -> None:
    fill(tmp_path / "store", 4)
    (tmp_path / "images").mkdir()
    for number in range(4):
        os.symlink(tmp_path / "store" / f"{number}.png", tmp_path / "images" / f"{number}.png")
    listing = scan(write(tmp_path / "images" / "t.csv", "image,label", *rows("{}.png,a", "{}.png,b", count=4)))
    assert listing.names == ["0.png", "2.png", "1.png", "3.png"]


def test_a_table_in_the_folder_of_each_part(tmp_path: Path) -> None:
    """Folders of Hugging Face and Roboflow, which repeat names of images."""
    for part in ("train", "valid", "test"):
        lay(tmp_path / part, *(f"{number}.jpg" for number in range(6)))
        write(tmp_path / part / "metadata.csv", "file_name,label", *rows("{}.jpg,cat", "{}.jpg,dog"))
    write(tmp_path / "README.roboflow.txt", "About.")
    listing = scan(tmp_path)
    assert parts(listing)["train/1.jpg"] == "train"
    assert parts(listing)["valid/1.jpg"] == "validation"
    assert classes(listing)["test/1.jpg"] == "dog"
    assert len(listing.names) == 18
    lay(tmp_path, *rows("train/dogs/{}.jpg"))
    assert "train/1.jpg" in scan(tmp_path).names  # the one next to the table, and not its copy
    shutil.rmtree(tmp_path / "train/dogs")
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"Read the labels with `data=image_table data.root={tmp_path}`" in caught.value.remedy


def test_the_tables_of_one_set_among_others_are_copied_by_the_printed_command(tmp_path: Path) -> None:
    """FGVC-Aircraft: variant, family and manufacturer, each in three parts."""
    lay(tmp_path, *(f"data/images/{number:03}.jpg" for number in range(60)))
    for kind, label in (("family", "abc"), ("variant", "xy")):
        lines = [f"{number:03} {label[number % len(label)]}" for number in range(60)]
        for part, kept in (("train", lines[:36]), ("val", lines[36:48]), ("test", lines[48:])):
            write(tmp_path / "data" / f"images_{kind}_{part}.txt", *kept)
    table = tmp_path / "data/images_variant_train.txt"
    note = next(note for note in scan(table).notes if note.startswith("Not used: "))
    assert note.startswith("Not used: images_variant_test.txt, images_variant_val.txt. If these have labels too: ")
    subprocess.run(["sh", "-c", note.split("`")[1]], check=True, cwd=tmp_path)
    listing = scan(tmp_path / "tables", images=str(tmp_path / "data"))
    assert listing.class_names == ["x", "y"]
    assert [listing.parts.count(part) for part in ("train", "validation", "test")] == [36, 12, 12]


def test_lists_of_parts_among_other_lists_are_read_together(tmp_path: Path) -> None:
    """Garbage classification: no header, numbers as classes, and two lists of all images."""
    lay(tmp_path, *(f"glass/glass{number}.jpg" for number in range(60)))
    lines = [f"glass{number}.jpg {number % 6 + 1}" for number in range(60)]
    for name, kept in (("x_train", lines[:36]), ("x_val", lines[36:48]), ("x_test", lines[48:]), ("all", lines)):
        write(tmp_path / f"{name}.txt", *kept)
    listing = scan(tmp_path)
    assert [listing.parts.count(part) for part in ("train", "validation", "test")] == [36, 12, 12]
    assert listing.class_names == ["1", "2", "3", "4", "5", "6"]
    assert "Not read: all.txt" in listing.notes


def test_evaluation_next_to_test_is_the_validation_part(tmp_path: Path) -> None:
    """RFMiD: Training_Set, Evaluation_Set and Test_Set, each with its own table and repeated names of images."""
    for part in ("Training", "Evaluation", "Test"):
        lay(tmp_path / f"{part}_Set" / part, *(f"{number}.png" for number in range(6)))
        write(tmp_path / f"{part}_Set" / f"{part}_Labels.csv", "ID,DR", *rows("{},0", "{},1"))
    listing = scan(tmp_path)
    assert {name.partition("/")[0]: part for name, part in parts(listing).items()} == {
        "Training_Set": "train", "Evaluation_Set": "validation", "Test_Set": "test",
    }  # fmt: skip


def test_a_table_called_classes_in_the_folder_of_each_part(tmp_path: Path) -> None:
    """The kind of Roboflow with blanks after commas, several labels and the name of lists of classes."""
    for part in ("train", "valid", "test"):
        lay(tmp_path / part, *(f"{number}.jpg" for number in range(6)))
        write(tmp_path / part / "_classes.csv", "filename, bus, car", *rows("{}.jpg, 0, 1", "{}.jpg, 1, 1"))
    listing = scan(tmp_path)
    assert labels(listing)["valid/1.jpg"] == ["bus", "car"]
    assert parts(listing)["test/1.jpg"] == "test"
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert f"Read the labels with `data=image_table data.root={tmp_path}`" in caught.value.remedy


def test_a_column_that_groups_images_is_named(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(40)))
    for title, row in (("lesion_id", "{0},L{1},{2},x"), ("PatientID", "{0},{1},{2},x"), ("paid", "{0},{1},{2},x")):
        lines = (row.format(number, number // 2, ("a", "b")[number % 4 // 2]) for number in range(40))
        table = write(tmp_path / "t.csv", f"image_id,{title},dx,note", *lines)
        notes = [note for note in scan(table, label_column="dx").notes if "have the same" in note]
        wanted = f"Several images have the same {title}: to keep them in one part, add data.group={title}"
        assert notes == ([] if title == "paid" else [wanted])
        assert not [note for note in scan(table, label_column="dx", group=title).notes if "have the same" in note]


@pytest.mark.parametrize(("title", "named"), [("subject", True), ("quality", False)])
def test_persons_with_many_images_are_groups_and_qualities_are_not(tmp_path: Path, title: str, named: bool) -> None:
    """State Farm: 26 drivers in 22,424 rows."""
    lay(tmp_path, *(f"{number}.jpg" for number in range(300)))
    lines = (f"p{number // 50},{'ab'[number % 2]},{number}.jpg" for number in range(300))
    table = write(tmp_path / "t.csv", f"{title},classname,img", *lines)
    notes = scan(table, label_column="classname").notes
    assert any(note.endswith("add data.group=subject") for note in notes) == named


def test_a_risk_among_other_columns_of_0_and_1_is_one_of_the_labels(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    table = write(tmp_path / "t.csv", "ID,Disease_Risk,DR,MH", *rows("{},1,1,0", "{},1,1,1", "{},0,0,0", count=12))
    listing = scan(table)
    assert labels(listing)["1.jpg"] == ["DR", "Disease_Risk", "MH"]
    assert labels(listing)["2.jpg"] == []


def test_numbers_with_decimal_commas(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(40)))
    lines = (f"{number}.jpg;hive {number % 3};{number // 4},{number % 4 * 25}" for number in range(39))
    table = write(tmp_path / "t.csv", "Foto;Volk;Milben", *lines, "39.jpg;hive 1;k. A.")
    assert "column Milben holds numbers from 0 to 9.5, not classes" in refused(table, label_column="Milben").message
    listing = scan(table, label_column="Milben", target="number")
    assert listing.targets is not None
    assert sorted(listing.targets.values[:, 0])[:3] == [0.0, 0.25, 0.5]
    assert listing.unreadable == [("39.jpg", "t.csv, line 41: 'k. A.' in column Milben is not a number")]
    assert "decimal commas" in listing.notes[0]
    lines = (f"{number}.jpg;1,{number % 5}" for number in range(30))
    several = write(tmp_path / "s.csv", "image;tags", *lines, "30.jpg;1,2,3")
    listing = scan(several, label_column="tags", target="labels")
    assert labels(listing)["7.jpg"] == ["1", "2"]
    assert "decimal commas" not in listing.notes[0]


def test_minus_1_is_said_to_mean_no(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    table = write(tmp_path / "t.csv", "id,Smiling,Young", *rows("{},1,-1", "{},1,1", "{},-1,1", count=12))
    listing = scan(table)
    assert "In columns of labels, -1 means no, as 0 does" in listing.notes
    assert labels(listing)["0.jpg"] == ["Smiling"]


def test_empty_cells_next_to_0_and_1_mean_no_and_are_named(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    marks = rows("{},F,1.0,,-1.0", "{},M,,1.0,", "{},F,,0.0,1.0", count=12)
    table = write(tmp_path / "t.csv", "id,Sex,No Finding,Edema,Fracture", *marks)
    assert "All columns of 0 and 1 as labels: data.target=labels" in refused(table).remedy
    listing = scan(table, target="labels")
    assert "In columns of labels, -1 or an empty cell means no, as 0 does" in listing.notes
    assert [labels(listing)[f"{number}.jpg"] for number in range(3)] == [[], ["Edema"], ["Fracture"]]
    assert listing.notes[-1].endswith("4 have none (No Finding)")


def test_semicolons_separate_names_with_blanks_and_decimal_commas(tmp_path: Path) -> None:
    """A table that a German Excel saved."""
    lay(tmp_path, *(f"Zi {n} Ferse ({n}).jpg" for n in range(30)))
    lines = (f"Zi {n} Ferse ({n}).jpg;0{n % 9}.01.2023;West {n % 2};{n % 7},{n % 9};Grad {n % 3}" for n in range(30))
    table = write(tmp_path / "a.csv", "Datei;Aufnahme;Station;Größe in cm²;Grad", *lines, encoding="cp1252")
    listing = scan(table, label_column="Grad")
    assert listing.class_names == ["Grad 0", "Grad 1", "Grad 2"]
    assert "separated by semicolons" in listing.notes[0]


def test_columns_that_divide_the_rows_alike_are_all_named_and_dates_are_none(tmp_path: Path) -> None:
    """An export of iNaturalist."""
    lay(tmp_path, *(f"{n}.jpg" for n in range(30)))
    lines = (f"{n},2023-05-0{n % 5 + 1},{'ab'[n % 2]},kind {n % 3},Genus {n % 3}" for n in range(30))
    table = write(tmp_path / "a.csv", "id,observed_on,quality,guess,scientific_name", *lines)
    error = refused(table)
    assert error.message.endswith("may hold the classes: quality, guess, scientific_name")


def test_numbers_that_recur_are_no_names_of_images(tmp_path: Path) -> None:
    """Analog clocks: hour and minute, and image 0 belongs to row 0."""
    lay(tmp_path, *(f"{n}.jpg" for n in range(60)))
    table = write(tmp_path / "label.csv", "hour,minute", *(f"{n % 12},{7 * n % 60 // 2}" for n in range(60)))
    assert "has no column that names images: 0 of 60" in refused(table, label_column="hour", target="number").message
    named = write(tmp_path / "b.csv", "hour,file_number", *(f"{n % 3},{n // 2}" for n in range(60)))
    assert "two rows that differ" in refused(named, label_column="hour").message


def test_a_row_for_each_image_and_label_is_turned_by_the_command(tmp_path: Path) -> None:
    """RSNA Intracranial Hemorrhage: ID_1_epidural."""
    lay(tmp_path, *(f"images/ID_{n}.png" for n in range(12)))
    kinds = ("any", "epidural", "subdural")
    lines = (f"ID_{n}_{kind},{int((n + place) % 3 > 0)}" for n in range(12) for place, kind in enumerate(kinds))
    table = write(tmp_path / "train.csv", "ID,Label", *lines)
    error = refused(table, label_column="Label")
    assert "column ID names an image and one of 3 labels, such as 'ID_0_any'" in error.message
    command, _, then = error.remedy.partition("image: ")[2].partition("\n")
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    assert then == f"Then give data.root={tmp_path / 'labels_of_images.csv'} data.target=labels."
    listing = scan(tmp_path / "labels_of_images.csv", target="labels")
    assert labels(listing)["images/ID_0.png"] == ["epidural", "subdural"]


def test_a_number_next_to_columns_of_0_and_1_can_be_predicted(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(40)))
    lines = (f"{number},{number % 2},{number // 2 % 2},{3 * number + number % 5}" for number in range(40))
    error = refused(write(tmp_path / "t.csv", "Id,Eyes,Face,Points", *lines))
    assert "several columns may hold the classes" in error.message
    assert "To predict a number: data.target=number data.label_column=Points" in str(error.remedy)


def test_classes_of_several_words_after_a_blank(tmp_path: Path) -> None:
    """FGVC-Aircraft."""
    lay(tmp_path, *(f"00{number}.jpg" for number in range(6)))
    table = write(tmp_path / "images_family_train.txt", *rows("00{} A300", "00{} Boeing 707"))
    assert scan(table).class_names == ["A300", "Boeing 707"]


@pytest.mark.parametrize("label", ["UNASSIGNED", "unlabeled", "?", "n/a"])
def test_words_for_a_missing_label_are_not_a_class(tmp_path: Path, label: str) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(9)))
    listing = scan(
        write(tmp_path / "t.csv", "image,label", *rows("{}.jpg,cat", "{}.jpg,dog", "{}.jpg," + label, count=9))
    )
    assert listing.class_names == ["cat", "dog"]
    assert len(listing.unreadable) == 3


def test_classes_that_may_mean_no_label_are_reported(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(9)))
    listing = scan(write(tmp_path / "t.csv", "image,label", *rows("{}.jpg,0", "{}.jpg,1", "{}.jpg,-1", count=9)))
    assert any(note.startswith("'-1' is trained as a class. If it means") for note in listing.notes)
    lines = rows("{}.jpg,Dress", "{}.jpg,Not_sure", "{}.jpg,Skip", count=9)
    notes = scan(write(tmp_path / "t.csv", "image,label", *lines)).notes
    note = "'Not_sure' and 'Skip' are trained as classes. If they mean that the label is unknown, remove these rows"
    assert f"{note} from the table" in notes
    lay(tmp_path / "set", *(f"{name}/{number}.jpg" for name in ("cat", "nan", "dog") for number in range(3)))
    notes = folder_scan.scan(str(tmp_path / "set")).notes
    assert any(note.startswith("'nan' is trained as a class. If it means that") for note in notes)
    assert not any("'cat'" in note or "'dog'" in note for note in notes)


def test_sizes_of_images_and_boxes_are_not_classes(tmp_path: Path) -> None:
    """The test part of GTSRB, which has no labels."""
    lay(tmp_path, *(f"{number}.ppm" for number in range(12)))
    lines = rows("{}.ppm;30;31;5;25", "{}.ppm;40;41;6;35", count=12)
    table = write(tmp_path / "GT-final_test.test.csv", "Filename;Width;Height;Roi.X1;Roi.Y1", *lines)
    assert "has no column of classes" in refused(table).message


def test_boxes_of_a_table_are_said_to_be_unused(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(9)))
    lines = rows("{}.jpg,cat,1,1,8,8", "{}.jpg,dog,2,2,9,9", count=9)
    listing = scan(write(tmp_path / "t.csv", "filename,class,xmin,ymin,xmax,ymax", *lines))
    assert "Not used: the boxes in xmin, ymin, xmax, ymax. Whole images are learned" in listing.notes


def test_tasks_of_an_annotation_tool(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number:08x}-photo.jpg" for number in range(12)))
    times = {"created_at": "2024-05-01T10:00:00Z", "updated_at": "2024-05-02T10:00:00Z"}
    flat, whole = [], []
    for number in range(12):
        image = f"/data/upload/3/{number:08x}-photo.jpg"
        when = {name: time.replace("0:00:00", f"0:00:0{number % 3}") for name, time in times.items()}
        flat.append({"image": image, "id": number, "choice": ("ripe", "unripe")[number % 2], **when})
        result = [{"value": {"choices": ["ripe"]}, "id": f"x{number}"}]
        whole.append({"id": number, "annotations": [{"result": result}], "data": {"image": image}, **when})
        whole[-1]["file_upload"] = image.rpartition("/")[2]
    listing = scan(write(tmp_path / "flat.json", json.dumps(flat)))
    assert listing.class_names == ["ripe", "unripe"]
    assert "class in choice" in listing.notes[0]
    error = refused(write(tmp_path / "whole.json", json.dumps(whole)))
    assert "has no column of classes" in error.message
    assert "Objects are not read, as in annotations, data: export a flat table" in str(error.remedy)


@pytest.mark.parametrize("title", ["Genre", "Themes"])
def test_lists_of_labels_are_proposed_before_a_number_that_recurs(tmp_path: Path, title: str) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(24)))
    kinds = ("Action", "Comedy", "Drama", "Crime", "Horror")
    chosen = [[kind for place, kind in enumerate(kinds) if (number + 5) >> place & 1] for number in range(24)]
    lines = (f"{number},The {number}th film,{3 + number % 7 / 2},{'|'.join(chosen[number])}" for number in range(24))
    table = write(tmp_path / "films.csv", f"id,Title,Score,{title}", *lines)
    error = refused(table)
    assert f"column {title} holds several labels for an image" in error.message
    assert f"data.target=labels data.label_column={title}" in str(error.remedy)


def test_a_constant_column_is_not_the_class_and_other_columns_are_named(tmp_path: Path) -> None:
    """The header of NIH's chest X-rays, whose unquoted comma makes a column called y]."""
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    lines = rows("{}.jpg,well,0.14,0.14", "{}.jpg,Mass|Effusion,0.14,0.14", count=12)
    table = write(tmp_path / "t.csv", "Image,Finding Labels,Spacing[x,y]", *lines)
    assert "column Finding Labels holds several labels for an image" in refused(table).message
    notes = scan(table, label_column="Finding Labels").notes
    assert "class in Finding Labels, image in Image; not used: Spacing[x, y]" in notes[0]
    assert any(each.startswith("A label such as 'Mass|Effusion' may be several: each combination") for each in notes)


def test_words_that_recur_in_other_classes_may_be_several_labels(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(15)))
    lines = rows("{}.jpg,rust", "{}.jpg,scab", "{}.jpg,rust spot", "{}.jpg,scab spot", "{}.jpg,well", count=15)
    notes = scan(write(tmp_path / "t.csv", "image,labels", *lines)).notes
    assert any(each.startswith("A label such as 'rust spot' may be several: each combination") for each in notes)
    lines = rows("{}.jpg,black bear", "{}.jpg,polar bear", "{}.jpg,owl", count=15)
    assert not any("several" in note for note in scan(write(tmp_path / "u.csv", "image,labels", *lines)).notes)


def test_grades_are_as_likely_the_classes_as_words(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    lines = rows("{}.jpg;Paris;0", "{}.jpg;Brest;1", "{}.jpg;Paris;2", count=12)
    caught = refused(write(tmp_path / "t.csv", "Image name;Department;Retinopathy grade", *lines))
    assert "several columns may hold the classes: Department, Retinopathy grade" in caught.message


@pytest.mark.parametrize(
    ("title", "train", "other", "part"),
    [("is_valid", "False", "True", "validation"), ("is_test", "0", "1", "test"), ("is_train", "1", "0", "test")],
)
def test_a_column_that_is_true_for_a_part(tmp_path: Path, title: str, train: str, other: str, part: str) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    lines = rows(*(f"{{}}.jpg,{name},{flag}" for flag in (train, other) for name in ("cat", "dog")), count=12)
    listing = scan(write(tmp_path / "t.csv", f"image,label,{title}", *lines))
    assert (listing.parts.count("train"), listing.parts.count(part)) == (6, 6)


def test_json_lines_are_a_table(tmp_path: Path) -> None:
    """The layout of image folders at Hugging Face."""
    for part in ("train", "test"):
        lay(tmp_path / part, *(f"{number}.png" for number in range(6)))
        lines = [json.dumps({"file_name": f"{n}.png", "label": "ab"[n % 2], "size": {"x": 9}}) for n in range(6)]
        write(tmp_path / part / "metadata.jsonl", *lines)
    listing = scan(tmp_path)
    assert (listing.class_names, listing.parts.count("train"), listing.parts.count("test")) == (["a", "b"], 6, 6)
    assert (
        "JSON objects, their keys as columns; utf-8; class in label, image in file_name; not used: size"
        in listing.notes[0]
    )


def test_cells_that_name_no_file_get_an_example_or_are_said_to_be_folders(tmp_path: Path) -> None:
    lay(tmp_path, *(f"input_{number}_1.jpg" for number in range(9)))
    caught = refused(write(tmp_path / "t.csv", "suite_id,code,value", *rows("{},1,0", "{},2,5", count=9)))
    assert "The images are named such as input_0_1.jpg. Give the folder" in caught.remedy
    lines = rows("set/patient{}/study1_positive/,1", "set/patient{}/study1_negative/,0", count=9)
    assert "Its cells name folders: write a row for each image" in refused(write(tmp_path / "u.csv", *lines)).remedy


def test_columns_of_zeros_ones_and_blanks_are_offered_as_classes(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.jpg" for number in range(12)))
    lines = rows("{}.jpg,Male,Frontal,1.0,", "{}.jpg,Female,Lateral,,0.0", "{}.jpg,Male,Lateral,-1.0,1.0", count=12)
    message = refused(write(tmp_path / "t.csv", "Path,Sex,View,Edema,Effusion", *lines)).message
    assert message.endswith("several columns may hold the classes: Sex, View, Edema, Effusion")


def test_a_relative_path_of_another_computer_is_found_by_its_end(tmp_path: Path) -> None:
    lay(tmp_path, *(f"Training Images/{number}.jpg" for number in range(9)))
    lines = rows("../input/set/Training Images/{}.jpg,cat", "../input/set/Training Images/{}.jpg,dog", count=9)
    assert len(scan(write(tmp_path / "t.csv", "filepath,label", *lines)).names) == 9


def test_true_and_false_next_to_measurements_are_not_chosen_without_a_word(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.png" for number in range(30)))
    table = write(tmp_path / "t.csv", "id,age,male", *rows("{}.png,1{},True", "{}.png,7{},False", count=30))
    assert "several columns may hold the classes: male, age" in refused(table).message
    assert scan(table, label_column="male").class_names == ["False", "True"]


def test_names_in_two_folders_are_one_question(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{folder}/{number}.png" for folder in ("cropped", "whole") for number in range(6)))
    why = refused(write(tmp_path / "t.csv", "id,class", *rows("{},a", "{},b")))
    assert why.remedy == f"Give one of the folders, such as data.images={tmp_path}/cropped"
    assert len(scan(tmp_path / "t.csv", images=str(tmp_path / "cropped")).names) == 6


def test_a_parquet_file_of_images_is_unpacked_by_its_own_command(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(b"PAR1" + bytes(40))
    why = refused(tmp_path / "train.parquet")
    assert "path.write_bytes(row['image']['bytes'])" in why.remedy
    assert "If it contains paths: Write it as CSV" in why.remedy


def test_a_column_of_few_numbers_without_a_title_is_asked_for(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.png" for number in range(30)))
    table = write(
        tmp_path / "labels.txt", *rows("{}.png  0.0  mono", "{}.png  0.5  poly", "{}.png  1.0  mono", count=30)
    )
    assert "the classes: 2, 1, counted from 0, of the row 1.png | 0.5 | poly" in refused(table).message
    assert scan(table, label_column="1").class_names == ["0", "0.5", "1"]
    assert scan(table, label_column="2").class_names == ["mono", "poly"]


def test_a_score_next_to_columns_of_0_and_1_is_asked_for(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.png" for number in range(30)))
    table = write(tmp_path / "t.csv", "Id,Subject Focus,Eyes,Score", *rows("{},1,0,1{}", "{},0,1,3{}", count=30))
    why = refused(table)
    assert "several columns may hold the classes: Subject Focus, Score, Eyes" in why.message
    assert "data.label_column='Subject Focus'" in why.remedy


def test_titles_of_labels_are_those_of_tables_of_texts(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{number}.png" for number in range(12)))
    lines = list(rows(*(f"{{}}.png,{row}" for row in ("joy,f,1", "fear,f,2", "joy,m,3", "fear,m,3")), count=12))
    table = write(tmp_path / "t.csv", "image,emotion,gender,stars", *lines)
    assert scan(table).class_names == ["fear", "joy"]
    table = write(tmp_path / "t.csv", "image,mood,gender,stars", *lines)
    assert "several columns may hold the classes: mood, gender, stars" in refused(table).message


def test_who_made_an_image_is_no_class_and_the_number_of_a_category_is(tmp_path: Path) -> None:
    """iWildCam 2019: category_id, and rights_holder as the only column of words."""
    lay(tmp_path, *(f"{number}.jpg" for number in range(60)))
    lines = [f"{number * number % 7},{number}.jpg,{number % 5},{'AB'[number % 2]}" for number in range(60)]
    table = write(tmp_path / "train.csv", "category_id,file_name,location,rights_holder", *lines)
    assert scan(table).class_names == ["0", "1", "2", "4"]
    table = write(tmp_path / "train.csv", "kind,file_name,location,rights_holder", *lines)
    assert "several columns may hold the classes: kind, location, rights_holder" in refused(table).message


def test_of_many_columns_the_likely_ones_are_listed(tmp_path: Path) -> None:
    """CBIS-DDSM: the columns of paths and of the class are the last of many."""
    lay(tmp_path, *rows("{}.jpg", count=12))
    titles = [f"measure {number}" for number in range(20)]
    lines = rows(*(f"{','.join(map(str, range(20)))},{name},scans/{{}}.dcm" for name in ("benign", "malign")), count=12)
    table = write(tmp_path / "t.csv", ",".join([*titles, "finding", "scan"]), *lines)
    why = refused(table, image_column="path", label_column="finding")
    assert why.remedy.startswith("Set data.image_column to one of 'scan', 'finding', 'measure 10', ")
    assert (
        "to one of 'scan', 'finding', 'measure 10', "
        in refused(table, image_column="scan", label_column="class").remedy
    )
    others = [f"{'900,' * 20}a,scan{number}.dcm" for number in range(50, 60)]
    why = refused(write(tmp_path / "u.csv", ",".join([*titles, "finding", "scan"]), *others))
    assert "Columns: scan, measure 0, " in why.message
    flags = rows(
        f"{{}}.jpg,1{',0' * 11},6{{}}", f"{{}}.jpg,0,1{',0' * 9},1,9{{}}", f"{{}}.jpg{',1' * 12},9{{}}", count=30
    )
    lay(tmp_path, *rows("{}.jpg", count=30))
    why = refused(write(tmp_path / "v.csv", f"Id,{','.join(f'flag {each}' for each in 'abcdefghijkl')},Score", *flags))
    assert why.message.endswith("flag j, flag k, flag l")


def test_several_images_of_a_row_are_named(tmp_path: Path) -> None:
    """The Human Protein Atlas: four channels for each Id, and labels with blanks between them."""
    lay(tmp_path / "train", *(f"{number}abc_{color}.png" for number in range(12) for color in ("red", "blue")))
    lines = [*rows("{}abc,16 0", "{}abc,25", "{}abc,0", count=12)]
    table = write(tmp_path / "train.csv", "Id,Target", *lines)
    for settings in ({}, {"image_column": "Id"}):
        error = refused(table, **settings)
        assert (
            "several images belong to each row, such as train/0abc_blue.png, train/0abc_red.png to '0abc'"
            in error.message
        )
    named = write(tmp_path / "named.csv", "Id,Target", *(line.replace(",", "_red.png,") for line in lines))
    assert "column Target holds several labels for an image, such as '16 0'" in refused(named).message


def test_images_are_next_to_the_folder_of_annotations(tmp_path: Path) -> None:
    """Oxford-IIIT Pet: annotations/trainval.txt and annotations/trimaps have the names of images/*.jpg."""
    lay(tmp_path / "images", *(f"{number}.jpg" for number in range(8)))
    lay(tmp_path / "annotations" / "trimaps", *(f"{number}.png" for number in range(8)))
    lines = [f"{number},{('cat', 'dog')[number % 2]}" for number in range(8)]
    listing = scan(write(tmp_path / "annotations" / "t.csv", "image,class", *lines))
    assert listing.class_names == ["cat", "dog"]
    assert any(f"8 images of {tmp_path}/images with a row" in note for note in listing.notes)


def test_paths_of_a_server_are_found_by_name(tmp_path: Path) -> None:
    """Label Studio's export: /data/upload/1/IMG_1.jpg, stored as media/upload/1/IMG_1.jpg."""
    lay(tmp_path / "media" / "upload" / "1", *(f"IMG_{number}.jpg" for number in range(8)))
    lines = [f"/data/upload/1/IMG_{number}.jpg,{('ripe', 'green')[number % 2]}" for number in range(8)]
    assert scan(write(tmp_path / "t.csv", "image,choice", *lines)).class_names == ["green", "ripe"]


def test_a_fold_is_proposed_last_and_folders_as_classes(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{name}/{number}.png" for number in range(6) for name in ("sick", "well")))
    lines = [
        f"{number % 3},{40 + 60 * (number % 2)},{name}/{number}.png" for number in range(6) for name in ("sick", "well")
    ]
    error = refused(write(tmp_path / "Folds.csv", "fold,mag,filename", *lines))
    assert error.message.endswith("several columns may hold the classes: mag, fold")
    assert error.remedy == (
        "Choose one, such as data.label_column=mag. If the folders of the images are their classes: data=folder "
        "data.root=DIR"
    )


def test_a_text_for_each_image_is_no_class(tmp_path: Path) -> None:
    """Words in images (ICDAR): nearly every image has a transcription of its own."""
    lay(tmp_path, *(f"word_{number}.png" for number in range(12)))
    lines = [f'word_{number}.png, "{word}"' for number, word in enumerate("abcdefghijka")]
    table = write(tmp_path / "gt.txt", *lines)
    error = refused(table)
    assert "column 1 differs for nearly every image, such as" in error.message
    assert (error.remedy or "").endswith("For classes of one image each: data.label_column=1")
    assert len(scan(table, label_column="1").class_names) == 11


def test_many_combinations_of_labels_are_labels(tmp_path: Path) -> None:
    """Planet: nearly every image has a list of tags of its own."""
    lay(tmp_path, *(f"train_{number}.jpg" for number in range(16)))
    tags = ("haze", "clear", "road", "water", "primary", "cloudy")
    lists = [
        " ".join(tags[place] for place in range(6) if (number + 7) >> place % 4 & 1 or place == number % 6)
        for number in range(16)
    ]
    table = write(
        tmp_path / "t.csv", "image_name,tags", *(f"train_{number},{each}" for number, each in enumerate(lists))
    )
    assert "column tags holds several labels for an image" in refused(table).message


def test_captions_are_no_labels(tmp_path: Path) -> None:
    lay(tmp_path / "Images", *(f"{number}.jpg" for number in range(9)))
    spoken = [f"A {what} is on the {where} ." for what in ("dog", "cat", "boy") for where in ("grass", "sofa", "road")]
    lines = [f"{number}.jpg,{spoken[number]}" for number in range(9)]
    error = refused(write(tmp_path / "captions.txt", "image,caption", *lines))
    assert "column caption holds sentences, such as 'A " in error.message
    assert "Captions of images cannot be trained" in (error.remedy or "")


def test_many_names_in_two_folders_are_a_question(tmp_path: Path) -> None:
    """The folder with most of the images is named: here train, since test repeats some names."""
    lay(tmp_path, *rows("train/{}.png", count=20), *rows("test/{}.png", count=8))
    lines = [f"{number}.png,{'ab'[number % 2]}" for number in range(20)]
    table = write(tmp_path / "t.csv", "file,label", *lines)
    error = refused(table)
    assert "8 of the 20 rows" in error.message
    assert f"data.images={tmp_path / 'train'}" in (error.remedy or "")
    assert len(scan(table, images=str(tmp_path / "train")).names) == 20


def test_two_columns_of_parts_are_a_question(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png", count=12))
    lines = [f"{number}.png,{'ab'[number % 2]},{int(number % 3 == 1)},{int(number % 3 == 2)}" for number in range(12)]
    error = refused(write(tmp_path / "t.csv", "path,label,is_validation,is_final_validation", *lines))
    assert "several columns of parts: is_validation, is_final_validation" in error.message


def test_a_class_and_its_group_are_a_question_and_tables_further_down_are_named(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png", count=12))
    lines = [f"{number}.png,{number // 2},{number // 6}" for number in range(12)]
    table = write(tmp_path / "t.csv", "path,class_id,super_class_id", *lines)
    assert "several columns may hold the classes: class_id, super_class_id" in refused(table).message
    write(tmp_path / "set" / "Test" / "Test" / "labels.csv", "path,label")
    assert f"contains no table, but there are {tmp_path}/set/Test/Test/labels.csv" in refused(tmp_path / "set").message


def test_titles_that_recur_complementary_marks_and_a_topic_are_no_question(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png", count=24))
    titles = ("Girl with a Pearl Earring", "The Starry Night over the Rhone", "A View of the River")
    lines = [f"{n}.png,{titles[n % 3]},{n % 4},{int(n % 2 == 0)},{int(n % 2 == 1)}" for n in range(24)]
    listing = scan(write(tmp_path / "t.csv", "path,label,topic,is_train,is_test", *lines))
    assert listing.class_names == sorted(titles)
    assert sorted(set(listing.parts)) == ["test", "train"]


def test_a_row_for_each_label_of_an_image(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"))
    body = [*rows("{}.png,cat", "{}.png,dog"), "0.png,dog", "1.png,nan"]
    table = write(tmp_path / "t.csv", "image,tag", *body)
    assert "data.target=labels" in str(refused(table).remedy)
    assert labels(scan(table, target="labels"))["0.png"] == ["cat", "dog"]


def test_numbers_are_read_from_every_row(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png", count=90))
    body = [f"{number}.png,{number % 7},{number * 1.5},{'train' if number < 80 else 'test'}" for number in range(90)]
    listing = scan(write(tmp_path / "t.csv", "image,kind,price,split", *body), target="number", label_column="price")
    known = listing.targets
    assert known
    assert dict(zip(listing.names, known.values[:, 0], strict=True))["10.png"] == 15
    assert listing.notes[-1] == "price: 0 to 133.5, mean 66.75"
    assert set(listing.parts) == {"train", "test"}
    assert "class" not in listing.notes[0]
    for cell in ("nan", "", "many", "1,5 ", "3.5.1"):
        usual = [f"{row}.png;{row}.5" for row in range(9)]
        table = write(tmp_path / "u.csv", "image;price", *usual, f"9.png;{cell}")
        said = f"u.csv, line 11: {cell.strip()!r} in column price is not a number"
        if any(map(str.isdigit, cell)):
            assert said in refused(table, target="number", label_column="price").message
        else:
            assert scan(table, target="number", label_column="price").unreadable == [("9.png", said)]
    error = refused(write(tmp_path / "v.csv", "image,kind", *rows("{}.png,a", "{}.png,b")), target="number")
    assert "has no column of numbers; its columns are" in error.message
    few = [f"{row}.png,{row}.5" for row in range(9)]
    error = refused(write(tmp_path / "w.csv", "image,price", "9.png,inf", *few), target="number")
    assert "has no column of numbers only, such as price with 'inf'; its columns are" in error.message
    error = refused(tmp_path / "v.csv", target="number", label_column="kind")
    assert "v.csv, line 2: 'a' in column kind is not a number" in error.message


def test_columns_that_are_not_labels_are_refused(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"))
    table = write(tmp_path / "t.csv", "image,a,b,kind", *rows("{}.png,1,0,x", "{}.png,0,1,y"))
    assert "column kind contains 'x'" in refused(table, label_column="a,kind").message
    assert classes(scan(table, label_column="a,b"))["0.png"] == "a"
    assert labels(scan(table, label_column="a", target="labels"))["1.png"] == []


def test_rows_whose_part_is_no_part_are_skipped_and_the_other_parts_kept(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{n}.jpg" for n in range(24)))
    lines = [
        f"{n}.jpg,{'ab'[n % 2]},{'train' if n < 16 else 'test' if n < 22 else 'uncertain artist'}" for n in range(24)
    ]
    listing = scan(write(tmp_path / "all.csv", "image,label,subset", *lines))
    assert sorted(parts(listing).values()) == ["test"] * 6 + ["train"] * 16
    assert "'uncertain artist' is not a part such as train, val or test" in str(listing.unreadable)


def test_ages_are_numbers_to_predict_and_not_classes_of_one_image_each(tmp_path: Path) -> None:
    lay(tmp_path, *(f"{n}.jpg" for n in range(20)))
    table = write(tmp_path / "all.csv", "image,age", *(f"{n}.jpg,{20 + 3 * (n % 15)}" for n in range(20)))
    assert "data.target=number data.label_column=age" in refused(table, label_column="age").remedy
    assert scan(table, label_column="age", target="number").targets is not None


def test_named_columns_of_labels_contain_0_and_1_alone(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"))
    table = write(tmp_path / "t.csv", "image,a,b", *rows("{}.png,1,0", "{}.png,0,1", "{}.png,1,?"))
    for settings in ({}, {"target": "labels"}):
        assert "column b contains '?'" in refused(table, label_column="a,b", **settings).message
    assert "the number: a, b" in refused(table, label_column="a,b", target="number").message


def test_the_sign_between_labels_of_images_is_that_of_the_training_table(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"))
    write(tmp_path / "train.csv", "image,tags", "0.png,New York|Rome", "1.png,Rome", "2.png,Rome")
    write(tmp_path / "test.csv", "image,tags", "3.png,New York", "4.png,Rome", "5.png,")
    assert labels(scan(tmp_path, label_column="tags", target="labels"))["3.png"] == ["New York"]


def test_rows_of_an_image_with_different_labels_are_shown_with_commas(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png"))
    table = write(tmp_path / "t.csv", "image,a,b", *rows("{}.png,1,1", "{}.png,0,1"), "0.png,0,1")
    error = refused(table)
    assert "'a, b' (t.csv, line 2) and 'b' (t.csv, line 8)" in error.message
    assert error.remedy == "Keep the right row."


def test_numbers_of_patients_and_lesions_are_no_classes(tmp_path: Path) -> None:
    """PAD-UFES-20."""
    lay(tmp_path, *rows("imgs_part_1/PAT_{}.png", count=12))
    kinds = ("BCC", "ACK", "NEV")
    body = [f"PAT_{n // 2},{n // 2 + 5},{kinds[n // 2 % 3]},{n % 2 > 0},PAT_{n}.png" for n in range(12)]
    table = write(tmp_path / "metadata.csv", "patient_id,lesion_id,diagnostic,itch,img_id", *body)
    assert scan(table).class_names == ["ACK", "BCC", "NEV"]
    table = write(tmp_path / "faces.csv", "image,person_id", *rows("PAT_{}.png,a", "PAT_{}.png,b", count=12))
    assert scan(table).class_names == ["a", "b"]


@pytest.mark.parametrize("given", ["images.csv", "labels.csv"])
def test_tables_of_images_and_of_classes_are_joined_by_the_command(tmp_path: Path, given: str) -> None:
    """Snapshot Serengeti: the species of a capture, and the images of each capture."""
    root = lay(tmp_path / "my set", *(f"S1/B04/PICT{number}.JPG" for number in range(12)))
    captures = [f"SER#{number},S1,{('zebra', 'none')[number % 2]}" for number in range(4)]
    write(root / "labels.csv", '"capture_id",season,question__species', *captures)
    named = [f"SER#{number // 3},{number % 3},S1/B04/PICT{number}.JPG" for number in range(12)]
    write(root / "images.csv", "capture_id,rank,path", *named)
    settings = scripts.table_written(refused(root / given).remedy)
    assert settings == {"root": f"{root}/joined.csv", "group": "capture_id"}
    listing = scan(root / "joined.csv", group="capture_id")
    assert (listing.class_names, len(listing.names), len({*listing.groups})) == (["none", "zebra"], 12, 4)


def test_wide_tables_are_read_in_seconds(tmp_path: Path) -> None:
    lay(tmp_path, *rows("{}.png", count=200))
    title = "image,label," + ",".join(f"c{number}" for number in range(2000))
    numbers = [",".join(f"0.{row}{number}" for number in range(2000)) for row in range(200)]
    table = write(tmp_path / "t.csv", title, *(f"{row}.png,{'ab'[row % 2]},{numbers[row]}" for row in range(200)))
    begin = time.process_time()
    assert scan(table).class_names == ["a", "b"]
    assert time.process_time() - begin < 10


def test_images_of_sounds_are_found_by_the_names_of_the_sounds(tmp_path: Path) -> None:
    """UrbanSound8K and ESC-50 as spectrograms: the table names .wav files."""
    lay(
        tmp_path,
        *(f"fold1/{number}-{number % 2}-0.png" for number in range(12)),
        "fold2/12-0-1.png",
        "fold2/12-0-2.png",
    )
    lines = [f"{number}-{number % 2}-0.wav,{('dog', 'rain')[number % 2]}" for number in range(12)]
    listing = scan(write(tmp_path / "meta.csv", "filename,category", *lines))
    assert (listing.class_names, len(listing.names)) == (["dog", "rain"], 12)
    assert any("-0.wav in the table mean the images of the same names" in note for note in listing.notes)


def test_lists_of_the_images_of_each_part_next_to_a_table_are_named(tmp_path: Path) -> None:
    """NIH chest X-rays: the official parts keep patients apart."""
    names = [f"{patient:08}_{number:03}.png" for patient in range(1, 9) for number in range(2)]
    lay(tmp_path, *(f"images_001/images/{name}" for name in names))
    lines = [f"{name},{('Hernia', 'Mass')[number % 2]},{name[:8]}" for number, name in enumerate(names)]
    table = write(tmp_path / "Data_Entry_2017.csv", "Image Index,Label,Patient ID", *lines)
    for part, kept in (("train_val", names[:10]), ("test", names[10:])):
        (tmp_path / f"{part}_list.txt").write_text("\n".join(kept))
    notes = scan(table).notes
    (note,) = [note for note in notes if "test_list.txt, " in note]
    assert "train_val_list.txt, lists of the images of each part. To use them: " in note
    listing = image_table.scan(DataSettings(name="image_table", **scripts.table_written(note)))
    assert Counter(listing.parts) == {"train": 10, "test": 6}


def test_the_place_and_size_of_a_box_are_no_classes(tmp_path: Path) -> None:
    """RSNA pneumonia: y is a place here, and not the label; a patient with two boxes has two rows."""
    lay(tmp_path, *(f"p{number}.png" for number in range(12)))
    lines = [f"p{number},{'264.0,152.0,213.0,379.0,1' if number % 2 else ',,,,0'}" for number in range(12)]
    listing = scan(write(tmp_path / "labels.csv", "patientId,x,y,width,height,Target", *lines, "p1,9.0,8.0,7.0,6.0,1"))
    assert listing.class_names == ["0", "1"]
    assert listing.notes[0].endswith("class in Target, image in patientId; not used: x, y, width, height")


def test_a_column_of_groups_in_another_table_is_named_with_the_way_to_join_it(tmp_path: Path) -> None:
    """ISIC 2019: columns of classes in one table, lesion_id in another."""
    root = lay(tmp_path / "isic", *(f"Input/ISIC_{n:07}.jpg" for n in range(24)))
    table = write(root / "GroundTruth.csv", "image,MEL,NV",
                  *(f"ISIC_{n:07},{n % 2}.0,{1 - n % 2}.0" for n in range(24)))  # fmt: skip
    write(root / "Metadata.csv", "image,record_id,lesion_id", *(f"ISIC_{n:07},r{n},L{n // 3}" for n in range(24)))
    (note,) = [note for note in scan(table).notes if "lesion_id" in note]
    assert note.startswith("Metadata.csv has lesion_id for the same images.")
    given = scripts.table_written(note)
    assert given["group"] == "lesion_id"
    listing = image_table.scan(DataSettings(name="image_table", **given))
    assert (listing.class_names, len({*listing.groups})) == (["MEL", "NV"], 8)
    assert not [note for note in listing.notes if "for the same images" in note]


@pytest.mark.parametrize(("sign", "suffix"), [(" ", "txt"), (",", "csv")])
def test_a_table_named_partition_gives_the_parts_of_the_images(tmp_path: Path, sign: str, suffix: str) -> None:
    """CelebA: attributes of 1 and -1, and 0, 1 and 2 for the parts of the images of different persons."""
    names = list(rows("{}.jpg", count=20))
    lay(tmp_path, *(f"img_align_celeba/{name}" for name in names))
    header = {"txt": ("20", "Male Young"), "csv": ("image_id,Male,Young",)}[suffix]
    cells = (sign.join((name, "1" if place % 2 else "-1", "-1")) for place, name in enumerate(names))
    table = write(tmp_path / f"list_attr_celeba.{suffix}", *header, *cells)
    of = {name: ("0", "0", "0", "1", "2")[place // 4] for place, name in enumerate(names)}
    title = ["image_id,partition"] * (suffix == "csv")
    split = write(tmp_path / f"list_eval_partition.{suffix}", *title, *map(sign.join, of.items()))
    write(tmp_path / f"identity_CelebA.{suffix}", *(f"{name}{sign}{place // 2}" for place, name in enumerate(names)))
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy.startswith(f"Read the labels with `data=image_table data.root={table}`")
    assert refused(tmp_path).remedy.endswith(f", such as data.root={table}")
    listing = scan(table, label_column="Male")
    assert "2 classes: -1 (6 train, 2 validation, 2 test), 1 (6 train, 2 validation, 2 test)" in listing.notes
    assert f"Parts: as in {split}" in listing.notes
    assert not any("is trained as a class" in note for note in listing.notes)
    assert Counter(scan(table, target="labels").parts) == {"train": 12, "validation": 4, "test": 4}
    assert refused(split).message == f"{split} only gives the parts of the images"
    joined = write(
        tmp_path / "own.csv", "image,label,partition", *(f"{name},a{int(name[0]) % 2},{of[name]}" for name in names)
    )
    assert parts(scan(joined)) == parts(listing)
    write(split, *title, *(f"{name}{sign}0" for name in names[:5]))
    listing = scan(table, label_column="Male")
    assert (listing.parts, f"Not used: {split}, which lacks the parts of some images" in listing.notes) == ([], True)


def test_published_parts_of_a_whole_table_are_offered(tmp_path: Path) -> None:
    """DeepWeeds: labels.csv, and tables of the parts of five divisions."""
    names = list(rows("2016{}.jpg", count=12))
    lay(tmp_path, *(f"images/{name}" for name in names))
    body = [f"{name},{place % 2},{('Lantana', 'Negative')[place % 2]}" for place, name in enumerate(names)]
    folder = tmp_path / "labels"
    table = write(folder / "labels.csv", "Filename,Label,Species", *body)
    for number in range(2):
        for part, rows_of in (("train", body[:6]), ("val", body[6:8]), ("test", body[8:])):
            lines = (row.rpartition(",")[0] for row in rows_of)
            write(folder / f"{part}_subset{number}.csv", "Filename,Label", *lines)
    note = scan(table).notes[0]
    assert note.startswith("Not used: train_subset0.csv, test_subset0.csv, val_subset0.csv. If these have labels too: ")
    error = refused(folder)
    assert error.remedy == f"Name one with image and class in each row, such as data.root={table}\n{note}"
    command = note.partition("`")[2].removesuffix("`")
    assert subprocess.run(command, shell=True, cwd=tmp_path, check=False).returncode == 0  # noqa: S602
    listing = scan(tmp_path / "tables", images=str(tmp_path))
    assert "2 classes: 0 (3 train, 1 validation, 2 test), 1 (3 train, 1 validation, 2 test)" in listing.notes


def test_images_elsewhere_that_a_table_names_are_named(tmp_path: Path) -> None:
    lay(tmp_path, *rows("pictures/{}.jpg", count=4))
    table = write(tmp_path / "set" / "data.csv", "path,label", *rows(f"{tmp_path}/pictures/{{}}.jpg,a", "{}.jpg,b"))
    assert f"If the images are in it: data.images={tmp_path}/pictures. Give" in refused(tmp_path / "set").remedy
    with pytest.raises(ZooError, match="contains no images, but files such as data") as caught:
        folder_scan.scan(str(tmp_path / "set"))
    assert caught.value.remedy == f"Read its labels with `data=image_table data.root={table}`"


def test_no_finding_means_no_label_if_it_is_always_alone(tmp_path: Path) -> None:
    """NIH ChestX-ray: lists of labels, lists of the images of each part, and boxes of some images."""
    lay(tmp_path, *rows("images_001/{}_000.png", "images_002/{}_000.png", count=40))
    body = rows("{}_000.png,No Finding", "{}_000.png,Mass|Hernia", "{}_000.png,Mass", "{}_000.png,Hernia", count=40)
    table = write(tmp_path / "Data_Entry_2017.csv", "Image Index,Finding Labels", *body)
    write(tmp_path / "train_val_list.txt", *rows("{}_000.png", count=30))
    write(tmp_path / "test_list.txt", *(f"{number}_000.png" for number in range(30, 40)))
    write(tmp_path / "BBox_List_2017.csv", "Image Index,Finding Label,Bbox [x,y,w,h]", "2_000.png,Mass,1,2,3,4")
    assert refused(tmp_path).remedy == f"Give the table of the labels: data.root={table}"
    with pytest.raises(ZooError, match="contains boxes around objects") as caught:
        folder_scan.scan(str(tmp_path))
    assert caught.value.remedy == f"Read the labels with `data=image_table data.root={table}`"
    listing = scan(table, target="labels")
    assert listing.notes[-1] == "2 labels: Hernia (20), Mass (20); 10 have several, 10 have none (No Finding)"
    given = scripts.table_written(next(note for note in listing.notes if "To use them: " in note))
    assert Counter(scan(Path(given.pop("root")), target="labels", **given).parts) == {"train": 30, "test": 10}
    write(
        table,
        "Image Index,Finding Labels",
        *rows("{}_000.png,none|Mass", "{}_000.png,none", "{}_000.png,Mass", count=40),
    )
    assert scan(table, target="labels").notes[-1].startswith("2 labels: Mass (27), none (27)")


def test_a_column_of_files_holds_no_classes(tmp_path: Path) -> None:
    """Distorted images with their originals and two scores, as in sets of image quality."""
    lay(tmp_path, *(f"images/I0{number // 6}_{number}.png" for number in range(24)))
    lay(tmp_path, *(f"images/I0{number}.png" for number in range(4)))
    lines = (f"I0{number // 6}_{number}.png,I0{number // 6}.png,{1 + number / 8},{number / 30}" for number in range(24))
    error = refused(write(tmp_path / "dmos.csv", "dist_img,ref_img,dmos,var", *lines))
    assert "column dmos holds numbers" in error.message
    assert "data.target=number" in str(error.remedy)


def test_the_only_folder_of_images_next_to_that_of_the_table_is_named(tmp_path: Path) -> None:
    """RAF-DB: EmoLabel/list.txt and Image/original/1.jpg."""
    lay(tmp_path / "Image", *(f"original/train_{number}.jpg" for number in range(6)))
    table = write(tmp_path / "EmoLabel" / "list.txt", *rows("train_{}.jpg 1", "train_{}.jpg 2"))
    assert refused(table).remedy.startswith(f"Those next to it are in data.images={tmp_path / 'Image'}. Give")
    listing = scan(table, images=str(tmp_path / "Image"))
    assert (listing.class_names, len(listing.names)) == (["1", "2"], 6)


def test_names_of_images_that_no_column_holds_may_end_with_the_class(tmp_path: Path) -> None:
    """Chinese MNIST: a column of codes, and input_1_2_3.jpg with the code at the end."""
    numbers = [(suite, code) for suite in range(1, 6) for code in range(1, 4)]
    lay(tmp_path / "data", *(f"input_{suite}_7_{code}.jpg" for suite, code in numbers))
    table = write(
        tmp_path / "all.csv", "suite_id,code,value", *(f"{suite},{code},{code - 1}" for suite, code in numbers)
    )
    given = scripts.table_written(refused(table).remedy)
    assert (given["label_column"], given["images"]) == ("last", str(tmp_path / "data"))


def test_two_diagnoses_are_a_question(tmp_path: Path) -> None:
    """PH2: other columns have fewer values, and are not chosen."""
    lay(tmp_path, *(f"{number}.png" for number in range(12)))
    lines = rows("{}.png,nevus,0,AT", "{}.png,melanoma,2,T", "{}.png,nevus,1,AT", count=12)
    error = refused(write(tmp_path / "a.csv", "Name,Histological Diagnosis,Clinical Diagnosis,Pigment Network", *lines))
    assert "several columns may hold the classes: Histological Diagnosis, Clinical Diagnosis" in error.message
