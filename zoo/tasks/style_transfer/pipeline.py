"""Handing pictures to the worker and taking them back: decoding, computing and encoding at the same time.

Results are encoded as they come, so what is done is done when the run is stopped.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from zoo.core import console
from zoo.data.images import decode, files
from zoo.runs.array_queue import ArrayQueue
from zoo.runs.event_log import Event

AHEAD = 2


@dataclass(frozen=True)
class Item:
    """A picture, still or moving, and where its result goes."""

    source: Path
    target: Path


@dataclass
class _Film:
    """A picture that is being restyled, and the frames of it that are done."""

    item: Item
    metadata: files.ImageMetadata
    done: list[Path]


class ImagePipeline:
    """The way of some pictures through the worker; see ``zoo/worker/restyle.py`` for the files.

    Attributes:
        queue: where they are laid down; to be entered.
        written: results that are in their place.
        skipped: (file, reason) of pictures that could not be used.
    """

    def __init__(self, items: list[Item], folder: Path) -> None:
        self.written: list[Path] = []
        self.skipped: list[tuple[str, str]] = []
        self.queue = ArrayQueue(folder, AHEAD, self._feed)
        self._items = items
        self._owners: dict[int, _Film] = {}
        self._film: _Film | None = None

    def take(self, event: Event) -> None:
        """Encode a result that the worker announces.

        Raises:
            ZooError: it cannot be written.
        """
        if event["event"] != "artifact" or event.get("kind") != "picture":
            return
        film = self._owners.pop(int(event["index"]))
        if film is not self._film:
            self._finish()
            self._film = film
        film.done.append(Path(event["path"]))
        if len(film.done) == max(1, len(film.metadata.durations)):
            self._finish()
        self.queue.task_done()

    def close(self) -> None:
        """Once the worker is gone: encode what there is of a film that broke off, and tell what went wrong.

        Raises:
            ZooError: the pictures could not be handed over, or the film cannot be written.
        """
        film = self._film
        if film:
            console.warn(f"{film.item.target} has {len(film.done)} of {len(film.metadata.durations)} frames")
        self._finish()
        self.queue.check()

    def _finish(self) -> None:
        """Put the picture that is done where it belongs."""
        film, self._film = self._film, None
        if film is None:
            return
        import numpy as np

        metadata = replace(film.metadata, durations=film.metadata.durations[: len(film.done)])
        pictures = (np.load(path, allow_pickle=False) for path in film.done)
        files.write(film.item.target, pictures, metadata)
        self.written.append(film.item.target)
        for path in film.done:
            path.unlink()

    def _feed(self, queue: ArrayQueue) -> None:
        """Decode all pictures; runs in a thread of its own."""
        for item in self._items:
            try:
                self._hand_over(item, queue)
            except decode.UnreadableError as reason:
                self.skipped.append((str(item.source), str(reason)))
                console.warn(f"Left out {item.source}: {reason}")

    def _hand_over(self, item: Item, queue: ArrayQueue) -> None:
        metadata, frames = files.open_image(item.source)
        if metadata.durations and item.target.suffix.lower() not in files.MOVING:
            console.warn(f"{item.target.suffix} stands still: only the first frame of {item.source} is used")
            metadata = replace(metadata, durations=())
        film = _Film(item, metadata, [])
        for frame in frames:
            queue.put(frame, lambda number: self._owners.update({number: film}))
            if not metadata.durations:
                break
