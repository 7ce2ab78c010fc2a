"""Labels and numbers of rows, and how data with them are split and weighted."""

import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.data import targets
from zoo.data.targets import AND, Targets


@pytest.mark.parametrize(
    ("cells", "kind", "sign", "wanted"),
    [
        ({"age": "3.50"}, "number", "", "3.5"),
        ({"age": "-1e3"}, "number", "", "-1000.0"),
        ({"tags": "cat|dog"}, "labels", "|", AND.join(["cat", "dog"])),
        ({"tags": "['red cat', 'dog']"}, "labels", ",", AND.join(["dog", "red cat"])),
        ({"tags": ""}, "labels", "|", ""),
        ({"a": "1", "b": "0", "c": "True"}, "labels", "", AND.join(["a", "c"])),
        ({"a": "0", "b": "-1"}, "labels", "", ""),
        ({"smiling": "1"}, "labels", targets.FLAG, "smiling"),
        ({"tags": "0"}, "labels", ",", "0"),
        ({"tags": "1"}, "labels", "", "1"),
        ({"smiling": ""}, "labels", targets.FLAG, ""),
    ],
)
def test_rows_have_labels_or_a_number(cells: dict[str, str], kind: str, sign: str, wanted: str) -> None:
    assert targets.of_row("t.csv, line 2", cells, kind, sign) == wanted


@pytest.mark.parametrize(
    ("cells", "kind", "words"),
    [
        ({"age": ""}, "number", "'' in column age is not a number"),
        ({"age": "nan"}, "number", "'nan' in column age is not a number"),
        ({"age": "1_000"}, "number", "'1_000' in column age"),
        ({"a": "1", "b": "x"}, "labels", "'x' in column b is not 0 or 1"),
    ],
)
def test_other_cells_are_refused_with_their_line(cells: dict[str, str], kind: str, words: str) -> None:
    with pytest.raises(ZooError) as caught:
        targets.of_row("t.csv, line 2", cells, kind, targets.FLAG)
    assert str(caught.value).startswith("t.csv, line 2: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "sign"),
    [
        (["0", "1", ""], targets.FLAG),
        (["0", "0,3"], ","),
        (["0", "0 3"], ""),
        (["a", "a, b|c"], "|"),
        (["True", "0"], targets.FLAG),
    ],
)
def test_numbers_in_lists_are_labels_unless_all_are_0_and_1(cells: list[str], sign: str) -> None:
    """GoEmotions."""
    assert targets.sign_in(cells) == sign


def test_labels_are_columns_in_the_order_of_their_names() -> None:
    known = targets.of_rows("labels", "tags", [AND.join(["b", "a"]), "", "c"])
    assert (known.names, known.values.tolist()) == (["a", "b", "c"], [[1, 1, 0], [0, 0, 0], [0, 0, 1]])
    assert targets.counts_note(known, ["tags"]) == "3 labels: a (1), b (1), c (1); 1 have several, 1 have none"


def test_an_item_is_split_by_its_rarest_label_or_its_range() -> None:
    known = Targets("labels", ["often", "rare"], np.array([[1, 1], [1, 0], [1, 0], [0, 0]], np.uint8))
    assert targets.strata(known) == ["rare", "often", "often", targets.WITHOUT]
    numbers = targets.strata(targets.of_rows("number", "age", [str(each) for each in range(200)]))
    counts = [numbers.count(each) for each in dict.fromkeys(numbers)]
    assert (len(counts), min(counts), max(counts)) == (10, 20, 20)
    assert len(set(targets.strata(targets.of_rows("number", "age", ["3", "4"])))) == 1


def test_rare_labels_weigh_more_and_numbers_are_standardized_by_training_rows_alone() -> None:
    values = np.zeros((100, 3), np.uint8)
    values[:50, 0], values[:10, 1], values[:1, 2] = 1, 1, 1
    rows = np.arange(100)
    assert Targets("labels", ["a", "b", "c"], values).part(rows, "mse").weights == [1.0, 9.0, 20.0]
    part = targets.of_rows("number", "age", ["1", "3", "1000"]).part(np.array([0, 1]), "mae")
    assert (part.mean, part.scale, part.loss) == (2.0, 1.0, "mae")


def test_what_no_training_item_shows_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    known = Targets("labels", ["a", "b"], np.array([[1, 0], [0, 1]], np.uint8))
    known.check_training(np.array([0, 1]))
    assert not capsys.readouterr().err
    known.check_training(np.array([0]))
    assert "No training item has 'b': this cannot be learned" in capsys.readouterr().err
    number = targets.of_rows("number", "age", ["5", "5", "6"])
    with pytest.raises(ZooError, match="Every training item has the number 5"):
        number.check_training(np.array([0, 1]))
    number.check_training(np.array([0, 2]))


@pytest.mark.parametrize("cell", ["-1e999", "1e31", "-inf", "1e400"])
def test_numbers_that_networks_cannot_hold_are_refused(cell: str) -> None:
    with pytest.raises(ZooError, match="is not a number"):
        targets.of_row("t.csv, line 2", {"age": cell}, "number", "")


@pytest.mark.parametrize("numbers", [["1000000009", "1000000021"], ["20240101", "20240128"], ["1e-40", "2e-40"]])
def test_numbers_that_differ_in_digits_which_are_not_predicted_are_refused(numbers: list[str]) -> None:
    known = targets.of_rows("number", "day", numbers)
    with pytest.raises(ZooError, match="networks predict 6 digits") as caught:
        known.check_training(np.arange(2))
    assert f"Subtract {float(numbers[0]):.10g}" in caught.value.remedy
    targets.of_rows("number", "year", ["1990", "2024"]).check_training(np.arange(2))


def test_lists_of_numbers_are_not_columns_of_0_and_1() -> None:
    cells = ["0|1", "1", "0", ""]
    rows = [targets.of_row("t.csv, line 2", {"tags": cell}, "labels", targets.sign_in(cells)) for cell in cells]
    assert rows == [AND.join("01"), "1", "0", ""]
    flags = ["1", "0", ""]
    rows = [targets.of_row("t.csv, line 2", {"wet": cell}, "labels", targets.sign_in(flags)) for cell in flags]
    assert rows == ["wet", "", ""]
    assert targets.of_row("t.csv, line 2", {"tags": "set()"}, "labels", ",") == ""


def test_a_column_that_no_row_has_is_named() -> None:
    known = targets.of_rows("labels", "", ["a", ""])
    assert targets.counts_note(known, ["a", "b"]).endswith(". Not learned, because no row has it: b")
