"""Folders of the user's own pictures: as they should be, and as they are."""

import json
import os
import shutil
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from zoo.cli.main import main
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.data.images import cache as image_cache
from zoo.data.images import decode_pool, folder_dataset, folder_scan, labelled_folder

COLOURS = {"Äpfel": (200, 30, 30), "blue plums": (30, 30, 200), "limes": (30, 200, 30)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(root: Path, count: int = 10, classes: tuple[str, ...] = tuple(COLOURS)) -> Path:
    """Pictures of one colour a class; their red, green or blue tells the class and how bright they are which one."""
    for name in classes:
        (root / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            colour = tuple(level + number for level in COLOURS.get(name, (9, 9, 9)))
            Image.new("RGB", (20 + number, 30), colour).save(root / name / f"pic {number:02}.png")
    return root


def prepare(root: object, **settings: object) -> folder_dataset.FolderDataset:
    layout = str(settings.pop("layout", "auto"))
    return folder_dataset.prepare(folder_scan.scan(None if root is None else str(root), layout), 16, **settings)  # type: ignore[arg-type]


def refused(root: object, **settings: object) -> str:
    with pytest.raises(ZooError) as caught:
        prepare(root, **settings)
    assert caught.value.remedy
    return str(caught.value)


def test_every_picture_is_in_the_row_of_its_name(tmp_path: Path) -> None:
    folder = prepare(fill(tmp_path / "fruit"))
    assert folder.listing.class_names == sorted(COLOURS)
    pixels = image_cache.rows(folder.pictures, np.arange(30))
    assert pixels.shape == (30, 16, 16, 3)
    for row, (name, label) in enumerate(zip(folder.listing.names, folder.listing.labels, strict=True)):
        wanted = np.array(COLOURS[folder.listing.class_names[label]]) + int(name[-6:-4])
        assert (pixels[row] == wanted).all()
    assert folder.skipped == []


def test_a_folder_is_decoded_once_and_anew_when_a_picture_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fill(tmp_path / "fruit")
    first = prepare(root)
    monkeypatch.setattr(decode_pool, "decode_all", lambda *_: pytest.fail("it decodes again"))
    again = prepare(root)
    assert (again.pictures, again.sha256) == (first.pictures, first.sha256)
    later = time.time() + 60
    for name in first.listing.names:
        os.utime(root / name, (later, later))
    shutil.copytree(root, tmp_path / "copy")
    assert prepare(root).pictures == prepare(tmp_path / "copy").pictures == first.pictures
    monkeypatch.undo()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    Image.new("RGB", (8, 8), "white").save(root / "limes" / "pic 03.png")
    changed = prepare(root)
    assert changed.sha256 != first.sha256
    assert changed.pictures != first.pictures


def test_one_level_is_split_by_class_and_seed(tmp_path: Path) -> None:
    folder = prepare(fill(tmp_path / "fruit", count=20))
    parts = folder_dataset.split(folder, validation=0.1, test=0.2, seed=1, train_limit=None, test_limit=None)
    labels = np.array(folder.listing.labels)
    assert [np.bincount(labels[parts[name]]).tolist() for name in ("train", "validation", "test")] == [
        [14] * 3,
        [2] * 3,
        [4] * 3,
    ]
    assert sorted(np.concatenate(list(parts.values()))) == list(range(60))
    again = folder_dataset.split(folder, validation=0.1, test=0.2, seed=1, train_limit=None, test_limit=None)
    other = folder_dataset.split(folder, validation=0.1, test=0.2, seed=2, train_limit=None, test_limit=None)
    assert all(np.array_equal(parts[name], again[name]) for name in parts)
    assert not np.array_equal(parts["test"], other["test"])
    limited = folder_dataset.split(folder, validation=0.1, test=0.2, seed=1, train_limit=5, test_limit=3)
    assert {name: len(rows) for name, rows in limited.items()} == {"train": 5, "validation": 6, "test": 3}


def test_parts_that_the_folder_has_are_kept(tmp_path: Path) -> None:
    root = tmp_path / "fruit"
    fill(root / "train", 10), fill(root / "val", 4), fill(root / "test", 3, ("limes",))
    folder = prepare(root)
    parts = folder_dataset.split(folder, validation=0.5, test=0.5, seed=1, train_limit=None, test_limit=None)
    assert {name: len(rows) for name, rows in parts.items()} == {"train": 30, "validation": 12, "test": 3}
    assert all(folder.listing.names[row].startswith("val/") for row in parts["validation"])
    shutil.rmtree(root / "val"), shutil.rmtree(root / "test")
    parts = folder_dataset.split(prepare(root), validation=0.1, test=0.1, seed=1, train_limit=None, test_limit=None)
    assert {name: len(rows) for name, rows in parts.items()} == {"train": 27, "validation": 3, "test": 0}


def test_folders_beside_the_parts_are_no_classes(tmp_path: Path) -> None:
    root = tmp_path / "fruit"
    fill(root / "train", 10), fill(root / "test", 3), fill(root / "__MACOSX", 2)
    (root / "annotations").mkdir()
    listing = folder_scan.scan(str(root))
    assert set(listing.parts) == {"train", "test"}
    assert len(listing.names) == 3 * (10 + 3)
    fill(root / "Dev", 2)
    assert set(folder_scan.scan(str(root)).parts) == {"train", "test", "validation"}
    fill(root / "unlabeled", 1)
    assert "of a data set, and also images in unlabeled" in refused(root)
    assert labelled_folder.find(str(tmp_path / "fruit" / "test")).root == root / "test"


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    for name in ("train", "bus"):
        (tmp_path / name).mkdir()
        Image.new("RGB", (9, 9)).save(tmp_path / name / "1.png")
    assert folder_scan.scan(str(tmp_path)).class_names == ["bus", "train"]


def bomb(edge: int) -> bytes:
    """A PNG of so many black pixels a side, a bit each: a few kilobytes."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", edge, edge, 1, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes((edge // 8 + 1) * edge))),
        (b"IEND", b""),
    ]
    framed = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + framed


def spoil(root: Path) -> dict[str, str]:
    """Add files that are no pictures; return what is to be said of each."""
    whole = root / "limes" / "whole.jpg"
    Image.effect_noise((200, 200), 50).convert("RGB").save(whole)
    (root / "limes" / "text.jpg").write_text("not a picture at all")
    (root / "limes" / "cut ü.jpg").write_bytes(whole.read_bytes()[:2000])
    (root / "limes" / "empty.png").touch()
    (root / "limes" / "bomb.png").write_bytes(bomb(20_000))
    os.mkfifo(root / "limes" / "pipe.png")
    return {
        "limes/text.jpg": "not an image",
        "limes/cut ü.jpg": "damaged",
        "limes/empty.png": "empty",
        "limes/bomb.png": "more than 89,478,485 pixels",
        "limes/pipe.png": "not a file",
    }


def test_what_is_no_picture_is_left_out_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = fill(tmp_path / "fruit")
    wrong = spoil(root)
    folder = prepare(root)
    reasons = dict(folder.skipped)
    assert set(reasons) == set(wrong)
    assert all(words in reasons[name] for name, words in wrong.items())
    assert folder.usable.sum() == 31
    assert "Skipped 5 of 36 images" in capsys.readouterr().err
    parts = folder_dataset.split(folder, validation=0.1, test=0.1, seed=1, train_limit=None, test_limit=None)
    used = {folder.listing.names[row] for rows in parts.values() for row in rows}
    assert len(used) == 31
    assert not used & set(wrong)
    assert dict(prepare(root).skipped) == reasons, "the cache forgot why"


def test_strict_refuses_what_is_no_picture(tmp_path: Path) -> None:
    root = fill(tmp_path / "fruit")
    wrong = spoil(root)
    message = refused(root, strict=True)
    assert all(name in message for name in wrong)
    assert "data.strict=false" in message


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], "is empty"),
        (["loose.png"], "no class folders"),
        (["only/1.png", "only/2.png"], "only one class, 'only'"),
        (["cats/readme.txt", "dogs/readme.txt"], "without images"),
        (["val/a/1.png", "test/a/1.png"], "no folder for training such as train/"),
        (["train/cats/1.png", "train/dogs/1.png", "val/cat/1.png"], "does not have: 'cat'; did you mean 'cats'"),
        (["cats/1.png", "dogs/broken.png"], "No usable training images in 'dogs'"),
    ],
)
def test_a_folder_that_cannot_be_used_is_told_apart(tmp_path: Path, files: list[str], words: str) -> None:
    root = tmp_path / "pictures"
    root.mkdir()
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(("broken.png", ".txt")):
            (root / name).write_text("no picture")
        else:
            Image.new("RGB", (9, 9)).save(root / name)
    assert words in refused(root)


def test_no_root_no_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    fill(tmp_path / "fruit")
    (tmp_path / "file").touch()
    assert "data.root=DIR" in refused(None)
    assert "did you mean 'fruit'" in refused(tmp_path / "fruti")
    assert "is a file" in refused(tmp_path / "file")


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, scandir = fill(tmp_path / "fruit"), os.scandir

    def deny(path: object = ".") -> object:
        if Path(str(path)).name == "limes":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(str(path))

    monkeypatch.setattr(os, "scandir", deny)  # root, which tests often run as, may read everything
    folder = prepare(root)
    assert folder.listing.class_names == ["blue plums", "Äpfel"]
    assert folder.skipped == [(str(root / "limes"), "Permission denied")]
    assert "Permission denied" in refused(root, strict=True)


def test_names_that_are_no_text_are_taken(tmp_path: Path) -> None:
    root = fill(tmp_path / "fruit")
    os.rename(os.fsencode(root / "limes" / "pic 01.png"), os.fsencode(root / "limes") + b"/\xff\xfe.png")
    assert prepare(root).usable.all()


def test_a_folder_whose_own_name_is_no_text_is_taken(tmp_path: Path) -> None:
    os.makedirs(os.fsencode(tmp_path) + b"/caf\xe9")
    root = fill(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"), "fruit"))
    assert prepare(root).usable.all()


def test_a_class_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    root = fill(tmp_path / "fruit")
    os.rename(os.fsencode(root / "limes"), os.fsencode(root) + b"/lim\xe9s")
    assert f"the folder lim\\udce9s in {root} is not UTF-8" in refused(root)


def test_a_decoding_process_whose_host_is_gone_ends_quietly(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-B", "-c", decode_pool.CODE, str(paths.PACKAGE.parent)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    array, picture = tmp_path / "array.npy", fill(tmp_path / "fruit", 1) / "limes" / "pic 00.png"
    np.save(array, np.zeros((1, 4, 4, 3), np.uint8))
    request = {"array": str(array), "size": 4, "resize": "stretch", "files": [(0, str(picture))]}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1


def test_an_interrupted_decoding_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, whole = fill(tmp_path / "fruit", 30), decode_pool.decode_all
    asked: list[int] = []

    def stopped(requests: list[decode_pool.Request]) -> object:
        yield from whole(requests[:1])
        raise KeyboardInterrupt

    def counted(requests: list[decode_pool.Request]) -> object:
        asked.extend(row for request in requests for row, _ in request["files"])
        return whole(requests)

    monkeypatch.setattr(decode_pool, "decode_all", stopped)
    with pytest.raises(KeyboardInterrupt):
        prepare(root)
    monkeypatch.setattr(decode_pool, "decode_all", counted)
    folder = prepare(root)
    assert asked == list(range(image_cache.CHUNK, 90))
    assert "Continuing: 32 images" in capsys.readouterr().err
    assert (image_cache.rows(folder.pictures, np.arange(90)).max((1, 2, 3)) >= 200).all()


@pytest.mark.parametrize("name", [image_cache.ARRAY, image_cache.STATE, image_cache.REASONS])
def test_decoded_pictures_that_were_replaced_are_decoded_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    root = fill(tmp_path / "own")
    file = prepare(root).pictures.with_name(name)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert prepare(root).pictures.with_name(name).read_bytes() == whole
    assert "were damaged; they are decoded again" in capsys.readouterr().err


def test_a_decoder_that_dies_loses_one_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = fill(tmp_path / "fruit")
    dying = decode_pool.CODE.replace("decode_pool; ", "decode, decode_pool; import os; whole = decode.decode; "
        "decode.decode = lambda path, *rest: os._exit(9) if path.name == 'pic 04.png' else whole(path, *rest); "
        )  # fmt: skip
    assert dying != decode_pool.CODE
    monkeypatch.setattr(decode_pool, "CODE", dying)
    assert dict(prepare(root).skipped) == {f"{name}/pic 04.png": decode_pool.BROKE_DOWN for name in COLOURS}


def test_a_cache_without_room_is_said_before_anything_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fill(tmp_path / "fruit")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: os.terminal_size((1, 2)) and shutil._ntuple_diskusage(1, 1, 5))
    assert "are free" in refused(root)


def test_a_disk_that_fills_up_while_decoding_keeps_no_part(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fill(tmp_path / "fruit")
    monkeypatch.setenv("ZOO_CACHE", str(small_disk))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 40, 0, 1 << 40))
    with pytest.raises(ZooError, match="No space left on device"):
        folder_dataset.prepare(folder_scan.scan(str(root)), 300)
    assert list((small_disk / "data").glob(".*.part")) == []


def test_hidden_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    root = fill(tmp_path / "fruit")
    (root / ".thumbnails").mkdir()
    (root / "limes" / "._pic 01.png").write_text("what macOS keeps there")
    listing = folder_scan.scan(str(root))
    assert listing.class_names == sorted(COLOURS)
    assert len(listing.names) == 30


def test_means_and_deviations_are_those_of_the_pixels(tmp_path: Path) -> None:
    folder = prepare(fill(tmp_path / "fruit"))
    rows = np.arange(0, 30, 2)
    mean, deviation = folder_dataset.channel_statistics(folder.pictures, rows)
    pixels = image_cache.rows(folder.pictures, rows).reshape(-1, 3).astype(float)
    np.testing.assert_allclose(mean, pixels.mean(0))
    np.testing.assert_allclose(deviation, pixels.std(0))


def test_a_folder_that_cannot_be_used_is_told_before_a_size_is_asked_for(
    pretending: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pretending / "empty").mkdir()
    for folder, words in (("nowhere", "data.root=nowhere does not exist"), ("empty", "empty")):
        assert main(["train", "model=mnist", "data=folder", f"data.root={folder}"]) == 1
        said = capsys.readouterr().err
        assert words in said
        assert "data.size" not in said


def test_values_of_12_bits_and_later_pages_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, top in (("a", 4095), ("b", 2000)):
        (tmp_path / "set" / name).mkdir(parents=True)
        for number in range(3):
            page = Image.fromarray(np.full((8, 8), top - number, np.uint16))
            page.save(tmp_path / "set" / name / f"{number}.tif", save_all=True, append_images=[page] * (name == "b"))
    prepare(tmp_path / "set")
    said = " ".join(capsys.readouterr().err.split())
    assert "The images are nearly black: the largest value is 16 of 255" in said
    assert "such as b/0.tif, only the first is used" in said
    prepare(fill(tmp_path / "fruit"))
    said = capsys.readouterr().err
    assert "black" not in said
    assert "only the first" not in said
