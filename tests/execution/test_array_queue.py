"""zoo.execution.array_queue: arrays reach the worker in order, a bounded number ahead."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from zoo.core.errors import StorageError
from zoo.execution.array_queue import ArrayQueue


def until(folder: Path, count: int) -> list[str]:
    """Wait for so many files; return the names of all."""
    deadline = time.monotonic() + 10
    while len(list(folder.glob("*.npy"))) < count and time.monotonic() < deadline:
        time.sleep(0.001)
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".part"))


def test_files_are_written_ahead_and_the_end_is_marked(tmp_path: Path) -> None:
    noted: list[int] = []

    def feed(queue: ArrayQueue) -> None:
        for number in range(4):
            queue.put(np.array([number]), noted.append)

    with ArrayQueue(tmp_path, 2, feed) as queue:
        assert until(tmp_path, 2) == ["0.npy", "1.npy"]
        queue.task_done()
        assert until(tmp_path, 3) == ["0.npy", "1.npy", "2.npy"]
        assert not (tmp_path / "end").exists()
        queue.task_done()
        queue._thread.join(10)
        queue.check()
    assert until(tmp_path, 4) == ["0.npy", "1.npy", "2.npy", "3.npy", "end"]
    assert [int(np.load(tmp_path / f"{number}.npy")[0]) for number in range(4)] == noted == [0, 1, 2, 3]


def test_a_worker_that_ends_frees_the_thread(tmp_path: Path) -> None:
    def feed(queue: ArrayQueue) -> None:
        while True:
            queue.put(np.zeros(1))

    before = threading.active_count()
    with ArrayQueue(tmp_path, 1, feed):
        until(tmp_path, 1)
    assert threading.active_count() <= before
    assert until(tmp_path, 1) == ["0.npy"]


@pytest.mark.parametrize(("error", "raised", "words"), [
    (ValueError("torn"), ValueError, "torn"),
    (OSError(28, "No space left on device"), StorageError, "No space left on device"),
])  # fmt: skip
def test_an_error_of_the_thread_is_raised_for_the_host(
    tmp_path: Path, error: Exception, raised: type[Exception], words: str
) -> None:
    def feed(queue: ArrayQueue) -> None:
        raise error

    with ArrayQueue(tmp_path, 1, feed) as queue:
        queue._thread.join(10)
        with pytest.raises(raised, match=words):
            queue.check()
    assert until(tmp_path, 0) == ["end"]
