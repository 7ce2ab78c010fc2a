"""Recognize file names in the text column of a table, and say how to read these files."""

import itertools
import json
import os
import re
import shlex
from pathlib import Path

from zoo.core import formats
from zoo.core.errors import ZooError
from zoo.core.files import files_below
from zoo.data.images import decode

_LISTED = 20_000
_PLAIN = re.compile(r"[\w./-]+", re.ASCII)


def refuse(table: Path, title: str, cells: list[str], rows: str) -> None:
    """Raise an error if all texts are names of files, with a suffix or of files below the folder of the table.

    ``rows`` is Python for the file name and the label of each row, or an empty text.
    """
    images = all(Path(cell).suffix.lower() in decode.SUFFIXES for cell in cells)
    named = images or all("://" not in cell and formats.find(cell) for cell in cells)
    begin, end = _place(table.parent, cells) if named or all(map(_PLAIN.fullmatch, cells)) else ("", "")
    if not named and not begin:
        return
    remedy = f"These files are not below {table.parent}. Write the text of each into this column."
    if images:
        remedy = f"Train an image classifier: data=image_table data.root={shlex.quote(str(table))}"
    elif kind := formats.find(cells[0] + end, use="texts"):
        remedy = kind.remedies["texts"]
    elif begin and rows:
        text = f'open({json.dumps(begin)} + name + "{end}", errors="replace").read()'
        write = 'csv.writer(open("texts.csv", "w", newline="")).writerows'
        code = shlex.quote(f'import csv; {write}([["text", "label"]] + [[{text}, label] for name, label in {rows}])')
        remedy = f"Write the texts into a table: python3 -c {code}\nThen give data.root=texts.csv."
    raise ZooError(f"{table}: the text column, {title}, holds file names such as {cells[0]!r}, not texts", remedy)


def _place(folder: Path, cells: list[str]) -> tuple[str, str]:
    """Return what precedes and follows the cells in the paths of files, or two empty texts."""
    for name in itertools.islice(files_below(folder, lambda *_: None), _LISTED):
        for path, end in ((name, ""), os.path.splitext(name)):
            begin = str(folder / path).removesuffix(cells[0])
            if f"/{path}".endswith(f"/{cells[0]}") and all(os.path.isfile(begin + cell + end) for cell in cells):
                return begin, end
    return "", ""
