"""Style networks."""

import base64
from pathlib import Path
from typing import Any

from starlette.responses import Response

from zoo.config.overrides import Overrides
from zoo.config.schemas.serving import ServeConfig
from zoo.core.arrays import NDArray
from zoo.runs.records import Json
from zoo.serving import inputs, openapi
from zoo.serving.decoders import Decoders
from zoo.serving.served import SLOTS, Batched, encoded
from zoo.serving.slots import PictureSlots
from zoo.tasks.style_transfer import apply_network

# Limits of the longer side of a restyled image, in pixels.
SMALLEST_SIDE, LARGEST_SIDE = 32, 1024


class Kind(Batched):
    """A style network, which processes images of any size, one at a time."""

    task, summary = "restyle", "Restyle an image"
    instance, bodies, answers = openapi.BASE64, openapi.FILES, openapi.IMAGES
    parameters = {"side": {"type": "integer", "minimum": SMALLEST_SIDE, "maximum": LARGEST_SIDE}}  # noqa: RUF012

    def __init__(self, name: str, overrides: Overrides, place: Path, limits: ServeConfig) -> None:
        context, weights, size = apply_network.opened(overrides)
        slots = [SLOTS, 3 * LARGEST_SIDE * LARGEST_SIDE]
        model = {"name": apply_network.MODEL, "args": size}
        npz = apply_network.stored(place, weights)
        super().__init__(name, place, limits, context, model, npz, slots, context.settings.precision)

    def slots(self) -> PictureSlots:
        return PictureSlots(self.serve)

    async def prepare(self, instance: Any, parameters: Json, decoders: Decoders) -> "NDArray[Any]":
        content = inputs.bytes_of(self.model.name, instance)
        side = inputs.number("side", parameters.get("side", 640), self.parameters["side"])
        return await decoders.decode(content, {"op": "whole", "side": side})

    async def answer(self, rows: list[Any], asked: inputs.Asked, accepted: str, decoders: Decoders) -> Response:
        """Return an image if the client requests one, else JSON with Base64."""
        kind = "JPEG" if "image/jpeg" in accepted else "PNG"
        files = [await decoders.encode(row, kind) for row in rows]
        if "image/" in accepted and "json" not in accepted and len(files) == 1:
            return Response(files[0], media_type=f"image/{kind.lower()}")
        return encoded({"predictions": [{"b64": base64.b64encode(file).decode()} for file in files]})
