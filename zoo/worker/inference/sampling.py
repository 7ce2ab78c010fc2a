"""Generate text token by token with a key/value cache of limited length."""

import numpy as np

from zoo.worker.inference.outputs import finite


def step(memory, seen):
    """Return the logits after ``seen``, whose last token is not in the cache yet.

    A full cache is cleared, and the last half of its text is read again, because keys and values depend on positions.
    """
    if memory.position < memory.length:
        return memory.read(seen[-1:])
    memory.reset()
    return memory.read(seen[-max(1, memory.length // 2) :])


def sample(logits, temperature, top_k, random, top_p=None):
    """Draw a token.

    Args:
        logits: (vocabulary,).
        temperature: divisor of the logits; 0 takes the most likely token.
        top_k: number of most likely tokens to draw from; None means all. Padding and unknown tokens are never drawn.
        random: NumPy's RandomState.
        top_p: draw from the likeliest tokens that make up this share of the probability, at least one (nucleus
            sampling, Holtzman et al. 2020); None means all. It applies after the temperature and ``top_k``.
    """
    logits = np.array(finite(logits), np.float64)
    logits[:2] = -np.inf
    if not temperature:
        return int(logits.argmax())
    if top_k is not None and top_k < len(logits):
        logits[logits < np.sort(logits)[-top_k]] = -np.inf
    chances = np.exp((logits - logits.max()) / temperature)
    chances /= chances.sum()
    return int(random.choice(len(chances), p=chances if top_p is None else _nucleus(chances, top_p)))


def _nucleus(chances, share):
    """Keep the most likely tokens that together have that share, including the one that reaches it."""
    order = np.argsort(-chances, kind="stable")
    before = np.cumsum(chances[order]) - chances[order]
    kept = np.zeros_like(chances)
    chosen = order[before < share]
    kept[chosen] = chances[chosen]
    return kept / kept.sum()
