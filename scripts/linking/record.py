"""Operations that the models call in training and inference, as tests recorded them: one file a stack."""

import json
import os
from pathlib import Path

from zoo.core.files import atomic_write

# Operation -> types of its tensors, and what else its framework's module says.
Calls = dict[str, list[str]]
FOLDER = Path(__file__).resolve().parent / "operations"
# Set in the environment, it makes the recording tests write what they see.
UPDATE = "ZOO_UPDATE_OPERATIONS"


def parse(text: str) -> Calls:
    """Return operation -> types of its tensors, from lines of an operation and types."""
    calls: dict[str, set[str]] = {}
    for line in text.splitlines():
        name, *types = line.split()
        calls.setdefault(name, set()).update(types)
    return {name: sorted(types) for name, types in sorted(calls.items())}


def read(stack: str) -> dict[str, Calls]:
    """Return model -> its operations on a stack; nothing if none were recorded."""
    path = FOLDER / f"{stack}.json"
    content: dict[str, Calls] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


def update(stack: str, model: str, seen: Calls) -> None:
    """Replace the record of one model on one stack."""
    content = read(stack) | {model: seen}
    rows = (
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(call)}: {json.dumps(types)}" for call, types in calls.items())
        + "\n }"
        for name, calls in sorted(content.items())
    )
    FOLDER.mkdir(exist_ok=True)
    atomic_write(FOLDER / f"{stack}.json", "{\n" + ",\n".join(rows) + "\n}\n")


def unlisted(stack: str, model: str, seen: Calls) -> str:
    """Return what a model called and its record lacks, as text; with UPDATE set, replace the record first."""
    if UPDATE in os.environ:
        update(stack, model, seen)
    listed = read(stack).get(model, {})
    new = {name: types for name, types in seen.items() if name not in listed or set(types) - set(listed[name])}
    return f"not in {FOLDER / stack}.json: {json.dumps(new)}; {UPDATE}=1 adds them" if new else ""
