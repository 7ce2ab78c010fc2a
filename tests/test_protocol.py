"""What the host and the worker agree on."""

from typing import Any

import pytest

from zoo import protocol

DEVICE = {"backend": "cpu", "framework": "jax", "promise": "cpu", "id": None}
STACK = {"framework": "jax", "keras": "keras"}
REQUEST: dict[str, Any] = {
    "protocol": protocol.PROTOCOL, "verb": "train", "job": "train_text_classifier", "run_dir": "/runs/a",
    "stack": STACK, "device": DEVICE, "model": {"name": "mnist", "args": {}}, "weights": None, "probes": True,
}  # fmt: skip


def test_a_whole_request_has_no_problems() -> None:
    assert protocol.check_request(REQUEST) == []


def test_a_probe_needs_neither_job_nor_run_folder() -> None:
    asked = {"protocol": protocol.PROTOCOL, "verb": "probe", "stack": STACK, "device": DEVICE}
    assert protocol.check_request(asked) == []


@pytest.mark.parametrize("name", ["verb", "stack", "device", "job", "run_dir"])
def test_a_missing_part_is_named(name: str) -> None:
    problems = protocol.check_request({part: value for part, value in REQUEST.items() if part != name})
    assert problems == [f"{name} is missing"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verb": "dance"}, "verb is 'dance', known are probe, train, infer, evaluate, bench, export"),
        ({"job": "training.loop"}, "job is 'training.loop', which is not the name of a job"),
        ({"job": "../x"}, "job is '../x', which is not the name of a job"),
        ({"model": "mnist"}, "model is of type str"),
        ({"wieghts": "a.npz"}, "'wieghts' is no part of a request"),
        ({"stack": {"framework": "jax"}}, "stack.keras is missing"),
        ({"protocol": 99}, "this worker speaks protocol 1, the request 99"),
    ],
)
def test_a_wrong_part_is_named_with_what_it_is(changes: dict[str, Any], words: str) -> None:
    assert protocol.check_request(REQUEST | changes) == [words]


def test_something_else_than_an_object_is_no_request() -> None:
    assert protocol.check_request([1]) == ["a request is an object, not list"]
