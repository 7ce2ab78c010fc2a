"""Several labels, or a number, for each item of a data set."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, counted, listed
from zoo.data.text import tables
from zoo.protocol import targets
from zoo.protocol.request import TargetPart

# Cells of a column that says whether an item has a label.
FLAGS = {"0": False, "1": True, "0.0": False, "1.0": True, "-1": False, "-1.0": False, "false": False, "true": True}
# Instead of the sign between labels: a column of 0 and 1.
FLAG = "01"
# Separates the labels of an item, which no cell contains.
AND = "\x1f"
# Labels that mean none, if they are always alone.
_NONE = re.compile(r"no[ _-]?(findings?|labels?|tags?)|none|nothing", re.IGNORECASE)
# Items without any label are split as a class of this name.
WITHOUT = "(no label)"
# What the parts of split data have the same share of, by kind of target.
STRATUM = {targets.CLASSES: "class", targets.LABELS: "label", targets.NUMBER: "range of the number"}
# Most ranges of a number that are split like classes, and the items of each.
_RANGES, _IN_RANGE = 10, 20
# The largest number, and the largest ratio of numbers to the width of their range: the networks compute in float32.
_MOST, _MOST_RATIO = 1e30, 1e5


@dataclasses.dataclass(frozen=True)
class Targets:
    """What is known of each item.

    Attributes:
        kind: ``labels`` or ``number``, see :mod:`zoo.protocol.targets`.
        names: the labels, or the name of the number.
        values: (n, names), 0 and 1 as uint8, or numbers as float64.
        none: what the source writes instead of no label.
    """

    kind: str
    names: list[str]
    values: "NDArray[np.uint8] | NDArray[np.float64]"
    none: str = ""

    def part(self, rows: "NDArray[np.int64]", loss: str) -> TargetPart:
        """Return the target of a request, with the weights or the unit computed from training rows.

        ``loss`` is the one of a number.
        """
        values = self.values[rows].astype(np.float64)
        if self.kind == targets.NUMBER:
            return TargetPart(kind=self.kind, loss=loss, mean=float(values.mean()), scale=float(values.std()) or 1.0)
        counts = np.maximum(values.sum(axis=0), 1.0)
        weights = np.clip((len(values) - counts) / counts, 1.0, targets.MOST_WEIGHT)
        return TargetPart(kind=self.kind, weights=[round(float(each), 4) for each in weights])

    def check_training(self, rows: "NDArray[np.int64]") -> None:
        """Warn of labels that no training row has; raise an error if all have the same number."""
        values = self.values[rows]
        if self.kind == targets.NUMBER:
            least, most = self.values.min(), self.values.max()
            if len(rows) and (values == values[0]).all():
                raise ZooError(f"Every training item has the number {values[0, 0]:g}", "There is nothing to learn.")
            if max(abs(least), abs(most), 1 / _MOST) > _MOST_RATIO * (most - least):
                raise ZooError(
                    f"{self.names[0]} is from {least:.10g} to {most:.10g}, and networks predict 6 digits of a number",
                    f"Subtract {least:.10g} from each, or use a different unit.",
                )
        elif lacking := np.array(self.names)[~values.any(axis=0)].tolist():
            console.warn(f"No training item has {listed(map(repr, lacking))}: this cannot be learned")

    def words(self, part: TargetPart) -> str:
        """Describe what a network learns, with the weights of labels or the unit of the number."""
        if self.kind == targets.NUMBER:
            unit = f"mean {part.mean:g} and deviation {part.scale:g} in training"
            return f"Learns the number {self.names[0]}, with {unit}"
        pairs = zip(self.names, part.weights or [], strict=True)
        weights = listed((f"{name} {weight:.3g}" for name, weight in pairs), most=10)
        count = counted(len(self.names), "label")
        return f"Learns {count}, each with its own probability. Weights in the loss: {weights}"


def of_row(where: str, cells: Mapping[str, str], kind: str, sign: str) -> str:
    """Return the number of a row, or its labels joined by :data:`AND`; raise ZooError if its cells contain none.

    Args:
        cells: by the title of their column: one with the number or a list, or several with 0 and 1.
        sign: from :func:`sign_in`.
    """
    (title, cell), *more = cells.items()
    if kind == targets.NUMBER:
        like = re.fullmatch(r"[-+.\d]+([eE][-+]?\d+)?", cell) and tables.is_number(cell)
        if not like or abs(float(cell)) > _MOST:
            raise ZooError(
                f"{where}: {cell!r} in column {title} is not a number",
                f"Write a number such as 3.5, at most {_MOST:g}, into each row, or remove the row.",
            )
        return repr(float(cell))
    if kind == targets.LABELS and not more and (sign != FLAG or tables.is_missing(cell)):
        return "" if tables.is_missing(cell) else AND.join(tables.labels_of(cell, sign))
    for title, cell in cells.items():
        if cell.lower() not in FLAGS:
            raise ZooError(f"{where}: {cell!r} in column {title} is not 0 or 1", "Write 0 or 1 into each row.")
    return AND.join(title for title, cell in cells.items() if FLAGS[cell.lower()])


def sign_in(cells: Iterable[str]) -> str:
    """Return :data:`FLAG` for a column of 0 and 1, else the sign between the labels in its cells."""
    given = {cell.strip() for cell in cells} - {""}
    if {cell.lower() for cell in given} <= FLAGS.keys():
        return FLAG
    return next((sign for sign in "|;," if sign in "".join(given)), "")


def of_rows(kind: str, title: str, rows: Sequence[str]) -> Targets:
    """Return the targets of rows from :func:`of_row`; ``title`` is the name of a number."""
    if kind == targets.NUMBER:
        return Targets(kind, [title], np.array(rows, np.float64).reshape(-1, 1))
    given = [list(filter(None, row.split(AND))) for row in rows]
    names = sorted({name for row in given for name in row})
    none = next(
        (name for name in names if _NONE.fullmatch(name) and all(row == [name] for row in given if name in row)), ""
    )
    given, names = [row if row != [none] else [] for row in given], [name for name in names if name != none]
    place = {name: number for number, name in enumerate(names)}
    values = np.zeros((len(rows), len(names)), np.uint8)
    for number, row in enumerate(given):
        values[number, [place[name] for name in row]] = 1
    return Targets(kind, names, values, none)


def strata(known: Targets) -> list[str]:
    """Return for each item a class by which the data are split: its rarest label, or the range of its number."""
    if known.kind == targets.LABELS:
        counts = known.values.sum(axis=0)
        ranked = np.where(known.values > 0, counts, len(known.values) + 1)
        rarest, some = ranked.argmin(axis=1).tolist(), known.values.sum(axis=1).tolist()
        return [known.names[place] if any_ else WITHOUT for place, any_ in zip(rarest, some, strict=True)]
    values = known.values[:, 0]
    count = max(1, min(_RANGES, len(values) // _IN_RANGE))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1]))
    ranges = np.searchsorted(edges, values, side="right")
    ends = {each: (values[ranges == each].min(), values[ranges == each].max()) for each in set(ranges.tolist())}
    return ["{:g} to {:g}".format(*ends[each]) for each in ranges.tolist()]


def counts_note(known: Targets, columns: Sequence[str]) -> str:
    """Describe how many items have which target; ``columns`` are the columns of labels, or a single one."""
    if known.kind == targets.NUMBER:
        values = known.values
        return f"{known.names[0]}: {values.min():g} to {values.max():g}, mean {values.mean():g}"
    sums = zip(known.names, known.values.sum(axis=0).tolist(), strict=True)
    shown = listed(f"{name} ({count:,})" for name, count in sums)
    several = Counter(int(count) for count in known.values.sum(axis=1))
    never = sorted({*columns} - {*known.names, known.none}) if len(columns) > 1 else []
    return (
        f"{counted(len(known.names), 'label')}: {shown}; {several.total() - several[0] - several[1]:,} have several, "
        f"{several[0]:,} have none{known.none and f' ({known.none})'}"
        f"{'. Not learned, because no row has it: ' * bool(never)}{listed(never)}"
    )
