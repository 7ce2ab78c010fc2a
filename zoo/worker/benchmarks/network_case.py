"""Prepare networks for timing: build them, draw their weights from a seed, and make a batch of inputs.

Pictures, tokens or vectors: the network's own input says which. Classifiers and language models learn one-hot
answers, networks from pictures to pictures and from vectors to vectors learn to give zeros: what is learnt does not
matter for the time.
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
        network: ``model``, the name and arguments that build it; ``golden``, what it is known to say, or None.
        framework: that computes.
        precision: ``float32``, ``bfloat16`` or ``float16``; weights are float32 in any case.

    Raises:
        UserError: this stack cannot compute in that precision, or build the network.
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
        """The function without arguments that puts one batch through, and comes back when the device is done.

        Args:
            mode: ``inference``, or ``training``: one optimizer step.
            batch: items at a time.

        Raises:
            UserError: this stack cannot do that.
        """
        stored = self.inputs(batch)
        if mode == "inference":
            predict = self.predictor(batch)
            return lambda: predict(stored)
        if not devices.capabilities()["trains"]:
            raise UserError("%s cannot train" % compat.backend_name())
        return self._step(self._preprocess(stored))

    def inputs(self, count):
        """A batch as it is stored: pictures (uint8), tokens (int32) or vectors (float32)."""
        shape = compat.static_shape(self.model.inputs[0])[1:]
        if len(shape) == 3:
            return np.ascontiguousarray(golden.draw_pictures(SEED, count, shape[0])[..., : shape[2]])
        random = np.random.RandomState(SEED)
        if len(shape) == 1:
            return random.randint(1, self._arguments["vocabulary"], (count, *shape)).astype(np.int32)
        return random.standard_normal((count, *shape)).astype(np.float32)

    def predictor(self, batch):
        """From a batch of inputs as they are stored to float32 outputs, in the fastest way of the framework."""
        shape = compat.static_shape(self.model.inputs[0])[1:]
        if hasattr(self._device, "predictor") and len(shape) != 3:
            if self._precision != "float32":
                raise UserError("of pictures alone this stack computes in %s" % self._precision)
            return lambda stored: compat.predict(self.model, self._preprocess(stored))
        predictors.prepare(self._device, self._precision)  # where it is compiled here
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
        """How far the answers are from the known ones; nothing where none are known.

        Returns:
            ``largest_error``, and ``correct`` where the network computes in float32, for which the tolerance is.
        """
        if not self._answers:
            return {}
        x, predict = self.inputs(self._answers["count"]), self.predictor(batch)
        filled = np.concatenate([x] * (-(-batch // len(x)) + 1))
        parts = [predict(filled[at : at + batch]) for at in range(0, len(x), batch)]
        error = golden.largest_error(self._answers, np.concatenate(parts)[: len(x)])
        return dict(
            {"largest_error": error},
            **({"correct": error <= golden.TOLERANCE} if self._precision == "float32" else {}),
        )
