"""zoo.data.idx: files of MNIST, gzipped or plain, and what is wrong with others."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.data import idx

IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


def content(array: np.ndarray, kind: int = 8) -> bytes:
    return bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def refusal(folder: Path, body: bytes, shape: tuple[int, ...] = (3, 4)) -> str:
    (folder / "x").write_bytes(body)
    with pytest.raises(ZooError) as caught:
        idx.read(folder / "x", shape)
    assert str(folder / "x") in caught.value.message
    return caught.value.message


@pytest.mark.parametrize("packed", [False, True])
def test_images_and_labels_are_read(tmp_path: Path, packed: bool) -> None:
    for array, shape in ((IMAGES, (3, 4)), (np.arange(5, dtype=np.uint8), ())):
        body = content(array)
        (tmp_path / "x").write_bytes(gzip.compress(body, mtime=0) if packed else body)
        np.testing.assert_array_equal(idx.read(tmp_path / "x", shape), array)


def test_a_large_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idx, "CHUNK", 7)
    (tmp_path / "x").write_bytes(content(IMAGES))
    np.testing.assert_array_equal(idx.read(tmp_path / "x", (3, 4)), IMAGES)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "it is empty"),
        (b"\0\0\x08", "it does not begin with the bytes 00 00 08 03"),
        (b"<!DOCTYPE html>", "it does not begin with the bytes 00 00 08 03 (is it a web page?)"),
        (b"PK\3\4....", "(is it a zip archive?)"),
        (b"\x93NUMPY...", "(is it a numpy array?)"),
        (b"\0\0\x0a\3....", "it does not begin with the bytes 00 00 08 03"),
        (content(IMAGES, 13), "it holds float32 numbers, not uint8"),
        (content(np.arange(5, dtype=np.uint8)), "it holds labels (1 dimension) where images (3 dimensions) belong"),
        (content(IMAGES[0]), "it holds 2 dimensions where images (3 dimensions) belong"),
        (content(IMAGES)[:10], "it breaks off within its header"),
        (content(IMAGES.reshape(2, 4, 3)), "its images are 4 x 3 pixels, not 3 x 4"),
        (content(IMAGES[:0]), "it holds 0 items"),
        (content(IMAGES)[:-1], "it breaks off: 23 of 24 bytes (2 x 3 x 4) follow the header"),
        (content(IMAGES)[:-17], "= 24 bytes, more than the file can hold (is it cut short?)"),
        (content(IMAGES) + b"x", "more bytes follow than the 24"),
        (gzip.compress(content(IMAGES)[:-1], mtime=0), "it breaks off: 23 of 24 bytes"),
        (gzip.compress(content(IMAGES) + b"x", mtime=0), "more bytes follow than the 24"),
        (gzip.compress(content(IMAGES), mtime=0)[:-9], "its gzip data breaks off or is corrupt"),
        (gzip.compress(content(IMAGES), mtime=0)[:-8] + b"\0" * 8, "its gzip data breaks off or is corrupt"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, body: bytes, words: str) -> None:
    assert words in refusal(tmp_path, body)


def test_a_header_cannot_promise_more_than_the_file_can_hold(tmp_path: Path) -> None:
    header = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**31, 3, 4)
    assert "more than the file can hold" in refusal(tmp_path, header + b"x" * 100)
    assert "more than the file can hold" in refusal(tmp_path, gzip.compress(header, mtime=0))


def test_a_folder_or_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="is a folder, not an IDX file"):
        idx.read(tmp_path, ())
    with pytest.raises(ZooError, match="There is no file"):
        idx.read(tmp_path / "none", ())
