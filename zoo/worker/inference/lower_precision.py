"""Compute in a lower precision where that leaves the answers for the user's own pictures as they are."""

import time

# So many pictures are answered in both precisions, and less than this share of them may get another likeliest class.
SAMPLE = 600
MOST_CHANGED = 1 / 200


class Fixed:
    """Answers pictures in one precision.

    Args:
        predict: from pixels, (n, height, width, channels) uint8, to probabilities, (n, classes) float32.
        precision: its name.
    """

    def __init__(self, predict, precision):
        self._predict, self._precision = predict, precision

    def warm_up(self, pixels):
        """Answer a batch of no meaning: the first one compiles."""
        return self._predict(pixels)

    def __call__(self, pixels, count):
        """Answer the first ``count`` pictures of a batch."""
        return self._predict(pixels)[:count]

    def described(self):
        """Return what the record of the run holds of it."""
        return {"precision": self._precision}


class Comparison:
    """Answers the first pictures in float32 and in a lower precision, and the others in the one that serves better.

    The lower one is taken where it gave less than MOST_CHANGED of SAMPLE pictures another likeliest class, and took
    less time; the comparison ends as soon as too many have another. The answers for those pictures are float32's.

    Args:
        exact: from pixels, (n, height, width, channels) uint8, to probabilities, (n, classes) float32.
        lower: makes the same in the lower precision, when it is warmed up.
        name: of the lower precision; None where the device has none.
    """

    def __init__(self, exact, lower, name):
        self._exact, self._make, self._name = exact, lower, name
        self._lower, self._chosen = None, exact if name is None else None
        self._compared = self._changed = 0
        self._seconds = {"exact": 0.0, "lower": 0.0}

    def warm_up(self, pixels):
        """Answer a batch of no meaning in float32, and in the lower precision: the first ones compile."""
        if self._chosen is None:
            self._lower = self._make()
            self._lower(pixels)
        return self._exact(pixels)

    def __call__(self, pixels, count):
        """Answer the first ``count`` pictures of a batch."""
        if self._chosen is not None:
            return self._chosen(pixels)[:count]
        answers = self._timed("exact", self._exact, pixels)[:count]
        others = self._timed("lower", self._lower, pixels)[:count]
        self._compared += count
        self._changed += int((answers.argmax(axis=1) != others.argmax(axis=1)).sum())
        if self._compared >= SAMPLE or self._changed >= MOST_CHANGED * SAMPLE:
            self._chosen = self._lower if self._serves() else self._exact
        return answers

    def described(self):
        """Return what was found and chosen, for the record of the run."""
        lower = self._chosen is not None and self._chosen is self._lower
        return {
            "precision": self._name if lower else "float32",
            "precision_tried": self._name,
            "precision_compared": self._compared,
            "precision_changed": self._changed,
            "precision_decided": self._chosen is not None,
            "precision_time": self._share() if self._compared else None,
        }

    def _serves(self):
        return self._changed < MOST_CHANGED * self._compared and self._share() < 1

    def _share(self):
        """How many times as long the lower precision took."""
        return self._seconds["lower"] / max(1e-9, self._seconds["exact"])

    def _timed(self, which, predict, pixels):
        began = time.monotonic()
        answers = predict(pixels)
        self._seconds[which] += time.monotonic() - began
        return answers
