"""scripts/images_of_arrays.py: arrays of images as files in class folders."""

import os
import signal
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from scripts import images_of_arrays, table_of
from zoo.data.images import folder_scan

RANDOM = np.random.default_rng(1)
PIXELS = RANDOM.integers(0, 256, (12, 8, 8), np.uint8)
NUMBERS = np.arange(12) % 3


def written(tmp_path: Path, **arrays: Any) -> dict[str, list[str]]:
    """Write arrays as an .npz, convert it, and return the images of each folder."""
    np.savez(tmp_path / "set.npz", **arrays)
    assert images_of_arrays.main([str(tmp_path / "set.npz"), str(tmp_path / "out")]) == 0
    files = sorted((tmp_path / "out").rglob("*.png"))
    folders = {str(path.parent.relative_to(tmp_path / "out")) for path in files}
    return {name: [path.stem for path in files if path.parent == tmp_path / "out" / name] for name in sorted(folders)}


def test_parts_stay_apart_and_pixels_are_kept(tmp_path: Path) -> None:
    """MedMNIST: labels of the shape (N, 1)."""
    parts = {f"{part}_images": PIXELS for part in ("train", "val", "test")}
    labels = {f"{part}_labels": NUMBERS[:, None] for part in ("train", "val", "test")}
    folders = written(tmp_path, **parts, **labels)
    assert [*folders] == [f"{part}/{label}" for part in ("test", "train", "validation") for label in "012"]
    assert folders["train/1"] == ["000001", "000004", "000007", "000010"]
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out/train/1/000004.png")), PIXELS[4])
    assert folder_scan.scan(str(tmp_path / "out")).class_names == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        (PIXELS.reshape(12, 64), NUMBERS),
        (PIXELS[:, None], np.eye(3)[NUMBERS]),
        (PIXELS[..., None], NUMBERS.astype(np.float32)),
        (PIXELS / 255, NUMBERS.astype(str)),
    ],
    ids=["flat", "channels first and one column a class", "channels last", "0 to 1 and words"],
)
def test_shapes_and_scales(tmp_path: Path, images: Any, labels: Any) -> None:
    assert [*written(tmp_path, x=images, y=labels)] == ["0", "1", "2"]
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out/2/000005.png")), PIXELS[5])


def test_colors_are_kept(tmp_path: Path) -> None:
    colors = RANDOM.integers(0, 256, (12, 8, 9, 3), np.uint8)
    written(tmp_path, X=colors, Y=NUMBERS)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out/0/000000.png")), colors[0])


def test_hdf5_files_of_a_course_with_names_of_classes(tmp_path: Path) -> None:
    """SIGNS: a third array lists the classes, and its length is not that of the images."""
    for part in ("train", "test"):
        with h5py.File(tmp_path / f"{part}_signs.h5", "w") as file:
            file[f"{part}_set_x"], file[f"{part}_set_y"], file["list_classes"] = PIXELS, NUMBERS, np.arange(3)
            file["about"] = "numbers of one hand"
    assert images_of_arrays.main([str(tmp_path), str(tmp_path / "out")]) == 0
    listing = folder_scan.scan(str(tmp_path / "out"))
    assert (listing.class_names, listing.parts.count("train"), len(listing.names)) == (["0", "1", "2"], 12, 24)


def test_matlab_with_the_images_along_the_last_axis(tmp_path: Path) -> None:
    """SVHN: X (height, width, 3, N), and y (N, 1), where 10 is the digit 0."""
    pixels = RANDOM.integers(0, 256, (8, 8, 3, 12), np.uint8)
    for part in ("train", "test"):
        scipy.io.savemat(tmp_path / f"{part}_32x32.mat", {"X": pixels, "y": np.arange(12)[:, None] % 2 * 9 + 1})
    assert images_of_arrays.main([str(tmp_path), str(tmp_path / "out")]) == 0
    assert folder_scan.scan(str(tmp_path / "out")).class_names == ["01", "10"]
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out/train/10/000003.png")), pixels[..., 3])


def test_labels_among_other_numbers_are_whole_and_few(tmp_path: Path) -> None:
    """Galaxy10: ans next to the positions of the galaxies."""
    with h5py.File(tmp_path / "Galaxy10.h5", "w") as file:
        file["images"], file["ans"], file["ra"] = np.repeat(PIXELS[..., None], 3, 3), NUMBERS, RANDOM.random(12)
        file["redshift"] = RANDOM.random(12)
    assert images_of_arrays.main([str(tmp_path / "Galaxy10.h5"), str(tmp_path / "out")]) == 0
    assert folder_scan.scan(str(tmp_path / "out")).class_names == ["0", "1", "2"]


def test_words_in_hdf5_and_a_damaged_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data/x"], file["data/ids"] = PIXELS, np.arange(12)
        file.create_dataset("data/label", data=["ab"[n % 2] for n in range(12)], dtype=h5py.string_dtype())
    assert images_of_arrays.main([str(tmp_path / "a.h5"), str(tmp_path / "out")]) == 0
    assert folder_scan.scan(str(tmp_path / "out")).class_names == ["a", "b"]
    (tmp_path / "b.h5").write_bytes((tmp_path / "a.h5").read_bytes()[:600])
    (tmp_path / "c.npy").write_bytes(b"no array")
    for name in ("b.h5", "c.npy"):
        assert images_of_arrays.main([str(tmp_path / name), str(tmp_path / "out2")]) == 1
        printed = capsys.readouterr().err
        assert f"{name} cannot be read" in printed
        assert "pickle" not in printed


def test_files_of_images_and_labels_belong_together_by_their_part(tmp_path: Path) -> None:
    """Kuzushiji-MNIST: four files with one array each."""
    for part, count in (("train", 12), ("test", 6)):
        np.savez(tmp_path / f"k-{part}-imgs.npz", PIXELS[:count])
        np.savez(tmp_path / f"k-{part}-labels.npz", NUMBERS[:count])
    assert images_of_arrays.main([str(tmp_path), str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out" / "test").rglob("*.png"))) == 6
    assert len(list((tmp_path / "out" / "train").rglob("*.png"))) == 12


def test_without_labels_each_file_is_a_class(tmp_path: Path) -> None:
    """Quick, Draw!: rows of 784 values."""
    for name in ("cat", "wine bottle"):
        np.save(tmp_path / f"full_bitmap_{name}.npy", PIXELS.reshape(12, 64))
    assert images_of_arrays.main([str(tmp_path), str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["cat", "wine bottle"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": PIXELS}, "no array of labels"),
        ({"x": PIXELS, "y": NUMBERS[:9]}, "no array of labels"),
        ({"x": PIXELS.astype(float) - 9, "y": NUMBERS}, "outside of 0 to 255"),
        ({"x": PIXELS.reshape(12, 64)[:, :63], "y": NUMBERS}, "not square"),
        ({"x": PIXELS, "y": NUMBERS + 0.5}, "not whole numbers"),
        ({"x": PIXELS, "y": np.array(["a/b"] * 12)}, "cannot be the name of a file or folder"),
        ({"x": PIXELS[..., None, None], "y": NUMBERS}, "not that of images"),
        ({"x": np.array([{}, 1]), "y": NUMBERS}, "cannot be read"),
    ],
)
def test_other_arrays_are_refused(
    tmp_path: Path, arrays: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "set.npz", **arrays)
    assert images_of_arrays.main([str(tmp_path / "set.npz"), str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err


def test_a_table_with_an_endless_line_is_not_read_into_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "t.csv").open("wb") as file:
        file.truncate(20 << 30)
    assert images_of_arrays.main([str(tmp_path / "t.csv"), str(tmp_path / "out")]) == 1
    assert "a line has at least 16,777,216 characters" in capsys.readouterr().err


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert images_of_arrays.main([str(tmp_path), str(tmp_path)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert images_of_arrays.main([str(tmp_path), str(tmp_path / "out")]) == 1
    assert "has no array in .npy, .npz, .h5, .mat or .csv" in capsys.readouterr().err


def converted(source: Path, target: Path) -> dict[str, int]:
    """Convert a path, and return the number of images in each folder."""
    assert images_of_arrays.main([str(source), str(target)]) == 0
    folders = sorted({path.parent for path in target.rglob("*.png")})
    return {str(folder.relative_to(target)): len(list(folder.glob("*.png"))) for folder in folders}


def table(path: Path, titles: list[str], rows: list[list[object]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = [",".join(map(str, row)) for row in ([titles] if titles else []) + rows]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize("place", ["first", "last", "without titles"])
def test_tables_of_pixels(tmp_path: Path, place: str) -> None:
    """Sign Language MNIST; Devanagari, with its words last; A-Z handwritten, without titles."""
    flat = PIXELS.reshape(12, 64).tolist()
    titles = [f"pixel{number}" for number in range(64)]
    labels = [f"character_0{number}_ka" if place == "last" else str(number) for number in NUMBERS]
    rows = [[*row, n] if place == "last" else [n, *row] for n, row in zip(labels, flat, strict=True)]
    first = {"first": ["label", *titles], "last": [*titles, "character"], "without titles": []}[place]
    source = table(tmp_path / "t.csv", first, rows)
    folders = converted(source, tmp_path / "out")
    assert folders == dict.fromkeys(sorted(set(labels)), 4)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out" / max(folders) / "000005.png")), PIXELS[5])


def test_pixels_in_one_cell_with_parts(tmp_path: Path) -> None:
    """FER2013: the public test part was for validation, the private one is the test part."""
    usages = ["Training"] * 6 + ["PublicTest"] * 3 + ["PrivateTest"] * 3
    rows = [[n, " ".join(map(str, row.ravel())), use] for n, row, use in zip(NUMBERS, PIXELS, usages, strict=True)]
    folders = converted(table(tmp_path / "fer2013.csv", ["emotion", "pixels", "Usage"], rows), tmp_path / "out")
    counts = {"train": 2, "validation": 1, "test": 1}
    assert folders == {f"{part}/{label}": count for part, count in counts.items() for label in "012"}


@pytest.mark.parametrize("planar", [False, True])
def test_rows_of_colors_are_read_as_the_smoother_image(tmp_path: Path, planar: bool) -> None:
    """HAM10000 as a table of 28 x 28 RGB, pixel by pixel; CIFAR-10 is stored channel by channel."""
    slope = np.add.outer(np.arange(8), np.arange(8))[..., None] * 3 + [10, 100, 200]
    images = np.stack([slope + number for number in range(12)]).astype(np.uint8)
    flat = images.transpose(0, 3, 1, 2).reshape(12, -1) if planar else images.reshape(12, -1)
    rows = [[*row, n] for n, row in zip(NUMBERS, flat.tolist(), strict=True)]
    converted(table(tmp_path / "t.csv", [f"pixel{n:04}" for n in range(192)] + ["label"], rows), tmp_path / "out")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out/2/000005.png")), images[5])


def test_tables_without_labels_are_left_out_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Digit Recognizer: train.csv and test.csv."""
    flat = PIXELS.reshape(12, 64).tolist()
    titles = [f"pixel{number}" for number in range(64)]
    rows = [[n, *row] for n, row in zip(NUMBERS, flat, strict=True)]
    table(tmp_path / "set" / "train.csv", ["label", *titles], rows)
    table(tmp_path / "set" / "test.csv", titles, flat)
    assert converted(tmp_path / "set", tmp_path / "out") == {f"train/{label}": 4 for label in "012"}
    assert "test.csv, which has no column of labels" in capsys.readouterr().err
    (tmp_path / "set" / "train.csv").write_text("label,pixel0\n1,2,3\n")
    assert images_of_arrays.main([str(tmp_path / "set" / "train.csv"), str(tmp_path / "again")]) == 1
    assert "row 2 has 3 cells, and the first one 2" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".h5", ".mat", ".csv"])
@pytest.mark.parametrize(
    "content",
    [b"PK\3\4junk", b"", b"\x93NUMPY", b"\x93NUMPY\1\0\x76\0{'descr': '<f8', 'shape': (", b"\x89HDF\r\n\x1a\njunk",
     b"MATLAB 5.0 MAT-file".ljust(128), b"\xff" * 600],
    ids=["zip", "empty", "NUMPY", "half a header", "HDF5", "MATLAB", "noise"],
)  # fmt: skip
def test_damaged_files_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, content: bytes
) -> None:
    (tmp_path / f"a{suffix}").write_bytes(content)
    assert images_of_arrays.main([str(tmp_path / f"a{suffix}"), str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"error: {tmp_path / f'a{suffix}'} ") or "WARNING: Not used" in printed
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".mat"])
def test_truncated_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    file = tmp_path / f"a{suffix}"
    arrays = {"x": PIXELS, "y": NUMBERS}
    if suffix == ".mat":
        scipy.io.savemat(file, arrays, do_compression=True)
    else:
        np.save(file, PIXELS) if suffix == ".npy" else np.savez(file, **arrays)
    whole = file.read_bytes()
    for end in range(0, len(whole) - 1, 40):
        file.write_bytes(whole[:end])
        if images_of_arrays.main([str(file), str(tmp_path / "out")]):
            assert f"error: {file} " in capsys.readouterr().err
            assert [*tmp_path.iterdir()] == [file]


def camelyon(folder: Path, mask: bool) -> None:
    """Write files as PatchCamelyon publishes them."""
    folder.mkdir()
    for part in ("train", "valid", "test"):
        for kind, array in (("x", np.repeat(PIXELS[..., None], 3, 3)), ("y", NUMBERS.reshape(-1, 1, 1, 1) % 2)):
            with h5py.File(folder / f"camelyonpatch_level_2_split_{part}_{kind}.h5", "w") as file:
                file[kind] = array
    if mask:
        with h5py.File(folder / "camelyonpatch_level_2_split_train_mask.h5", "w") as file:
            file["mask"] = PIXELS[..., None]


@pytest.mark.parametrize("mask", [False, True])
def test_labels_of_four_axes_and_masks(tmp_path: Path, capsys: pytest.CaptureFixture[str], mask: bool) -> None:
    camelyon(tmp_path / "set", mask)
    folders = converted(tmp_path / "set", tmp_path / "out")
    parts = {f"{part}/{label}" for part in ("train", "validation", "test") for label in "01"}
    assert {*folders} == parts
    assert np.array_equal(np.asarray(Image.open(tmp_path / "out/train/0/000002.png"))[..., 0], PIXELS[2])
    warned = "WARNING: Not used: camelyonpatch_level_2_split_train_mask, which are masks" in capsys.readouterr().err
    assert warned == mask


def test_classes_with_and_without_masks_are_classes(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for name in ("with_mask", "without_mask"):
        np.save(tmp_path / "set" / f"{name}.npy", PIXELS)
    assert converted(tmp_path / "set", tmp_path / "out") == {"with_mask": 12, "without_mask": 12}


@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("pipe", ["a.npz", "set/a.h5", "out"])
def test_pipes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], pipe: str) -> None:
    (tmp_path / "set").mkdir()
    np.savez(tmp_path / "set" / "b.npz", x=PIXELS, y=NUMBERS)
    os.mkfifo(tmp_path / pipe)
    source = tmp_path / ("a.npz" if pipe == "a.npz" else "set")
    assert images_of_arrays.main([str(source), str(tmp_path / "out")]) == 1
    assert f"{tmp_path / pipe} is a pipe or a device" in capsys.readouterr().err


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_or_failed_command_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    np.savez(tmp_path / "set.npz", x=PIXELS, y=NUMBERS)
    words = [str(tmp_path / "set.npz"), str(tmp_path / "out")]

    def fail(image: Any, path: Path) -> None:
        if path.stem == "000005":
            raise failure
        path.touch()

    with monkeypatch.context() as patched:
        patched.setattr(Image.Image, "save", fail)
        code = images_of_arrays.main(words)
    assert [*tmp_path.iterdir()] == [tmp_path / "set.npz"]
    printed = capsys.readouterr().err
    if isinstance(failure, KeyboardInterrupt):
        assert (code, "Interrupted." in printed) == (130, True)
    else:
        assert (code, f"error: Cannot write {tmp_path / 'out'}: No space left" in printed) == (1, True)
    assert images_of_arrays.main(words) == 0


def test_a_dangling_link_is_no_free_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "set.npz", x=PIXELS, y=NUMBERS)
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    assert images_of_arrays.main([str(tmp_path / "set.npz"), str(tmp_path / "out")]) == 1
    assert f"{tmp_path / 'out'} already exists" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


def crash(_: object, **_options: object) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize("name", ["a.mat", "a.h5"])
def test_a_library_that_crashes_is_an_error_that_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.zeros((4, 8, 8), np.uint8)
    scipy.io.savemat(tmp_path / "a.mat", {"x": np.zeros((4, 8, 8), np.uint8)})
    monkeypatch.setattr(scipy.io, "loadmat", crash)
    monkeypatch.setattr(images_of_arrays, "of_hdf5", crash)
    given = [str(tmp_path / name), str(tmp_path / "out")]
    for convert in (images_of_arrays.main, lambda given: table_of.main(["matlab", *given]))[: 1 + name.endswith("mat")]:
        assert convert(given) == 1
        assert f"{tmp_path / name} cannot be read: its library crashed (exit -11)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
