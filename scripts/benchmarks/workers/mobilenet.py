"""Runs inside a stack for mobilenet_inference.py: ``python mobilenet_worker.py REQUEST``, a question a line.

Each answer is a line ``rate NUMBER``: pictures a second, or GFLOP/s of a matrix product.
"""

import importlib
import json
import os
import runpy
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Act = Callable[[], object]
SHAPE = (224, 224, 3)


def reach_zoo(folder: str) -> None:
    """Make the zoo's worker side importable."""
    runpy.run_path(os.path.join(folder, "worker", "bootstrap.py"))


def rate(act: Act, items: float, seconds: float) -> float:
    """Items a second of repeated calls, the first not counted."""
    act()
    began, done = time.perf_counter(), 0.0
    while time.perf_counter() - began < seconds:
        act()
        done += items
    return done / max(1e-9, time.perf_counter() - began)


class Stock:
    """keras.applications, as its documentation uses it."""

    def __init__(self, request: dict[str, Any]) -> None:
        import keras  # type: ignore[import-not-found]

        self.keras, self.model = keras, keras.applications.MobileNet(weights=None)

    def pictures(self, batch: int) -> Act:
        """What predicts one batch."""
        x = np.random.RandomState(0).uniform(-1, 1, (batch, *SHAPE)).astype("float32")
        return lambda: self.model.predict(x, batch_size=batch, verbose=0)

    def files(self, folder: str) -> float:
        """Pictures a second from files to probabilities."""
        began = time.perf_counter()
        data = self.keras.utils.image_dataset_from_directory(
            folder, labels=None, shuffle=False, image_size=SHAPE[:2], batch_size=32
        )
        found = self.model.predict(data.map(self.keras.applications.mobilenet.preprocess_input), verbose=0)
        return len(found) / (time.perf_counter() - began)


class Zoo:
    """The zoo's own definition, and the way its worker predicts."""

    def __init__(self, request: dict[str, Any]) -> None:
        device = importlib.import_module("zoo.worker.devices." + request["framework"])
        device.start({"promise": "cpu", "id": None, "backend": "cpu", "framework": request["framework"]})
        prepare: Any = importlib.import_module("zoo.worker.inference.predictors").prepare
        prepare(device, request["precision"])
        build: Any = importlib.import_module("zoo.worker.model").build
        self.request, self.device = request, device
        self.model, self.preprocess = build({"model": {"name": "mobilenet", "args": {"alpha": 1.0}}})
        self.ready: dict[int, Any] = {}

    def predictor(self, batch: int) -> Any:
        """The zoo's predict function for batches of a size."""
        of: Any = importlib.import_module("zoo.worker.inference.predictors").of
        if batch not in self.ready:
            shape = (batch, *SHAPE)
            self.ready[batch] = of(self.device, self.model, self.preprocess, shape)
        return self.ready[batch]

    def pictures(self, batch: int) -> Act:
        """What predicts one batch."""
        x = np.random.RandomState(0).randint(0, 256, (batch, *SHAPE)).astype("uint8")
        predict = self.predictor(batch)
        return lambda: predict(x)


def peak(size: int, precision: str) -> tuple[Act, float]:
    """The function that multiplies two matrices in OpenVINO, and its GFLOP."""
    import openvino  # type: ignore[import-not-found]
    from openvino import opset13 as ops

    left = ops.parameter([size, size], openvino.Type.f32)
    right = ops.constant(np.random.RandomState(0).standard_normal((size, size)).astype("float32"))
    graph = openvino.Model([ops.result(ops.matmul(left, right, False, False))], [left])
    hint = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[precision]
    compiled = openvino.Core().compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": hint})
    x = np.ones((size, size), "float32")
    return lambda: compiled([x]), 2e-9 * size**3


def main() -> None:
    """Answer questions until there are none."""
    request = json.loads(sys.argv[1])
    reach_zoo(request["zoo"])
    way: Any = (Stock if request["kind"] == "stock" else Zoo)(request)
    known: dict[str, tuple[Act, float]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "photos" in asked:
            print(f"rate {way.files(asked['photos'])!r}", flush=True)
            continue
        key = json.dumps({name: value for name, value in asked.items() if name != "seconds"})
        if key not in known and "peak" in asked:
            known[key] = peak(asked["peak"], request["precision"])
        elif key not in known:
            known[key] = way.pictures(asked["batch"]), asked["batch"]
        act, items = known[key]
        print(f"rate {rate(act, items, asked['seconds'])!r}", flush=True)


if __name__ == "__main__":
    main()
