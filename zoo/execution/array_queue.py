"""A queue of arrays for the worker: files ``0.npy``, ``1.npy``, ..., and ``end`` after the last.

A thread writes them and waits once it is some way ahead, so neither memory nor the disk fills up.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from zoo.core.files import atomic_file, storage_error

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ClosedError(Exception):
    """The worker takes no more arrays."""


class ArrayQueue:
    """A bounded queue of arrays in files, from a thread of the host to the worker.

    Args:
        folder: where the files go.
        ahead: how many may lie there untaken.
        feed: run in the thread; calls :meth:`put` for every array.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._over.set()
        self._free.release()  # the thread may be waiting for its turn
        self._thread.join()

    def put(self, array: "NDArray[Any]", taken_note: Callable[[int], None] | None = None) -> None:
        """Lay down an array once there is room; runs in the thread.

        Args:
            array: what the worker gets.
            taken_note: called with the array's number before the worker can see it.

        Raises:
            ClosedError: the worker is gone.
        """
        import numpy as np

        self._free.acquire()
        if self._over.is_set():
            raise ClosedError
        if taken_note:
            taken_note(self._index)
        with atomic_file(self._folder / f"{self._index}.npy") as part, part.open("wb") as out:
            np.save(out, array, allow_pickle=False)
        self._index += 1

    def task_done(self) -> None:
        """The worker is done with one; the next may be laid down."""
        self._free.release()

    def check(self) -> None:
        """Raise what stopped the thread, if anything did."""
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
