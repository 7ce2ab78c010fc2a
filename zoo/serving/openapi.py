"""The description of the server for programs (OpenAPI 3.1): its models, what they take and what they answer."""

from zoo.runs.lifecycle import version
from zoo.runs.records import Json
from zoo.serving.inputs import LONGEST_TEXT, MOST_INSTANCES, MULTIPART, RAW, SMALLEST_SIDE
from zoo.serving.models import RESTYLED_SIDE, Model

STATUSES = {
    "400": "what was sent is malformed",
    "401": "the token is missing or wrong",
    "403": "a page of another server asked",
    "404": "there is no such model",
    "405": "there is no such method",
    "408": "the body came too slowly",
    "413": "the body or a text is too large",
    "415": "the type of the body is not known",
    "421": "the server is not called so",
    "422": "a picture or a text cannot be used",
    "429": "too many requests wait: come again after Retry-After seconds",
    "503": "the worker was lost or is not ready: come again after Retry-After seconds",
    "504": "there was no answer in time",
}
WORDS: Json = {"pictures": "Tell what a picture shows", "texts": "Tell the class of a text",
               "restyle": "Paint a picture anew", "writer": "Go on with a text"}  # fmt: skip
BASE64: Json = {"type": "object", "required": ["b64"], "properties": {"b64": {"type": "string", "format": "byte"}}}


def describe(models: list[Model]) -> Json:
    """Return the description of a server."""
    operations: Json = {
        "/healthz": _get("Tell that the server runs", {"status": {"type": "string"}}),
        "/readyz": _get("Tell whether every model is ready", {"ready": {"type": "boolean"}}),
        "/v1/models": _get("List the models", {"models": {"type": "array", "items": {"type": "object"}}}),
        "/metrics": {"get": _operation("Figures for Prometheus", {"text/plain": {"schema": {"type": "string"}}})},
    }
    for model in models:
        address = f"/v1/models/{model.name}"
        operations[address] = _get(
            f"Describe {model.name}", {"name": {"type": "string"}, "ready": {"type": "boolean"}}
        )
        operations[f"{address}:predict"] = {"post": _predict(model)}
        if model.kind == "writer":
            operations[f"{address}:generate"] = {"post": _generate()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "zoo", "version": version()},
        "paths": operations,
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _object({"error": {"type": "string"}})},
        },
    }  # fmt: skip


def _operation(summary: str, content: Json) -> Json:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    wrong = {status: {"description": words, "content": error} for status, words in STATUSES.items()}
    return {"summary": summary, "responses": {"200": {"description": "the answer", "content": content}, **wrong}}


def _object(properties: Json) -> Json:
    return {"type": "object", "required": list(properties), "properties": properties}


def _get(summary: str, properties: Json) -> Json:
    return {"get": _operation(summary, {"application/json": {"schema": _object(properties)}})}


def _predict(model: Model) -> Json:
    answer: Json = {"type": "array", "items": {"type": "object"}, "minItems": 1}
    content: Json = {"application/json": {"schema": _object({"predictions": answer})}}
    if model.kind == "restyle":
        content |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ("image/png", "image/jpeg")}
    return {
        **_operation(WORDS[model.kind], content),
        "requestBody": {"required": True, "content": _bodies(model)},
    }


def _bodies(model: Model) -> Json:
    instances = {"type": "array", "minItems": 1, "maxItems": MOST_INSTANCES, "items": _instance(model)}
    parameters = {"type": "object", "properties": _parameters(model)}
    body = {
        "type": "object",
        "required": ["instances"],
        "properties": {"instances": instances, "parameters": parameters},
    }
    content: Json = {"application/json": {"schema": body}}
    if model.kind in ("pictures", "restyle"):
        file = {"type": "string", "format": "binary"}
        content[MULTIPART] = {"schema": {"type": "object", "properties": {"file": file}, "required": ["file"]}}
        content["image/png"] = content["image/jpeg"] = {"schema": file}
    if model.kind == "pictures":
        content[RAW] = {"schema": {"type": "string", "format": "binary"}}
    return content


def _instance(model: Model) -> Json:
    text: Json = {"type": "string"}
    match model.kind:
        case "texts":
            return {"anyOf": [text, _object({"text": text})]}
        case "writer":
            return {"anyOf": [text, {"type": "object", "properties": {"prompt": text, **_drawing()}}]}
        case "restyle":
            return BASE64
    return {"anyOf": [BASE64, {"type": "array", "items": {"type": "array"}}]}


def _parameters(model: Model) -> Json:
    if model.kind == "restyle":
        return {"side": {"type": "integer", "minimum": SMALLEST_SIDE, "maximum": RESTYLED_SIDE}}
    return _drawing() if model.kind == "writer" else {"probabilities": {"type": "boolean"}}


def _drawing() -> Json:
    return {
        "length": {"type": "integer", "minimum": 1, "maximum": LONGEST_TEXT},
        "temperature": {"type": "number", "minimum": 0, "maximum": 100},
        "top_k": {"type": ["integer", "null"], "minimum": 1},
        "top_p": {"type": ["number", "null"], "minimum": 1e-6, "maximum": 1},
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    }


def _generate() -> Json:
    events: Json = {"text/event-stream": {}}
    body = {"type": "object", "properties": {"prompt": {"type": "string"}, **_drawing()}}
    content = {"required": True, "content": {"application/json": {"schema": body}}}
    return {**_operation("Go on with a text, token by token (server-sent events)", events), "requestBody": content}
