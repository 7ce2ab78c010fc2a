"""Messages to the user who started the server; the server continues if they cannot be written."""

import contextlib

from zoo.core import console


def say(text: str) -> None:
    """Print a message, unless the terminal or the log is gone or full."""
    with contextlib.suppress(OSError):
        console.say(text)


def warn(text: str) -> None:
    """Print a warning, unless the terminal or the log is gone or full."""
    with contextlib.suppress(OSError):
        console.warn(text)
