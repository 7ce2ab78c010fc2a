"""A linear classifier of the same texts, to show whether training a network is worth it.

A linear support vector machine on the TF-IDF (with sublinear counts) of words and pairs of neighboring words, by
scikit-learn. This is a baseline of Wang and Manning 2012 (https://aclanthology.org/P12-2018).
"""

import time
from typing import Any

from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.data.text.dataset import TextDataset
from zoo.runs.records import Json

NAME = "TF-IDF of words and pairs, linear SVM"
# Pairs of tokens are numbered by a hash: with this range, collisions are rare.
PAIRS = 1 << 20
MULTIPLIER = 1_000_003
# A larger table would take more than about 2 GB of memory.
MOST_TOKENS = 50_000_000


def measure(texts: TextDataset, parts: "dict[str, NDArray[np.int64]]") -> Json | None:
    """Fit the baseline to the training and validation texts, and evaluate it on the test texts.

    ``parts`` has the indices of the texts. Return ``name``, ``test_accuracy`` and ``seconds`` for ``run.json``; None
    without test texts, with too many tokens, or with only one class.
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.svm import LinearSVC

    began, known = time.monotonic(), np.concatenate([parts["train"], parts["validation"]])
    labels, offsets = np.load(texts.folder / "labels.npy"), np.load(texts.folder / "offsets.npy")
    tokens = np.load(texts.folder / "tokens.npy", mmap_mode="r")
    if len(tokens) > MOST_TOKENS:
        console.say(f"No linear baseline: {len(tokens):,} tokens are more than its limit of {MOST_TOKENS:,}")
        return None
    if not len(parts["test"]) or len(np.unique(labels[known])) < 2:
        return None
    weighting = TfidfTransformer(sublinear_tf=True)
    rows = weighting.fit_transform(_counts(tokens, offsets, known, len(texts.tokenizer)))
    classifier = LinearSVC(random_state=0).fit(rows, labels[known])
    tested = weighting.transform(_counts(tokens, offsets, parts["test"], len(texts.tokenizer)))
    accuracy = float((classifier.predict(tested) == labels[parts["test"]]).mean())
    return {"name": NAME, "test_accuracy": accuracy, "seconds": round(time.monotonic() - began, 1)}


def _counts(
    tokens: "NDArray[np.int32]", offsets: "NDArray[np.int64]", chosen: "NDArray[np.int64]", vocabulary: int
) -> Any:
    """Count the tokens and pairs of some texts: a sparse (texts, vocabulary + PAIRS) matrix."""
    from scipy import sparse

    sizes = np.diff(offsets)[chosen]
    rows = np.repeat(np.arange(len(chosen)), sizes)
    # Positions within each text.
    places = np.arange(len(rows)) + np.repeat(offsets[:-1][chosen] - (np.cumsum(sizes) - sizes), sizes)
    words = np.asarray(tokens[places], np.int64)
    pairs = vocabulary + (words[:-1] * MULTIPLIER + words[1:]) % PAIRS
    within = rows[1:] == rows[:-1]
    columns = np.concatenate([words, pairs[within]])
    rows = np.concatenate([rows, rows[:-1][within]])
    shape = (len(chosen), vocabulary + PAIRS)
    return sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
