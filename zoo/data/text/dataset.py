"""Prepare texts once: token arrays in the cache that the worker maps into memory, and the vocabulary beside them.

A prepared folder is named by the content of its source and by every setting that it depends on.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.schemas.language_modelling import LanguageData
from zoo.config.schemas.text import LabelledData, TextData
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.core.files import atomic_folder, file_sha256, locked
from zoo.data import npy_images
from zoo.data.text import files, sources, tokenization

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

# Part of the name of every prepared folder: raise it when what is made from the same sources changes.
CACHE_VERSION = 1
VOCABULARY = "vocabulary.json"
ABOUT = "about.json"
# Texts are assigned to folds in the order of this seed, whatever the seed of a run.
FOLD_SEED = 1


@dataclasses.dataclass(frozen=True)
class TextInfo:
    """Facts about prepared texts, kept as ``about.json`` in their folder.

    Attributes:
        class_names: by label; empty for one text without labels.
        blank: how many blank texts were left out.
        has_test_split: whether the source says which texts to test on.
        unknown: share of the tokens that the vocabulary lacks.
    """

    class_names: list[str]
    blank: int
    has_test_split: bool
    unknown: float


@dataclasses.dataclass(frozen=True)
class TextDataset:
    """Prepared texts.

    Attributes:
        folder: holds ``tokens.npy``, all texts one after the other, and, of labelled texts, ``offsets.npy``, where
            each begins (one more than texts), ``labels.npy`` and ``test.npy``, true for those to test on.
        name: of the data set.
        sha256: one checksum over the sources.
        source: what was read, as the user gave it.
        info: facts about them.
        tokenizer: the vocabulary.
    """

    folder: Path
    name: str
    sha256: str
    source: str
    info: TextInfo
    tokenizer: tokenization.Tokenizer


@dataclasses.dataclass(frozen=True)
class _Content:
    """What a prepared folder holds, before it is written."""

    arrays: "Arrays"
    info: TextInfo
    tokenizer: tokenization.Tokenizer


def prepare(row: TextData) -> TextDataset:
    """Prepare the texts that the settings name, unless they are in the cache.

    Raises:
        ZooError: the source is missing, damaged, no text, or of one class only.
    """
    if isinstance(row, LabelledData):
        source = sources.source_of(row)
        return _cached(row, source.sha256, source.text, lambda: _labelled(row, source.read()))
    path = files.data_root(row.root, "a text file")
    if not path.is_file():
        raise ZooError(f"data.root={row.root} is a folder", "data=text_file takes one text file.")
    return _cached(row, file_sha256(path), str(row.root), lambda: _one_text(row, path))


def _cached(row: TextData, sha256: str, source: str, build: Callable[[], _Content]) -> TextDataset:
    """Read a prepared folder, built first where it is not there."""
    folder = paths.cache_dir() / "texts" / f"{row.name}-{_key(row, sha256)[:16]}"
    if not (folder / ABOUT).is_file():
        with locked(folder.parent / f".{folder.name}.lock", f"prepares {row.name}"):
            if not (folder / ABOUT).is_file():
                with console.bar(f"Preparing {source}"):
                    _write(folder, build())
    info = TextInfo(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    return TextDataset(folder, row.name, sha256, source, info, tokenization.load(folder / VOCABULARY))


# Settings that choose among prepared texts and leave them as they are.
_LATER = ("train_limit", "test_limit", "validation")


def _key(row: TextData, sha256: str) -> str:
    settings = {key: value for key, value in dataclasses.asdict(row).items() if key not in ("root", *_LATER)}
    parts = [CACHE_VERSION, tokenization.FORMAT, sha256, settings]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _write(folder: Path, content: _Content) -> None:
    """Write everything or nothing. The caller holds the lock."""
    with atomic_folder(folder) as part:
        npy_images.save_arrays(part, content.arrays)
        content.tokenizer.save(part / VOCABULARY)
        about = json.dumps(dataclasses.asdict(content.info), ensure_ascii=False)
        (part / ABOUT).write_text(about, encoding="utf-8")


def _labelled(row: LabelledData, source: sources.LabelledTexts) -> _Content:
    """Tokenize labelled texts by a vocabulary learnt from those that are not tested on."""
    import numpy as np

    labels = np.array(source.labels, np.int64)
    if source.parts is None:
        test = folds(labels, row.folds) == row.fold
    else:
        test = np.array([part == "test" for part in source.parts])
    known = [text for text, is_tested in zip(source.texts, test, strict=True) if not is_tested]
    tokenizer = tokenization.learn(row.tokenizer, known, row.vocabulary, row.lowercase)
    encoded = tokenizer.encode_all(source.texts)
    offsets = np.cumsum([0, *(len(each) for each in encoded)], dtype=np.int64)
    tokens = np.concatenate(encoded).astype(_dtype(tokenizer))
    info = TextInfo(source.class_names, source.blank, source.parts is not None, _unknown_share(tokens))
    return _Content({"tokens": tokens, "offsets": offsets, "labels": labels, "test": test}, info, tokenizer)


def _one_text(row: TextData, path: Path) -> _Content:
    text = files.read(path, row.encoding)
    if not text.strip():
        raise ZooError(f"{path} is empty", "data=text_file needs a text.")
    tokenizer = tokenization.learn(row.tokenizer, [text], row.vocabulary, row.lowercase)
    tokens = tokenizer.encode_all([text])[0].astype(_dtype(tokenizer))
    return _Content({"tokens": tokens}, TextInfo([], 0, False, _unknown_share(tokens)), tokenizer)


def _unknown_share(tokens: "NDArray[Any]") -> float:
    return float((tokens == tokenization.UNKNOWN).mean()) if len(tokens) else 0.0


def _dtype(tokenizer: tokenization.Tokenizer) -> Any:
    import numpy as np

    return np.uint16 if len(tokenizer) <= 1 << 16 else np.int32


def folds(labels: "NDArray[np.int64]", count: int) -> "NDArray[np.int64]":
    """Assign each text to a fold: each class in turn, in an order that is always the same.

    Raises:
        ZooError: a class has fewer texts than there are folds.
    """
    import numpy as np

    order = np.random.Generator(np.random.PCG64(FOLD_SEED)).permutation(len(labels))
    assigned = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        chosen = order[labels[order] == label]
        if len(chosen) < count:
            raise ZooError(
                f"One class has {len(chosen)} texts, fewer than the {count} folds", "Lower data.folds, or add texts."
            )
        assigned[chosen] = np.arange(len(chosen)) % count
    return assigned


def split_texts(prepared: TextDataset, row: LabelledData, seed: int) -> dict[str, "NDArray[np.int64]"]:
    """Return the numbers of the texts to train with, to choose the best epoch by, and to test on.

    Raises:
        ZooError: none would be left to train with.
    """
    import numpy as np

    test = np.load(prepared.folder / "test.npy")
    mixed = np.random.Generator(np.random.PCG64(seed)).permutation(len(test))
    known = mixed[~test[mixed]][: row.train_limit]
    validating = round(len(known) * row.validation)
    if validating >= len(known):
        raise ZooError(f"None of {len(known)} texts is left to train with", "Lower data.validation.")
    # The limit takes texts of all classes, though sources list one class after the other.
    tested = np.sort(mixed[test[mixed]][: row.test_limit])
    return {"train": np.sort(known[validating:]), "validation": np.sort(known[:validating]), "test": tested}


def split_tokens(prepared: TextDataset, row: LanguageData) -> dict[str, list[int]]:
    """Return where in one long text the parts to train with and to validate by begin and end.

    Raises:
        ZooError: one of them would be empty.
    """
    import numpy as np

    count = len(np.load(prepared.folder / "tokens.npy", mmap_mode="r"))
    border = int(count * (1 - row.validation))
    train = [0, min(border, row.train_limit or border)]
    validation = [border, min(count, border + (row.test_limit or count))]
    if train[1] < 2 or 0 < validation[1] - validation[0] < 2:
        raise ZooError(f"{prepared.source} has only {count} tokens", "Give a longer text.")
    return {"train": train, "validation": validation}
