"""Architectures of keras.applications: what Keras itself computes with them, and the same on every stack."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import conformance, real_stacks
from tests.support.once import once
from zoo.environments import stacks

# A minute of a processor for each stack, which beside other work can be a quarter of an hour.
pytestmark = [pytest.mark.stacks, pytest.mark.slow, pytest.mark.timeout(3600)]

# Whose weights the others are asked with.
FIRST = "tf-2.21"
NAMES = ("EfficientNetB0", "MobileNetV3Small", "ResNet50", "DenseNet121", "InceptionV3")


@pytest.fixture(scope="session")
def folder(shared_folder: Path) -> Path:
    """Where the stacks leave what they compute for pictures of random colours."""

    def draw(out: Path) -> None:
        out.mkdir()
        colours = np.random.default_rng(3).integers(0, 256, (64, 6, 6, 3), np.uint8)
        np.save(out / "pictures.npy", colours.repeat(16, axis=1).repeat(16, axis=2))

    return once(shared_folder / "applications", draw)


def answered(folder: Path, stack: str) -> Path:
    """The folder of a stack's answers; the first stack, which draws the weights, answers before."""
    real_stacks.environment(stack)
    first = None if stack == FIRST else answered(folder, FIRST)

    def ask(out: Path) -> None:
        (out / "applications").mkdir(parents=True)
        given = {"names": NAMES, "pictures": str(folder / "pictures.npy"), "out": str(out / "applications")}
        weights = (first or out) / "applications"
        conformance.ask(stacks.load(stack), {"applications": given | {"weights": str(weights)}}, out)

    return once(folder / stack, ask)


@pytest.mark.parametrize("stack", [FIRST, "torch", "jax", "tf-2.12", "mlx"])
def test_networks_compute_what_keras_computes_and_alike_on_every_stack(folder: Path, stack: str) -> None:
    out = answered(folder, stack)
    assert not (out / "applications.error").exists(), (out / "applications.error").read_text()
    assert json.loads((out / "applications.json").read_text()) == dict.fromkeys(NAMES, 0.0)
    for name in NAMES:
        ours, first = (np.load(folder / each / "applications" / f"{name}.npy") for each in (stack, FIRST))
        spread = np.ptp(first, axis=0).max()
        assert spread > 0.01, f"{name} answers the same whatever it sees"
        # InceptionV3 enlarges the last bits most: to 4e-5 to 3e-4 of the spread, by weights, stack and processor.
        np.testing.assert_allclose(ours, first, atol=2e-3 * spread, rtol=0, err_msg=name)
