"""The command line: verbs, what they print, and the one place where errors are caught."""

import argparse
import errno
import json
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from zoo.core.errors import ZooError, unknown

if TYPE_CHECKING:
    from zoo.runs.result import Run

INTERRUPTED = 130
BUG = 3

EPILOGUE = """\
examples:
  python -m zoo train model=mnist                        the best backend this machine has
  python -m zoo train model=mnist backend=metal          the GPU of a Mac
  python -m zoo train model=mnist data=digits trainer.epochs=20 seed=7
  python -m zoo train model=mnist stack=tf-1.8 preset=smoke
  python -m zoo train -m model=mnist,mnist_dense         one run after the other
  python -m zoo infer run=last input=picture.png
  python -m zoo infer model=mobilenet weights=imagenet input=photos/
  python -m zoo report last                              one page that tells of a run
  python -m zoo bench bench=matmul                       from which size on the GPU wins
  python -m zoo bench model=transformer implementation=both stack=torch beside=[jax,openvino] rounds=2
  python -m zoo help trainer                             what can be set, and what it means
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 (can be mended), 3 (a bug of the zoo's), 130 (Ctrl-C)."""
    try:
        parsed = _parse(arguments)
        code: int = parsed.act(parsed)
        return code
    except ZooError as error:
        from zoo.core import console

        console.fail(error.message, error.remedy)
        return error.exit_code
    except KeyboardInterrupt:
        from zoo.core import console

        console.say("\nInterrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone (`| head`); Python would complain once more while closing it.
        sys.stderr.close()
        return 1
    except Exception as error:
        return _refused(error) or _bug(error)


def _refused(error: Exception) -> int | None:
    """Say what is wrong where a command failed of something that any of them may: no room, an impossible path."""
    from zoo.core import console

    number = error.errno if isinstance(error, OSError) else None
    home = isinstance(error, RuntimeError) and "home directory" in str(error)
    null = isinstance(error, ValueError) and "null byte" in str(error)
    if isinstance(error, OSError) and number in (errno.ENOSPC, errno.EDQUOT):
        where = error.filename or "where the output goes"
        console.fail(f"Cannot write: {error.strerror} ({where})", "Make room there.")
    elif isinstance(error, OSError) and number == errno.ENAMETOOLONG:
        name = str(error.filename)[:60]
        console.fail(
            f"The name of a file or folder is too long: {name}...", "Check the paths that the command names."
        )
    elif home or null:
        console.fail(f"A path cannot be read: {error}", "Check the paths that the command names.")
    else:
        return None
    return 1


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse; settings may stand on both sides of options, which argparse by itself does not take."""
    parser = _parser()
    parsed, rest = parser.parse_known_args(arguments)
    if rest and (not hasattr(parsed, "overrides") or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        parsed.overrides = [*parsed.overrides, *rest]
    return parsed


def _bug(error: Exception) -> int:
    """Say that this is the zoo's own fault, and keep the traceback in a file."""
    import tempfile
    import traceback

    from zoo.core import console

    with tempfile.NamedTemporaryFile("w", prefix="zoo-bug-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write(f"{sys.argv}\n{sys.version}\n")
        traceback.print_exception(error, file=log)
    console.fail(
        f"This is a bug in the zoo: {type(error).__name__}: {error}",
        f"Please report it with the full log: {log.name}",
    )
    return BUG


class _Parser(argparse.ArgumentParser):
    """Tells a wrong word as every other error is told."""

    def error(self, message: str) -> NoReturn:
        found = re.search(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if found:
            kind = {"VERB": "command", "ACTION": "command"}.get(found[1], f"choice for {found[1]}")
            raise unknown(kind, found[2], [word.strip("' ") for word in found[3].split(",")])
        raise ZooError(message, f"`{self.prog} --help` shows how it is used")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m zoo",
        description="Train and run Keras models on the GPU you have, each stack in a pinned environment of its own.",
        epilog=EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for verb, act, words in (
        ("train", _train, "train a model and leave a run folder that tells the whole story"),
        ("infer", _infer, "use a trained run, or published weights, on any stack"),
        ("bench", _bench, "time a model on one stack or several, single operations, all networks, or the start"),
    ):
        added = _verb(verbs, verb, act, words)
        added.epilog = _groups(verb)
        added.add_argument(
            "overrides", nargs="*", metavar="KEY=VALUE", help="settings; `python -m zoo help` lists them"
        )
        added.add_argument("-m", "--multirun", action="store_true", help="run every combination of KEY=A,B,...")
        added.add_argument("--cfg", choices=["job"], help="show the composed settings and do nothing")
        added.add_argument("--dry-run", action="store_true", help="tell every step, path and version, do nothing")
        added.add_argument(
            "--machine", metavar="FILE", help="with --dry-run: another machine, as captured in tests/machines"
        )
        added.add_argument("--json", action="store_true", help="print the run's record as JSON on standard output")
    validating = _verb(verbs, "validate", _validate, "train a recipe, hold it to its promise, record the evidence")
    validating.epilog = _groups("train")
    validating.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings, as for train")
    validating.add_argument("-m", "--multirun", action="store_true", help="validate every combination of KEY=A,B,...")
    validating.add_argument("--json", action="store_true", help="as JSON")
    _report_verb(_verb(verbs, "report", _report, "one page of a run, or of several held against each other"))
    listing = _verb(verbs, "list", _list, "models, backends, stacks and recipes, with their evidence")
    listing.add_argument("what", nargs="?", choices=["models", "backends", "stacks", "recipes", "references"])
    listing.add_argument("--json", action="store_true", help="as JSON")
    examining = _verb(verbs, "doctor", _doctor, "this machine, its interpreters, the stacks that fit, disk space")
    examining.add_argument("--json", action="store_true", help="as JSON")
    explaining = _verb(verbs, "explain", _explain, "what is known of an error: cause, remedy and source")
    explaining.epilog = "exit status: 0 where something is known of the log, 1 where nothing is"
    explaining.add_argument("log", help="a file with the error or the whole log, or - for standard input")
    explaining.add_argument("--backend", help="the backend it came from, where you know it")
    explaining.add_argument("--json", action="store_true", help="as JSON")
    _environment_verbs(_verb(verbs, "env", None, "the environments that the zoo built"))
    attaching = _verb(verbs, "attach", _attach, "watch a run that goes on elsewhere")
    attaching.add_argument("run", metavar="RUN", help="folder of a run, or last: the newest under --root")
    attaching.add_argument("--root", metavar="FOLDER", default="runs", help="the folder of all run folders")
    _storage_verbs(_verb(verbs, "runs", None, "run folders: their sizes, and removing them"), "runs")
    _storage_verbs(_verb(verbs, "cache", None, "what is cached beside environments: sizes, and removing it"), "cache")
    _weight_verbs(_verb(verbs, "weights", None, "published and own weights: look into files, convert them"))
    helping = _verb(verbs, "help", _help, "what can be set, group by group")
    helping.add_argument("topic", nargs="?", help="a group: model, backend, data, preset, trainer, output, ...")
    return parser


def _groups(verb: str) -> str:
    from zoo.config import compose

    # Named here and not read from the files: help is to come at once, and reading YAML takes its time.
    groups = ("model", "backend", "data", "preset") if verb == "train" else ("model", "backend")
    listed = [f"  {group}={'|'.join(compose.options(group))}" for group in groups]
    return "\n".join(["groups:", *listed, "", "`python -m zoo help GROUP` tells what each is and what can be set"])


def _verb(verbs: Any, name: str, act: Callable[[Any], int] | None, words: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=words,
        description=words,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if act is not None:
        added.set_defaults(act=act)
    return added


def _report_verb(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="*", metavar="RUN", help="folder of a run, its name, or last (the default)")
    parser.add_argument("--output", metavar="FILE", help="the page to write; RUN/report.html by itself")
    parser.add_argument("--root", metavar="FOLDER", help="the folder of all run folders; runs by itself")
    parser.add_argument("--list", action="store_true", help="a table of all runs instead of a page")
    parser.add_argument("--sort", metavar="KEY", help="with --list: run, started (the default), model, value, ...")
    parser.add_argument("--reverse", action="store_true", help="with --list: the largest first")
    parser.add_argument("--json", action="store_true", help="with --list: as JSON")


def _environment_verbs(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="ACTION", required=True)
    _verb(verbs, "list", _env_list, "environments, their size and state").add_argument("--json", action="store_true")
    creating = _verb(verbs, "create", _env_create, "build the environment of a stack now")
    creating.add_argument("stack", nargs="+", help="name of a stack; `python -m zoo list stacks` lists them")
    removing = _verb(verbs, "remove", _env_remove, "remove environments; the next run builds them again")
    removing.add_argument("stack", nargs="*", help="name of a stack or of an environment's folder")
    removing.add_argument("--all", action="store_true", help="remove all of them")


def _storage_verbs(parser: argparse.ArgumentParser, what: str) -> None:
    verbs = parser.add_subparsers(metavar="ACTION", required=True)
    listing = _verb(verbs, "list", _storage_list, "names and sizes")
    listing.add_argument("--json", action="store_true", help="as JSON")
    removing = _verb(verbs, "remove", _storage_remove, "remove what is named, and nothing else")
    removing.add_argument("name", nargs="*", help=f"as `python -m zoo {what} list` shows it")
    if what == "cache":
        removing.add_argument("--all", action="store_true", help="all but the environments")
    for added in (listing, removing):
        added.set_defaults(what=what)
        if what == "runs":
            added.add_argument("--root", metavar="FOLDER", default="runs", help="the folder of all run folders")


def _weight_verbs(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="ACTION", required=True)
    showing = _verb(verbs, "show", _weights_show, "list the weights in a file, with their shapes")
    showing.add_argument("file", help=".npz, .safetensors, .h5 of any Keras, .weights.h5 or .keras")
    converting = _verb(verbs, "convert", _weights_convert, "write the weights in a file as another kind of file")
    converting.add_argument("source", metavar="IN", help="the file to read; its content tells of what kind it is")
    converting.add_argument(
        "target", metavar="OUT", help="the file to write: .npz, .safetensors, .h5 (Keras 2) or .weights.h5 (Keras 3)"
    )
    converting.add_argument(
        "--names",
        choices=["zoo", "torch"],
        default="zoo",
        help="an encoder's weights by the zoo's names or PyTorch's",
    )


def _train(parsed: Any) -> int:
    from zoo.tasks import registry

    return _runs(parsed, "train", registry.train)


def _infer(parsed: Any) -> int:
    from zoo.tasks import registry

    return _runs(parsed, "infer", registry.infer)


def _bench(parsed: Any) -> int:
    from zoo.tasks import registry

    return _runs(parsed, "bench", registry.bench)


def _runs(parsed: Any, verb: str, act: "Callable[[list[str]], Run]") -> int:
    from zoo.config import compose

    if parsed.cfg:
        return _show_settings(verb, parsed.overrides)
    if parsed.machine and not parsed.dry_run:
        raise ZooError("--machine describes another machine; a run can only be told for it", "Add --dry-run.")
    if parsed.dry_run:
        from pathlib import Path

        from zoo.cli import dry_run

        print("\n".join(dry_run.lines(verb, parsed.overrides, Path(parsed.machine) if parsed.machine else None)))
        return 0
    if not parsed.multirun:
        return _finish(act(parsed.overrides), parsed.json)
    return _sweep(compose.expand_sweep(parsed.overrides), act, parsed.json)


def _show_settings(verb: str, overrides: list[str]) -> int:
    from zoo.tasks import registry

    print(registry.composed_text(verb, overrides), end="")
    return 0


def _sweep(combinations: list[list[str]], act: "Callable[[list[str]], Run]", as_json: bool) -> int:
    """Run every combination; one that fails is told and does not stop the others."""
    from zoo.core import console

    worst = 0
    for number, overrides in enumerate(combinations, 1):
        console.say(f"\n[{number}/{len(combinations)}] {' '.join(overrides)}")
        try:
            code = _finish(act(overrides), as_json)
        except ZooError as error:
            console.fail(error.message, error.remedy)
            code = error.exit_code
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
    return worst


def _finish(run: "Run", as_json: bool) -> int:
    """Print the result of a run and return the exit code."""
    if as_json:
        print(json.dumps(run.record, sort_keys=True))
    else:
        from zoo.cli import summary
        from zoo.core import console

        for title, headings, rows in summary.tables(run):
            console.table(title, headings, rows)
        print("\n".join(summary.lines(run)))
    return INTERRUPTED if run.exit == "interrupted" else 0


def _validate(parsed: Any) -> int:
    from zoo.config import compose
    from zoo.tasks import validate

    combinations = compose.expand_sweep(parsed.overrides) if parsed.multirun else [parsed.overrides]
    return validate.show(combinations, parsed.json)


def _report(parsed: Any) -> int:
    from zoo.reports import run_table

    if parsed.list:
        if parsed.run or parsed.output:
            raise ZooError("--list tells of all runs and writes no page", "Leave out the runs and --output.")
        return run_table.show(parsed.root, parsed.sort or "started", parsed.reverse, parsed.json)
    if parsed.sort or parsed.reverse or parsed.json:
        raise ZooError("--sort, --reverse and --json are for the table of all runs", "Add --list.")
    print(run_table.write(parsed.run, parsed.root, parsed.output))
    return 0


def _list(parsed: Any) -> int:
    from zoo.cli import tables

    return tables.show(parsed.what, parsed.json)


def _doctor(parsed: Any) -> int:
    from zoo.cli import doctor

    report = doctor.examine()
    print(json.dumps(report, indent=2, sort_keys=True) if parsed.json else doctor.render(report))
    return 0


def _explain(parsed: Any) -> int:
    import dataclasses

    from zoo.environments import backends
    from zoo.runs import known_issues

    if parsed.backend is not None and parsed.backend not in backends.names():
        raise unknown("backend", parsed.backend, backends.names())
    text = _log_text(parsed.log)
    findings = known_issues.explain(text, parsed.backend)
    if parsed.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
    else:
        print(known_issues.render(findings, text))
    return 0 if findings else 1


def _log_text(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        with open(name, "rb") as source:
            return source.read().decode("utf-8", "replace")
    except OSError as error:
        raise ZooError(
            f"Cannot read {name}: {error.strerror}", "Give the file of a log, or - and paste it."
        ) from error


def _help(parsed: Any) -> int:
    from zoo.cli import tables

    print("\n".join(tables.help_lines(parsed.topic)))
    return 0


def _env_list(parsed: Any) -> int:
    from zoo.cli import tables

    return tables.show_environments(parsed.json)


def _env_create(parsed: Any) -> int:
    from zoo.core import console
    from zoo.environments import machine, stacks, store

    platform = machine.probe().platform
    for stack in [stacks.load(name) for name in parsed.stack]:
        made = store.ensure(stack, platform)
        state = f"built in {made.build_s:.0f} s" if made.build_s else "ready already"
        console.say(f"{stack.name}: {state}")
        print(made.python)
    return 0


def _env_remove(parsed: Any) -> int:
    from zoo.core import console
    from zoo.environments import store

    if not parsed.stack and not parsed.all:
        raise ZooError("No environment is named", "Name stacks, or give --all; `python -m zoo env list` lists them.")
    for folder in store.remove(None if parsed.all else parsed.stack):
        console.say(f"Removed {folder}")
    return 0


def _attach(parsed: Any) -> int:
    from pathlib import Path

    from zoo.runs import attach, records

    newest = parsed.run == "last"
    root = Path(parsed.root)
    folder = records.latest(root, "train", trained=False) if newest else Path(parsed.run).expanduser().resolve()
    print(f"{folder}: {attach.follow(folder)}")
    return 0


def _storage_list(parsed: Any) -> int:
    from zoo.cli import tables

    return tables.show_storage(parsed.what, getattr(parsed, "root", ""), parsed.json)


def _storage_remove(parsed: Any) -> int:
    from pathlib import Path

    from zoo.core import console
    from zoo.runs import storage

    everything = getattr(parsed, "all", False)
    if not parsed.name and not everything:
        raise ZooError("Nothing is named", f"`python -m zoo {parsed.what} list` lists what there is.")
    if parsed.what == "runs":
        gone = storage.remove_runs(Path(parsed.root), parsed.name)
    else:
        gone = storage.remove_cached(None if everything else parsed.name)
    for folder in gone:
        console.say(f"Removed {folder}")
    return 0


def _weights_show(parsed: Any) -> int:
    from pathlib import Path

    from zoo.weights import io

    print("\n".join(io.show(Path(parsed.file).expanduser()).lines))
    return 0


def _weights_convert(parsed: Any) -> int:
    from pathlib import Path

    from zoo.weights import io

    source, target = Path(parsed.source).expanduser(), Path(parsed.target).expanduser()
    summary = io.convert(source, target, parsed.names)
    print("\n".join(summary.lines))
    return 0
