"""The published network through `zoo infer` on real stacks, against keras.applications on the same photos."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import real_stacks
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.environments import store
from zoo.tasks import registry

pytestmark = pytest.mark.stacks

# keras.applications as its documentation uses it; argv: weights, pixels, where to write.
THEIRS = """
import sys
import keras, numpy as np
model = keras.applications.MobileNet(alpha=0.25, weights=None)
model.load_weights(sys.argv[1])
x = keras.applications.mobilenet.preprocess_input(np.load(sys.argv[2]).astype("float32"))
np.save(sys.argv[3], model.predict(x, verbose=0))
"""
MODEL = ["model=mobilenet", "model.alpha=0.25", "resize=nearest", "probabilities=true"]


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Path:
    return shared_data / "mobilenet" / "mobilenet_v1_0.25_224.h5"


@pytest.fixture(scope="module")
def photos(shared_data: Path) -> Path:
    return shared_data / "imagenet" / "photos"


@pytest.fixture(scope="module")
def theirs(published: Path, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """What keras.applications says, with pictures as ``keras.utils.load_img(target_size=(224, 224))`` makes them."""
    folder = tmp_path_factory.mktemp("theirs")
    opened = [Image.open(path).convert("RGB") for path in sorted(photos.iterdir())]
    near = [each.resize((224, 224), Image.Resampling.NEAREST) for each in opened]
    np.save(folder / "x.npy", np.stack([np.asarray(each) for each in near]))
    stack, ready = real_stacks.environment("tf-2.21")
    command = [str(ready.python), "-I", "-c", THEIRS, str(published), str(folder / "x.npy"), str(folder / "y.npy")]
    subprocess.run(command, env=store.child_environment(stack), check=True, capture_output=True)
    probabilities: np.ndarray = np.load(folder / "y.npy")
    return probabilities


def ask(tmp_path: Path, stack: str, *overrides: str) -> registry.Run:
    real_stacks.environment(stack)
    return registry.dispatch(
        "infer", Overrides.parse([*MODEL, f"output.root={tmp_path}", f"stack={stack}", *overrides])
    )


@pytest.mark.stacks("tf-2.21")
@pytest.mark.parametrize(("stack", "backend"), [
    pytest.param("tf-2.21", "cpu", marks=pytest.mark.slow), ("openvino", "openvino"), ("plaidml-0.7", "plaidml"),
    pytest.param("tf-1.8", "cpu", marks=pytest.mark.slow),
])  # fmt: skip
def test_photos_are_named_as_by_keras_applications(
    tmp_path: Path, published: Path, photos: Path, theirs: np.ndarray, stack: str, backend: str
) -> None:
    size = "batch_size=9" if stack == "openvino" else "batch_size=4"  # neither divides the ten photos
    run = ask(tmp_path, stack, f"weights={published}", f"input={photos}", f"backend={backend}", size)
    ours = np.load(run.folder / "probabilities.npy")
    assert [row["input"] for row in run.predictions] == sorted(os.listdir(photos))
    np.testing.assert_array_equal(ours.argmax(axis=1), theirs.argmax(axis=1))
    np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=0)
    assert run.record["stack"]["name"] == stack
    assert run.metrics["items"] == 10


@pytest.mark.parametrize(("precision", "off"), [("float16", 0.06), ("bfloat16", 0.16)])
@pytest.mark.stacks("openvino")
def test_half_the_bits_agree_on_what_is_certain(
    tmp_path: Path, published: Path, photos: Path, theirs: np.ndarray, precision: str, off: float
) -> None:
    words = [f"weights={published}", f"input={photos}", "backend=openvino", f"precision={precision}"]
    try:
        run = ask(tmp_path, "openvino", *words)
    except ZooError as error:
        if "has no instructions for" not in error.message:
            raise
        pytest.skip(error.message)
    ours = np.load(run.folder / "probabilities.npy")
    assert run.metrics["precision"] == precision
    assert 1e-4 < np.abs(ours - theirs).max() < off
    ordered = np.sort(theirs, axis=1)
    certain = ordered[:, -1] - ordered[:, -2] > off
    assert certain.sum() >= 4
    np.testing.assert_array_equal(ours.argmax(axis=1)[certain], theirs.argmax(axis=1)[certain])
