"""Mean loss and accuracy over the batches of an epoch so far."""

import numpy as np


class RunningMeans:
    """The mean loss and accuracy over all items so far; NaN before the first batch."""

    def __init__(self):
        self._sums, self._count = np.zeros(2), 0
        self.loss = self.accuracy = float("nan")

    def add(self, loss, accuracy, count):
        self._sums += np.array([loss, accuracy]) * count
        self._count += count
        self._average()

    def _average(self):
        if self._count:
            self.loss, self.accuracy = (float(value) for value in self._sums / self._count)

    def state(self):
        return {"sums": [float(value) for value in self._sums], "count": self._count}

    def restore(self, state):
        """Continue from the state of another process."""
        self._sums, self._count = np.array(state["sums"]), state["count"]
        self._average()
