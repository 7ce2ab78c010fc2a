"""Collect labeled texts from rows of any source, and report what is skipped or merged."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from zoo.config.schemas.text import LabelledData
from zoo.core.arrays import np
from zoo.core.errors import ZooError, counted, listed, nearest
from zoo.core.paths import key_of, refuse_unspellable
from zoo.data import targets
from zoo.data.targets import Targets
from zoo.data.text import tables, tokenization
from zoo.protocol.targets import CLASSES

PARTS = ("train", "validation", "test")
MOST_CLASSES = 1000
LONGEST_LABEL = 300
# Largest share of skipped rows; more suggests that the source is read in the wrong way.
_MOST_SKIPPED = 0.1
_UNLABELED = "the label is"
# One text: its part ("" if the source has none), its class, the text, and its position.
Row = tuple[str, str, str, str]


@dataclasses.dataclass(kw_only=True)
class Remarks:
    """How a source was read, which readers report in addition to rows.

    Attributes:
        blank: number of skipped texts without any word.
        skipped: (position, reason) of other skipped texts.
        notes: how the source was read, one sentence each.
        dialect: delimiter, quoting and title of the text column of the last table; empty for other sources.
    """

    blank: int = 0
    skipped: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    dialect: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class LabelledTexts(Remarks):
    """Labeled texts in the order of their source.

    Attributes:
        texts: n texts, none of them blank.
        labels: n class numbers.
        parts: n times ``train``, ``validation`` or ``test``; None if the source has no parts.
        class_names: sorted.
        targets: instead of classes; ``labels`` then number the :func:`zoo.data.targets.strata`.
    """

    texts: list[str]
    labels: list[int]
    parts: list[str] | None
    class_names: list[str]
    targets: Targets | None = None


def collect(row: LabelledData, rows: Iterable[Row], remarks: Remarks) -> LabelledTexts:
    """Collect the texts of a source, whose readers fill in ``remarks`` while rows are consumed."""
    kept, unwanted = [], 0
    wanted, labels = {key_of(name) for name in row.classes}, set()
    for part, name, text, where in rows:
        if row.name == "text_table" and row.kind == CLASSES and tables.is_missing(name):
            remarks.skipped.append((where, f"{_UNLABELED} {name.strip() or 'empty'}"))
        else:
            labels.add(name.strip())
            if wanted and key_of(name) not in wanted:
                unwanted += 1
            elif tokenization.is_blank(row.tokenizer, text):
                remarks.blank += 1
            else:
                kept.append((part, name.strip(), text, where))
        if row.strict and remarks.skipped:
            break
    if row.kind != CLASSES:
        return _with_targets(row, kept, remarks)
    _refuse_numbers(row, [name for _, name, _, _ in kept], any(part for part, _, _, _ in kept))
    _check_skipped(row, len(kept) + remarks.blank, remarks.skipped)
    _check_wanted(row, labels)
    spelling = _spellings(row, Counter(name for _, name, _, _ in kept), remarks)
    names, parts = [spelling[name] for _, name, _, _ in kept], [part for part, _, _, _ in kept]
    class_names = sorted(set(names))
    refuse_unspellable(class_names, Path(row.root or ""))
    empty = sorted(label for label in labels if label not in spelling and (key_of(label) in wanted or not wanted))
    without = [f"Not a class, since all its texts are empty: {listed(label[:80] for label in empty)}"] * bool(empty)
    _check_classes(row, class_names, names, parts, without + [": ".join(each) for each in remarks.skipped[:1]])
    remarks.notes += tables.unclear_labels(class_names) + without
    joined = tables.joined_labels(class_names) if row.name == "text_table" else []
    remarks.notes += [f"{note}; data.target=labels learns each label" for note in joined]
    if unwanted:
        remarks.notes.append(f"Not used: {counted(unwanted, 'text')} of classes that data.classes does not name")
    remarks.notes.append(counts_note(class_names, names, parts))
    numbers = {name: number for number, name in enumerate(class_names)}
    texts, labelled = [text for _, _, text, _ in kept], [numbers[name] for name in names]
    remarks.notes += _contradictions(texts, names)
    return LabelledTexts(texts, labelled, parts if any(parts) else None, class_names, **vars(remarks))


def _contradictions(texts: list[str], names: list[str]) -> list[str]:
    """Return a note on equal texts in several classes, or none."""
    first: dict[str, str] = {}
    other = {text: name for text, name in zip(texts, names, strict=True) if first.setdefault(text, name) != name}
    if not other:
        return []
    text, name = next(iter(other.items()))
    return [
        f"{counted(len(other), 'text')} in several classes, such as {first[text]} and {name}. Remove the copies, or "
        "give all labels of a text in one row of a table: data=text_table data.target=labels"
    ]


def _with_targets(row: LabelledData, kept: list[Row], remarks: Remarks) -> LabelledTexts:
    """Collect texts with several labels or a number."""
    _check_skipped(row, len(kept) + remarks.blank, remarks.skipped)
    texts, labels, parts = [each[2] for each in kept], [each[1] for each in kept], [each[0] for each in kept]
    known = targets.of_rows(row.kind, row.label_column, labels)
    if not texts or not known.names:
        raise ZooError(f"{row.root} holds no text with a label", "Set data.label_column, or data.target.")
    _check_parts(row, parts)
    remarks.notes.append(targets.counts_note(known, [each.strip() for each in row.label_column.split(",")]))
    numbers = np.unique(targets.strata(known), return_inverse=True)[1].tolist()
    return LabelledTexts(texts, numbers, parts if any(parts) else None, known.names, known, **vars(remarks))


def _check_parts(row: LabelledData, parts: list[str]) -> None:
    if any(parts) and "" in parts:
        raise ZooError(f"{row.root}: some texts lie outside of train/ and test/", "Move them, or take the two apart.")


def _are_many(names: list[str]) -> bool:
    return len(set(names)) > max(10, len(names) // 2)


def _refuse_numbers(row: LabelledData, names: list[str], parted: bool) -> None:
    """Raise an error if the labels are measurements, and too many or too rare to be classes."""
    numbers = tables.measurements(set(names))
    if numbers and (_are_many(names) or (min(Counter(names).values()) < row.folds and not parted)):
        raise ZooError(
            f"{row.root} holds numbers as labels, from {min(numbers):g} to {max(numbers):g}",
            "To predict these numbers: data.target=number. Or write classes into a column, such as their ranges.",
        )


def _check_skipped(row: LabelledData, usable: int, skipped: list[tuple[str, str]]) -> None:
    """Raise an error for a source with too many unusable rows, or with any in strict mode."""
    if not skipped or (not row.strict and len(skipped) <= _MOST_SKIPPED * (usable + len(skipped))):
        return
    where, reason = skipped[0]
    if row.strict:
        raise ZooError(f"{where}: {reason}", "Correct it; data.strict=false leaves it out.")
    kinds = Counter(reason for _, reason in skipped).most_common(3)
    counted = ", ".join(f"{count:,} times {reason}" for reason, count in kinds)
    if all(reason.startswith(_UNLABELED) for _, reason in skipped):
        raise ZooError(
            f"{len(skipped):,} of {usable + len(skipped):,} rows in {row.root} have no label: {counted}",
            "Delete these rows, or set data.label_column to the column that contains the labels. If a text may have "
            "several labels or none: data.target=labels.",
        )
    hint = ""
    if row.name == "text_table":
        hint = " Or say how it is written: data.delimiter, data.quoting, data.header. Move tables without labels away."
    if wide := re.match(r"\d+ columns instead of (\d+)", reason):
        hint += f" To leave out the last columns: cut -f1-{wide[1]} FILE > table.tsv"
    if row.name == "text_folder":
        hint = " Tables are read by data=text_table, files with one text a line by data=text_lines."
    raise ZooError(
        f"{where}: {reason}. So {len(skipped):,} of {usable + len(skipped):,} texts cannot be used: {counted}",
        f"{'Move them into class folders, or elsewhere' if row.name == 'text_folder' else 'Correct them'}.{hint}",
    )


def _spellings(row: LabelledData, counts: Counter[str], remarks: Remarks) -> dict[str, str]:
    """Return the class name of each label: labels that differ only in case or white space are one class."""
    by_key: dict[str, list[str]] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        by_key.setdefault(key_of(name), []).append(name)
    several = [names for names in by_key.values() if len(names) > 1]
    joined = [" and ".join(f"{name!r} ({counts[name]:,})" for name in names) for names in several]
    if joined and row.strict:
        raise ZooError(
            f"The labels {joined[0]} differ in capitals, blanks or codes of accents only",
            "Correct them; data.strict=false joins them.",
        )
    remarks.notes += [
        f"The labels {words} are one class, {names[0]!r}" for words, names in zip(joined, several, strict=True)
    ]
    return {name: names[0] for names in by_key.values() for name in names}


def _check_wanted(row: LabelledData, labels: set[str]) -> None:
    """Raise an error if ``data.classes`` names a class without texts, which would change the classifier."""
    keys = {key_of(name) for name in labels}
    missing = [name for name in row.classes if key_of(name) not in keys]
    if missing and labels:
        near = nearest(missing[0], sorted(labels))
        raise ZooError(
            f"{row.root} has no text of {listed(missing)}, which data.classes names{near}",
            f"Texts are of: {listed(sorted(labels))}",
        )


def counts_note(class_names: list[str], names: list[str], parts: list[str]) -> str:
    """Return the classes with their numbers of texts, by part if there are parts."""
    counts = Counter(zip(names, parts, strict=True))
    sizes = (
        ", ".join(f"{count:,} {part}".rstrip() for part in ("", *PARTS) if (count := counts[name, part]))
        for name in class_names
    )
    shown = listed(f"{name} ({size})" for name, size in zip(class_names, sizes, strict=True))
    return f"{len(class_names):,} classes: {shown}"


def _check_classes(
    row: LabelledData, class_names: list[str], names: list[str], parts: list[str], without: list[str]
) -> None:
    """Raise an error for too few or too many classes, or too long names; ``without``: which texts have no class."""
    column = "Is data.label_column the column of the labels?" if row.name == "text_table" else ""
    several = "To learn each label of a text: data.target=labels" * bool(column and tables.joined_labels(class_names))
    if not class_names:
        raise ZooError(f"{row.root} holds no text", "Give data.root=PATH with texts of two classes or more.")
    if len(class_names) < 2:
        needed = f"A classifier needs texts of two classes or more. {column}".rstrip()
        only = f"{row.root} holds texts of one class only, {class_names[0][:LONGEST_LABEL]!r}"
        raise ZooError(". ".join([only, *without]), needed)
    if long := next((name for name in class_names if len(name) > LONGEST_LABEL), ""):
        message = f"{row.root}: a label has {len(long):,} characters, {long[:40]!r} and so on"
        raise ZooError(message, f"Shorten it; a label has at most {LONGEST_LABEL} characters. {column}".rstrip())
    if len(class_names) > MOST_CLASSES:
        least = f"{class_names[0][:40]!r} and so on; at most {MOST_CLASSES:,} can be learned"
        message = f"{row.root} holds {len(class_names):,} classes, {least}"
        raise ZooError(message, several or column)
    if _are_many(names):
        message = f"{row.root} holds {len(class_names):,} different labels for {len(names):,} texts"
        raise ZooError(message, several or f"A classifier needs several texts of each class. {column}".rstrip())
    counts = Counter(zip(parts, names, strict=True))
    # Without a test part next to a validation part, some training texts are used for testing.
    present = ("train", "test")[: 1 + ("test" in parts or "validation" not in parts)]
    for part in present if any(parts) else ():
        lacking = [name for name in class_names if not counts[part, name]]
        if lacking:
            both = [name for name in class_names if all(counts[part, name] for part in present)]
            chosen = f"Name the classes that both parts have, such as data.classes=[{','.join(both[:20])}]."
            raise ZooError(
                f"{row.root}: the {part} part has no text of {', '.join(lacking[:10])}",
                several or (chosen if len(both) > 1 else f"Add texts of these classes to the {part} part."),
            )
    _check_parts(row, parts)
