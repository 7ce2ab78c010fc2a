"""Recognize files that are not text tables by their first bytes, and explain how to convert them."""

import json
from pathlib import Path

from zoo.core.errors import ZooError

_PANDAS = "python -c \"import pandas; pandas.{call}.to_csv('table.csv', index=False)\" writes a CSV file of it."
_SHEET = "Save the sheet as CSV (UTF-8) in the program that wrote it."
_PICTURE = ("an image", "Give texts; data=folder trains with images.")
_BEGINNINGS = {
    b"PK\x03\x04": ("a workbook, a document or a zip archive", f"Unpack it, or save it as text. {_SHEET}"),
    b"\xd0\xcf\x11\xe0": ("a workbook or document of Microsoft Office", f"Save it as text. {_SHEET}"),
    b"\x1f\x8b": ("an archive or a file packed by gzip", "Unpack it. The name of one packed text ends in .gz."),
    b"PAR1": ("a Parquet file", _PANDAS.format(call="read_parquet('FILE')")),
    b"ARROW1": ("an Arrow file", _PANDAS.format(call="read_feather('FILE')")),
    b"SQLite format 3": ("an SQLite data base", "Export the table as CSV."),
    b"%PDF": ("a PDF", "Convert it to text, such as with pdftotext."),
    b"{\\rtf": ("an RTF document", "Save it as text."),
    b"\x89PNG": _PICTURE,
    b"\xff\xd8\xff": _PICTURE,
    b"GIF8": _PICTURE,
    b"II*\0": _PICTURE,
    b"MM\0*": _PICTURE,
}


def refuse_content(content: bytes, name: str, wanted: str) -> None:
    for mark, (kind, remedy) in _BEGINNINGS.items():
        if content.startswith(mark):
            raise ZooError(f"{name} is {kind}, not {wanted}", remedy)


def refuse_markup(path: Path, text: str) -> None:
    """Raise an error if a text is JSON, JSON lines, XML or HTML."""
    start = text[: 1 << 16].lstrip()
    if is_markup(start):
        raise ZooError(f"{path} is XML or HTML, not a table", "Write its texts and labels into a CSV file.")
    if start[:1] not in ("{", "["):
        return
    by_line = is_json_lines(start)
    if not by_line and (start[:1] == "{" or not start[1:].lstrip().startswith("{")):
        return
    call = "read_json('FILE', lines=True)" if by_line else "read_json('FILE')"
    raise ZooError(f"{path} is JSON, not a table", _PANDAS.format(call=call))


def is_markup(text: str) -> bool:
    return text.lstrip()[:5].lower() in ("<?xml", "<!doc", "<html")


def is_json_lines(text: str) -> bool:
    try:
        return isinstance(json.loads(text.partition("\n")[0]), dict)
    except (ValueError, RecursionError):
        return False
