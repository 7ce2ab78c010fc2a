"""Pass images to the worker and receive the results: decode, compute and encode at the same time.

Results are encoded as they arrive, so that an interrupted run keeps its completed results.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from zoo.core import console
from zoo.core.arrays import Bytes, np
from zoo.data.images import decode, files, video
from zoo.execution.array_queue import ArrayQueue
from zoo.protocol.events import ArtifactEvent, Event
from zoo.tasks.style_transfer import images

AHEAD = 2


@dataclass(frozen=True)
class Item:
    """An image or video, and the path of its result."""

    source: Path
    target: Path


@dataclass
class _Film:
    """An image or video in progress, and its completed frames."""

    item: Item
    metadata: files.ImageMetadata
    done: list[Path]
    clip: video.Video | None = None
    writer: video.Writer | None = None
    complete: bool = False


class ImagePipeline:
    """Passes images through the worker; see ``zoo/worker/jobs/apply_style_network.py`` for the files.

    Args:
        size: longer side of the results in pixels; 0 keeps the size of the images.

    Attributes:
        queue: a context manager that passes arrays to the worker.
        written: completed results.
        skipped: (file, reason) of unusable images.
    """

    def __init__(self, items: list[Item], folder: Path, size: int = 0) -> None:
        self.written: list[Path] = []
        self.skipped: list[tuple[str, str]] = []
        self.queue = ArrayQueue(folder, AHEAD, self._feed)
        self._items, self._size = items, size
        self._owners: dict[int, _Film] = {}
        self._film: _Film | None = None

    def take(self, event: Event) -> None:
        """Encode a result that the worker announces."""
        if not isinstance(event, ArtifactEvent) or event.kind != "picture" or event.index is None:
            return
        film = self._owners.pop(event.index)
        if film is not self._film:
            self._finish()
            self._film = film
        film.done.append(Path(event.path))
        if film.clip is not None:  # encoded at once, because all frames as arrays could fill the disk
            film.writer = film.writer or video.Writer(film.item.target, film.clip)
            film.writer.add(np.load(film.done[-1], allow_pickle=False))
            film.done[-1].unlink()
        elif len(film.done) == max(1, len(film.metadata.durations)):
            self._finish()
        self.queue.task_done()

    def close(self) -> None:
        """Finish an incomplete video and report errors, after the worker has ended."""
        film = self._film
        if film and not film.complete:
            frames = len(film.metadata.durations) or (film.clip.count if film.clip else None) or "more"
            console.warn(f"{film.item.target} has {len(film.done)} of {frames} frames")
        self._finish()
        self.queue.check()

    def _finish(self) -> None:
        film, self._film = self._film, None
        if film is None:
            return
        if film.writer is not None:
            film.writer.close()
        else:
            metadata = replace(film.metadata, durations=film.metadata.durations[: len(film.done)])
            pictures = (np.load(path, allow_pickle=False) for path in film.done)
            files.write(film.item.target, pictures, metadata)
            for path in film.done:
                path.unlink()
        self.written.append(film.item.target)

    def _feed(self, queue: ArrayQueue) -> None:
        """Decode all images; runs in its own thread."""
        for item in self._items:
            try:
                self._hand_over(item, queue)
            except decode.UnreadableError as reason:
                self.skipped.append((str(item.source), str(reason)))
                console.warn(f"Skipped {item.source}: {reason}")

    def _hand_over(self, item: Item, queue: ArrayQueue) -> None:
        if video.describes(item.source):
            source = video.opened(item.source)
            film = _Film(item, files.ImageMetadata(), [], source)
            for frame in video.frames(source):
                self._put(frame, film, queue)
            film.complete = True
            return
        metadata, frames = files.open_image(item.source)
        if metadata.durations and item.target.suffix.lower() not in files.MOVING:
            console.warn(f"{item.target.suffix} cannot be animated: only the first frame of {item.source} is used")
            metadata = replace(metadata, durations=())
        film = _Film(item, metadata, [])
        for frame in frames:
            self._put(frame, film, queue)
            if not metadata.durations:
                break

    def _put(self, frame: "Bytes", film: _Film, queue: ArrayQueue) -> None:
        scaled = images.fitted(frame, self._size) if self._size else frame
        queue.put(scaled, lambda number: self._owners.update({number: film}))
