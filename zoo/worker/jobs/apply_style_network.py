"""Restyle images one after the other, as the host writes them.

The host writes images to the folder ``exchange``: ``0.npy``, ``1.npy``, ..., each uint8 (rows, columns, 3), followed
by ``end``. Results are ``0.done.npy``, ...; after each, the image is removed and an ``artifact`` event is emitted.
"""

import errno
import os
import time

import numpy as np

from zoo.models import compat, module_of
from zoo.worker import devices, weights
from zoo.worker.errors import UserError
from zoo.worker.files import atomic_write
from zoo.worker.inference import predictors, tiles
from zoo.worker.input_queue import ArrayQueueReader
from zoo.worker.style.painter import Painter


def run(request, events, stop, phases):
    """Restyle images until the host writes ``end``.

    The request's ``restyle`` part has the settings. A stop discards the current image. Phases are ``wait_s`` for the
    host and ``restyle_s`` in the network. ``s_per_megapixel`` excludes the first of several images, because most
    frameworks compile while they compute it.
    """
    settings, began = request.restyle, time.monotonic()
    predictors.prepare(devices.load(request.device.framework), settings.precision)
    network, arguments = module_of(request.model.name), request.model.args
    model = network.build(compat, initializer="zeros", **arguments)
    painter = None
    if hasattr(network, "build_predictor"):
        painter = Painter(model, request.weights, settings)
    else:
        weights.load(model, request.weights)
    phases["build_s"] = time.monotonic() - began
    job = _Job(model, network, network.stages(**arguments), settings, events, stop, painter)
    timed = list(job.all())
    phases.update(wait_s=job.inbox.waited_s, restyle_s=sum(took for _, took in timed))
    metrics = {"pictures": len(timed), "megapixels": sum(size for size, _ in timed) / 1e6}
    metrics["precision"] = settings.precision
    steady = timed[1:] or timed
    if timed:
        metrics["s_per_megapixel"] = sum(took for _, took in steady) / (sum(size for size, _ in steady) / 1e6)
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}


class _StopError(Exception):
    """Stopped in the middle of an image."""


class _Job:
    """Restyles the images of a request."""

    def __init__(self, model, network, chain, settings, events, stop, painter):
        self._model, self._network, self._chain, self._painter = model, network, chain, painter
        self._settings, self._events, self._stop = settings, events, stop
        self._at_once = devices.capabilities()["tiles_at_once"]
        self.inbox = ArrayQueueReader(settings.exchange, stop, lambda: self._report(0.0))

    def all(self):
        """Restyle all images; yield (pixels, seconds) of each."""
        for path in iter(self.inbox.next, None):
            began = time.monotonic()
            try:
                size = self._restyle(path)
            except _StopError:
                return
            except OSError as error:
                folder = self._settings.exchange
                problem = "cannot write to %s: %s" % (folder, error.strerror or error)
                if error.errno == errno.ENOSPC:
                    problem = "no space left in %s; a large image needs about 100 bytes per pixel" % folder
                raise UserError(problem) from error
            yield size, time.monotonic() - began

    def _restyle(self, path):
        pixels, done = np.load(path, mmap_mode="r", allow_pickle=False), path[: -len(".npy")] + ".done.npy"
        self._write(pixels, done)
        os.remove(path)
        self._report(1.0)
        self._events.emit("artifact", kind="picture", path=done, index=self.inbox.index)
        return pixels.shape[0] * pixels.shape[1]

    def _write(self, pixels, path):
        rows, columns = pixels.shape[:2]
        with atomic_write(path, durable=False) as out:
            header = {"descr": "|u1", "fortran_order": False, "shape": pixels.shape}
            np.lib.format.write_array_header_1_0(out, header)
            for top, part in self._restyled(_Padded(pixels, self._network)):
                part = part[: max(0, rows - top), :columns]
                out.write(np.ascontiguousarray(self._mixed(part, pixels[top : top + len(part)])).tobytes())

    def _mixed(self, part, photo):
        settings = self._settings
        if settings.colors == "content":
            part = recolored(part, photo)
        # The painter mixes styles instead of images, which avoids a double image.
        strength = 1.0 if self._painter else settings.strength
        return part if strength == 1 else tiles.to_pixels(strength * part + (1 - strength) * photo.astype(np.float32))

    def _restyled(self, picture):
        if self._painter:
            self._painter.look_at(picture.pixels)
        tile = self._settings.tile
        # A whole image is twice as fast as tiles, if it fits into memory.
        if picture.shape[0] * picture.shape[1] <= self._at_once * tile * tile:
            whole = picture.read(0, 0, *picture.shape)[None]
            return [(0, tiles.to_pixels(compat.outputs(self._model, whole)[0][0]))]
        scratch = self._settings.exchange
        colors = self._network.COLORS
        return tiles.restyle(self._model, self._chain, picture.read, picture.shape, scratch, tile, self._tick, colors)

    def _tick(self, share):
        if self._stop.asked:
            raise _StopError
        self._report(share)

    def _report(self, share):
        self._events.step(step=self.inbox.index + share, steps=self._settings.items)


class _Padded:
    """An image whose last row and column are repeated until both sides have a size that the network accepts."""

    def __init__(self, pixels, network):
        self.pixels, grain, least = pixels, tiles.GRAIN, network.LEAST_EDGE
        self.shape = tuple(max(least, -(-edge // grain) * grain) for edge in pixels.shape[:2])

    def read(self, top, left, rows, columns):
        part = self.pixels[top : top + rows, left : left + columns]
        missing = (rows - part.shape[0], columns - part.shape[1])
        part = np.pad(part, ((0, missing[0]), (0, missing[1]), (0, 0)), "edge") if any(missing) else part
        return np.asarray(part, np.float32)


def recolored(result, photo):
    """Return an image with the brightness of ``result`` and the colors of a photo of the same size.

    Gatys et al. 2016 (https://arxiv.org/abs/1606.05897), luminance-only transfer: the same change in all three colors
    changes only the luma of Y'CbCr.
    """
    photo = np.asarray(photo, np.float32)
    luma = np.array([0.299, 0.587, 0.114], np.float32)
    return tiles.to_pixels(photo + (result.dot(luma) - photo.dot(luma))[:, :, None])
