"""Read which of TensorFlow's operations Apple's plug-in has, from the names in its library.

A plug-in registers a kernel with the operation's name, which is a constant of its library. So an operation whose name
is not there has no kernel of the plug-in; of one whose name is there, the types of its kernel are not known.
"""

import re
from pathlib import Path

from scripts.linking.record import Calls

LIBRARY = "libmetal_plugin.dylib"
# Written before the types of tensors that any device can compute with TensorFlow's own kernels, as plug-ins do.
DEFAULT = "default:"
# A compiler can write a name of up to so many characters into its instructions, where it is not seen.
INLINE = 8


def named(plugin: Path) -> set[str]:
    """Return the constants of a library that have the form of an operation's name."""
    return {name.decode("ascii") for name in re.findall(rb"(?<=\0)[A-Z_][A-Za-z0-9_]{1,60}(?=\0)", plugin.read_bytes())}


def on_processor(calls: Calls, names: set[str]) -> tuple[list[str], list[str]]:
    """Return the operations without any kernel for the plug-in, and those of which the library does not tell.

    Args:
        calls: of one model.
        names: see :func:`named`.
    """
    lacking = [
        name
        for name, kinds in calls.items()
        if name not in names and not all(kind.startswith(DEFAULT) for kind in kinds)
    ]
    return [name for name in lacking if len(name) > INLINE], [name for name in lacking if len(name) <= INLINE]
