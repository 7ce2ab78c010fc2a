"""`zoo completion`: shell completion of verbs, options, groups and keys."""

import argparse

from zoo.cli.parser import Verbs, add_verb
from zoo.core import console


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "completion", run, "print a script that completes commands in a shell")
    parser.add_argument("shell", choices=["bash", "zsh", "fish", "words"], help="words: candidates for the last word")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, help="with `words`: the command line so far, after the program"
    )


def run(parsed: argparse.Namespace) -> int:
    from zoo.cli import completion

    if parsed.shell == "words":
        words = completion.candidates(parsed.words[parsed.words[:1] == ["--"] :])
        if words:
            console.output(*words)
    else:
        console.output(completion.script(parsed.shell).rstrip("\n"))
    return 0
