"""The MobileNets against keras.applications and against themselves, on every generation of Keras."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.conformance import Answers
from tests.support.questions import ASSETS, CASES, DATA, GOLDEN, NETWORKS, PUBLISHED, REFERENCE
from zoo.environments import stacks
from zoo.weights import io

pytestmark = pytest.mark.stacks

STEP = json.loads((ASSETS / "learning_step.json").read_text())
PAIRS = [(stack, key) for stack, keys in NETWORKS.items() for key in keys]
# Published by keras.applications.
PARAMETERS = {
    "mobilenet_0.25": 475_544,
    "mobilenet_0.5": 1_342_536,
    "mobilenet_0.75": 2_601_976,
    "mobilenet_1.0": 4_253_864,
    "mobilenet_v2_1.0": 3_538_984,
}


def folder_of(conformance: Answers, stack: str) -> Path:
    """Where a stack left its files; fails where its part went wrong."""
    conformance.of(stack, "golden")
    return conformance.folder(stack, "golden")


def answer_of(folder: Path, key: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((folder / f"{key}.json").read_text())
    return answer


@pytest.mark.parametrize(("stack", "key"), PAIRS)
def test_every_stack_computes_the_golden_numbers(conformance: Answers, stack: str, key: str) -> None:
    golden, folder = GOLDEN[key], folder_of(conformance, stack)
    answer = answer_of(folder, key)
    assert answer["parameters"] == golden["parameters"] == PARAMETERS[key]
    assert [tuple(row) for row in answer["weights"]] == [tuple(row) for row in golden["weights"].items()]
    probabilities = np.load(folder / f"{key}.npy")[:, golden["classes"]]
    np.testing.assert_allclose(probabilities, golden["probabilities"], atol=1e-4, rtol=0)


@pytest.mark.parametrize("key", GOLDEN)
def test_the_same_weights_give_what_keras_applications_gives(conformance: Answers, key: str) -> None:
    folder = folder_of(conformance, REFERENCE)
    answer = answer_of(folder, key)
    assert answer["parameters"] == answer["their_parameters"]
    ours, theirs = np.load(folder / f"{key}.npy"), np.load(folder / f"{key}.theirs.npy")
    np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=0)
    assert _plain(answer["layers"]) == _plain(answer["their_layers"])


def _plain(names: list[str]) -> list[str]:
    """Names that Keras makes up end in a number that counts on through the process."""
    return [re.sub(r"^(input_layer|global_average_pooling2d)_\d+$", r"\1", name) for name in names]


@pytest.mark.parametrize("stack", NETWORKS)
def test_the_published_network_recognises_photos_alike_everywhere(conformance: Answers, stack: str) -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"real data not present at {DATA}; set ZOO_TEST_DATA")
    ours, theirs = (
        np.load(folder_of(conformance, stack) / "photos.npy"),
        np.load(folder_of(conformance, REFERENCE) / "photos.theirs.npy"),
    )
    assert ours.shape == (10, 1000)
    np.testing.assert_array_equal(ours.argmax(axis=1), theirs.argmax(axis=1))
    np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=0)


@pytest.mark.parametrize("stack", [name for name in NETWORKS if stacks.load(name).trains])
def test_gradients_pass_through_the_pieces(conformance: Answers, stack: str) -> None:
    lengths = answer_of(folder_of(conformance, stack), "step")
    assert list(lengths) == list(STEP)
    for name, length in STEP.items():
        # Keras 2 corrects the variance it keeps for the size of the sample, Keras 3 does not.
        assert lengths[name] == pytest.approx(length, rel=1e-2 if "moving" in name else 1e-3), name


@pytest.mark.parametrize("stack", NETWORKS)
def test_files_go_from_the_host_to_every_keras_and_back(conformance: Answers, stack: str) -> None:
    folder = folder_of(conformance, stack)
    answer = answer_of(folder, "files")
    assert all(answer["loaded"].values()), answer
    wanted = io.read(folder / "w.npz").arrays
    for name in answer["saved"]:
        saved = io.read(folder / name)
        assert list(saved.arrays) == list(wanted), name
        assert not saved.order_problems
        assert all(np.array_equal(saved.arrays[path], array) for path, array in wanted.items()), name


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda index: f"{CASES[index][0]}-{CASES[index][1]}")
def test_arguments_are_taken_and_refused_as_by_keras_applications(conformance: Answers, index: int) -> None:
    _, _, word = CASES[index]
    ours, theirs = answer_of(folder_of(conformance, REFERENCE), "arguments")["outcomes"][index]
    assert ours[0] == theirs[0] == ("model" if word is None else "ValueError"), (ours, theirs)
    if word is None:
        assert ours == theirs
    else:
        assert word in ours[1]


@pytest.mark.parametrize("name", ["MobileNet", "MobileNetV2"])
def test_signatures_are_those_of_keras_applications(conformance: Answers, name: str) -> None:
    ours, theirs = answer_of(folder_of(conformance, REFERENCE), "arguments")["signatures"][name]
    assert ours == theirs


def test_published_weights_are_asked_for_by_their_names(conformance: Answers) -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"real data not present at {DATA}; set ZOO_TEST_DATA")
    answer = answer_of(folder_of(conformance, REFERENCE), "imagenet")
    ((name, address),) = answer["asked"]
    assert name == "mobilenet_2_5_224_tf.h5"
    assert address == f"https://storage.googleapis.com/tensorflow/keras-applications/mobilenet/{name}"
    first = io.read(PUBLISHED).arrays["conv1/kernel"]
    assert answer["mean"] == pytest.approx(float(first.mean()), abs=1e-7)
