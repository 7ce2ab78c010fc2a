"""From the bodies of requests to what models take; each way that a client may write the same is here."""

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from zoo.config.schemas.serving import ServeConfig
from zoo.core.errors import ZooError
from zoo.data.text import tokenization
from zoo.runs.records import Json
from zoo.serving.decoders import Decoders
from zoo.serving.errors import RequestError
from zoo.serving.models import RESTYLED_SIDE, Model
from zoo.tasks.text import language_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_INSTANCES = 128
RAW = "application/octet-stream"
MULTIPART = "multipart/form-data"
# What `curl -d` says of any body, also of the JSON in the examples of TensorFlow Serving.
CURL = "application/x-www-form-urlencoded"
LONGEST_TEXT = 2000
SMALLEST_SIDE = 32
DEFAULTS: Json = {"length": 200, "temperature": 0.8, "top_k": None, "top_p": None, "seed": 1}


class Asked:
    """What a request asks: its instances as they came, and its parameters."""

    def __init__(self, instances: list[Any], parameters: Json, names: list[str] | None = None) -> None:
        self.instances, self.parameters, self.names = instances, parameters, names


async def read(request: Request, model: Model) -> Asked:
    """Read the body of a request.

    Raises:
        RequestError: it is of no known type, malformed, empty or too much.
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind == MULTIPART:
        asked = await _of_form(request)
    elif kind == RAW:
        asked = Asked(_of_raw(await request.body(), model), {})
    elif kind.startswith("image/"):
        asked = Asked([await request.body()], {})
    elif kind in ("application/json", CURL):
        asked = of_json(await request.body())
    else:
        kinds = f"application/json, {MULTIPART}, image/*, {RAW}"
        raise RequestError(415, f"The type of the body is {kind[:100]!r}; known are {kinds}")
    if not 1 <= len(asked.instances) <= MOST_INSTANCES:
        raise RequestError(400, f"A request has 1 to {MOST_INSTANCES} instances, this one {len(asked.instances)}")
    return asked


def parsed(body: bytes) -> Json:
    """Return a body as a JSON object.

    Raises:
        RequestError: it is none.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"The body is no JSON: {str(error)[:200]}") from None
    if not isinstance(content, dict):
        raise RequestError(400, f"The body is an object with `instances`, not {_kind(content)}")
    return content


def of_json(body: bytes) -> Asked:
    """Read a body in the form of TensorFlow Serving and KServe: ``{"instances": [...]}``.

    Raises:
        RequestError: it is not of that form.
    """
    content = parsed(body)
    instances, parameters = content.get("instances"), content.get("parameters", {})
    if not isinstance(instances, list):
        raise RequestError(400, '`instances` is missing, or no list: {"instances": [...]}')
    if not isinstance(parameters, dict):
        raise RequestError(400, f"`parameters` is an object, not {_kind(parameters)}")
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
    except Exception as error:  # starlette turns some of the parser's errors into its own
        raise RequestError(400, f"The form is malformed: {str(error)[:200] or type(error).__name__}") from None


def _of_raw(body: bytes, model: Model) -> "list[NDArray[Any]]":
    """Pixels as they are, uint8, one picture of the size of the network after the other."""
    import numpy as np

    shape = (*model.size, model.channels)
    size = shape[0] * shape[1] * shape[2]
    if model.kind != "pictures":
        raise RequestError(415, f"{model.name} does not take {RAW}")
    if not body or len(body) % size:
        raise RequestError(400, f"A picture is {size:,} bytes, {shape} uint8; the body has {len(body):,}")
    return list(np.frombuffer(body, np.uint8).reshape(-1, *shape))


class Preparer:
    """Makes what models take of what clients write.

    Args:
        decoders: of pictures.
        limits: of the server.
    """

    def __init__(self, decoders: Decoders, limits: ServeConfig) -> None:
        self._decoders, self._limits = decoders, limits

    async def item(self, model: Model, instance: Any, parameters: Json) -> "NDArray[Any]":
        """Return one instance as the array that its model takes.

        Raises:
            RequestError: it is none for this model.
        """
        if model.kind == "texts":
            return self._text(model, instance)
        if isinstance(instance, list):
            return _pixels(model, instance)
        if not isinstance(instance, bytes | dict | str):
            return _as_array(model, instance)
        return await self._picture(model, _bytes_of(instance), parameters)

    async def _picture(self, model: Model, content: bytes, parameters: Json) -> "NDArray[Any]":
        if model.kind == "restyle":
            side = _whole_number("side", parameters.get("side", 640), SMALLEST_SIDE, RESTYLED_SIDE)
            how: Json = {"op": "whole", "side": side}
        elif model.style is None:
            how = {"op": "photo", "size": model.size, "resize": model.resize}
        else:
            how = {"op": "grey", "size": model.size, "style": model.style}
        return await self._decoders.decode(content, how)

    def _text(self, model: Model, instance: Any) -> "NDArray[Any]":
        import numpy as np

        assert model.tokenizer is not None  # noqa: S101  (models of texts have one)
        text = self.text(instance, "text")
        tokens = model.tokenizer.encode(text)
        if not tokens or tokenization.is_blank(model.tokenizer.kind, text):
            raise RequestError(422, "The text is blank: there is nothing to read in it")
        row = np.zeros(model.length, np.int32)
        row[: min(len(tokens), model.length)] = _middle_left_out(tokens, model.length)
        return row

    def text(self, instance: Any, key: str) -> str:
        """Return the text of an instance: a string, or an object that holds it.

        Raises:
            RequestError: it is none, or too long.
        """
        text = instance.get(key) if isinstance(instance, dict) else instance
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if not isinstance(text, str):
            raise RequestError(400, f'An instance is a text or {{"{key}": TEXT}}, not {_kind(instance)}')
        if len(text) > self._limits.max_characters:
            words = f"The text has {len(text):,} characters, more than {self._limits.max_characters:,}"
            raise RequestError(413, words)
        return text

    def prompt(self, model: Model, content: Json) -> Json:
        """Return what a language model is asked: tokens and how to draw.

        Raises:
            RequestError: a setting is wrong, or the vocabulary lacks something of the prompt.
        """
        assert model.tokenizer is not None  # noqa: S101
        chosen = {key: content.get(key, value) for key, value in DEFAULTS.items()}
        chosen["length"] = _whole_number("length", chosen["length"], 1, LONGEST_TEXT)
        chosen["seed"] = _whole_number("seed", chosen["seed"], 0, 2**32 - 1)
        chosen["temperature"] = _number("temperature", chosen["temperature"], 0, 100)
        if chosen["top_p"] is not None:
            chosen["top_p"] = _number("top_p", chosen["top_p"], 1e-6, 1)
        if chosen["top_k"] is not None:
            chosen["top_k"] = _whole_number("top_k", chosen["top_k"], 1, len(model.tokenizer))
        try:
            tokens = language_model.prompt_tokens(model.tokenizer, self.text(content.get("prompt", ""), "prompt"))
        except ZooError as error:
            raise RequestError(422, error.message) from None
        return chosen | {"tokens": [int(token) for token in tokens[-model.length :]]}


def _middle_left_out(tokens: list[int], length: int) -> list[int]:
    """Of a text that is too long the beginning and the end are read, as in training."""
    return tokens if len(tokens) <= length else [*tokens[: length // 2], *tokens[-(length - length // 2) :]]


def _bytes_of(instance: bytes | str | Json) -> bytes:
    """Return the bytes of a picture: ``{"b64": ...}``, also within another object, or plain Base64."""
    value: Any = instance
    for _ in range(2):
        if isinstance(value, dict):
            value = value.get("b64", next(iter(value.values()), None) if len(value) == 1 else None)
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise RequestError(400, 'A picture is {"b64": BASE64} or a list of pixels')
    try:
        return base64.b64decode(value.partition(",")[2] if value.startswith("data:") else value, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError(400, "The picture is no Base64") from None


def _pixels(model: Model, instance: list[Any]) -> "NDArray[Any]":
    """Return rows of pixels, numbers from 0 to 255, as an array."""
    import numpy as np

    shape = (*model.size, model.channels)
    if model.kind != "pictures":
        raise RequestError(400, f'{model.name} takes {{"b64": BASE64}}')
    try:
        pixels = np.array(instance, np.float64)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise RequestError(400, f"Pixels are numbers, in lists of the shape {shape}") from None
    if model.channels == 1 and pixels.shape == shape[:2]:
        pixels = pixels[..., None]
    if pixels.shape != shape or not (np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= 255):
        raise RequestError(400, f"Pixels are numbers from 0 to 255 in lists of the shape {shape}, not {pixels.shape}")
    return np.rint(pixels).astype(np.uint8)


def _as_array(model: Model, instance: Any) -> "NDArray[Any]":
    """Return pixels that came raw."""
    import numpy as np

    if isinstance(instance, np.ndarray):
        return instance
    raise RequestError(400, f"An instance for {model.name} is a picture, not {_kind(instance)}")


def _whole_number(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        value = int(value)  # of a form
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(400, f"{name} is a whole number from {low} to {high}, got {str(value)[:40]}")
    return value


def _number(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,9})?", value):
        value = float(value)  # of a form
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise RequestError(400, f"{name} is a number from {low:g} to {high:g}, got {str(value)[:40]}")
    return value


def _kind(value: Any) -> str:
    words = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return words.get(type(value), "a number")
