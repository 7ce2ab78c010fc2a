"""Lets language models generate texts; runs inside a stack, Python 3.6 or newer."""

from text import answer  # noqa: F401
