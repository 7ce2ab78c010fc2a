"""Runs inside a stack for regression.py: ``python regression_worker.py REQUEST``; prints JSON.

A recipe is trained by the zoo's own loop, on pictures that are random: their content does not matter for the time.
Between two steps a product of two matrices is computed by numpy. What a step takes, making its batch included, is
held against what the product takes right after it, so that whatever slows the machine down slows both.
"""

import importlib
import json
import os
import runpy
import sys
import tempfile
import time

import numpy as np

EDGE = 256
# Long enough that some of them are not interrupted, short enough that the machine is as fast at its end.
GROUP = 16
WARM = 32
STORED = 2048
LEAST = 8
MOST_STEPS = 4000


def clocks():
    """Seconds on the wall's clock, and those that all threads of this process worked."""
    return np.array([time.perf_counter(), time.process_time()])


class Meter:
    """Takes the time of every step and of the product between two steps.

    Args:
        feed: the recipe's own feed.
        seconds: after which no more steps are taken, though never fewer than a few groups.
    """

    def __init__(self, feed, seconds):
        self._feed, self._seconds = feed, seconds
        self._left = np.random.RandomState(0).standard_normal((EDGE, EDGE)).astype(np.float32)
        self._out, self._repeats = np.empty((EDGE, EDGE), np.float32), 1
        self.steps_s, self.products_s = [], []  # pairs: on the wall's clock, and of the processor

    def steps(self, epoch):
        return self._feed.steps(epoch)

    def evaluate(self, model):
        return {}

    def batches(self, epoch):
        """The recipe's batches; the clock runs from before one is made until the next is asked for."""
        batches, number = self._feed.batches(epoch), 0
        end = time.perf_counter() + self._seconds
        while len(self.steps_s) < LEAST * GROUP or time.perf_counter() < end:
            began = clocks()
            batch = next(batches, None)
            if batch is None:
                return
            yield batch
            taken = clocks() - began
            number += 1
            if number <= WARM:
                self._settle(taken[0])
                continue
            self.steps_s.append(taken)
            self.products_s.append(self._product())

    def _settle(self, step_s):
        """So many products that they take about half a step."""
        self._repeats = max(1, int(0.5 * step_s / self._product()[0]))

    def _product(self):
        """Seconds of one product."""
        began = clocks()
        for _ in range(self._repeats):
            np.dot(self._left, self._left, out=self._out)
        return (clocks() - began) / self._repeats

    def figures(self):
        """Step against product, a number for every few that follow each other: ``wall``, ``processor``, ``busy``.

        On the wall's clock the fastest of the few count, which nothing interrupted; of the processor all. ``busy``
        is how many times its processor time a product took.
        """
        steps, products = np.array(self.steps_s), np.array(self.products_s)
        parts = [slice(at, at + GROUP) for at in range(0, len(steps) - GROUP + 1, GROUP)]
        return {
            "wall": [float(steps[part, 0].min() / products[part, 0].min()) for part in parts],
            "processor": [float(steps[part, 1].sum() / products[part, 1].sum()) for part in parts],
            "busy": float(products[:, 0].sum() / products[:, 1].sum()),
        }


class Silent:
    """Events that nobody reads, and a stop that nobody asks for."""

    asked, reason = False, None

    def step(self, **fields): ...
    def emit(self, event, **fields): ...


def train(request, altered=lambda model: None):
    """Train for so long and take the times.

    Args:
        request: ``zoo``, the folder of the package; ``framework``, ``model``, ``train`` as in a request of the
            zoo's, ``shape`` and ``classes`` of the pictures, ``seconds``.
        altered: called with the compiled model, for tests that plant something.

    Returns:
        What :meth:`Meter.figures` returns.
    """
    runpy.run_path(os.path.join(request["zoo"], "worker", "bootstrap.py"))
    device = importlib.import_module("zoo.worker.devices." + request["framework"])
    device.start({"promise": "cpu", "id": None, "backend": "cpu", "framework": request["framework"]})
    from zoo.models import compat
    from zoo.worker.jobs import train_image_classifier as training
    from zoo.worker.training import image_batches, loop

    loop.ahead = iter  # batches are made and used in turn: a product must have the machine to itself
    settings = request["train"]
    compat.seed(settings["seed"])
    model, preprocess = training._model(dict(request, weights=None, device={"promise": "cpu"}), Silent())
    training._compile(model, settings)
    altered(model)
    with tempfile.TemporaryDirectory() as folder:
        part = _pictures(image_batches, folder, request, settings["batch_size"])
        meter = Meter(image_batches.Feed(part, part, preprocess, settings, request["classes"]), request["seconds"])
        loop.fit(model, meter, settings, loop.Keeper(model, folder), Silent(), Silent(), {})
    return meter.figures()


def _pictures(pictures, folder, request, batch):
    """A part of random pictures, as the zoo's workers read them."""
    random = np.random.RandomState(1)
    x = np.resize(random.randint(0, 256, 1 << 22).astype(np.uint8), (STORED, *request["shape"]))
    names = [os.path.join(folder, name) for name in ("x.npy", "y.npy")]
    np.save(names[0], x)
    np.save(names[1], random.randint(0, request["classes"], STORED))
    return pictures.Part(names[0], names[1], np.resize(np.arange(STORED), MOST_STEPS * batch))


def main(altered=lambda model: None):
    """Answer the request on the command line."""
    kept = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    kept.write(json.dumps(train(json.loads(sys.argv[1]), altered)) + "\n")
    kept.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
