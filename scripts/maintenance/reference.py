"""Write the reference of settings, commands and zoo.api from the program itself; scripts/maintenance/site.py uses it.

python scripts/maintenance/reference.py FOLDER

The pages are parts of the site and not of the checkout, so they cannot be out of date.
"""

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from zoo import api
from zoo.cli import parser
from zoo.config import config_files, setting
from zoo.config.schemas.serving import ServeConfig
from zoo.config.setting import Affects, Setting
from zoo.tasks import discovery

EFFECTS = {
    Affects.NUMBERS: "results",
    Affects.CHANCE: "random numbers",
    Affects.SPEED: "speed, monitoring",
    Affects.PLACE: "places here",
    Affects.OUTWARD: "outside the run",
}
Uses = dict[str, list[tuple[str, Any, Setting]]]


def settings_page() -> str:
    """Return a page with every setting: its default by command, valid values, meaning and what a change affects."""
    groups: dict[str, Uses] = {}
    rows: list[tuple[str, str, type]] = [
        (f"{each.verb} {each.task}", each.file, each.schema) for each in discovery.commands()
    ]
    for command, file, schema in [*rows, ("serve", "serve", ServeConfig)]:
        for key, value, declared in setting.walk(schema()):
            if declared.meaning:
                group = key.split(".")[0] if "." in key else file
                groups.setdefault(group, {}).setdefault(key, []).append((command, value, declared))
    lines = [
        "# Settings",
        "",
        "Settings are `KEY=VALUE` on the command line and arguments in `zoo.api`. A file of `configs/` sets a "
        "default per model, data set or backend; `--cfg job` prints the values of a run and [what set "
        "them](commands.md#what-sets-a-value). `python -m zoo help GROUP` prints a group.",
        "",
        "The column `affects` states what a different value changes. A resumed run accepts new values of settings "
        "that do not affect results or random numbers.",
    ]
    for group, keys in sorted(groups.items()):
        lines += [
            "",
            f"## {group}",
            "",
            "| setting | default | values | meaning | affects |",
            "|---|---|---|---|---|",
        ]
        lines += [row(key, uses) for key, uses in keys.items()]
    lines += ["", "## Groups of files", "", "| group | names |", "|---|---|"]
    named: dict[str, set[str]] = {}
    for _, file, _ in rows:
        for group, names in config_files.groups(file).items():
            named.setdefault(group, set()).update(names)
    lines += [f"| `{group}=` | {', '.join(f'`{name}`' for name in sorted(names))} |" for group, names in named.items()]
    return "\n".join(lines) + "\n"


def row(key: str, uses: list[tuple[str, Any, Setting]]) -> str:
    """Return the line of a setting; a default that differs is listed with its commands."""
    declared = uses[0][2]
    defaults: dict[str, list[str]] = {}
    for command, value, _ in uses:
        defaults.setdefault(text(value), []).append(command)
    usual = max(defaults, key=lambda value: len(defaults[value]))
    differing = [f"{value} ({', '.join(names)})" for value, names in defaults.items() if value != usual]
    values = ", ".join(f"`{word}`" for word in declared.valid) or declared.range()
    cells = (f"`{key}`", "; ".join([usual, *differing]), values, declared.meaning, EFFECTS[declared.affects])
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*") for cell in cells) + " |"


def text(value: Any) -> str:
    """Return a default as the command line takes it."""
    if value is None:
        return "null"
    return "empty" if value in ([], {}, "") else str(value).lower() if isinstance(value, bool) else str(value)


def options_page() -> str:
    """Return a page with the help of every command."""
    verbs = next(each for each in parser.build()._actions if isinstance(each, argparse._SubParsersAction))
    lines = ["# Options of the commands", "", "The output of `python -m zoo COMMAND --help`, for every command."]
    for name, each in sorted(verbs.choices.items()):
        lines += ["", f"## {name}", "", "```text", each.format_help().rstrip(), "```"]
    return "\n".join(lines) + "\n"


def api_page() -> str:
    """Return a page with the signatures and docstrings of zoo.api and its Run."""
    lines = ["# Python API", "", "```text", inspect.cleandoc(api.__doc__ or ""), "```"]
    for name in api.__all__:
        lines += ["", f"## {name}", *described(getattr(api, name), f"zoo.api.{name}")]
        if inspect.isclass(member := getattr(api, name)):
            for part, value in inspect.getmembers(member):
                function = value.fget if isinstance(value, property) else value
                if not part.startswith("_") and inspect.isfunction(function):
                    lines += ["", f"### {name}.{part}", *described(function, f"{name}.{part}")]
    return "\n".join(lines) + "\n"


def described(member: Any, name: str) -> Iterator[str]:
    """Yield the signature and the docstring of a function or class."""
    yield from ["", "```python", f"{name}{inspect.signature(member)}", "```"]
    if member.__doc__:
        yield from ["", "```text", inspect.cleandoc(member.__doc__), "```"]


PAGES = {"settings.md": settings_page, "options.md": options_page, "api.md": api_page}


def write(folder: Path) -> None:
    """Write all pages into a folder."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("folder", type=Path)
    options = given.parse_args()
    if not options.folder.is_dir():
        given.error(f"{options.folder} is not a folder")
    write(options.folder)
