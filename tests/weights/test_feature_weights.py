"""Published weights of feature networks become layers of ours, from every kind of file."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.support import CHECKOUT
from zoo.core.errors import ZooError
from zoo.weights import feature_weights

DATA = Path(os.environ.get("ZOO_TEST_DATA", CHECKOUT.parent / "shared" / "data"))


def shards(folder: Path, **changed: object) -> Path:
    """A model of TensorFlow.js in two shards, with what a test wants changed."""
    folder.mkdir()
    numbers = np.arange(20, dtype="<f4").tobytes()
    (folder / "one").write_bytes(numbers[:30])
    (folder / "two").write_bytes(numbers[30:])
    weights = [
        {"name": "conv/kernel", "shape": [1, 1, 2, 8], "dtype": "float32"},
        {"name": "conv/bias", "shape": [4], "dtype": "float32"},
    ]
    manifest = [{"paths": ["one", "two"], "weights": weights}, {"paths": ["absent"], "weights": []}]
    manifest[0] |= changed
    (folder / "model.json").write_text(json.dumps({"modelTopology": {}, "weightsManifest": manifest}))
    return folder


def test_shards_are_joined_and_absent_groups_left_out(tmp_path: Path) -> None:
    arrays = feature_weights.read(shards(tmp_path / "m"))
    assert arrays["conv/kernel"].shape == (1, 1, 2, 8)
    assert arrays["conv/bias"].tolist() == [16, 17, 18, 19]
    assert feature_weights.read(tmp_path / "m" / "model.json").keys() == arrays.keys()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"paths": ["one"]}, "end before"),
        ({"paths": ["one", "two", "two"]}, "longer than"),
        ({"paths": ["one", "gone"]}, "gone"),
        ({"paths": ["../one"]}, "outside its folder"),
        ({"paths": ["absent"]}, "its shards are missing"),
        ({"weights": [{"name": "a/b", "shape": [20], "dtype": "uint8"}]}, "not plain float32"),
        ({"weights": [{"name": "a/b", "shape": [-4], "dtype": "float32"}]}, "not plain float32"),
        ({"weights": 7}, "not a model of TensorFlow.js"),
    ],
)
def test_broken_shards_are_refused_in_words(tmp_path: Path, changed: dict[str, object], words: str) -> None:
    with pytest.raises(ZooError, match=words):
        feature_weights.read(shards(tmp_path / "m", **changed))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    arrays = feature_weights.read(shards(tmp_path / "m"))
    feature_weights.write(tmp_path / "w.npz", arrays)
    again = feature_weights.read(tmp_path / "w.npz")
    assert all(np.array_equal(again[name], array) for name, array in arrays.items())


def test_the_published_files_give_the_layers_of_our_networks() -> None:
    if not (DATA / "vgg19").is_dir():
        pytest.skip(f"real data not present at {DATA}; set ZOO_TEST_DATA")
    vgg = feature_weights.read(DATA / "vgg19")
    assert next(iter(vgg)) == "block1_conv1/kernel"
    assert list(vgg)[-1] == "block3_conv4/bias"
    (file,) = (DATA / "squeezenet").glob("*.h5")
    squeezenet = feature_weights.read(file)
    assert sum(array.size for array in squeezenet.values()) == 722_496
    assert squeezenet["fire2_squeeze1x1/kernel"].shape == (1, 1, 64, 16)
