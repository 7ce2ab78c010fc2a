"""Write recipes/README.md, which shows all evidence, the head of each recipe, and docs/reference/machines.md.

python scripts/maintenance/recipes_page.py              write the page
python scripts/maintenance/recipes_page.py --check      exit 1 with a message if the page is out of date
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from scripts.maintenance import bundled_files, measure_ranges
from scripts.maintenance.evidence import machines
from zoo.config import bounds, config_files
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.environments import backends, stacks
from zoo.runs import evidence
from zoo.tasks import recipe_status

PAGE = paths.RECIPES / "README.md"
MACHINES = ROOT / "docs" / "reference" / "machines.md"
MARKS = ("<!-- certified machines -->", "<!-- end of certified machines -->")
HEAD = """\
# Recipes and their evidence

Written by `python scripts/maintenance/recipes_page.py` from the files in this folder; changes by hand are lost.

| file | content |
|---|---|
| `MODEL/recipe.yaml` | the settings of a model for all backends |
| `MODEL/BACKEND.yaml` | the settings that differ on one backend |
| `MODEL/BACKEND.validated.json` | the training runs which show that the recipe works on this backend |
| `MODEL/range.json` | the training runs which show that the recipe works with a range of batch sizes and precisions |
| `stacks/NAME/` | a set of libraries, with one lock file for each platform |

A grade states how it is known that a recipe works on a backend:

- **measured**: the zoo trained with the whole recipe on this platform and device.
- **stand-in**: the zoo trained with the whole recipe on the CPU, with a build of the same Keras generation. This
  shows that the recipe works with this Keras, but says nothing about the GPU.
- **reported**: a named source says that it works. The zoo has not repeated it.
- **linked**: only for locks for macOS and CUDA: the files of the lock need no library or symbol that is known to be
  missing (`python scripts/link_check.py`). Nothing was run.
- **resolved**: a lock exists. Nothing was run.

A training run counts only if it used the whole recipe, a commit without local changes, and the current recipe and
lock. If the recipe or the lock has changed since, the run is **stale**. To add a row for your machine, run
`python -m zoo validate model=MODEL backend=BACKEND`. To validate all recipes, run
`python -m zoo validate --all data.root=FOLDER`.
"""
COLUMNS = ["backend", "stack", "grade", "where", "data", "result", "date", "from"]
BLOCK = (
    "# Validated versions, written by scripts/maintenance/recipes_page.py:\n",
    "# End of the validated versions.\n",
)
PLUGINS = ("tensorflow-metal", "jax-mps", "keras-mlx", "plaidml-keras")
CELLS = ("stack", "Python", "framework", "plug-in", "Keras", "NumPy", "platform", "device", "date", "result", "grade")


def page() -> str:
    """Return the whole page."""
    models = config_files.options("model")
    parts = [
        HEAD,
        _overview(recipe_status.trained_models()),
        *(_model(name) for name in models),
        _stacks(),
        _machines(),
        _reported(),
    ]
    return "\n".join(part for part in parts if part)


def _training() -> list[backends.Backend]:
    return [row for row in backends.load_all() if row.trains and row.runnable]


def _overview(models: list[str]) -> str:
    """Return the table of models and backends: grade, newest framework and Keras, date."""
    rows = [[model, *(_status(model, backend).words for backend in _training())] for model in models]
    return "## Overview\n\n" + _table(["model", *(backend.name for backend in _training())], rows)


def _status(model: str, backend: backends.Backend) -> recipe_status.Status:
    return recipe_status.status(model, backend, recipe_status.rows_of(model, backend, own=False))


def _model(model: str) -> str:
    rows = [_cells(model, name, row) for name in backends.names() for row in evidence.read(model, name)]
    table = _table(COLUMNS, rows) if rows else "No training is recorded.\n"
    return f"## {model}\n\n{table}{_ranges(model)}"


def _ranges(model: str) -> str:
    """Return the proven ranges of a model with their measurements: seeds in columns."""
    text = ""
    for name, data, proven in measure_ranges.stated():
        if name == model:
            rows = [row for row in measure_ranges.read(model) if row["data"] == data]
            target = ", ".join(f"{key} {bounds.words(bounds.of(key, value))}" for key, value in proven.target.items())
            text += f"\nProven range on {data}: batch size {proven}. Target: {target}.\n\n" + _measured(rows)
    return text


def _measured(rows: list[dict[str, Any]]) -> str:
    seeds = sorted({row["seed"] for row in rows})
    points = sorted({(row["batch_size"], row["learning_rate"], row["precision"]) for row in rows})
    lines = []
    for point in points:
        of_point = [row for row in rows if (row["batch_size"], row["learning_rate"], row["precision"]) == point]
        values = {row["seed"]: f"{row['value']:.4f} ({row['stack']})" for row in of_point}
        lines.append([*map(str, point), *(values.get(seed, "-") for seed in seeds)])
    return _table(["batch size", "learning rate", "precision", *(f"seed {seed}" for seed in seeds)], lines)


def recipes() -> dict[Path, str]:
    """Return the text of every recipe of a model, with the versions that it was validated with at its top."""
    texts = {}
    for model in recipe_status.trained_models():
        own = {backend.name for backend in _training() if len(config_files.recipe_files(model, backend.name)) > 1}
        inherit = [backend for backend in _training() if backend.name not in own]
        for path in config_files.recipe_files(model, ""):
            texts[path] = _with_block(path, _block(model, inherit))
        for backend in _training():
            if backend.name in own:
                path = config_files.recipe_files(model, backend.name)[1]
                texts[path] = _with_block(path, _block(model, [backend]))
    return texts


def _with_block(path: Path, lines: list[str]) -> str:
    begin, end = BLOCK
    text = re.sub(f"^{re.escape(begin)}.*?^{re.escape(end)}", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    first, _, rest = text.partition("\n")
    return f"{first}\n{begin}{''.join(f'#   {line}' + chr(10) for line in lines)}{end}{rest}"


def _block(model: str, of: list[backends.Backend]) -> list[str]:
    rows: list[list[str]] = []
    others: list[str] = []
    for backend in of:
        counted = [row for row in recipe_status.rows_of(model, backend, own=False)
                   if not recipe_status.discounted(model, backend.name, row)]  # fmt: skip
        rows += [_line(backend.name, row) for row in counted]
        if not counted:
            status = _status(model, backend)
            others.append(f"{backend.name}: {status.words.replace(': ', f', stack {status.stack}: ', 1)}")
    table = [["backend", *CELLS], *rows] if rows else []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    shown = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return [*shown, *others]


def _line(backend: str, row: evidence.Row) -> list[str]:
    versions = row["versions"]
    named = [recipe_status.version(versions, names) for names in (recipe_status.FRAMEWORKS, PLUGINS)]
    keras = versions.get("keras") or versions.get("keras-nightly") or ""
    cells = [
        versions.get("python", ""),
        *named,
        keras,
        versions.get("numpy", ""),
        row["platform"],
        evidence.place(row),
    ]
    target = evidence.expectation(row)
    result = f"{row['metric']} {row['value']:.4f}" if row["value"] is not None else ""
    result += f" ({target})" if target else ""
    return [backend, row["stack"], *(cell or "-" for cell in [*cells, row["date"], result, row["grade"]])]


def _cells(model: str, backend: str, row: evidence.Row) -> list[str]:
    changed = f", with `{' '.join(row['changed'])}`" if row.get("changed") else ""
    preset = f", preset {row['preset']}" if row["preset"] not in ("full", None) else ""
    note = f"; {row['note']}" if row.get("note") and row["note"] not in evidence.figure(row) else ""
    source = f"`{row['command']}` at {_short(row['commit'])}" if row["source"] is None else row["source"]
    where = f"{row['platform']}, {evidence.place(row)}"
    result = f"{evidence.figure(row)}{changed}{note}"
    reason = recipe_status.discounted(model, backend, row)
    grade = row["grade"] + (f" ({reason})" if reason else "")
    return [backend, row["stack"], grade, where, row["data"]["name"] + preset, result, row["date"], source]


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
    return {PAGE: page(), MACHINES: f"{head}{begin}\n{table}{end}{tail}", **recipes()}


def _reported() -> str:
    rows = [
        [
            row["what"], row["machine"], row["stack"],
            "; ".join(filter(None, [_figure(row), row.get("note", "")])), row["date"], row["source"],
        ]
        for row in evidence.published()
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
        bundled_files.check()
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
