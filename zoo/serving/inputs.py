"""Parse the bodies of requests, in all accepted formats."""

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from zoo.runs.records import Json
from zoo.serving.errors import RequestError

MOST_INSTANCES = 128
RAW = "application/octet-stream"
MULTIPART = "multipart/form-data"
# The type that `curl -d` declares for any body, as in the JSON examples of TensorFlow Serving.
CURL = "application/x-www-form-urlencoded"


class Asked(NamedTuple):
    """The instances and parameters of a request, before conversion to arrays."""

    instances: list[Any]
    parameters: Json
    names: list[str] | None = None


async def read(request: Request, pixels: Callable[[bytes], list[Any]], known: Iterable[str]) -> Asked:
    """Read the body of a request; raise RequestError for an unknown type or a malformed, empty or too large body.

    Args:
        pixels: splits a body of raw pixels into instances.
        known: names of the parameters; any other is refused.
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind == MULTIPART:
        asked = await _of_form(request)
    elif kind == RAW:
        asked = Asked(pixels(await request.body()), {})
    elif kind.startswith("image/"):
        asked = Asked([await request.body()], {})
    elif kind in ("application/json", CURL):
        asked = of_json(await request.body())
    else:
        kinds = f"application/json, {MULTIPART}, image/*, {RAW}"
        raise RequestError(415, f"Unsupported content type {kind[:100]!r}; supported: {kinds}")
    if not 1 <= len(asked.instances) <= MOST_INSTANCES:
        raise RequestError(400, f"A request must have 1 to {MOST_INSTANCES} instances, got {len(asked.instances)}")
    require_known(asked.parameters, known)
    return asked


def require_known(content: Json, known: Iterable[str]) -> None:
    """Raise RequestError for a key that would have no effect."""
    if unknown := sorted({*content} - {*known}):
        raise RequestError(400, f"Unknown key {unknown[0][:40]!r}; known: {', '.join(known) or 'none'}")


def parsed(body: bytes) -> Json:
    """Parse a body as a JSON object; raise RequestError for anything else."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("; use sys.")[0][:200]  # advice for programs in Python
        raise RequestError(400, f"The body is not valid JSON: {reason}") from None
    if not isinstance(content, dict):
        raise RequestError(400, f"The body must be an object with `instances`, not {kind_of(content)}")
    return content


def of_json(body: bytes) -> Asked:
    """Parse a body like ``{"instances": [...]}`` (TensorFlow Serving, KServe); raise RequestError for any other."""
    content = parsed(body)
    require_known(content, ("instances", "parameters", "signature_name"))  # the last by clients of TensorFlow Serving
    instances, parameters = content.get("instances"), content.get("parameters", {})
    if not isinstance(instances, list):
        raise RequestError(400, '`instances` is missing or not a list: {"instances": [...]}')
    if not isinstance(parameters, dict):
        raise RequestError(400, f"`parameters` must be an object, not {kind_of(parameters)}")
    return Asked(instances, parameters)


async def _of_form(request: Request) -> Asked:
    try:
        async with request.form(max_files=MOST_INSTANCES, max_fields=16) as form:
            files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
            fields = {key: value for key, value in form.multi_items() if isinstance(value, str)}
            return Asked([await file.read() for file in files], fields, [file.filename or "" for file in files])
    except MultiPartException as error:
        raise RequestError(400, f"The form is malformed: {error.message}") from None
    except RequestError:
        raise
    except Exception as error:  # starlette converts only some of the parser's errors
        raise RequestError(400, f"The form is malformed: {str(error)[:200] or type(error).__name__}") from None


def text_of(instance: Any, key: str, most: int) -> str:
    """Return the text of an instance, a string or ``key`` of an object; raise RequestError if it is invalid."""
    text = instance
    if isinstance(instance, dict):
        require_known(instance, (key,))
        text = instance.get(key)
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        raise RequestError(400, f'An instance must be a text or {{"{key}": TEXT}}, not {kind_of(instance)}')
    if len(text) > most:
        raise RequestError(413, f"The text has {len(text):,} characters, more than {most:,}")
    return text


def bytes_of(name: str, instance: Any) -> bytes:
    """Return the bytes of an image from bytes, Base64, ``{"b64": ...}``, ``{"image": ...}``, or a named object."""
    if not isinstance(instance, bytes | dict | str):
        raise RequestError(400, f"An instance for {name} must be an image, not {kind_of(instance)}")
    value: Any = instance
    if isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        value = inner
    if isinstance(value, dict):
        require_known(value, ("image",) if {*value} == {"image"} else ("b64",))
        value = next(iter(value.values()), None)
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise RequestError(400, 'An image must be {"b64": BASE64} or a list of pixels')
    try:
        return base64.b64decode(value.partition(",")[2] if value.startswith("data:") else value, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError(400, "The image is not valid Base64") from None


def number(name: str, value: Any, schema: Json, most: float = math.inf) -> float:
    """Return a number from JSON or a form field; raise RequestError unless it is in the range of ``schema``.

    ``most`` is the maximum of a schema without one.
    """
    whole, low, high = "integer" in schema["type"], schema["minimum"], schema.get("maximum", most)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,11}" if whole else r"[0-9]{1,9}(\.[0-9]{0,9})?", value):
        value = int(value) if whole else float(value)  # a form field
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise RequestError(400, f"{name} must be {kind} from {low} to {high}, got {str(value)[:40]}")
    return value


def kind_of(value: Any) -> str:
    words = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return words.get(type(value), "a number")
