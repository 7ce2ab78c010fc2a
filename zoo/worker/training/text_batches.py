"""Read texts of all lengths, cut to the model's length and padded to batches of equal length."""

import numpy as np

from zoo.protocol.text_features import shortened
from zoo.worker.training.equal_batches import fill

# Largest number of different batch lengths: most frameworks compile again for each.
SHARES = 8
# Batches whose texts are sorted by length together: with more, batches would hardly be random.
SORTED_TOGETHER = 50


class TokenizedTexts:
    """Token numbers of many texts.

    Args:
        tokens: (tokens,) all texts concatenated.
        offsets: (texts + 1,) start of each.
        length: most tokens that the model reads; half of them are from each end of a longer text.
        fixed: pad every batch to ``length``.
    """

    def __init__(self, tokens, offsets, length, fixed=False):
        self._tokens, self._offsets, self._length, self._fixed = tokens, offsets, length, fixed
        self.sizes = np.minimum(np.diff(offsets), length)

    def __len__(self):
        return len(self.sizes)

    def batch(self, chosen, own=slice(None)):
        """Return the ``own`` texts of ``chosen``, (texts, positions) int32, padded with 0 to the width of all."""
        rows = np.zeros((len(chosen[own]), self._width(chosen)), np.int32)
        for row, number in zip(rows, chosen[own]):
            read = shortened(self._tokens[self._offsets[number] : self._offsets[number + 1]], self._length)
            row[: len(read)] = read
        return rows

    def _width(self, chosen):
        if self._fixed:
            return self._length
        step = -(-self._length // SHARES)
        longest = max(1, int(self.sizes[chosen].max()))
        return min(self._length, -(-longest // step) * step)

    def shuffled_batches(self, chosen, size, random):
        """Return full batches of some texts in a random order, texts of similar length together."""
        order, batches = fill(random.permutation(chosen), size, random), []
        for begin in range(0, len(order), size * SORTED_TOGETHER):
            part = order[begin : begin + size * SORTED_TOGETHER]
            part = part[np.argsort(self.sizes[part], kind="stable")]
            batches += [part[first : first + size] for first in range(0, len(part), size)]
        return [batches[number] for number in random.permutation(len(batches))]

    def places_of(self, chosen, size):
        """Return the positions in ``chosen`` of the texts of each batch, the longest first."""
        order = np.argsort(-self.sizes[chosen], kind="stable")
        return [order[begin : begin + size] for begin in range(0, len(order), size)]


def word_dropout(batch, share, random, of=None):
    """Return the batch with a share of its tokens replaced by padding, which is neither attended to nor pooled.

    With unknown tokens instead of padding, these would be far more common in training than later. For a part of a
    batch, ``of`` is (size of the batch, indices of these texts).
    """
    if not share:
        return batch
    total, own = of or (len(batch), slice(None))
    hidden = random.random_sample((total, batch.shape[1]))[own] < share
    hidden[:, 0] = False  # no text may become empty
    return np.where(hidden, np.int32(0), batch)


def open_texts(data, length, fixed):
    """Return the texts of a request, mapped into memory."""
    tokens = np.load(data.tokens, mmap_mode="r", allow_pickle=False)
    return TokenizedTexts(tokens, np.load(data.offsets, allow_pickle=False), length, fixed)


class TokenRange:
    """Tokens of a part of a long text, read in slices or by positions.

    The .npy file, (tokens,), is mapped only during a read: pages of a map count as memory until it is closed.
    """

    def __init__(self, path, begin, end):
        self._path, self._begin, self._size = path, begin, end - begin

    def __len__(self):
        return self._size

    def __getitem__(self, places):
        """Copy the tokens at some positions of the part: a slice, or an array of numbers from 0."""
        tokens = np.load(self._path, mmap_mode="r", allow_pickle=False)
        return np.array(tokens[self._begin : self._begin + self._size][places])
