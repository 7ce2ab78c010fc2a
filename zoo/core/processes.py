"""Run child processes that end, with all their descendants, when this process ends for any reason."""

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

# Time that a command has for a clean stop after its parent has ended.
LAST_S = 60.0

# Runs between this process and the program: leads their process group, and ends it when the pipe closes. No signal
# reports that a parent was killed, and only Linux has a call for it.
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
    """Yield both ends of a pipe: the child's, which becomes readable when this process ends, and ours.

    The child's end is closed here when the block ends, and ours if the block fails.
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
    """Start a program without standard input; end its process group when the block ends. Output is text."""
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


# Ends a process if its parent ends without writing to the pipe.
_WATCHER = """
import os, signal, sys, time
if not os.read(int(sys.argv[1]), 1):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(int(sys.argv[2]), number)
        except OSError:
            break
        time.sleep(2)
"""


@contextlib.contextmanager
def ended_with_us(pid: int) -> Iterator[None]:
    """End a child process if this one is killed inside the block; the child keeps its terminal and group."""
    with death_pipe() as (theirs, ours):
        watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCHER, str(theirs), str(pid)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, pass_fds=[theirs],
        )  # fmt: skip
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError):
            os.write(ours, b".")
        os.close(ours)
        watcher.wait()


@contextlib.contextmanager
def handling(handlers: Mapping[int, Callable[[int, Any], Any]]) -> Iterator[None]:
    """Handle signals, by number, inside the block. Only the main thread can; other threads ignore it."""
    handled = handlers.items() if threading.current_thread() is threading.main_thread() else ()
    previous = {number: signal.signal(number, handler) for number, handler in handled}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def end_with_starter() -> None:
    """Stop this process cleanly when its parent has ended, if the parent requested it."""
    handle = os.environ.pop(WATCH_HOST, "")

    def watch() -> None:
        with contextlib.suppress(OSError):  # closed by other code: the end cannot be detected
            while os.read(int(handle), 1024):
                pass
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(LAST_S)
            os.kill(os.getpid(), signal.SIGKILL)

    if handle.isdigit():
        threading.Thread(target=watch, daemon=True).start()
