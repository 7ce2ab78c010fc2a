"""Detect the dialect of a table: its delimiter, and the meaning of quotes."""

import csv
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from zoo.config.schemas.text import DELIMITERS
from zoo.data.text import files

_QUOTING: dict[str, dict[str, Any]] = {
    "double": {}, "backslash": {"doublequote": False, "escapechar": "\\"}, "none": {"quoting": csv.QUOTE_NONE},
    "single": {"quotechar": "'"},
}  # fmt: skip
_WORDS = {
    "double": "quotes around texts",
    "backslash": "quotes around texts, backslashes before quotes within",
    "none": "quotes are plain signs",
    "single": "single quotes around texts",
    "comma": "commas", "tab": "tabs", "semicolon": "semicolons", "pipe": "pipes",
    "space": "the first blank of a line",
}  # fmt: skip
_SAMPLE = 1 << 20
# As io.StringIO, which needs four bytes for each letter.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
# Signs that separate columns in some published sets, tried if no usual delimiter fits.
_RARE = "@^~#\x01"
# Separators of several signs (::, _!_) are replaced by this one for the csv module.
_STAND_IN = "\x1f"
_LONG = re.compile(r"(?!_+(?!\W)|:?//)(?:[^\w\s\"'\\]|[_\t]){2,8}")
# A delimiter gives at least this share of rows the same number of columns.
_REGULAR = 0.5
# Quotes are plain text only if this share of rows is regular without them, because quoted text may contain
# delimiters.
_NEARLY_ALL = 0.98


class Record(NamedTuple):
    """One row: its first and last line, its cells, and its problem, or an empty text."""

    line: int
    end: int
    cells: list[str]
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class Dialect:
    """The dialect of a table. A delimiter is a value of the setting, such as ``comma``, or any other character."""

    delimiter: str
    quoting: str
    of_json: bool = False

    def records(self, text: str) -> Iterator[Record]:
        if self.delimiter == "space":
            for number, line in enumerate(files.lines(text), 1):
                if line.strip():
                    yield Record(number, number, line.strip().split(None, 1))
            return
        csv.field_size_limit(files.MOST_LINE)
        sign = DELIMITERS.get(self.delimiter, self.delimiter)
        if len(sign) > 1:  # the csv module takes one character
            text, sign = text.replace(sign, _STAND_IN), _STAND_IN
        settings = {"delimiter": sign, "strict": True, **_QUOTING[self.quoting]}
        reader, begin = csv.reader((line[0] for line in _LINE.finditer(text)), **settings), int(not self.of_json)
        while True:
            try:
                cells, problem = next(reader, None), ""
            except csv.Error as error:
                cells, problem = [], f"{error}: a quote is lost"
            if cells is None:
                return
            if self.of_json and len(cells) == 1:
                cells, problem = [], "it is not a JSON object"
            end = begin if self.of_json else reader.line_num  # an object takes one line of its file
            if problem or any(map(str.strip, cells)):
                yield Record(begin, end, cells, problem)
            begin = end + 1

    def first(self, text: str) -> list[str]:
        return next((record.cells for record in self.records(text) if not record.problem), [])

    def words(self, text: str, header: bool) -> str:
        if self.of_json:
            return "JSON objects, their keys as columns"
        sign, quoted = _WORDS.get(self.delimiter, repr(self.delimiter)), f", {_WORDS[self.quoting]}"
        return f"separated by {sign}{quoted * self.is_quoted(text)}; {'a' if header else 'no'} header"

    def is_quoted(self, text: str) -> bool:
        return self.delimiter != "space" and (self.quoting == "single" or '"' in text)


@dataclasses.dataclass
class Shape:
    """The regularity of a table in one dialect.

    Attributes:
        widths: number of rows by number of columns.
        damaged: lines of unreadable rows.
        joined: rows of several lines.
    """

    widths: Counter[int] = dataclasses.field(default_factory=Counter)
    damaged: int = 0
    joined: int = 0

    @property
    def width(self) -> int:
        """Return the most frequent number of columns."""
        return max(self.widths, key=lambda width: (self.widths[width], width), default=0)

    @property
    def share(self) -> float:
        """Return the share of rows with that number of columns."""
        return self.widths[self.width] / max(1, self.widths.total() + self.damaged)


def shape_of(dialect: Dialect, text: str) -> Shape:
    shape = Shape()
    for record in dialect.records(text):
        if record.problem:
            shape.damaged += record.end - record.line + 1
        else:
            shape.widths[len(record.cells)] += 1
            shape.joined += record.end > record.line
    return shape


def detect_delimiter(text: str, names: list[str], label: str, likely: str) -> str | None:
    """Return the delimiter that gives all rows the same columns, including the requested ones.

    Among several, the one with the fewest and shortest labels wins.

    Args:
        names: names or numbers of the requested columns.
        label: name or number of the label column.
        likely: suggested by the file name; wins a tie.

    Returns:
        None if no delimiter fits.
    """
    sample = text[: text.rfind("\n", 0, _SAMPLE) + 1] if len(text) > _SAMPLE else text
    order = sorted(DELIMITERS, key=lambda each: each != likely)
    ranked = {each: rank for each in order if (rank := _rank(sample, each, names, label))}
    others = [rank for delimiter, rank in ranked.items() if delimiter != "space"]
    regular = any(named or share >= _NEARLY_ALL for named, _, share, _, _ in others)
    blanks = label.isdecimal() and "space" in ranked
    named = any(each for each, *_ in others)
    if not named and not blanks and (rare := _rare(sample)):
        return rare
    if not named and not blanks and (long := _long(sample, names, regular)):
        return long
    tabs = min((line.count("\t") for line in files.lines(sample) if line.strip()), default=0)
    wide = tabs > 1 or any(
        share == 1 and len(Dialect(sign, "double").first(sample)) > 2
        for sign, (_, _, share, *_) in ranked.items()
        if sign != "space"
    )
    if wide or (regular and not label.isdecimal()):
        ranked.pop("space", None)
    return max(ranked, key=lambda each: ranked[each]) if ranked else "tab" if tabs > 1 else None


def _rare(text: str) -> str:
    """Return an unusual sign that separates labels at one end of every line, or an empty text."""
    rows = [line for line in files.lines(text) if line.strip()]
    for sign in _RARE:
        cells = [line.split(sign) for line in rows]
        labels = min(({each[place].strip() for each in cells} for place in (0, -1)), key=len)
        few = 1 < len(labels) <= len(cells) / 2 and not re.search(r"[,;|\t]", "".join(labels))
        if few and len(cells[0]) > 1 and len({len(each) for each in cells}) == 1:
            return sign
    return ""


def _long(text: str, names: list[str], regular: bool) -> str:
    """Return a separator of several signs that all lines have equally often, or an empty text.

    In a table that is ``regular`` with a usual delimiter, only repeated delimiters count, such as two tabs.
    """
    rows = [line for line in files.lines(text) if line.strip()]
    needed = max((int(name) for name in names if name.isdecimal()), default=1)
    signs: set[str] = set(_LONG.findall(rows[0] if rows[2:] else ""))
    for sign in sorted(signs, key=len, reverse=True):
        counts = {line.count(sign) for line in rows}
        repeated = len(set(sign)) == 1 and sign[0] not in text.replace(sign, "")
        if len(counts) == 1 and min(counts) >= needed and (repeated or not regular):
            return sign
    return ""


def _rank(text: str, delimiter: str, names: list[str], label: str) -> tuple[bool, bool, float, int, int] | None:
    """Return a sort key for how well a delimiter fits, or None if it does not."""
    tried = [Dialect(delimiter, each) for each in (("none",) if delimiter == "space" else _QUOTING)]
    shapes = {each: shape_of(each, text) for each in tried}
    best = max(shapes, key=lambda each: shapes[each].share)
    header = [cell.strip() for cell in best.first(text)]
    named = delimiter != "space" and set(names) <= set(header)
    needed = max([2, *(int(name) + 1 for name in names if name.isdecimal())])
    if not named and (shapes[best].width < needed or shapes[best].share < _REGULAR):
        return None
    place = header.index(label) if label in header else int(label) if label.isdecimal() else 0
    labels = [record.cells[place] for record in best.records(text) if len(record.cells) > place]
    kinds = len(set(labels))
    # Any line has a first blank: it separates labels only if they recur.
    if delimiter == "space" and (needed > 2 or place or shapes[best].share < 1 or 2 * kinds > len(labels)):
        return None
    return named, kinds > 1, round(shapes[best].share, 2), -kinds, -sum(map(len, labels))


def detect_quoting(text: str, delimiter: str) -> tuple[str, Shape]:
    """Return the meaning of quotes, and the table's shape with it: ``double`` unless another is far more regular."""
    quoted = shape_of(Dialect(delimiter, "double"), text)
    if quoted.share < 1 and DELIMITERS.get(delimiter, delimiter) + "'" in text:
        single = shape_of(Dialect(delimiter, "single"), text)
        if single.share >= _NEARLY_ALL and single.share > quoted.share:
            return "single", single
    if '"' not in text or delimiter == "space" or (quoted.share == 1 and not quoted.joined):
        return "double", quoted
    plain = shape_of(Dialect(delimiter, "none"), text)
    if quoted.damaged and '\\"' in text:
        escaped = shape_of(Dialect(delimiter, "backslash"), text)
        if escaped.share > quoted.share and escaped.share >= plain.share:
            return "backslash", escaped
    # If every line is a complete row, a quote that would join several lines is plain text.
    joins = plain.share == 1 and plain.widths.total() > quoted.widths.total()
    if plain.share >= _NEARLY_ALL and (joins or plain.share > quoted.share):
        return "none", plain
    return "double", quoted
