"""Texts, prepared once: token arrays in the cache that the worker maps into memory, and the vocabulary beside them.

A prepared folder is named by the content of its source and by every setting that it depends on.
"""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.schemas.language_modelling import LanguageData
from zoo.config.schemas.text import LabelledData, TextData
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256, locked, storage_error
from zoo.data.text import files, sources, tokenization

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

# Part of the name of every prepared folder: to be raised when what is made from the same sources changes.
CACHE_VERSION = 1
VOCABULARY = "vocabulary.json"
ABOUT = "about.json"
# Texts are dealt out to the folds in the order of this seed, whatever the seed of a run.
FOLD_SEED = 1


@dataclasses.dataclass(frozen=True)
class TextDataset:
    """TextDataset texts.

    Attributes:
        folder: holds ``tokens.npy``, all texts one after the other, and, of labelled texts, ``offsets.npy``, where
            each begins (one more than texts), ``labels.npy`` and ``test.npy``, true for those to test on.
        name: of the data set.
        sha256: one checksum over the sources.
        source: what was read, as the user gave it.
        about: ``class_names``, ``blank``, ``told`` (whether the source says what to test on), ``unknown``.
        tokenizer: the vocabulary.
    """

    folder: Path
    name: str
    sha256: str
    source: str
    about: dict[str, Any]
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


Made = tuple["Arrays", dict[str, Any], tokenization.Tokenizer]


def _cached(row: TextData, sha256: str, source: str, make: Callable[[], Made]) -> TextDataset:
    told = {key: value for key, value in dataclasses.asdict(row).items() if key not in ("root", *_LATER)}
    key = hashlib.sha256(
        json.dumps([CACHE_VERSION, tokenization.FORMAT, sha256, told], sort_keys=True).encode()
    ).hexdigest()
    folder = paths.cache_dir() / "texts" / f"{row.name}-{key[:16]}"
    if not (folder / ABOUT).is_file():
        with locked(folder.parent / f".{folder.name}.lock", f"prepares {row.name}"):
            if not (folder / ABOUT).is_file():
                with console.bar(f"Preparing {source}"):
                    _write(folder, *make())
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    return TextDataset(folder, row.name, sha256, source, about, tokenization.load(folder / VOCABULARY))


# Settings that choose among prepared texts and leave them as they are.
_LATER = ("train_limit", "test_limit", "validation")


def _write(folder: Path, arrays: "Arrays", about: dict[str, Any], tokenizer: tokenization.Tokenizer) -> None:
    """Write everything aside, then put the whole folder in place at once. The caller holds the lock."""
    import numpy as np

    aside = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for name, array in arrays.items():
            np.save(aside / f"{name}.npy", array, allow_pickle=False)
        tokenizer.save(aside / VOCABULARY)
        (aside / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(aside, folder)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise storage_error("write", folder, error) from error


def _labelled(row: LabelledData, found: sources.Texts) -> Made:
    import numpy as np

    labels = np.array(found.labels, np.int64)
    if found.parts is None:
        test = folds(labels, row.folds) == row.fold
    else:
        test = np.array([part == "test" for part in found.parts])
    known = [text for text, held in zip(found.texts, test, strict=True) if not held]
    tokenizer = tokenization.learn(row.tokenizer, known, row.vocabulary, row.lowercase)
    pieces = tokenizer.encode_all(found.texts)
    offsets = np.cumsum([0, *(len(each) for each in pieces)], dtype=np.int64)
    tokens = np.concatenate(pieces).astype(_kind(tokenizer))
    about = {"class_names": found.class_names, "blank": found.blank, "told": found.parts is not None}
    about["unknown"] = float((tokens == tokenization.UNKNOWN).mean()) if len(tokens) else 0.0
    return {"tokens": tokens, "offsets": offsets, "labels": labels, "test": test}, about, tokenizer


def _kind(tokenizer: tokenization.Tokenizer) -> Any:
    import numpy as np

    return np.uint16 if len(tokenizer) <= 1 << 16 else np.int32


def folds(labels: "NDArray[np.int64]", count: int) -> "NDArray[np.int64]":
    """The fold of each text: each class is dealt out in turn, in an order that is always the same.

    Raises:
        ZooError: a class has fewer texts than there are folds.
    """
    import numpy as np

    order = np.random.Generator(np.random.PCG64(FOLD_SEED)).permutation(len(labels))
    dealt = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        chosen = order[labels[order] == label]
        if len(chosen) < count:
            raise ZooError(
                f"One class has {len(chosen)} texts, fewer than the {count} folds", "Lower data.folds, or add texts."
            )
        dealt[chosen] = np.arange(len(chosen)) % count
    return dealt


def _one_text(row: TextData, path: Path) -> Made:

    text = files.read(path, row.encoding)
    if not text.strip():
        raise ZooError(f"{path} is empty", "data=text_file needs a text.")
    tokenizer = tokenization.learn(row.tokenizer, [text], row.vocabulary, row.lowercase)
    tokens = tokenizer.encode_all([text])[0].astype(_kind(tokenizer))
    unknown = float((tokens == tokenization.UNKNOWN).mean())
    return {"tokens": tokens}, {"class_names": [], "blank": 0, "told": False, "unknown": unknown}, tokenizer


def split_texts(prepared: TextDataset, row: LabelledData, seed: int) -> dict[str, "NDArray[np.int64]"]:
    """Numbers of the texts to train with, to choose the best epoch by, and to test on.

    Raises:
        ZooError: none would be left to train with.
    """
    import numpy as np

    test = np.load(prepared.folder / "test.npy")
    mixed = np.random.Generator(np.random.PCG64(seed)).permutation(len(test))
    known = mixed[~test[mixed]][: row.train_limit]
    held = round(len(known) * row.validation)
    if held >= len(known):
        raise ZooError(f"None of {len(known)} texts is left to train with", "Lower data.validation.")
    # The limit takes texts of all classes, though sources list one class after the other.
    tested = np.sort(mixed[test[mixed]][: row.test_limit])
    return {"train": np.sort(known[held:]), "validation": np.sort(known[:held]), "test": tested}


def split_tokens(prepared: TextDataset, row: LanguageData) -> dict[str, list[int]]:
    """Where in one long text the parts to train with and to validate by begin and end.

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
