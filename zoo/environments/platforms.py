"""Names of systems and processor architectures, in the spellings of the zoo and of other tools."""

import re

SYSTEMS = {"macos": "macOS", "linux": "Linux", "windows": "Windows"}
# As returned by sys.platform and platform.machine().
PYTHON_SYSTEMS = {"darwin": "macos", "linux": "linux", "win32": "windows"}
ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def architecture(machine: str) -> str:
    """Return ``x86_64`` or ``arm64`` for any of their spellings; other architectures keep their names."""
    word = machine.strip().lower()
    return ARCHITECTURES.get(word, word)


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a version for comparison: ``"10.13.6"`` gives (10, 13, 6), ``""`` gives ()."""
    return tuple(int(part) for part in re.findall(r"\d+", text))
