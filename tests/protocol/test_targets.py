"""Figures of labels and numbers, compared with scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, log_loss, mean_absolute_error, r2_score

from zoo.protocol import targets


def drawn(seed: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of four labels for 60 items, and the labels; with ``ties`` many are equal."""
    random = np.random.default_rng(seed)
    truth = (random.random((60, 4)) < (0.5, 0.2, 0.1, 0.4)).astype(np.uint8)
    truth[0] = 1
    predicted = np.clip(0.4 * truth + 0.6 * random.random((60, 4)), 0.01, 0.99)
    return (np.round(predicted, 1) if ties else predicted).clip(0.01, 0.99), truth


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", [False, True])
def test_figures_of_labels_are_those_of_scikit_learn(seed: int, ties: bool) -> None:
    predicted, truth = drawn(seed, ties)
    limits = [0.5, 0.4, 0.3, 0.6]
    given = predicted >= np.array(limits)
    figures = targets.figures("labels", predicted, truth, limits)
    assert figures["map"] == pytest.approx(average_precision_score(truth, predicted, average="macro"))
    assert figures["f1"] == pytest.approx(f1_score(truth, given, average="macro"))
    assert figures["micro_f1"] == pytest.approx(f1_score(truth, given, average="micro"))
    losses = [log_loss(truth[:, each], predicted[:, each], labels=[0, 1]) for each in range(4)]
    assert figures["loss"] == pytest.approx(np.mean(losses))


@pytest.mark.parametrize("ties", [False, True])
def test_no_threshold_has_a_better_f1_than_the_chosen_one(ties: bool) -> None:
    predicted, truth = drawn(7, ties)
    for label, threshold in enumerate(targets.thresholds(predicted, truth)):
        scores = [f1_score(truth[:, label], predicted[:, label] >= each) for each in np.linspace(0, 1, 201)]
        assert f1_score(truth[:, label], predicted[:, label] >= threshold) >= max(scores) - 1e-12


def test_a_label_is_not_given_to_nearly_all_items_because_of_one() -> None:
    """Reuters: its only validation item was among the last."""
    predicted, truth = np.linspace(0.4, 1e-5, 100), np.arange(100) == 95
    assert targets.precision_recall(predicted, truth) == (pytest.approx(1 / 96), targets.USUAL)


def test_a_label_without_items_counts_in_no_mean_and_keeps_the_usual_threshold() -> None:
    predicted, truth = drawn(3, False)
    alone = targets.figures("labels", predicted[:, :3], truth[:, :3], [0.5] * 3)
    truth[:, 3] = 0
    figures = targets.figures("labels", predicted, truth, [0.5] * 4)
    assert [figures[name] for name in ("map", "f1")] == [alone[name] for name in ("map", "f1")]
    assert targets.thresholds(predicted, truth)[3] == targets.USUAL


@pytest.mark.parametrize(("loss", "wanted"), [("mse", 0.0625), ("mae", 0.25), (None, 0.0625)])
def test_figures_of_numbers_are_those_of_scikit_learn(loss: str | None, wanted: float) -> None:
    truth = np.array([[1.0], [2.0], [4.0], [9.0]])
    predicted = truth + np.array([[1.0], [-1.0], [1.0], [-1.0]])
    figures = targets.figures("number", predicted, truth, scale=4.0, loss=loss)
    assert figures["r2"] == pytest.approx(r2_score(truth, predicted))
    assert figures["mae"] == pytest.approx(mean_absolute_error(truth, predicted))
    assert figures["loss"] == pytest.approx(wanted)
    assert targets.figures("number", truth, np.ones((4, 1)))["r2"] == 0.0
