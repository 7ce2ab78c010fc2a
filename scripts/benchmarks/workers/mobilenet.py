"""Worker in a stack's interpreter: ``python mobilenet.py KIND FRAMEWORK PRECISION [WIDTH]``.

Reads questions as lines of JSON and answers each with ``{"rate": NUMBER}``: images a second, or GFLOP/s of a matrix
product.
"""

import importlib
import json
import os
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Act = Callable[[], object]
SHAPE = (224, 224, 3)


def rate(act: Act, items: float, seconds: float) -> float:
    """Return items a second of repeated calls, the first not counted."""
    act()
    began, done = time.perf_counter(), 0.0
    while time.perf_counter() - began < seconds:
        act()
        done += items
    return done / max(1e-9, time.perf_counter() - began)


class Stock:
    """keras.applications, as its documentation uses it."""

    def __init__(self, alpha: float) -> None:
        import keras  # type: ignore[import-not-found]

        self.keras, self.model = keras, keras.applications.MobileNet(alpha=alpha, weights=None)

    def pictures(self, batch: int) -> Act:
        """Return the function that predicts one batch."""
        x = np.random.RandomState(0).uniform(-1, 1, (batch, *SHAPE)).astype("float32")
        return lambda: self.model.predict(x, batch_size=batch, verbose=0)

    def files(self, folder: str) -> float:
        """Return images a second from files to probabilities."""
        began = time.perf_counter()
        data = self.keras.utils.image_dataset_from_directory(
            folder, labels=None, shuffle=False, image_size=SHAPE[:2], batch_size=32
        )
        predicted = self.model.predict(data.map(self.keras.applications.mobilenet.preprocess_input), verbose=0)
        return len(predicted) / (time.perf_counter() - began)


class Zoo:
    """The zoo's own definition, and the way its worker predicts."""

    def __init__(self, framework: str, precision: str, alpha: float) -> None:
        device = importlib.import_module("zoo.worker.devices." + framework)
        parts: Any = importlib.import_module("zoo.protocol.request")
        device.start(parts.DevicePart(backend="cpu", framework=framework, device_kind="cpu"))
        prepare: Any = importlib.import_module("zoo.worker.inference.predictors").prepare
        prepare(device, precision)
        build: Any = importlib.import_module("zoo.worker.model").build_model
        self.device = device
        self.model, self.preprocess = build(parts.ModelPart(name="mobilenet", args={"alpha": alpha}))
        self.ready: dict[int, Any] = {}

    def predictor(self, batch: int) -> Any:
        """Return the zoo's predict function for batches of a size."""
        of: Any = importlib.import_module("zoo.worker.inference.predictors").of
        if batch not in self.ready:
            shape = (batch, *SHAPE)
            self.ready[batch] = of(self.device, self.model, self.preprocess, shape)
        return self.ready[batch]

    def pictures(self, batch: int) -> Act:
        """Return the function that predicts one batch."""
        x = np.random.RandomState(0).randint(0, 256, (batch, *SHAPE)).astype("uint8")
        predict = self.predictor(batch)
        return lambda: predict(x)


def peak(size: int, precision: str) -> tuple[Act, float]:
    """Return the function that multiplies two matrices in OpenVINO, and its GFLOP."""
    import openvino  # type: ignore[import-not-found]
    from openvino import opset13 as ops

    left = ops.parameter([size, size], openvino.Type.f32)
    right = ops.constant(np.random.RandomState(0).standard_normal((size, size)).astype("float32"))
    graph = openvino.Model([ops.result(ops.matmul(left, right, False, False))], [left])
    hint = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[precision]
    compiled = openvino.Core().compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": hint})
    x = np.ones((size, size), "float32")
    return lambda: compiled([x]), 2e-9 * size**3


def main(kind: str, framework: str, precision: str, width: str = "1.0") -> None:
    """Answer questions until the input ends."""
    runpy.run_path(str(Path(__file__).resolve().parents[3] / "zoo" / "worker" / "bootstrap.py"))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Keras prints what it likes.
    way: Any = Stock(float(width)) if kind == "stock" else Zoo(framework, precision, float(width))
    known: dict[str, tuple[Act, float]] = {}
    for line in sys.stdin:
        question = json.loads(line)
        seconds = question.pop("seconds", 0.0)
        if "photos" in question:
            result = way.files(question["photos"])
        else:
            key = json.dumps(question)
            if key not in known and "peak" in question:
                known[key] = peak(question["peak"], precision)
            elif key not in known:
                known[key] = way.pictures(question["batch"]), question["batch"]
            result = rate(*known[key], seconds)
        answers.write(json.dumps({"rate": result}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
