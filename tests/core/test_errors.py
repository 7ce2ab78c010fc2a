"""zoo.core.errors: what was received, and what to do."""

from collections.abc import Callable

import pytest

from zoo.core.errors import INTERRUPTED, ZooError, bulleted, counted, listed, nearest, unknown
from zoo.models import saved_weights


def test_an_error_is_its_message_and_its_remedy() -> None:
    assert str(ZooError("It is wrong", "Correct it.")) == "It is wrong\nCorrect it."
    assert str(ZooError("It is wrong")) == "It is wrong"


def test_the_nearest_name_is_offered_where_one_is_near() -> None:
    assert nearest("mnits", ["mnist", "digits"]) == "; did you mean 'mnist'?"
    assert nearest("bfloat15", ["float32", "float64", "mixed_bfloat16"]) == "; did you mean 'mixed_bfloat16'?"
    assert nearest("siz", ["size", "min_size"]) == "; did you mean 'size'?"
    assert nearest("root", ["data.root", "trainer.word_dropout"]) == "; did you mean 'data.root'?"
    assert nearest("MNIST_DENSE", ["mnist", "mnist_dense"]) == "; did you mean 'mnist_dense'?"
    assert nearest("torch", ["Torch", "tf"]) == "; did you mean 'Torch'?"
    assert nearest("xyz", ["mnist", "digits"]) == ""


def test_an_unknown_name_lists_the_valid_ones() -> None:
    error = unknown("model", "mnits", ["mnist", "a"])
    assert error.message == "There is no model called 'mnits'; did you mean 'mnist'?"
    assert error.remedy == "Choose one of: a, mnist"


@pytest.mark.parametrize("cut", [listed, saved_weights.listed])
def test_a_list_in_a_message_ends_after_ten_entries(cut: Callable[..., str]) -> None:
    entries = [f"w{number}" for number in range(300)]
    assert cut(entries[:10]) == "w0, w1, w2, w3, w4, w5, w6, w7, w8, w9"
    assert cut(entries, "; ") == "w0; w1; w2; w3; w4; w5; w6; w7; w8; w9 and 290 more"
    assert cut([]) == ""


def test_names_that_would_do_are_cut_as_well() -> None:
    error = unknown("stack", "x", [f"stack-{number:02}" for number in range(17)])
    assert error.remedy.endswith("stack-09 and 7 more")


def test_a_list_never_ends_in_one_more() -> None:
    assert listed("abc", most=2) == "a, b, c"
    assert listed("abcd", most=2) == "a, b and 2 more"
    assert (counted(1, "image"), counted(2000, "image")) == ("1 image", "2,000 images")


@pytest.mark.parametrize(
    ("message", "remedy", "line"),
    [
        ("It is wrong", "Mend it.", "It is wrong. Mend it."),
        ("Is it?", "Mend it.", "Is it? Mend it."),
        ("No", "", "No"),
    ],
)
def test_an_error_on_one_line(message: str, remedy: str, line: str) -> None:
    error = ZooError(message, remedy)
    assert error.on_one_line() == line
    assert (error.exit_code, ZooError("", "", INTERRUPTED).exit_code) == (1, 130)


def test_problems_are_a_line_each_and_the_rest_is_counted() -> None:
    assert bulleted(["a", "b"]) == "  - a\n  - b"
    assert bulleted(map(str, range(12))).endswith("\n  - 9\n  and 2 more")
