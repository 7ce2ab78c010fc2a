"""Mean loss and accuracy over the batches of an epoch so far."""

import numpy as np


class RunningMeans:
    """The mean loss and accuracy over all items so far; NaN before the first batch."""

    def __init__(self, state=None):
        """Start from nothing, or continue from the state of another process."""
        self._sums, self._count = (np.array(state["sums"]), state["count"]) if state else (np.zeros(2), 0)
        self.add(0.0, 0.0, 0)

    def add(self, loss, accuracy, count):
        self._sums += np.array([loss, accuracy]) * count
        self._count += count
        means = self._sums / self._count if self._count else [float("nan")] * 2
        self.loss, self.accuracy = (float(value) for value in means)

    def state(self):
        return {"sums": self._sums.tolist(), "count": self._count}
