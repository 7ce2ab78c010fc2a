"""What is printed cannot control the terminal, whatever file it comes from."""

import json

import pytest

from zoo.core import console

ESCAPED = {
    "\x1b[2J": r"\x1b[2J",  # clears the screen
    "\x9b31m": r"\x9b31m",  # the same kind of order in one byte
    "\x07": r"\x07",
    "\r": r"\r",
    "a\u202eb": r"a\u202eb",  # turns the direction of what follows
    "\u2066": r"\u2066",
    "\u2028": r"\u2028",
    "\ud800": r"\ud800",
    "\U000e0041": r"\U000e0041",
}


@pytest.mark.parametrize(("text", "shown"), ESCAPED.items(), ids=map(ascii, ESCAPED))
def test_controls_are_shown_as_escapes(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    console.output(text)
    console.table(text, ["heading"], [[text]])
    console.say(text)
    printed = capsys.readouterr()
    assert printed.out.count(shown) == 3
    assert shown in printed.err
    assert text not in printed.out + printed.err.rstrip("\n")


@pytest.mark.parametrize(
    "text", ["Straße", "naïve\u00a0text", "猫", "👩\u200d🔬", "\u0645\u06cc\u200c\u062e\u0648", "[bold]x[/bold]"]
)
def test_text_of_every_language_stays_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    console.output(text)
    console.table("", ["heading"], [[text]])
    assert capsys.readouterr().out.count(text) == 2


def test_a_cell_of_a_table_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    console.table("", ["heading"], [["a\nforged row\t"]])
    assert r"a\nforged row\t" in capsys.readouterr().out


def test_json_is_escaped_and_read_back_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    console.output_json({"name": "\x1b[2J\u202e\x9b"})
    printed = capsys.readouterr().out
    assert printed.rstrip("\n").isascii()
    assert printed.rstrip("\n").isprintable()
    assert json.loads(printed) == {"name": "\x1b[2J\u202e\x9b"}
