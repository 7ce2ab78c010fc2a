"""Tables of predictions."""

from pathlib import Path

import numpy as np

from zoo.tasks.image_classification.photo_stream import Picture
from zoo.tasks.image_classification.prediction_writer import NumberWriter


def test_numbers_are_written_with_all_their_digits(tmp_path: Path) -> None:
    with NumberWriter(tmp_path, ["day"]) as writer:
        for number in (20240116.0, 30.0):
            writer.take(Picture("a.png", np.zeros(1), None), np.array([number], np.float32))
    assert (tmp_path / "predictions.csv").read_text().split() == ["input,day", "a.png,20240116", "a.png,30"]
