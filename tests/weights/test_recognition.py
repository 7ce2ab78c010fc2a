"""Networks in files by anybody: known by kinds and shapes of layers, and carried over with the same function."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.weight_samples import drawn, mobilenet
from zoo.weights import io, recognition
from zoo.weights.formats import Weights
from zoo.weights.keras_layout import NESTED


def renamed(weights: Weights, prefix: str = "") -> Weights:
    """Give layers the names that Keras gives by itself, inside a model where a prefix is given."""
    layers = list(dict.fromkeys(name.rpartition("/")[0] for name in weights.arrays))
    arrays = {
        f"{prefix}layer_{layers.index(name.rpartition('/')[0])}/{name.rpartition('/')[2]}": array
        for name, array in weights.arrays.items()
    }
    return replace(weights, arrays=arrays, order_problems=(NESTED,) if prefix else ())


def configured(weights: Weights, *rows: dict[str, Any]) -> Weights:
    return replace(weights, config={"class_name": "Sequential", "config": {"layers": list(rows)}})


def row(kind: str, **settings: Any) -> dict[str, Any]:
    return {"class_name": kind, "config": {"name": kind.lower(), **settings}}


CONV = row("Conv2D", strides=[2, 2])
POOL = row("GlobalAveragePooling2D")


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.33, 0.5, 1.3])
@pytest.mark.parametrize("prefix", ["", "mobilenet_0.25_96/", "functional/"])
def test_names_do_not_matter_where_the_order_is_known(alpha: float, prefix: str) -> None:
    plain = mobilenet(alpha, 5)
    network = recognition.recognize(renamed(plain, prefix))
    assert (network.name, network.classes, network.top_problem) == ("mobilenet", 5, "")
    assert network.arguments["alpha"] == alpha
    assert network.arguments.get("input_size") == (96 if prefix.startswith("mobilenet") else None)
    assert list(network.arrays) == list(plain.arrays)
    for name, array in plain.arrays.items():
        np.testing.assert_array_equal(network.arrays[name], array)


def test_names_tell_the_order_where_nothing_else_does() -> None:
    plain = mobilenet()
    order = dict(sorted(plain.arrays.items()))
    shuffled = replace(plain, arrays=order, order_problems=("its entries are in alphabetical order",))
    assert recognition.recognize(shuffled).arrays.keys() == plain.arrays.keys()
    assert recognition.recognize(replace(renamed(plain), order_problems=("unknown",))) is None


def test_biases_epsilons_and_dense_tops_compute_the_same() -> None:
    plain = mobilenet(0.25, 4, biased=True)
    arrays = dict(plain.arrays)
    arrays["dense/kernel"] = arrays.pop("conv_preds/kernel").reshape(256, 4)
    arrays["dense/bias"] = arrays.pop("conv_preds/bias")
    norms = [row("BatchNormalization", epsilon=0.01)] * 27
    network = recognition.recognize(configured(replace(plain, arrays=arrays), CONV, *norms, POOL))
    for layer, norm in (("conv1", "conv1_bn"), ("conv_dw_7", "conv_dw_7_bn"), ("conv_pw_13", "conv_pw_13_bn")):
        was, is_now = plain.arrays, network.arrays
        x = np.linspace(-3, 3, len(was[f"{norm}/beta"]))
        # Variances are drawn with either sign here; what is added to them must not depend on it.
        np.testing.assert_allclose(
            x + was[f"{layer}/bias"] - was[f"{norm}/moving_mean"], x - is_now[f"{norm}/moving_mean"], atol=1e-6
        )
        np.testing.assert_allclose(
            was[f"{norm}/moving_variance"] + 0.01, is_now[f"{norm}/moving_variance"] + 0.001, atol=1e-6
        )
    assert not [name for name in network.arrays if name.endswith("/bias") and name != "conv_preds/bias"]
    np.testing.assert_array_equal(network.arrays["conv_preds/kernel"], plain.arrays["conv_preds/kernel"])


def test_one_output_is_the_second_of_two_classes() -> None:
    network = recognition.recognize(mobilenet(0.25, 1))
    assert network.classes == 2
    assert "second of two classes" in network.notes[0]
    features = np.random.default_rng(1).normal(size=256)
    kernel, bias = network.arrays["conv_preds/kernel"].reshape(256, 2), network.arrays["conv_preds/bias"]
    logits = features @ kernel + bias
    softmax = np.exp(logits) / np.exp(logits).sum()
    assert softmax[1] == pytest.approx(1 / (1 + np.exp(-(features @ kernel[:, 1] + bias[1]))))


@pytest.mark.parametrize(
    ("layers", "mean", "scale"),
    [
        ([row("Rescaling", scale=1 / 255, offset=0.0)], 0.0, 255.0),
        ([row("RandomFlip"), row("Rescaling", scale=1 / 127.5, offset=-1)], None, None),
        ([row("Rescaling", scale=[2.0, 2.0, 2.0], offset=4.0)], -2.0, 0.5),
        ([{**row("TFOpLambda", function="math.truediv"), "inbound_nodes": [["x", 0, 0, {"y": 50.0, "name": None}]]},
          {**row("TFOpLambda", function="math.subtract"), "inbound_nodes": [["x", 0, 0, {"y": 2.0}]]}], 100.0, 50.0),
        ([{**row("TrueDivide"), "inbound_nodes": [{"args": [{}, 50.0], "kwargs": {}}]},
          {**row("Subtract"), "inbound_nodes": [{"args": [{}, 2.0], "kwargs": {}}]}], 100.0, 50.0),
    ],
)  # fmt: skip
def test_scaling_inside_the_model_is_carried_over(
    layers: list[dict[str, Any]], mean: float | None, scale: float | None
) -> None:
    network = recognition.recognize(configured(mobilenet(0.25, 2), *layers, CONV, POOL))
    wanted = None if mean is None else ([mean] * 3, [scale] * 3)
    assert network.scaling == (wanted and (pytest.approx(wanted[0]), pytest.approx(wanted[1])))
    assert network.notes == []


@pytest.mark.parametrize(("mean", "word"), [(0.44, "0 to 1"), (-0.1, ""), (118.0, "0 to 255"), (9.0, "")])
def test_the_first_normalization_tells_the_scaling_where_nothing_else_does(mean: float, word: str) -> None:
    plain = mobilenet(0.25, 2)
    seen = mean * plain.arrays["conv1/kernel"].sum((0, 1, 2))
    network = recognition.recognize(replace(plain, arrays=plain.arrays | {"conv1_bn/moving_mean": seen}))
    assert bool(network.scaling) == bool(word)
    assert all(word in note for note in network.notes)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (mobilenet(0.25, None), "contains no top"),
        (replace(mobilenet(0.25, 2), arrays=mobilenet(0.25, None).arrays | drawn(
            {"dense/kernel": (256, 16), "dense/bias": (16,), "dense_1/kernel": (16, 3)}).arrays),
         "(not one layer on the means of 256 maps): dense (256, 16), dense_1 (16, 3)"),
        (replace(mobilenet(0.25, 2), arrays=mobilenet(0.25, None).arrays | drawn(
            {"bn/moving_mean": (256,), "bn/moving_variance": (256,), "dense/kernel": (256, 3)}).arrays),
         "(not one layer on the means of 256 maps): bn (256,), dense (256, 3)"),
        (configured(mobilenet(0.25, 2), CONV, row("GlobalMaxPooling2D"), row("Dense", activation="softmax")),
         "global_max_pooling2d"),
        (configured(mobilenet(0.25, 2), CONV, POOL, row("Dense", activation="sigmoid")), "2 outputs with sigmoid"),
        (configured(mobilenet(0.25, 2), CONV, row("Activation", activation="swish"), POOL), "activation swish"),
        (configured(mobilenet(0.25, 2), CONV, POOL, row("UnitNormalization"), row("Dense", activation="softmax")),
         "unsupported top: unitnormalization"),
        (configured(mobilenet(0.25, 2), CONV, POOL, row("Activation", activation="tanh"), row("Dense")),
         "unsupported top: activation"),
        (configured(mobilenet(0.25, 2), CONV, POOL, row("Dense"), row("Rescaling"), row("Softmax")),
         "unsupported top: rescaling"),
        (configured(mobilenet(0.25, 2), row("Conv2D", strides=[1, 1]), POOL), "other strides"),
    ],
)  # fmt: skip
def test_what_the_zoo_has_not_is_named(weights: Weights, words: str) -> None:
    network = recognition.recognize(weights)
    assert words in network.top_problem


def test_other_networks_are_not_taken_for_one() -> None:
    assert recognition.recognize(drawn()) is None
    odd = mobilenet(0.25, 2)
    arrays = {name: array for name, array in odd.arrays.items() if not name.startswith("conv_pw_7")}
    assert recognition.recognize(replace(odd, arrays=arrays)) is None
    wide = odd.arrays | drawn({"conv_pw_13/kernel": (1, 1, 256, 300)}).arrays
    assert recognition.recognize(replace(odd, arrays=wide)) is None


def test_a_file_on_the_disk_is_recognized_in_every_format(tmp_path: Path) -> None:
    for name in ("w.npz", "w.safetensors", "w.h5", "w.weights.h5"):
        io.write(tmp_path / name, renamed(mobilenet(0.25, 3)))
        network = recognition.recognize(io.read(tmp_path / name))
        assert (network.arguments["alpha"], network.classes) == (0.25, 3)


def test_padding_of_early_versions_is_told() -> None:
    early = configured(mobilenet(0.25, 2), row("ZeroPadding2D", padding=[[1, 1], [1, 1]]), CONV, POOL)
    assert "pads maps on both sides" in recognition.recognize(early).notes[0]
    today = configured(mobilenet(0.25, 2), row("ZeroPadding2D", padding=[[0, 1], [0, 1]]), CONV, POOL)
    assert recognition.recognize(today).notes == []
