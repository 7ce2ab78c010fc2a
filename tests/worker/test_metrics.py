"""Figures of a classifier, also of answers that are no numbers."""

import numpy as np
import pytest

from zoo.worker import metrics


def test_answers_that_are_no_numbers_are_wrong() -> None:
    predicted = np.array([[0.9, 0.1, 0.0], [np.nan] * 3, [np.nan] * 3, [0.2, 0.3, 0.5]], np.float32)
    kept = metrics.likeliest(predicted, np.array([0, 0, 2, 2]))
    assert (kept["best"][:, 0] == kept["label"]).tolist() == [True, False, False, True]
    assert kept["probability"][1:3, 0].tolist() == kept["true"][1:3].tolist() == [0.0, 0.0]
    figures = metrics.figures(None, kept, "val_")
    assert figures["val_accuracy"] == 0.5
    assert figures["val_loss"] == pytest.approx(-np.log([0.9, 1e-7, 1e-7, 0.5]).mean())
    assert metrics.score(predicted, np.array([0, 0, 2, 2])) == (pytest.approx(figures["val_loss"]), 0.5)
    assert np.isnan(predicted[1]).all(), "the caller's own are left alone"
