"""Read published tables of texts or labels, and describe how they were read."""

import dataclasses
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from zoo.config.overrides import override
from zoo.config.schemas.image_classification import TableReading
from zoo.config.schemas.text import LabelledData
from zoo.core.errors import ZooError, listed, nearest
from zoo.data import datasets
from zoo.data.images import set_parts
from zoo.data.text import dialect, files, foreign_formats
from zoo.data.text.dialect import Dialect, Record, Shape
from zoo.protocol.targets import NUMBER

# Titles of columns whose equal cells mean one person or object: lesion_id, PatientID, SentenceId.
OF_GROUPS = re.compile(r"(?i:(.*[ _])?(id|nr|no))|.*[a-z]I[dD]")
# Groups have fewer rows than this on average.
MOST_IN_GROUP = 20

SUFFIXES = (".csv", ".tsv")
_BY_SUFFIX = {".csv": "comma", ".tsv": "tab", ".tab": "tab"}
# Excel reads a delimiter from a line before the header.
_EXCEL = re.compile(r"sep=([^\w\s\"]|\t)\r?\n")
# A cell such as 0,75 of a table with other delimiters.
_DECIMAL = re.compile(r"(?<![^;\n])([-+]?\d+),(\d+)(?=[;\r\n]|$)")
_LISTS = re.compile(r"(?<![^;\n])\d+(,\d+){2,}(?=[;\r\n]|$)")
# Number of rows that are inspected to suggest columns.
_LOOKED_AT = 1000
# Cells that are lists of labels.
_LIST = re.compile(r"^[\[{(].*[\]})]$|[|;]|^\d+( \d+)+$")
# Titles of columns of labels, without capitals and signs, and of numbers that are classes as likely as words are.
LABELS = re.compile(
    r".*labels?|label(image|img)|(super|sub|coarse|fine)?class(es|name|id|label)?|labelname|categor(y|ies)|genres?|target|.*diagnos(is|tic)|dx|breed|species|y|"
    "sentiment|emotion|intent|topic|polarity"
)
OF_TEXTS = re.compile("sentiment|emotion|intent|topic|polarity")
GRADES = re.compile(r".*(grade|severity|stage|level|risk)|ratings?|stars")
# Titles of columns that are not proposed as labels.
DATE = re.compile(r"(.*[ _])?(date|time|timestamp|(created|updated)_?at)", re.IGNORECASE)
# Whole numbers with more values than this, and gaps between them, are measurements and not classes.
_MOST_NUMBERS = 20
# More whole numbers than this, with gaps between them, may be numbers to predict.
_FEW = 5
# Number of columns that a message lists.
MOST_COLUMNS = 12
# The features of an item, as LIBSVM numbers them: 3:0.5 17:1.
_FEATURES = re.compile(r"\d+:\S+(\s+\d+:\S+)*")
# Labels of rows without a label.
_NO_LABEL = ("", "nan", "<na>", "#n/a", "n/a", "null", "?", "unassigned", "unlabeled", "unlabelled", "not labeled")
# Names of classes that may mean the same, but can be classes.
_UNCLEAR = (
    *_NO_LABEL, "unknown", "none", "undefined", "undetermined", "unclassified", "uncertain", "unclear", "unsure",
    "not sure", "don't know", "skip", "skipped", "no label", "no class", "not applicable", "na", "-", "-1", "-1.0",
)  # fmt: skip
# Titles of columns with the part of a row, which only tables of images use.
_PARTS = ("split", "subset", "part", "partition")
# A setting, and the name or number of the column in it.
Column = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Table:
    """An opened table.

    Attributes:
        dialect: delimiter and quoting (auto if undetectable), and the header's title of the first requested column,
            or an empty text without a header.
        words: description of the dialect.
        rows: line, requested cells, and problem (or an empty text) of each row, without the header.
    """

    dialect: list[str]
    words: str
    rows: Iterator[tuple[int, list[str], str]]


def suffix(path: Path) -> str:
    """Return the suffix of a file in lower case, without a suffix of compression."""
    return Path(path.name.lower().removesuffix(files.PACKED)).suffix


def open_table(path: Path, settings: LabelledData, columns: list[Column], title: str = "") -> Table:
    """Open a table in any text file, or in one compressed by gzip.

    Args:
        settings: encoding, delimiter, quoting and header, each detected if not set.
        columns: to read; the label column last.
        title: title of the first column in another table of this kind, which identifies a header.
    """
    text, encoding, chosen, shape = load(path, settings, [name for _, name in columns], settings.label_column)
    some = [record.cells for record in itertools.islice(chosen.records(text), _LOOKED_AT) if not record.problem]
    _refuse_fasttext(path, some)
    header, places = _places(path, settings.header, columns, some, chosen.delimiter)
    if header is None:
        titled = bool(title) and bool(some) and some[0][places[0]].strip() == title
        header = titled or (len(columns) > 1 and _names_no_class(chosen.records(text), places[-1]))
        if settings.kind == NUMBER and len(columns) > 1:
            header = not is_number(some[0][places[-1]])
    width = len(_trimmed(some[0], 0)) if header else shape.width
    if len(set(places)) < len(places):
        raise ZooError(f"{path}: texts and labels are one column, {places[0]}", "Set data.text_column.")
    body = [cells[places[0]].strip() for cells in some[bool(header) :] if len(cells) > places[0]]
    if len(columns) > 1 and any(body):
        readable = encoding == "utf-8" and not path.name.lower().endswith(files.PACKED)
        foreign_formats.refuse_file_names(path, columns[0][1], list(filter(None, body)), places[:2], readable)
    if len(columns) > 1 and len(body) > 9 and all(is_number(cell) or _FEATURES.fullmatch(cell) for cell in body):
        raise ZooError(
            f"{path}: the text column, {columns[0][1]}, contains only numbers, such as {body[0][:40]}",
            f"Texts are classified, not numbers. Set {columns[0][0]}.{_suggestion(some, columns)}",
        )
    kinds = [key.rpartition(".")[2].removesuffix("_column") for key, _ in columns]
    titles = [cell.strip() for cell in some[0]] if header else []
    described = ", ".join(
        f"{kind} in column {titles[place] if titles else place}" for kind, place in zip(kinds, places, strict=True)
    )
    words = f"{path}: {chosen.words(text, bool(header))}; {encoding}; {described}"
    if unread := [title for place, title in enumerate(titles) if title and place not in places]:
        words += f"; not used: {listed(unread, most=5)}"
        for title in filter(OF_GROUPS.fullmatch, unread):
            values = [cells[titles.index(title)] for cells in some[1:] if len(cells) >= len(titles)]
            if len(values) / MOST_IN_GROUP < len({*values}) <= len(values) / 2:
                words += f"; texts with the same {title} may be in the training part and in the test part"
    # A header with empty titles at its end, as spreadsheets write, has that many columns.
    whole = len(some[0]) if header and len(some[0]) > width else 0
    rows = iter_rows(chosen.records(text), places, max(width, *(place + 1 for place in places)), header, whole)
    words += "; columns without a title are not used" * bool(whole) + _other_texts(columns, places, some, header)
    words += _second_text(some[0], places) if header else ""
    columns_of = itertools.zip_longest(*some, fillvalue="")
    unused = [column for place, column in enumerate(columns_of) if header and place not in places]
    if parts := [column[0].strip() for column in unused if _is_of_parts(*column)]:
        write = datasets.table_command("split", path, "parts", "--column", parts[0])
        words += f"; column {parts[0]} is not used. To keep its parts: {write}"
    title = some[0][places[0]].strip() if header else ""
    return Table([chosen.delimiter, chosen.quoting if chosen.is_quoted(text) else "auto", title], words, rows)


def load(
    path: Path, settings: LabelledData | TableReading, names: list[str], label: str
) -> tuple[str, str, Dialect, Shape]:
    """Read a table; return its text, encoding (with a note on comments), dialect and shape."""
    text, encoding = files.read(path, settings.encoding, files.MOST_LINE)
    if not text.strip():
        raise ZooError(f"{path} has no row: the file is empty", "Give a table with a row for each item.")
    if settings.delimiter == "auto" and (table := foreign_formats.table_of_json(text)):
        chosen = Dialect("comma", "double", of_json=True)
        return table, encoding, chosen, dialect.shape_of(chosen, table)
    foreign_formats.refuse_markup(path, text)
    text, comments = _without_comments(text)
    count, _, rest = text.partition("\n")
    lines = len([line for line in files.lines(rest) if line.strip()])
    if re.fullmatch(r"\d{2,9}\s*", count) and lines - int(count) in (0, 1):
        text, comments = f"\n{rest}", f"{comments}; line 1, the number of rows, is not used"
    said, delimiter, likely = _EXCEL.match(text), settings.delimiter, _BY_SUFFIX.get(suffix(path), "comma")
    if said:
        text, delimiter = text[said.end() :], said[1]
    if delimiter == "auto":
        delimiter = dialect.detect_delimiter(text, names, label, likely) or likely
    if delimiter in ("semicolon", ";") and _DECIMAL.search(text) and not _LISTS.search(text):
        text, comments = _DECIMAL.sub(r"\1.\2", text), f"{comments}; decimal commas"
    if settings.quoting == "auto":
        quoting, shape = dialect.detect_quoting(text, delimiter)
        return text, encoding + comments, Dialect(delimiter, quoting), shape
    chosen = Dialect(delimiter, settings.quoting)
    return text, encoding + comments, chosen, dialect.shape_of(chosen, text)


def _without_comments(text: str) -> tuple[str, str]:
    """Empty the lines that begin with # and have fewer delimiters than all other lines; return a note.

    Without delimiters, these are the first lines, if all other lines have the same number of words.
    """
    if not text.startswith("#"):
        return text, ""
    lines = files.lines(text)
    rows = [line for line in lines if line.strip() and line[0] != "#"]
    least = {sign: min((line.count(sign) for line in rows), default=0) for sign in "\t,;|"}
    first = len(list(itertools.takewhile(lambda line: line[:1] == "#", lines)))
    widths = {len(line.split()) for line in rows}
    kept = [line if line[:1] != "#" or all(line.count(sign) >= least[sign] for sign in least) else "" for line in lines]
    if not any(least.values()) and len(widths) == 1 and len(rows) + first == len(lines) and max(widths) > 1:
        kept = [""] * first + lines[first:]
    count = sum(one != other for one, other in zip(lines, kept, strict=True))
    return ("\n".join(kept) + "\n", f"; {count:,} comments (#) are not used") if count else (text, "")


def _places(
    path: Path, header: bool | None, columns: list[Column], some: list[list[str]], delimiter: str
) -> tuple[bool | None, list[int]]:
    """Find the columns by name in the header, or by number; None if it is unknown whether there is a header."""
    names, first = [name for _, name in columns], [cell.strip() for cell in some[0]] if some else []
    numbered = all(name.isdecimal() for name in names)
    own_numbers = first[1:] == [str(number) for number in range(len(first))][1:]
    if header is not False and set(names) <= set(first) and (own_numbers or not numbered):
        return True, [first.index(name) for name in names]
    if numbered and max(map(int, names)) < len(first):
        return header, [int(name) for name in names]
    raise _lacking(path, columns, some, first, delimiter)


def _refuse_fasttext(path: Path, some: list[list[str]]) -> None:
    """Raise an error for lines in the format of fastText with several labels, or with labels at their ends."""
    lines = [" ".join(cells).strip() for cells in some]
    several = [line for line in lines if re.match(r"__label__\S+\s+__label__", line)]
    remedy = f"Write them into a column: {datasets.table_command('fasttext', path, 'labels.csv')}"
    if 10 * len(several) > len(lines):
        message = f"{path} has several labels in many lines, such as {several[0][:80]!r}"
        raise ZooError(message, f"{remedy} data.target=labels.")
    if sum(bool(re.search(r"\s__label__\S+\s*$", cells[-1])) for cells in some) > len(some) / 2:
        raise ZooError(f"{path} has its labels, __label__NAME, at the end of each line", remedy)


def _lacking(path: Path, columns: list[Column], some: list[list[str]], first: list[str], delimiter: str) -> ZooError:
    lacking = [
        (key, name) for key, name in columns if (int(name) >= len(first) if name.isdecimal() else name not in first)
    ]
    key, name = lacking[0] if lacking else columns[0]
    lines = listed((repr(" ".join(cells)[:40]) for cells in some[:3]), most=3)
    if len(list(filter(None, first))) < 2 and sum(len(list(filter(None, row))) > 1 for row in some) > len(some) / 2:
        return ZooError(
            f"{path}, line 1: {first[0][:60]!r} is not a row of a table", "Remove what precedes its header."
        )
    if len(first) < 2 and len(columns) > 1:
        return ZooError(
            f"{path} has only one column with each of the supported delimiters; its first lines: {lines}",
            "If an item takes several lines, write it into one. Texts and labels need two columns. Set "
            "data.delimiter=comma, tab, semicolon, pipe or space.",
        )
    if delimiter == "space" and not any(name.isdecimal() for _, name in columns):
        given = " ".join(f"{key}={place}" for (key, _), place in zip(columns, (1, 0), strict=True))
        return ZooError(
            f"{path} has only one column with each of the supported delimiters except the blank",
            f"If the first word of each line, such as {first[0][:40]!r}, is its label: {given}. If not, add a column "
            "with the label of each text.",
        )
    order = likely_first(first, list(zip(*(cells for cells in some[1:] if len(cells) == len(first)), strict=True)))
    shown = listed((repr(first[place][:80]) for place in order), most=MOST_COLUMNS)
    both = [title.strip() for title in name.split(",")]
    if key == "data.text_column" and len(both) > 1 and {*both} <= {*first}:
        several = sum(bool(set_parts.part_of(each.stem)) for each in path.parent.glob(f"*{path.suffix}")) > 1
        source, target = (path.parent, "joined") if several else (path, "joined.csv")
        then = f" data.label_column={columns[-1][1]}."
        write = datasets.table_command("both", source, target, "--columns", *both, then=then)
        return ZooError(f"data.text_column takes one column, not {name!r}", f"Join them: {write}")
    # A user who typed no name gets none that is only spelled alike, such as date.
    near = [title for title in first if name not in ("text", "label") or name in title.lower()]
    message = f"{path} has no column {name!r}{nearest(name, near)}"
    if any(each.isdecimal() for _, each in columns):
        message = f"{path} has no column {name}: its {len(first)} columns are counted from 0"
        if not all(each.isdecimal() for _, each in columns):
            message = f"{path} has no column of the name {name!r}, and columns are all numbers or all names"
    return ZooError(message, f"Its columns are {shown}. Set {key}.{_suggestion(some, columns)}")


def _suggestion(some: list[list[str]], columns: list[Column]) -> str:
    usual = Counter(map(len, some)).most_common(1)[0][0]
    some = [cells[:usual] for cells in some]
    body = [cells for cells in some[1:] if len(cells) == len(some[0])]
    if not body or len(columns) < 2:
        return ""
    values = [Counter(column) for column in zip(*body, strict=True)]
    flags = [place for place, kinds in enumerate(values) if {*kinds} == {"0", "1"}]
    sizes = [_size(title, column) for title, column in zip(some[0], zip(*body, strict=True), strict=True)]
    own = [place for place, title in enumerate(some[0]) if title.strip() == columns[-1][1]]
    text = max(set(range(len(values))) - {*own}, key=lambda place: (sizes[place], len(values[place])))
    # A column such as annot_utt repeats the texts of the column utt, with annotations.
    title_words = re.split("[ _]", some[0][text].strip())
    least = sizes[text] / 4
    originals = [place for place, title in enumerate(some[0]) if title in title_words and sizes[place] > least]
    text = originals[0] if originals and own != originals[:1] else text
    blank = [sum(count for cell, count in kinds.items() if not cell.strip()) for kinds in values]
    filled = [
        place for place, lack in enumerate(blank) if 2 * lack < blank[text] and 2 * len(values[place]) > len(body)
    ]
    wordy = [place for place in filled if sizes[place] and sum(map(len, map(str.split, values[place]))) > 2 * len(body)]
    fuller = max(wordy, key=sizes.__getitem__, default=text) if 50 * blank[text] > len(body) else text
    both = shlex.quote(f"{columns[0][0]}={some[0][fuller]},{some[0][text]}")
    lacks = f"; {some[0][text]} is empty in {blank[text]:,} of {len(body):,} rows" * (50 * blank[text] > len(body))
    lacks, text = f"{lacks}. {both} prints how to join both" if fuller != text else lacks, fuller
    few = own or [
        place for place, kinds in enumerate(values) if place != text and 2 <= len(kinds) <= len(body) / 2
        and 2 * kinds[""] < len(body) and not DATE.fullmatch(some[0][place].strip())
    ]  # fmt: skip
    numbers = [place for place, kinds in enumerate(values) if 2 * len(kinds) > len(body) and all(map(is_number, kinds))]
    measured = [place for place in numbers if is_of_labels(some[0][place])]
    if measured and not own and not any(is_of_labels(some[0][place]) for place in few):
        given = _as_settings(columns, [some[0][place] for place in (text, measured[0])])
        return f"\nBy its content you mean {given} data.target=number"
    if not few:
        return ""
    counts = [len(kinds) > MOST_COLUMNS and all(map(is_number, kinds)) for kinds in values]
    header = not any(some[0][place] in values[place] for place in few)
    # Without titles, the label is usually next to the text.
    apart = [not header and abs(place - text) > 1 for place in range(len(values))]
    few.sort(key=lambda place: (not is_of_labels(some[0][place]), counts[place], apart[place], len(values[place])))
    names = [some[0][place] if header else str(place) for place in (text, *few)]
    given = _as_settings(columns, names)
    given += " data.target=classes" * ("," in names[1])  # else the title is read as several columns
    unsure = bool(names[2:]) and not is_of_labels(some[0][few[0]])
    if len(flags) > 1 and header and few[0] in flags and not own:
        columns_of_labels = ",".join(some[0][place].strip() for place in flags)
        label = shlex.quote(f"{columns[-1][0]}={columns_of_labels}")
        return f"\nBy its content you mean {given.partition(' ')[0]}; each label by itself: {label} data.target=labels"
    second = _second_text(some[0], [text, few[0]]) if header else ""
    like = names[1:] if header else [f"{place} (such as {min(values[place])[:30]!r})" for place in few]
    example = like[0].removeprefix(names[1])
    other = second or f"{example}; the labels may also be in {listed(like[1:], ' or ', most=5)}" * unsure
    if header and not own and numbers and not is_of_labels(some[0][few[0]]):
        every = [place for place in numbers if place != text]
        ids = [place for place in every if len(values[place]) == len(body) and "".join(values[place]).isdecimal()]
        titles = listed((repr(some[0][place]) for place in every if place not in ids), " or ", most=5)
        number = f". To predict a number: data.target=number, and {columns[-1][0]} as {titles}"
        other += number * bool(titles)
    return f"\nBy its content{'' if header else ' it has no header, and'} you mean {given}{other}{lacks * header}"


def _as_settings(columns: list[Column], names: list[str]) -> str:
    return " ".join(shlex.quote(f"{key}={name}") for (key, _), name in zip(columns, names, strict=False))


def _size(title: str, column: Sequence[str]) -> int:
    """Return how many different letters and words a column contains; 0 for dates, addresses and trees of a parser."""
    if DATE.fullmatch(title.strip()) or all(
        re.fullmatch(r"\S*://\S*|\s*", cell) or cell.startswith(("( ", "(ROOT")) for cell in column
    ):
        return 0
    return len(set(column)) * sum(map(str.isalpha, "".join(column))) * sum(len(cell.split()) for cell in column)


def _second_text(titles: list[str], places: list[int]) -> str:
    """Return a remark on a column such as question2, next to the text, question1; ``places`` of text and label."""
    stems = [re.sub(r"[ _]?([12]|[ab])$", "", title.strip(), flags=re.IGNORECASE) for title in titles]
    pair = [place for place, stem in enumerate(stems) if stem == stems[places[0]] != titles[place]]
    if len(pair) < 2 or not {*pair}.isdisjoint(places[1:]):
        return ""
    both = listed((titles[place] for place in pair), " and ")
    column = shlex.quote(f"data.text_column={titles[pair[0]]},{titles[pair[1]]}")
    return f"; {both} belong together: {column} prints how to join them"


def _is_of_parts(title: str, *cells: str) -> bool:
    """Return whether a column holds the part of each row, by its title or by its cells."""
    values = {cell.strip().lower() for cell in cells}
    return title.strip().lower() in _PARTS or (len(values) > 1 and values <= {*set_parts.WORDS})


def likely_first(titles: list[str], columns: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns of a table; if a message hides some, titles of labels and long words go before numbers."""
    order = list(range(len(titles)))
    if columns and len(titles) > MOST_COLUMNS + 1:
        plain = [len(set(column)) < 2 or all(map(is_number, column)) for column in columns]
        order.sort(key=lambda each: (not is_of_labels(titles[each]), plain[each], -len("".join(columns[each]))))
    return order


def is_of_labels(title: str) -> bool:
    parts = map(str.lower, re.findall(r"[A-Z]?[a-z]+|[A-Z]+", title))
    return any(LABELS.fullmatch(part) or GRADES.fullmatch(part) or part == "score" for part in parts)


def _names_no_class(records: Iterable[Record], place: int) -> bool:
    """Return True if the first row is a header: its label is unique, and other labels recur."""
    labels = (record.cells[place].strip() for record in records if len(record.cells) > place)
    first, others = next(labels, ""), Counter[str]()
    for label in labels:
        if label == first:
            return False
        others[label] += 1
    return 0 < 2 * len(others) <= others.total()


def _other_texts(columns: list[Column], places: list[int], some: list[list[str]], header: bool | None) -> str:
    """Return a remark on a column of a table with as long and as different cells as the column of texts."""
    body = [cells for cells in some[bool(header) :] if len(cells) == len(some[0])]
    if len(columns) < 2 or len(body) < 5:
        return ""
    sizes = [
        _size(title, column) * (2 * len(set(column)) > len(column))
        for title, column in zip(some[0], zip(*body, strict=True), strict=True)
    ]
    other = [place for place, size in enumerate(sizes) if place not in places and 2 * size > sizes[places[0]] > 0]
    title = (some[0][other[0]].strip() if header else str(other[0])) if other else ""
    return f"; column {title} contains texts too" if title else ""


def iter_rows(
    records: Iterator[Record], places: Sequence[int], width: int, header: bool, whole: int = 0
) -> Iterator[tuple[int, list[str], str]]:
    """Yield line, cells of the columns, and problem (or an empty text) of each row after the header.

    Args:
        whole: number of columns, if it exceeds the ``width`` of those with a title.
    """
    for record in records:
        if header and not record.problem:
            header = False
            continue
        cells = record.cells[:width] if whole and len(record.cells) == whole else _trimmed(record.cells, width)
        problem = f"{len(cells)} columns instead of {width}" if len(cells) != width else ""
        if not record.problem:
            yield record.line, [] if problem else [cells[place] for place in places], problem
            continue
        # A missing quote swallows the following rows: each of them counts.
        yield from ((line, [], record.problem) for line in range(record.line, record.end + 1))


def _trimmed(cells: list[str], width: int) -> list[str]:
    """Remove trailing empty cells, which spreadsheets write, down to a width."""
    if len(cells) <= width:
        return cells
    used = max((place for place, cell in enumerate(cells, 1) if cell.strip()), default=0)
    return cells[: max(used, width)]


def several_labels(cells: set[str]) -> str:
    """Return a cell that holds several labels (a list, or words that are also labels), or an empty string."""
    for split in (re.compile(r"\s*,\s*").split, str.split):
        joined = {cell: split(cell) for cell in sorted(cells) if len(split(cell)) > 1}
        pieces = {piece for cell in cells for piece in split(cell)}
        fits = len(cells) > 2 * len(pieces) or all(cells.issuperset(each) for each in joined.values())
        if joined and fits and not pieces & {"of", "the", "and", "with"}:
            return next(iter(joined))
    return next((cell for cell in sorted(cells) if _LIST.search(cell)), "")


def labels_of(cell: str, sign: str) -> list[str]:
    """Return the labels in a cell such as ``cat|dog``, ``cat, dog`` or ``['cat', 'dog']``; none in an empty one."""
    inner = re.sub(r"^\s*(?:set)?[\[{(](.*)[\]})]\s*$", r"\1", cell)
    quoted = re.findall(r"'([^']*)'|\"([^\"]*)\"", inner) if inner != cell else []
    pieces = [one or other for one, other in quoted] or inner.split(sign or None)
    return sorted({piece.strip() for piece in pieces if piece.strip()})


def joined_labels(names: Iterable[str]) -> list[str]:
    """Return a note on a class that looks like several labels: its words are other classes, or recur in them."""
    words = {name: re.split(r"[\s,;|]+", name.strip()) for name in sorted(names)}
    counts = Counter(word for each in words.values() for word in set(each))
    joined = [
        name
        for name, each in words.items()
        if len(each) > 1
        and all(counts[word] > 1 for word in each)
        # After a blank, the first word must be a class: it is in rust spot, and not in Extremely Negative.
        and (len(each) > 2 or not {*words}.isdisjoint(each if re.search(r"[,;|]", name) else each[:1]))
    ]
    several = several_labels(set(words)) or next(iter(joined), "")
    return [f"A label such as {several!r} may be several: each combination is a class"] if several else []


def unclear_labels(names: Iterable[str], way: str = "") -> list[str]:
    """Return notes on classes that may mean no label, with the ``way`` to leave them out, and on numbers."""
    names = sorted(names)
    unclear = [name for name in names if " ".join(re.split(r"[\s_]+", name.strip().lower())) in _UNCLEAR]
    unclear = [] if names == ["-1", "1"] else unclear
    kept = [name for name in names if name not in unclear]
    only = shlex.quote(override("data.classes", kept)) if 1 < len(kept) <= 20 else "data.classes"
    is_class = "is trained as a class. If it means" if len(unclear) == 1 else "are trained as classes. If they mean"
    note = f"{listed(map(repr, unclear), ' and ')} {is_class} that the label is unknown, "
    note += way or f"leave these texts out with {only}"
    numbers = [name for name in names if name and is_number(name)]
    many = len(numbers) == len(names) > _FEW and max(map(float, numbers)) - min(map(float, numbers)) >= len(names)
    numbers = numbers if many else [name for name in numbers if float(name) % 1]
    if names and all(map(set_parts.PERSON.fullmatch, names)):
        return [f"Classes such as {names[0]} look like numbers of persons. The network would recognize persons"]
    measured = [
        f"Labels such as {name} are trained as classes, and not as numbers. A table can give a number to predict: "
        "data.target=number"
        for name in numbers[:1]
    ]
    return [note] * bool(unclear) + measured


def is_number(cell: str) -> bool:
    try:
        return not cell or abs(float(cell)) < float("inf")
    except ValueError:
        return False


def measurements(cells: set[str]) -> list[float]:
    """Return the numbers of a column of measurements: fractions, or many numbers with gaps; else nothing.

    At most a tenth of the cells may be something else, such as n. d. for a missing number.
    """
    numbers = sorted({float(cell) for cell in cells if cell and is_number(cell)})
    if not numbers or 10 * sum(not is_number(cell) for cell in cells) > len(cells):
        return []
    gaps = numbers[-1] - numbers[0] + 1 > len(numbers) > _MOST_NUMBERS
    return numbers if gaps or any(number % 1 for number in numbers) else []


def is_missing(label: str) -> bool:
    return label.strip().lower() in _NO_LABEL
