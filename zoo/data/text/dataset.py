"""Prepare texts once: token arrays in the cache that the worker maps into memory, and their vocabulary.

A prepared folder is named by the content of its source and by every setting that it depends on.
"""

import dataclasses
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import Any

from zoo.config.overrides import override
from zoo.config.schemas.text import AUTO, LabelledData, LanguageData, TextData
from zoo.core import console, formats, paths
from zoo.core.arrays import Arrays, NDArray, np
from zoo.core.errors import ZooError, counted, listed
from zoo.core.files import file_sha256, files_below, fill_once
from zoo.data import datasets, npy_images
from zoo.data.images import decode, set_parts
from zoo.data.targets import Targets
from zoo.data.text import files, foreign_formats, labelled_texts, pieces, sources, tables, tokenization
from zoo.protocol.targets import CLASSES

# Part of the name of every prepared folder: increase it when the result from the same sources changes.
CACHE_VERSION = 23
VOCABULARY = "vocabulary.json"
# A vocabulary, or the seed of the split from whose training texts one is learned.
Vocabulary = tokenization.Tokenizer | int
ABOUT = "about.json"
TEXTS = "texts.bin"
_ROOT = "{data.root}"
TOKENS = "tokens.npy"
# Folds are assigned with this seed, whatever the seed of a run.
FOLD_SEED = 1
# Default limit of validation tokens of one long text after each epoch.
MOST_VALIDATED = 1_000_000


@dataclasses.dataclass
class TextInfo(labelled_texts.Remarks):
    """Properties of prepared texts, stored as ``about.json`` in their folder.

    Attributes:
        class_names: by label; empty for one text without labels.
        parts: parts that the source defines in addition to the training part: ``validation``, ``test``.
        unknown: share of tokens missing in the vocabulary.
        target: kind of target, see :mod:`zoo.protocol.targets`; ``class_names`` are its labels or number.
    """

    class_names: list[str]
    parts: list[str]
    unknown: float
    target: str


@dataclasses.dataclass(frozen=True)
class TextDataset:
    """Prepared texts.

    Attributes:
        folder: contains ``tokens.npy``, all texts in sequence. For labeled texts also ``offsets.npy``, the start of
            each (one more than texts), and ``labels.npy``, (texts,) or (texts, outputs). ``test.npy`` and
            ``validation.npy`` are True for the texts of these parts; without a validation part, the seed of a run
            draws one. ``same.npy`` has a number that texts of the same words share, ``texts.bin`` the texts in UTF-8,
            and ``places.npy`` the start of each.
    """

    folder: Path
    name: str
    sha256: str
    source: str
    info: TextInfo
    tokenizer: tokenization.Tokenizer

    @property
    def targets(self) -> Targets | None:
        """The labels or the number of each text; None for classes."""
        if self.info.target == CLASSES:
            return None
        return Targets(self.info.target, self.info.class_names, np.load(self.folder / "labels.npy"))


@dataclasses.dataclass(frozen=True)
class _Content:
    """The content of a prepared folder, except the tokens of one long text, which are written while reading."""

    arrays: "Arrays"
    info: TextInfo
    tokenizer: tokenization.Tokenizer
    texts: bytes = b""


def prepare(row: TextData, vocabulary: Vocabulary) -> TextDataset:
    """Prepare the texts that the settings name, unless they are cached."""
    if isinstance(row, LabelledData):
        source = sources.source_of(row)
        read = source.read
        return _cached(row, source.sha256, source.text, lambda _: _labelled(row, read(), vocabulary), vocabulary)
    path = files.data_root(row.root, "a text file")
    if not path.is_file():
        raise ZooError(f"data.root={row.root} is a folder; data=text_file takes one text file", _one_of(path))
    files.require_size(path)
    return _cached(
        row, file_sha256(path), str(row.root), lambda part: _one_text(row, path, vocabulary, part), vocabulary
    )


def _one_of(folder: Path) -> str:
    """Return a remedy that names a file of a folder, for training or of plain text if there is one."""
    names = [
        name for name in sorted(files_below(folder, lambda *_: None)) if not set_parts.PROSE.match(Path(name).name)
    ]
    plain = [name for name in names if not formats.find(name) and Path(name).suffix.lower() not in decode.SUFFIXES]
    texts = [name for name in names if name.lower().endswith(".txt")] or plain
    if not texts:
        kind = next((kind for name in names if (kind := formats.find(name, use="texts"))), None)
        return f"{names[0]} is {kind.about}. {kind.remedies['texts']}" if kind else "It contains no text."
    best = next((name for name in texts if "train" in name.lower()), texts[0])
    texts = [name for name in texts if Path(name).suffix == Path(best).suffix]
    join = datasets.table_command("chapters", folder, "all.txt", "--suffix", Path(best).suffix)
    several = f"Of {listed(texts)}, give one, such as" if texts[1:] else "Give"
    note = f". To join parts of one text, sorted by name: {join}" if texts[1:] else ""
    return f"{several} {set_parts.as_root(folder / best)}{note}"


def _cached(
    row: TextData, sha256: str, source: str, build: Callable[[Path], _Content], vocabulary: Vocabulary
) -> TextDataset:
    folder = paths.cache_dir() / "texts" / f"{row.name}-{_key(row, sha256, vocabulary)[:16]}"
    root = str(Path(row.root or ""))  # notes name it, and the same texts may be elsewhere later
    named = re.compile(rf"(?<![\w./-]){re.escape(root)}" + "(?=/)" * (not Path(root).suffix))

    def fill(part: Path) -> None:
        with console.bar(f"Preparing {source}"):
            content = build(part)
            npy_images.save_arrays(part, content.arrays)
            content.tokenizer.save(part / VOCABULARY)
            (part / TEXTS).write_bytes(content.texts)
            content.info.notes[:] = [named.sub(_ROOT, note) for note in content.info.notes]
            about = json.dumps(dataclasses.asdict(content.info), ensure_ascii=False)
            (part / ABOUT).write_text(about, encoding="utf-8")

    fill_once(folder, f"prepares {row.name}", "texts", fill)
    info = TextInfo(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    info.notes[:] = [note.replace(_ROOT, root) for note in info.notes]
    return TextDataset(folder, row.name, sha256, source, info, tokenization.load(folder / VOCABULARY))


# Settings that do not change the prepared texts: they say where texts lie, or select among them later.
_LATER = {"root", "placement", "test_limit", "train_limit", "validation"}


def _key(row: TextData, sha256: str, vocabulary: Vocabulary) -> str:
    later, parts = _LATER, list[Any]([CACHE_VERSION, tokenization.FORMAT, sha256])
    if not isinstance(vocabulary, int):
        parts.append(dataclasses.asdict(vocabulary))
    elif isinstance(row, LabelledData):  # the vocabulary is learned from the training texts, which a seed draws
        later = _LATER - {"train_limit", "validation"}
        parts.append(vocabulary)
    else:  # it is learned from all text before the validation part, whatever the seed
        later = _LATER - {"validation"}
    parts.append({key: value for key, value in dataclasses.asdict(row).items() if key not in later})
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _labelled(row: LabelledData, source: labelled_texts.LabelledTexts, vocabulary: Vocabulary) -> _Content:
    """Tokenize labeled texts with a vocabulary, or with one learned from the training texts of a split."""
    labels, parts = np.array(source.labels, np.int64), np.array(source.parts or [""] * len(source.labels))
    test, validation = parts == "test", parts == "validation"
    if not test.any():
        names = [] if source.targets else source.class_names
        test[~validation] = folds(labels[~validation], row.folds, names) == row.fold
    tokenizer = vocabulary
    if isinstance(tokenizer, int):
        known = [source.texts[number] for number in _split(test, validation, row, tokenizer)["train"]]
        kind = tokenization.chosen(known) if row.tokenizer == AUTO else row.tokenizer
        if row.tokenizer == AUTO and kind == "characters":
            source.notes.append(
                "The texts have no blanks between words: they are cut into characters; data.tokenizer=words does not"
            )
        tokenizer = tokenization.learn(kind, known, row.vocabulary, row.lowercase)
    encoded = tokenizer.encode_all(source.texts)
    tokens = np.concatenate(encoded).astype(_dtype(tokenizer))
    plain = [text.encode("utf-8", "replace") for text in source.texts]
    learned = source.targets.values if source.targets else labels
    arrays = {"tokens": tokens, "offsets": _offsets(encoded), "labels": learned, "test": test}
    arrays |= {"validation": validation, "same": _same(source.texts), "places": _offsets(plain)}
    given, unknown = sorted(set(source.parts or []) - {"train"}), _unknown(tokens) / max(1, len(tokens))
    remarks = {each.name: getattr(source, each.name) for each in dataclasses.fields(labelled_texts.Remarks)}
    info = TextInfo(source.class_names, given, unknown, row.kind, **remarks)
    return _Content(arrays, info, tokenizer, b"".join(plain))


def _offsets(parts: Sequence[Sized]) -> "NDArray[np.int64]":
    return np.cumsum([0, *(len(each) for each in parts)], dtype=np.int64)


def _same(texts: list[str]) -> "NDArray[np.int64]":
    """Number texts, with the same number for texts that differ only in case and white space."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(" ".join(text.split()).casefold(), len(numbers)) for text in texts], np.int64)


def _one_text(row: TextData, path: Path, vocabulary: Vocabulary, folder: Path) -> _Content:
    read, encoding = pieces.read_and_tell(path, row.encoding)
    if not any(piece.strip() for piece in read()):
        raise ZooError(f"{path} is empty", "data=text_file needs a text.")
    notes = [] if row.encoding != "auto" or encoding.startswith("utf-8") else [f"{path} was read as {encoding}"]
    first = next(iter(read()))
    least = 2 if path.suffix.lower() in (".csv", ".tsv") else 3
    if what := foreign_formats.markup(first, least):
        write = datasets.table_command("plain", path, "texts.txt")
        kept = f". To learn its texts alone: {write}" * (what[0] in "Ja")  # JSON, or a table
        notes.append(f"{path} is {what} are learned as text{kept}")
    tokenizer = vocabulary
    if isinstance(tokenizer, int):
        most = int(sum(map(len, read())) * (1 - row.validation))
        tokenizer = tokenization.learn(row.tokenizer, _first(read(), most), row.vocabulary, row.lowercase)
    unknown = _write_tokens(folder / TOKENS, tokenizer, read())
    return _Content({}, TextInfo([], [], unknown, CLASSES, notes=notes), tokenizer)


def _first(texts: Iterable[str], most: int) -> Iterator[str]:
    for piece in texts:
        yield piece[: max(0, most)]
        most -= len(piece)


def _write_tokens(path: Path, tokenizer: tokenization.Tokenizer, texts: Iterable[str]) -> float:
    kind, unknown, count = np.dtype(_dtype(tokenizer)), 0, 0
    with path.open("w+b") as file:
        npy_images.write_header(file, kind.str, (count,))
        for piece in texts:
            (numbers,) = tokenizer.encode_all([piece])
            unknown, count = unknown + _unknown(numbers), count + len(numbers)
            file.write(numbers.astype(kind).data)
        file.seek(0)
        npy_images.write_header(file, kind.str, (count,))
    return unknown / max(1, count)


def _unknown(tokens: "NDArray[Any]") -> int:
    return int(np.count_nonzero(tokens == tokenization.UNKNOWN))


def _dtype(tokenizer: tokenization.Tokenizer) -> Any:
    return np.uint16 if len(tokenizer) <= 1 << 16 else np.int32


def folds(labels: "NDArray[np.int64]", count: int, class_names: list[str]) -> "NDArray[np.int64]":
    """Assign each text to a fold: each class in turn, in a fixed order. Without ``class_names``, some may be rare."""
    order = np.random.Generator(np.random.PCG64(FOLD_SEED)).permutation(len(labels))
    assigned = np.empty(len(labels), np.int64)
    present, sizes = np.unique(labels, return_counts=True)
    if class_names and len(sizes) and sizes.min() < count:
        rare, several = class_names[present[sizes.argmin()]], sizes[sizes > 1]
        such = f"Lower data.folds, such as data.folds={several.min()}" if several.min(initial=count) < count else ""
        if sizes.min() < 2 <= len(several):
            kept = [class_names[each] for each in present[sizes > 1]]
            such = f"{such or 'Leave it out'} with {shlex.quote(override('data.classes', kept))}"
        joined = [f"{note}. To learn each: data.target=labels." for note in tables.joined_labels(class_names)]
        remedy = f"{such + ', add' if such else 'Add'} texts, or choose different classes with data.classes."
        if len(class_names) > 2 and all(map(tables.is_number, class_names)):
            remedy += " If the labels are numbers to predict: data.target=number."
        raise ZooError(
            f"The class {rare[:80]!r} has {counted(int(sizes.min()), 'text')}, fewer than the {count} folds",
            " ".join([*joined, remedy, *(f"{note}." for note in tables.unclear_labels([rare]))]),
        )
    for label in present:
        chosen = order[labels[order] == label]
        assigned[chosen] = np.arange(len(chosen)) % count
    # One after the other, or the first fold would have all rare ones. The only text of a label is for training.
    alone, few = np.isin(labels, present[sizes == 1]), np.isin(labels, present[sizes < count])
    rare = np.flatnonzero(few if alone.all() else few & ~alone)
    rare = rare[np.argsort(labels[rare], kind="stable")]
    assigned[rare] = (np.arange(len(rare)) + (len(rare) < len(labels))) % count
    if not alone.all():
        assigned[alone] = -1
    return assigned


def split_texts(prepared: TextDataset, row: LabelledData, seed: int) -> dict[str, "NDArray[np.int64]"]:
    test, validation = (np.load(prepared.folder / f"{part}.npy") for part in ("test", "validation"))
    return _split(test, validation, row, seed)


def _split(
    test: "NDArray[np.bool_]", validation: "NDArray[np.bool_]", row: LabelledData, seed: int
) -> dict[str, "NDArray[np.int64]"]:
    mixed = np.random.Generator(np.random.PCG64(seed)).permutation(len(test))
    known = mixed[~(test | validation)[mixed]][: row.train_limit]
    validating = 0 if validation.any() else round(len(known) * row.validation)
    if validating >= len(known):
        raise ZooError(f"None of {len(known)} texts is left to train with", "Lower data.validation.")
    # Shuffled first, because sources list one class after the other and the limit must include all.
    tested = np.sort(mixed[test[mixed]][: row.test_limit])
    validated = np.flatnonzero(validation) if validation.any() else np.sort(known[:validating])
    return {"train": np.sort(known[validating:]), "validation": validated, "test": tested}


def unknown_shares(prepared: TextDataset, parts: "dict[str, NDArray[np.int64]]") -> dict[str, float]:
    """Return the share of each part's tokens that the vocabulary lacks."""
    tokens, offsets = (np.load(prepared.folder / name, mmap_mode="r") for name in (TOKENS, "offsets.npy"))
    texts = np.searchsorted(offsets, np.flatnonzero(tokens == tokenization.UNKNOWN), "right") - 1
    unknown, sizes = np.bincount(texts, minlength=len(offsets) - 1), np.diff(offsets)
    return {name: float(unknown[rows].sum() / max(1, sizes[rows].sum())) for name, rows in parts.items()}


def duplicates(prepared: TextDataset, parts: "dict[str, NDArray[np.int64]]") -> "tuple[NDArray[np.bool_], str]":
    """Return which test texts also occur in the training or validation part, and in which of them."""
    same = np.load(prepared.folder / "same.npy")
    trained, validated = (np.isin(same[parts["test"]], same[parts[name]]) for name in ("train", "validation"))
    used = {"training": trained, "validation": validated & ~trained}
    return trained | validated, " or ".join(name for name, rows in used.items() if rows.any())


def shared_validation(prepared: TextDataset, parts: "dict[str, NDArray[np.int64]]") -> int:
    """Return how many validation texts also occur in the training part."""
    same = np.load(prepared.folder / "same.npy")
    return int(np.isin(same[parts["validation"]], same[parts["train"]]).sum())


def texts_of(prepared: TextDataset, chosen: "NDArray[np.int64]") -> list[str]:
    places, texts = np.load(prepared.folder / "places.npy"), []
    with (prepared.folder / TEXTS).open("rb") as source:
        for begin, end in zip(places[chosen], places[chosen + 1], strict=True):
            source.seek(begin)
            texts.append(source.read(end - begin).decode("utf-8"))
    return texts


def split_tokens(prepared: TextDataset, row: LanguageData) -> dict[str, list[int]]:
    """Return the first token and the end of the training and validation parts of a long text.

    The whole validation part is read after each epoch, so it has at most a million tokens unless set.
    """
    count = len(np.load(prepared.folder / "tokens.npy", mmap_mode="r"))
    border = int(count * (1 - row.validation))
    train = [0, min(border, row.train_limit or border)]
    validation = [border, min(count, border + (row.test_limit or MOST_VALIDATED))]
    if train[1] < 2 or 0 < validation[1] - validation[0] < 2:
        raise ZooError(f"{prepared.source} has only {count} tokens", "Give a longer text.")
    return {"train": train, "validation": validation}
