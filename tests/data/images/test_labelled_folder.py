"""zoo.data.images.labelled_folder: the images of each class, one class after the other or in turn."""

from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.data.images import labelled_folder


def fill(root: Path, **counts: int) -> Path:
    for name, count in counts.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            (root / name / f"{number}.png").touch()
    return root


def names(folder: labelled_folder.LabelledFolder, limit: int | None = None) -> list[str]:
    pairs = list(folder.names(limit))
    assert [path for _, path in pairs] == [folder.root / name for name, _ in pairs]
    return [name for name, _ in pairs]


def test_images_come_class_by_class_or_in_turn(tmp_path: Path) -> None:
    folder = labelled_folder.find(str(fill(tmp_path, b=1, a=3, empty=0)))
    assert (folder.folders, folder.counts, folder.part, folder.unreadable) == (["a", "b"], [3, 1], "", [])
    assert names(folder) == ["a/0.png", "a/1.png", "a/2.png", "b/0.png"]
    assert names(folder, 3) == ["a/0.png", "b/0.png", "a/1.png"]
    assert names(folder, 9) == ["a/0.png", "b/0.png", "a/1.png", "a/2.png"]
    assert names(folder, 0) == []


@pytest.mark.parametrize(
    ("parts", "part"), [(("train", "test", "validation"), "test"), (("train", "val"), "val"), (("train",), "train")]
)
def test_of_a_data_set_in_parts_the_one_to_test_with_is_taken(
    tmp_path: Path, parts: tuple[str, ...], part: str
) -> None:
    for name in parts:
        fill(tmp_path / name, **{f"a_{name}": 1, f"b_{name}": 2})
    folder = labelled_folder.find(str(tmp_path))
    assert (folder.part, folder.folders, folder.counts) == (part, [f"a_{part}", f"b_{part}"], [1, 2])


def test_a_part_without_images_is_passed_over(tmp_path: Path) -> None:
    fill(tmp_path / "test")
    (tmp_path / "test").mkdir()
    fill(tmp_path / "train", a=1, b=1)
    assert labelled_folder.find(str(tmp_path)).part == "train"


def test_folders_without_images_are_named(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"has folders \(a, b\) without images"):
        labelled_folder.find(str(fill(tmp_path / "x", b=0, a=0)))
    (tmp_path / "y").mkdir()
    with pytest.raises(ZooError, match="has no class folders"):
        labelled_folder.find(str(tmp_path / "y"))
