"""`zoo run`: run a user's Python script in a stack."""

import argparse
import re
from dataclasses import dataclass, field
from pathlib import Path

from zoo.cli import stack_choice
from zoo.cli.parser import Verbs, add_verb
from zoo.core.errors import ZooError, unknown

SUMMARY = "run your own Python script in a stack, with its device proven and its errors explained"
OPTIONS = ("--with", "--requirements")
USAGE = "python -m zoo run [backend=NAME] [stack=NAME] [--with PACKAGE] [--requirements FILE] [SCRIPT [ARGUMENTS]]"


@dataclass
class Words:
    """The parsed command line of `run`."""

    settings: dict[str, str] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    script: list[str] = field(default_factory=list)


def add_parser(verbs: "Verbs") -> None:
    """Declare the verb. This module parses its arguments, because the script's options must reach the script."""
    parser = add_verb(verbs, "run", run, SUMMARY, prefix_chars="\0", add_help=False, usage=USAGE)
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(show_help=parser.print_help)


def run(parsed: argparse.Namespace) -> int:
    if parsed.words[:1] in (["-h"], ["--help"]):
        parsed.show_help()
        return 0
    words = take_apart(parsed.words)
    from zoo.environments import requirements
    from zoo.execution import scripts

    script = script_of(words.script)
    metadata = requirements.read_script(script) if script else requirements.Metadata()
    added = [*stack_choice.requested(words.packages, words.files), *metadata.requirements]
    stack = stack_choice.prepare(words.settings, added)
    version = stack.environment.python_version
    if not metadata.python.contains(version):
        raise ZooError(
            f"The script asks for Python {metadata.python}; stack {stack.label} has {version}",
            "Choose another stack: `python -m zoo list stacks`.",
        )
    return scripts.run(stack, words.script)


def take_apart(given: list[str]) -> Words:
    """Split the zoo's arguments from the script's."""
    words, rest = Words(), list(given)
    while rest:
        option, is_setting, value = rest[0].partition("=")
        if option in OPTIONS:
            if not is_setting and len(rest) < 2:
                raise ZooError(f"{option} needs a value", USAGE)
            taken = value if is_setting else rest.pop(1)
            (words.packages if option == "--with" else words.files).append(taken)
        elif re.fullmatch(r"[a-z][\w.]*=.*", rest[0], re.DOTALL) and not Path(rest[0]).exists():
            words.settings |= [stack_choice.setting(rest[0])]
        elif rest[0].startswith("--") and rest[0] != "--":
            raise unknown("option of `run`", option, [*OPTIONS, "--help"])
        else:
            words.script = rest[1:] if rest[0] == "--" else rest
            break
        rest = rest[1:]
    return words


def script_of(words: list[str]) -> Path | None:
    """Return the path of the script, or None for a module, code or standard input."""
    from zoo.core.paths import existing_input

    rest = iter(words)
    for word in rest:
        if word == "-" or re.match(r"-[A-Za-z]*[mc]", word):
            return None
        if word in ("-X", "-W"):
            next(rest, None)
        elif not word.startswith("-"):
            path = existing_input(word, "Name a script, or use -m MODULE or -c CODE.")
            return path if path.is_file() else None
    return None
