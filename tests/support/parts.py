"""Parts of requests for tests, complete, with what a test changes of them."""

import dataclasses
from typing import Any

from zoo.config.schemas.common import Trainer
from zoo.config.schemas.image_classification import Augment
from zoo.config.schemas.text import TextTrainer
from zoo.protocol.request import (
    AugmentPart,
    DevicePart,
    DistributedPart,
    ImageTrainPart,
    Request,
    StackPart,
    TextTrainPart,
)


def device(kind: str = "cpu", backend: str = "cpu", framework: str = "tensorflow", id: str | None = None) -> DevicePart:
    return DevicePart(backend=backend, framework=framework, device_kind=kind, id=id)


def training(**changed: Any) -> ImageTrainPart:
    return ImageTrainPart(**dataclasses.asdict(Trainer()) | {"seed": 1} | changed)


def text_training(**changed: Any) -> TextTrainPart:
    return TextTrainPart(**dataclasses.asdict(TextTrainer()) | {"seed": 1} | changed)


def augmentation(**changed: Any) -> AugmentPart:
    return AugmentPart(**dataclasses.asdict(Augment()) | changed)


def request(**parts: Any) -> Request:
    known = {"verb": "train", "job": "x", "stack": StackPart(framework="tensorflow", keras="keras")}
    return Request(**known | {"device": device()} | parts)


def distributed(processes: int, **changed: Any) -> DistributedPart:
    known = {"processes": processes, "host": "127.0.0.1", "port": None, "join_s": 5.0, "threads": 1, "nodes": 1}
    return DistributedPart(**known | {"id": "aa"} | changed)
