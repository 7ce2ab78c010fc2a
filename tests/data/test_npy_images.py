"""zoo.data.npy_images: arrays larger than the memory, in and out."""

from pathlib import Path

import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.data import npy_images

SHAPE = (4, 3, 1)


@pytest.mark.parametrize("shape", [(5, 4, 3), (5, 4, 3, 1), (5, 12)])
def test_every_layout_is_read_part_by_part(
    tmp_path: Path, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npy_images, "PART_BYTES", 24)  # two pictures a part
    array = np.arange(60, dtype=np.uint8).reshape(shape)
    np.save(tmp_path / "x.npy", array)
    images = npy_images.NpyImages(tmp_path / "x.npy", SHAPE)
    parts = list(images)
    assert [len(part) for part in parts] == [2, 2, 1]
    np.testing.assert_array_equal(np.concatenate(parts), array.reshape(5, *SHAPE))


def test_floats_become_bytes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((4, 3), 0.5, np.float32))
    (part,) = npy_images.NpyImages(tmp_path / "x.npy", SHAPE)
    assert part.dtype == np.uint8
    assert part.max() == 128


def test_floats_out_of_range_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((4, 3), np.nan))
    with pytest.raises(ZooError, match="go from nan to nan"):
        npy_images.NpyImages(tmp_path / "x.npy", SHAPE)


def test_parts_are_written_as_one_array(tmp_path: Path) -> None:
    array = np.arange(60, dtype=np.uint8).reshape(5, *SHAPE)
    npy_images.write(tmp_path / "x.npy", 5, iter([array[:3], array[3:]]))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), array)
