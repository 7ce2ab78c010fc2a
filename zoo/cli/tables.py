"""Tables of what there is: models, backends, stacks, recipes, environments, settings."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from zoo.config import compose, references
from zoo.core import console, paths
from zoo.core import schema as row_files
from zoo.core.errors import unknown
from zoo.environments import stacks
from zoo.runs import evidence

Rows = list[dict[str, str]]


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = row_files.read(path) or {}
    return content


def models() -> Rows:
    """One row a model."""
    rows = []
    for name in compose.options("model"):
        settings = _read(paths.CONFIGS / "model" / f"{name}.yaml")
        rest = {key: value for key, value in settings.items() if key not in ("name", "about")}
        shown = ", ".join(f"{key}={value}" for key, value in rest.items())
        rows.append({"model": name, "what": str(settings.get("about", "")), "settings": shown})
    return rows


def backends() -> Rows:
    """One row a backend."""
    rows = []
    for name in compose.options("backend"):
        row = _read(paths.CONFIGS / "backend" / f"{name}.yaml")
        state = "" if row.get("runnable", True) else "not runnable: "
        known = [stack if stack in stacks.names() else f"({stack})" for stack in row.get("stacks", [])]
        rows.append(
            {"backend": name, "what": state + str(row.get("about", "")), "stacks, best first": " ".join(known),
             "needs": str(row.get("needs", ""))}
        )  # fmt: skip
    return rows


def stack_rows() -> Rows:
    """One row a stack, with its platforms and how it is known to work."""
    rows = []
    for stack in stacks.load_all():
        platforms = [
            f"{name} (stand-in)" if row.stand_in_for else name for name, row in sorted(stack.platforms.items())
        ]
        evidence = [f"{row.grade}: {row.what} ({row.platform})" for row in stack.evidence]
        rows.append(
            {"stack": stack.name, "what": stack.about, "Python": stack.python, "locked as of": stack.exclude_newer,
             "platforms": ", ".join(platforms), "evidence": "; ".join(evidence) or "resolved only"}
        )  # fmt: skip
    return rows


def recipes() -> Rows:
    """One row a recipe or a record of training without one: its settings, and how it is known to work."""
    files = {path for path in paths.RECIPES.glob("*/**/*.yaml") if not path.is_relative_to(paths.STACKS)}
    named = {(path.parent.relative_to(paths.RECIPES).as_posix(), path.stem) for path in files}
    rows = []
    for model, backend in sorted(named | set(evidence.recorded())):
        path = paths.RECIPES / model / f"{backend}.yaml"
        trainer = _read(path).get("trainer", {}) if path in files else {}
        settings = ", ".join(f"{key}={value}" for key, value in trainer.items()) or "the defaults"
        shown = "; ".join(evidence.words(row) for row in evidence.read(model, backend))
        rows.append({"model": model, "backend": backend, "settings": settings, "evidence": shown or "none yet"})
    return rows


TABLES = {
    "models": models,
    "backends": backends,
    "stacks": stack_rows,
    "recipes": recipes,
    "references": references.rows,
}


def show(what: str | None, as_json: bool) -> int:
    """Print one table, or all of them."""
    tables = {name: make() for name, make in TABLES.items() if what in (None, name)}
    if as_json:
        print(json.dumps(tables, indent=2))
        return 0
    for name, rows in tables.items():
        # A reference sets a dozen values: too many for a table, all of them in its file and in the JSON.
        hidden = {"settings"} if name == "references" else set()
        _draw(name, [{key: value for key, value in row.items() if key not in hidden} for row in rows])
    return 0


def show_environments(as_json: bool) -> int:
    """Print the environments the zoo built."""
    from zoo.environments import store

    found = store.list_environments()
    if as_json:
        print(json.dumps([dataclasses.asdict(row) for row in found], indent=2, default=str))
        return 0
    if not found:
        print(f"No environment is built yet; they go to {paths.cache_dir() / 'envs'}")
        return 0
    rows = [
        {"stack": row.stack, "state": row.state, "size": f"{row.size_bytes / 1e6:,.0f} MB",
         "last used": row.last_used, "folder": str(row.folder)}
        for row in found
    ]  # fmt: skip
    _draw("environments", rows)
    return 0


def show_storage(what: str, root: str, as_json: bool) -> int:
    """Print the run folders under a root, or the parts of the cache, with their sizes."""
    from zoo.runs import storage

    found = storage.runs(Path(root)) if what == "runs" else storage.cache()
    if as_json:
        print(json.dumps([dataclasses.asdict(row) for row in found], indent=2, default=str))
        return 0
    if not found:
        print("Nothing is kept there")
    _draw(what, [
        {"name": row.name, "what": row.about, "size": f"{row.size_bytes / 1e6:,.1f} MB", "begun": row.started}
        for row in found
    ])  # fmt: skip
    return 0


def _draw(title: str, rows: Rows) -> None:
    if rows:
        console.table(title, list(rows[0]), [list(row.values()) for row in rows])


def help_lines(topic: str | None) -> list[str]:
    """What can be set: all groups, or one of them.

    Raises:
        ZooError: there is no such group.
    """
    sections: dict[str, list[str]] = {}
    for verb, form in compose.forms():
        for group, names in compose.groups(form).items():
            sections.setdefault(group, [f"{group}=NAME, for {verb}:", *_options(group, names)])
        for key, default, words in compose.documented(form.schema):
            group = key.split(".")[0] if "." in key else form.file
            sections.setdefault(group, [f"{group}:"])
            line = f"  {key:<24} {default:<10} {words}"
            if line not in sections[group]:
                sections[group].append(line)
    if topic is None:
        return [line for lines in sections.values() for line in [*lines, ""]]
    if topic not in sections:
        raise unknown("group of settings", topic, list(sections))
    return sections[topic]


def _options(group: str, names: list[str]) -> list[str]:
    """Each option with what it is, and what of a model can be set."""
    lines = []
    for name in names:
        path = paths.CONFIGS / group / f"{name}.yaml"
        row = _read(path)
        row = row.get("data", row) if group == "data" else row
        lines.append(f"  {name:<24} {row.get('about') or _comment(path)}".rstrip())
        if group == "model":
            settings = [f"model.{key}={value}" for key, value in row.items() if key not in ("name", "about", "task")]
            lines.append(" " * 27 + " ".join(settings))
    return lines


def _comment(path: Any) -> str:
    """What a file says of itself in its comment lines, Hydra's own one left out."""
    comments = [
        line.lstrip("# ").strip() for line in path.read_text(encoding="utf-8").splitlines() if line[:1] == "#"
    ]
    return " ".join(line for line in comments if not line.startswith("@package"))
