"""What is printed cannot control the terminal, whatever file it comes from."""

import dataclasses
import io
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pexpect
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


def test_long_lines_of_messages_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    console.fail(f"The class {'L' * 50_000} is empty", "Remove it.")
    line, remedy = capsys.readouterr().err.splitlines()
    assert (len(line), line[-5:], remedy) == (20_003, "LL...", "Remove it.")


def test_passwords_of_addresses_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    console.fail("https://me:secret@host/x.zip is an address", "curl -LO https://me:secret@host/x.zip; ssh a@b")
    printed = capsys.readouterr().err
    assert "secret" not in printed
    assert printed.count("https://***@host/x.zip") == 2
    assert "ssh a@b" in printed
    console.fail("https://host/x.csv?part=1&access_token=hidden-1&x=2", "curl 'https://host/x?Signature=hidden-2'")
    printed = capsys.readouterr().err
    assert "https://host/x.csv?part=1&access_token=***&x=2" in printed
    assert "hidden" not in printed


def test_a_cell_of_a_table_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    console.table("", ["heading"], [["a\nforged row\t"]])
    assert r"a\nforged row\t" in capsys.readouterr().out


def test_json_is_escaped_and_read_back_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    console.output_json({"name": "\x1b[2J\u202e\x9b"})
    printed = capsys.readouterr().out
    assert printed.rstrip("\n").isascii()
    assert printed.rstrip("\n").isprintable()
    assert json.loads(printed) == {"name": "\x1b[2J\u202e\x9b"}


class Screen(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal in the place of standard error; no fixture, since pytest replaces that once more after them."""
    shown = Screen()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return shown


class Clock:
    """Stands for the clock of progress bars."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(console, "time", clock)
    return clock


def test_warnings_and_errors_are_marked_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console.warn("full")
    console.fail("wrong", "correct it")
    console.fail("wrong", "")
    console.write("no end")
    assert capsys.readouterr().err == "WARNING: full\nerror: wrong\ncorrect it\nerror: wrong\nno end"


def test_on_a_terminal_messages_are_bold_and_never_wrapped_or_read_as_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    console.warn("[red]" + "long " * 30)
    console.fail("wrong", "https://example.org/" + "x" * 90)
    text = re.sub(r"\x1b\[[\d;]*m", "", screen.getvalue())
    assert text == "[red]" + "long " * 30 + "\nerror: wrong\nhttps://example.org/" + "x" * 90 + "\n"
    assert "\x1b[1;33m" in screen.getvalue()
    assert "\x1b[1;31merror" in screen.getvalue()


def test_an_error_without_a_remedy_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    console.fail("wrong", "")
    assert screen.getvalue().count("\n") == 1


@pytest.mark.parametrize(("count", "lines"), [(0, 0), (3, 3), (4, 4), (1200, 4)])
def test_the_first_skipped_files_are_named_and_the_rest_counted(
    count: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    console.warn_of_skipped([(f"{number}.png", "empty") for number in range(count)])
    said = capsys.readouterr().err.splitlines()
    assert len(said) == lines
    assert [line for line in said if "0.png" in line] == ["WARNING: Skipped 0.png: empty"] * (count > 0)
    assert [line for line in said if "in total" in line] == [
        f"WARNING: {count:,} were skipped in total; skipped.csv lists them"
    ] * (count > 3)


def test_a_lost_terminal_is_replaced_by_a_file(tmp_path: Path) -> None:
    log = tmp_path / "host.log"
    for text in (b"1", b"2"):
        child = os.fork()
        if not child:
            console.leave_terminal(log)
            os.write(1, b"out" + text)
            os.write(2, b"err" + text)
            os._exit(0)
        os.waitpid(child, 0)
    assert log.read_bytes() == b"out1err1out2err2"
    assert log.stat().st_mode & 0o777 == 0o600


def test_progress_is_a_line_every_ten_seconds_where_there_is_no_terminal(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with console.bar("Reading", 8) as bar, console.bar("Waiting", unit="items") as endless:
        clock.now += 9.9
        bar.advance(1)
        clock.now += 0.1
        bar.advance(1)
        bar.note("of a.npz")
        clock.now += 9.9
        bar.advance(1)
        bar.label("Writing")
        clock.now += 0.1
        bar.advance(1)
        endless.advance(3)
        endless.advance(4)
    assert capsys.readouterr().err.splitlines() == [
        "Reading", "Waiting", "Reading: 25 %", "Writing: 50 % of a.npz", "Waiting: 3 items",
    ]  # fmt: skip


def test_times_and_figures_stay_whole_on_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with console.bar("epoch 10/12", 100) as bar:
        bar.advance(30)
        bar.note("loss 0.1234  accuracy 0.9876  12,345 items/s")
    assert "loss 0.1234  accuracy 0.9876  12,345 items/s 0:00:00 -:--:--" in plain(screen)
    screen.truncate(0)
    with console.bar("Building the environment of tf-2.21 (about 1.9 GB, once only)") as bar:
        bar.note("Downloading tensorflow-2.21.0-cp312-manylinux_2_17_x86_64.whl")
    assert re.search(r"Downloa\S*… 0:00:00", plain(screen))


def plain(screen: Screen) -> str:
    """Return what a terminal shows, without its colors."""
    return re.sub(r"\x1b\[[\d;]*m", "", screen.getvalue())


def test_a_bar_on_a_terminal_shows_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with console.bar("Fetching", 2000, "B") as bar:
        bar.advance(500)
        bar.note("[b]a")
    known = screen.getvalue()
    assert all(words in known for words in ("Fetching", "25%", "0.5/2.0 kB", "[b]a", "-:--:--"))
    screen.truncate(0)
    with console.bar("Waiting") as bar:
        bar.label("Still")
    unknown = screen.getvalue()
    assert "Still" in unknown
    assert "0:00:0" in unknown
    assert not any(words in unknown for words in ("%", "kB", "-:--:--"))


@pytest.mark.parametrize("columns", [60, 80])
def test_a_narrow_terminal_cuts_the_end_of_the_note(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    with console.bar("scale 3 of 3", 100) as bar:
        bar.note("loss 0.0228  content 0.0129  style 0.0047  roughness 0.0052  0.44 items/s")
    shown = plain(screen)
    assert "loss 0.0228" in shown
    assert re.search(r"0:00:0\d -:--:--", shown)
    assert "items/s" not in shown


def test_rows_are_drawn_again_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with console.live_table("Trials", ["name"]) as draw:
        assert draw is not None
        draw([["first"]])
        draw([["second"]])
    assert all(words in screen.getvalue() for words in ("Trials", "name", "second"))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with console.live_table("Trials", ["name"]) as draw:
        assert draw is None


def test_a_bar_in_a_notebook_is_html_drawn_four_times_a_second(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    handle = SimpleNamespace(update=lambda cell: drawn.append(cell._repr_html_()))
    display = SimpleNamespace(display=lambda cell, display_id: handle if display_id else None)
    notebook = SimpleNamespace(display=display, get_ipython=lambda: SimpleNamespace(kernel=1))
    assert not console.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert console.in_notebook()
    with console.bar("<Reading>", 8) as bar:
        assert repr(bar) == "<Reading>"
        bar.advance(1)
        clock.now += 0.2
        bar.advance(1)
        bar.note("a & b")
        clock.now += 0.05
        bar.label("Writing")
        bar.advance(2)
        assert repr(bar) == "Writing a & b"
        clock.now += 0.25
        bar.note("done")
    assert drawn == [
        '&lt;Reading&gt; <progress value="1" max="8"></progress> ',
        'Writing <progress value="4" max="8"></progress> a &amp; b',
        'Writing <progress value="4" max="8"></progress> done',
        'Writing <progress value="4" max="8"></progress> done',
    ]
    with console.bar("Waiting"):
        pass
    assert drawn[-1] == "Waiting <progress ></progress> "


def test_a_word_of_a_table_is_never_split(capsys: pytest.CaptureFixture[str]) -> None:
    console.table("Runs", ["name", "x"], [["a", "1"], ["n" * 190, "y" * 40 + " z" * 90]])
    lines = capsys.readouterr().out.splitlines()
    assert any("n" * 190 in line and "y" * 40 in line for line in lines)
    console.table("Runs", ["name"], [])
    assert "name" in capsys.readouterr().out


def test_a_narrow_terminal_gets_a_line_for_each_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    console.table("Networks", ["model", "figure"], [["m" * 30, "two words"], ["b", "f" * 30]])
    assert capsys.readouterr().out == (
        f"Networks\nmodel   {'m' * 30}\nfigure  two words\n\nmodel   b\nfigure  {'f' * 30}\n\n"
    )
    console.table("Networks", ["model", "figure"], [["m" * 20, "two words " * 9], ["b", "f" * 30]])
    lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) == 60
    assert [line for line in lines if "m" * 20 in line and "two words" in line]


def test_rows_with_the_same_keys_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    console.table_of("Models", [])
    assert capsys.readouterr().out == ""
    console.table_of("Models", [{"name": "mnist", "size": "3"}, {"name": "digits", "size": "4"}])
    lines = [re.sub(r"[^\w]+", " ", line).strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line] == ["Models", "name size", "mnist 3", "digits 4"]


def test_rows_and_paths_become_json(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclasses.dataclass
    class Row:
        b: Path
        a: int = 1

    console.output_json([Row(Path("x"))], indent=1)
    assert capsys.readouterr().out == '[\n {\n  "a": 1,\n  "b": "x"\n }\n]\n'
    console.output_json(Row)
    assert "Row" in capsys.readouterr().out


@pytest.mark.parametrize(("typed", "allowed"), [("\n", True), ("y\n", True), ("no\n", False), ("\x04", False)])
def test_a_question_in_a_terminal(typed: str, allowed: bool) -> None:
    code = "from zoo.core import console; print('answer:', console.allows('Download it (3 MB)', 'ask'))"
    child = pexpect.spawn(sys.executable, ["-c", code], encoding="utf-8", timeout=30)
    child.expect_exact("Download it (3 MB)? [Y/n] ")
    child.send(typed)
    child.expect_exact(f"answer: {allowed}")
    child.close()


def test_without_a_terminal_nothing_is_asked() -> None:
    assert [console.allows("Download it", wanted) for wanted in ("ask", "yes", "no")] == [False, True, False]
