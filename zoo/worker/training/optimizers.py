"""Minimize with L-BFGS and Adam in NumPy, so that an image takes the same path on every stack.

Both evaluate a function of one array that returns ``(terms, gradient)``; the loss is the sum of the terms. Step sizes
are in units of the array (gray levels of an image). scipy has L-BFGS, but half of the stacks do not have scipy.
"""

import math

import numpy as np

REMEMBERED = 10
SMALLEST_STEP = 1.0 / 64


def adam(function, x, steps, rate, after):
    """Minimize with Adam: Kingma and Ba 2014, https://arxiv.org/abs/1412.6980, algorithm 1.

    Args:
        function: from an array to ``(terms, gradient)``.
        x: float32 array to start from; it is not changed.
        rate: approximate change of each value in a step; falls to a tenth along half a cosine.
        after: called with (step, x, terms before the step) after each step; returns whether to stop.

    Returns:
        The array after the last step.

    Raises:
        FloatingPointError: the loss is not finite.
    """
    first, second = np.zeros_like(x), np.zeros_like(x)
    x = x.copy()
    for step in range(1, steps + 1):
        terms, gradient = _finite(function(x), step)
        # Makes epsilon independent of the unit of the loss.
        gradient = gradient / (np.abs(gradient).mean() + 1e-30)
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient * gradient - second)
        now = rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - 1) / steps)))
        scale = now * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        x -= (scale * first / (np.sqrt(second) + 1e-8)).astype(x.dtype)
        if after(step, x, terms):
            break
    return x


def lbfgs(function, x, steps, rate, after):
    """Limited-memory BFGS with backtracking: Nocedal and Wright, Numerical Optimization, algorithms 7.4 and 3.1.

    Arguments, result and errors as for :func:`adam`; ``rate`` is the mean length of the first move only. A step is
    one evaluation of the function. ``after`` is called for every new best point.
    """
    terms, gradient = _finite(function(x), 0)
    loss, history, step, length = sum(terms), [], 1, 1.0
    stopped = after(1, x, terms)
    direction = _downhill(gradient, rate)
    while step < steps and not stopped:
        tried = x + np.float32(length) * direction
        terms_there, there = _finite(function(tried), step, allowed=length > SMALLEST_STEP)
        step += 1
        directional_derivative = _dot(gradient, direction)
        if not sum(terms_there) <= loss + 1e-4 * length * directional_derivative:
            length /= 2.0 if math.isfinite(sum(terms_there)) else 8.0
            if length < SMALLEST_STEP:
                if not history:
                    break  # not even a small step down the gradient helps: this is the minimum
                history, length, direction = [], 1.0, _downhill(gradient, rate / 4)
            continue
        moved, bent = tried - x, there - gradient
        x, gradient, terms, loss = tried, there, terms_there, sum(terms_there)
        curved = _dot(moved, bent)
        if curved > 1e-10 * _dot(bent, bent):
            history = [*history[1 - REMEMBERED :], (moved, bent, 1.0 / curved)]
        direction, length = -_times_inverse(history, gradient), 1.0
        if not history or _dot(direction, gradient) >= 0:
            history, direction = [], _downhill(gradient, rate / 4)
        stopped = after(step, x, terms)
    return x


def _downhill(gradient, length):
    """Return the direction of steepest descent with a mean length."""
    return -gradient * (length / (np.abs(gradient).mean() + 1e-30))


def _times_inverse(history, gradient):
    """Multiply the gradient with the inverse of the remembered curvature: the two loops of algorithm 7.4."""
    product, shares = gradient.copy(), []
    for moved, bent, inverse in reversed(history):
        share = inverse * _dot(moved, product)
        product -= np.float32(share) * bent
        shares.append(share)
    if history:
        moved, bent, inverse = history[-1]
        product *= np.float32(1.0 / (inverse * _dot(bent, bent)))
    for (moved, bent, inverse), share in zip(history, reversed(shares)):
        product += np.float32(share - inverse * _dot(bent, product)) * moved
    return product


def _dot(a, b):
    return float(np.dot(a.reshape(-1), b.reshape(-1)))


def _finite(answer, step, allowed=False):
    terms, gradient = answer
    if not allowed and not (all(math.isfinite(term) for term in terms) and np.isfinite(gradient).all()):
        raise FloatingPointError("the loss became %s at step %d" % (sum(terms), step))
    return [float(term) for term in terms], gradient
