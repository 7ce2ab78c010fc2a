"""CSV files of run folders: no text in them is a formula to a spreadsheet, and all of it is read back as it was."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core import csv_files
from zoo.runs import result, tables, untrusted

STARTS = "=+-@\t\r"


def written(*rows: list[object]) -> str:
    stream = io.StringIO(newline="")
    csv_files.Writer(stream).writerows(rows)
    return stream.getvalue()


@pytest.mark.parametrize("start", STARTS)
def test_a_text_that_a_spreadsheet_would_run_is_written_as_text(start: str) -> None:
    (cell,) = next(csv.reader(io.StringIO(written([f"{start}cmd|'/c calc'!A1"]), newline="")))
    assert cell[0] == "'"


@pytest.mark.parametrize("cell", [-1.5, -3, "-1.5", "-1e-05", "+2", "-inf", "cat", "a=b", "", "'quoted'", "-.5"])
def test_numbers_and_other_texts_stay_as_they_are(cell: object) -> None:
    assert next(csv.reader(io.StringIO(written([cell]) or "\n", newline="")), [""]) == [str(cell)]


@given(st.lists(st.text(alphabet=STARTS + "'a1.e,\"\n"), min_size=1, max_size=4))
def test_every_text_is_read_back_as_it_was(cells: list[str]) -> None:
    names = [f"={number}" for number in range(len(cells))]
    (row,) = csv_files.rows(io.StringIO(written(names, cells), newline="")) if any(cells) or len(cells) > 1 else ({},)
    assert row == dict(zip(names, cells, strict=True)) or not any(cells)


def test_predictions_hold_no_formula_and_are_read_back_as_they_were(tmp_path: Path) -> None:
    probabilities = np.array([[0.25, 0.75]], np.float32)
    tables.write_predictions(tmp_path / "predictions.csv", ["@SUM(1)"], ["=1+1", "-2"], probabilities)
    with (tmp_path / "predictions.csv").open(newline="") as source:
        assert list(csv.reader(source))[1] == ["'@SUM(1)", "-2", "0.75", "0.25", "0.75"]
    for (row,) in (result.Run(tmp_path, {}).predictions, untrusted.table(tmp_path, "predictions.csv")):
        assert (row["input"], row["class"], float(row["p_=1+1"])) == ("@SUM(1)", "-2", 0.25)


def test_what_was_left_out_is_a_file_of_its_own(tmp_path: Path) -> None:
    csv_files.write_skipped(tmp_path / "none.csv", [])
    csv_files.write_skipped(tmp_path / "skipped.csv", [("=a\udcff.png", "empty")])
    assert [path.name for path in tmp_path.iterdir()] == ["skipped.csv"]
    assert (tmp_path / "skipped.csv").read_bytes() == b"file,reason\r\n'=a\xff.png,empty\r\n"


@pytest.mark.parametrize(
    ("text", "shown"), [("a\x1b[31m", "a\\x1b[31m"), ("\u202egnp", "\\u202egnp"), ("a\nb\tc", "a\nb\tc")]
)
def test_controls_are_written_as_escapes(text: str, shown: str) -> None:
    assert next(csv.reader(io.StringIO(written([text]), newline=""))) == [shown]
