"""Layouts, quantization and endings of models without layers."""

from typing import Any

import numpy as np
import pytest

from zoo.protocol.request import ModelPart
from zoo.worker import frozen_model
from zoo.worker.errors import UserError
from zoo.worker.frozen_model import FrozenModel


def model(shape: list[int | None], outputs: dict[str, Any], ask: Any, dtype: str = "float32", scale: Any = None) -> Any:
    return FrozenModel((shape, np.dtype(dtype), scale), outputs, ask)


@pytest.mark.parametrize(
    ("shape", "image", "stored"),
    [
        ([None, 8, 6, 3], (8, 6, 3), (2, 8, 6, 3)),
        ([None, 3, 8, 6], (8, 6, 3), (2, 3, 8, 6)),
        ([None, 1, 28, 28], (28, 28, 1), (2, 1, 28, 28)),
        ([None, 28, 28], (28, 28, 1), (2, 28, 28)),
        ([None, 784], (28, 28, 1), (2, 784)),
        ([None, 27], (3, 3, 3), (2, 27)),
        ([None, None, None, 3], (None, None, 3), (2, 4, 4, 3)),
    ],
)
def test_images_are_given_in_the_layout_of_the_input(shape: Any, image: Any, stored: Any) -> None:
    seen = []
    opened = model(shape, {"y": [2]}, lambda rows, _: (seen.append(rows), rows.reshape(2, -1)[:, :2])[1])
    assert opened.shape == image
    pixels = np.arange(2 * np.prod([size or 4 for size in image])).reshape(2, *(size or 4 for size in image))
    opened.choose(None, "a").predict_on_batch(pixels)
    assert seen[0].shape == stored
    back = seen[0].transpose(0, 2, 3, 1) if shape[1] in (1, 3) and len(shape) == 4 else seen[0]
    np.testing.assert_array_equal(back.reshape(pixels.shape), pixels)


def test_other_inputs_are_refused() -> None:
    for shape in ([None, 8, 8, 5], [None, 785], [None, 2, 3, 4, 5]):
        with pytest.raises(UserError, match="not an image of 1 or 3 channels"):
            model(shape, {"y": [2]}, None)


@pytest.mark.parametrize(("dtype", "lowest", "zero"), [("uint8", 0, 127), ("int8", -128, -1)])
def test_quantized_pixels_come_back_as_they_are(dtype: str, lowest: int, zero: int) -> None:
    scale = 1 / 127.5
    seen: list[Any] = []

    def ask(rows: Any, _: str) -> Any:
        seen.append(rows)
        return rows.reshape(len(rows), -1)[:, :1]

    opened = model([None, 16, 16, 1], {"y": [1]}, ask, dtype, (scale, zero))
    pixels = np.arange(256, dtype=np.float32).reshape(1, 16, 16, 1)
    real = (pixels - np.float32(zero - lowest)) / np.float32(1 / scale)
    opened.choose(None, "a").predict_on_batch(real)
    assert seen[0].dtype == dtype
    np.testing.assert_array_equal(seen[0].ravel().astype(int), np.arange(256) + lowest)


def test_a_file_of_one_image_at_a_time_is_asked_once_for_each() -> None:
    seen: list[Any] = []
    opened = model([1, 2, 2, 1], {"y": [4]}, lambda rows, _: (seen.append(rows), rows.reshape(1, 4))[1])
    answers = opened.choose(None, "a").predict_on_batch(np.arange(12).reshape(3, 2, 2, 1))
    assert [rows.shape for rows in seen] == [(1, 2, 2, 1)] * 3
    np.testing.assert_array_equal(answers, np.arange(12).reshape(3, 4))


@pytest.mark.parametrize(
    ("function", "note", "expected"),
    [
        (lambda x: np.stack([x, 1 - x], 1), None, [0.25, 0.75]),
        (lambda x: np.stack([x, x], 1), "do not sum to one", [0.25, 0.25]),
        (lambda x: np.stack([x - x, np.log(3) + x - x], 1), "a softmax is applied", [0.25, 0.75]),
        (lambda x: x[:, None], "probability of the second class", [0.75, 0.25]),
        (
            lambda x: 9 + x[:, None] - x[:, None],
            "logit of the second class",
            [1 / (1 + np.exp(9)), 1 / (1 + np.exp(-9))],
        ),
    ],
)
def test_endings_become_probabilities(function: Any, note: str | None, expected: list[float]) -> None:
    def ask(rows: Any, _: str) -> Any:
        return function(np.clip(rows[:, 0, 0, 0], 0, 1))

    width = function(np.zeros(1)).shape[1]
    opened = model([None, 4, 4, 1], {"y": [width]}, ask).choose(None, "a", rank=1)
    notes = opened.end_in_probabilities(2, "a")
    assert [note in each for each in notes] == [True] if note else notes == []
    np.testing.assert_allclose(opened.predict_on_batch(np.full((1, 4, 4, 1), 0.25))[0], expected, atol=1e-6)


def test_outputs_and_numbers_of_classes_that_do_not_fit_are_named() -> None:
    outputs = {"classes": [3], "maps": [4, 4, 8], "other": [1, 1, 5]}
    opened = model([None, 4, 4, 1], outputs, lambda rows, name: np.zeros((len(rows), *outputs[name])))
    with pytest.raises(UserError, match=r"classes \(3,\), maps \(4, 4, 8\).*model.output=NAME"):
        opened.choose(None, "a", rank=1)
    with pytest.raises(UserError, match=r"model.output=NAME"):
        opened.choose("maps", "a", rank=1)
    with pytest.raises(UserError, match="returns 5 numbers for an image, but there are 3 classes"):
        opened.choose("other", "a", rank=1).end_in_probabilities(3, "a")
    assert opened.choose("maps", "a").predict_on_batch(np.zeros((2, 4, 4, 1))).shape == (2, 4, 4, 8)


def test_a_file_that_no_runtime_here_opens_is_named(tmp_path: Any) -> None:
    (tmp_path / "a.onnx").write_bytes(b"\x08\x08")
    with pytest.raises(UserError, match="cannot"):
        frozen_model.build(ModelPart(name="a", args={"classes": 2}, saved=str(tmp_path / "a.onnx")))


def test_a_missing_file_of_onnx_weights_is_named(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: str) -> None:
        raise RuntimeError('Error: 461 External data path does not exist: "/a b/net.onnx.data"')

    (tmp_path / "a.onnx").write_bytes(b"")
    monkeypatch.setattr(frozen_model, "_onnx", fail)
    with pytest.raises(
        UserError, match=r"a\.onnx cannot be opened: its file of weights, /a b/net\.onnx\.data, is missing"
    ):
        frozen_model.open_model(str(tmp_path / "a.onnx"))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [([(10, 4), (10,), (10,), ()], "has 4 outputs, as networks for detection: a, b, c, d. An image classifier"),
     ([(3,), (2,), (5,), (7,)], "choose one with model.output=NAME")],
)  # fmt: skip
def test_detectors_and_networks_with_several_answers_are_distinguished(shapes: Any, message: str) -> None:
    outputs = dict(zip("abcd", shapes, strict=True))
    opened = frozen_model.FrozenModel(((None, 4, 4, 1), np.dtype("float32"), None), outputs, lambda *_: None)
    with pytest.raises(UserError, match=message):
        opened.choose(None, "a")
