"""Text classifiers."""

from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.serving import ServeConfig
from zoo.core.arrays import NDArray, np
from zoo.data.text import tokenization
from zoo.protocol.targets import CLASSES, LABELS
from zoo.runs.records import Json
from zoo.serving import inputs, openapi
from zoo.serving.classifier import Classifier
from zoo.serving.decoders import Decoders
from zoo.serving.errors import RequestError
from zoo.serving.slots import RowSlots
from zoo.tasks import target_analysis
from zoo.tasks.text import predict, trained_text


class Kind(Classifier):
    """A classifier of texts, which are rows of tokens."""

    task, summary = "text_classifier", "Classify a text"
    instance = {"anyOf": [openapi.TEXT, openapi.object_of({"text": openapi.TEXT})]}  # noqa: RUF012

    def __init__(self, name: str, overrides: Overrides, place: Path, limits: ServeConfig) -> None:
        overrides = overrides.with_("command", {"input": "-"})
        context, source, trained, self._tokenizer = trained_text.opened(predict.INFER, overrides, predict.NEEDED)
        classes = [str(each) for each in source.record["data"]["class_names"]]
        weights, shape = source.folder.absolute() / "weights.npz", (trained["args"]["length"],)
        kind = (trained.get("target") or {}).get("kind", CLASSES)
        thresholds = target_analysis.thresholds(source.record, len(classes)) if kind == LABELS else None
        super().__init__(name, place, limits, context, trained, weights, shape, classes, "float32", 0, kind, thresholds)

    def slots(self) -> RowSlots:
        return RowSlots(self.serve, np.int32)

    async def prepare(self, instance: Any, parameters: Json, decoders: Decoders) -> "NDArray[Any]":
        (length,) = self.shape
        text = inputs.text_of(instance, "text", self.limits.max_characters)
        tokens = self._tokenizer.encode(text)
        if not tokens or tokenization.is_blank(self._tokenizer.kind, text):
            raise RequestError(422, "The text is blank")
        if len(tokens) > length:  # keep the beginning and the end, as in training
            tokens = [*tokens[: length // 2], *tokens[-(length - length // 2) :]]
        row = np.zeros(length, np.int32)
        row[: len(tokens)] = tokens
        return row
