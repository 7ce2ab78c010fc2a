"""Build the command-line parser from the modules in `commands/`, with the standard library only."""

import argparse
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from zoo.core.errors import ZooError, nearest, unknown

Verbs: TypeAlias = "argparse._SubParsersAction[CommandParser]"
Run = Callable[[argparse.Namespace], int]

# Names of the commands in other programs.
VERBS_ELSEWHERE = {"predict": "infer", "classify": "infer", "generate": "infer", "fit": "train", "finetune": "train",
                   "test": "evaluate", "eval": "evaluate", "score": "evaluate", "convert": "export",
                   "benchmark": "bench", "search": "tune"}  # fmt: skip
COMMANDS = Path(__file__).with_name("commands")
DESCRIPTION = "Train and run Keras models on the GPU you have, each stack in its own pinned environment."


def examples(verb: str) -> str:
    file = COMMANDS.with_name("examples") / f"{verb}.txt"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


class CommandParser(argparse.ArgumentParser):
    """A parser that reports invalid words as a ZooError and builds the end of the help text on demand."""

    end_of_help: Callable[[], str] | None = None

    def format_help(self) -> str:
        if self.end_of_help:
            self.epilog = self.end_of_help()
        return super().format_help()

    def _print_message(self, message: str, file: Any = None) -> None:
        print(message, end="", file=file, flush=True)  # argparse ignores errors, such as a full disk

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice and choice[2] in VERBS_ELSEWHERE:
            meant = VERBS_ELSEWHERE[choice[2]]
            raise ZooError(f"There is no command called {choice[2]!r}", f"Use `{meant}`: python -m zoo {meant} --help")
        if choice:
            option = f"choice for {choice[1].rpartition('/')[2]}"
            kind = {"VERB": "command", "ACTION": "command"}.get(choice[1], option)
            raise unknown(kind, choice[2], [word.strip("' ") for word in choice[3].split(",")])
        raise ZooError(message, f"`{self.prog} --help` shows the usage")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from zoo.runs import lifecycle

        print(lifecycle.version())
        parser.exit()


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line; unlike plain argparse, accept settings before and after options."""
    parser = build()
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["--version"] and len(given) > 1:
        parser.error(f"unrecognized arguments: {' '.join(given[1:])}")
    parsed, rest = parser.parse_known_args(given)
    if hasattr(parsed, "overrides"):
        _refuse_dashes(
            rest, parsed.overrides, [f"--{name}".replace("_", "-") for name in vars(parsed) if name != "run"]
        )
        options = [argument.partition("=")[0] for argument in given if argument.startswith("--")]
        if twice := [option for option in options if options.count(option) > 1]:
            raise ZooError(f"The option {twice[0]} is given twice", "Give it once.")
    if rest and (not hasattr(parsed, "overrides") or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        parsed.overrides = [*parsed.overrides, *rest]
    return parsed


def _refuse_dashes(rest: list[str], overrides: list[str], options: list[str]) -> None:
    value = next((word for word in overrides if "=" not in word), "VALUE")
    for word in rest:
        option = re.fullmatch(r"--([a-z][\w.-]*)(?:=(.*))?", word)
        if option:
            given = f"{option[1].replace('-', '_')}={option[2] or value}"
            near = nearest(f"--{option[1]}", options)
            raise ZooError(f"There is no option {word}{near}", f"Settings have no dashes: {given}")


def build() -> CommandParser:
    """Return the parser, with the verbs that create runs and a verb for each module in `commands/`."""
    parser = CommandParser(
        prog="python -m zoo", description=DESCRIPTION, epilog=examples("zoo"),
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of this program and exit")
    parser.set_defaults(run=_print_help)
    verbs = parser.add_subparsers(metavar="VERB")
    import_module("zoo.cli.execution").add_parsers(verbs)
    for path in sorted(COMMANDS.glob("[!_]*.py")):
        import_module(f"zoo.cli.commands.{path.stem}").add_parser(verbs)
    return parser


def _print_help(_: argparse.Namespace) -> int:
    build().print_help()
    return 0


def add_verb(verbs: "Verbs", name: str, run: "Run | None", summary: str, **options: Any) -> CommandParser:
    """Add a verb, or an action of a verb; `run` is None for a verb that only has actions."""
    parser = verbs.add_parser(
        name, help=summary, description=summary, epilog=examples(name), allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, **options,
    )  # fmt: skip
    if run is not None:
        parser.set_defaults(run=run)
    return parser


def add_actions(parser: CommandParser) -> "Verbs":
    return parser.add_subparsers(metavar="ACTION", required=True)


def add_json(parser: CommandParser, text: str = "print as JSON") -> None:
    parser.add_argument("--json", action="store_true", help=text)
