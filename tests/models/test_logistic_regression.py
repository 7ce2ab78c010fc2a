"""How much features count, by logistic regression."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from zoo.models import logistic_regression
from zoo.models.logistic_regression import compact
from zoo.protocol import word_parts

TOTAL = 50


def texts(classes: int, count: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of texts, of which each class has its own, common to half of its texts; labels; ratios."""
    random = np.random.default_rng(classes)
    labels = random.integers(0, classes, count)
    numbers = random.integers(0, TOTAL, (count, 8))
    numbers[::2, 0] = 1 + labels[::2]
    ratios = random.normal(size=(TOTAL, classes)).astype(np.float32)
    ratios[0] = 0
    return numbers, labels, ratios


def loss(gains: np.ndarray, numbers: np.ndarray, labels: np.ndarray, ratios: np.ndarray) -> float:
    logits = (ratios * gains[:, np.newaxis])[numbers].sum(axis=1)
    likelihood = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    penalty = (gains**2).sum() / (2 * logistic_regression.STRENGTH * len(labels))
    return float(penalty - likelihood[np.arange(len(labels)), labels].mean())


def test_two_classes_are_told_apart_as_by_scikit_learn() -> None:
    numbers, labels, ratios = texts(2)
    ratios[:, 0] = -ratios[:, 1]
    given = logistic_regression.gains([compact(numbers[:100]), compact(numbers[100:])], ratios, labels)
    rows = np.stack([np.bincount(features, minlength=TOTAL) for features in numbers]) * ratios[:, 1]
    same = LogisticRegression(C=4 * logistic_regression.STRENGTH, fit_intercept=False, tol=1e-10).fit(rows, labels)
    assert rows @ (2 * given) == pytest.approx(same.decision_function(rows), abs=0.05)


@pytest.mark.parametrize("classes", [2, 5])
def test_no_other_gains_are_better(classes: int) -> None:
    numbers, labels, ratios = texts(classes)
    given = logistic_regression.gains([compact(numbers)], ratios, labels)
    best, random = loss(given, numbers, labels, ratios), np.random.default_rng(0)
    assert best < loss(np.zeros(TOTAL), numbers, labels, ratios)
    for _ in range(50):
        other = given + random.normal(size=TOTAL) * 0.1
        assert loss(other, numbers, labels, ratios) > best


def test_texts_without_features_and_padding_count_nothing() -> None:
    numbers, labels, ratios = texts(2)
    padded = np.concatenate([numbers, np.zeros((3, 8), int)])
    numbers = np.concatenate([padded, np.zeros_like(padded)], axis=1)
    given = logistic_regression.gains([compact(numbers)], ratios, np.concatenate([labels, [0, 1, 1]]))
    assert np.isfinite(given).all()
    assert given[0] == 0
    assert given.any()


def test_where_all_texts_are_of_one_class_nothing_is_learnt_from_ratios_of_zero() -> None:
    numbers, labels, ratios = texts(2)
    assert not logistic_regression.gains([compact(numbers)], np.zeros_like(ratios), np.zeros_like(labels)).any()


def test_parts_of_tokens_are_features_of_the_texts_that_have_the_tokens() -> None:
    numbers, labels, ratios = texts(2)
    words = ["", *(f"{number % 7}{number % 5}" for number in range(1, 20))]  # tokens; what follows are combinations
    parts = word_parts.Parts(words)
    of_parts = np.random.default_rng(0).normal(size=(parts.count, 2)).astype(np.float32)
    given = logistic_regression.gains([compact(numbers)], np.concatenate([ratios, of_parts]), labels, parts)

    def rows(features: np.ndarray) -> np.ndarray:
        own = np.bincount(features, minlength=TOTAL)
        return np.concatenate([own, parts.sum_by_part(own[: len(words)])])

    both = np.concatenate([ratios, of_parts])
    difference = (both[:, 1] - both[:, 0]) * np.stack([rows(features) for features in numbers])
    same = LogisticRegression(C=logistic_regression.STRENGTH, fit_intercept=False, tol=1e-10, max_iter=1000)
    same.fit(difference, labels)
    assert difference @ given == pytest.approx(same.decision_function(difference), abs=0.05)


@pytest.mark.parametrize("kind", ["labels", "number"])
def test_labels_and_numbers_are_fitted_as_by_a_general_minimizer(kind: str) -> None:
    random = np.random.default_rng(8)
    numbers = random.integers(0, 12, (80, 6))
    ratios = random.normal(size=(12, 2)).astype(np.float32)
    wanted = (random.random((80, 2)) < 0.4).astype(np.float64) if kind == "labels" else random.normal(size=(80, 2))
    start = np.array([-0.4, 0.3])
    counts = np.stack([np.bincount(row, minlength=12) for row in numbers]).astype(float)
    counts[:, 0] = 0
    sizes = (numbers != 0).sum(axis=1) + 1  # the padding before each text counts
    strength = logistic_regression.STRENGTH if kind == "labels" else logistic_regression.STRENGTH_OF_NUMBERS

    def loss(gains: np.ndarray) -> float:
        sums = counts @ (ratios * gains[:, None])
        outputs = (sums if kind == "labels" else sums / np.sqrt(sizes)[:, None]) + start
        each = np.logaddexp(0, outputs) - outputs * wanted if kind == "labels" else (outputs - wanted) ** 2 / 2
        return float(each.sum(axis=1).mean() + gains @ gains / (2 * strength * 80))

    ratios[0] = 0
    gains = logistic_regression.gains([logistic_regression.compact(numbers)], ratios, wanted, None, kind, start)
    assert loss(gains) <= optimize.minimize(loss, np.zeros(12)).fun + 1e-3
