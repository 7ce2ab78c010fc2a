"""Recognize files that are not text tables, and tables that only name files, and explain how to convert them."""

import csv
import io
import itertools
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

from zoo.core import formats
from zoo.core.errors import ZooError, listed
from zoo.core.files import files_below
from zoo.data import datasets
from zoo.data.images import decode, set_parts

_AS_TABLE = 'Write its texts and labels into a CSV file, or as one object a line: {"text": ..., "label": ...}'
# The last column of a file with a label for each word (CoNLL).
_OF_WORDS = re.compile(r"\S+(?:[ \t]+\S+)*[ \t]+(?:O|[BIES]-\w+)|# .*|[\d.-]+(?:\t[^\t]+){9}")


def refuse_content(content: bytes, name: str, wanted: str) -> None:
    if kind := formats.find(head=content[: formats.HEAD_BYTES], use="texts"):
        raise ZooError(f"{name} is {kind.about}, not {wanted}", kind.remedies["texts"])


def refuse_markup(path: Path, text: str) -> None:
    """Raise an error if a text is JSON, JSON lines, XML or HTML."""
    start = text[: 1 << 16].lstrip()
    csv_file = "Write its texts and labels into a CSV file."
    if is_markup(start) or (re.match(r"<[A-Za-z]", start) and text.rstrip().endswith(">")):
        raise ZooError(f"{path} is XML or HTML, not a table", csv_file)
    if (kind := formats.find(path.name)) and kind.group == "settings":
        raise ZooError(f"{path} is {kind.about}, not a table", csv_file)
    if re.search(r"^@relation\s", start, re.IGNORECASE | re.MULTILINE):
        several = len([each for each in path.parent.glob(f"*{path.suffix}") if set_parts.role_of(each.stem)]) > 1
        write = datasets.table_command("texts", *((path.parent, "tables") if several else (path, "table.csv")))
        raise ZooError(f"{path} is ARFF, a table as Weka writes it", f"Write it as CSV: {write}.")
    words = [line for line in start.splitlines()[:-1] if line.strip()]
    if len(words) > 9 and sum(map(bool, map(_OF_WORDS.fullmatch, words))) > 0.9 * len(words):
        raise ZooError(f"{path} has a label for each word (CoNLL): words are not classified, only texts", csv_file)
    if len(words) > 9 and all(re.match(r"\(\w+ \(.*\)\s*$", line) for line in words):
        code = """awk '{l=substr($1,2); gsub(/\\([A-Za-z0-9_]+ /,""); gsub(/\\)/,""); print l "\\t" $0}' """
        code += f"{shlex.quote(str(path))} > table.tsv"
        table = "Then give data.root=table.tsv data.text_column=1 data.label_column=0."
        raise ZooError(f"{path} has a tree of words in each line", f"For the label of each whole text: {code}\n{table}")
    if start[:1] not in ("{", "["):
        return
    row = _object(text) or {}
    if parts := [key for key, value in row.items() if isinstance(value, list | dict) and set_parts.part_of(key)]:
        raise ZooError(
            f"{path} is JSON, one object with the parts {listed(parts, most=5)}, not a table",
            f"Write each part as a table: {datasets.table_command('texts', path, 'parts')}.",
        )
    rows = innermost(_value(text)) or []
    if title := _of_texts(rows):
        label = next((key for key, value in rows[0].items() if isinstance(value, str)), title)
        then = f" data.label_column={label}"
        remedy = f"Write each as a row: {datasets.table_command('texts', path, 'table.csv', then=then)}"
        raise ZooError(f"{path} is JSON with a list of texts, {title}, for each {label}", remedy)
    if row or re.match(r'\{\s*"|\[\s*\{', start):
        raise ZooError(f"{path} is JSON, but not a list of objects with two keys or more", _AS_TABLE)


def refuse_file_names(table: Path, title: str, cells: list[str], columns: list[int], readable: bool) -> None:
    """Raise an error if all texts are file names, perhaps without .txt.

    Args:
        columns: of the text and of the label.
        readable: whether a command can read the table.
    """
    images = all(Path(cell).suffix.lower() in decode.SUFFIXES for cell in cells)
    named = images or all("://" not in cell and formats.find(cell) for cell in cells)
    likely = named or all(re.fullmatch(r"[\w./-]+", cell, re.ASCII) for cell in cells)
    near = likely and os.path.isfile(table.parent / cells[0])  # a text may be too long for a name
    kind, ends = formats.find(cells[0], use="texts"), ("",) if named or near else (".txt", ".xml", ".html")
    files = itertools.islice(files_below(table.parent, lambda *_: None), 20_000 * likely)
    names = tuple(f"/{cells[0]}{end}" for end in ends)
    name = cells[0] if near else next((name for name in files if f"/{name}".endswith(names)), "")
    end = "" if named or near else Path(name).suffix
    begin = str(table.parent / name).removesuffix(cells[0] + end)
    if not named and not (name and os.path.isfile(begin + cells[-1] + end)):
        return
    missing = f"These files are not below {table.parent}. Write the text of each into this column."
    remedy = kind.remedies["texts"] if kind else missing
    if images:
        remedy = f"Train an image classifier: data=image_table data.root={shlex.quote(str(table))}"
    elif name and readable and not kind:
        write = datasets.table_command("named", table, "texts.csv", "--columns", *map(str, columns))
        remedy = f"Write the texts into a table: {write}."
    raise ZooError(f"{table}: the text column, {title}, holds file names such as {cells[0]!r}, not texts", remedy)


def table_of_json(text: str) -> str | None:
    """Return JSON lines, or a JSON list of objects, as a CSV table with a header; None for any other text."""
    start, rows = text.lstrip()[:1], innermost(_value(text)) or []
    if start == "{" and not rows:
        rows = [_value(line) or line for line in text.splitlines() if line.strip()]
        rows = rows if len(rows) > 1 else []
    if not rows or not isinstance(rows[0], dict) or _of_texts(rows):
        return None
    titles = list(dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row))
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(titles)
    for row in rows:  # a damaged line becomes a row of one cell, which is reported as a problem
        writer.writerow([_cell(row.get(title)) for title in titles] if isinstance(row, dict) else [row])
    return table.getvalue() if len(titles) > 1 else None


def innermost(value: Any) -> Any:
    """Return the only list in parsed JSON, which may be inside of objects; None without one."""
    while isinstance(value, dict):
        inner = [each for each in value.values() if isinstance(each, dict | list)]
        value = inner[0] if len(inner) == 1 else None
    return value if isinstance(value, list) else None


def _of_texts(rows: list[Any]) -> str:
    """Return the key of lists of different texts, as in the intents of a chatbot; empty without one."""
    for title in rows[0] if rows and isinstance(rows[0], dict) else ():
        lists: list[Any] = [row.get(title) for row in rows if isinstance(row, dict)]
        if all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in lists):
            texts = [text for each in lists for text in each]
            if len(texts) > 2 * len(rows) and len({*texts}) > 0.9 * len(texts):
                return str(title)
    return ""


def _cell(value: Any) -> Any:
    nested = isinstance(value, dict | list | bool)
    return json.dumps(value, ensure_ascii=False) if nested else "" if value is None else value


def is_markup(text: str) -> bool:
    return text.lstrip()[:5].lower() in ("<?xml", "<!doc", "<html")


def markup(text: str, least: int = 3) -> str:
    """Return what a model would learn from XML, HTML, JSON or a table, to precede "are"; empty for plain text.

    ``least`` is the number of columns from which on lines are a table.
    """
    if is_markup(text):
        return "XML or HTML: its tags"
    begins = re.match(r'\s*\[?\s*\{\s*"[^"\n]{1,80}"\s*:', text)
    is_json = begins or (re.match(r'\s*[\[{]\s*"', text) and _value(text) is not None)
    kind = "JSON lines" if _object(text.partition("\n")[0]) is not None else "JSON" if is_json else ""
    if not kind and (rows := table(text, least)[1]):
        return f"a table of {len(rows[0])} columns: its delimiters and other columns"
    return f"{kind}: names and quotation marks" if kind else ""


def table(text: str, least: int) -> tuple[str, list[list[str]]]:
    """Return the delimiter and first rows of a table with at least that many columns; no rows for other texts."""
    for sign in ",\t;|":
        reader = csv.reader(io.StringIO(text[: 1 << 16], newline=""), delimiter=sign)
        rows = list(itertools.islice(filter(None, reader), 40))[:-1]  # the last may be cut off
        width = len(rows[0]) if len(rows) > 8 else 0
        if width >= least and sum(len(row) == width for row in rows) > 0.9 * len(rows):
            return sign, rows
    return "", []


def _object(text: str) -> dict[str, Any] | None:
    """Return a text that is one JSON object; None for any other text."""
    value = _value(text)
    return value if isinstance(value, dict) else None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
