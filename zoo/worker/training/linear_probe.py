"""Fit the last layer of a classifier to few images: a logistic regression on the features of the layers before it.

It is multinomial, with an L2 penalty on the weights of standardized features. Cross-validation chooses its strength.
"""

import numpy as np

from zoo.protocol.targets import SMALLEST

# Weight of the losses relative to the penalty, as C in scikit-learn.
STRENGTHS = 10.0 ** np.arange(-4, 1.01, 0.5)
FOLDS, SEED = 5, 0
# Features that hardly vary are divided by this share of the mean deviation, so that other images stay in range.
LEAST = 0.3
# The scores of all images change by less than this in the last step.
TOLERANCE, MOST_STEPS = 1e-3, 200


class Probe:
    """Features of images, prepared to fit logistic regressions to some of them.

    Args:
        features: (n, d).
        labels: (n,), from 0 to ``classes`` - 1.
        weights: (n,), how much each image counts.
    """

    def __init__(self, features, labels, classes, weights):
        rows = features.astype(np.float64)
        spread = rows.std(axis=0)
        self._mean, self._scale = rows.mean(axis=0), np.maximum(spread, LEAST * spread.mean() + 1e-8)
        # Along the principal axes, a bound of the curvature is diagonal.
        rotated, singular, self._axes = np.linalg.svd((rows - self._mean) / self._scale, full_matrices=False)
        self._rows = np.concatenate([rotated * singular, np.ones((len(rows), 1))], axis=1)
        self._curvature = 0.5 * np.append(singular**2, len(rows))[:, None]
        self._labels, self._truth, self._weights = labels, np.eye(classes)[labels], weights

    def choose(self):
        """Return the strength with the lowest cross-entropy of images that were left out."""
        random, losses = np.random.RandomState(SEED), []
        # Sorted by class, every fifth image is left out, so that each fold has images of all classes.
        order = np.lexsort((random.permutation(len(self._labels)), self._labels))
        left_out = [np.isin(np.arange(len(order)), order[fold::FOLDS]) for fold in range(FOLDS)]
        for solutions in zip(*(self._path(STRENGTHS, ~fold) for fold in left_out)):
            predicted = np.zeros(self._truth.shape)
            for fold, theta in zip(left_out, solutions):
                predicted[fold] = _softmax(self._rows[fold] @ theta)
            shares = np.maximum((predicted * self._truth).sum(axis=1), SMALLEST)
            losses.append(-self._weights @ np.log(shares))
            if len(losses) > 2 and losses[-1] > losses[-2] > losses[-3]:
                break
        return float(STRENGTHS[np.argmin(losses)])

    def fit(self, strength, known):
        """Return kernel (d, classes) and bias (classes,), float32, for the images in ``known``, a mask (n,)."""
        theta = list(self._path(STRENGTHS[strength >= STRENGTHS], known))[-1]
        kernel = self._axes.T @ theta[:-1] / self._scale[:, None]
        return kernel.astype(np.float32), (theta[-1] - self._mean @ kernel).astype(np.float32)

    def _path(self, strengths, known):
        """Yield the solution for each strength, (axes + 1, classes), starting from the one before.

        Each step divides by a fixed bound of the curvature (Boehning 1992, doi 10.1007/BF00048682), with momentum.
        """
        weights = (self._weights * known)[:, None]
        penalty = np.ones_like(self._curvature)
        penalty[-1] = 0.0  # of the bias
        theta = np.zeros((len(penalty), self._truth.shape[1]))
        for strength in strengths:
            bound, ahead, momentum = penalty + strength * weights.max() * self._curvature, theta, 1.0
            for _ in range(MOST_STEPS):
                errors = weights * (_softmax(self._rows @ ahead) - self._truth)
                step = (penalty * ahead + strength * (self._rows.T @ errors)) / bound
                before, theta, last = theta, ahead - step, momentum
                moved = theta - before
                momentum = (1 + np.sqrt(1 + 4 * last**2)) / 2 if (step * moved).sum() <= 0 else 1.0
                ahead = theta + (last - 1) / momentum * moved if momentum > 1 else theta
                if np.abs(self._rows @ moved).max() < TOLERANCE:
                    break
            yield theta


def _softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
