"""The transformer against PyTorch's own, on every generation of Keras."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import questions
from tests.support.conformance import Answers
from tests.support.questions import KERAS_3
from tests.support.workers.transformer import CASES, ENCODERS, name_of
from zoo.core.errors import ZooError
from zoo.environments import stacks
from zoo.weights import convert, io

STACKS = questions.STACKS["transformer"]
TRAINING = [name for name in STACKS if stacks.load(name).trains]
NAMES = [name_of(encoder, *case) for encoder, _ in ENCODERS for case in CASES]


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    return dict(np.load(questions.TRANSFORMER))


def arrays(conformance: Answers, stack: str) -> dict[str, Any]:
    """The arrays that a stack computed."""
    return dict(np.load(conformance.folder(stack, "transformer") / "arrays.npz"))


def test_weights_cross_over_from_pytorch_and_back(tmp_path: Path) -> None:
    for name, _ in ENCODERS:
        questions.encoder_weights(tmp_path, name)
        ours = io.read(tmp_path / f"{name}.npz")
        assert list(ours.arrays)[:2] == ["layer1/attention_kernel", "layer1/attention_bias"]
        convert.convert(tmp_path / f"{name}.npz", tmp_path / f"{name}.back.safetensors", "torch")
        before, after = io.read(tmp_path / f"{name}.safetensors"), io.read(tmp_path / f"{name}.back.safetensors")
        assert set(before.arrays) == set(after.arrays)
        assert all(np.array_equal(array, after.arrays[key]) for key, array in before.arrays.items())


def test_an_encoder_inside_of_another_model_is_found_and_the_rest_kept(tmp_path: Path) -> None:
    names = {"embed.weight": (5, 4), "body.layers.0.self_attn.in_proj_weight": (12, 4), "body.norm.bias": (4,)}
    arrays = {name: np.ones(shape, np.float32) for name, shape in names.items()}
    io.write(tmp_path / "m.safetensors", io.Weights(arrays, "PyTorch's", order_problems=("no order",)))
    convert.convert(tmp_path / "m.safetensors", tmp_path / "m.npz")
    shapes = {name: array.shape for name, array in io.read(tmp_path / "m.npz").arrays.items()}
    assert shapes == {"layer1/attention_kernel": (4, 12), "embed.weight": (5, 4), "norm/beta": (4,)}


def test_a_pickle_of_pytorch_is_never_opened(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(ZooError, match="pickle") as refusal:
        convert.convert(tmp_path / "model.pt", tmp_path / "model.npz")
    assert "safetensors" in (refusal.value.remedy or "")


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_computes_what_pytorch_computes(conformance: Answers, golden: dict[str, Any], stack: str) -> None:
    given = arrays(conformance, stack)
    for name in NAMES:
        error = np.abs(given[name] - golden[name]).max()
        assert error <= (1e-5 if stack == "torch" else 1e-4), (name, error)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_a_text_of_padding_alone_gives_numbers(conformance: Answers, stack: str) -> None:
    given = arrays(conformance, stack)
    reference = arrays(conformance, "torch")
    for name, _ in ENCODERS:
        np.testing.assert_allclose(given[f"{name}_nothing"], reference[f"{name}_nothing"], atol=1e-4)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_where_no_key_is_seen_all_are(conformance: Answers, golden: dict[str, Any], stack: str) -> None:
    """As the documentation says, to the rounding of scores that are far from zero."""
    given = arrays(conformance, stack)
    for name, _ in ENCODERS:
        np.testing.assert_allclose(given[f"{name}_nothing"], golden[name_of(name, False, False)], atol=2e-2)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_arguments_may_bear_the_names_of_pytorch(conformance: Answers, stack: str) -> None:
    given = arrays(conformance, stack)
    for name, _ in ENCODERS:
        np.testing.assert_array_equal(given[f"{name}_by_torch_names"], given[name_of(name, False, True)])


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_models_of_text_start_alike_and_say_the_same_everywhere(conformance: Answers, stack: str) -> None:
    given, reference = arrays(conformance, stack), arrays(conformance, "torch")
    own, others = (conformance.of(name, "transformer") for name in (stack, "torch"))
    assert own["classifier"] == others["classifier"]
    np.testing.assert_allclose(given["classifier"], reference["classifier"], atol=1e-5)
    np.testing.assert_allclose(given["steps"], given["lm"], atol=1e-4)
    if stack != "jax":  # asked for outputs with a kernel of their own
        assert own["lm"] == others["lm"]
        np.testing.assert_allclose(given["lm"], reference["lm"], atol=1e-4)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS)
def test_layers_keep_the_names_under_which_model_files_hold_them(conformance: Answers, stack: str) -> None:
    """A ``.keras`` file holds the names of classes, and the paths of its weights are made from them."""
    classes = {"TextEmbedding", "EncoderLayer", "Normalisation", "Kept", "Pooling", "Wide"}
    if stack == "jax":  # asked for outputs with a kernel of their own
        classes.add("Outputs")
    assert classes <= set(conformance.of(stack, "transformer")["classes"])


@pytest.mark.stacks
@pytest.mark.parametrize("stack", TRAINING)
def test_gradients_are_the_same_everywhere_and_dropout_is_for_training(conformance: Answers, stack: str) -> None:
    given, reference = arrays(conformance, stack), arrays(conformance, "torch")
    np.testing.assert_allclose(given["gradients"], reference["gradients"], rtol=2e-3, atol=1e-6)
    losses = conformance.of(stack, "transformer")
    assert losses["evaluated_loss"] < 1e-6 < 1e-2 < losses["trained_loss"]


@pytest.mark.stacks
@pytest.mark.parametrize("stack", TRAINING)
def test_a_models_own_file_is_read_again(conformance: Answers, stack: str) -> None:
    given = arrays(conformance, stack)
    np.testing.assert_allclose(given["after"], given["before"], atol=1e-6)


@pytest.mark.stacks("torch")
@pytest.mark.parametrize("case", ["plain", "past", "kept", "kept past"])
def test_attention_by_products_is_the_fused_one_and_its_gradients(conformance: Answers, case: str) -> None:
    given = dict(np.load(conformance.folder("torch", "transformer") / "attended.npz"))
    right = given[f"{case}, float32"]
    assert right.std() > 0.1
    for way, texts in {"float32": [], "together": [5], "one by one": [1] * 5}.items():
        assert given[f"{case}, texts of products, {way}"].tolist() == texts
    for way in ("together", "one by one"):
        error = np.abs(given[f"{case}, {way}"] - right)
        assert error.max() < 0.06, (way, error.max())
        assert 0 < error.mean() < 0.006, (way, error.mean())


@pytest.mark.stacks
@pytest.mark.parametrize("stack", KERAS_3)
def test_half_the_precision_gives_nearly_the_same(conformance: Answers, stack: str) -> None:
    given = dict(np.load(conformance.folder(stack, "transformer") / "mixed.npz"))
    for policy in ("mixed_bfloat16", "bfloat16"):
        error = np.abs(given[policy] - given["float32"])
        assert 1e-5 < error.max() < 0.3, (policy, error.max())
        assert error.mean() < 0.03, (policy, error.mean())
