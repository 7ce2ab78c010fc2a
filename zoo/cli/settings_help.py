"""The text of `zoo help`: every setting with its default and its meaning, group by group."""

from pathlib import Path
from typing import Any

from zoo.cli.catalogue import read_yaml
from zoo.config import config_files, documentation, model_files
from zoo.config.schemas.serving import ServeConfig
from zoo.config.tasks import Command
from zoo.core import paths
from zoo.core.errors import unknown
from zoo.tasks import discovery


def lines(topic: str | None) -> list[str]:
    """Describe the settings of all groups, or of one."""
    if topic and topic.startswith("model="):
        return _model(topic.partition("=")[2])
    sections: dict[str, list[str]] = {}
    for command in discovery.commands():
        for group, names in config_files.groups(command.file).items():
            sections.setdefault(group, [f"{group}=NAME, for {command.verb}:", *_options(group, names)])
        _add(sections, command.file, command.schema)
    _add(sections, "serve", ServeConfig)
    benches = [f"  bench={each.task:<18} python -m zoo help {each.file}" for each in _benches()]
    sections["bench"] = ["bench=NAME, for bench:", *benches]
    if topic is None:
        return [line for section in sections.values() for line in [*section, ""]]
    if topic not in sections:
        raise unknown("group of settings", topic, list(sections))
    return sections[topic]


def _benches() -> list[Command[Any]]:
    return [command for command in discovery.commands() if command.verb == "bench"]


def _add(sections: dict[str, list[str]], file: str, schema: type[Any]) -> None:
    """Add the settings of a schema to the sections of their groups."""
    for key, default, words in documentation.documented(schema):
        group = key.split(".")[0] if "." in key else file
        sections.setdefault(group, [f"{group}:"])
        line = f"  {key:<24} {default:<10} {words}"
        if line not in sections[group]:
            sections[group].append(line)


def _model(name: str) -> list[str]:
    """Describe a model: one of the zoo, or a file of the user's own, which is read and not executed."""
    if model_files.is_named(name):
        row = model_files.read(name).row()
        settings = [f"  model.{key}={value}" for key, value in config_files.model_arguments(row).items()]
        about = f"{row['name']}: {row['about'] or 'a model file'}"
        return [about, *(settings or ["  no settings"]), f"  sha256 {row['sha256']}"]
    if model_files.is_application(name):
        words = "an architecture of keras.applications, where the stack's Keras has it"
        return [f"{name}: {words}", "  model.input_size=None, which is what it is made for"]
    if name not in config_files.options("model"):
        raise unknown("model", name, config_files.options("model"))
    return _options("model", [name])


def _options(group: str, names: list[str]) -> list[str]:
    """Describe each option of a group, and the settings of each model."""
    described = []
    for name in names:
        path = paths.CONFIGS / group / f"{name}.yaml"
        row = read_yaml(path)
        row = row.get("data", row) if group == "data" else row
        described.append(f"  {name:<24} {row.get('about') or _comment(path)}".rstrip())
        if group == "model":
            settings = [f"model.{key}={value}" for key, value in config_files.model_arguments(row).items()]
            described.append(" " * 27 + " ".join(settings))
    return described


def _comment(path: Path) -> str:
    """Return the comment lines of a file, without Hydra's own one."""
    comments = [
        line.lstrip("# ").strip() for line in path.read_text(encoding="utf-8").splitlines() if line[:1] == "#"
    ]
    return " ".join(line for line in comments if not line.startswith("@package"))
