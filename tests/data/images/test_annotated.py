"""Refuse data sets for detection and segmentation, whose masks and labels would become classes."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import scripts
from zoo.config.schemas.image_classification import DataSettings
from zoo.core.errors import ZooError
from zoo.data.images import folder_scan, image_table

RANDOM = np.random.default_rng(3)


def photo(path: Path, size: tuple[int, int] = (30, 40)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RANDOM.integers(0, 256, (*size, 3), dtype=np.uint8)).save(path)


def mask(path: Path, size: tuple[int, int] = (30, 40), value: int = 255) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros(size, np.uint8)
    pixels[5:15, 8:20] = value
    Image.fromarray(pixels).save(path)


def text(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("0 0.5 0.5 0.2 0.2\n")


def lay(root: Path, *patterns: str) -> str:
    """Make six files for each pattern: photos, with the suffix .mask a mask, with .txt, .xml, .json a label file."""
    for pattern in patterns:
        for number in range(6):
            kind, _, name = pattern.rpartition(":")
            path = root / name.format(number)
            {"mask": mask, "text": text, "": photo}[kind](path)
    return str(root)


@pytest.mark.parametrize(
    ("patterns", "message", "offered"),
    [
        (("images/{}.jpg", "text:labels/{}.txt"), r"/labels contains label files of the images in images: a", False),
        (("images/train/{}.jpg", "text:labels/train/{}.txt"), "label files of the images in images", False),
        (("train/images/{}.jpg", "text:train/labels/{}.txt"), r"/train/labels contains label files", False),
        (("img/{}.jpg", "text:ann/{}.jpg.json"), r"/ann contains label files of the images in img", False),
        (("JPEGImages/a{}.jpg", "text:Annotations/a{}.xml", "mask:SegmentationClass/a{}.png"), "label files", False),
        (("VOC/JPEGImages/a{}.jpg", "mask:VOC/SegmentationClass/a{}.png"), "SegmentationClass contains masks", False),
        (("images/{}.jpg", "mask:masks/{}.png"), r"/masks contains masks of the images in images", False),
        (("images/{}.jpg", "mask:masks/{}.jpg"), r"/masks contains masks of the images in images", False),
        (
            ("images/a_{}.jpg", "mask:annotations/trimaps/a_{}.png"),
            r"/annotations contains masks of the images",
            False,
        ),
        (
            ("train/c{}.jpg", "mask:train_masks/c{}_mask.gif"),
            r"/train_masks contains masks of the images in train",
            False,
        ),
        (("xray/{}.png", "mask:lungs/{}.png"), r"/lungs contains masks of the images in xray", True),
        (
            ("ill/{}.png", "mask:ill/{}_mask.png", "well/{}.png"),
            r"/ill contains masks next to its images, such as 0_",
            True,
        ),
        (
            ("ill/images/{}.png", "mask:ill/masks/{}.png", "well/images/{}.png", "mask:well/masks/{}.png"),
            r"/ill/masks contains masks of the images in images",
            True,
        ),
    ],
)
def test_masks_and_label_files_are_not_classes(
    tmp_path: Path, patterns: tuple[str, ...], message: str, offered: bool
) -> None:
    root = lay(tmp_path, *patterns)
    with pytest.raises(ZooError, match=message) as caught:
        folder_scan.scan(root)
    assert "A classifier needs a folder for each class, without masks and label files" in caught.value.remedy
    assert ("data.layout=classes" in caught.value.remedy) == offered


@pytest.mark.parametrize("names", ["[bolt, nut]", "{0: bolt, 1: nut}"])
@pytest.mark.parametrize("pattern", ["{part}/{kind}/{number} a{end}", "{kind}/{part}/{number}{end}"])
def test_the_label_files_of_yolo_become_a_table(tmp_path: Path, pattern: str, names: str) -> None:
    """Roboflow: a folder for each part with its images and labels; Ultralytics: the parts are further down."""
    root = tmp_path / "a set"
    for part in ("train", "valid", "test"):
        for number in range(6):
            photo(root / pattern.format(part=part, kind="images", number=number, end=".jpg"))
            path = root / pattern.format(part=part, kind="labels", number=number, end=".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{number % 2} 0.5 0.5 0.2 0.2\n1 0.1 0.1 0.2 0.2\n" * (number < 4))
    (root / "data.yaml").write_text(f"nc: 2\nnames: {names}\n")
    with pytest.raises(ZooError, match="label files of the images in images") as caught:
        folder_scan.scan(str(root))
    assert "data.layout=classes" not in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    listing = image_table.scan(DataSettings(name="image_table", **given))
    sizes = "(2 train, 2 validation, 2 test)"
    assert listing.notes[-1] == f"3 classes: bolt {sizes}, none {sizes}, nut {sizes}"
    assert caught.value.remedy.endswith("Or, for all boxes of each: data.label_column=labels data.target=labels")
    settings = DataSettings(name="image_table", **{**given, "label_column": "labels", "target": "labels"})
    assert image_table.scan(settings).notes[-1].startswith("2 labels: bolt (6), nut (12)")


def test_the_command_moves_masks_next_to_images(tmp_path: Path) -> None:
    patterns = (f"a set/{name}/{name} ({{}}){end}" for name in ("ill", "well") for end in (".png", "_mask.png"))
    root = lay(tmp_path, *patterns)
    with pytest.raises(ZooError, match=r"masks next to its images, such as ill \(0\)_mask") as caught:
        folder_scan.scan(f"{root}/a set")
    command = caught.value.remedy.partition("To move them to a folder of masks: ")[2]
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    listing = folder_scan.scan(f"{root}/a set")
    assert listing.class_names == ["ill", "well"]
    assert not any("mask" in name for name in listing.names)
    assert len(list((tmp_path / "masks").rglob("*_mask.png"))) == len(listing.names)


def test_the_folder_with_classes_is_named(tmp_path: Path) -> None:
    root = lay(tmp_path, *(f"images/{name}/{{}}.jpg" for name in "ab"), *(f"mask:seg/{name}/{{}}.png" for name in "ab"))
    with pytest.raises(ZooError, match=r"/seg contains masks of the images in images") as caught:
        folder_scan.scan(root)
    assert caught.value.remedy.endswith(f"data.root={tmp_path / 'images'}")
    assert folder_scan.scan(root, "classes").class_names == ["images", "seg"]


def test_the_folder_with_parts_of_classes_is_named(tmp_path: Path) -> None:
    root = lay(tmp_path, *(f"Data/LOC/train/{name}/{name}{{}}.jpg" for name in "ab"), "Data/LOC/val/v{}.jpg",
               *(f"text:Annotations/LOC/train/{name}/{name}{{}}.xml" for name in "ab"))  # fmt: skip
    with pytest.raises(ZooError, match="Annotations contains label files of the images in Data") as caught:
        folder_scan.scan(root)
    assert caught.value.remedy.endswith(f"data.root={tmp_path / 'Data' / 'LOC'}")
    note = folder_scan.scan(str(tmp_path / "Data" / "LOC")).notes[1]
    assert (
        "val/ contains 6 images without class folders, which are not used, and train/ gives the validation part" in note
    )


@pytest.mark.parametrize(
    "patterns",
    [
        ("with_mask/{}.jpg", "without_mask/{}.jpg"),
        ("mask/{}.jpg", "no_mask/{}.jpg"),
        ("cat/{}.jpg", "dog/{}.jpg", "text:labels/{}.txt"),
        ("mask:a/{}.png", "mask:b/{}.png"),
        ("photo/a{}.png", "mask:sketch/b{}.png"),
        ("label/{}.jpg", "bottle/{}.jpg"),
    ],
)
def test_classes_stay_classes(tmp_path: Path, patterns: tuple[str, ...]) -> None:
    names = sorted(pattern.rpartition(":")[2].split("/")[0] for pattern in patterns if "text" not in pattern)
    assert folder_scan.scan(lay(tmp_path, *patterns)).class_names == names


def test_a_sample_of_flat_images_is_no_folder_of_masks(tmp_path: Path) -> None:
    root = lay(tmp_path, "mask:sample/{}.png", "whole/{}.png", "whole/1{}.png")
    assert folder_scan.scan(root).class_names == ["sample", "whole"]


def test_a_damaged_mask_is_left_to_the_decoder(tmp_path: Path) -> None:
    root = lay(tmp_path, "a/{}.png", "b/{}.png")
    for number in range(6):
        (tmp_path / "b" / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert folder_scan.scan(root).class_names == ["a", "b"]


@pytest.mark.parametrize("folders", [("train2017", "val2017"), ("train_images", "test_images")])
def test_flat_parts_are_not_classes(tmp_path: Path, folders: tuple[str, ...]) -> None:
    root = lay(tmp_path, *(f"{name}/{{}}.jpg" for name in folders))
    with pytest.raises(ZooError, match=r"names of parts of a data set, but without class folders") as caught:
        folder_scan.scan(root)
    assert "data.layout=classes" in caught.value.remedy


def test_the_same_parts_below_two_folders_are_not_classes(tmp_path: Path) -> None:
    root = lay(tmp_path, *(f"{kind}/{part}/{kind}{{}}.png" for kind in ("depth", "rgb") for part in ("train", "val")))
    with pytest.raises(ZooError, match="depth, rgb all contain the folders train, val") as caught:
        folder_scan.scan(root)
    assert f"data.root={tmp_path}/rgb" in caught.value.remedy


def test_a_table_of_labels_is_named(tmp_path: Path) -> None:
    root = lay(tmp_path, "train/{}.jpg")
    (tmp_path / "labels.csv").write_text("id,breed\n0,a\n")
    with pytest.raises(ZooError, match="no class folders") as caught:
        folder_scan.scan(root)
    assert f"Read the labels with `data=image_table data.root={tmp_path}/labels.csv`; or: " in caught.value.remedy
    with pytest.raises(ZooError, match=r"labels.csv is a table, not a folder") as caught:
        folder_scan.scan(f"{root}/labels.csv")
    assert caught.value.remedy == f"Read its labels with `data=image_table data.root={tmp_path / 'labels.csv'}`"


@pytest.mark.parametrize("folder", ["", "train", "products"])
def test_a_set_of_intact_and_defect_objects_is_explained(tmp_path: Path, folder: str) -> None:
    """As in MVTec AD: the training part has intact objects only."""
    root = tmp_path / ("bottle" if folder == "products" else "")
    patterns = ["train/good/{}.png", "test/good/{}.png", "test/broken/{}.png", "mask:ground_truth/broken/{}_mask.png"]
    lay(root, *patterns)
    with pytest.raises(
        ZooError, match=r"train contains only the class 'good', .*a data set for anomaly detec"
    ) as caught:
        folder_scan.scan(str(tmp_path if folder == "products" else root / folder))
    assert caught.value.remedy.endswith(f"learn their classes: data.root={root / 'test'}")
    assert folder_scan.scan(str(root / "test")).class_names == ["broken", "good"]


@pytest.mark.parametrize(
    ("folder", "name", "content"),
    [
        ("", "{}.xml", "<annotation><object><bndbox><xmin>1</xmin></bndbox></object></annotation>"),
        ("train/", "{}.xml", "<annotation><object><bndbox><xmin>1</xmin></bndbox></object></annotation>"),
        ("", "{}.txt", "0 0.5 0.5 0.2 0.2\n1 0.1 0.25 0.2 0.2\n"),
        ("valid/", "_annotations.coco.json", '{"images": [], "annotations": [{"bbox": [1, 2, 3, 4]}]}'),
        ("train/", "_annotations.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,9,9,cat,1,1,2,2\n"),
        ("images/", "../annotations.json", " " * 200_000 + '{"annotations": [{"bbox": [1, 2, 3, 4]}]}'),
    ],
)
def test_boxes_next_to_images_are_named(tmp_path: Path, folder: str, name: str, content: str) -> None:
    lay(tmp_path, folder + "{}.jpg", "train/a{}.jpg" if folder else "b{}.jpg")
    for number in range(6):
        (tmp_path / folder / name.format(number)).write_text(content)
    with pytest.raises(ZooError, match="contains boxes around objects: a data set for detection, which the zoo does"):
        folder_scan.scan(str(tmp_path))


def test_long_lines_of_label_files_are_read_in_time(tmp_path: Path) -> None:
    """Outlines of objects, as YOLO writes them: class, x, y, x, y, ..."""
    lay(tmp_path, "train/{}.jpg")
    line = "0 " + " ".join(f"0.{number:06d}" for number in range(200))
    for number in range(6):
        (tmp_path / "train" / f"{number}.txt").write_text(line)
    with pytest.raises(ZooError, match="but no class folders"):
        folder_scan.scan(str(tmp_path))


def test_boxes_next_to_class_folders_are_no_obstacle(tmp_path: Path) -> None:
    lay(tmp_path, "cat/{}.jpg", "dog/{}.jpg")
    (tmp_path / "boxes.json").write_text('{"annotations": [{"bbox": [1, 2, 3, 4]}]}')
    listing = folder_scan.scan(str(tmp_path))
    assert listing.class_names == ["cat", "dog"]
    assert f"Not used: the boxes around objects in {tmp_path}/boxes.json. Whole images are learned" in listing.notes


def test_boxes_in_class_folders_of_parts_are_no_obstacle(tmp_path: Path) -> None:
    """Belgian traffic signs: each class folder has a table of boxes."""
    for part in ("Training", "Testing"):
        for name in ("00000", "00001"):
            lay(tmp_path, f"{part}/{name}/{{}}.jpg")
            (tmp_path / part / name / f"GT-{name}.csv").write_text(
                "Filename;Width;Height;Roi.X1;Roi.Y1\n0.jpg;9;9;1;1\n"
            )
    listing = folder_scan.scan(str(tmp_path))
    assert (listing.class_names, set(listing.parts)) == (["00000", "00001"], {"train", "test"})
    assert any(note.startswith("Not used: the boxes around objects in") for note in listing.notes)


def test_drawn_classes_with_equal_names_are_no_masks(tmp_path: Path) -> None:
    """Fruits-360: every class has 3_100.jpg and r_3_100.jpg, of fruits on white."""
    names = ("Apple", "Cherry Wax", "Kiwi")
    lay(
        tmp_path,
        *(f"{'mask:' * (name != 'Apple')}{name}/{kind}{{}}_100.png" for name in names for kind in ("", "r_")),
    )
    assert folder_scan.scan(str(tmp_path)).class_names == list(names)


@pytest.mark.parametrize(("images", "masks"), [("images", "masks"), ("{}", "{} GT"), ("", "masks")])
def test_masks_within_a_class_are_not_images_of_the_class(tmp_path: Path, images: str, masks: str) -> None:
    """As in COVID-19 Radiography, and in a set of fish: images and masks in each class."""
    root, classes = tmp_path / "set", ["COVID", "Healthy", "Normal", "Viral Pneumonia"]
    patterns = [
        f"{kind}/{{}}.png"
        for name in classes
        for kind in (f"{name}/{images.format(name)}", f"mask:{name}/{masks.format(name)}")
    ]
    lay(root, *patterns)
    if images:
        with pytest.raises(ZooError, match="contains masks of the images in") as caught:
            folder_scan.scan(str(root))
        assert (
            "If COVID, Healthy, Normal, Viral Pneumonia are the classes: add data.layout=classes" in caught.value.remedy
        )
    listing = folder_scan.scan(str(root), "classes")
    assert "4 classes: COVID (6), Healthy (6), Normal (6), Viral Pneumonia (6)" in listing.notes
    assert any(
        note.startswith(f"Not used: masks in COVID/{masks.format('COVID')}/, Healthy/") for note in listing.notes
    )
    for name in classes[:3]:
        shutil.rmtree(root / name / masks.format(name))
    assert len(folder_scan.scan(str(root)).names) == len(folder_scan.scan(str(root), "classes").names) == 24


def test_all_folders_of_class_folders_next_to_masks_are_named(tmp_path: Path) -> None:
    """As in Chars74K: photos in two qualities, each with masks, and drawn characters."""
    samples = [f"Sample00{number}/{{}}.png" for number in range(1, 4)]
    photos = [f"Img/{kind}/Bmp/{name}" for kind in ("BadImag", "GoodImg") for name in samples]
    masks = [f"mask:{name.replace('Bmp', 'Msk')}" for name in photos]
    lay(tmp_path, *photos, *masks, *(f"mask:Fnt/{name.replace('{}', 'img{}')}" for name in samples))
    with pytest.raises(ZooError, match="BadImag/Msk contains masks of the images in Bmp") as caught:
        folder_scan.scan(str(tmp_path))
    roots = (f"data.root={tmp_path}/{name}" for name in ("Img/BadImag/Bmp", "Fnt", "Img/GoodImg/Bmp"))
    assert caught.value.remedy == f"The class folders are further down: {' or '.join(roots)}"
    with pytest.raises(ZooError) as caught:
        folder_scan.scan(str(tmp_path / "Img" / "GoodImg"))
    assert caught.value.remedy == f"The class folders are further down: data.root={tmp_path}/Img/GoodImg/Bmp"


def test_pets_are_named_by_their_files_or_by_a_list_next_to_drawings(tmp_path: Path) -> None:
    """As in Oxford-IIIT Pets: annotations contains lists, and drawings of the same names."""
    breeds = ("Bengal", "Persian")
    lay(
        tmp_path,
        *(each for name in breeds for each in (f"images/{name}_{{}}.jpg", f"mask:annotations/trimaps/{name}_{{}}.png")),
    )
    rows = "".join(
        f"{name}_{number} {place} 1 {place}\n" for place, name in enumerate(breeds, 1) for number in range(6)
    )
    (tmp_path / "annotations" / "list.txt").write_text(f"#Image CLASS-ID SPECIES BREED ID\n#ID: 1:37 Class ids\n{rows}")
    with pytest.raises(ZooError, match="annotations contains masks of the images in images") as caught:
        folder_scan.scan(str(tmp_path))
    assert "data.layout" not in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    assert image_table.scan(DataSettings(name="image_table", **given)).class_names == list(breeds)
    table = tmp_path / "annotations" / "list.txt"
    assert f"data=image_table data.root={table}`" in caught.value.remedy
    listing = image_table.scan(DataSettings(name="image_table", root=str(table)))
    assert listing.class_names == ["1", "2"]
    assert "2 comments (#) are not used" in listing.notes[0]
    assert not any("trimaps" in name for name in listing.names)


def test_numbered_drawings_in_three_classes_of_a_part_are_no_masks_and_no_boxes(tmp_path: Path) -> None:
    """The German traffic signs: tracks are numbered alike, and only the test images have a table without classes."""
    root = tmp_path / "GTSRB"
    classes = ("00000", "00014", "00033")
    lay(
        root,
        *(
            f"{kind}Final_Training/Images/{name}/0000{{}}.png"
            for kind, name in zip(("", "mask:", ""), classes, strict=True)
        ),
    )
    lay(root, "Final_Test/Images/{}.png")
    (root / "Final_Test/Images/GT.csv").write_text("Filename;Width;Height;Roi.X1;Roi.Y1\n0.png;9;9;1;1\n")
    assert folder_scan.scan(str(root)).class_names == list(classes)


def test_masks_of_each_part_in_a_folder_next_to_it_are_no_classes(tmp_path: Path) -> None:
    """As in CamVid: train, train_labels with the names of the images and the ending _L."""
    patterns = [each for part in ("train", "val") for each in (f"{part}/{{}}.png", f"mask:{part}_labels/{{}}_L.png")]
    with pytest.raises(ZooError, match="_labels contains masks of the images in"):
        folder_scan.scan(lay(tmp_path, *patterns))


def test_reports_next_to_images_are_no_label_files(tmp_path: Path) -> None:
    lay(tmp_path, "scans/patient{}_0.png", "scans/patient1{}_1.png")
    (tmp_path / "reports").mkdir()
    for image in (tmp_path / "scans").iterdir():
        (tmp_path / "reports" / f"{image.stem}.txt").write_text("male 41yrs\nnormal\n")
    with pytest.raises(ZooError, match="contains only one class") as caught:
        folder_scan.scan(str(tmp_path))
    assert "The names may end with their classes, such as 0, 1: " in caught.value.remedy
    given = scripts.table_written(caught.value.remedy)
    assert image_table.scan(DataSettings(name="image_table", **given)).class_names == ["0", "1"]


@pytest.mark.parametrize("root", ["", "images"])
def test_tags_of_cvat_are_written_as_a_table_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    lay(tmp_path, "images/cam1/{}.jpg", "images/cam2/{}.jpg")
    images = "".join(
        f'  <image id="1" name="cam{camera}/{number}.jpg" width="4">\n    <tag label="{label}" source="manual">\n'
        "    </tag>\n  </image>\n"
        for camera in (1, 2)
        for number, label in enumerate(("ok", "dent", "ok", "dent", "ok"))
    )
    (tmp_path / "annotations.xml").write_text(f'<?xml version="1.0"?>\n<annotations>\n{images}</annotations>\n')
    with pytest.raises(ZooError, match=r"annotations\.xml contains the classes of the images") as caught:
        folder_scan.scan(str(tmp_path / root))
    monkeypatch.chdir(tmp_path)
    given = scripts.table_written(caught.value.remedy)
    assert "2 classes: dent (4), ok (6)" in image_table.scan(DataSettings(name="image_table", **given)).notes


def test_coco_files_of_parts_become_tables_of_labels(tmp_path: Path) -> None:
    """Roboflow: boxes of several categories in each image."""
    for part in ("train", "valid", "test"):
        lay(tmp_path, f"{part}/{part}{{}}.jpg")
        boxes = [{"image_id": number // 2, "category_id": number % 2 + 1, "bbox": [1, 1, 2, 2]} for number in range(11)]
        kinds = [{"id": number, "name": name} for number, name in enumerate(("animals", "cat", "dog"))]
        images = [{"id": number, "file_name": f"{part}{number}.jpg"} for number in range(6)]
        content = json.dumps({"categories": kinds, "images": images, "annotations": boxes})
        (tmp_path / part / "_annotations.coco.json").write_text(content)
    (tmp_path / "README.roboflow.txt").write_text("about\n")
    with pytest.raises(ZooError, match="boxes around objects: a data set for detection, which the zoo does") as caught:
        folder_scan.scan(str(tmp_path))
    given = scripts.table_written(caught.value.remedy)
    listing = image_table.scan(DataSettings(name="image_table", target="labels", **given))
    assert listing.notes[-1] == "2 labels: cat (18), dog (15); 15 have several, 0 have none"
    assert set(listing.parts) == {"train", "validation", "test"}
    with pytest.raises(ZooError, match="boxes around objects") as caught:
        folder_scan.scan(str(tmp_path / "train"))
    assert f"python scripts/table_of.py coco {tmp_path}/train/_annotations.coco.json" in caught.value.remedy


@pytest.mark.parametrize("parted", [False, True])
def test_files_of_pascal_voc_become_a_table(tmp_path: Path, parted: bool) -> None:
    names = [*(f"{number:03d}" for number in range(8))]
    lay(tmp_path, *(f"JPEGImages/{name}.jpg" for name in names))
    (tmp_path / "Annotations").mkdir()
    for number, name in enumerate(names):
        objects = "".join(f"<object><name>{kind}</name></object>" for kind in ("cat", "dog")[number % 2 :])
        content = f"<annotation><filename>{name}.jpg</filename>{objects}</annotation>"
        (tmp_path / "Annotations" / f"{name}.xml").write_text(content)
    if parted:
        (tmp_path / "ImageSets/Main").mkdir(parents=True)
        (tmp_path / "ImageSets/Main/train.txt").write_text("\n".join(names[:6]))
        (tmp_path / "ImageSets/Main/val.txt").write_text(f"{names[6]}\n")
    with pytest.raises(ZooError, match="a data set for detection") as caught:
        folder_scan.scan(str(tmp_path))
    given = scripts.table_written(caught.value.remedy)
    listing = image_table.scan(DataSettings(name="image_table", **given))  # type: ignore[arg-type]
    assert listing.class_names == ["cat", "dog"]
    assert Counter(listing.parts) == ({"train": 6, "validation": 1} if parted else {})
