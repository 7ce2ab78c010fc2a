"""zoo.serving.inputs: bodies of requests in all accepted formats, and what is refused."""

import asyncio
import base64
import json
from typing import Any

import pytest
from starlette.requests import Request

from zoo.serving import inputs
from zoo.serving.errors import RequestError

B64 = base64.b64encode(b"picture").decode()


def request(body: bytes, kind: str | None = "application/json") -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [] if kind is None else [(b"content-type", kind.encode())]
    return Request({"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}, receive)


def read(body: bytes, kind: str | None = "application/json") -> inputs.Asked:
    def pixels(content: bytes) -> list[bytes]:
        return [content[:2], content[2:]]

    return asyncio.run(inputs.read(request(body, kind), pixels, ("top", "size")))


def refusal(call: Any) -> tuple[int, str]:
    with pytest.raises(RequestError) as caught:
        call()
    return caught.value.status, caught.value.message


FORM = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\nabc\r\n'
    b'--x\r\nContent-Disposition: form-data; name="top"\r\n\r\n3\r\n--x--\r\n'
)


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b'{"instances": [1, 2]}', "application/json", ([1, 2], {}, None)),
        (b'{"instances": [1], "parameters": {"top": 3}}', "Application/JSON; charset=utf-8", ([1], {"top": 3}, None)),
        (b'{"instances": [1], "signature_name": "x"}', inputs.CURL, ([1], {}, None)),
        (b'{"instances": [1]}', None, ([1], {}, None)),
        (b"abcd", inputs.RAW, ([b"ab", b"cd"], {}, None)),
        (b"abcd", "image/png", ([b"abcd"], {}, None)),
        (FORM, "multipart/form-data; boundary=x", ([b"abc"], {"top": "3"}, ["a.png"])),
    ],
)
def test_bodies_of_all_kinds_have_instances(body: bytes, kind: str | None, expected: tuple[Any, ...]) -> None:
    assert tuple(read(body, kind)) == expected


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (b"x", "text/plain", 415, "Unsupported content type 'text/plain'; supported: application/json, multipart/"),
        (b"{", "application/json", 400, "The body is not valid JSON: "),
        (b"[" * 100_000, "application/json", 400, "The body is not valid JSON: "),
        (b"[1]", "application/json", 400, "The body must be an object with `instances`, not a list"),
        (b"{}", "application/json", 400, "`instances` is missing or not a list"),
        (b'{"instances": 3}', "application/json", 400, "`instances` is missing or not a list"),
        (b'{"instances": [1], "parameters": 3}', "application/json", 400, "`parameters` must be an object, not a nu"),
        (b'{"instances": [1], "top": 3}', "application/json", 400, "Unknown key 'top'; known: instances, "),
        (b'{"instances": [1], "parameters": {"tpo": 3}}', "application/json", 400, "Unknown key 'tpo'; known: top"),
        (b'{"instances": []}', "application/json", 400, "A request must have 1 to 128 instances, got 0"),
        (b"--y\r\nbroken", "multipart/form-data; boundary=x", 400, "The form is malformed: "),
        (b"", "multipart/form-data", 400, "The form is malformed: "),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(body: bytes, kind: str, status: int, words: str) -> None:
    answered, said = refusal(lambda: read(body, kind))
    assert (answered, said[: len(words)]) == (status, words)


def test_a_request_has_at_most_so_many_instances() -> None:
    assert len(read(json.dumps({"instances": [0] * 128}).encode()).instances) == 128
    status, words = refusal(lambda: read(json.dumps({"instances": [0] * 129}).encode()))
    assert (status, words) == (400, "A request must have 1 to 128 instances, got 129")


@pytest.mark.parametrize(
    ("instance", "expected"),
    [("abc", "abc"), ({"text": "abc"}, "abc"), (b"ab\xff", "ab\ufffd"), ({"text": b"a"}, "a"), ("x" * 5, "x" * 5)],
)
def test_a_text_is_a_string_or_within_an_object(instance: Any, expected: str) -> None:
    assert inputs.text_of(instance, "text", 5) == expected


@pytest.mark.parametrize(
    ("instance", "status", "words"),
    [
        (3, 400, 'An instance must be a text or {"text": TEXT}, not a number'),
        ({"txt": "a"}, 400, "Unknown key 'txt'; known: text"),
        ({"text": "a", "size": 5}, 400, "Unknown key 'size'; known: text"),
        ({}, 400, 'An instance must be a text or {"text": TEXT}, not an object'),
        (None, 400, 'An instance must be a text or {"text": TEXT}, not null'),
        (True, 400, 'An instance must be a text or {"text": TEXT}, not true or false'),
        ("x" * 6, 413, "The text has 6 characters, more than 5"),
    ],
)
def test_what_is_no_text_or_too_long_is_refused(instance: Any, status: int, words: str) -> None:
    assert refusal(lambda: inputs.text_of(instance, "text", 5)) == (status, words)


@pytest.mark.parametrize(
    "instance",
    [b"picture", B64, {"b64": B64}, {"image": {"b64": B64}}, {"image": B64},
     f"data:image/png;base64,{B64}"],
)  # fmt: skip
def test_a_picture_is_bytes_or_base64(instance: Any) -> None:
    assert inputs.bytes_of("m", instance) == b"picture"


@pytest.mark.parametrize(
    ("instance", "words"),
    [
        (3, "An instance for m must be an image, not a number"),
        ([1], "An instance for m must be an image, not a list"),
        ({"a": B64, "b": B64}, "Unknown key 'a'; known: b64"),
        ({"b64": B64, "size": 5}, "Unknown key 'size'; known: b64"),
        ({"b65": B64}, "Unknown key 'b65'; known: b64"),
        ({"image": {"b64": B64, "size": 5}}, "Unknown key 'size'; known: b64"),
        ({}, 'An image must be {"b64": BASE64} or a list of pixels'),
        ({"a": {"b": {"c": B64}}}, "Unknown key 'b'; known: b64"),
        ({"b64": 3}, 'An image must be {"b64": BASE64} or a list of pixels'),
        ("???", "The image is not valid Base64"),
        ("ü", "The image is not valid Base64"),
    ],
)
def test_what_is_no_picture_is_refused(instance: Any, words: str) -> None:
    assert refusal(lambda: inputs.bytes_of("m", instance)) == (400, words)


WHOLE, REAL = {"type": "integer", "minimum": 1}, {"type": ["number", "null"], "minimum": 0, "maximum": 1}


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [(1, WHOLE, 1), (9, WHOLE, 9), ("7", WHOLE, 7), (0, REAL, 0), (1, REAL, 1), ("0.5", REAL, 0.5), ("1", REAL, 1.0)],
)
def test_numbers_may_come_from_a_form(value: Any, schema: dict[str, Any], expected: float) -> None:
    number = inputs.number("x", value, schema, 9)
    assert number == expected
    assert type(number) is (int if schema is WHOLE else type(expected))


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        (0, WHOLE, "x must be a whole number from 1 to 9, got 0"),
        (10, WHOLE, "x must be a whole number from 1 to 9, got 10"),
        (1.5, WHOLE, "x must be a whole number from 1 to 9, got 1.5"),
        ("1.5", WHOLE, "x must be a whole number from 1 to 9, got 1.5"),
        (True, WHOLE, "x must be a whole number from 1 to 9, got True"),
        ("x" * 50, WHOLE, f"x must be a whole number from 1 to 9, got {'x' * 40}"),
        (None, WHOLE, "x must be a whole number from 1 to 9, got None"),
        (-0.1, REAL, "x must be a number from 0 to 1, got -0.1"),
        (1.1, REAL, "x must be a number from 0 to 1, got 1.1"),
        ("-1", REAL, "x must be a number from 0 to 1, got -1"),
        (False, REAL, "x must be a number from 0 to 1, got False"),
        (float("nan"), REAL, "x must be a number from 0 to 1, got nan"),
    ],
)
def test_numbers_out_of_range_are_refused(value: Any, schema: dict[str, Any], words: str) -> None:
    assert refusal(lambda: inputs.number("x", value, schema, 9)) == (400, words)
