"""Decode many image files once, with several processes, into one array on disk.

During decoding, ``.NAME.part`` contains the array and the state of each image, so an interrupted process can resume.
"""

import dataclasses
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

from zoo.core import console, paths, planning
from zoo.core.arrays import NDArray, np
from zoo.core.errors import StorageError, ZooError
from zoo.core.files import FULL, atomic_file, atomic_write, is_sealed, locked, remove, seal, storage_error
from zoo.data.images import decode_pool

# Part of every name: increase it when the same file is decoded to different pixels.
CACHE_VERSION = 3
ARRAY, STATE, REASONS = "pictures.npy", "state.npy", "reasons.json"
OPEN, GOOD, BAD = 0, 1, 2
CHUNK = 32


@dataclasses.dataclass(frozen=True)
class Cached:
    """Decoded images.

    Attributes:
        pictures: .npy file, uint8 (n, size, size, 3).
        usable: whether the row contains an image.
        reasons: row -> why it has no image.
    """

    pictures: Path
    usable: "NDArray[np.bool_]"
    reasons: dict[int, str]


def ensure(root: Path, names: list[str], sums: list[str], size: int, resize: str) -> Cached:
    """Return the images of some files, decoded now or earlier: to ``size`` pixels in each direction.

    ``sums`` are the checksums of the contents; for ``resize`` see :class:`zoo.data.images.reading.Reading`.
    """
    key = hashlib.sha256("\n".join([f"{CACHE_VERSION} {size} {resize}", *sums]).encode()).hexdigest()
    folder = paths.cache_dir() / "data" / f"pictures-{key[:16]}"
    if not is_sealed(folder):
        planning.stop("the images are not decoded yet")
        with locked(folder.with_name(f".{folder.name}.lock"), "decodes these images"):
            if not is_sealed(folder):
                _make(folder, root, names, size, resize)
    done = _stored(folder)
    return Cached(folder / ARRAY, done.state == GOOD, done.reasons)


def rows(path: Path, chosen: "NDArray[np.int64]") -> "NDArray[np.uint8]":
    """Copy some rows. The file is mapped only during the call, because mapped pages count as used memory."""
    mapped: NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped[chosen]


def _make(folder: Path, root: Path, names: list[str], size: int, resize: str) -> None:
    """Decode into the folder's ``.part``, resuming an earlier process. The caller holds the lock."""
    part = folder.with_name(f".{folder.name}.part")
    try:
        if folder.is_dir():
            console.warn(f"The decoded images in {folder} were damaged; they are decoded again")
            remove(folder)
        _decode_all(part, _begin(part, len(names), size), root, names, size, resize)
        seal(part)
        os.replace(part, folder)
    except (OSError, ZooError) as error:
        cause = error.__cause__ if isinstance(error, StorageError) else error
        if not isinstance(cause, OSError):
            raise
        if cause.errno in FULL:  # a kept part would take up space on a full disk
            shutil.rmtree(part, ignore_errors=True)
        raise storage_error("write", part, cause) from error


@dataclasses.dataclass
class _Done:
    """Progress of the decoding: the state of each row."""

    state: "NDArray[np.uint8]"
    reasons: dict[int, str]

    def save(self, part: Path) -> None:
        """Write the state to disk, after the images themselves."""
        with (part / ARRAY).open("rb+") as stream:
            os.fsync(stream.fileno())
        atomic_write(part / REASONS, json.dumps(self.reasons))
        with atomic_file(part / STATE) as state, state.open("wb") as stream:
            np.save(stream, self.state)


def _stored(folder: Path) -> _Done:
    state = np.load(folder / STATE, allow_pickle=False)
    reasons = json.loads((folder / REASONS).read_text(encoding="utf-8"))
    return _Done(state, {int(row): str(reason) for row, reason in reasons.items()})


def _begin(part: Path, count: int, size: int) -> _Done:
    try:
        done = _stored(part)
        if len(done.state) == count and np.load(part / ARRAY, mmap_mode="r").shape == (count, size, size, 3):
            if done.state.any():
                console.say(f"Continuing: {np.count_nonzero(done.state):,} images are decoded already")
            return done
    except (OSError, ValueError, EOFError):  # not started, or incomplete
        pass
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    need, free = count * size * size * 3, shutil.disk_usage(part).free
    if need > free:
        shutil.rmtree(part)
        raise ZooError(
            f"The decoded images need {need / 1e6:,.1f} MB in {part.parent}, but only {free / 1e6:,.1f} MB are free",
            "Free some space, choose smaller images (model.input_size), or move the cache: ZOO_CACHE=FOLDER.",
        )
    np.lib.format.open_memmap(part / ARRAY, mode="w+", dtype=np.uint8, shape=(count, size, size, 3))
    return _Done(np.zeros(count, np.uint8), {})


def _decode_all(part: Path, done: _Done, root: Path, names: list[str], size: int, resize: str) -> None:
    left = np.flatnonzero(done.state == OPEN)
    files = [(int(row), str(root / names[row])) for row in left]
    requests: list[decode_pool.Request] = [
        {"array": str(part / ARRAY), "size": size, "resize": resize, "files": files[begin : begin + CHUNK]}
        for begin in range(0, len(files), CHUNK)
    ]
    saved = time.monotonic()
    try:
        with console.bar(f"Decoding {len(names):,} images to {size} x {size}", len(left)) as bar:
            for answers in decode_pool.decode_all(requests):
                for row, reason in answers:
                    done.state[row] = BAD if reason else GOOD
                    if reason:
                        done.reasons[row] = reason
                bar.advance(len(answers))
                if time.monotonic() - saved > 10:
                    done.save(part)
                    saved = time.monotonic()
    finally:
        done.save(part)
