"""Requests: what is told of a wrong one, and what comes back of a whole one."""

import dataclasses
import re
from typing import Any

import pytest

from tests.support import parts
from zoo.config.schemas import common, image_classification, style_network, style_transfer, text
from zoo.protocol import request
from zoo.protocol.request import ProtocolError, Request

DEVICE = {"backend": "cpu", "framework": "jax", "device_kind": "cpu", "id": None}
STACK = {"framework": "jax", "keras": "keras"}
REQUEST: dict[str, Any] = {
    "protocol": request.PROTOCOL, "verb": "train", "job": "train_text_classifier", "run_dir": "/runs/a",
    "stack": STACK, "device": DEVICE, "model": {"name": "mnist", "args": {}}, "weights": None, "probes": True,
}  # fmt: skip


def problems(json: Any) -> list[str]:
    with pytest.raises(ProtocolError) as error:
        Request.of(json)
    return error.value.problems


def test_a_whole_request_comes_back() -> None:
    read = Request.of(REQUEST)
    assert (read.device.device_kind, read.resume, read.weights) == ("cpu", False, None)
    assert Request.of(read.to_json()) == read


def test_a_probe_needs_neither_job_nor_run_folder() -> None:
    asked = {"protocol": request.PROTOCOL, "verb": "probe", "stack": STACK, "device": DEVICE}
    assert Request.of(asked).job == ""


@pytest.mark.parametrize("name", ["verb", "stack", "device", "job", "run_dir"])
def test_a_missing_part_is_named(name: str) -> None:
    assert problems({part: value for part, value in REQUEST.items() if part != name}) == [f"{name} is missing"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verb": "dance"}, "verb is 'dance', valid verbs are probe, train, infer, evaluate, bench, export"),
        ({"job": "training.loop"}, "job should be a module name, got 'training.loop'"),
        ({"job": "../x"}, "job should be a module name, got '../x'"),
        ({"model": "mnist"}, "model should be an object, got 'mnist'"),
        ({"wieghts": "a.npz"}, "wieghts is unknown, its value is 'a.npz'"),
        ({"stack": {"framework": "jax"}}, "stack.keras is missing"),
        ({"device": DEVICE | {"device_kind": "tpu"}}, "device.device_kind should be cpu or gpu, got 'tpu'"),
        ({"probes": 1}, "probes should be true or false, got 1"),
        ({"pieces": ["a", 2]}, "pieces[1] should be text, got 2"),
        ({"protocol": 99, "verb": "dance"}, "this worker uses protocol 1, the request 99"),
    ],
)
def test_a_wrong_part_is_named_with_what_it_is(changes: dict[str, Any], words: str) -> None:
    assert problems(REQUEST | changes) == [words]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    reported = problems(REQUEST | {"verb": "dance", "wieghts": 1, "infer": {"batch_size": "many"}})
    assert sorted(words.split()[0] for words in reported) == ["infer.batch_size", "verb", "wieghts"]


def test_something_else_than_an_object_is_no_request() -> None:
    assert problems([1]) == ["Request should be an object, got [1]"]


@pytest.mark.parametrize(
    ("job", "train", "data"),
    [
        ("train_image_classifier", request.ImageTrainPart, request.ImageData),
        ("train_text_classifier", request.TextTrainPart, request.TextData),
        ("train_language_model", request.TextTrainPart, request.TokenData),
        ("train_style_network", request.StyleTrainPart, request.DataPart),
        ("predict", request.TrainPart, request.ItemData),
    ],
)
def test_the_job_says_what_its_parts_are(job: str, train: type, data: type) -> None:
    kinds = [Request.kind_of(name, {"job": job}) for name in ("train", "data")]
    assert [getattr(kind, "__args__", (kind,))[0] for kind in kinds] == [train, data]


@pytest.mark.parametrize(
    ("schema", "part", "more"),
    [
        (common.Trainer, request.ImageTrainPart, {"seed", "final_lr_ratio"}),
        (text.TextTrainer, request.TextTrainPart, {"seed"}),
        (
            style_network.StyleTrainer, request.StyleTrainPart,
            {"seed", "final_lr_ratio", "strength", "features", "layers", "painting", "inbox"},
        ),
        (image_classification.FineTune, request.FineTunePart, set()),
        (image_classification.Freeze, request.FreezePart, set()),
        (image_classification.Augment, request.AugmentPart, set()),
        (style_transfer.Layers, request.LayersPart, set()),
        (style_transfer.LossWeights, request.LossWeightsPart, set()),
    ],
)  # fmt: skip
def test_settings_and_their_part_have_the_same_fields(schema: Any, part: Any, more: set[str]) -> None:
    assert {field.name for field in dataclasses.fields(schema)} | more == set(part.fields())


def test_a_part_is_made_of_its_fields_and_no_others() -> None:
    with pytest.raises(TypeError, match=re.escape("DevicePart: unknown or missing: kind, backend, framework")):
        request.DevicePart(kind="cpu", device_kind="cpu")  # type: ignore[call-arg]


def test_another_value_leaves_the_part_as_it_was() -> None:
    one = parts.training(batch_size=8)
    assert (one.replace(batch_size=4).batch_size, one.batch_size) == (4, 8)
    assert one != one.replace(batch_size=4)
