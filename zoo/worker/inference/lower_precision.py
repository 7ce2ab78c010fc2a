"""Compute in a lower precision if it does not change the predictions for the user's own images."""

from zoo.worker.phases import timed

# Number of images computed in both precisions, and the share whose most likely class may change.
SAMPLE = 600
MOST_CHANGED = 1 / 200


class Comparison:
    """Predicts the first images in float32 and in a lower precision, and all later ones in the selected precision.

    The lower precision is selected if it is faster and changes the class of less than MOST_CHANGED of SAMPLE images.
    The comparison ends early if more change. The compared images get the predictions in float32.

    Args:
        exact: from pixels, (n, height, width, channels) uint8, to probabilities, (n, classes) float32.
        lower: called at the warm-up; returns the same function in the lower precision. With None, ``exact`` predicts
            all images, and ``name`` is its precision.
        name: the lower precision; None if there is none.
    """

    def __init__(self, exact, lower, name):
        self._exact, self._make, self._name = exact, lower, name
        self._lower, self._chosen = None, exact if lower is None or name is None else None
        self._compared = self._changed = 0
        self._seconds = {}

    def warm_up(self, pixels):
        """Compute a dummy batch in float32 and in the lower precision, because the first ones compile."""
        if self._chosen is None:
            self._lower = self._make()
            self._lower(pixels)
        return self._exact(pixels)

    def __call__(self, pixels, count):
        """Predict the first ``count`` images of a batch."""
        if self._chosen is not None:
            return self._chosen(pixels)[:count]
        with timed(self._seconds, "exact"):
            answers = self._exact(pixels)[:count]
        with timed(self._seconds, "lower"):
            others = self._lower(pixels)[:count]
        self._compared += count
        self._changed += int((answers.argmax(axis=1) != others.argmax(axis=1)).sum())
        if self._compared >= SAMPLE or self._changed >= MOST_CHANGED * SAMPLE:
            serves = self._changed < MOST_CHANGED * self._compared and self._share() < 1
            self._chosen = self._lower if serves else self._exact
        return answers

    def described(self):
        """Return the measurements and the decision, for the record of the run."""
        if self._make is None:
            return {"precision": self._name}
        lower = self._chosen is not None and self._chosen is self._lower
        return {
            "precision": self._name if lower else "float32", "precision_tried": self._name,
            "precision_compared": self._compared, "precision_changed": self._changed,
            "precision_decided": self._chosen is not None,
            "precision_time": self._share() if self._compared else None,
        }  # fmt: skip

    def _share(self):
        """Return the time of the lower precision divided by the time of float32."""
        return self._seconds["lower"] / max(1e-9, self._seconds["exact"])
