"""Machines nobody has at hand: what their own tools print. ``README.md`` says which texts were captured."""

import re
from pathlib import Path

from zoo import machine

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


def reports(name: str) -> dict[str, str]:
    """The outputs of one machine: lines that begin with ``$ `` name the command or file above its text."""
    parts = re.split(r"^\$ (.*)\n", (FOLDER / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def load(name: str) -> machine.Machine:
    """The machine as the zoo would see it."""
    texts = reports(name)
    system = "macos" if "sw_vers" in texts else "linux"
    python = texts.get("uname -m", "arm64" if "hw.optional.arm64: 1" in str(texts) else "x86_64")
    return machine.from_reports(system, texts, python.strip())
