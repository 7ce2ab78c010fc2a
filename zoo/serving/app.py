"""The routes of the server and their responses."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from zoo.runs.records import Json
from zoo.serving import openapi
from zoo.serving.decoders import Decoders
from zoo.serving.errors import RequestError
from zoo.serving.guard import PAGE
from zoo.serving.metrics import Metrics
from zoo.serving.served import Served

HERE = Path(__file__).parent
_PREDICT = re.compile(r"/v1/models/(?P<name>[^/]+):predict")


class Application:
    """State that the routes share. The engines of the models must already be connected."""

    def __init__(self, models: dict[str, Served], decoders: Decoders, metrics: Metrics) -> None:
        self._models, self._decoders, self._metrics = models, decoders, metrics
        self.draining = False
        # A response without arguments is itself an application.
        files = {path: Response((HERE / name).read_bytes(), media_type=kind) for path, (name, kind) in PAGE.items()}
        routes = [Route(path, content, methods=["GET"]) for path, content in files.items()]
        routes += [
            Route("/healthz", JSONResponse({"status": "ok"}), methods=["GET"]),
            Route("/readyz", self._ready),
            Route("/metrics", self._figures),
            Route("/openapi.json", self._description),
            Route("/v1/models", self._list),
            # These must come before NAME alone, which also matches them.
            Route("/v1/models/{name}:predict", self._predict, methods=["POST"]),
            Route("/v1/models/{name}:generate", self._generate, methods=["POST"]),
            Route("/v1/models/{name}", self._one),
        ]
        self._others = Router(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request; ``:predict`` bypasses the router for speed. The guard handles errors."""
        name = _PREDICT.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if name is None:
            await self._others({**scope, "app": self}, receive, send)
            return
        scope["path_params"] = name.groupdict()
        await (await self._predict(Request(scope, receive)))(scope, receive, send)

    async def _ready(self, _: Request) -> Response:
        """Report whether every model is ready; a server that is shutting down is not."""
        ready = not self.draining and all(each.engine.is_ready for each in self._models.values())
        return JSONResponse({"ready": ready}, 200 if ready else 503, headers={} if ready else {"retry-after": "1"})

    async def _figures(self, _: Request) -> Response:
        text = await asyncio.to_thread(self._metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _description(self, _: Request) -> Response:
        return JSONResponse(openapi.describe({name: each.operations() for name, each in self._models.items()}))

    async def _list(self, _: Request) -> Response:
        return JSONResponse({"models": [_state(each) for each in self._models.values()]})

    async def _one(self, request: Request) -> Response:
        return JSONResponse(_state(self._asked(request)))

    def _asked(self, request: Request) -> Served:
        name = request.path_params["name"]
        if name not in self._models:
            raise RequestError(404, f"Unknown model {name[:100]!r}; available: {', '.join(self._models)}")
        return self._models[name]

    async def _predict(self, request: Request) -> Response:
        model, began, status = self._asked(request), time.perf_counter(), 500
        try:
            answer = await model.predict(request, self._decoders)
            status = answer.status_code
            return answer
        except RequestError as error:
            status = error.status
            raise
        except ClientDisconnect:
            status = 499  # client closed the request, a common convention
            raise
        finally:
            self._metrics.requests.labels(model.model.name, status).inc()
            self._metrics.seconds.labels(model.model.name).observe(time.perf_counter() - began)

    async def _generate(self, request: Request) -> Response:
        model = self._asked(request)
        pieces = await model.generate(request)
        first = await anext(pieces, "")  # an error before the first piece sets the status
        self._metrics.requests.labels(model.model.name, 200).inc()
        return StreamingResponse(_events(first, pieces), media_type="text/event-stream")


def _state(served: Served) -> Json:
    """Describe a model, with the fields that clients of TensorFlow Serving and KServe expect."""
    engine = served.engine
    state = "AVAILABLE" if engine.is_ready else "LOADING"
    status = {"error_code": "OK", "error_message": ""} if engine.is_ready else {
        "error_code": "UNAVAILABLE", "error_message": engine.reason}  # fmt: skip
    versions = [{"version": "1", "state": state, "status": status}]
    return {**served.description(), "ready": engine.is_ready, "model_version_status": versions}


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
