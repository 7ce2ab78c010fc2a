"""Run a user's script in a stack like plain Python, and explain its failure."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import subprocess
import termios
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

from zoo.core import console, processes, uses
from zoo.core.errors import ZooError
from zoo.environments import store
from zoo.execution.proven_stack import ProvenStack, unusual_keras_settings
from zoo.explain import known_issues

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
# Signals that a terminal sends to the script and to this process.
OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
# Signals that end a script on purpose and need no explanation.
ON_PURPOSE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT)
MISSING = re.compile(r"^(?:ModuleNotFound|Import)Error: No module named '?(\w+)'?$", re.MULTILINE)
# Longest wait for children of the process that keep the stream open.
DRAIN_S = 0.5
# Names of packages that differ from the name of their module.
PACKAGES = {"PIL": "pillow", "cv2": "opencv-python-headless", "skimage": "scikit-image", "sklearn": "scikit-learn",
            "yaml": "pyyaml"}  # fmt: skip


def run(stack: ProvenStack, words: Sequence[str]) -> int:
    """Run the stack's Python with the arguments ``words``, on this process's terminal, input and output.

    Without arguments, Python opens an interactive prompt. Return its exit status, or 128 plus the number of a signal.
    """
    variables, dropped = stack.variables()
    if dropped:
        console.say(f"Removed or replaced, because they would change the stack: {', '.join(dropped)}")
    for name, value in unusual_keras_settings().items():
        console.warn(f"keras.json in your home folder sets {name} to {value!r}")
    command = [str(stack.environment.python), *words]
    with store.in_use(stack.environment):
        if all(word.startswith("-") and word != "-" for word in words):  # a prompt needs its own lines
            code = _wait(command, variables, None)
        else:
            copy = StderrCopy()
            copy.resize()
            with processes.handling({signal.SIGWINCH: copy.resize}):
                code = _wait(command, variables, copy)
            _explain(stack, code, copy.finish())
    return 128 - code if code < 0 else code


def _wait(command: list[str], variables: dict[str, str], copy: "StderrCopy | None") -> int:
    """Start a process, forward signals to it, and wait for its end; ignored signals stay ignored in both."""
    started: list[subprocess.Popen[bytes]] = []
    seen: set[int] = set()

    def pass_on(number: int, _frame: FrameType | None) -> None:
        shared = number in OF_TERMINAL and _in_foreground() and number not in seen
        seen.add(number)
        if started and not shared:
            with contextlib.suppress(ProcessLookupError):
                started[0].send_signal(number)

    with processes.handling({each: pass_on for each in FORWARDED if signal.getsignal(each) != signal.SIG_IGN}):
        try:
            for lock in uses.handles():
                os.set_inheritable(lock, True)
            # Keep files open that the parent process opened for the script, such as a shell's `<(command)`.
            process = subprocess.Popen(command, env=variables, stderr=copy.stream if copy else None, close_fds=False)
        except OSError as error:
            raise ZooError(f"Cannot start {command[0]}: {error.strerror}", "`python -m zoo env list`") from error
        started.append(process)
        if copy:
            copy.start()
        with processes.ended_with_us(process.pid):
            return process.wait()


def _in_foreground() -> bool:
    """Return True if a terminal sends its signals to this process, and therefore to the script."""
    with contextlib.suppress(OSError), open("/dev/tty", "rb", buffering=0) as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False


def _explain(stack: ProvenStack, code: int, end: str) -> None:
    if code < 0:
        if -code in ON_PURPOSE:
            return
        name = signal.Signals(-code).name
        often = " (often by the system, out of memory)" if name == "SIGKILL" else ""
        console.say(f"zoo: the script was killed by {name}{often}")
    if code:
        if modules := MISSING.findall(end[-2000:]):
            package = PACKAGES.get(modules[-1], modules[-1].replace("_", "-"))
            remedy = f"choose a stack that has it, or add its package: python -m zoo run --with {package}"
            console.say(f"zoo: stack {stack.label} has no module {modules[-1]}: {remedy}")
        elif findings := [row for row in known_issues.explain(end, stack.choice.backend.name) if not row.harmless]:
            console.say(f"zoo: known issues in the output of the script:\n{known_issues.render(findings)}")


class StderrCopy:
    """A stream for a process; its content is copied to our standard error, and the last part is kept.

    If ours is a terminal, the process gets a pseudo-terminal, so that its output is the same; if not, a pipe.
    """

    def __init__(self) -> None:
        self._tail = b""
        self._source, self.stream = _terminal() if os.isatty(2) else os.pipe()
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def start(self) -> None:
        """Start copying, after the process has inherited the stream."""
        os.close(self.stream)
        self._thread.start()

    def finish(self) -> str:
        self._thread.join(DRAIN_S)
        return self._tail.decode("utf-8", "replace").replace("\r\n", "\n")

    def resize(self, *_signal: Any) -> None:
        """Give the process's terminal the size of ours; can handle a signal."""
        if os.isatty(2):
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._source, termios.TIOCSWINSZ, fcntl.ioctl(2, termios.TIOCGWINSZ, b"\0" * 8))

    def _copy(self) -> None:
        with contextlib.suppress(OSError):  # no writer is left, or no reader of our standard error
            while part := os.read(self._source, 65_536):
                self._tail = (self._tail + part)[-65_536:]
                while part:
                    part = part[os.write(2, part) :]
        os.close(self._source)


def _terminal() -> tuple[int, int]:
    """Open a pseudo-terminal like ours that passes bytes unchanged; return our end and the process's."""
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(2)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    return ours, theirs
