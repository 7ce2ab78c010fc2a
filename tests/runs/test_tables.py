"""Tables of epochs and predictions."""

import math
from pathlib import Path

import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.protocol.events import EpochEvent
from zoo.runs import tables


def test_history_is_read_back_as_numbers(tmp_path: Path) -> None:
    rows = [
        EpochEvent(epoch=1, epochs=2, loss=0.5, best=True),
        EpochEvent(epoch=2, epochs=2, loss=0.25, best=False),
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


def test_the_columns_of_a_history_are_those_that_an_epoch_has(tmp_path: Path) -> None:
    rows = [EpochEvent(epoch=1, epoch_s=2.5, accuracy=None), EpochEvent(epoch=2, val_loss=0.5, stage=1)]
    tables.write_history(tmp_path / "history.csv", rows, ["val_loss", "accuracy"])
    assert (tmp_path / "history.csv").read_text().splitlines() == [
        "epoch,stage,val_loss,epoch_s",
        "1,,,2.5",
        "2,1,0.5,",
    ]
    first, second = tables.read_history(tmp_path)
    assert math.isnan(first["val_loss"])
    assert (first["epoch_s"], second["stage"]) == (2.5, 1.0)


@pytest.mark.parametrize("content", [b"epoch\nx\n", b'epoch\n"1\n', b"epoch\n\xff\n"])
def test_a_history_that_is_damaged_is_told(tmp_path: Path, content: bytes) -> None:
    assert tables.read_history(tmp_path) == []
    (tmp_path / "history.csv").write_bytes(content)
    with pytest.raises(ZooError, match=r"history\.csv cannot be read"):
        tables.read_history(tmp_path)


def test_cells_that_are_too_many_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("epoch,loss\n1,2,3\n")
    assert tables.read_history(tmp_path) == [{"epoch": 1.0, "loss": 2.0}]


def test_predictions_have_other_columns_and_a_column_a_class(tmp_path: Path) -> None:
    probabilities = np.array([[0.25, 0.75], [1 / 3, 2 / 3]], np.float32)
    more = {"confidence": ["low", "high"], "=x": ["1", "=2"]}
    tables.write_predictions(tmp_path / "p.csv", ["a", "=b"], ["no", "yes"], probabilities, more)
    assert (tmp_path / "p.csv").read_text().splitlines() == [
        "input,class,probability,confidence,'=x,p_no,p_yes",
        "a,yes,0.75,low,1,0.25,0.75",
        "'=b,yes,0.6666666865348816,high,'=2,0.333333343,0.666666687",
    ]
    assert list(tables.answers(["a"], ["no", "yes"], probabilities[:1])) == [
        {"input": "a", "class": "yes", "probability": 0.75}
    ]
    with pytest.raises(ValueError, match="zip"):
        list(tables.answers(["a"], ["no", "yes"], probabilities))


def test_labels_are_those_that_reach_their_thresholds(tmp_path: Path) -> None:
    outputs, names = np.array([[0.5, 0.25, 0.75], [0.25, 0.0, 0.5]]), ["a", "b", "c"]
    assert tables.labels_over(names, outputs[0], [0.5, 0.5, 0.5]) == ["a", "c"]
    tables.write_predictions(tmp_path / "p.csv", ["x", "y"], names, outputs, kind="labels", thresholds=[0.5, 0.25, 1])
    assert (tmp_path / "p.csv").read_text().splitlines() == [
        "input,labels,p_a,p_b,p_c", "x,a|b,0.5,0.25,0.75", "y,,0.25,0,0.5",
    ]  # fmt: skip


def test_a_number_has_a_column_of_its_name_and_no_probabilities(tmp_path: Path) -> None:
    outputs = np.array([[1 / 3], [2.0]], np.float32)
    tables.write_predictions(tmp_path / "p.csv", ["x", "y"], ["age"], outputs, {"kind": ["k", "l"]}, kind="number")
    assert (tmp_path / "p.csv").read_text().splitlines() == ["input,age,kind", "x,0.333333343,k", "y,2.0,l"]


def test_cells_that_are_empty_or_words_of_truth(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n,True,False\n")
    (row,) = tables.read_history(tmp_path, "t.csv")
    assert math.isnan(row["a"])
    assert (row["b"], row["c"]) == (1.0, 0.0)
