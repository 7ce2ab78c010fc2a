"""Prepare networks for timing: build them, draw their weights from a seed, and create a batch of inputs.

The shape of the network's input determines whether inputs are images, tokens or vectors. Classifiers and language
models train on one-hot labels, all other networks on zeros. The targets do not affect the time.
"""

import numpy as np

from zoo.models import compat
from zoo.worker import devices, weights
from zoo.worker.benchmarks import flops, golden
from zoo.worker.errors import UserError
from zoo.worker.inference import predictors
from zoo.worker.model import build_model

SEED = 1


class NetworkCase:
    """One network in one precision.

    Args:
        network: a :class:`zoo.protocol.request.NetworkPart`.
        precision: ``float32``, ``bfloat16`` or ``float16``; weights are always float32.
    """

    def __init__(self, network, framework, precision="float32"):
        self._device = devices.load(framework)
        self._answers, self._precision = network.golden or {}, precision
        self._arguments = network.model.args
        predictors.prepare(self._device, precision)
        try:
            self.model, self._preprocess = build_model(network.model)
        finally:
            predictors.prepare(self._device, "float32")
        if self._answers:
            drawn = golden.draw_weights(compat.named_weights(self.model), SEED, self._answers["gain"])
            self.model.set_weights(drawn)
        else:
            weights.initialise(self.model, SEED)
        self.gflop_per_item = flops.per_item(self.model, self._arguments) / 1e9

    def call(self, mode, batch):
        """Return a function that processes one batch and returns when the device is done.

        ``mode`` is ``inference`` or ``training`` (one optimizer step).
        """
        stored = self.inputs(batch)
        if mode == "inference":
            predict = self.predictor(batch)
            return lambda: predict(stored)
        if not devices.capabilities()["trains"]:
            raise UserError("%s cannot train" % compat.backend_name())
        return self._step(self._preprocess(stored))

    def inputs(self, count):
        """Return a batch before preprocessing: images (uint8), tokens (int32) or vectors (float32)."""
        shape = compat.static_shape(self.model.inputs[0])[1:]
        if len(shape) == 3:
            return np.ascontiguousarray(golden.draw_pictures(SEED, count, shape[0])[..., : shape[2]])
        random = np.random.RandomState(SEED)
        if len(shape) == 1:
            return random.randint(1, self._arguments["vocabulary"], (count, *shape)).astype(np.int32)
        return random.standard_normal((count, *shape)).astype(np.float32)

    def predictor(self, batch):
        """Return the framework's fastest function from a batch of stored inputs to float32 outputs."""
        shape = compat.static_shape(self.model.inputs[0])[1:]
        if hasattr(self._device, "predictor") and len(shape) != 3:
            if self._precision != "float32":
                raise UserError("this stack computes in %s only for images" % self._precision)
            return lambda stored: compat.predict(self.model, self._preprocess(stored))
        predictors.prepare(self._device, self._precision)  # for frameworks that compile in the next call
        try:
            return predictors.of(self._device, self.model, self._preprocess, (batch, *shape))
        finally:
            predictors.prepare(self._device, "float32")

    def _step(self, x):
        shape = compat.static_shape(self.model.outputs[0])[1:]
        if len(shape) == 1 or "vocabulary" in self._arguments:
            compat.compile_classifier(self.model, "sgd", 1e-6, False)
            places = (len(x), *shape[:-1])
            y = np.eye(shape[-1], dtype=np.float32)[np.arange(int(np.prod(places))) % shape[-1]]
            y = y.reshape((*places, shape[-1]))
            return lambda: compat.train_classifier(self.model, x, y)
        compat.compile_mse(self.model, "sgd", 1e-6)
        zeros = np.zeros((len(x), *shape), np.float32)
        return lambda: compat.train_mse(self.model, x, zeros)

    def check(self, batch):
        """Return ``largest_error`` and, in float32 only, ``correct``; an empty result without known outputs."""
        if not self._answers:
            return {}
        x, predict = self.inputs(self._answers["count"]), self.predictor(batch)
        filled = np.concatenate([x] * (-(-batch // len(x)) + 1))
        parts = [predict(filled[at : at + batch]) for at in range(0, len(x), batch)]
        error = golden.largest_error(self._answers, np.concatenate(parts)[: len(x)])
        judged = {"correct": error <= golden.TOLERANCE} if self._precision == "float32" else {}
        return dict(judged, largest_error=error)
