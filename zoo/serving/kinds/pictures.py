"""Image classifiers."""

from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.serving import ServeConfig
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError
from zoo.runs.records import Json
from zoo.serving import inputs, openapi
from zoo.serving.classifier import Classifier
from zoo.serving.decoders import Decoders
from zoo.serving.errors import RequestError
from zoo.serving.slots import RowSlots
from zoo.tasks.image_classification import predict


class Kind(Classifier):
    """An image classifier for resized color images, or for grayscale images, plain or drawn like digits."""

    task, summary = "classify", "Classify an image"
    instance = {"anyOf": [openapi.BASE64, {"type": "array", "items": {"type": "array"}}]}  # noqa: RUF012
    bodies = openapi.FILES | {inputs.RAW: openapi.BINARY}
    used = (*Classifier.used, "classes", "scale", "size", "resize", "top")

    def __init__(self, name: str, overrides: Overrides, place: Path, limits: ServeConfig) -> None:
        context, network, self._style = predict.opened(overrides)
        self._size, settings = network.size, context.settings
        if settings.precision == "auto":
            raise ZooError("precision=auto is not supported by the server", "Name one, such as precision=float32.")
        shape = (*network.size, 3 if self._style is None else 1)
        super().__init__(
            name, place, limits, context, network.model, network.weights, shape, network.classes,
            settings.precision, settings.top or 0, network.kind, network.thresholds,
        )  # fmt: skip
        self._how: Json = {"op": "photo", "size": network.size, "resize": settings.resize}
        if self._style is not None:
            self._how = {"op": "grey", "size": network.size, "style": self._style}

    def slots(self) -> RowSlots:
        return RowSlots(self.serve, np.uint8)

    async def prepare(self, instance: Any, parameters: Json, decoders: Decoders) -> "NDArray[Any]":
        if isinstance(instance, np.ndarray):  # raw pixels
            return instance
        if isinstance(instance, list):
            return self._of_lists(instance)
        return await decoders.decode(inputs.bytes_of(self.model.name, instance), self._how)

    def _of_lists(self, instance: list[Any]) -> "NDArray[Any]":
        shape = self.shape
        try:
            pixels = np.array(instance)
            if pixels.dtype.kind not in "iuf":  # texts, true and false
                raise ValueError
            if pixels.dtype.kind == "f" and pixels.size and 0 < pixels.max() <= 1:
                raise RequestError(400, "Pixels must be from 0 to 255; these are from 0 to 1: multiply them by 255")
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise RequestError(400, f"Pixels must be numbers in lists of shape {shape}") from None
        if shape[2] == 1 and pixels.shape == shape[:2]:
            pixels = pixels[..., None]
        if pixels.shape != shape or not (np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= 255):
            words = f"Pixels must be numbers from 0 to 255 in lists of shape {shape}"
            words += f", not {pixels.shape}" * (pixels.shape != shape)
            raise RequestError(400, words)
        rounded: NDArray[Any] = np.rint(pixels).astype(np.uint8)
        return rounded

    def pixels(self, body: bytes) -> "list[NDArray[Any]]":
        """Return raw uint8 pixels as a list of images of the network's size."""
        size = self.shape[0] * self.shape[1] * self.shape[2]
        if not body or len(body) % size:
            words = f"An image must have {size:,} bytes ({self.shape}, uint8); the body has {len(body):,}"
            raise RequestError(400, words)
        return list(np.frombuffer(body, np.uint8).reshape(-1, *self.shape))

    def description(self) -> Json:
        return super().description() | {"input": list(self.shape), "drawn": self._style == "digits"}
