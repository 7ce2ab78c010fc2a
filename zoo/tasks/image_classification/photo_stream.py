"""Decode images in threads while the network computes, into memory that host and worker share.

Memory use does not depend on the number of images: only a few batches are in memory at a time.
"""

import contextlib
import itertools
import json
import os
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zoo.core import console
from zoo.core.arrays import Bytes, NDArray, np
from zoo.core.download import in_thread
from zoo.core.errors import ZooError
from zoo.core.paths import existing_input, user_path
from zoo.data.images import decode, reading
from zoo.protocol.events import BatchEvent, Event, ReadyEvent
from zoo.protocol.request import StreamPart

KINDS = f"Give an image ({decode.NAMES}), a folder of images, or - to read paths from standard input."
SLOTS = 3
THUMB = 224
# Number of images decoded in advance, per thread.
AHEAD = 2


@dataclass(frozen=True)
class Picture:
    """A decoded image: its name, its pixels at the size of the network, and an optional thumbnail."""

    name: str
    pixels: "Bytes"
    thumb: "Bytes | None"


# Called with an image and its outputs.
Take = Callable[[Picture, "NDArray[np.float32]"], None]
# The name of a file that is not a usable image, and the reason.
Skipped = tuple[str, str]


class PhotoStream:
    """Decodes images for a worker and receives the predictions.

    Args:
        names: (name to show, path) of every image, in order.
        size: (height, width) of the network's input.
        batch: largest number of images in a batch.
        resize: see :class:`zoo.data.images.reading.Reading`.
        thumbs: number of images, from the first, that get a thumbnail.
        take: called in order with each image and its probabilities, (classes,) float32.
        skip: called with every unusable file.
    """

    def __init__(
        self, names: Iterable[tuple[str, Path]], size: tuple[int, int], batch: int, resize: str, thumbs: int,
        take: "Take", skip: Callable[[Skipped], None],
    ) -> None:  # fmt: skip
        self._how, self._batch, self._thumbs = reading.photo(size, resize), batch, thumbs
        self._take, self._skip = take, skip
        threads = max(2, os.cpu_count() or 2)
        self._pool, self._ahead = ThreadPoolExecutor(threads, "decode"), AHEAD * threads
        self._decoded = self._decode(iter(names))
        self._waiting: dict[int, list[Picture]] = {}
        # A SimpleQueue is reentrant, so that signal handlers can use it.
        self._free: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._ended = False
        self._files: list[Path] = []
        self._filling: Future[None] | None = None
        self._began = self._ready = self._last = 0.0
        self.ahead_s = 0.0
        self.taken = 0

    def prime(self) -> bool:
        """Decode until there is an image; return False if no file is usable."""
        self._began = time.monotonic()
        for photo in self._decoded:
            if isinstance(photo, Picture):
                self._decoded = itertools.chain([photo], self._decoded)
                self.ahead_s = time.monotonic() - self._began
                return True
            self._skip(photo)
        return False

    def share(self, folder: Path, classes: int, items: int | None, precision: str) -> StreamPart:
        """Create the files that host and worker map into memory; return the part of the request with their paths.

        With 0 classes, the worker returns only the number of completed images.
        """
        shape = (SLOTS, self._batch, self._how.height, self._how.width, 3)
        pixels, answers = folder / "pixels.ring", folder / "probabilities.ring" if classes else None
        self._files = [pixels, answers] if answers else [pixels]
        self._pixels = np.memmap(pixels, np.uint8, "w+", shape=shape)
        kept = (SLOTS, self._batch, classes)
        self._answers = np.memmap(answers, np.float32, "w+", shape=kept) if answers else np.empty(kept, np.float32)
        for slot in range(SLOTS):
            self._free.put(slot)
        return StreamPart(
            pixels=str(pixels), probabilities=str(answers) if answers else None, shape=list(shape), classes=classes,
            items=items, precision=precision,
        )  # fmt: skip

    # -- what the runner calls

    def begin(self, stdin: IO[bytes]) -> None:
        """Start to fill slots and announce each to the worker."""
        self._filling = in_thread(lambda: self._fill(stdin))

    def event(self, event: Event) -> None:
        """Handle an event: process the predictions of a slot and free it."""
        if isinstance(event, ReadyEvent):
            self._ready = time.monotonic()
        elif isinstance(event, BatchEvent) and event.slot is not None:
            slot = event.slot
            for picture, probabilities in zip(self._waiting.pop(slot), self._answers[slot], strict=False):
                self._take(picture, probabilities)
                self.taken += 1
            self._last = time.monotonic()
            self._free.put(slot)

    def stop(self) -> None:
        """Stop decoding and close the worker's input."""
        self._ended = True
        self._free.put(None)

    def close(self) -> None:
        """Clean up; raise the error that stopped decoding, if any."""
        self.stop()
        if self._filling is not None:
            wait([self._filling])
        self._pool.shutdown(cancel_futures=True)
        for path in self._files:
            with contextlib.suppress(OSError):
                path.unlink()
        if self._filling is not None:
            self._filling.result()

    @property
    def end_to_end_s(self) -> float:
        """Seconds from the first file to the last prediction, without the start of the worker.

        The time of decoding during that start is included.
        """
        return max(1e-9, self._last - self._ready + self.ahead_s) if self.taken else 0.0

    # -- decoding

    def _decode(self, names: Iterator[tuple[str, Path]]) -> Iterator[Picture | Skipped]:
        pending: deque[Future[Picture | Skipped]] = deque()
        for number, (name, path) in enumerate(names):
            pending.append(self._pool.submit(self._one, name, path, number < self._thumbs))
            if len(pending) >= self._ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def _one(self, name: str, path: Path, thumb: bool) -> Picture | Skipped:
        try:
            return Picture(name, *decode.read_with_thumb(path, self._how, THUMB if thumb else 0))
        except decode.UnreadableError as reason:
            return name, shown(str(reason))

    def _fill(self, stdin: IO[bytes]) -> None:
        batches = self._batches()
        with contextlib.suppress(BrokenPipeError), stdin:  # the worker is gone; the runner reports why
            while not self._ended:
                slot = self._free.get()
                began = time.monotonic()
                chosen = next(batches, [])
                if slot is None or not chosen:
                    return
                for place, picture in enumerate(chosen):
                    self._pixels[slot, place] = picture.pixels
                if not self._ready:
                    self.ahead_s += time.monotonic() - began
                # From here on, only the thumbnail is needed.
                self._waiting[slot] = [Picture(each.name, each.pixels[:0], each.thumb) for each in chosen]
                stdin.write(json.dumps({"slot": slot, "count": len(chosen)}).encode() + b"\n")
                stdin.flush()

    def _batches(self) -> Iterator[list[Picture]]:
        batch: list[Picture] = []
        for photo in self._decoded:
            if not isinstance(photo, Picture):
                self._skip(photo)
                continue
            batch.append(photo)
            if len(batch) == self._batch:
                yield batch
                batch = []
            if self._ended:
                return
        if batch:
            yield batch


@dataclass(frozen=True)
class Listed:
    """The images of ``input=``.

    Attributes:
        names: (name to show, path) of each image; an iterator.
        count: number of images; None if unknown.
        closed: folders that cannot be listed.
    """

    names: Iterator[tuple[str, Path]]
    count: int | None
    closed: list[Skipped]


def listed(source: str, lines: Callable[[], Iterable[bytes]] = tuple) -> Listed:
    """Find the images of ``input=``, with the names of at most one folder in memory.

    Args:
        source: an image, a folder, or ``-``.
        lines: function that returns the paths for ``-``, in bytes because a path may not be valid text.
    """
    if source == "-":
        given = (os.fsdecode(line).rstrip("\r\n") for line in lines())
        return Listed(((shown(line), _given(line)) for line in given if line.strip()), None, [])
    path = existing_input(source, KINDS)
    if path.is_file():
        return Listed(iter([(shown(path.name), path)]), 1, [])
    closed: list[tuple[str, str]] = []
    count = sum(1 for _ in decode.iter_images(path, closed))
    if not count:
        shut = "".join(f"\n  {name}: {reason}" for name, reason in closed[:10])
        raise ZooError(f"No images in {path}{shut}", KINDS)
    skipped = [(shown(name), reason) for name, reason in closed]
    return Listed(((shown(name), path / name) for name in decode.iter_images(path)), count, skipped)


def _given(line: str) -> Path:
    """Return the path in a line; invalid paths are skipped later, like missing files."""
    try:
        return user_path(line)
    except ZooError:
        return Path(line)


def shown(name: str) -> str:
    """Return a printable name, with escapes for control characters and for bytes that are not UTF-8."""
    return console.escape_controls(name, keep="")
