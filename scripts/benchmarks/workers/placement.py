"""Timing for placement.py in a stack's interpreter: ``python placement.py FRAMEWORK MODEL ITEMS BATCH ROUNDS``.

The last line of the output is JSON: seconds a step of every round, for each way.
"""

import importlib
import itertools
import json
import runpy
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = 10
# Steps of a kind in a row: the machine changes its speed within seconds.
TOGETHER = 5


def main(framework: str, model_name: str, items: int, batch: int, rounds: int) -> None:
    """Train one network by batches of the host and from the device, in turns."""
    runpy.run_path(str(Path(__file__).resolve().parents[3] / "zoo" / "worker" / "bootstrap.py"))
    protocol: Any = importlib.import_module("zoo.protocol.request")
    device = protocol.DevicePart(backend="cpu", framework=framework, device_kind="cpu")
    importlib.import_module(f"zoo.worker.devices.{framework}").start(device)
    compat: Any = importlib.import_module("zoo.models.compat")
    network: Any = importlib.import_module(f"zoo.models.{model_name}")
    placement: Any = importlib.import_module("zoo.worker.training.placement")
    model = network.build(compat)
    compat.compile_classifier(model, "adam", 0.001, False)

    def running(wanted: str) -> Any:
        data = types.SimpleNamespace(placement=wanted)
        request = types.SimpleNamespace(data=data, device=device)
        return types.SimpleNamespace(request=request, group=importlib.import_module("zoo.worker.distributed").Group())

    with tempfile.TemporaryDirectory() as folder:
        ways = {name: images(Path(folder), network.preprocess, items, batch).place(running(name))
                for name in ("host", "device")}  # fmt: skip
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for epoch in range(rounds + 1):
            feeds = {name: placement.feed(batches, epoch, 0, running(name)) for name, batches in ways.items()}
            for _ in range(items // batch // TOGETHER):
                for name, feed in feeds.items():
                    began = time.perf_counter()
                    for each in itertools.islice(feed, TOGETHER):
                        compat.train_classifier(model, *each)
                    if epoch:  # the first one compiles
                        seconds[name].append((time.perf_counter() - began) / TOGETHER)
            for feed in feeds.values():
                getattr(feed, "close", bool)()
    print(json.dumps(seconds))


def images(folder: Path, preprocess: Any, items: int, batch: int) -> Any:
    """Write random images and labels, and return batches of them."""
    feed: Any = importlib.import_module("zoo.worker.training.image_batches")
    random = np.random.RandomState(0)
    np.save(folder / "x.npy", random.randint(0, 256, (items, 28, 28, 1)).astype(np.uint8))
    np.save(folder / "y.npy", random.randint(0, CLASSES, items))
    chosen = np.arange(items)
    rows = feed.Rows(str(folder / "x.npy"), chosen, feed.read_small(str(folder / "x.npy")))
    part = feed.Part(rows, np.load(folder / "y.npy")[chosen])
    settings = types.SimpleNamespace(batch_size=batch, seed=1, label_smoothing=0.1)
    return feed.ImageBatches({"train": part, "validation": part}, preprocess, settings, CLASSES)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
