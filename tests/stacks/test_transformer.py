"""The transformer against PyTorch's own, on every generation of Keras."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import CHECKOUT, real_stacks
from tests.support.workers.transformer import CASES, ENCODERS, name_of
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import stacks, store
from zoo.weights import io

GOLDEN = CHECKOUT / "assets" / "golden" / "transformer.npz"
STACKS = ("torch", "tf-2.21", "jax", "openvino", "tf-2.12", "tf-2.5", "tf-1.8", "plaidml-0.7")
TRAINING = [name for name in STACKS if stacks.load(name).trains]
KERAS_3 = ("torch", "tf-2.21")
NAMES = [name_of(encoder, *case) for encoder, _ in ENCODERS for case in CASES]


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    return dict(np.load(GOLDEN))


@pytest.fixture(scope="session")
def answered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Answers"]:
    """All stacks that the chosen tests need are asked two at a time, one process each."""
    # A list: what other tests call a stack may be anything, also what no set can hold.
    wanted = [item.callspec.params.get("stack") for item in request.session.items if hasattr(item, "callspec")]
    with ThreadPoolExecutor(2) as pool:
        yield Answers(tmp_path_factory.mktemp("transformer"), pool, [name for name in STACKS if name in wanted])
        pool.shutdown(cancel_futures=True)


class Answers:
    """What each stack makes of the golden inputs."""

    def __init__(self, root: Path, pool: ThreadPoolExecutor, chosen: list[str]) -> None:
        self.root = root
        for name, _ in ENCODERS:
            write_weights(root, name)
        self.asked = {name: pool.submit(self._ask, stacks.load(name)) for name in chosen}

    def __call__(self, stack: str) -> Path:
        """Folder with the answers of a stack; skips where it cannot be had."""
        return self.asked[stack].result()

    def _ask(self, row: stacks.Stack) -> Path:
        python, out = real_stacks.python(row.name), self.root / row.name
        out.mkdir()
        request = {"zoo": str(paths.PACKAGE), "keras": row.keras, "framework": row.framework, "out": str(out)}
        request |= {"golden": str(GOLDEN), "weights": str(self.root / "%s.npz"), "trains": row.trains}
        request |= {"tied": row.name != "jax", "mixed": row.name in KERAS_3}
        (out / "request.json").write_text(json.dumps(request))
        worker = str(CHECKOUT / "tests" / "transformer_worker.py")
        command = [str(python), "-I", "-B", worker, str(out / "request.json")]
        answer = subprocess.run(
            command, env=store.child_environment(row), capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr[-3000:]
        return out


def write_weights(root: Path, encoder: str) -> None:
    """PyTorch's weights of a golden encoder, turned into the zoo's by the zoo's own conversion."""
    stored = np.load(GOLDEN)
    prefix = f"{encoder}/"
    arrays = {name.removeprefix(prefix): stored[name] for name in stored.files if name.startswith(prefix)}
    io.write(root / f"{encoder}.safetensors", io.Weights(arrays, "PyTorch's", doubts=("no order",)))
    io.convert(root / f"{encoder}.safetensors", root / f"{encoder}.npz")


def found(folder: Path) -> dict[str, Any]:
    return dict(np.load(folder / "found.npz"))


def test_weights_cross_over_from_pytorch_and_back(tmp_path: Path) -> None:
    for name, _ in ENCODERS:
        write_weights(tmp_path, name)
        ours = io.read(tmp_path / f"{name}.npz")
        assert list(ours.arrays)[:2] == ["layer1/attention_kernel", "layer1/attention_bias"]
        io.convert(tmp_path / f"{name}.npz", tmp_path / "back.safetensors", "torch")
        before, after = io.read(tmp_path / f"{name}.safetensors"), io.read(tmp_path / "back.safetensors")
        assert set(before.arrays) == set(after.arrays)
        assert all(np.array_equal(array, after.arrays[key]) for key, array in before.arrays.items())


def test_an_encoder_inside_of_another_model_is_found_and_the_rest_kept(tmp_path: Path) -> None:
    names = {"embed.weight": (5, 4), "body.layers.0.self_attn.in_proj_weight": (12, 4), "body.norm.bias": (4,)}
    arrays = {name: np.ones(shape, np.float32) for name, shape in names.items()}
    io.write(tmp_path / "m.safetensors", io.Weights(arrays, "PyTorch's", doubts=("no order",)))
    io.convert(tmp_path / "m.safetensors", tmp_path / "m.npz")
    found = {name: array.shape for name, array in io.read(tmp_path / "m.npz").arrays.items()}
    assert found == {"layer1/attention_kernel": (4, 12), "embed.weight": (5, 4), "norm/beta": (4,)}


def test_a_pickle_of_pytorch_is_never_opened(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(ZooError, match="pickle") as told:
        io.convert(tmp_path / "model.pt", tmp_path / "model.npz")
    assert "safetensors" in (told.value.remedy or "")


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_computes_what_pytorch_computes(answered: Answers, golden: dict[str, Any], stack: str) -> None:
    given = found(answered(stack))
    for name in NAMES:
        error = np.abs(given[name] - golden[name]).max()
        assert error <= (1e-5 if stack == "torch" else 1e-4), (name, error)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_a_text_of_padding_alone_gives_numbers(answered: Answers, stack: str) -> None:
    given = found(answered(stack))
    reference = found(answered("torch"))
    for name, _ in ENCODERS:
        np.testing.assert_allclose(given[f"{name}_nothing"], reference[f"{name}_nothing"], atol=1e-4)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_models_of_text_start_alike_and_say_the_same_everywhere(answered: Answers, stack: str) -> None:
    given, reference = found(answered(stack)), found(answered("torch"))
    told = [json.loads((answered(name) / "told.json").read_text()) for name in (stack, "torch")]
    assert told[0]["classifier"] == told[1]["classifier"]
    np.testing.assert_allclose(given["classifier"], reference["classifier"], atol=1e-5)
    np.testing.assert_allclose(given["steps"], given["lm"], atol=1e-4)
    if stack != "jax":  # asked for outputs with a kernel of their own
        assert told[0]["lm"] == told[1]["lm"]
        np.testing.assert_allclose(given["lm"], reference["lm"], atol=1e-4)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", TRAINING)
def test_gradients_are_the_same_everywhere_and_dropout_is_for_training(answered: Answers, stack: str) -> None:
    given, reference = found(answered(stack)), found(answered("torch"))
    np.testing.assert_allclose(given["gradients"], reference["gradients"], rtol=2e-3, atol=1e-6)
    told = json.loads((answered(stack) / "told.json").read_text())
    assert told["evaluated_loss"] < 1e-6 < 1e-2 < told["trained_loss"]


@pytest.mark.stacks
@pytest.mark.parametrize("stack", TRAINING)
def test_a_models_own_file_is_read_again(answered: Answers, stack: str) -> None:
    given = found(answered(stack))
    np.testing.assert_allclose(given["after"], given["before"], atol=1e-6)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", KERAS_3)
def test_half_the_precision_gives_nearly_the_same(answered: Answers, stack: str) -> None:
    given = dict(np.load(answered(stack) / "mixed.npz"))
    for policy in ("mixed_bfloat16", "bfloat16"):
        error = np.abs(given[policy] - given["float32"])
        assert 1e-5 < error.max() < 0.3, (policy, error.max())
        assert error.mean() < 0.03, (policy, error.mean())
