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


def sample(logits, temperature, top_k, random):
    """Draw a token.

    Args:
        logits: (vocabulary,).
        temperature: what they are divided by; 0 takes the likeliest.
        top_k: only so many of the likeliest can be drawn; None means all. Padding and the unknown never are.
        random: numpy's RandomState.

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
    return int(random.choice(len(chances), p=chances / chances.sum()))
