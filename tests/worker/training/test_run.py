"""zoo.worker.training.run: seconds by phase, and what a training reports of its network and in the end."""

import types
from typing import Any

import numpy as np
import pytest

from tests.support import parts


@pytest.fixture
def module(keras: types.ModuleType) -> Any:
    from zoo.worker.training import run

    return run


def started(
    module: Any,
    phases: dict[str, float],
    asked: bool = False,
    reason: str | None = None,
    events: Any = None,
    **on: bool,
) -> Any:
    stop = types.SimpleNamespace(asked=asked, reason=reason)
    return module.Run(parts.request(train=parts.training(), run_dir="folder", **on), events, stop, phases)


class Events:
    """Keeps the fields of what is reported."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def emit(self, _event: str, **fields: Any) -> None:
        self.rows.append(fields)


class Layer:
    """A layer that is called on others; ``tensor`` is its output."""

    def __init__(self, name: str, *inputs: "Layer", size: int | None = None) -> None:
        self.name = name
        self.tensor = types.SimpleNamespace(_keras_history=(self, 0, 0), shape=(None, size))
        before = [each.tensor for each in inputs] or [self.tensor]
        self._inbound_nodes = [types.SimpleNamespace(input_tensors=before, output_tensors=self.tensor)]

    def call(self, *inputs: "Layer") -> None:
        """Call the layer again."""
        before = [each.tensor for each in inputs]
        self._inbound_nodes.append(types.SimpleNamespace(input_tensors=before, output_tensors=[self.tensor]))


class Network(Layer):
    """A network of layers, which may be a layer too."""

    def __init__(self, name: str, layers: list[Layer], *inputs: Layer) -> None:
        super().__init__(name, *inputs)
        self.layers, self.inputs = layers[1:], [layers[0].tensor]


def test_the_network_is_reported_with_its_nested_ones_and_shared_layers(module: Any, keras: Any) -> None:
    keras.models = types.SimpleNamespace(Model=Network)
    pixels, start = Layer("pixels", size=4), Layer("start", size=3)
    shared = Layer("shared", pixels, size=3)
    inner = Network("inner", [start, Layer("dense", start, size=2)], shared)
    last = Layer("sum", inner, Layer("outside"), pixels, size=2)
    shared.call(last)
    network, events = Network("all", [pixels, shared, inner, last]), Events()
    started(module, {}, events=events).report_network(network)
    assert events.rows == []
    started(module, {}, events=events, tensorboard=True).report_network(network)
    assert [(row["name"], row["class"], list(row["inputs"]), row["shape"]) for row in events.rows[0]["layers"]] == [
        ("pixels", "Layer", [], (None, 4)), ("shared", "Layer", ["pixels", "sum"], (None, 3)),
        ("inner/start", "Layer", ["shared"], (None, 3)), ("inner/dense", "Layer", ["inner/start"], (None, 2)),
        ("sum", "Layer", ["inner/dense", "pixels"], (None, 2)),
    ]  # fmt: skip


def test_weights_are_reported_by_their_finite_values(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = {"a/kernel": np.array([[-1, 2], [np.nan, np.inf]], np.float32), "a/bias": np.ones(5, np.float32)}
    arrays["a/none"] = np.array([np.nan])
    monkeypatch.setattr(module.compat, "named_weights", lambda _: [(name, ()) for name in arrays])
    model, events = types.SimpleNamespace(get_weights=lambda: list(arrays.values())), Events()
    started(module, {}, events=events, tensorboard=True).report_weights(model, 3)
    assert events.rows == []
    started(module, {}, events=events, tensorboard_histograms=True).report_weights(model, 3)
    kernel, bias, none = events.rows
    assert kernel == {"epoch": 3, "weight": "a/kernel", "figures": [-1, 2, 2, 1, 5], "counts": [1, *[0] * 28, 1]}
    assert bias == {"epoch": 3, "weight": "a/bias", "figures": [1, 1, 5, 5, 5], "counts": [5]}
    assert none == {"epoch": 3, "weight": "a/none", "figures": [0] * 5, "counts": [0]}


def test_seconds_are_added_by_phase(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    phases = {"save_s": 1.0}
    training = started(module, phases)
    training.add("save_s", 0.5)
    training.add("train_s", 2.0)
    clock = iter([10.0, 13.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with training.timed("train_s"):
        pass
    assert phases == {"save_s": 1.5, "train_s": 5.0}
    assert training.spent("save_s", "train_s", "none_s") == 6.5


@pytest.mark.parametrize(
    ("asked", "reason", "interrupted", "stopped"),
    [
        (False, "interrupted", False, None), (True, "interrupted", True, "interrupted"),
        (True, "max_minutes", False, "max_minutes"),
    ],
)  # fmt: skip
def test_a_limit_is_no_interruption(module: Any, asked: bool, reason: str, interrupted: bool, stopped: object) -> None:
    training = started(module, {}, asked, reason)
    assert training.was_interrupted() == interrupted
    assert training.outcome({"a": 1}) == {"metrics": {"a": 1}, "stopped": stopped}


@pytest.mark.parametrize(("minutes", "phases", "over"), [
    (1.0, {}, True), (1.0, {"features_s": 0.5}, False), (1.0, {"train_s": 9.0}, True), (None, {}, False),
    (1.01, {}, False),
])  # fmt: skip
def test_the_time_for_features_is_no_part_of_the_limit(
    module: Any, monkeypatch: pytest.MonkeyPatch, minutes: float | None, phases: dict[str, float], over: bool
) -> None:
    clock = iter([100.0, 160.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    stop = types.SimpleNamespace(asked=False, reason=None)
    request = parts.request(train=parts.training(max_minutes=minutes), run_dir="folder")
    assert module.Run(request, None, stop, phases).is_out_of_time() is over


def test_a_network_that_cannot_be_drawn_is_a_warning(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def strange(_model: Any) -> None:
        raise AttributeError("no inputs")

    monkeypatch.setattr(module.compat, "connected_layers", strange, raising=False)
    events = Events()
    started(module, {}, events=events, tensorboard=True).report_network("model")
    assert events.rows == [{"message": "TensorBoard cannot show the graph of this network: no inputs"}]


def test_a_format_that_cannot_be_written_is_refused_before_training(module: Any) -> None:
    request = parts.request(train=parts.training(export=["npy"]), run_dir="folder")
    with pytest.raises(Exception, match="unknown export format 'npy'"):
        module.Run(request, None, None, {})
