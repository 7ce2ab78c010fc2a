"""Linear classifiers of texts: the start of the linear part of a network, and a baseline for every network.

For each class or label, two linear support vector machines separate its texts from the rest (Fan et al. 2008,
LIBLINEAR, https://jmlr.org/papers/v9/fan08a.html). Their features are those of the network's linear part and, with
``model.spelling``, parts of words. Counts are divided by the root of the number of features of the text. One machine
multiplies them by the inverse document frequency. The other uses log-ratios (Wang and Manning 2012,
https://aclanthology.org/P12-2018) of the shares of texts with the feature. The sum of both is a linear classifier, too.
A number is predicted by ridge regression. Two classes of many texts get a logistic regression on log-count ratios.
"""

import itertools
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from zoo.config.schemas.text import TextTrainConfig
from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.data.text.dataset import TextDataset
from zoo.protocol import text_features, word_parts
from zoo.protocol.request import TargetPart
from zoo.protocol.targets import CLASSES, LABELS, NUMBER
from zoo.runs.context import RunContext
from zoo.runs.records import Json

FILE = "linear.npz"
# Weight of the errors relative to the penalty, as C in scikit-learn. Of half, one, two and three, none is best for all.
STRENGTH = 2.0
# Labels often contradict each other: the validation texts choose the strength.
LABEL_STRENGTHS = (0.3, 2.0)
# Passes over the texts for labels: a third of the time of a converged fit, and the same answers.
LABEL_ITERATIONS = 20
# Half a minute instead of a minute, for the same answers as with 1e-4.
TOLERANCE = 1e-2
# Limits of the scale of the outputs: a few validation texts are all right with any large one.
SCALES = (0.5, 10.0)
SCALE = 5.0  # the usual one, without validation texts
# Penalties of a ridge regression, of which the validation texts choose one; without them it is the first.
PENALTIES = (1.0, 0.3, 3.0, 10.0, 30.0)
# With more tokens, or tokens times outputs, only every second, third, ... text is used: a minute and 1.5 GB are enough.
MOST_TOKENS, MOST_PRODUCTS = 4_000_000, 60_000_000
# The same for the features of a logistic regression.
MOST_FEATURES = 50_000_000
# Weight of the errors of a logistic regression. Half and twice are not better.
LOGISTIC_STRENGTH = 0.025
# Weight of parts of words relative to other features in a logistic regression.
PART_WEIGHT = 0.7
BASELINE = "linear SVM of words and pairs"
# A larger table for the baseline would take more than about 2 GB of memory.
MOST_BASELINE_TOKENS = 20_000_000


def is_logistic(texts: TextDataset, train: "NDArray[np.int64]", length: int) -> bool:
    """Return True for two classes of many texts: a logistic regression is as good there, and takes less time."""
    return not texts.targets and len(texts.info.class_names) <= 2 and _tokens(texts, train, length) > MOST_TOKENS


def fit(
    context: RunContext[TextTrainConfig], texts: TextDataset, parts: "dict[str, NDArray[np.int64]]",
    target: TargetPart | None,
) -> str:  # fmt: skip
    """Fit to the training texts, and write the file for the worker into the run folder; return its path.

    It contains ``features``, (n,) their numbers, ``weights``, (n, outputs), ``bias``, (outputs,), and ``stems``. The
    scale of the outputs is the one with the lowest cross-entropy of the validation texts. If there is a test part,
    ``final_weights`` and ``final_bias`` are fitted to the validation texts, too. Labels lack them, since their
    thresholds need texts that were not fitted. A logistic regression has ``gains`` instead, (n,): the network
    multiplies the weights by them, and learns them.
    """
    began, path, model = time.monotonic(), context.folder / FILE, context.settings.model
    source, wanted, train = _Source(texts, model), _wanted(texts, target), parts["train"]
    tokens, logistic = _tokens(texts, train, model["length"]), is_logistic(texts, train, model["length"])
    kinds = text_features.KINDS_WITH_STEMS if len(source.stems) else text_features.KINDS
    limits = [-(-tokens * kinds // MOST_FEATURES)]
    if not logistic:
        limits = [-(-tokens // MOST_TOKENS), -(-tokens * wanted.shape[1] // MOST_PRODUCTS)]
    train = train[:: max(1, *limits)]
    share = "" if len(train) == len(parts["train"]) else f" of {len(parts['train']):,}"
    console.say(f"Fitting a linear classifier to {len(train):,}{share} training texts")
    if logistic:
        arrays = _logistic(source, train, wanted[train])
    else:
        arrays = _machines(source, parts | {"train": train}, wanted, target.kind if target else CLASSES)
    np.savez(path, **dict[str, Any](arrays, stems=source.stems))
    context.record.phases["fit_linear_s"] = round(time.monotonic() - began, 4)
    return str(path)


def _wanted(texts: TextDataset, target: TargetPart | None) -> Any:
    """Return what each output should be, (n, outputs): 0 or 1, or a number in the unit of the network."""
    if texts.targets is None or target is None:
        return np.load(texts.folder / "labels.npy")[:, np.newaxis] == np.arange(len(texts.info.class_names))
    if target.kind == NUMBER:
        return (texts.targets.values - target.mean) / target.scale
    return texts.targets.values > 0


def _machines(source: "_Source", parts: "dict[str, NDArray[np.int64]]", wanted: Any, kind: str) -> Json:
    """Return the arrays of the candidate with the lowest loss of the validation texts."""
    numbers = np.concatenate([parts["train"], parts["validation"]])
    rows, wanted, count = source.rows(numbers), wanted[numbers], len(parts["train"])
    candidates: Any = {NUMBER: _regressions, LABELS: _label_separations}.get(kind, _separations)
    fits = candidates(rows[:count], wanted[:count])
    if not len(parts["validation"]):
        fits = itertools.islice(fits, 1)
    scaled = [_scaled(kind, weights, bias, rows[count:], wanted[count:]) for weights, bias in fits]
    best = min(range(len(scaled)), key=lambda number: scaled[number].loss)
    chosen = scaled[best]
    arrays = {"weights": chosen.weights, "bias": chosen.bias}
    if len(parts["test"]) and kind != LABELS:
        weights, bias = next(itertools.islice(candidates(rows, wanted), best, None))
        arrays |= {"final_weights": weights * chosen.scale, "final_bias": bias * chosen.scale}
    return source.folded(arrays)


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
    wanted = labels[: len(known), np.newaxis] == np.arange(len(texts.info.class_names))
    weights, bias = _separate(rows[: len(known)], wanted)
    right = (rows[len(known) :] @ weights + bias).argmax(axis=1) == labels[len(known) :]
    return {"name": BASELINE, "test_accuracy": float(right.mean()), "seconds": round(time.monotonic() - began, 1)}


def _tokens(texts: TextDataset, chosen: "NDArray[np.int64]", length: int) -> int:
    """Return the number of tokens of some texts that the network reads."""
    return int(np.minimum(np.diff(np.load(texts.folder / "offsets.npy"))[chosen], length).sum())


def _separations(rows: Any, wanted: "NDArray[np.bool_]") -> Iterator[tuple[Any, Any]]:
    plain = _separate(rows, wanted)
    yield plain
    special = _separate(rows, wanted, typical=True)
    yield plain[0] + special[0], plain[1] + special[1]


def _label_separations(rows: Any, wanted: "NDArray[np.bool_]") -> Iterator[tuple[Any, Any]]:
    for strength in LABEL_STRENGTHS:
        fits = (_separate(rows, wanted, typical, C=strength, max_iter=LABEL_ITERATIONS) for typical in (False, True))
        plain, special = fits
        yield plain[0] + special[0], plain[1] + special[1]


def _separate(rows: Any, wanted: "NDArray[np.bool_]", typical: bool = False, **settings: Any) -> tuple[Any, Any]:
    """Return the weights, (features, outputs), and the bias, (outputs,), that separate the texts of each output.

    ``settings`` are those of scikit-learn's machine.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    weights = np.zeros((rows.shape[1], wanted.shape[1]), np.float32)
    bias, counts = np.full(wanted.shape[1], -1.0, np.float32), rows.getnnz(axis=0)
    for number, own in enumerate(wanted.T):
        if own.all() or not own.any():
            bias[number] = 1.0 if own.all() else -1.0
            continue
        factors = _typicality(rows, counts, own) if typical else _rarity(rows)
        multiplied, size = _multiplied(rows, factors)
        with warnings.catch_warnings():  # a fit that ends before it has converged is as good
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine = LinearSVC(**{"C": STRENGTH, "random_state": 0, "tol": TOLERANCE} | settings)
            fitted = machine.fit(multiplied, own)
        weights[:, number], bias[number] = fitted.coef_[0] * factors / size, fitted.intercept_[0]
    return weights, bias


def _regressions(rows: Any, wanted: "NDArray[np.float64]") -> Iterator[tuple[Any, Any]]:
    """Yield the weights, (features, 1), and the bias, (1,), of a ridge regression with each of the penalties."""
    from sklearn.linear_model import Ridge

    factors = _rarity(rows)
    multiplied, size = _multiplied(rows, factors)
    for penalty in PENALTIES:
        fitted = Ridge(penalty, solver="sparse_cg", tol=TOLERANCE).fit(multiplied, wanted[:, 0])
        yield (
            (fitted.coef_ * factors / size).astype(np.float32)[:, np.newaxis],
            np.array([fitted.intercept_], np.float32),
        )


def _rarity(rows: Any) -> Any:
    """Return the inverse document frequency of each feature."""
    return np.log((1 + rows.shape[0]) / (1 + rows.getnnz(axis=0))) + 1


def _typicality(rows: Any, counts: Any, own: "NDArray[np.bool_]") -> Any:
    """Return the log-ratio of the share of the output's texts with each feature, and of the share of the rest."""
    within = rows[own].getnnz(axis=0)
    others = np.log((1 + counts - within) / (2 + np.count_nonzero(~own)))
    return np.log((1 + within) / (2 + np.count_nonzero(own))) - others


def _multiplied(rows: Any, factors: Any) -> tuple[Any, Any]:
    """Multiply the features by factors; return rows whose root mean square of lengths is 1, and what it was."""
    from scipy import sparse

    values = rows.data * factors[rows.indices]
    size = np.sqrt((values**2).sum() / rows.shape[0])
    return sparse.csr_matrix((values / size, rows.indices, rows.indptr), shape=rows.shape), size


class _Scaled(NamedTuple):
    """A linear classifier whose outputs are logits, the factor that made them so, and its loss on validation texts."""

    loss: float
    scale: float
    weights: "NDArray[np.float32]"
    bias: "NDArray[np.float32]"


def _scaled(kind: str, weights: Any, bias: Any, rows: Any, wanted: Any) -> _Scaled:
    """Scale a classifier so that the cross-entropy of some texts is the lowest; a number keeps its unit."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    outputs = rows @ weights + bias

    def loss(scale: float) -> float:
        if kind == CLASSES:
            return float(-log_softmax(outputs * scale, axis=1)[wanted].mean())
        return float((np.logaddexp(0, outputs * scale) - outputs * scale * wanted).mean())

    if kind == NUMBER:
        return _Scaled(float(((outputs - wanted) ** 2).mean()) if len(wanted) else 0.0, 1.0, weights, bias)
    if not len(wanted):
        return _Scaled(0.0, SCALE, weights * SCALE, bias * SCALE)
    best = minimize_scalar(loss, bounds=SCALES, method="bounded")
    return _Scaled(float(best.fun), float(best.x), weights * best.x, bias * best.x)


def _logistic(source: "_Source", chosen: "NDArray[np.int64]", wanted: "NDArray[np.bool_]") -> Json:
    """Fit a gain for each feature and part by which its log-count ratio is multiplied (NBSVM, Wang and Manning 2012).

    L-BFGS minimizes the sum of the cross-entropy, and half the sum of squared gains divided by ``LOGISTIC_STRENGTH``.
    A part counts as often as it occurs in a word.
    """
    from scipy.optimize import minimize

    rows, table = source.counts(chosen), source.table
    counts = np.stack([rows[own].getnnz(axis=0) for own in wanted.T], axis=1)
    parts = table.T @ counts[: table.shape[0]]
    ratios = np.concatenate([_log_count_ratios(counts), PART_WEIGHT * _log_count_ratios(parts)])
    differences, (features, words) = ratios[:, 1] - ratios[:, 0], (rows.shape[1], table.shape[0])
    columns = rows.T.tocsr()  # as large again, for products that are several times as fast

    def loss(gains: Any) -> tuple[float, Any]:
        weights = (differences * gains).astype(np.float32)
        own = weights[:features].copy()
        own[:words] += table @ weights[features:]
        logits = (rows @ own).astype(np.float64)
        errors = (1 / (1 + np.exp(-logits)) - wanted[:, 1]).astype(np.float32)
        sums = columns @ errors
        sums = np.concatenate([sums, table.T @ sums[:words]])
        value = (np.logaddexp(0, logits) - logits * wanted[:, 1]).sum() + gains @ gains / 2 / LOGISTIC_STRENGTH
        return value, differences * sums + gains / LOGISTIC_STRENGTH

    options = {"maxiter": 60, "ftol": 1e-4, "maxcor": 6}
    gains = minimize(loss, np.zeros(len(ratios)), jac=True, method="L-BFGS-B", options=options).x
    ratios[:words] *= gains[:words, np.newaxis]
    ratios[:words] += table @ (ratios[features:] * gains[features:, np.newaxis])
    gains[:words] = 1
    weights, zeros = ratios[:features].astype(np.float32), np.zeros(2, np.float32)
    return {"features": np.arange(features), "weights": weights, "gains": gains[:features], "bias": zeros}


def _log_count_ratios(texts: Any) -> Any:
    """Return how much more common each feature is in one of two classes than in the other; 0 where it is in no text.

    The logarithm of a ratio: the feature's share of all counts in the class, divided by its share in the other. All
    counts, (features, 2), are raised by one. See Wang and Manning 2012, section 2.
    """
    shares = np.log((texts + 1) / (texts + 1).sum(axis=0))
    return np.where(texts.any(axis=1)[:, np.newaxis], shares - shares[:, ::-1], 0)


class _Source:
    """Counts of the features of texts, and of the parts of their words.

    Attributes:
        stems: (words,) numbers of the stems; none without ``model.spelling``.
        table: sparse matrix, (words, parts), of how often a part is in a word; no parts without ``model.spelling``.
    """

    def __init__(self, texts: TextDataset, model: Json) -> None:
        from scipy import sparse

        words = word_parts.words_of(texts.tokenizer.token_bytes())
        self._words, self._length = len(words), model["length"]
        self._buckets, self.stems = model["pair_buckets"], np.zeros(0, np.int32)
        self.table = sparse.csr_matrix((len(words), 0), dtype=np.float32)
        if model.get("spelling"):
            self.stems, parts = word_parts.stems(words), word_parts.Parts(words)
            entries = np.ones(len(parts.parts), np.float32), (parts.words_of, parts.parts)
            self.table = sparse.csr_matrix(entries, shape=(len(words), parts.count))
        self._tokens = np.load(texts.folder / "tokens.npy", mmap_mode="r")
        self._offsets = np.load(texts.folder / "offsets.npy")

    def rows(self, chosen: "NDArray[np.int64]") -> Any:
        """Return a sparse matrix with a row for each text. Its columns are the features and parts that they have.

        Counts are divided by the root of the number of features of the text.
        """
        from scipy import sparse

        rows = self.counts(chosen)
        sizes = np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1)
        rows.data *= np.repeat(sizes**-0.5, np.diff(rows.indptr))
        rows = sparse.hstack([rows, rows[:, : self._words] @ self.table], format="csr")
        self._columns = np.flatnonzero(rows.getnnz(axis=0))
        return rows[:, self._columns]

    def counts(self, chosen: "NDArray[np.int64]") -> Any:
        """Return a sparse float32 matrix of how often each text has each feature."""
        from scipy import sparse

        order = np.argsort(np.diff(self._offsets)[chosen], kind="stable")
        size = text_features.TOGETHER
        matrices = [self._of(chosen[order[begin : begin + size]]) for begin in range(0, len(order), size)]
        return sparse.vstack(matrices, format="csr")[np.argsort(order)]

    def _of(self, chosen: "NDArray[np.int64]") -> Any:
        from scipy import sparse

        spans = [self._tokens[self._offsets[text] : self._offsets[text + 1]] for text in chosen]
        read = [text_features.shortened(span, self._length) for span in spans]
        tokens = np.zeros((len(read), max(3, *map(len, read))), np.int32)
        for row, own in zip(tokens, read, strict=True):
            row[: len(own)] = own
        stems = self.stems if len(self.stems) else None
        numbers = text_features.features(tokens, stems, self._words, self._buckets)
        ends = np.concatenate([[0], np.cumsum((numbers != 0).sum(axis=1))])
        entries = np.ones(ends[-1], np.float32), numbers[numbers != 0], ends
        rows = sparse.csr_matrix(entries, shape=(len(read), self._words + self._buckets))
        rows.sum_duplicates()
        return rows

    def folded(self, arrays: Json) -> Json:
        """Add the weights of parts to the words that contain them; return the arrays, and ``features``."""
        features = self._words + self._buckets
        own = self._columns < features
        numbers = np.union1d(self._columns[own], np.arange(self._words))
        places, parts = np.searchsorted(numbers, self._columns[own]), self.table[:, self._columns[~own] - features]
        folded = {"features": numbers}
        for name, values in arrays.items():
            folded[name] = values
            if values.ndim > 1:
                folded[name] = np.zeros((len(numbers), values.shape[1]), np.float32)
                folded[name][places] = values[own]
                folded[name][: self._words] += parts @ values[~own]
        return folded
