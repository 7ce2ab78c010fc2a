"""Fit a gain for each text feature by logistic regression on fixed log-count ratios."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Inverse strength of the penalty, a quarter of scikit-learn's C with two classes. Half and twice are not better.
STRENGTH = 0.025
MOST_ITERATIONS, MEMORY, TOLERANCE = 60, 6, 1e-4
# The same for numbers, whose ratios are smaller and whose sums are divided by the root of the number of features.
STRENGTH_OF_NUMBERS = 40.0
# Largest number of features times (classes - 1); texts beyond that are left out. It takes 1.5 GB and half a minute.
MOST_FEATURES = 50_000_000
# Number of groups of texts, each computed by one processor.
GROUPS = 4


def compact(batch):
    """Return concatenated int32 features and their number for each text of (n, width) integers, 0 for none."""
    # Add padding, which has no effect, before each text, so that no text is empty.
    batch = np.concatenate([np.zeros((len(batch), 1), batch.dtype), batch], axis=1)
    chosen = batch != 0
    chosen[:, 0] = True
    return batch[chosen].astype(np.int32), chosen.sum(axis=1)


def gains(texts, ratios, labels, parts=None, kind="classes", start=0.0):
    """Return the gains of all features with which they separate the classes best.

    The logits of a text are the sum of ratio times gain over its features and over the ``parts`` of its tokens.
    L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.5) minimizes the mean cross-entropy plus a
    penalty. The penalty is half the sum of squared gains, divided by ``STRENGTH`` times the number of texts.

    Args:
        texts: results of :func:`compact`, one per batch of texts.
        ratios: (features, classes); with ``parts``, their rows follow those of the features.
        labels: (n,) integer classes of all texts, or (n, columns) labels or numbers.
        parts: :class:`zoo.protocol.word_parts.Parts` of the tokens, which are the first features.
        kind: the loss is summed over columns. For ``labels`` it is the binary cross-entropy. For ``number`` it is
            half the squared error, and the sums are divided by the root of the number of features.
        start: (columns,) logits of a text without features.

    Returns:
        One float64 gain for each row of ``ratios``.
    """
    groups = _groups(list(texts))
    usable = getattr(os, "sched_getaffinity", None)  # not on macOS
    processors = len(usable(0)) if usable else os.cpu_count() or 1
    with ThreadPoolExecutor(min(GROUPS, processors)) as pool:
        loss = _loss(groups, ratios, labels, parts, pool, kind, start)
        return _minimum(loss, np.zeros(len(ratios)), 10 if kind == "number" else 1)


def _groups(texts):
    """Join batches to groups: (features, start of each text, size of each text, slice of all texts).

    The number of groups does not depend on the machine, so that sums are the same on every machine.
    """
    groups, before = [], 0
    for some in np.array_split(np.arange(len(texts)), min(GROUPS, len(texts))):
        numbers = np.concatenate([texts[number][0] for number in some]).astype(np.intp)
        sizes = np.concatenate([texts[number][1] for number in some])
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        groups.append((numbers, begins, sizes, slice(before, before + len(sizes))))
        before += len(sizes)
    return groups


def _loss(groups, ratios, labels, parts, pool, kind, start):
    """Return the loss as a function of the gains, which returns its value and its gradient."""
    texts, chosen, judge = len(labels), labels, {"labels": _binary, "number": _squares}.get(kind, _cross_entropy)
    if kind == "classes":  # fix the logits of the last class at 0, which does not change the probabilities
        chosen = np.eye(ratios.shape[1])[labels]
        ratios = ratios[:, :-1] - ratios[:, -1:]
    scales = 1.0
    if kind == "number":
        scales = np.concatenate([sizes for _, _, sizes, _ in groups]).astype(np.float32)[:, np.newaxis] ** -0.5
    penalty = 1 / ((STRENGTH_OF_NUMBERS if kind == "number" else STRENGTH) * texts)
    features = len(ratios) - (parts.count if parts else 0)

    def of_features(weights):
        if parts is None:
            return weights
        own = weights[:features].copy()
        own[: parts.words] += parts.sum_by_word(weights[features:])
        return own

    def of_all(sums):
        return sums if parts is None else np.concatenate([sums, parts.sum_by_part(sums[: parts.words])])

    def sums_by_text(weights):
        own = of_features(weights).astype(np.float32)  # half the memory traffic
        return np.concatenate(list(pool.map(lambda group: np.add.reduceat(own.take(group[0]), group[1]), groups)))

    def sums_by_feature(values):
        def of_group(group):
            numbers, _, sizes, some = group
            return np.bincount(numbers, np.repeat(values[some], sizes), features)

        return of_all(sum(pool.map(of_group, groups)))

    def loss(gains):
        outputs = np.stack([sums_by_text(column * gains) for column in ratios.T], axis=1)
        values, errors = judge(outputs * scales + start, chosen)
        gradient = penalty * gains
        for column, error in zip(ratios.T, (errors * scales).T / texts):
            gradient += column * sums_by_feature(error)
        return values.mean() + penalty / 2 * gains.dot(gains), gradient

    return loss


def _cross_entropy(logits, chosen):
    """Return the loss of each text, and its gradient by the ``logits``, which lack the last class."""
    logits = np.concatenate([logits, np.zeros((len(logits), 1))], axis=1)
    logits -= logits.max(axis=1, keepdims=True)
    powers = np.exp(logits)
    total = powers.sum(axis=1, keepdims=True)
    return np.log(total)[:, 0] - (logits * chosen).sum(axis=1), (powers / total - chosen)[:, :-1]


def _binary(logits, chosen):
    return (np.logaddexp(0, logits) - logits * chosen).sum(axis=1), 1 / (1 + np.exp(-logits)) - chosen


def _squares(outputs, wanted):
    return ((outputs - wanted) ** 2).sum(axis=1) / 2, outputs - wanted


def _minimum(function, x, least):
    """Return the minimum near ``x``, after at least ``least`` steps: the first ones are very small for numbers."""
    value, gradient = function(x)
    moves = []  # the last steps, as (change of x, change of the gradient)
    for step in range(MOST_ITERATIONS):
        direction = -_newton_step(gradient, moves)
        slope, length = gradient.dot(direction), 1.0
        while True:
            there = x + length * direction
            new_value, new_gradient = function(there)
            if new_value <= value + 1e-4 * length * slope or length < 1e-6:
                break
            length /= 2
        move = (there - x, new_gradient - gradient)
        if move[0].dot(move[1]) > 0:
            moves = [*moves, move][-MEMORY:]
        if step + 1 >= least and value - new_value <= TOLERANCE * abs(new_value):
            return there
        x, value, gradient = there, new_value, new_gradient
    return x


def _newton_step(gradient, moves):
    """Multiply the gradient by the inverse Hessian, estimated from the last steps."""
    step, shares = gradient.copy(), []
    for moved, changed in reversed(moves):
        shares.append(moved.dot(step) / moved.dot(changed))
        step -= shares[-1] * changed
    if moves:
        moved, changed = moves[-1]
        step *= moved.dot(changed) / changed.dot(changed)
    else:
        step /= max(1e-12, np.abs(gradient).sum())
    for (moved, changed), share in zip(moves, reversed(shares)):
        step += (share - changed.dot(step) / moved.dot(changed)) * moved
    return step
