"""Complete the last, unfinished word of a command line."""

import argparse
from collections.abc import Iterator

from zoo.cli import parser as command_line

# The scripts for shells; each asks for candidates with the words so far, and offers files if there are none.
BASH = """\
_zoo_words() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" skip="$1"
    shift
    local -a words
    IFS=' ' read -r -a words <<< "$line"
    [[ "$line" == *' ' ]] && words+=("")
    COMPREPLY=($("$@" completion words -- "${words[@]:$skip}" 2>/dev/null))
    # The shell takes '=' for the end of a word, so only what follows it is replaced.
    local last="${words[-1]}"
    [[ "$last" == *=* ]] && COMPREPLY=("${COMPREPLY[@]#${last%%=*}=}")
    [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[=.] ]] && compopt -o nospace
}
_zoo() { _zoo_words 1 zoo; }
_zoo_python() {
    if [[ "${COMP_WORDS[1]}" == -m && "${COMP_WORDS[2]}" == zoo ]]; then _zoo_words 3 "${COMP_WORDS[0]}" -m zoo; fi
}
complete -o default -o bashdefault -F _zoo zoo
complete -o default -o bashdefault -F _zoo_python python python3
"""
ZSH = """\
_zoo_words() {
    local -a possible
    possible=("${(@f)$("${(@)argv[2,-1]}" completion words -- "${(@)words[$1,CURRENT]}" 2>/dev/null)}")
    possible=(${possible:#})
    if (( $#possible )); then compadd -S '' -a -- possible; else _files; fi
}
_zoo() { _zoo_words 2 zoo; }
_zoo_python() {
    if [[ $words[2] == -m && $words[3] == zoo ]]; then _zoo_words 4 "$words[1]" -m zoo; else _files; fi
}
compdef _zoo zoo
compdef _zoo_python python python3
"""
FISH = """\
function __zoo_words
    set -l words (commandline -opc) (commandline -ct)
    if test "$words[2]" = -m -a "$words[3]" = zoo
        $words[1] -m zoo completion words -- $words[4..] 2>/dev/null
    else if test (basename $words[1]) = zoo
        zoo completion words -- $words[2..] 2>/dev/null
    end
end
complete -c zoo -a '(__zoo_words)'
for program in python python3
    complete -c $program -n 'string match -q -- "* -m zoo *" (commandline -pc)' -a '(__zoo_words)'
end
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
# Verbs that share the settings of another verb.
SETTINGS_OF = {"tune": "train", "validate": "train", "serve": "infer"}


def candidates(words: list[str]) -> list[str]:
    """Return candidates for the last of the words after the program name; it is unfinished or empty."""
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
    from zoo.config import config_files, setting
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
    if verb == "train":
        values["resume"] = ["last", "auto"]
    if "model" in values:
        values["model"] = config_files.options("model")
    yield from (f"{key}={value}" for value in values.get(key, [])) if is_value else (f"{name}=" for name in values)
