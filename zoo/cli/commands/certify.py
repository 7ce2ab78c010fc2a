"""`zoo certify`: test every feature of the zoo on every backend of this machine, and write evidence."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.cli.parser import Verbs, add_verb
from zoo.core import console
from zoo.core.errors import ZooError, require_known

if TYPE_CHECKING:
    from zoo.certification.results import Certification

SETTINGS = {
    "backend": "only this backend (default: all that work here)",
    "stack": "best (default), all (every stack that works), or the name of a stack",
    "data.root": "folder of MNIST's four files (default: download them)",
    "output.root": "folder of all run folders (default: runs)",
    "model": "with --tune: the model whose recipe is searched",
    "data": "with --tune: the data set (default: digits)",
    "trials": "with --tune: number of trainings in the search (default: 15)",
}


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "certify", run, "test all features on this machine; write a page and a file of evidence")
    lines = [f"  {key:<12} {about}" for key, about in SETTINGS.items()]
    parser.end_of_help = lambda: "\n".join(["settings:", *lines])
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings, see below")
    parser.add_argument("--quick", action="store_true", help="short steps: minutes instead of most of an hour")
    parser.add_argument("--on-battery", action="store_true", help="do not wait until the machine is plugged in")
    parser.add_argument("--tune", action="store_true", help="search a recipe of one model for this machine instead")
    parser.add_argument("--finish", action="store_true", help="write the evidence of a stopped certification")
    parser.add_argument("--list", action="store_true", help="print the steps and how long they take, and exit")


def run(parsed: argparse.Namespace) -> int:
    """Certify; return 0 if every step passed, else 1."""
    from zoo.certification import results, session

    chosen = _settings(parsed.overrides)
    root, mode = Path(chosen.get("output.root", "runs")), _mode(parsed, chosen)
    stack, backend = chosen.get("stack", "best"), chosen.get("backend")
    if parsed.list:
        return _list(mode, backend, stack)
    work = session.unfinished(root, mode, backend, stack)
    if parsed.finish:
        if work is None:
            raise ZooError(f"There is no stopped certification with these settings in {root}",
                           "Give --finish with the settings of the stopped command.")  # fmt: skip
        state = work.as_it_is()
    else:
        work = work or session.begun(root, mode, backend, stack)
        work.run(chosen.get("data.root"), parsed.on_battery)
        state = work.state
    _leave(work.folder, state)
    return 1 if state.count(results.FAILED) else 0


def _mode(parsed: argparse.Namespace, chosen: dict[str, str]) -> str:
    """Return the mode: quick, full, or a search. Raise an error if search settings are given without a search."""
    from zoo.certification import results, steps

    if not parsed.tune:
        alone = [key for key in ("model", "data", "trials") if key in chosen]
        if alone:
            raise ZooError(f"{alone[0]}= belongs to a search", "Add --tune, or remove it.")
        return results.QUICK if parsed.quick else results.WHOLE
    if "model" not in chosen:
        raise ZooError("--tune needs the model whose recipe is searched", "For example: --tune model=mnist_dense")
    mode = f"tune {chosen['model']} {chosen.get('data', 'digits')} {chosen.get('trials', '15')}"
    if results.tuning(mode) is None:
        raise ZooError(f"Not a search: {mode!r}", "For example: --tune model=mnist_dense data=digits trials=15")
    steps.space_file(chosen["model"], chosen.get("backend", "cpu"))
    return mode


def _settings(words: list[str]) -> dict[str, str]:
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise ZooError(f"A setting is KEY=VALUE, got {word!r}", "`python -m zoo certify --help` lists them.")
        require_known("setting of certify", [key], SETTINGS)
        settings[key] = value
    return {key: value for key, value in settings.items() if (key, value) != ("backend", "auto")}


def _list(mode: str, backend: str | None, stack: str) -> int:
    from zoo.certification import plan, session

    for place in plan.places(backend, stack):
        steps = plan.steps_of(place, mode)
        whole = session.words(sum(step.expected_s for step in steps))
        rows = [{"step": step.name, "does": step.about, "seconds": f"{step.expected_s:g}"} for step in steps]
        console.table_of(f"{place.name}, about {whole} on two cores of a Xeon", rows)
    return 0


def _leave(folder: Path, state: "Certification") -> None:
    """Write the page and the archive to the working folder, and print a summary and the next step."""
    from zoo.certification import archive
    from zoo.certification.privacy import Cleaner
    from zoo.core.files import free_path

    file = free_path(Path.cwd() / archive.name_of(state), "-")
    content = archive.members(folder, state, Cleaner())
    archive.write(file, content)
    shown = file.with_suffix(".html")
    shown.write_bytes(content[archive.PAGE])
    rows = [{"on": f"{row.backend} with {row.stack}", "step": row.step, "result": row.state,
             "seconds": f"{row.seconds:.1f}", "what came out": row.problem.splitlines()[0] if row.problem
             else "; ".join(row.words[:1])} for row in state.steps]  # fmt: skip
    console.table_of("", rows)
    console.output(f"{state.hardware}: {state.counts()}", f"Page: {shown}", f"Evidence: {file}")
    console.say("The evidence contains no names, paths or serial numbers (docs/how-to/certify.md lists its content). "
                "Attach it to an issue of the form \"It ran on my GPU\", also after failures.")  # fmt: skip
