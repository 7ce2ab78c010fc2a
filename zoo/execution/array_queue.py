"""A bounded queue of arrays for the worker: files ``0.npy``, ``1.npy``, ..., and ``end`` after the last.

A thread writes the files ahead of the worker; the bound limits memory and disk use.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.core.arrays import NDArray, np
from zoo.core.files import atomic_file, storage_error


class ClosedError(Exception):
    """The worker accepts no more arrays."""


class ArrayQueue:
    """A bounded queue of array files from a host thread to the worker.

    Args:
        ahead: largest number of waiting files.
        feed: runs in the thread; calls :meth:`put` for every array.
    """

    def __init__(self, folder: Path, ahead: int, feed: "Callable[[ArrayQueue], None]") -> None:
        self._folder, self._feed, self._index = folder, feed, 0
        self._free = threading.Semaphore(ahead)
        self._over = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "ArrayQueue":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._free.release()  # the thread may be waiting
        self._thread.join()

    def put(self, array: "NDArray[Any]", taken_note: Callable[[int], None] | None = None) -> None:
        """Write an array when there is room; raise ClosedError if the worker has ended. Called by the thread.

        ``taken_note`` is called with the array's number before the worker can see the file.
        """
        self._free.acquire()
        if self._over.is_set():
            raise ClosedError
        if taken_note:
            taken_note(self._index)
        with atomic_file(self._folder / f"{self._index}.npy") as part, part.open("wb") as out:
            np.save(out, array, allow_pickle=False)
        self._index += 1

    def task_done(self) -> None:
        self._free.release()

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._feed(self)
        except ClosedError:
            return
        except Exception as error:  # raised by check(), in the main thread
            self._failure = storage_error("write", self._folder, error) if isinstance(error, OSError) else error
        (self._folder / "end").touch()
