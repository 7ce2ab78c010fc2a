"""The MobileNets against keras.applications and against themselves, on every generation of Keras."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import CHECKOUT, real_stacks
from zoo.core import paths
from zoo.environments import stacks, store
from zoo.weights import io

pytestmark = pytest.mark.stacks

FOLDER = CHECKOUT / "assets" / "golden"
GOLDEN = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("mobilenet*.json"))}
STEP = json.loads((FOLDER / "learning_step.json").read_text())
DATA = Path(os.environ.get("ZOO_TEST_DATA") or CHECKOUT.parent / "shared" / "data")
PUBLISHED = DATA / "mobilenet" / "mobilenet_v1_0.25_224.h5"
REFERENCE = "tf-2.21"
THEIRS = {"mobilenet": "MobileNet", "mobilenet_v2": "MobileNetV2"}
# All five networks on one stack; elsewhere one or both architectures, since compiling them takes seconds.
SOME = ("mobilenet_0.25",)
RUNS = {
    REFERENCE: tuple(GOLDEN),
    "tf-1.8": (*SOME, "mobilenet_1.0", "mobilenet_v2_1.0"),
    "plaidml-0.7": (*SOME, "mobilenet_v2_1.0"),
    "tf-2.5": SOME,
    "torch": SOME,
    "jax": SOME,
    "openvino": SOME,
}
PAIRS = [(stack, key) for stack, keys in RUNS.items() for key in keys]
# Published by keras.applications.
PARAMETERS = {
    "mobilenet_0.25": 475_544,
    "mobilenet_0.5": 1_342_536,
    "mobilenet_0.75": 2_601_976,
    "mobilenet_1.0": 4_253_864,
    "mobilenet_v2_1.0": 3_538_984,
}
# Arguments that both must take, or refuse for the value that is named.
GOOD: list[dict[str, Any]] = [
    {"weights": None},
    {"weights": None, "include_top": False, "pooling": "avg", "input_shape": [64, 96, 3], "alpha": 0.5},
    {"weights": None, "include_top": False, "pooling": "max", "input_shape": [None, None, 1]},
    {"weights": None, "input_shape": [33, 47, 3], "classes": 7, "name": "mine", "classifier_activation": None},
    {"weights": None, "tensor": True, "classes": 3},
]
BAD: list[tuple[dict[str, Any], str]] = [
    ({"weights": "nowhere.h5"}, "nowhere.h5"),
    ({"classes": 10}, "10"),
    ({"weights": None, "input_shape": [31, 64, 3]}, "31"),
    ({"weights": None, "input_shape": [64, 64]}, "(64, 64)"),
    ({"weights": None, "input_shape": [None, None, 3]}, "None"),
    ({"input_shape": [200, 200, 3]}, "200"),
    ({"input_shape": [64, 64, 4], "include_top": False}, "(64, 64, 4)"),
    ({"alpha": 0.3}, "0.3"),
    ({"weights": None, "classes": 0}, "0"),
    ({"weights": __file__, "classifier_activation": "relu"}, "relu"),
]
ONLY_V1: list[tuple[dict[str, Any], str]] = [({"depth_multiplier": 2}, "2"), ({"weights": None, "alpha": 0.0}, "0.0")]


def _cases() -> list[tuple[str, dict[str, Any], str | None]]:
    found: list[tuple[str, dict[str, Any], str | None]] = []
    for name in ("MobileNet", "MobileNetV2"):
        found += [(name, arguments, None) for arguments in (GOOD if name == "MobileNet" else GOOD[-2:])]
        found += [(name, arguments, word) for arguments, word in [*BAD, *(ONLY_V1 if name == "MobileNet" else [])]]
    return found


CASES = _cases()


@pytest.fixture(scope="session")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Runs"]:
    """All stacks that the chosen tests need are asked two at a time, one process each."""
    # A list: what other tests call a stack may be anything, also what no set can hold.
    chosen = [item.callspec.params.get("stack") for item in request.session.items if hasattr(item, "callspec")]
    with ThreadPoolExecutor(2) as pool:
        yield Runs(
            tmp_path_factory.mktemp("mobilenet"), pool, [name for name in RUNS if name in [*chosen, REFERENCE]]
        )
        pool.shutdown(cancel_futures=True)


class Runs:
    """What each stack says of the networks."""

    def __init__(self, root: Path, pool: ThreadPoolExecutor, chosen: list[str]) -> None:
        self.root = root
        self.photos = _write_photos(root) if PUBLISHED.is_file() else []
        _write_files(root)
        self.asked = {name: pool.submit(self._ask, stacks.load(name)) for name in chosen}

    def __call__(self, stack: str) -> Path:
        """Folder with the answers of a stack; skips where it cannot be had."""
        return self.asked[stack].result()

    def _ask(self, row: stacks.Stack) -> Path:
        python, out = real_stacks.python(row.name), self.root / row.name
        out.mkdir()
        drawn = ("key", "model", "args", "seed", "count", "gain")
        jobs = [*({name: GOLDEN[key][name] for name in drawn} for key in RUNS[row.name]), *self.photos]
        request = {"zoo": str(paths.PACKAGE), "keras": row.keras, "framework": row.framework, "out": str(out)}
        request |= {"step": row.trains, "files": str(self.root)}
        if row.name == REFERENCE:
            jobs = [job | {"against": THEIRS[job["model"]]} for job in jobs]
            request |= {"cases": [case[:2] for case in CASES], "imagenet": PUBLISHED.is_file() and str(PUBLISHED)}
        (out / "jobs.json").write_text(json.dumps(request | {"jobs": jobs}))
        command = [str(python), "-I", "-B", str(CHECKOUT / "tests" / "golden_worker.py"), str(out / "jobs.json")]
        answer = subprocess.run(
            command, env=store.child_environment(row), capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr[-3000:]
        return out


def _write_files(root: Path) -> None:
    """Weights of the first network, in the kinds that the host writes."""
    random, shapes = np.random.default_rng(0), GOLDEN[SOME[0]]["weights"].items()
    drawn = io.Weights({name: random.random(shape).astype("f4") for name, shape in shapes}, "drawn")
    for kind in ("w.npz", "w.h5", "w.weights.h5"):
        io.write(root / kind, drawn)


def _write_photos(root: Path) -> list[dict[str, Any]]:
    """The published network on real photos, by way of the zoo's own reading of its file."""
    io.convert(PUBLISHED, root / "published.npz")
    opened = [Image.open(file) for file in sorted((DATA / "imagenet" / "photos").iterdir())]
    np.save(root / "photos.npy", np.stack([np.asarray(each.convert("RGB").resize((224, 224))) for each in opened]))
    given = {
        "weights": str(root / "published.npz"),
        "pictures": str(root / "photos.npy"),
        "published": str(PUBLISHED),
    }
    return [{"key": "photos", "model": "mobilenet", "args": {"alpha": 0.25, "input_size": 224}, **given}]


def told(folder: Path, key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{key}.json").read_text())
    return found


@pytest.mark.parametrize(("stack", "key"), PAIRS)
def test_every_stack_computes_the_golden_numbers(ran: Runs, stack: str, key: str) -> None:
    golden, folder = GOLDEN[key], ran(stack)
    answer = told(folder, key)
    assert answer["parameters"] == golden["parameters"] == PARAMETERS[key]
    assert [tuple(row) for row in answer["weights"]] == [tuple(row) for row in golden["weights"].items()]
    probabilities = np.load(folder / f"{key}.npy")[:, golden["classes"]]
    np.testing.assert_allclose(probabilities, golden["probabilities"], atol=1e-4, rtol=0)


@pytest.mark.parametrize("key", GOLDEN)
def test_the_same_weights_give_what_keras_applications_gives(ran: Runs, key: str) -> None:
    folder = ran(REFERENCE)
    answer = told(folder, key)
    assert answer["parameters"] == answer["their_parameters"]
    ours, theirs = np.load(folder / f"{key}.npy"), np.load(folder / f"{key}.theirs.npy")
    np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=0)
    assert _plain(answer["layers"]) == _plain(answer["their_layers"])


def _plain(names: list[str]) -> list[str]:
    """Names that Keras makes up end in a number that counts on through the process."""
    return [re.sub(r"^(input_layer|global_average_pooling2d)_\d+$", r"\1", name) for name in names]


@pytest.mark.parametrize("stack", RUNS)
def test_the_published_network_recognises_photos_alike_everywhere(ran: Runs, stack: str) -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"real data not present at {DATA}; set ZOO_TEST_DATA")
    ours, theirs = np.load(ran(stack) / "photos.npy"), np.load(ran(REFERENCE) / "photos.theirs.npy")
    assert ours.shape == (10, 1000)
    np.testing.assert_array_equal(ours.argmax(axis=1), theirs.argmax(axis=1))
    np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=0)


@pytest.mark.parametrize("stack", [name for name in RUNS if stacks.load(name).trains])
def test_gradients_pass_through_the_pieces(ran: Runs, stack: str) -> None:
    lengths = json.loads((ran(stack) / "step.json").read_text())
    assert list(lengths) == list(STEP)
    for name, length in STEP.items():
        # Keras 2 corrects the variance it keeps for the size of the sample, Keras 3 does not.
        assert lengths[name] == pytest.approx(length, rel=1e-2 if "moving" in name else 1e-3), name


@pytest.mark.parametrize("stack", RUNS)
def test_files_go_from_the_host_to_every_keras_and_back(ran: Runs, stack: str) -> None:
    folder = ran(stack)
    answer = told(folder, "files")
    assert all(answer["loaded"].values()), answer
    wanted = io.read(ran.root / "w.npz").arrays
    for name in answer["saved"]:
        found = io.read(folder / name)
        assert list(found.arrays) == list(wanted), name
        assert not found.doubts
        assert all(np.array_equal(found.arrays[path], array) for path, array in wanted.items()), name


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda index: f"{CASES[index][0]}-{CASES[index][1]}")
def test_arguments_are_taken_and_refused_as_by_keras_applications(ran: Runs, index: int) -> None:
    _, _, word = CASES[index]
    ours, theirs = json.loads((ran(REFERENCE) / "arguments.json").read_text())["outcomes"][index]
    assert ours[0] == theirs[0] == ("model" if word is None else "ValueError"), (ours, theirs)
    if word is None:
        assert ours == theirs
    else:
        assert word in ours[1]


@pytest.mark.parametrize("name", ["MobileNet", "MobileNetV2"])
def test_signatures_are_those_of_keras_applications(ran: Runs, name: str) -> None:
    ours, theirs = json.loads((ran(REFERENCE) / "arguments.json").read_text())["signatures"][name]
    assert ours == theirs


def test_published_weights_are_asked_for_by_their_names(ran: Runs) -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"real data not present at {DATA}; set ZOO_TEST_DATA")
    answer = told(ran(REFERENCE), "imagenet")
    ((name, address),) = answer["asked"]
    assert name == "mobilenet_2_5_224_tf.h5"
    assert address == f"https://storage.googleapis.com/tensorflow/keras-applications/mobilenet/{name}"
    first = io.read(PUBLISHED).arrays["conv1/kernel"]
    assert answer["mean"] == pytest.approx(float(first.mean()), abs=1e-7)
