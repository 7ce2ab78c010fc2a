"""Machines nobody has at hand: what their own tools print. ``README.md`` says which texts were captured."""

from pathlib import Path

from zoo.environments import machine

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


def load(name: str) -> machine.Machine:
    """The machine as the zoo would see it."""
    return machine.from_capture(FOLDER / f"{name}.txt")
