"""Run programs that end, with all that they started, when this process ends, however that happens."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zoo.protocol.variables import WATCH_HOST

# What is left to a command to stop in order once its starter is gone.
LAST_S = 60.0

# Runs between this process and the program: leads their process group, and ends it when the pipe is closed. No signal
# tells of the end of a parent that was killed, and only Linux could be asked for one.
GUARD = """
import os, signal, subprocess, sys, threading, time
pipe, ending = int(sys.argv[1]), threading.Event()
def end_with_host():
    os.read(pipe, 1)
    ending.set()
    os.killpg(0, signal.SIGTERM)
    time.sleep(2)
    os.killpg(0, signal.SIGKILL)
signal.signal(signal.SIGTERM, lambda *_: None)
threading.Thread(target=end_with_host, daemon=True).start()
code = subprocess.Popen(sys.argv[2:]).wait()
if ending.is_set():
    os.killpg(0, signal.SIGKILL)
if code < 0:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextlib.contextmanager
def death_pipe() -> Iterator[tuple[int, int]]:
    """Give both ends of a pipe: one for a child, which can read it once this process is gone, and ours.

    The child's is closed here when the block is left; ours too where the block fails.
    """
    theirs, ours = os.pipe()
    try:
        yield theirs, ours
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)


@contextlib.contextmanager
def running(command: list[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start a program without standard input; when the block is left it has ended, with all of its group.

    Args:
        command: program and arguments.
        options: as for :class:`subprocess.Popen`; output is text.
    """
    with death_pipe() as (theirs, ours):
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", GUARD, str(theirs), *command], stdin=subprocess.DEVNULL, text=True,
            encoding="utf-8", errors="replace", start_new_session=True, pass_fds=[theirs], **options,
        )  # fmt: skip
    try:
        yield process
    finally:
        os.close(ours)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


@contextlib.contextmanager
def handling(handlers: Mapping[int, Callable[[int, Any], Any]]) -> Iterator[None]:
    """Handle signals while inside, by their numbers; only the main thread of a process can."""
    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def end_with_starter() -> None:
    """Stop this process in order when the one that started it is gone, where that one asked for it."""
    handle = os.environ.pop(WATCH_HOST, "")
    if handle.isdigit():
        threading.Thread(target=_watch, args=(int(handle),), daemon=True).start()


def _watch(handle: int) -> None:
    with contextlib.suppress(OSError):  # closed by somebody else: nothing tells of the end then
        while os.read(handle, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(LAST_S)
        os.kill(os.getpid(), signal.SIGKILL)
