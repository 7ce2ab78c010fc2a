"""Generate text token by token with a key/value cache of limited length."""

import codecs
import copy

import numpy as np

from zoo.worker.inference.outputs import finite


class Continuation:
    """A text that a language model continues.

    Args:
        settings: a :class:`zoo.protocol.request.GeneratePart`, or an object with its fields except ``prompt``.
        memory: a decoder; the text gets its own cache, the network is shared.
        pieces: the text of each token, with one character (Latin-1) for each byte.

    Attributes:
        prompt: tokens to read before the first one is drawn.
        left: number of tokens to draw.
    """

    def __init__(self, settings, memory, pieces):
        self._settings, self._memory, self._pieces = settings, copy.copy(memory), pieces
        self._memory.reset()
        self._seen, self.left = list(settings.tokens), settings.length
        self.prompt, self._logits = self._seen[-memory.length :], None
        self._random = np.random.RandomState(settings.seed)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, count=None):
        """Read the prompt, or the next ``count`` tokens of it."""
        self._logits = self._memory.read(self.prompt[:count])
        del self.prompt[:count]

    def draw(self):
        """Draw one token and return the added text."""
        settings = self._settings
        token = sample(self._logits, settings.temperature, settings.top_k, self._random, settings.top_p)
        self._seen.append(token)
        self.left -= 1
        if self.left:
            self._logits = step(self._memory, self._seen)
        return self.decoder.decode(self._pieces[token].encode("latin-1"), final=not self.left)


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
