"""zoo.weights.model_config: sizes, scaling, activations and strides from a configuration of Keras."""

from typing import Any

import pytest

from zoo.weights import model_config as config
from zoo.weights.model_config import Layer


def layer(kind: str, inbound: Any = None, **settings: Any) -> Layer:
    return Layer(kind, {"name": kind + "_1", **settings}, inbound)


DENSE = layer("dense")


def test_layers_are_those_of_nested_models_too() -> None:
    inner = {"class_name": "Functional", "config": {"layers": [{"class_name": "Conv2D", "config": {"name": "c"}}]}}
    rows = [{"class_name": "DepthwiseConv2D", "config": {"name": "a"}, "inbound_nodes": [1]}, inner, "x", {},
            {"class_name": "Dense", "config": {"name": "d"}}]  # fmt: skip
    expected = [Layer("depthwise_conv2d", {"name": "a"}, [1]), Layer("conv2d", {"name": "c"}, None),
                Layer("dense", {"name": "d"}, None)]  # fmt: skip
    assert config.layers({"config": {"layers": rows}}) == expected
    assert config.layers({"config": rows}) == expected
    for strange in (None, [], {"config": 3}, {"config": {"layers": 3}}):
        assert config.layers(strange) == []


@pytest.mark.parametrize(
    ("rows", "shape"),
    [
        ([layer("input_layer", batch_input_shape=[None, 32, 48, 3])], [32, 48, 3]),
        ([layer("input_layer", batch_shape=[None, 32, 48, 1])], [32, 48, 1]),
        ([layer("input_layer", batch_shape=[None, None, None, 3])], None),
        ([layer("input_layer", batch_shape=[None, 100])], None),
        ([layer("input_layer", batch_shape=[None, 9, 9, 3]), layer("resizing", height=64, width=80.0)], [64, 80, 3]),
        ([layer("input_layer", batch_shape=[None, 9]), layer("reshape", batch_shape=[None, 3, 3, 1])], [3, 3, 1]),
        ([], None),
    ],
)
def test_the_size_of_images(rows: list[Layer], shape: list[int] | None) -> None:
    assert config.input_shape(rows) == shape


def scaled(*rows: Layer) -> Any:
    known, strange = config.scaling([*rows, DENSE, layer("rescaling", scale=9.0)])
    if known is None:
        return strange
    mean, scale = known
    assert strange == []
    return [round(value, 6) for value in mean], [round(value, 6) for value in scale]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([layer("rescaling", scale=1 / 255)], ([0.0] * 3, [255.0] * 3)),
        ([layer("rescaling", scale=1 / 127.5, offset=-1.0)], ([127.5] * 3, [127.5] * 3)),
        ([layer("rescaling", scale=[0.5, 0.25, 0.125])], ([0.0] * 3, [2.0, 4.0, 8.0])),
        (
            [layer("normalization", mean=[1.0, 2.0, 3.0], variance=[4.0, 4.0, 16.0])],
            ([1.0, 2.0, 3.0], [2.0, 2.0, 4.0]),
        ),
        ([layer("normalization", mean=[[[[5.0]]]], variance=4.0)], ([5.0] * 3, [2.0] * 3)),
        ([layer("rescaling", scale=0.5), layer("normalization", mean=2.0, variance=4.0)], ([4.0] * 3, [4.0] * 3)),
        ([layer("zero_padding2d"), layer("random_flip"), layer("rescaling", scale=0.5)], ([0.0] * 3, [2.0] * 3)),
        ([layer("rescaling", scale=0.0)], []),
        ([layer("dropout")], []),
        ([layer("rescaling")], ["rescaling_1"]),
        ([layer("normalization", mean=None, variance=None)], ["normalization_1"]),
        ([layer("normalization", mean=1.0, variance=0.0)], ["normalization_1"]),
        ([layer("lambda")], ["lambda_1"]),
        ([layer("tf_op_lambda", [["x", 0, 0, {"y": 2.0}]], function="math.truediv")], ([0.0] * 3, [2.0] * 3)),
        ([layer("tf_op_lambda", [["x", 0, 0, {"y": 2.0}]], function="math.subtract")], ([2.0] * 3, [1.0] * 3)),
        ([layer("tf_op_lambda", [["x", 0, 0, {"y": 2.0}]], function="math.add")], ([-2.0] * 3, [1.0] * 3)),
        ([layer("tf_op_lambda", [["x", 0, 0, {"y": 2.0}]], function="math.multiply")], ([0.0] * 3, [0.5] * 3)),
        ([layer("tf_op_lambda", [["x", 0, 0, {"y": 0.0}]], function="math.truediv")], ["tf_op_lambda_1"]),
        ([layer("tf_op_lambda", [["x", 0, 0, {"y": 2.0}]], function="math.sqrt")], ["tf_op_lambda_1"]),
    ],
)
def test_the_scaling_of_pixels_before_the_network(rows: list[Layer], expected: Any) -> None:
    assert scaled(*rows) == expected


@pytest.mark.parametrize(
    ("rows", "adapted", "expected"),
    [
        ([layer("dropout")], {}, (None, "")),
        ([layer("rescaling", scale=1 / 255)], {}, ("none", "rescaling_1")),
        ([layer("rescaling", scale=10.0)], {}, ("0..1", "rescaling_1")),
        ([layer("rescaling", scale=20.0)], {}, ("0..1", "rescaling_1")),
        ([layer("rescaling", scale=20.5)], {}, (None, "rescaling_1")),
        ([layer("lambda"), layer("rescaling", scale=1 / 255)], {}, (None, "lambda_1")),
        ([layer("rescaling", scale=1 / 255), layer("lambda")], {}, (None, "lambda_1")),
        ([layer("normalization")], {}, (None, "normalization_1")),
        ([layer("normalization")], {"mean": [120.0] * 3, "variance": [3600.0] * 3}, ("none", "normalization_1")),
        ([layer("normalization", mean=0.5, variance=0.04)], {"mean": [120.0], "variance": [3600.0]},
         ("0..1", "normalization_1")),
    ],
)  # fmt: skip
def test_the_range_of_pixels_that_a_network_wants(
    rows: list[Layer], adapted: dict[str, Any], expected: tuple[str | None, str]
) -> None:
    assert config.wanted_scale([*rows, DENSE], adapted) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([layer("conv2d", activation="relu"), layer("dense", activation="softmax")], "softmax"),
        ([layer("dense", activation="linear"), layer("activation", activation="sigmoid")], "sigmoid"),
        ([layer("dense", activation="linear"), layer("softmax")], "softmax"),
        ([layer("dense", activation="linear")], "linear"),
        ([layer("dense", activation={"class_name": "function", "config": "softmax"})], "softmax"),
        ([layer("dense", activation={"class_name": "Custom>Softmax"})], "Softmax"),
        ([layer("dense")], None),
        ([layer("flatten")], None),
        ([], None),
    ],
)
def test_the_activation_of_the_output(rows: list[Layer], expected: str | None) -> None:
    assert config.output_activation(rows) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([layer("global_average_pooling2d"), layer("dropout"), layer("dense"), layer("softmax")], []),
        (
            [layer("global_average_pooling2d"), layer("batch_normalization"), layer("dense")],
            ["batch_normalization_1"],
        ),
        (
            [layer("global_average_pooling2d"), layer("activation", activation="relu"), layer("dense")],
            ["activation_1"],
        ),
        ([layer("global_average_pooling2d"), layer("activation", activation="linear"), layer("dense")], []),
        ([layer("batch_normalization"), layer("global_average_pooling2d"), layer("dense")], []),
        ([layer("max_pooling2d"), layer("lambda"), layer("global_average_pooling2d"), layer("dense")], []),
        ([layer("lambda"), layer("dense")], []),
        ([layer("global_max_pooling2d"), layer("softmax")], ["softmax_1"]),
    ],
)
def test_layers_that_a_top_of_one_layer_cannot_represent(rows: list[Layer], expected: list[str]) -> None:
    assert config.head(rows) == expected


def test_strides_of_convolutions() -> None:
    rows = [layer("conv2d", strides=[2, 2]), layer("depthwise_conv2d"), layer("dense", strides=[9, 9]),
            layer("conv2d", strides=[1, 2]), layer("conv2d", strides=3)]  # fmt: skip
    assert config.strides(rows) == [2, 1, 0, 0]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (layer("re_lu"), {"relu"}),
        (layer("re_lu", max_value=6.0), {"relu6"}),
        (layer("relu", max_value=5.0), {"other"}),
        (layer("re_lu", negative_slope=0.1), {"other"}),
        (layer("re_lu", negative_slope={"value": 0.0}), {"relu"}),
        (layer("re_lu", negative_slope={"value": 0.1}), {"other"}),
        (layer("leaky_re_lu"), {"leaky_re_lu"}),
        (layer("activation", activation="swish"), {"swish"}),
        (layer("activation", activation="linear"), set()),
        (layer("dropout"), set()),
    ],
)
def test_activations_are_those_between_the_first_convolution_and_the_pooling(row: Layer, expected: set[str]) -> None:
    outside = layer("activation", activation="tanh")
    pool = layer("global_average_pooling2d")
    assert config.activations([outside, layer("conv2d"), row, pool, outside]) == expected
    assert config.activations([outside, pool, layer("batch_normalization"), row, layer("conv2d"), outside]) == expected
    assert config.activations([outside, pool]) == set()
