"""Constants of TensorFlow Lite models, and the published networks for style in one pass."""

from pathlib import Path

import numpy as np
import pytest

from tests.support import published
from zoo.core.errors import ZooError
from zoo.weights import convert, io, style_any, tflite


def test_constants_are_read_as_the_numbers_that_they_stand_for(tmp_path: Path) -> None:
    half = np.linspace(-1, 1, 6).astype(np.float16).reshape(2, 3)
    whole = np.arange(-4, 4, dtype=np.int8).reshape(2, 1, 1, 4)
    path = tmp_path / "w.tflite"
    path.write_bytes(published.tflite({"network/half": half, "network/whole": whole}, {"network/whole": [0.5, 2]}))
    arrays = tflite.read(path)
    assert list(arrays) == ["network/half", "network/whole"]
    np.testing.assert_array_equal(arrays["network/half"], half.astype(np.float32))
    np.testing.assert_array_equal(arrays["network/whole"].ravel(), [-2, -1.5, -1, -0.5, 0, 2, 4, 6])


@pytest.mark.parametrize("content", [b"", b"TFL3", b"\xff\xff\xff\x7fTFL3", b"\x04\0\0\0TFL3\xff\xff\xff\xff"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.tflite").write_bytes(content)
    with pytest.raises(ZooError, match="refused"):
        tflite.read(tmp_path / "w.tflite")


def test_other_models_are_no_networks_for_style(tmp_path: Path) -> None:
    (tmp_path / "w.tflite").write_bytes(published.tflite({"network/a": np.ones((2, 3), np.float32)}))
    with pytest.raises(ZooError, match="not predictor and transformer"):
        io.read(tmp_path)
    published.style_network(tmp_path / "net")
    with pytest.raises(ZooError, match="does not contain networks for style in one pass"):
        style_any.require_both(tmp_path / "net", io.read(tmp_path / "net"))


def test_the_real_ones(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "style_arbitrary"
    weights = style_any.require_both(folder, io.read(folder))
    assert sum(array.size for array in weights.arrays.values()) == 2_512_634
    assert weights.arrays["conv1/kernel"].shape == (9, 9, 3, 8)
    assert weights.arrays["predict_block3_depthwise/depthwise_kernel"].shape == (3, 3, 144, 1)
    assert weights.arrays["up1_style/scale_kernel"].shape == (100, 16)
    convert.convert(folder, tmp_path / "any.npz")
    again = io.read(tmp_path / "any.npz").arrays
    assert all(np.array_equal(again[name], array) for name, array in weights.arrays.items())
