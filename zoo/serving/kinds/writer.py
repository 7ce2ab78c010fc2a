"""Language models, which continue a text."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from zoo.config.overrides import Overrides
from zoo.config.schemas.serving import ServeConfig
from zoo.core.errors import ZooError
from zoo.environments.store import Environment
from zoo.runs.records import Json
from zoo.serving import inputs, openapi
from zoo.serving.decoders import Decoders
from zoo.serving.errors import RequestError
from zoo.serving.metrics import Metrics
from zoo.serving.served import Served, encoded
from zoo.serving.writer import Writer
from zoo.tasks.text import language_model, trained_text

LONGEST_TEXT = 2000
DEFAULTS: Json = {"length": 200, "temperature": 0.8, "top_k": None, "top_p": None, "seed": 1}
# Time limit for all texts of a request without streaming.
MOST_WRITING_S = 600.0
DRAWING: Json = {
    "length": {"type": "integer", "minimum": 1, "maximum": LONGEST_TEXT},
    "temperature": {"type": "number", "minimum": 0, "maximum": 100},
    "top_k": {"type": ["integer", "null"], "minimum": 1},
    "top_p": {"type": ["number", "null"], "minimum": 1e-6, "maximum": 1},
    "seed": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
}
PROMPT: Json = {"type": "object", "properties": {"prompt": openapi.TEXT, **DRAWING}}


class Kind(Served):
    """A language model, which returns texts in a stream or whole."""

    task, summary = "language_model", "Continue a text"
    instance, parameters = {"anyOf": [openapi.TEXT, PROMPT]}, DRAWING
    engine: Writer

    def __init__(self, name: str, overrides: Overrides, place: Path, limits: ServeConfig) -> None:
        context, source, trained, self._tokenizer = trained_text.opened(language_model.INFER, overrides)
        weights = source.folder.absolute() / "weights.npz"
        super().__init__(name, place, limits, context, trained, weights, [])
        self.model.request.pieces = self._tokenizer.token_bytes()
        self._length = trained["args"]["length"]

    def connect(self, environment: Environment, metrics: Metrics) -> None:
        self.engine = Writer(self.model, environment, self.limits, metrics)

    async def predict(self, request: Request, decoders: Decoders) -> Response:
        """Return whole texts, generated one at a time."""
        asked = await inputs.read(request, self.pixels, self.parameters)
        writing = asyncio.ensure_future(self._texts(asked))
        leaving = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait({writing, leaving}, timeout=MOST_WRITING_S, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                return encoded({"predictions": [{"text": text} for text in writing.result()]})
            if leaving.done():
                raise ClientDisconnect
            words = f"The texts were not complete within {MOST_WRITING_S:.0f} s"
            raise RequestError(504, f"{words}; request fewer or shorter texts, or use :generate")
        finally:  # stop the generation, even if the client disconnected
            writing.cancel()
            leaving.cancel()

    async def _texts(self, asked: inputs.Asked) -> list[str]:
        texts = []
        for instance in asked.instances:
            content = instance if isinstance(instance, dict) else {"prompt": instance}
            settings = self._settings(asked.parameters | content)
            texts.append("".join([piece async for piece in self.engine.write(settings)]))
        return texts

    async def generate(self, request: Request) -> AsyncIterator[str]:
        return self.engine.write(self._settings(inputs.parsed(await request.body())))

    def _settings(self, content: Json) -> Json:
        inputs.require_known(content, PROMPT["properties"])
        chosen = {key: content.get(key, value) for key, value in DEFAULTS.items()}
        for key, schema in DRAWING.items():
            if chosen[key] is not None or "null" not in schema["type"]:
                chosen[key] = inputs.number(key, chosen[key], schema, len(self._tokenizer))
        prompt = inputs.text_of(content.get("prompt", ""), "prompt", self.limits.max_characters)
        try:
            tokens = language_model.prompt_tokens(self._tokenizer, prompt)
        except ZooError as error:
            raise RequestError(422, error.message) from None
        return chosen | {"tokens": [int(token) for token in tokens[-self._length :]]}

    def operations(self) -> Json:
        summary = "Continue a text, token by token (server-sent events)"
        body = {"application/json": {"schema": PROMPT}}
        return super().operations() | {":generate": openapi.stream(summary, body)}


async def _left(request: Request) -> Any:
    """Wait until the client of a completely read request disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
