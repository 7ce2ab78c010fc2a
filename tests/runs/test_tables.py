"""Tables of epochs and predictions."""

from pathlib import Path

import numpy as np

from zoo.runs import tables


def test_history_is_read_back_as_numbers(tmp_path: Path) -> None:
    rows = [
        {"epoch": 1, "loss": 0.5, "best": True, "event": "epoch"},
        {"epoch": 2, "loss": 0.25, "best": False},
    ]
    tables.write_history(tmp_path / "history.csv", rows, ["loss", "accuracy", "val_loss", "val_accuracy"])
    assert tables.read_history(tmp_path) == [
        {"epoch": 1.0, "loss": 0.5, "best": 1.0},
        {"epoch": 2.0, "loss": 0.25, "best": 0.0},
    ]


def test_predictions_name_the_likeliest_class(tmp_path: Path) -> None:
    probabilities = np.array([[0.1, 0.9], [0.75, 0.25]], np.float32)
    tables.write_predictions(tmp_path / "p.csv", ["a,b.png", "c.png"], ["no", "yes"], probabilities)
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[1].startswith('"a,b.png",yes,0.89999')
    assert lines[2].startswith("c.png,no,0.75,")
