"""zoo.serving.classifier: predictions of classes, labels and numbers as JSON."""

import asyncio
import json
from typing import Any, cast

import numpy as np
import pytest

from zoo.serving.classifier import Classifier
from zoo.serving.errors import RequestError
from zoo.serving.inputs import Asked

CLASSES = ["a", "b", "c", "d"]
ROW = np.array([0.125, 0.5, 0.25, 0.0625], np.float32)


class Kind(Classifier):
    """A classifier whose conversion of requests is not needed."""

    prepare = slots = None  # type: ignore[assignment]


def classifier(top: int = 2, learns: str = "classes", thresholds: list[float] | None = None) -> Classifier:
    model: Any = object.__new__(Kind)
    model.classes, model.top, model.learns, model.thresholds = CLASSES, top, learns, thresholds
    return model


def answered(model: Classifier, *rows: Any, names: list[str] | None = None, **parameters: Any) -> list[Any]:
    asked = Asked([None] * len(rows), parameters, names)
    response = asyncio.run(model.answer(list(rows), asked, "", cast(Any, None)))
    predictions: list[Any] = json.loads(bytes(response.body))["predictions"]
    return predictions


def test_the_likeliest_classes_come_first() -> None:
    (row,) = answered(classifier(3), ROW)
    assert row == {
        "class": "b", "probability": 0.5,
        "top": [{"class": "b", "probability": 0.5}, {"class": "c", "probability": 0.25},
                {"class": "a", "probability": 0.125}],
    }  # fmt: skip
    (row,) = answered(classifier(1), np.array([1 / 3, 0, 0, 2 / 3], np.float32))
    assert row == {"class": "d", "probability": 0.666667, "top": [{"class": "d", "probability": 0.666667}]}


@pytest.mark.parametrize(("wanted", "expected"), [(True, True), ("true", True), ("TRUE", True), (False, False),
                                                  ("false", False)])  # fmt: skip
def test_all_probabilities_are_returned_where_they_are_wanted(wanted: Any, expected: bool) -> None:
    (row,) = answered(classifier(), ROW, probabilities=wanted)
    assert row.get("probabilities") == (ROW.tolist() if expected else None)
    with pytest.raises(RequestError, match="probabilities must be true or false, got perhaps"):
        answered(classifier(), ROW, probabilities="perhaps")


def test_files_are_named_in_their_order() -> None:
    rows = answered(classifier(1), ROW, ROW[::-1], names=["x.png", "y.png"])
    assert [(row["name"], row["class"]) for row in rows] == [("x.png", "b"), ("y.png", "c")]
    assert "name" not in answered(classifier(1), ROW)[0]


def test_labels_are_those_over_their_thresholds() -> None:
    (row,) = answered(classifier(thresholds=[0.1, 0.6, 0.25, 0.1]), ROW)
    assert row["labels"] == ["a", "c"]
    assert "labels" not in answered(classifier(), ROW)[0]


def test_a_number_has_its_name() -> None:
    model = classifier(learns="number")
    model.classes = ["age"]
    assert answered(model, np.array([41.5])) == [{"number": 41.5, "numbers": {"age": 41.5}}]
