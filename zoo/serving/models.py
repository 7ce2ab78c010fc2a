"""What is served: a network, the request that starts its worker, and what people and programs are told of it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from zoo.config.overrides import value_of
from zoo.config.schemas.common import Settings
from zoo.config.schemas.serving import NAME, ServeConfig
from zoo.core.errors import ZooError
from zoo.data.text.tokenization import Tokenizer
from zoo.execution.execution import request_of
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.tasks import registry
from zoo.tasks.image_classification import predict as pictures_task
from zoo.tasks.style_transfer import apply_network
from zoo.tasks.text import language_model
from zoo.tasks.text import predict as texts_task

# Slots of the files that host and worker share: one is computed, the next is ready.
SLOTS = 2
# Longer side of a picture that is restyled, in pixels.
RESTYLED_SIDE = 1024


@dataclass
class Model:
    """One model of the server.

    Attributes:
        name: in addresses.
        kind: ``pictures``, ``texts``, ``restyle`` or ``writer``; what the worker's job is told.
        context: settings, backend and stack; its folder is the worker's.
        request: starts the worker.
        classes: names of its classes.
        size: (height, width) of its pictures.
        style: how grey pictures are made for it; None: it sees colours.
        resize: how colour pictures are made for it.
        top: classes that an answer names.
        tokenizer: of texts.
        length: tokens that it reads at most.
        proof: device and versions as the worker proved them; empty before it has started.
    """

    name: str
    kind: str
    context: RunContext[Settings]
    request: Json
    classes: list[str] = field(default_factory=list)
    size: tuple[int, int] = (0, 0)
    style: str | None = None
    resize: str = "stretch"
    top: int = 5
    tokenizer: Tokenizer | None = None
    length: int = 0
    proof: Json = field(default_factory=dict)

    @property
    def channels(self) -> int:
        """Return the number of colours of its pictures."""
        return 3 if self.style is None else 1

    def description(self) -> Json:
        """Return what anybody may know of it."""
        row = {"name": self.name, "kind": self.kind, "stack": self.context.choice.stack.name, **self.proof}
        if self.kind == "pictures":
            row |= {"input": [*self.size, self.channels], "drawn": self.style == "digits"}
        return row | {"classes": self.classes[:1000]}


def load(overrides: list[str], folder: Path, limits: ServeConfig, taken: set[str]) -> Model:
    """Open a model as ``infer`` does.

    Args:
        overrides: its settings; ``name=`` is what it is called in addresses.
        folder: of all workers; gets one for this.
        limits: of the server.
        taken: names of other models.
    """
    name = value_of("name", overrides)
    overrides = [text for text in overrides if not text.startswith("name=")]
    name = _free_name(name, overrides, taken)
    overrides = registry.expand("infer", overrides)
    kinds = {"classify": _pictures, "text_classifier": _texts, "language_model": _writer, "restyle": _restyle}
    task = registry.task_of("infer", overrides)
    if task not in kinds:
        raise ZooError(f"Models of task {task!r} cannot be served", f"These can: {', '.join(kinds)}.")
    place = folder / name
    place.mkdir()
    return kinds[task](name, overrides, place, limits)


def _free_name(name: str | None, overrides: list[str], taken: set[str]) -> str:
    if name is not None:
        if not NAME.fullmatch(name) or name in taken:
            problem = "is the name of another model" if name in taken else "cannot be part of an address"
            raise ZooError(f"name={name} {problem}", "Use letters, digits and . _ -, each name once.")
        return name
    value = overrides[0].partition("=")[2]
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(value).name).strip("-.")[:48] or "model"
    numbers = (f"{base}-{number}" for number in range(2, 1000))
    return base if base not in taken else next(each for each in numbers if each not in taken)


def _request(context: RunContext[Settings], model: Json, weights: Path | None, serve: Json) -> Json:
    request = request_of(context, model, "serve") | {"weights": str(weights) if weights else None}
    return request | {"serve": serve}


def _slots(place: Path) -> Json:
    return {"inputs": str(place / "inputs.slots"), "outputs": str(place / "outputs.slots")}


def _pictures(name: str, overrides: list[str], place: Path, limits: ServeConfig) -> Model:
    context, network, style = pictures_task.opened(overrides)
    context.folder, settings = place, context.settings
    if settings.precision == "auto":
        raise ZooError("precision=auto compares the first 600 images of a run", "For a server, name a precision.")
    shape = [SLOTS, limits.max_batch, *network.size, 3 if style is None else 1]
    serve = _slots(place) | {"kind": "pictures", "shape": shape, "classes": len(network.classes)}
    serve["precision"] = settings.precision
    request = _request(context, network.model, network.weights, serve)
    return Model(
        name, "pictures", context, request, network.classes, network.size, style, settings.resize,
        settings.top or min(5, len(network.classes)),
    )  # fmt: skip


def _texts(name: str, overrides: list[str], place: Path, limits: ServeConfig) -> Model:
    context, source, trained, tokenizer = texts_task.opened([*overrides, "input=-"])
    context.folder, length = place, trained["args"]["length"]
    classes = [str(each) for each in source.record["data"]["class_names"]]
    serve = _slots(place) | {"kind": "texts", "shape": [SLOTS, limits.max_batch, length], "classes": len(classes)}
    serve["precision"] = "float32"
    request = _request(
        context, trained["args"] | {"name": trained["name"]}, source.folder.absolute() / "weights.npz", serve
    )
    return Model(
        name, "texts", context, request, classes, top=min(5, len(classes)), tokenizer=tokenizer, length=length
    )


def _writer(name: str, overrides: list[str], place: Path, limits: ServeConfig) -> Model:
    context, source, trained, tokenizer = language_model.opened(overrides)
    context.folder = place
    model, weights = trained["args"] | {"name": trained["name"]}, source.folder.absolute() / "weights.npz"
    request = _request(context, model, weights, {"kind": "writer"}) | {"pieces": tokenizer.token_bytes()}
    return Model(name, "writer", context, request, tokenizer=tokenizer, length=trained["args"]["length"])


def _restyle(name: str, overrides: list[str], place: Path, limits: ServeConfig) -> Model:
    context, weights, size = apply_network.opened(overrides)
    context.folder = place
    bytes_a_picture = 3 * RESTYLED_SIDE * RESTYLED_SIDE
    serve = _slots(place) | {"kind": "restyle", "shape": [SLOTS, bytes_a_picture]}
    serve["precision"] = context.settings.precision
    model = {"name": apply_network.MODEL, "args": size}
    return Model(
        name, "restyle", context, _request(context, model, apply_network.stored(context.folder, weights), serve)
    )
