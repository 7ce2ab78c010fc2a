"""Write recipes/README.md, which shows all evidence, and the table of certified machines in docs/machines.md.

python scripts/maintenance/recipes_page.py              write the page
python scripts/maintenance/recipes_page.py --check      exit 1 with a message if the page is out of date
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from scripts.maintenance.evidence import machines
from zoo.config import config_files
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.environments import selection, stacks
from zoo.runs import evidence, published_figures

PAGE = paths.RECIPES / "README.md"
MACHINES = ROOT / "docs" / "machines.md"
MARKS = ("<!-- certified machines -->", "<!-- end of certified machines -->")
HEAD = """\
# Recipes and their evidence

Written by `python scripts/maintenance/recipes_page.py` from the files in this folder; changes by hand are lost.

`MODEL/BACKEND.yaml` holds the settings of a model for a backend, `MODEL/BACKEND.validated.json` the trainings that
show it to work, and `stacks/NAME/` a set of libraries with one lock file for each platform. A training is known in
one of three grades:

- **measured**: the zoo trained it on that platform and that device;
- **stand-in**: the zoo trained it on a build for the processor that stands in for the GPU build of the same Keras
  generation. It shows that the recipe runs on that Keras, and nothing of the GPU;
- **reported**: a named source says so. The zoo has not repeated it.

That a stack can be resolved and locked is not evidence. A row of your own machine:
`python -m zoo validate model=MODEL backend=BACKEND`.
"""
COLUMNS = ["backend", "stack", "grade", "where", "data", "result", "date", "from"]


def page() -> str:
    """Return the whole page."""
    models = config_files.options("model")
    parts = [HEAD, _overview(models), *(_model(name) for name in models), _stacks(), _machines(), _reported()]
    return "\n".join(part for part in parts if part)


def _overview(models: list[str]) -> str:
    """Return the table of all combinations that can train, with their grades."""
    known = {(model, backend): evidence.read(model, backend) for model in models for backend in selection.names()}
    rows = [
        [backend.name, stack, *(_grades(known[model, backend.name], stack) for model in models)]
        for backend in selection.load_all()
        for stack in [*backend.stacks, *_others(known, backend)]
        if backend.runnable and backend.trains and stack in stacks.names()
    ]
    return "## Overview\n\n" + _table(["backend", "stack", *models], rows)


def _others(known: dict[tuple[str, str], list[evidence.Row]], backend: selection.Backend) -> list[str]:
    """Return stacks that have evidence on a backend without being on its list."""
    names = {row["stack"] for (_, name), rows in known.items() if name == backend.name for row in rows}
    return sorted(names - set(backend.stacks))


def _grades(rows: list[evidence.Row], stack: str) -> str:
    grades = [f"{row['grade']}{_less(row)} {row['platform']}" for row in rows if row["stack"] == stack]
    return ", ".join(dict.fromkeys(grades)) or "-"


def _less(row: evidence.Row) -> str:
    """Return in which way a training was less than the whole recipe."""
    if row["preset"] not in ("full", None):
        return f" ({row['preset']})"
    return " (changed settings)" if row.get("changed") and not evidence.verdict(row) else ""


def _model(model: str) -> str:
    rows = [_cells(backend, row) for backend in selection.names() for row in evidence.read(model, backend)]
    table = _table(COLUMNS, rows) if rows else "No training is recorded.\n"
    return f"## {model}\n\n{table}"


def _cells(backend: str, row: evidence.Row) -> list[str]:
    changed = f", with `{' '.join(row['changed'])}`" if row.get("changed") else ""
    preset = f", preset {row['preset']}" if row["preset"] not in ("full", None) else ""
    note = f"; {row['note']}" if row.get("note") and row["note"] not in evidence.figure(row) else ""
    source = f"`{row['command']}` at {_short(row['commit'])}" if row["source"] is None else row["source"]
    where = f"{row['platform']}, {evidence.place(row)}"
    result = f"{evidence.figure(row)}{changed}{note}"
    return [backend, row["stack"], row["grade"], where, row["data"]["name"] + preset, result, row["date"], source]


def _short(commit: str) -> str:
    """Shorten a commit; leave a version as it is."""
    return re.sub(r"^([0-9a-f]{12})[0-9a-f]{28}", r"\1", commit)


def _stacks() -> str:
    rows = [list(cells) for stack in stacks.load_all() for cells in _stack_rows(stack)]
    return "## Stacks\n\n" + _table(["stack", "platform", "device", "grade", "what", "from"], rows)


def _stack_rows(stack: stacks.Stack) -> Iterator[tuple[str, ...]]:
    for platform, row in sorted(stack.platforms.items()):
        known = [entry for entry in stack.evidence if entry.platform == platform]
        stands = f"; stands in for {row.stand_in_for}" if row.stand_in_for else ""
        for entry in known:
            yield stack.name, platform, entry.device, entry.grade, entry.what + stands, entry.source
        if not known:
            yield stack.name, platform, ", ".join(row.devices), "none", "locked only" + stands, ""


def _machines() -> str:
    """Return the table of machines that were certified."""
    rows = machines.table_rows(machines.read())
    table = _table(machines.COLUMNS, rows) if rows else "None yet: `python -m zoo certify` makes one.\n"
    return "## Certified machines\n\n" + table


def pages() -> dict[Path, str]:
    """Return every page that shows evidence, with its text as it should be."""
    begin, end = MARKS
    text = MACHINES.read_text(encoding="utf-8")
    head, has_begin, rest = text.partition(begin)
    _, has_end, tail = rest.partition(end)
    if not has_begin or not has_end:
        raise ZooError(f"{MACHINES} has lost the marks {begin} and {end}", "Put them back.")
    table = _machines().partition("\n\n")[2]
    return {PAGE: page(), MACHINES: f"{head}{begin}\n{table}{end}{tail}"}


def _reported() -> str:
    rows = [
        [
            row["what"], row["machine"], row["stack"],
            "; ".join(filter(None, [_figure(row), row.get("note", "")])), row["date"], row["source"],
        ]
        for row in published_figures.read()
    ]  # fmt: skip
    columns = ["work", "machine", "stack", "reported", "date", "source"]
    return "## Reported of other networks\n\n" + _table(columns, rows) if rows else ""


def _figure(row: evidence.Row) -> str:
    return "" if row["figure"] is None else f"{row['figure']:g} {row['unit']}"


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page is out of date")
    parsed = parser.parse_args(arguments)
    try:
        texts = pages()
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    if parsed.check:
        old = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
        for path in old:
            console.fail(f"{path} is out of date", "Write it again: python scripts/maintenance/recipes_page.py")
        return 1 if old else 0
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
        console.say(f"Wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
