"""A served model: its engine, and the conversion of requests to inputs. The kinds are in ``zoo.serving.kinds``."""

import abc
import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import Response

from zoo.config.schemas.common import Settings
from zoo.config.schemas.serving import ServeConfig
from zoo.environments.store import Environment
from zoo.execution.execution import request_of
from zoo.protocol.request import ServePart
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.serving import inputs, openapi
from zoo.serving.decoders import Decoders
from zoo.serving.engine import Engine, Supervisor
from zoo.serving.errors import RequestError
from zoo.serving.metrics import Metrics
from zoo.serving.process import Model
from zoo.serving.slots import Slots

# Slots of the files that host and worker share: one is computed while the next is prepared.
SLOTS = 2
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class Served(abc.ABC):
    """A model that the server serves. Each kind of model has a subclass.

    Args:
        place: folder of its worker.
        weights: file with the weights; None if the model contains them.
        shape: shape of the slots, beginning with their number.
        precision: floating-point format of the worker's computation.

    Attributes:
        task: task of the models of this kind.
        summary: what ``:predict`` does.
        instance: schema of an instance.
        parameters: schemas of the parameters.
        bodies: accepted bodies other than JSON, by content type.
        answers: responses other than JSON, by content type.
        used: groups and settings of ``infer`` that have an effect.
        engine: keeps the worker running; set by :meth:`connect`.
    """

    task: ClassVar[str]
    summary: ClassVar[str]
    instance: ClassVar[Json]
    parameters: ClassVar[Json]
    bodies: ClassVar[Json] = {}
    answers: ClassVar[Json] = {}
    classes: list[str] = []  # noqa: RUF012
    used: ClassVar[tuple[str, ...]] = ("run", "model", "weights", "weights_checksum", "backend", "stack", "precision")
    engine: Supervisor

    def __init__(
        self, name: str, place: Path, limits: ServeConfig, context: RunContext[Settings], model: Json,
        weights: Path | None, shape: list[int], precision: str = "float32", classes: int = 0,
    ) -> None:  # fmt: skip
        context.folder = place
        request = request_of(context, model, "serve", weights)
        self.serve = request.serve = ServePart(
            kind=self.kind(), inputs=str(place / "inputs.slots"), outputs=str(place / "outputs.slots"), shape=shape,
            classes=classes, precision=precision,
        )  # fmt: skip
        self.model, self.limits = Model(name, context, request), limits

    @classmethod
    def kind(cls) -> str:
        """Return the name of the kind: its module's name, here and in the worker."""
        return cls.__module__.rpartition(".")[2]

    @abc.abstractmethod
    def connect(self, environment: Environment, metrics: Metrics) -> None:
        """Create the engine without starting it."""

    @abc.abstractmethod
    async def predict(self, request: Request, decoders: Decoders) -> Response:
        """Respond to a request to ``:predict``, or raise RequestError."""

    async def generate(self, request: Request) -> AsyncIterator[str]:
        """Return the pieces of a generated text; raise RequestError for kinds that do not generate text."""
        raise RequestError(400, f"{self.model.name} does not generate text; use :predict")

    def pixels(self, body: bytes) -> list[Any]:
        """Return the instances in a body of raw pixels; raise RequestError if unsupported or of the wrong size."""
        raise RequestError(415, f"{self.model.name} does not accept {inputs.RAW}")

    def description(self) -> Json:
        model = self.model
        row = {"name": model.name, "kind": self.kind(), "stack": model.context.choice.stack.name, **model.proof}
        return row | {"classes": self.classes[:1000]}

    def operations(self) -> Json:
        bodies = openapi.instances(self.instance, self.parameters) | self.bodies
        return {":predict": openapi.predict(self.summary, bodies, self.answers)}


class Batched(Served):
    """A model whose worker processes items in batches, through slots."""

    engine: Engine

    def connect(self, environment: Environment, metrics: Metrics) -> None:
        self.engine = Engine(self.model, environment, self.limits, metrics, self.slots())

    async def predict(self, request: Request, decoders: Decoders) -> Response:
        asked = await inputs.read(request, self.pixels, self.parameters)
        prepared = (self.prepare(instance, asked.parameters, decoders) for instance in asked.instances)
        items = [await next_one for next_one in prepared] if len(asked.instances) == 1 else await _all(prepared)
        return await self.answer(await self.engine.ask(items), asked, request.headers.get("accept", ""), decoders)

    @abc.abstractmethod
    def slots(self) -> Slots:
        """Create the files that are shared with the worker."""

    @abc.abstractmethod
    async def prepare(self, instance: Any, parameters: Json, decoders: Decoders) -> Any:
        """Return an instance as an input array of the model; raise RequestError if it is invalid."""

    @abc.abstractmethod
    async def answer(self, rows: list[Any], asked: inputs.Asked, accepted: str, decoders: Decoders) -> Response:
        """Return the response for ``rows``, the outputs for all instances; ``accepted`` is the Accept header."""


def encoded(content: Json) -> Response:
    return Response(_ENCODER.encode(content), media_type="application/json")


async def _all(prepared: Any) -> list[Any]:
    """Prepare several instances concurrently; the first error cancels all."""
    tasks = [asyncio.ensure_future(each) for each in prepared]
    try:
        return await asyncio.gather(*tasks)
    except RequestError as error:
        index = next(number for number, task in enumerate(tasks) if task.done() and task.exception() is error)
        raise RequestError(error.status, f"instances[{index}]: {error.message}") from None
    finally:
        for task in tasks:
            task.cancel()
