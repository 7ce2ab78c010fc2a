"""Run processes that decode images into the rows of an array on disk.

They are started by path and exchange lines of JSON, so scripts without a main guard, notebooks and tests can use
them. A crash of a decoder loses one image, not the run.
"""

import errno
import json
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypedDict

from zoo.core import paths
from zoo.core.arrays import np
from zoo.core.errors import ZooError
from zoo.data.images import decode as image_decode

CODE = "import sys; sys.path.insert(0, sys.argv[1]); from zoo.data.images import decode_pool; decode_pool.serve()"
BROKE_DOWN = "the decoder broke down over it"
MOST_PROCESSES = 32
READY = "ready\n"

Answers = list[tuple[int, str]]


class Request(TypedDict):
    """Images for one process.

    Attributes:
        array: .npy file of uint8, (n, size, size, 3), to write to.
        size: edge in pixels.
        resize: see :class:`zoo.data.images.reading.Reading`.
        files: the (row, path) of each image.
    """

    array: str
    size: int
    resize: str
    files: list[tuple[int, str]]


def decode_all(requests: list[Request]) -> Iterator[Answers]:
    """Decode files with as many processes as there are processors.

    Yields:
        For every finished request, (row, reason why it stays empty, or "").

    Raises:
        OSError: the array cannot be written.
    """
    count = min(processors(), len(requests))
    idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
    processes = [_Process() for _ in range(count)]
    for process in processes:
        idle.put(process)

    def ask(request: Request) -> Answers:
        process = idle.get()
        try:
            return _ask(process, request)
        finally:
            idle.put(process)

    pool = ThreadPoolExecutor(max(1, count))
    try:
        for future in as_completed([pool.submit(ask, request) for request in requests]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        for process in processes:
            process.end()


def processors() -> int:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(count or 1, MOST_PROCESSES)


def _ask(process: "_Process", request: Request) -> Answers:
    answer, files = process.ask(request), request["files"]
    if answer is not None:
        return answer
    if len(files) == 1:
        return [(files[0][0], BROKE_DOWN)]
    return [pair for one in files for pair in _ask(process, {**request, "files": [one]})]


class _Process:
    """A decoding process, started on first use and after a crash."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[str] | None = None

    def ask(self, request: Request) -> Answers | None:
        self._running = self._running or _started()
        assert self._running.stdin is not None  # noqa: S101  (a pipe)
        assert self._running.stdout is not None  # noqa: S101
        try:
            self._running.stdin.write(json.dumps(request) + "\n")
            self._running.stdin.flush()
            line = self._running.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._running.wait()
            self._running = None
            return None
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise OSError(answer["errno"], answer["strerror"])
        return [(row, reason) for row, reason in answer]

    def end(self) -> None:
        if self._running is not None:
            self._running.communicate()


def _started() -> "subprocess.Popen[str]":
    command = [sys.executable, "-P", "-B", "-c", CODE, str(paths.PACKAGE.parent)]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None  # noqa: S101  (a pipe)
    if running.stdout.readline() != READY:
        raise ZooError("Cannot start a process that decodes images", "Its output is shown above.")
    return running


def serve() -> None:
    """Answer requests in a decoding process. Ctrl-C is handled by its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _answer(READY)
    for line in sys.stdin:
        request: Request = json.loads(line)
        try:
            answer: Any = decode(request)
        except OSError as error:
            answer = {"errno": error.errno or errno.EIO, "strerror": error.strerror or str(error)}
        _answer(json.dumps(answer) + "\n")


def _answer(line: str) -> None:
    try:
        sys.stdout.write(line)
        sys.stdout.flush()
    except BrokenPipeError:  # the host has ended; Python would report the error again at exit
        os._exit(1)


def decode(request: Request) -> Answers:
    """Decode the files of one request into their rows; raise OSError if the array cannot be written."""
    array, size = Path(request["array"]), request["size"]
    begin = np.load(array, mmap_mode="r").offset
    answers = []
    with array.open("rb+", buffering=0) as stream:
        for row, path in request["files"]:
            reason = ""
            try:
                pixels = image_decode.decode(Path(path), (size, size), request["resize"])
                stream.seek(begin + row * pixels.nbytes)
                if stream.write(pixels.tobytes()) != pixels.nbytes:
                    raise OSError(errno.ENOSPC, "not enough space for the decoded image")
            except image_decode.UnreadableError as error:
                reason = str(error)
            answers.append((row, reason))
    return answers
