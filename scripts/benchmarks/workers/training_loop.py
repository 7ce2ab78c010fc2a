"""Timing for training_loop.py in a stack's interpreter: ``python training_loop.py ITEMS BATCH ROUNDS``.

The last line of the output is JSON: items a second of every round, for each way.
"""

import importlib
import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def main(items: int, batch: int, rounds: int) -> None:
    """Compile the three ways, then time them in turns."""
    runpy.run_path(str(Path(__file__).resolve().parents[3] / "zoo" / "worker" / "bootstrap.py"))
    compat: Any = importlib.import_module("zoo.models.compat")
    mnist: Any = importlib.import_module("zoo.models.mnist")
    x = np.random.RandomState(0).randint(0, 256, (items, 28, 28, 1)).astype(np.uint8)
    y = np.eye(10, dtype=np.float32)[np.random.RandomState(1).randint(0, 10, items)]
    preprocessed = mnist.preprocess(x)

    def fit(model: Any) -> None:
        model.fit(preprocessed, y, batch_size=batch, epochs=1, verbose=0)

    def loop(model: Any) -> None:
        for begin in range(0, items, batch):
            compat.set_learning_rate(model, 0.001)
            part = slice(begin, begin + batch)
            compat.train_classifier(model, mnist.preprocess(x[part]), y[part])

    ways = {
        "fit, as Keras compiles it": (fit, compiled(compat, mnist, "auto")),
        "fit, without XLA": (fit, compiled(compat, mnist, False)),
        "the zoo's loop": (loop, compiled(compat, mnist, False)),
    }
    for run, model in ways.values():
        run(model)
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (run, model) in ways.items():
            began = time.perf_counter()
            run(model)
            rates[name].append(items / (time.perf_counter() - began))
    print(json.dumps(rates))


def compiled(compat: Any, mnist: Any, jit: object) -> Any:
    """Build and compile the network."""
    model = mnist.build(compat)
    extra = {"jit_compile": jit} if compat.MAJOR >= 3 else {}
    optimizer = compat.optimizer("adam", 0.001)
    model.compile(loss="categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"], **extra)
    return model


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
