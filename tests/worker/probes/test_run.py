"""The probes: right numbers pass, wrong ones are caught, and what follows from that."""
# ruff: noqa: N802  (layers are named as Keras names them)

import dataclasses
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support import parts
from zoo.explain import known_issues
from zoo.protocol.request import Request

METAL, CPU = parts.device("gpu", "metal"), parts.device()


@dataclasses.dataclass
class Layers:
    """Keras's layers as far as the probes use them, computed at once by numpy in float32."""

    weights: Iterator[np.ndarray]
    rounded: Any = np.float32

    def Dense(self, _units: int, activation: str = "", use_bias: bool = True, **_: Any) -> Any:
        kernel = self.rounded(next(self.weights))
        bias = next(self.weights) if use_bias else np.float32(0)
        return lambda x: activated(self.rounded(x) @ kernel + bias, activation)

    def Conv2D(self, _filters: int, size: Any, activation: str = "", use_bias: bool = True, **_: Any) -> Any:
        kernel, bias = self.rounded(next(self.weights)), next(self.weights) if use_bias else np.float32(0)
        if size == (1, 1):
            return lambda x: activated(self.rounded(x) @ kernel[0, 0] + bias, activation)
        return lambda x: activated(np.einsum("nhwiab,abio->nhwo", self.windows(x), kernel) + bias, activation)

    def DepthwiseConv2D(self, _size: Any, **_: Any) -> Any:
        kernel, bias = self.rounded(next(self.weights)), next(self.weights)
        return lambda x: np.einsum("nhwiab,abid->nhwi", self.windows(x), kernel) + bias

    def windows(self, x: np.ndarray) -> np.ndarray:
        padded = np.pad(self.rounded(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
        return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))

    def BatchNormalization(self, epsilon: float) -> Any:
        gamma, beta, _, _ = (next(self.weights) for _ in range(4))
        places = (0, 1, 2)
        return lambda x: (x - x.mean(places)) / np.sqrt(x.var(places) + epsilon) * gamma + beta

    def GlobalAveragePooling2D(self) -> Any:
        return lambda x: x.mean(axis=(1, 2))

    def MaxPooling2D(self, _size: Any) -> Any:
        return lambda x: np.maximum.reduce([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])

    def Dot(self, axes: tuple[int, int]) -> Any:
        letters = {(2, 2): "nij,nkj->nik", (2, 1): "nij,njk->nik"}[axes]
        return lambda pair: np.einsum(letters, *(self.rounded(each) for each in pair))

    def Activation(self, name: str) -> Any:
        return lambda x: activated(x, name)

    def Lambda(self, function: Any) -> Any:
        return function

    class Dropout:
        anew = np.random.RandomState(0)

        def __init__(self, _rate: float, seed: int | None = None) -> None:
            self.random = self.anew if seed is None else np.random.RandomState(seed)

        def call(self, x: np.ndarray, training: bool | None = None) -> np.ndarray:
            return x * (self.random.uniform(size=x.shape) < 0.5) * 2 if training else x

        def __call__(self, x: np.ndarray) -> np.ndarray:
            return self.call(x)


def activated(x: np.ndarray, name: str, axis: int = -1) -> np.ndarray:
    if name == "softmax":
        raised = np.exp(x - x.max(axis=axis, keepdims=True))
        return raised / raised.sum(axis=axis, keepdims=True)
    return np.maximum(x, 0) if name == "relu" else x


def ten_bits(x: np.ndarray) -> np.ndarray:
    """Round float32 to the 10 bits of mantissa that NVIDIA's TF32 multiplies."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def by_numpy(layers: type[Layers] = Layers, rounded: Any = np.float32) -> types.SimpleNamespace:
    """What the probes try, done by numpy; slopes are found by moving each weight up and down a bit."""

    def predict(build: Any, arrays: Any, weights: Any = (), calls: int = 1) -> list[Any]:
        return [build(layers(iter(weights), rounded), *arrays) for _ in range(calls)]

    def step(build: Any, x: np.ndarray, y: np.ndarray, weights: Any, rate: float) -> tuple[Any, str]:
        weights = [np.asarray(each, np.float64) for each in weights]

        def loss() -> float:
            return float(-np.log((build(layers(iter(weights), np.asarray), x) * y).sum(axis=-1)).mean())

        slopes = [np.zeros_like(each) for each in weights]
        for each, slope in zip(weights, slopes, strict=True):
            for place in np.ndindex(each.shape):
                kept = each[place]
                each[place] = kept + 1e-5
                above = loss()
                each[place] = kept - 1e-5
                slope[place] = (above - loss()) / 2e-5
                each[place] = kept
        return [each - rate * slope for each, slope in zip(weights, slopes, strict=True)], "kernel"

    def place(_variable: Any) -> tuple[str, str]:
        return "GPU:0", "gpu"

    return types.SimpleNamespace(predict=predict, step=step, place=place, backend="tensorflow")


@pytest.fixture
def probes(keras: types.ModuleType) -> Any:
    """The module under test."""
    from zoo.worker.probes import run

    return run


def failed(rows: list[dict[str, Any]]) -> set[str]:
    return {row["name"] for row in rows if not row["ok"]}


def largest(rows: list[dict[str, Any]]) -> float:
    """The largest error of those that are relative to the largest value."""
    return max(row["largest_error"] for row in rows if row["tolerance"])


# -- right numbers


def test_right_numbers_pass(probes: Any) -> None:
    rows = probes.examine(by_numpy(), METAL)
    assert [row["name"] for row in rows] == [
        "backend", "dense_relu", "convolution", "depthwise", "attention", "argmax", "integers", "wide_integers",
        "dropout", "train_step", "normalised_step", "variable",
    ]  # fmt: skip
    assert not failed(rows)
    assert not [row for row in rows if row["skipped"]]
    assert largest(rows) < 2e-6


def test_factors_of_ten_bits_pass_on_a_gpu_and_not_on_a_cpu(probes: Any) -> None:
    rough = by_numpy(rounded=ten_bits)
    on_gpu = probes.examine(rough, METAL)
    assert not failed(on_gpu)
    assert 1e-4 < largest(on_gpu) < probes.TOLERANCE["gpu"] / 3
    on_cpu = probes.examine(rough, CPU)
    assert failed(on_cpu) >= {"dense_relu", "convolution", "depthwise", "attention"}


# -- wrong numbers


class NoRelu(Layers):
    """https://github.com/tensorflow/tensorflow/issues/61650"""

    def Dense(self, units: int, activation: str = "", **names: Any) -> Any:
        return super().Dense(units, "" if activation == "relu" else activation, **names)


class TransposedKernel(Layers):
    def Conv2D(self, *args: Any, **names: Any) -> Any:
        kernel, bias = self.weights
        return dataclasses.replace(self, weights=iter([kernel.swapaxes(0, 1), bias])).plain(*args, **names)

    plain = Layers.Conv2D


class NeighboursChannel(Layers):
    def DepthwiseConv2D(self, *args: Any, **names: Any) -> Any:
        plain = super().DepthwiseConv2D(*args, **names)
        return lambda x: plain(np.roll(x, 1, axis=-1))


class OtherAxis(Layers):
    def Activation(self, name: str) -> Any:
        return lambda x: activated(x, name, axis=-2)


class NoPlace(Layers):
    """https://github.com/pytorch/pytorch/issues/112186"""

    def Lambda(self, function: Any) -> Any:
        return lambda x: np.zeros_like(function(x)) if isinstance(x, np.ndarray) and x.shape[-1] == 40 else function(x)


class CountingInFloats(Layers):
    def Lambda(self, function: Any) -> Any:
        def count(x: Any) -> Any:
            exact = function(x)
            return exact.astype(np.float32).astype(exact.dtype) if exact.dtype == np.int32 else exact

        return count


class HalfWidth(Layers):
    """https://github.com/pytorch/pytorch/issues/78848"""

    def Lambda(self, function: Any) -> Any:
        return lambda x: function(x).astype(np.int32).astype(np.int64)


class SameMask(Layers):
    """https://github.com/keras-team/keras/issues/16720"""

    class Dropout(Layers.Dropout):
        def __init__(self, rate: float, seed: int | None = None) -> None:
            super().__init__(rate, seed or 3)


class DeafToSeeds(Layers):
    """https://github.com/tensorflow/tensorflow/issues/57924"""

    class Dropout(Layers.Dropout):
        def __init__(self, rate: float, seed: int | None = None) -> None:
            super().__init__(rate, None)


class NothingDropped(Layers):
    class Dropout(Layers.Dropout):
        def call(self, x: np.ndarray, training: bool | None = None) -> np.ndarray:
            return x


class NotANumber(Layers):
    def Dot(self, axes: tuple[int, int]) -> Any:
        return lambda pair: super(NotANumber, self).Dot(axes)(pair) * np.nan


class KeptMeans(Layers):
    def BatchNormalization(self, epsilon: float) -> Any:
        gamma, beta, mean, variance = (next(self.weights) for _ in range(4))
        return lambda x: (x - mean) / np.sqrt(variance + epsilon) * gamma + beta


class MissingRow(Layers):
    def MaxPooling2D(self, size: Any) -> Any:
        return lambda x: Layers.MaxPooling2D(self, size)(x)[:, 1:]


@pytest.mark.parametrize(
    ("layers", "caught"),
    [
        (NoRelu, {"dense_relu", "train_step"}), (TransposedKernel, {"convolution"}),
        (NeighboursChannel, {"depthwise"}), (OtherAxis, {"attention"}), (NoPlace, {"argmax"}),
        (CountingInFloats, {"integers"}),
        (HalfWidth, {"wide_integers"}), (SameMask, {"dropout"}), (DeafToSeeds, {"dropout"}),
        (KeptMeans, {"normalised_step"}),
        (NothingDropped, {"dropout"}), (NotANumber, {"attention"}), (MissingRow, {"convolution"}),
    ],
)  # fmt: skip
def test_a_wrong_operation_is_caught_by_its_probe(probes: Any, layers: type[Layers], caught: set[str]) -> None:
    assert failed(probes.examine(by_numpy(layers), METAL)) == caught


@pytest.mark.parametrize(
    ("name", "wrong", "caught"),
    [
        ("backend", "jax", {"backend"}),
        ("place", lambda variable: ("CPU:0", "cpu"), {"variable"}),
        ("step", lambda build, x, y, weights, rate: (weights, "kernel"), {"train_step", "normalised_step"}),
    ],
)
def test_a_wrong_place_backend_or_step_is_caught(probes: Any, name: str, wrong: Any, caught: set[str]) -> None:
    tried = by_numpy()
    setattr(tried, name, wrong)
    assert failed(probes.examine(tried, METAL)) == caught


# -- what follows


class Events:
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def emit(self, event: str, message: str) -> None:
        self.events.append((event, message))


def test_a_failure_stops_a_promised_gpu_and_names_the_known_issue(probes: Any) -> None:
    rows = probes.examine(by_numpy(NoRelu), METAL)
    with pytest.raises(probes.ProbeError, match=r"backend metal: dense_relu \(off by [\d.]+ of the largest value, "):
        probes.enforce(rows, METAL, Events())
    with pytest.raises(probes.ProbeError, match="known issue metal-fused-dense-relu-wrong"):
        probes.enforce(rows, METAL, Events())


def test_without_a_promise_a_failure_is_a_warning(probes: Any) -> None:
    events = Events()
    probes.enforce(probes.examine(by_numpy(NoPlace), CPU), CPU, events)
    assert events.events == [("warning", events.events[0][1])]
    assert "argmax (32 wrong; no known issue)" in events.events[0][1]


def test_nothing_is_said_where_all_is_well(probes: Any) -> None:
    events = Events()
    probes.enforce(probes.examine(by_numpy(), METAL), METAL, events)
    assert not events.events


def test_a_probe_that_cannot_be_computed_is_skipped_aloud(probes: Any) -> None:
    tried, events = by_numpy(), Events()
    tried.predict = lambda *_, **__: (_ for _ in ()).throw(NotImplementedError("no kernel\nfor it"))
    tried.place = lambda _: None
    rows = probes.examine(tried, METAL)
    assert not failed(rows)
    reasons = {row["name"]: row["skipped"] for row in rows}
    assert reasons["attention"] == "it failed loudly: NotImplementedError: no kernel"
    assert reasons["variable"] == "this framework does not report the device of a variable"
    probes.enforce(rows, METAL, events)
    assert len(events.events) == 8
    assert events.events[0][0] == "warning"


@pytest.mark.parametrize(
    ("request_", "kind", "reason"),
    [
        (parts.request(device=METAL), "gpu", "not requested"),
        (parts.request(verb="probe", device=METAL), "gpu", "not requested"),
        (parts.request(device=METAL, probes=True), "cpu", "the device is not the requested one"),
    ],
)
def test_probes_that_are_not_run_say_why(probes: Any, request_: Request, kind: str, reason: str) -> None:
    rows = probes.run(request_, None, kind)
    assert {(row["ok"], row["largest_error"], row["skipped"]) for row in rows} == {(True, None, reason)}


def test_frameworks_are_not_asked_for_what_they_lack(probes: Any) -> None:
    names = {probe.__name__ for probe, _ in probes.PROBES}
    for framework in ("jax", "mlx", "openvino", "plaidml", "tensorflow", "torch"):
        lacking = probes.devices.capabilities(framework)["skipped_probes"]
        assert lacking.keys() < names
        rows = probes.examine(by_numpy(), CPU.replace(framework=framework))
        assert {row["name"]: row["skipped"] for row in rows if row["skipped"]} == lacking


def test_every_issue_that_a_probe_names_is_known(probes: Any) -> None:
    known = {issue.id: issue for issue in known_issues.issues()}
    named = [(backend, issue) for backend, issues in probes.ISSUES.items() for issue in issues.values()]
    for backend, issue in [*named, ("metal", "keras-backend-set-late")]:
        assert known[issue].probe
        assert backend in known[issue].backends or not known[issue].backends
    names = {probe.__name__ for probe, _ in probes.PROBES}
    assert {name for issues in probes.ISSUES.values() for name in issues} <= names
