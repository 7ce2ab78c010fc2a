"""zoo.core.errors: what was received, and what to do."""

from zoo.core.errors import ZooError, nearest, unknown


def test_an_error_is_its_message_and_its_remedy() -> None:
    assert str(ZooError("It is wrong", "Correct it.")) == "It is wrong\nCorrect it."
    assert str(ZooError("It is wrong")) == "It is wrong"


def test_the_nearest_name_is_offered_where_one_is_near() -> None:
    assert nearest("mnits", ["mnist", "digits"]) == "; did you mean 'mnist'?"
    assert nearest("xyz", ["mnist", "digits"]) == ""


def test_an_unknown_name_lists_the_valid_ones() -> None:
    error = unknown("model", "mnits", ["mnist", "a"])
    assert error.message == "There is no model called 'mnits'; did you mean 'mnist'?"
    assert error.remedy == "Choose one of: a, mnist"
