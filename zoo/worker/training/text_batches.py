"""Read texts of all lengths, cut to what the model reads and padded to batches of equal length."""

import numpy as np

from zoo.worker.training.equal_batches import fill

# Lengths of batches, as shares of the longest: every other length would make most frameworks compile once more.
SHARES = 8
# Batches whose texts are sorted by their length together: more would leave little chance in who meets whom.
SORTED_TOGETHER = 50


class TokenizedTexts:
    """Token numbers of many texts.

    Args:
        tokens: (tokens,) all texts one after the other.
        offsets: (texts + 1,) where each begins.
        length: most tokens that the model reads; of a longer text the first and the last half of that are read.
        fixed: every batch is as long as that.
    """

    def __init__(self, tokens, offsets, length, fixed=False):
        self._tokens, self._offsets, self._length, self._fixed = tokens, offsets, length, fixed
        self.sizes = np.minimum(np.diff(offsets), length)

    def __len__(self):
        return len(self.sizes)

    def batch(self, chosen, own=slice(None)):
        """(texts, positions) int32 of some texts, padded with 0 behind; of ``own`` only, as wide as of all."""
        rows = np.zeros((len(chosen[own]), self._width(chosen)), np.int32)
        for row, number in zip(rows, chosen[own]):
            begin, end = self._offsets[number], self._offsets[number + 1]
            if end - begin > self._length:
                first = self._length // 2
                row[:first] = self._tokens[begin : begin + first]
                row[first : self._length] = self._tokens[end - (self._length - first) : end]
            else:
                row[: end - begin] = self._tokens[begin:end]
        return rows

    def _width(self, chosen):
        if self._fixed:
            return self._length
        step = -(-self._length // SHARES)
        longest = max(1, int(self.sizes[chosen].max()))
        return min(self._length, -(-longest // step) * step)

    def shuffled_batches(self, chosen, size, random):
        """Full batches of all of some texts in a random order, texts of like length together."""
        order, batches = fill(random.permutation(chosen), size, random), []
        for begin in range(0, len(order), size * SORTED_TOGETHER):
            part = order[begin : begin + size * SORTED_TOGETHER]
            part = part[np.argsort(self.sizes[part], kind="stable")]
            batches += [part[first : first + size] for first in range(0, len(part), size)]
        return [batches[number] for number in random.permutation(len(batches))]

    def places_of(self, chosen, size):
        """Where in ``chosen`` the texts of each batch stand, the longest first."""
        order = np.argsort(-self.sizes[chosen], kind="stable")
        return [order[begin : begin + size] for begin in range(0, len(order), size)]


def word_dropout(batch, share, random, of=None):
    """The same batch with a share of its tokens turned into padding, which is neither attended to nor pooled.

    Turned into the unknown instead, they would make it far commoner in training than it is later. Where the texts are
    some of a batch, ``of`` says of how many, and which.
    """
    if not share:
        return batch
    total, own = of or (len(batch), slice(None))
    hidden = random.random_sample((total, batch.shape[1]))[own] < share
    hidden[:, 0] = False  # no text may become empty
    return np.where(hidden, np.int32(0), batch)


def open_texts(data, length, fixed):
    """The texts of a request, mapped into memory."""
    tokens = np.load(data.tokens, mmap_mode="r", allow_pickle=False)
    return TokenizedTexts(tokens, np.load(data.offsets, allow_pickle=False), length, fixed)


class TokenRange:
    """Tokens of a part of a long text, read in slices or by places.

    The file is mapped only while something of it is read: what was read of a map counts as memory until it is closed.

    Args:
        path: of a .npy file, (tokens,).
        begin: where the part begins.
        end: where it ends.
    """

    def __init__(self, path, begin, end):
        self._path, self._begin, self._size = path, begin, end - begin

    def __len__(self):
        return self._size

    def __getitem__(self, places):
        """Copy the tokens at some places of the part: a slice, or an array of numbers from 0."""
        tokens = np.load(self._path, mmap_mode="r", allow_pickle=False)
        return np.array(tokens[self._begin : self._begin + self._size][places])
