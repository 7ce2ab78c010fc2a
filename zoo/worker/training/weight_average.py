"""Average the weights of a training over its steps: often better than those of any single step.

Polyak and Juditsky 1992, as an exponential moving average. It begins short and becomes longer, as that of TensorFlow
with ``num_updates``: the first steps would weigh in it for long otherwise.
"""

import contextlib

import numpy as np


class WeightAverage:
    """The exponential moving average of all weights of a model, statistics of normalization included.

    It is computed with numpy, which every stack has.

    Args:
        model: the Keras model.
        decay: share that stays of the average in a step, once the training is long enough; 0 for no average.
    """

    def __init__(self, model, decay):
        self._model, self._decay, self._arrays = model, decay, None

    def update(self, step):
        """Take in the present weights, those after a step, counted from 1."""
        if not self._decay:
            return
        present = self._model.get_weights()
        if self._arrays is None:
            self._arrays = [np.array(value) for value in present]
            return
        decay = min(self._decay, (1.0 + step) / (10.0 + step))
        for place, value in enumerate(present):
            self._arrays[place] = self._mean(self._arrays[place], np.asarray(value), decay)

    @staticmethod
    def _mean(average, value, decay):
        if not np.issubdtype(value.dtype, np.floating):
            return np.array(value)
        kind = value.dtype.type
        return average * kind(decay) + value * kind(1 - decay)

    @contextlib.contextmanager
    def in_place(self):
        """Let the model have the average meanwhile."""
        if self._arrays is None:
            yield
            return
        present = [np.array(value) for value in self._model.get_weights()]
        self._model.set_weights(self._arrays)
        try:
            yield
        finally:
            self._model.set_weights(present)

    def capture(self):
        """Return what a checkpoint holds of it: name -> array."""
        return {"ema/%05d" % number: value for number, value in enumerate(self._arrays or [])}

    def restore(self, arrays):
        """Go on from the arrays of a checkpoint; without any, the next weights are the first."""
        kept = [arrays[name] for name in sorted(arrays) if name.startswith("ema/")]
        self._arrays = kept or None
