"""Messages for the user who started the server, which continues if nobody can read them."""

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
