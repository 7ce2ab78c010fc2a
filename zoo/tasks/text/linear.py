"""Linear classifiers of texts: the start of the linear part of a network, and a baseline for every network.

For each class, two linear support vector machines separate its texts from the rest (Fan et al. 2008, LIBLINEAR,
https://jmlr.org/papers/v9/fan08a.html). Their features are those of the network's linear part and, with
``model.spelling``, parts of words. Counts are divided by the root of the number of features of the text. One machine
multiplies them by the inverse document frequency. The other uses log-ratios (Wang and Manning 2012,
https://aclanthology.org/P12-2018) of the shares of texts with the feature. The sum of both is a linear classifier, too.
"""

import time
import warnings
from typing import Any, NamedTuple

from zoo.config.schemas.text import TextTrainConfig
from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.data.text.dataset import TextDataset
from zoo.protocol import text_features, word_parts
from zoo.runs.context import RunContext
from zoo.runs.records import Json

FILE = "linear.npz"
# Weight of the errors relative to the penalty, as C in scikit-learn. Of half, one, two and three, none is best for all.
STRENGTH = 2.0
# Half a minute instead of a minute, for the same answers as with 1e-4.
TOLERANCE = 1e-2
# Limits of the scale of the outputs: a few validation texts are all right with any large one.
SCALES = (0.5, 10.0)
SCALE = 5.0  # the usual one, without validation texts
# With more tokens, or tokens times classes, only every second, third, ... text is used: a minute and 1.5 GB are enough.
MOST_TOKENS, MOST_PRODUCTS = 4_000_000, 60_000_000
BASELINE = "linear SVM of words and pairs"
# A larger table for the baseline would take more than about 2 GB of memory.
MOST_BASELINE_TOKENS = 20_000_000


def is_better(texts: TextDataset, train: "NDArray[np.int64]", model: Json) -> bool:
    """Return True if :func:`fit` is used. With two classes and many texts, the worker's own fit is as good."""
    return len(texts.info.class_names) > 2 or _tokens(texts, train, model["length"]) <= MOST_TOKENS


def fit(context: RunContext[TextTrainConfig], texts: TextDataset, parts: "dict[str, NDArray[np.int64]]") -> str:
    """Fit to the training texts, and write the file for the worker into the run folder; return its path.

    It contains ``features``, (n,) their numbers, ``weights``, (n, classes), ``bias``, (classes,), and ``stems``. If
    there is a test part, ``final_weights`` and ``final_bias`` are fitted to the validation texts, too. The scale of
    the outputs is the one with the lowest cross-entropy of the validation texts.
    """
    began, classes = time.monotonic(), len(texts.info.class_names)
    labels, source = np.load(texts.folder / "labels.npy"), _Source(texts, context.settings.model)
    tokens = _tokens(texts, parts["train"], context.settings.model["length"])
    train = parts["train"][:: max(1, -(-tokens // MOST_TOKENS), -(-tokens * classes // MOST_PRODUCTS))]
    share = "" if len(train) == len(parts["train"]) else f" of {len(parts['train']):,}"
    console.say(f"Fitting a linear classifier to {len(train):,}{share} training texts")
    numbers = np.concatenate([train, parts["validation"]])
    rows, labels = source.rows(numbers), labels[numbers]
    known = np.arange(len(numbers)) < len(train)
    plain, special = (_separate(rows[known], labels[known], classes, typical) for typical in (False, True))
    both = plain[0] + special[0], plain[1] + special[1]
    scaled = [_scaled(weights, bias, rows[~known], labels[~known]) for weights, bias in (plain, both)]
    chosen = min(scaled, key=lambda each: each.loss)
    arrays = {"weights": chosen.weights, "bias": chosen.bias}
    if len(parts["test"]):
        kinds = (False,) if chosen is scaled[0] else (False, True)
        fits = [_separate(rows, labels, classes, typical) for typical in kinds]
        weights, bias = (sum(each) * chosen.scale for each in zip(*fits, strict=True))
        arrays |= {"final_weights": weights, "final_bias": bias}
    features, arrays = source.folded(arrays)
    np.savez(context.folder / FILE, **dict[str, Any](arrays, features=features, stems=source.stems))
    context.record.phases["fit_linear_s"] = round(time.monotonic() - began, 4)
    return str(context.folder / FILE)


def baseline(texts: TextDataset, parts: "dict[str, NDArray[np.int64]]", model: Json) -> Json | None:
    """Fit a linear classifier to the training and validation texts, and evaluate it on the test texts.

    Its features are the words, and pairs of words, that the network reads. Return ``name``, ``test_accuracy`` and
    ``seconds`` for ``run.json``; None without test texts, with too many tokens, or with only one class.
    """
    began, known = time.monotonic(), np.concatenate([parts["train"], parts["validation"]])
    numbers = np.concatenate([known, parts["test"]])
    labels = np.load(texts.folder / "labels.npy")[numbers]
    if not len(parts["test"]) or len(np.unique(labels[: len(known)])) < 2:
        return None
    if (tokens := _tokens(texts, numbers, model["length"])) > MOST_BASELINE_TOKENS:
        console.say(f"No linear baseline: {tokens:,} tokens are more than its limit of {MOST_BASELINE_TOKENS:,}")
        return None
    rows = _Source(texts, {"length": model["length"], "pair_buckets": text_features.MOST_BUCKETS}).rows(numbers)
    weights, bias = _separate(rows[: len(known)], labels[: len(known)], len(texts.info.class_names))
    right = (rows[len(known) :] @ weights + bias).argmax(axis=1) == labels[len(known) :]
    return {"name": BASELINE, "test_accuracy": float(right.mean()), "seconds": round(time.monotonic() - began, 1)}


def _tokens(texts: TextDataset, chosen: "NDArray[np.int64]", length: int) -> int:
    """Return the number of tokens of some texts that the network reads."""
    return int(np.minimum(np.diff(np.load(texts.folder / "offsets.npy"))[chosen], length).sum())


def _separate(rows: Any, labels: "NDArray[np.int64]", classes: int, typical: bool = False) -> tuple[Any, Any]:
    """Return the weights, (features, classes), and the bias, (classes,), that separate each class from the rest."""
    from scipy import sparse
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    weights, bias = np.zeros((rows.shape[1], classes), np.float32), np.full(classes, -1.0, np.float32)
    counts = rows.getnnz(axis=0)
    rarity = np.log((1 + len(labels)) / (1 + counts)) + 1  # inverse document frequency
    for number in np.unique(labels):
        own = labels == number
        if own.all():
            break
        factors = _typicality(rows, counts, own) if typical else rarity
        values = rows.data * factors[rows.indices]
        size = np.sqrt((values**2).sum() / len(own))  # root mean square of the lengths of rows
        multiplied = sparse.csr_matrix((values / size, rows.indices, rows.indptr), shape=rows.shape)
        with warnings.catch_warnings():  # a fit that ends before it has converged is as good
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = LinearSVC(C=STRENGTH, random_state=0, tol=TOLERANCE).fit(multiplied, own)
        weights[:, number], bias[number] = fitted.coef_[0] * factors / size, fitted.intercept_[0]
    return weights, bias


def _typicality(rows: Any, counts: Any, own: "NDArray[np.bool_]") -> Any:
    """Return the log-ratio of the share of the class's texts with each feature, and of the share of the rest."""
    within = rows[own].getnnz(axis=0)
    others = np.log((1 + counts - within) / (2 + np.count_nonzero(~own)))
    return np.log((1 + within) / (2 + np.count_nonzero(own))) - others


class _Scaled(NamedTuple):
    """A linear classifier whose outputs are logits, the factor that made them so, and its loss on validation texts."""

    loss: float
    scale: float
    weights: "NDArray[np.float32]"
    bias: "NDArray[np.float32]"


def _scaled(weights: Any, bias: Any, rows: Any, labels: "NDArray[np.int64]") -> _Scaled:
    """Scale a classifier so that the cross-entropy of some texts is the lowest."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    outputs = rows @ weights + bias

    def loss(scale: float) -> float:
        return float(-log_softmax(outputs * scale, axis=1)[np.arange(len(labels)), labels].mean())

    if not len(labels):
        return _Scaled(0.0, SCALE, weights * SCALE, bias * SCALE)
    best = minimize_scalar(loss, bounds=SCALES, method="bounded")
    return _Scaled(float(best.fun), float(best.x), weights * best.x, bias * best.x)


class _Source:
    """Counts of the features of texts, and of the parts of their words, divided by the root of the number of features.

    Attributes:
        stems: (words,) numbers of the stems; none without ``model.spelling``.
    """

    def __init__(self, texts: TextDataset, model: Json) -> None:
        from scipy import sparse

        words = word_parts.words_of(texts.tokenizer.token_bytes())
        self._words, self._length = len(words), model["length"]
        self._buckets, self.stems = model["pair_buckets"], np.zeros(0, np.int32)
        self._table = sparse.csr_matrix((len(words), 0), dtype=np.float32)
        if model.get("spelling"):
            self.stems, parts = word_parts.stems(words), word_parts.Parts(words)
            entries = np.ones(len(parts.parts), np.float32), (parts.words_of, parts.parts)
            self._table = sparse.csr_matrix(entries, shape=(len(words), parts.count))
        self._tokens = np.load(texts.folder / "tokens.npy", mmap_mode="r")
        self._offsets = np.load(texts.folder / "offsets.npy")

    def rows(self, chosen: "NDArray[np.int64]") -> Any:
        """Return a sparse matrix with a row for each text. Its columns are the features and parts that they have."""
        from scipy import sparse

        order = np.argsort(np.diff(self._offsets)[chosen], kind="stable")
        size = text_features.TOGETHER
        matrices = [self._of(chosen[order[begin : begin + size]]) for begin in range(0, len(order), size)]
        rows = sparse.vstack(matrices, format="csr")[np.argsort(order)]
        self._columns = np.flatnonzero(rows.getnnz(axis=0))
        return rows[:, self._columns]

    def _of(self, chosen: "NDArray[np.int64]") -> Any:
        from scipy import sparse

        spans = [self._tokens[self._offsets[text] : self._offsets[text + 1]] for text in chosen]
        read = [text_features.shortened(span, self._length) for span in spans]
        tokens = np.zeros((len(read), max(3, *map(len, read))), np.int32)
        for row, own in zip(tokens, read, strict=True):
            row[: len(own)] = own
        stems = self.stems if len(self.stems) else None
        numbers = text_features.features(tokens, stems, self._words, self._buckets)
        counts = (numbers != 0).sum(axis=1)
        values = np.repeat(np.maximum(counts, 1) ** -0.5, counts).astype(np.float32)
        entries = values, numbers[numbers != 0], np.concatenate([[0], np.cumsum(counts)])
        rows = sparse.csr_matrix(entries, shape=(len(read), self._words + self._buckets))
        rows.sum_duplicates()
        return sparse.hstack([rows, rows[:, : self._words] @ self._table], format="csr")

    def folded(self, arrays: Json) -> tuple["NDArray[np.int64]", Json]:
        """Add the weights of parts to the words that contain them; return numbers of features, and the arrays."""
        features = self._words + self._buckets
        own = self._columns < features
        numbers = np.union1d(self._columns[own], np.arange(self._words))
        places, parts = np.searchsorted(numbers, self._columns[own]), self._table[:, self._columns[~own] - features]
        folded = {}
        for name, values in arrays.items():
            folded[name] = values
            if values.ndim > 1:
                folded[name] = np.zeros((len(numbers), values.shape[1]), np.float32)
                folded[name][places] = values[own]
                folded[name][: self._words] += parts @ values[~own]
        return numbers, folded
