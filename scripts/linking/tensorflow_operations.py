"""Read which of TensorFlow's operations Apple's plug-in has, from the names in its library.

A plug-in registers a kernel with the operation's name, which is a constant of its library. So an operation whose name
is not there has no kernel of the plug-in; of one whose name is there, the types of its kernel are not known.
"""

import json
import re
from pathlib import Path

from zoo.core.files import atomic_write

# Operation -> types of its tensors, separated by commas -> "default" or "-".
Calls = dict[str, dict[str, str]]
CALLS = Path(__file__).resolve().parent / "tensorflow_operations.json"
LIBRARY = "libmetal_plugin.dylib"
# Computed by any device with a kernel of TensorFlow's own, which plug-ins use too.
DEFAULT = "default"
# A compiler can write a name of up to so many characters into its instructions, where it is not seen.
INLINE = 8


def named(plugin: Path) -> set[str]:
    """Return the constants of a library that have the form of an operation's name."""
    return {
        name.decode("ascii") for name in re.findall(rb"(?<=\0)[A-Z_][A-Za-z0-9_]{1,60}(?=\0)", plugin.read_bytes())
    }


def parse(text: str) -> Calls:
    """Return operation -> types of its tensors, separated by commas -> "default" or "-", from recorded lines."""
    calls: Calls = {}
    for line in sorted(set(text.splitlines())):
        name, grade, *types = line.split()
        calls.setdefault(name, {})[",".join(types)] = grade
    return calls


def on_processor(calls: Calls, names: set[str]) -> tuple[list[str], list[str]]:
    """Return the operations without any kernel for the plug-in, and those of which the library does not tell.

    Args:
        calls: of one model.
        names: see :func:`named`.
    """
    lacking = [
        f"{name} ({types})"
        for name, kinds in calls.items()
        for types, grade in kinds.items()
        if grade != DEFAULT and name not in names
    ]
    unknown = [text for text in lacking if len(text.partition(" ")[0]) <= INLINE]
    return [text for text in lacking if text not in unknown], unknown


def recorded() -> dict[str, dict[str, Calls]]:
    """Return stack -> model -> its operations."""
    content: dict[str, dict[str, Calls]] = json.loads(CALLS.read_text(encoding="utf-8")) if CALLS.is_file() else {}
    return content


def update(stack: str, model: str, seen: Calls) -> None:
    """Replace the record of one model on one stack."""
    content = recorded()
    content.setdefault(stack, {})[model] = seen
    atomic_write(CALLS, json.dumps(content, indent=1, sort_keys=True) + "\n")
