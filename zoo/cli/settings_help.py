"""The text of `zoo help`: the settings of a command, a group, a model or a word, with default, meaning and range."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.cli import parser
from zoo.config import arguments, compose, config_files, model_files, setting
from zoo.config.overrides import Overrides
from zoo.config.schemas.serving import ServeConfig
from zoo.config.setting import Setting
from zoo.core import paths
from zoo.core import schema as row_files
from zoo.core.errors import ZooError, nearest, require_known
from zoo.tasks import discovery, registry

MORE = [
    "python -m zoo help train model=mnist   the settings of a command, with the recipe's values",
    "python -m zoo help model=mobilenet     the arguments of a model",
    "python -m zoo help epochs              the settings with a word in their name",
]


Command = tuple[str, str]  # verb and task


@dataclass(frozen=True)
class _Use:
    command: Command
    default: str
    declared: Setting


def lines(topic: str | None) -> list[str]:
    if topic and topic.startswith("model="):
        return _model(topic.partition("=")[2])
    if topic == "tune":  # its settings are those of a search, without a schema
        return parser.examples("tune").splitlines()
    sections: dict[str, list[str]] = {}
    for command in discovery.commands():
        for group, names in config_files.groups(command.file).items():
            sections.setdefault(group, [f"{group}=NAME:", *_options(group, names)])
    for group, keys in _settings().items():
        sections.setdefault(group, [f"{group}:"]).extend(_lines(keys))
    commands = [command for command in discovery.commands() if command.verb == "bench"]
    benches = [f"  bench={each.task:<18} python -m zoo help {each.file}" for each in commands]
    sections["bench"] = ["bench=NAME, for bench:", *benches]
    if topic is None:
        rows = [f"  {name:<24} {len(section) - 1} settings or options" for name, section in sections.items()]
        return ["One of these groups, such as `python -m zoo help trainer`:", *rows, "", *MORE]
    if topic in sections:
        return sections[topic]
    described = [line for section in sections.values() for line in section if topic in line[2:26]]
    if not described:
        if topic in {path.stem for path in Path(__file__).with_name("commands").glob("[a-z]*.py")}:
            raise ZooError(f"{topic} is a command", f"`python -m zoo {topic} --help` describes it.")
        near = nearest(topic, [*sections, *(key.rpartition(".")[2] for keys in _settings().values() for key in keys)])
        raise ZooError(f"No group or setting is called {topic[:60]!r}{near}", "`python -m zoo help` lists all.")
    return [f"Settings and options with {topic!r} in their name:", *dict.fromkeys(described), "", *MORE[:1]]


def of_command(verb: str, words: list[str]) -> list[str]:
    """Describe the settings of a command by group, with the values that its recipe and ``words`` set."""
    overrides = registry.expand(verb, Overrides.parse(words))
    command = discovery.command_of(verb, overrides)
    composed = compose.composed(command, overrides)
    defaults = {key: value for key, value, _ in setting.walk(command.schema())}
    rows = [(key, value, defaults.get(key), declared) for key, value, declared in setting.walk(composed.settings)]
    model = getattr(composed.settings, "model", {})
    if isinstance(model, dict) and model.get("name") in config_files.options("model"):
        own = arguments.declared(arguments.row_of(model["name"]))
        rows += [(f"model.{key}", model.get(key), each.default, each) for key, each in own.items()]
    groups: dict[str, list[str]] = {name: [] for name in ("general", "model", "data", "trainer")}
    for key, value, default, declared in rows:
        if declared.meaning:
            origin = f"set by {composed.set_by[key]}" if key in composed.set_by else ""
            changed = f"default {_default(default) or 'none'}" if value != default else ""
            group = key.partition(".")[0] if "." in key else "general"
            groups.setdefault(group, []).append(_line(key, _default(value), declared, origin, changed))
    return [line for name, section in groups.items() if section for line in [f"{name}:", *section, ""]] + MORE[1:]


def _settings() -> dict[str, dict[str, list[_Use]]]:
    """Return every use of every setting by group and key; keys without a group are under the defaults file."""
    groups: dict[str, dict[str, list[_Use]]] = {}
    schemas: list[tuple[Command, str, type]] = [
        ((each.verb, each.task), each.file, each.schema) for each in discovery.commands()
    ]
    for command, file, schema in [*schemas, (("serve", ""), "serve", ServeConfig)]:
        for key, value, declared in setting.walk(schema()):
            if declared.meaning:
                group = key.split(".")[0] if "." in key else file
                use = _Use(command, _default(value), declared)
                groups.setdefault(group, {}).setdefault(key, []).append(use)
    return groups


def _default(value: Any) -> str:
    if value is None:
        return "null"
    return "" if isinstance(value, list | dict) else str(value).lower()


def _lines(keys: dict[str, list[_Use]]) -> list[str]:
    having = {use.command for uses in keys.values() for use in uses}
    described = []
    for key, uses in keys.items():
        defaults = [use.default for use in uses]
        usual = max(defaults, key=defaults.count)
        described.append(_line(key, usual, uses[0].declared, *_where(uses, usual, having)))
    return described


def _line(key: str, value: str, declared: Setting, *more: str) -> str:
    valid = f"one of {', '.join(declared.valid)}" if declared.valid else declared.range()
    words = "; ".join(filter(None, [declared.meaning, valid, *more]))
    return f"  {key:<24} {value:<10} {words}"


def _where(uses: list[_Use], usual: str, having: set[Command]) -> Iterator[str]:
    """Yield the tasks of a group that lack a setting, and the tasks that have a different default."""
    pairs = {use.command for use in uses}
    lacking = having - pairs
    if lacking:
        is_usual = len(lacking) < len(pairs)
        yield f"not for {_names(lacking, having)}" if is_usual else f"only for {_names(pairs, having)}"
    for default in sorted({use.default for use in uses} - {usual}):
        yield f"{default} for {_names({use.command for use in uses if use.default == default}, having)}"


def _names(pairs: set[Command], having: set[Command]) -> str:
    """Return short names of commands: the task if there is only one verb, the verb if it has all of its tasks."""
    if len({verb for verb, _ in having}) == 1:
        return ", ".join(sorted(task for _, task in pairs))
    whole = {verb for verb, _ in pairs if {pair for pair in having if pair[0] == verb} <= pairs}
    return ", ".join(sorted({verb if verb in whole else f"{verb} {task}" for verb, task in pairs}))


def _model(name: str) -> list[str]:
    """Describe a bundled model, or a user's model file, which is parsed and not executed."""
    if model_files.is_named(name):
        row = model_files.read(name).row()
        settings = [f"  model.{key}={value}" for key, value in config_files.model_arguments(row).items()]
        about = f"{row['name']}: {row['about'] or 'a model file'}"
        return [about, *(settings or ["  no settings"]), f"  sha256 {row['sha256']}"]
    if model_files.is_application(name):
        words = "an architecture of keras.applications, if the stack's Keras includes it"
        return [f"{name}: {words}", "  model.input_size=None, which means its default size"]
    require_known("model", [name], config_files.options("model"))
    row = arguments.row_of(name)
    declared = arguments.declared(row).items()
    described = [_line(f"model.{key}", _default(each.default), each).rstrip() for key, each in declared]
    return [f"{name}: {row['about']}", *(described or ["  no settings"]), "", *MORE[:1]]


def _options(group: str, names: list[str]) -> list[str]:
    described = []
    for name in names:
        path = paths.CONFIGS / group / f"{name}.yaml"
        row = row_files.read_yaml(path) or {}
        row = row.get("data", row) if group == "data" else arguments.plain(row)
        described.append(f"  {name:<24} {row.get('about') or _comment(path)}".rstrip())
        if group == "model":
            settings = [f"model.{key}={value}" for key, value in config_files.model_arguments(row).items()]
            described.append(" " * 27 + " ".join(settings))
    return described


def _comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line.lstrip("# ").strip() for line in lines if line[:1] == "#"]
    return " ".join(line for line in comments if not line.startswith("@package"))
