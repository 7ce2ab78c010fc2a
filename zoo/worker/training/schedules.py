"""Compute learning rates by step, and smoothed labels."""

import math

import numpy as np


def learning_rate(settings, step, steps):
    """Return the learning rate at a step.

    ``constant`` keeps the given rate. ``cosine`` decreases it to the share ``final_lr_ratio``. ``one_cycle`` raises
    it from a 25th, then decreases it to a 10,000th, both along half a cosine. It is the schedule of Smith 2018,
    https://arxiv.org/abs/1803.09820, without the cycle of momentum. ``warmup`` is the share of steps that raise the
    rate, linearly except for ``one_cycle``.
    """
    rate, schedule, warmup = settings.learning_rate, settings.schedule, settings.warmup
    cycle = schedule == "one_cycle"
    warm = int((warmup or (0.3 if cycle else 0.0)) * steps)
    if step < warm:
        return _between(rate / 25, rate, step / warm) if cycle else rate * (step + 1) / warm
    if schedule == "constant":
        return rate
    return _between(rate, rate * (1e-4 if cycle else settings.final_lr_ratio), (step - warm) / max(1, steps - warm))


def _between(start, end, share):
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * share))


def smooth_labels(labels, share):
    """Spread a share of one-hot labels over all classes (Szegedy et al. 2015, https://arxiv.org/abs/1512.00567)."""
    return labels if not share else labels * np.float32(1 - share) + np.float32(share / labels.shape[-1])
