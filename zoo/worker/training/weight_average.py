"""Average the weights over the training steps; the average is often better than the weights of any step.

Polyak and Juditsky 1992, as an exponential moving average. Its window starts short and grows, like TensorFlow's with
``num_updates``, because a long window would give the first steps too much weight.
"""

import contextlib

import numpy as np


class WeightAverage:
    """The exponential moving average of all weights of a model, including normalization statistics.

    It is computed with NumPy, which every stack has. ``decay`` is the share of the average that a step keeps once the
    training is long enough; 0 disables it.
    """

    def __init__(self, model, decay):
        self._model, self._decay, self._arrays = model, decay, None

    def update(self, step):
        """Add the current weights, after a step counted from 1."""
        if not self._decay:
            return
        present = self._model.get_weights()
        if self._arrays is None:
            self._arrays = [np.array(value) for value in present]
            return
        decay = min(self._decay, (1.0 + step) / (10.0 + step))
        for place, value in enumerate(map(np.asarray, present)):
            kind = value.dtype.type
            if np.issubdtype(kind, np.floating):
                self._arrays[place] = self._arrays[place] * kind(decay) + value * kind(1 - decay)
            else:
                self._arrays[place] = np.array(value)

    @contextlib.contextmanager
    def in_place(self):
        """Give the model the average for the duration of the block."""
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
        return {"ema/%05d" % number: value for number, value in enumerate(self._arrays or [])}

    def restore(self, arrays):
        """Continue from the arrays of a checkpoint; without arrays, the average starts again."""
        self._arrays = [arrays[name] for name in sorted(arrays) if name.startswith("ema/")] or None
