"""Complete the last, unfinished word of a command line."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from zoo.cli import parser as command_line

# Verbs that share the settings of another verb.
SETTINGS_OF = {"tune": "train", "validate": "train", "serve": "infer"}


def script(shell: str) -> str:
    """Return the script for a shell; it offers candidates, or files if there are none."""
    return Path(__file__).with_suffix(f".{shell}").read_text(encoding="utf-8")


def candidates(words: list[str]) -> list[str]:
    """Return candidates for the last word, which is unfinished or empty; ``words`` exclude the program name."""
    *before, last = words or [""]
    return sorted(word for word in dict.fromkeys(_possible(before, last)) if word.startswith(last))


def _possible(before: list[str], last: str) -> Iterator[str]:
    parser: argparse.ArgumentParser = command_line.build()
    verb, used = "", 0
    for word in before:
        actions = _actions(parser)
        if word not in actions:
            break
        parser, verb, used = actions[word], verb or word, used + 1
    if last.startswith("-"):
        yield from (option for action in parser._actions for option in action.option_strings)
        return
    yield from _actions(parser)
    if not _actions(parser):
        yield from _choices(parser, before[used:])
        if any(action.dest == "overrides" for action in parser._actions):
            yield from _settings(SETTINGS_OF.get(verb, verb), before[used:], last)


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(nested[0].choices) if nested else {}


def _choices(parser: argparse.ArgumentParser, before: list[str]) -> Iterator[str]:
    for action in parser._actions:
        is_meant = before[-1] in action.option_strings if before else not action.option_strings
        if is_meant and action.choices:
            yield from map(str, action.choices)


def _settings(verb: str, before: list[str], last: str) -> Iterator[str]:
    """Yield groups and keys, or the values of the key that is being set."""
    from zoo.config import config_files, exporters, setting
    from zoo.tasks import discovery

    key, is_value, _ = last.partition("=")
    task = config_files.task_of(next((word[6:] for word in reversed(before) if word.startswith("model=")), None))
    commands = [each for each in discovery.commands() if each.verb == verb]
    commands = [each for each in commands if each.task == task] or commands
    values: dict[str, list[str]] = {}
    for command in commands:
        values |= config_files.groups(command.file)
        for name, default, declared in setting.walk(command.schema()):
            if declared.meaning:
                values.setdefault(name, ["true", "false"] if isinstance(default, bool) else declared.valid)
    values["launcher"] = values.get("launcher.name", [])
    if verb == "bench":
        values["bench"] = discovery.benchmarks()
    if verb == "export":
        values["format"] = list(exporters.formats())
    if verb == "train":
        values["resume"] = ["last", "auto"]
    if "model" in values:
        values["model"] = config_files.options("model")
    yield from (f"{key}={value}" for value in values.get(key, [])) if is_value else (f"{name}=" for name in values)
