"""Run the style network on images of any size in bounded memory, without seams.

Instance normalization depends on the whole image, so separately restyled tiles do not fit together. Here the mean and
variance of each layer are computed over all tiles before they are applied. Except for rounding, the result
is the same as without tiles. Cheap intermediate maps are computed twice; the rest are kept in unnamed files, 96 bytes
per pixel.
"""

import errno
import tempfile
import weakref
from contextlib import closing

import numpy as np

from zoo.models import compat
from zoo.models.style_transfer import fast as network
from zoo.worker.inference.outputs import finite

GRAIN = network.GRAIN


def restyle(model, chain, read, shape, scratch, tile, tick, colors=network.COLORS):
    """Restyle a large image.

    Args:
        read: from (top, left, rows, columns) in pixels to that window of the image, float32 RGB 0..255.
        shape: (rows, columns) of the image, multiples of 4.
        scratch: folder for unnamed files.
        tile: edge of a tile in pixels.
        tick: called with the completed share, 0 to 1, after every tile; may raise to stop.
        colors: color range of the network's output.

    Yields:
        (top, rows of the result): uint8 (n, columns, 3), from the top down.
    """
    down, blocks, up = chain[:3], chain[3:-3], chain[-3:]
    job = _Job(model, chain, (shape[0] // GRAIN, shape[1] // GRAIN), max(1, tile // GRAIN), tick)
    with closing(_Store(scratch, (*job.cells, down[-1].filters))) as stream:
        for count in (1, 2, 3):
            job.sweep(down[:count], read, stream if count == 3 else None, grain=GRAIN)
        stream.update(job.norms[down[-1].name])
        _residual(job, blocks, stream, scratch)
        with closing(_Store(scratch, (*shape, up[-1].filters))) as last:
            for count in (1, 2, 3):
                job.sweep(up[:count], stream.read, last if count == 3 else None)
            scale, shift = job.norms[up[-1].name]
            for top, rows in last.blocks():
                yield top, to_pixels(np.tanh((rows * scale + shift) * colors.rate) * colors.gain + 127.5)


def to_pixels(values):
    """Convert the network's output, which must be finite, to uint8 0..255."""
    return np.rint(np.clip(finite(values), 0, 255)).astype(np.uint8)


def _residual(job, blocks, stream, scratch):
    if not blocks:
        return
    with closing(_Store(scratch, stream.shape)) as first, closing(_Store(scratch, stream.shape)) as second:
        for one, two in zip(blocks[::2], blocks[1::2]):
            job.sweep([one], stream.read, first)
            job.sweep([two], first.read, second, opens=job.norms[one.name])
            stream.update(job.norms[two.name], second)


class _Job:
    """The passes over one image: its tiles, and the statistics gathered so far.

    Positions are in cells of 4 x 4 pixels, each of which is one value in the middle of the network.
    """

    def __init__(self, model, chain, cells, tile, tick):
        self.model, self.chain, self.cells, self.tile = model, chain, cells, tile
        self.norms = {}
        self._tick, self._sweeps = tick, 0

    def sweep(self, stages, read, store, grain=1, opens=None):
        """Run some stages over all tiles, gather the statistics of the last one, and keep its output.

        Args:
            grain: values of the input along the edge of a cell.
            opens: normalization to apply to the input, if any.
        """
        part = _part(self.model, stages, opens is not None)
        norms = ([opens] if opens else []) + [self.norms[stage.name] for stage in stages[:-1]]
        scales = [np.reshape(each, (1, 1, 1, -1)) for pair in norms for each in pair]
        moments, size = Moments(), _after(stages, grain)
        windows = list(tiles(self.cells, self.tile, _halo(stages, grain)))
        for done, (window, core) in enumerate(windows, 1):
            whole = compat.outputs(part, [read(*(grain * edge for edge in window))[None], *scales])[0][0]
            top, left = core[0] - window[0], core[1] - window[1]
            cut = whole[top * size : (top + core[2]) * size, left * size : (left + core[3]) * size]
            moments.add(cut)
            if store is not None:
                store.write(core[0] * size, core[1] * size, cut)
            self._tick((self._sweeps + done / len(windows)) / len(self.chain))
        self._sweeps += 1
        norm = self.model.get_layer(stages[-1].name + "_norm")
        self.norms[stages[-1].name] = _scale_and_shift(norm, stages[-1], moments)


def _scale_and_shift(norm, stage, moments):
    if stage.norm == "shift":
        (shift,) = norm.get_weights()
        return np.ones_like(shift), shift
    return moments.normalisation(*norm.get_weights(), epsilon=norm.epsilon)


# Parts of every model in use: building them again for each image would compile them again.
_parts = weakref.WeakKeyDictionary()


def _part(model, stages, raw):
    parts = _parts.setdefault(model, {})
    key = tuple(stage.name for stage in stages)
    if key not in parts:
        parts[key] = network.part(compat, model, stages, raw)
    return parts[key]


def _after(stages, size):
    """Return the values along the edge of a cell after some stages, from the values before them."""
    for stage in stages:
        size = {"same": size, "halve": size // 2}.get(stage.kind, 2 * size)
    return size


def _halo(stages, grain):
    """Return the cells around a tile that are needed to compute all of its values."""
    before, after = 0, _after(stages, grain) - 1
    for stage in reversed(stages):
        reach = stage.size // 2
        if stage.kind == "same":
            before, after = before - reach, after + reach
        elif stage.kind == "halve" and stage.mirror:
            before, after = 2 * before - 1, 2 * after + 1
        elif stage.kind == "halve":
            before, after = 2 * before, 2 * after + 2
        elif stage.kind == "double":
            before, after = before // 2 - 1, after // 2
        else:
            before, after = (before - reach) // 2, (after + reach) // 2
    return max(-(before // grain), after // grain)


def tiles(cells, size, halo):
    """Yield tiles that cover an image, as (window, tile), each (top, left, rows, columns); all windows have one size.

    A tile has at most ``size`` rows and columns. Its window adds a margin of ``halo``, except at the image's edges.
    """
    for top, rows, first, height in _spans(cells[0], size, halo):
        for left, columns, second, width in _spans(cells[1], size, halo):
            yield (top, left, rows, columns), (first, second, height, width)


def _spans(length, size, halo):
    count = -(-length // size)
    size = -(-length // count)
    window = min(length, size + 2 * halo)
    for start in range(0, length, size):
        yield min(max(0, start - halo), length - window), window, start, min(size, length - start)


class Moments:
    """The mean and variance of every channel, gathered piece by piece (Chan et al. 1979)."""

    def __init__(self):
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, piece):
        """Add (rows, columns, channels)."""
        count = piece.shape[0] * piece.shape[1]
        # Relative to a value near the mean, float32 keeps enough digits; single rows stay in the cache.
        near, ones = piece[::16, ::16].mean(axis=(0, 1)), np.ones(piece.shape[1], np.float32)
        sums, squares = np.zeros((2, piece.shape[2]))
        for row in piece:
            centred = row - near
            sums += ones.dot(centred)
            squares += ones.dot(np.square(centred, out=centred))
        mean = near + sums / count
        squares -= np.square(sums) / count
        total, apart = self._count + count, mean - self._mean
        self._mean = self._mean + apart * (count / total)
        self._squares = self._squares + squares + np.square(apart) * (self._count * count / total)
        self._count = total

    def normalisation(self, shift, scale, epsilon=network.EPSILON):
        """Return (scale, shift) such that x * scale + shift is the normalization with these weights."""
        factor = scale / np.sqrt(self._squares / self._count + epsilon)
        return factor.astype(np.float32), (shift - self._mean * factor).astype(np.float32)


class _Store:
    """A float32 array (rows, columns, channels) in an unnamed file, which is removed when it is closed."""

    def __init__(self, folder, shape):
        self.shape = tuple(shape)
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  (closed by `close`)

    def close(self):
        self._file.close()

    def read(self, top, left, rows, columns):
        window = np.empty((rows, columns, self.shape[2]), np.float32)
        for index in range(rows):
            self._seek(top + index, left)
            if self._file.readinto(memoryview(window[index]).cast("B")) != window[index].nbytes:
                raise OSError("a file for intermediate results is truncated")
        return window

    def write(self, top, left, values):
        for index, row in enumerate(np.ascontiguousarray(values, np.float32)):
            self._seek(top + index, left)
            if self._file.write(memoryview(row).cast("B")) != row.nbytes:
                raise OSError(errno.ENOSPC, "the disk is full")

    def blocks(self):
        """Yield (top, rows) from the top down, about 16 MB at a time."""
        rows = max(1, (4 << 20) // (self.shape[1] * self.shape[2]))
        for top in range(0, self.shape[0], rows):
            yield top, self.read(top, 0, min(rows, self.shape[0] - top), self.shape[1])

    def update(self, norm, residual=None):
        """Normalize and clip at zero; with a residual, add the normalized values to it instead."""
        scale, shift = norm
        for top, rows in self.blocks():
            if residual is None:
                rows = np.maximum(rows * scale + shift, 0)
            else:
                rows += residual.read(top, 0, len(rows), self.shape[1]) * scale + shift
            self.write(top, 0, rows)

    def _seek(self, row, column):
        self._file.seek(4 * self.shape[2] * (row * self.shape[1] + column))
