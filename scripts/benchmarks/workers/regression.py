"""Worker of regression.py in a stack's interpreter: ``python regression.py REQUEST``; prints JSON.

A recipe is trained by the zoo's own loop, on random images: their content does not affect the time. After each step
NumPy multiplies two matrices. The time of the step, its batch included, is divided by the time of the product, so
that whatever slows the machine down slows both.
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
# Steps in a group: long enough that some are not interrupted, short enough that the machine's speed does not drift.
GROUP = 16
WARM = 32
STORED = 2048
LEAST = 8
MOST_STEPS = 4000


def clocks():
    """Return wall time, and processor time of all threads of this process, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


class Meter:
    """Measures the time of every step and of the product after it.

    Args:
        feed: the recipe's own feed.
        seconds: time after which training ends, after at least a few groups.
    """

    on_device = None

    def __init__(self, feed, seconds):
        self._feed, self._seconds = feed, seconds
        self._left = np.random.RandomState(0).standard_normal((EDGE, EDGE)).astype(np.float32)
        self._out, self._repeats = np.empty((EDGE, EDGE), np.float32), 1
        self.steps_s, self.products_s = [], []  # Pairs of wall time and processor time.

    def steps(self, epoch):
        return self._feed.steps(epoch)

    def evaluate(self, model):
        return {}

    def batches(self, epoch):
        """Yield the recipe's batches; a step lasts from before its batch is created until the next is requested."""
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
        """Choose a number of products that takes about half a step."""
        self._repeats = max(1, int(0.5 * step_s / self._product()[0]))

    def _product(self):
        """Return the seconds of one product."""
        began = clocks()
        for _ in range(self._repeats):
            np.dot(self._left, self._left, out=self._out)
        return (clocks() - began) / self._repeats

    def figures(self):
        """Return step time over product time for each group as ``wall`` and ``processor``, and ``busy``.

        ``wall`` takes the fastest step and product of a group, which nothing interrupted; ``processor`` takes all.
        ``busy`` is wall time over processor time of the products.
        """
        steps, products = np.array(self.steps_s), np.array(self.products_s)
        parts = [slice(at, at + GROUP) for at in range(0, len(steps) - GROUP + 1, GROUP)]
        return {
            "wall": [float(steps[part, 0].min() / products[part, 0].min()) for part in parts],
            "processor": [float(steps[part, 1].sum() / products[part, 1].sum()) for part in parts],
            "busy": float(products[:, 0].sum() / products[:, 1].sum()),
        }


class Silent:
    """Events that nobody reads, and a stop request that never comes."""

    asked, reason = False, None

    def step(self, **fields): ...
    def emit(self, event, **fields): ...


def train(request, altered=lambda model: None):
    """Train for some seconds and measure.

    Args:
        request: ``zoo``, the folder of the package; ``framework``, ``model``, ``train`` as in a request of the
            zoo's, ``shape`` and ``classes`` of the pictures, ``seconds``.
        altered: called with the compiled model, for tests that plant something.

    Returns:
        What :meth:`Meter.figures` returns.
    """
    runpy.run_path(os.path.join(request["zoo"], "worker", "bootstrap.py"))
    device = importlib.import_module("zoo.worker.devices." + request["framework"])
    from zoo.protocol.request import DevicePart, ImageTrainPart, ModelPart, Request, StackPart

    used = DevicePart(backend="cpu", framework=request["framework"], device_kind="cpu")
    device.start(used)
    from zoo.models import compat
    from zoo.worker.jobs import train_image_classifier as training
    from zoo.worker.training import checkpointing, image_batches, loop, placement, run, state

    placement.prefetch = iter  # batches are made and used in turn: a product must have the machine to itself
    settings = ImageTrainPart.of(request["train"])
    compat.seed(settings.seed)
    with tempfile.TemporaryDirectory() as folder:
        asked = Request(
            verb="train", job="train_image_classifier", run_dir=folder, device=used, train=settings,
            stack=StackPart(framework=used.framework, keras="keras"), model=ModelPart.of(request["model"]),
        )  # fmt: skip
        shared = run.Run(asked, Silent(), Silent(), {})
        model, preprocess = training.build_and_fill(shared)
        training.compile_model(model, settings)
        altered(model)
        part = _pictures(image_batches, folder, request, settings.batch_size)
        both = {"train": part, "validation": part}
        batches = image_batches.ImageBatches(both, preprocess, settings, request["classes"])
        meter = Meter(batches, request["seconds"])
        loop.fit(model, meter, state.Stage(settings), checkpointing.Checkpointer(model, shared), shared)
    return meter.figures()


def _pictures(pictures, folder, request, batch):
    """Write random images and return them as the zoo's workers read them."""
    random = np.random.RandomState(1)
    x = np.resize(random.randint(0, 256, 1 << 22).astype(np.uint8), (STORED, *request["shape"]))
    names = [os.path.join(folder, name) for name in ("x.npy", "y.npy")]
    np.save(names[0], x)
    np.save(names[1], random.randint(0, request["classes"], STORED))
    chosen = np.resize(np.arange(STORED), MOST_STEPS * batch)
    return pictures.Part(pictures.Rows(names[0], chosen, pictures.read_small(names[0])), np.load(names[1])[chosen])


def main(altered=lambda model: None):
    """Answer the request on the command line."""
    kept = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    kept.write(json.dumps(train(json.loads(sys.argv[1]), altered)) + "\n")
    kept.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
