"""The addresses of the server and what they answer."""

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from zoo.runs.records import Json
from zoo.serving import inputs, openapi
from zoo.serving.decoders import Decoders
from zoo.serving.engine import Engine
from zoo.serving.errors import RequestError
from zoo.serving.inputs import Preparer
from zoo.serving.metrics import Metrics
from zoo.serving.models import Model
from zoo.serving.writer import Writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAGE = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"),
        "/page.js": ("page.js", "text/javascript")}  # fmt: skip
# Seconds in which the texts of a request are to be complete that are asked for whole.
MOST_WRITING_S = 600.0
HERE = Path(__file__).parent
_PREDICT = re.compile(r"/v1/models/(?P<name>[^/]+):predict")
_ENCODER = json.JSONEncoder(separators=(",", ":"))
Handler = Callable[[Request], Awaitable[Response]]


class Application:
    """What the routes share.

    Args:
        engines: by the name of their model.
        decoders: of pictures.
        preparer: of inputs.
        metrics: of the server.
    """

    def __init__(
        self, engines: dict[str, Engine | Writer], decoders: Decoders, preparer: Preparer, metrics: Metrics
    ) -> None:
        self._engines, self._decoders, self._preparer, self._metrics = engines, decoders, preparer, metrics
        self.draining = False
        self._others = self._routed()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; what is asked most is not looked up among the routes. Errors are left to the guard."""
        name = _PREDICT.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if name is None:
            await self._others({**scope, "app": self}, receive, send)
            return
        scope["path_params"] = name.groupdict()
        await (await self._predict(Request(scope, receive)))(scope, receive, send)

    def _routed(self) -> Router:
        """Return the routes."""
        routes = [Route(path, _static(name, kind)) for path, (name, kind) in PAGE.items()]
        routes += [
            Route("/healthz", self._alive),
            Route("/readyz", self._ready),
            Route("/metrics", self._figures),
            Route("/openapi.json", self._description),
            Route("/v1/models", self._list),
            Route("/v1/models/{name}", self._one),
            Route("/v1/models/{name}:predict", self._predict, methods=["POST"]),
            Route("/v1/models/{name}:generate", self._generate, methods=["POST"]),
        ]
        return Router(_most_special_first(routes))

    async def _alive(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        """Tell whether every model answers; while the server ends it takes no new requests."""
        ready = not self.draining and all(engine.is_ready for engine in self._engines.values())
        return JSONResponse({"ready": ready}, 200 if ready else 503, headers={} if ready else {"retry-after": "1"})

    async def _figures(self, _: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _description(self, _: Request) -> Response:
        return JSONResponse(openapi.describe([engine.model for engine in self._engines.values()]))

    async def _list(self, _: Request) -> Response:
        return JSONResponse({"models": [self._state(engine) for engine in self._engines.values()]})

    async def _one(self, request: Request) -> Response:
        return JSONResponse(self._state(self._engine(request)))

    def _state(self, engine: Engine | Writer) -> Json:
        """Describe a model, with what clients of TensorFlow Serving and KServe look for."""
        state = "AVAILABLE" if engine.is_ready else "LOADING"
        status = {"error_code": "OK", "error_message": ""} if engine.is_ready else {
            "error_code": "UNAVAILABLE", "error_message": engine.reason}  # fmt: skip
        versions = [{"version": "1", "state": state, "status": status}]
        return {**engine.model.description(), "ready": engine.is_ready, "model_version_status": versions}

    def _engine(self, request: Request) -> Engine | Writer:
        name = request.path_params["name"]
        if name not in self._engines:
            raise RequestError(404, f"There is no model {name[:100]!r}; there are {', '.join(self._engines)}")
        return self._engines[name]

    async def _predict(self, request: Request) -> Response:
        engine, began, status = self._engine(request), time.perf_counter(), 500
        try:
            answer = await (self._whole_text(request, engine) if isinstance(engine, Writer)
                            else self._answers(request, engine))  # fmt: skip
            status = answer.status_code
            return answer
        except RequestError as error:
            status = error.status
            raise
        except ClientDisconnect:
            status = 499  # as others count it; nobody is there to be told
            raise
        finally:
            self._metrics.requests.labels(engine.model.name, status).inc()
            self._metrics.seconds.labels(engine.model.name).observe(time.perf_counter() - began)

    async def _answers(self, request: Request, engine: Engine) -> Response:
        model, asked = engine.model, await inputs.read(request, engine.model)
        prepared = (self._preparer.item(model, instance, asked.parameters) for instance in asked.instances)
        items = [await next_one for next_one in prepared] if len(asked.instances) == 1 else await _all(prepared)
        rows = await engine.ask(items)
        if model.kind == "restyle":
            return await self._pictures(request, rows)
        every = str(asked.parameters.get("probabilities", "")).lower() == "true"
        predictions = [_classes(model, row, every) for row in rows]
        for prediction, name in zip(predictions, asked.names or (), strict=False):
            prediction["name"] = name
        return _json({"predictions": predictions})

    async def _pictures(self, request: Request, rows: "list[NDArray[Any]]") -> Response:
        """Answer with a picture where the client asks for one, else with Base64."""
        accepted = request.headers.get("accept", "")
        kind = "JPEG" if "image/jpeg" in accepted else "PNG"
        files = [await self._decoders.encode(row, kind) for row in rows]
        if "image/" in accepted and "json" not in accepted and len(files) == 1:
            return Response(files[0], media_type=f"image/{kind.lower()}")
        return _json({"predictions": [{"b64": base64.b64encode(file).decode()} for file in files]})

    async def _whole_text(self, request: Request, writer: Writer) -> Response:
        asked = await inputs.read(request, writer.model)
        writing = asyncio.ensure_future(self._texts(asked, writer))
        leaving = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait({writing, leaving}, timeout=MOST_WRITING_S, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                return _json({"predictions": [{"text": text} for text in writing.result()]})
            if leaving.done():
                raise ClientDisconnect
            words = f"What was asked for was not complete within {MOST_WRITING_S:.0f} s"
            raise RequestError(504, f"{words}; ask for fewer texts or a smaller length, or use :generate")
        finally:  # who does not wait for a text frees the writer
            writing.cancel()
            leaving.cancel()

    async def _texts(self, asked: inputs.Asked, writer: Writer) -> list[str]:
        texts = []
        for instance in asked.instances:
            content = instance if isinstance(instance, dict) else {"prompt": instance}
            settings = self._preparer.prompt(writer.model, asked.parameters | content)
            texts.append("".join([piece async for piece in writer.write(settings)]))
        return texts

    async def _generate(self, request: Request) -> Response:
        """Stream what a language model writes, as server-sent events."""
        engine = self._engine(request)
        if not isinstance(engine, Writer):
            raise RequestError(400, f"{engine.model.name} writes no text; use :predict")
        content = inputs.parsed(await request.body())
        pieces = engine.write(self._preparer.prompt(engine.model, content))
        first = await anext(pieces, "")  # what goes wrong until then is told by the status
        self._metrics.requests.labels(engine.model.name, 200).inc()
        return StreamingResponse(_events(first, pieces), media_type="text/event-stream")


async def _left(request: Request) -> None:
    """Wait until the client of a request that has been read closes its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _all(prepared: Any) -> list[Any]:
    """Prepare several instances beside each other; the first problem stops all."""
    tasks = [asyncio.ensure_future(each) for each in prepared]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _events(first: str, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    try:
        yield _event({"text": first})
        async for piece in pieces:
            yield _event({"text": piece})
        yield "event: done\ndata: {}\n\n"
    except RequestError as error:
        yield f"event: error\n{_event({'error': error.message})}"


def _event(content: Json) -> str:
    return f"data: {json.dumps(content)}\n\n"


def _json(content: Json) -> Response:
    return Response(_ENCODER.encode(content), media_type="application/json")


def _classes(model: Model, row: "NDArray[Any]", every: bool) -> Json:
    """Name the likeliest classes; with the probabilities of all where they are asked for."""
    best = row.argpartition(-model.top)[-model.top :]  # a fourth of the time that sorting a thousand takes
    best = best[row[best].argsort()[::-1]]
    pairs = zip(best.tolist(), row[best].tolist(), strict=True)
    top = [{"class": model.classes[place], "probability": round(value, 6)} for place, value in pairs]
    return {**top[0], "top": top, **({"probabilities": [float(value) for value in row]} if every else {})}


def _most_special_first(routes: list[Route]) -> list[Route]:
    """Let ``NAME:predict`` come before ``NAME``, which would take it for a name."""
    return sorted(routes, key=lambda route: ":" not in route.path.partition("}")[2])


def _static(name: str, kind: str) -> Handler:
    content = (HERE / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer
