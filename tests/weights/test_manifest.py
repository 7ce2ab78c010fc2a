"""Published style networks: a manifest and raw numbers, taken only where every number is accounted for."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import published
from zoo.core.errors import ZooError
from zoo.weights import convert, io, manifest


@pytest.mark.parametrize("place", ["", "manifest.json"])
def test_a_published_network_is_named_after_its_layers(tmp_path: Path, place: str) -> None:
    wanted = published.style_network(tmp_path)
    weights = io.read(tmp_path / place)
    assert list(weights.arrays) == list(wanted)
    assert all(np.array_equal(weights.arrays[name], array) for name, array in wanted.items())
    assert manifest.size_of(weights.arrays) == {"filters": 2, "blocks": 1, "kernel_size": 3}
    convert.convert(tmp_path, tmp_path / "out.npz")
    assert manifest.size_of(io.read(tmp_path / "out.npz").arrays) == {"filters": 2, "blocks": 1, "kernel_size": 3}


def test_the_real_one(shared_data: Path) -> None:
    weights = io.read(shared_data / "faststyle" / "wave")
    assert manifest.size_of(weights.arrays) == {"filters": 32, "blocks": 5, "kernel_size": 9}
    assert sum(array.size for array in weights.arrays.values()) == 1_677_638


def test_other_weights_keep_their_names(tmp_path: Path) -> None:
    np.arange(6, dtype="<f4").tofile(tmp_path / "a")
    (tmp_path / "manifest.json").write_text('{"dense": {"filename": "a", "shape": [2, 3]}}')
    weights = io.read(tmp_path)
    np.testing.assert_array_equal(weights.arrays["dense"], [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(ZooError, match="do not include layers"):
        convert.convert(tmp_path, tmp_path / "out.h5")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"filename": "../secret", "shape": [6]}, "plain file name"),
        ({"filename": "/etc/passwd", "shape": [6]}, "plain file name"),
        ({"filename": "..\\secret", "shape": [6]}, "plain file name"),
        ({"filename": "link", "shape": [6]}, "not a file in its folder"),
        ({"filename": "inner", "shape": [6]}, "not a file in its folder"),
        ({"filename": "missing", "shape": [6]}, "not a file in its folder"),
        ({"filename": "a\0", "shape": [6]}, "plain file name"),
        ({"filename": "a", "shape": [7]}, "28"),
        ({"filename": "a", "shape": [2**40, 2**40]}, "24 bytes long"),
        ({"filename": "a", "shape": [-2, -3]}, "shape"),
        ({"filename": "a", "shape": [True, 6]}, "shape"),
        ({"filename": "a", "shape": [6.0]}, "shape"),
        ({"filename": "a"}, "filename and shape"),
        ("a", "filename and shape"),
    ],
)
def test_hostile_rows_are_refused(tmp_path: Path, row: object, words: str) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    (folder / "a").write_bytes(bytes(24))
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "inner").mkdir()
    (folder / "manifest.json").write_text(json.dumps({"w": row}))
    with pytest.raises(ZooError) as caught:
        io.read(folder)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '"x"', "[" * 100_000, "\xff\xfe"])
def test_damaged_manifests_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(ZooError, match="refused"):
        io.read(tmp_path)


def test_a_network_with_one_odd_shape_is_no_style_network(tmp_path: Path) -> None:
    arrays = dict(published.style_network(tmp_path))
    assert manifest.size_of(arrays)
    arrays["up1_norm/scale"] = np.zeros(5, "f4")
    assert manifest.size_of(arrays) is None
    assert manifest.size_of({}) is None


def test_transposed_kernels_become_the_closest_after_repetition(tmp_path: Path) -> None:
    published.style_network(tmp_path, filters=2, blocks=1, edge=3)
    arrays = io.read(tmp_path).arrays
    arrays["up2/kernel"] = np.zeros((3, 3, 2, 4), np.float32)
    arrays["up2/kernel"][:, :, 1, 3] = np.outer([1, 3, 2], [1, 3, 2])  # what repetition and [2, 1, 0] give exactly
    changed = manifest.without_transposed(arrays)
    assert manifest.size_of(changed) == {"filters": 2, "blocks": 1, "kernel_size": 3, "upsampling": "nearest"}
    np.testing.assert_allclose(changed["up2/kernel"][:, :, 3, 1], np.outer([2, 1, 0], [2, 1, 0]), atol=1e-5)
    assert np.array_equal(changed["conv1/kernel"], arrays["conv1/kernel"])
