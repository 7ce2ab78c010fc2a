"""Words for whoever started the server: it goes on where nobody reads them any more."""

import contextlib

from zoo.core import console


def say(text: str) -> None:
    """Print a sentence, unless the terminal or the log is gone or full."""
    with contextlib.suppress(OSError):
        console.say(text)


def warn(text: str) -> None:
    """Print a warning, unless the terminal or the log is gone or full."""
    with contextlib.suppress(OSError):
        console.warn(text)
