"""Several labels, or a number, for each item of a data set."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from zoo.core.arrays import NDArray, np
from zoo.core.errors import counted, listed
from zoo.protocol import targets
from zoo.protocol.request import TargetPart

# Items without any label are split as a class of this name.
WITHOUT = "(no label)"
# Most ranges of a number that are split like classes, and the items of each.
_RANGES, _IN_RANGE = 10, 20


@dataclasses.dataclass(frozen=True)
class Targets:
    """What is known of each item.

    Attributes:
        kind: ``labels`` or ``number``, see :mod:`zoo.protocol.targets`.
        names: the labels, or the name of the number.
        values: (n, names), 0 and 1 as uint8, or numbers as float64.
    """

    kind: str
    names: list[str]
    values: "NDArray[np.uint8] | NDArray[np.float64]"

    def chosen(self, rows: "Sequence[int] | NDArray[np.int64]") -> "Targets":
        return dataclasses.replace(self, values=self.values[rows])

    def part(self, rows: "NDArray[np.int64]", loss: str) -> TargetPart:
        """Return the target of a request, with the weights or the unit computed from training rows.

        ``loss`` is the one of a number.
        """
        values = self.values[rows].astype(np.float64)
        if self.kind == targets.NUMBER:
            return TargetPart(kind=self.kind, loss=loss, mean=float(values.mean()), scale=float(values.std()) or 1.0)
        found = np.maximum(values.sum(axis=0), 1.0)
        weights = np.clip((len(values) - found) / found, 1.0, targets.MOST_WEIGHT)
        return TargetPart(kind=self.kind, weights=[round(float(each), 4) for each in weights])

    def words(self, part: TargetPart) -> str:
        """Describe what a network learns, with the weights of labels or the unit of the number."""
        if self.kind == targets.NUMBER:
            return (
                f"Learns the number {self.names[0]}, with mean {part.mean:g} and deviation {part.scale:g} in training"
            )
        pairs = zip(self.names, part.weights or [], strict=True)
        weights = listed((f"{name} {weight:.3g}" for name, weight in pairs), most=10)
        count = counted(len(self.names), "label")
        return f"Learns {count}, each with its own probability. Weights in the loss: {weights}"


def of_labels(rows: Sequence[Sequence[str]]) -> Targets:
    names = sorted({name for row in rows for name in row})
    place = {name: number for number, name in enumerate(names)}
    values = np.zeros((len(rows), len(names)), np.uint8)
    for number, row in enumerate(rows):
        values[number, [place[name] for name in row]] = 1
    return Targets(targets.LABELS, names, values)


def of_numbers(name: str, values: Sequence[float]) -> Targets:
    return Targets(targets.NUMBER, [name], np.array(values, np.float64).reshape(-1, 1))


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


def counts_note(known: Targets) -> str:
    if known.kind == targets.NUMBER:
        values = known.values
        return f"{known.names[0]}: {values.min():g} to {values.max():g}, mean {values.mean():g}"
    sums = zip(known.names, known.values.sum(axis=0).tolist(), strict=True)
    shown = listed(f"{name} ({count:,})" for name, count in sums)
    several = Counter(int(count) for count in known.values.sum(axis=1))
    return (
        f"{counted(len(known.names), 'label')}: {shown}; {several.total() - several[0] - several[1]:,} images have "
        f"several, {several[0]:,} have none"
    )
