"""zoo.data.array_datasets and its sources: real files, the user's own, and files that are wrong in every way."""

import contextlib
import dataclasses
import gzip
import re
import shutil
import socket
import struct
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.data import array_datasets, idx, npy_images

NAMES = {
    "train_images": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", fail)


def packed(array: np.ndarray, code: int = 8) -> bytes:
    header = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


def pictures(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, 28, 28), np.uint8)


def labels(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint8) % 10


def good_root(folder: Path, n_train: int = 30, n_test: int = 20) -> Path:
    folder.mkdir()
    parts = {"train": n_train, "test": n_test}
    for role, name in NAMES.items():
        make = pictures if role.endswith("images") else labels
        (folder / name).write_bytes(packed(make(parts[role.split("_")[0]])))
    return folder


def row_in(root: Path, **changes: object) -> array_datasets.DataRow:
    return dataclasses.replace(array_datasets.load_row("mnist"), root=str(root), **changes)


# The rows


def test_rows_have_the_same_keys_and_no_problems() -> None:
    files = {path.stem: yaml.safe_load(path.read_text()) for path in (paths.CONFIGS / "data").glob("*.yaml")}
    blocks = {name: block for name, block in files.items() if block["data"]["kind"] != "text"}
    assert set(blocks) == {"mnist", "fashion", "digits", "folder", "image_table", "auto"} == set(array_datasets.names())
    fields = [field.name for field in dataclasses.fields(array_datasets.DataRow)]
    for name, block in blocks.items():
        assert sorted(block["data"]) == sorted(fields), name
        assert block["data"]["name"] == name
        row = array_datasets.load_row(name)
        assert row.kind in ("idx", "bundled", "folder", "auto")
        assert bool(row.class_names) == (row.kind != "folder")
        roles = ["test_images", "test_labels", "train_images", "train_labels"]
        assert sorted(row.files) == (roles if row.kind == "idx" else [])
        for file in row.files.values():
            assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in (file.sha256, file.sha256_plain))
            assert file.name
            assert file.bytes > 0
        assert all(mirror.startswith("https://") for mirror in block["data"]["mirrors"])


def test_unknown_names_and_folders_for_bundled_data_are_refused() -> None:
    with pytest.raises(ZooError, match="did you mean 'fashion'"):
        array_datasets.load_row("fashon")
    with pytest.raises(ZooError, match="comes with scikit-learn"):
        array_datasets.prepare(dataclasses.replace(array_datasets.load_row("digits"), root="x"))
    with pytest.raises(ZooError, match="stands for no data set"):
        array_datasets.prepare(array_datasets.load_row("auto"))


# Real data

REAL = {
    "mnist": (1_567_298_545, 264_923_200, [5, 0, 4, 1], [7, 2, 1, 0]),
    "fashion": (3_431_114_169, 573_469_082, [9, 0, 0, 3], [9, 2, 1, 1]),
}


@pytest.mark.parametrize("name", REAL)
def test_real_files(shared_data: Path, name: str) -> None:
    prepared = array_datasets.prepare(dataclasses.replace(array_datasets.load_row(name), root=str(shared_data / name)))
    assert prepared.published
    assert prepared.counts == {"train": 60_000, "test": 10_000}
    assert (prepared.name, len(prepared.class_names), prepared.input_shape) == (name, 10, (28, 28, 1))
    arrays = (np.load(prepared.files[name], mmap_mode="r") for name in array_datasets.ARRAYS)
    x_train, y_train, x_test, y_test = arrays
    assert (x_train.shape, x_train.dtype) == ((60_000, 28, 28, 1), np.uint8)
    assert (x_test.shape, y_test.shape, y_test.dtype) == ((10_000, 28, 28, 1), (10_000,), np.int64)
    train_sum, test_sum, first_train, first_test = REAL[name]
    assert int(x_train.sum(dtype=np.int64)) == train_sum
    assert int(x_test.sum(dtype=np.int64)) == test_sum
    assert (y_train[:4].tolist(), y_test[:4].tolist()) == (first_train, first_test)


def test_unpacked_and_dotted_names_are_the_published_files_too(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    for name in NAMES.values():
        dotted = tmp_path / "own" / name.replace("-idx", ".idx")
        dotted.write_bytes(gzip.decompress((shared_data / "mnist" / f"{name}.gz").read_bytes()))
    # Some archives also hold folders that are called like the files.
    (tmp_path / "own" / "train-images-idx3-ubyte").mkdir()
    prepared = array_datasets.prepare(row_in(tmp_path / "own"))
    assert prepared.published
    assert np.load(prepared.files["y_train"])[:4].tolist() == [5, 0, 4, 1]


def test_digits_need_no_network(no_network: None) -> None:
    prepared = array_datasets.prepare(array_datasets.load_row("digits"))
    assert prepared.counts == {"train": 1438, "test": 359}
    x_train, y_train, x_test, y_test = (np.load(prepared.files[name]) for name in array_datasets.ARRAYS)
    assert (x_train.shape, x_train.dtype) == ((1438, 28, 28, 1), np.uint8)
    assert not x_train[:, :4].any()
    assert x_train.max() == 255
    assert set(np.bincount(y_train + 0, minlength=10).tolist()) <= set(range(138, 149))
    assert set(np.bincount(y_test, minlength=10).tolist()) <= set(range(34, 38))
    # Pictures and labels belong together: the mean picture of each digit already tells most of them apart.
    means = np.stack([x_train[y_train == digit].mean(axis=0).ravel() for digit in range(10)])
    distances = ((x_test.reshape(-1, 1, 784) - means) ** 2).sum(axis=2)
    assert (distances.argmin(axis=1) == y_test).mean() > 0.85


# Resolving auto


def test_auto_without_network_is_digits_and_says_why(no_network: None) -> None:
    name, reason = array_datasets.resolve("auto")
    assert name == "digits"
    assert "could not be resolved" in reason
    assert "\n" not in reason


def test_auto_is_mnist_where_it_is_at_hand(shared_data: Path, cache: Path, no_network: None) -> None:
    assert array_datasets.resolve("auto", str(shared_data / "mnist"))[0] == "mnist"
    shutil.copytree(shared_data / "mnist", cache / "downloads" / "mnist")
    assert array_datasets.resolve("auto") == ("mnist", "MNIST, from the cache or downloaded")
    prepared = array_datasets.prepare(array_datasets.load_row("mnist"))
    shutil.rmtree(cache / "downloads")
    assert array_datasets.resolve("auto") == ("mnist", "MNIST, which is prepared already")
    assert array_datasets.prepare(array_datasets.load_row("mnist")) == prepared


def test_auto_never_overlooks_a_root(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="does not exist"):
        array_datasets.resolve("auto", str(tmp_path / "absent"))


def test_other_names_stand_for_themselves() -> None:
    assert array_datasets.resolve("fashion") == ("fashion", "")
    with pytest.raises(ZooError, match="did you mean 'mnist'"):
        array_datasets.resolve("mnits")


def test_mnist_without_network_names_the_way_out(no_network: None) -> None:
    with pytest.raises(ZooError, match="could not be downloaded") as caught:
        array_datasets.prepare(array_datasets.load_row("mnist"))
    assert "data.root=FOLDER" in caught.value.remedy


# The user's own files


def test_own_files_are_recorded_as_not_published(tmp_path: Path) -> None:
    prepared = array_datasets.prepare(row_in(good_root(tmp_path / "own")))
    assert not prepared.published
    assert prepared.counts == {"train": 30, "test": 20}
    assert np.array_equal(np.load(prepared.files["x_train"])[..., 0], pictures(30))
    assert np.load(prepared.files["y_test"]).tolist() == labels(20).tolist()
    assert prepared.source == str(tmp_path / "own")


def test_changed_files_are_another_data_set(tmp_path: Path) -> None:
    root = good_root(tmp_path / "own")
    before = array_datasets.prepare(row_in(root))
    (root / NAMES["test_labels"]).write_bytes(packed(labels(20)[::-1]))
    after = array_datasets.prepare(row_in(root))
    assert before.sha256 != after.sha256
    assert before.files["y_test"] != after.files["y_test"]
    assert before.files["y_test"].exists()


def test_missing_files_are_named_and_what_is_there(tmp_path: Path) -> None:
    root = good_root(tmp_path / "own")
    (root / NAMES["test_labels"]).rename(root / "labels.bin")
    with pytest.raises(ZooError, match=r"lacks t10k-labels-idx1-ubyte.gz; it holds labels.bin, t10k"):
        array_datasets.prepare(row_in(root))
    with pytest.raises(ZooError, match="is a file, not a folder"):
        array_datasets.prepare(row_in(root / "labels.bin"))
    for odd in ("absent", "a" * 300, "~nobody-here"):
        with pytest.raises(ZooError, match=r"does not exist|Cannot read"):
            array_datasets.prepare(row_in(tmp_path / odd))


WHOLE = packed(pictures(30))
ZIPPED = gzip.compress(WHOLE, mtime=0)
DAMAGE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "cut": (WHOLE[:-5], "more than the file can hold|breaks off"),
    "cut header": (WHOLE[:9], "within its header"),
    "three bytes": (WHOLE[:3], "does not begin with the bytes 00 00 08"),
    "trailing": (WHOLE + b"x", "more bytes follow"),
    "cut gzip": (ZIPPED[: len(ZIPPED) // 2], "gzip"),
    "gzip without its end": (ZIPPED[:-4], "gzip"),
    "corrupt gzip": (ZIPPED[:3000] + b"\0\0\0\0" + ZIPPED[3004:], "gzip"),
    "wrong gzip checksum": (ZIPPED[:-8] + b"\0\0\0\0" + ZIPPED[-4:], "gzip"),
    "gzip, then more": (ZIPPED + b"more", "gzip"),
    "trailing in gzip": (gzip.compress(WHOLE + b"x"), "more bytes follow"),
    "cut before gzip": (gzip.compress(WHOLE[:-5]), "breaks off: 23,515 of 23,520"),
    "web page": (b"<!DOCTYPE html><html>", "a web page"),
    "zip archive": (b"PK\x03\x04aaaa", "a zip archive"),
    "floats": (packed(pictures(30), code=13), "float32"),
    "labels": (packed(labels(30)), "labels .* where images"),
    "other size": (packed(np.zeros((30, 32, 32))), "32 x 32 pixels, not 28 x 28"),
    "none": (packed(np.zeros((0, 28, 28))), "0 items"),
    "absurd": (struct.pack(">HBB3I", 0, 8, 3, 2**32 - 1, 28, 28) + bytes(100), "more than the file can hold"),
    "absurd gzip": (
        gzip.compress(struct.pack(">HBB3I", 0, 8, 3, 2**31, 28, 28) + bytes(10**6)),
        "more than the file can hold",
    ),
    "fewer": (packed(pictures(29)), "29 images but .* 30 labels"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_images_are_refused(tmp_path: Path, cache: Path, kind: str) -> None:
    root = good_root(tmp_path / "own")
    content, words = DAMAGE[kind]
    (root / NAMES["train_images"]).write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ZooError, match=words) as caught:
        array_datasets.prepare(row_in(root))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "train-images-idx3-ubyte" in caught.value.message
    assert caught.value.remedy
    assert peak < 5_000_000
    assert not list((cache / "data").glob("*/*.npy"))


def test_other_things_in_place_of_a_file_are_refused(tmp_path: Path) -> None:
    root = good_root(tmp_path / "own")
    (root / NAMES["train_labels"]).unlink()
    (root / NAMES["train_labels"]).mkdir()
    with pytest.raises(ZooError, match=r"lacks train-labels.*; it holds .*train-labels-idx1-ubyte/"):
        array_datasets.prepare(row_in(root))
    (root / NAMES["train_labels"]).rmdir()
    (root / NAMES["train_labels"]).symlink_to(root / "gone")
    with pytest.raises(ZooError, match="lacks train-labels"):
        array_datasets.prepare(row_in(root))


def test_labels_out_of_range_are_refused(tmp_path: Path) -> None:
    root = good_root(tmp_path / "own")
    (root / NAMES["test_labels"]).write_bytes(packed(np.full(20, 11)))
    with pytest.raises(ZooError, match="holds the label 11; mnist has 10 classes, 0 to 9"):
        array_datasets.prepare(row_in(root))
    letters = [chr(97 + index) for index in range(12)]
    assert len(array_datasets.prepare(row_in(root, class_names=letters)).class_names) == 12
    with pytest.raises(ZooError, match="holds the label 11"):
        array_datasets.prepare(row_in(root))


# The prepared arrays


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:2000]),
        lambda path: path.write_bytes(b""),
        lambda path: np.save(path, np.zeros((7, 28, 28, 1), np.uint8)),
        lambda path: np.save(path, np.load(path)[::-1]),  # whole, and not what was prepared
    ],
)
def test_spoilt_arrays_are_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], None]
) -> None:
    row = row_in(good_root(tmp_path / "own"))
    first = array_datasets.prepare(row)
    spoil(first.files["x_train"])
    assert array_datasets.prepare(row) == first
    assert capsys.readouterr().err.count("were damaged") == 1
    assert np.array_equal(np.load(first.files["x_train"])[..., 0], pictures(30))


def test_many_at_once_prepare_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row, written, outcomes = row_in(good_root(tmp_path / "own")), [], []
    save = npy_images.save_arrays

    def counted(folder: Path, arrays: dict[str, np.ndarray]) -> None:
        written.append(folder)
        save(folder, arrays)

    monkeypatch.setattr(npy_images, "save_arrays", counted)
    threads = [threading.Thread(target=lambda: outcomes.append(array_datasets.prepare(row))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 4
    assert len(written) == 1


def test_unwritable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "file"))
    with pytest.raises(ZooError, match=r"Cannot write .*file"):
        array_datasets.prepare(row_in(good_root(tmp_path / "own")))


# Splitting


def test_split_is_disjoint_whole_and_repeatable() -> None:
    train, validation = array_datasets.split(1000, 0.1, 7)
    assert (len(train), len(validation), train.dtype) == (900, 100, np.int64)
    assert sorted([*train, *validation]) == list(range(1000))
    again = array_datasets.split(1000, 0.1, 7)
    assert all(np.array_equal(one, two) for one, two in zip((train, validation), again, strict=True))
    assert not np.array_equal(train, array_datasets.split(1000, 0.1, 8)[0])


def test_split_is_the_same_on_every_machine() -> None:
    train, validation = array_datasets.split(10, 0.3, 1)
    assert (train.tolist(), validation.tolist()) == ([0, 1, 2, 5, 9, 6, 3], [8, 4, 7])


def test_split_limits_come_first() -> None:
    whole = {*array_datasets.split(1000, 0.0, 3, 50)[0]}
    train, validation = array_datasets.split(1000, 0.2, 3, 50)
    assert (len(train), len(validation)) == (40, 10)
    assert {*train, *validation} == whole
    assert [len(part) for part in array_datasets.split(1000, 0.1, 3, 5000)] == [900, 100]
    assert [len(part) for part in array_datasets.split(1000, 0.01, 3, 5)] == [4, 1]
    assert [len(part) for part in array_datasets.split(1000, 0.0, 3)] == [1000, 0]


@pytest.mark.parametrize("arguments", [(10, 1.0, 0, None), (10, -0.1, 0, None), (10, 0.1, -1, None), (10, 0.1, 0, 0)])
def test_split_refuses_values_out_of_range(arguments: tuple[int, float, int, int | None]) -> None:
    with pytest.raises(ZooError, match="Cannot split"):
        array_datasets.split(*arguments)


def test_split_leaves_something_to_train_on() -> None:
    with pytest.raises(ZooError, match="none for training"):
        array_datasets.split(1000, 0.5, 0, 1)


def test_saved_split_needs_no_pickle(tmp_path: Path) -> None:
    train, validation = array_datasets.split(100, 0.1, 0)
    path = array_datasets.save_split(tmp_path / "split.npz", train=train, validation=validation)
    with np.load(path, allow_pickle=False) as saved:
        assert np.array_equal(saved["train"], train)
        assert np.array_equal(saved["validation"], validation)
    assert [entry.name for entry in tmp_path.iterdir()] == ["split.npz"]
    with pytest.raises(ZooError, match="Cannot write"):
        array_datasets.save_split(tmp_path / "absent" / "split.npz", train=train, validation=validation)


# Arbitrary bytes: an array or a ZooError, never anything else

HEADERS = st.sampled_from([b"", b"\0\0\x08\x03", packed(pictures(2))[:16], b"\x1f\x8b\x08\0\0\0\0\0\0\xff"])


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(head=HEADERS, tail=st.binary(max_size=200), zipped=st.booleans())
def test_any_bytes(tmp_path: Path, head: bytes, tail: bytes, zipped: bool) -> None:
    read_any(tmp_path / "any", gzip.compress(head + tail) if zipped else head + tail)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data_=st.data(), zipped=st.booleans())
def test_any_damage(tmp_path: Path, data_: st.DataObject, zipped: bool) -> None:
    whole = packed(pictures(2))
    content = bytearray(gzip.compress(whole, mtime=0) if zipped else whole)
    for _ in range(data_.draw(st.integers(1, 4))):
        content[data_.draw(st.integers(0, min(len(content), 60) - 1))] = data_.draw(st.integers(0, 255))
    read_any(tmp_path / "any", bytes(content[: data_.draw(st.integers(0, len(content)))]))


def read_any(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with contextlib.suppress(ZooError):
        assert idx.read(path, (28, 28)).shape[1:] == (28, 28)
