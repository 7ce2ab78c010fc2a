"""The OpenAPI 3.1 description of the server: its models, their inputs and responses."""

from pathlib import Path

from zoo.core import schema
from zoo.runs.lifecycle import version
from zoo.runs.records import Json
from zoo.serving.inputs import MOST_INSTANCES, MULTIPART

STATUSES: dict[str, str] = schema.read_yaml(Path(__file__).with_name("statuses.yaml"))
TEXT: Json = {"type": "string"}
BINARY: Json = {"schema": {"type": "string", "format": "binary"}}
BASE64: Json = {"type": "object", "required": ["b64"], "properties": {"b64": {"type": "string", "format": "byte"}}}
IMAGES: Json = {"image/png": BINARY, "image/jpeg": BINARY}
FILES: Json = IMAGES | {
    MULTIPART: {"schema": {"type": "object", "properties": {"file": BINARY["schema"]}, "required": ["file"]}}
}


def describe(models: dict[str, Json]) -> Json:
    """Return the description of a server; ``models`` maps each model to its operations by URL suffix."""
    operations: Json = {
        "/healthz": _get("Report that the server runs", {"status": {"type": "string"}}),
        "/readyz": _get("Report whether every model is ready", {"ready": {"type": "boolean"}}),
        "/v1/models": _get("List the models", {"models": {"type": "array", "items": {"type": "object"}}}),
        "/metrics": {"get": _operation("Metrics for Prometheus", {"text/plain": {"schema": {"type": "string"}}})},
    }
    for name, special in models.items():
        address = f"/v1/models/{name}"
        operations[address] = _get(f"Describe {name}", {"name": {"type": "string"}, "ready": {"type": "boolean"}})
        operations |= {f"{address}{end}": {"post": operation} for end, operation in special.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "zoo", "version": version()},
        "paths": operations,
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": object_of({"error": {"type": "string"}})},
        },
    }  # fmt: skip


def _operation(summary: str, content: Json) -> Json:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    wrong = {status: {"description": words, "content": error} for status, words in STATUSES.items()}
    return {"summary": summary, "responses": {"200": {"description": "the response", "content": content}, **wrong}}


def object_of(properties: Json) -> Json:
    return {"type": "object", "required": list(properties), "properties": properties}


def _get(summary: str, properties: Json) -> Json:
    return {"get": _operation(summary, {"application/json": {"schema": object_of(properties)}})}


def predict(summary: str, bodies: Json, answers: Json) -> Json:
    """Return the operation ``:predict``, with ``bodies`` and ``answers`` other than JSON by content type."""
    answer: Json = {"type": "array", "items": {"type": "object"}, "minItems": 1}
    content = {"application/json": {"schema": object_of({"predictions": answer})}, **answers}
    return {**_operation(summary, content), "requestBody": {"required": True, "content": bodies}}


def stream(summary: str, bodies: Json) -> Json:
    """Return an operation that responds with server-sent events; arguments are those of :func:`predict`."""
    return {**_operation(summary, {"text/event-stream": {}}), "requestBody": {"required": True, "content": bodies}}


def instances(instance: Json, parameters: Json) -> Json:
    """Return the body ``{"instances": [...], "parameters": {...}}`` by content type."""
    properties = {
        "instances": {"type": "array", "minItems": 1, "maxItems": MOST_INSTANCES, "items": instance},
        "parameters": {"type": "object", "properties": parameters},
    }
    return {"application/json": {"schema": {"type": "object", "required": ["instances"], "properties": properties}}}
