"""Generate text token by token with a key/value cache of limited length."""

import numpy as np

from zoo.worker.inference.outputs import finite


def prefill(memory, tokens):
    """Take tokens in after one another; logits of what follows the last, (vocabulary,)."""
    for token in tokens:
        logits = memory.step([token])
    return logits[0]


def step(memory, seen):
    """Logits of what follows ``seen``, whose last token is new to the memory.

    A memory that is full forgets all but the later half of what it held: keys and values know their place, so
    the text that stays has to be read again from the first place on.
    """
    if memory.position < memory.length:
        return memory.step(seen[-1:])[0]
    memory.reset()
    return prefill(memory, seen[-max(1, memory.length // 2) :])


def sample(logits, temperature, top_k, random, top_p=None):
    """Draw a token.

    Args:
        logits: (vocabulary,).
        temperature: what they are divided by; 0 takes the likeliest.
        top_k: only so many of the likeliest can be drawn; None means all. Padding and the unknown never are.
        random: numpy's RandomState.
        top_p: only the likeliest that make up this share of the probability can be drawn, at least one (nucleus
            sampling, Holtzman et al. 2020); None means all. It counts after the temperature and ``top_k``.

    Raises:
        UserError: a logit is not finite.
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
    """Keep the likeliest tokens that together have that share, the one that reaches it included."""
    order = np.argsort(-chances, kind="stable")
    before = np.cumsum(chances[order]) - chances[order]
    kept = np.zeros_like(chances)
    chosen = order[before < share]
    kept[chosen] = chances[chosen]
    return kept / kept.sum()
