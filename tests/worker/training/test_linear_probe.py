"""zoo.worker.training.linear_probe, compared with scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from zoo.worker.training import linear_probe

COUNT, CLASSES = 200, 10


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    pixels, labels = load_digits(return_X_y=True)
    return pixels[:COUNT].astype(np.float32), labels[:COUNT]


def shares(pixels: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    scores = pixels @ kernel + bias
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("strength", [0.001, 0.1, 1.0])
@pytest.mark.parametrize("balanced", [False, True])
def test_a_fit_is_the_one_of_scikit_learn(
    digits: tuple[np.ndarray, np.ndarray], strength: float, balanced: bool
) -> None:
    pixels, labels = digits
    known = np.arange(COUNT) % 4 > 0
    weights = np.where(labels < 5, 2.0, 0.5) if balanced else np.ones(COUNT)
    kernel, bias = linear_probe.Probe(pixels, labels, CLASSES, weights).fit(strength, known)
    assert (kernel.shape, kernel.dtype, bias.shape) == ((64, CLASSES), np.float32, (CLASSES,))
    spread = pixels.std(axis=0)
    standard = (pixels - pixels.mean(axis=0)) / np.maximum(spread, 0.3 * spread.mean())
    peer = LogisticRegression(C=strength, tol=1e-8, max_iter=2000)
    peer.fit(standard[known], labels[known], sample_weight=weights[known])
    assert shares(pixels, kernel, bias) == pytest.approx(peer.predict_proba(standard), abs=5e-3)


def test_the_strength_follows_from_images_that_are_left_out(digits: tuple[np.ndarray, np.ndarray]) -> None:
    pixels, labels = digits
    random = np.random.default_rng(0)
    useful = linear_probe.Probe(pixels, labels, CLASSES, np.ones(COUNT)).choose()
    useless = linear_probe.Probe(pixels, random.permutation(labels), CLASSES, np.ones(COUNT)).choose()
    assert useless == pytest.approx(1e-4)
    assert useful >= 0.1


def test_more_features_than_images_and_a_class_of_one_image() -> None:
    random = np.random.default_rng(0)
    features, labels = random.standard_normal((13, 40)).astype(np.float32), np.array([0] * 6 + [1] * 6 + [2])
    features[:, 0] = 7.0  # constant
    features[:, 1] = 5 * labels
    probe = linear_probe.Probe(features, labels, 3, np.ones(13))
    kernel, bias = probe.fit(10.0, np.ones(13, bool))
    assert np.isfinite(probe.choose())
    assert shares(features, kernel, bias).argmax(axis=1).tolist() == labels.tolist()
