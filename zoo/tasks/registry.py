"""Run the commands that create run folders, each in the module of the model's task."""

import shlex
from typing import Any

from zoo.config import compose, config_files, references
from zoo.config.overrides import USER, Overrides
from zoo.config.tasks import Command
from zoo.core import console, paths, uses
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.environments import machine, selection, store
from zoo.runs import context, result, resume
from zoo.runs.records import RECORD, Json
from zoo.runs.records import read as read_record
from zoo.runs.result import Run
from zoo.tasks import discovery, export_table, exporting, summaries, sweeps, trained_run
from zoo.weights import zoo_networks


def dispatch(verb: str, overrides: Overrides) -> Run:
    paths.make_cache()
    if sweeps.is_elsewhere(overrides):
        return sweeps.single(verb, overrides)
    with uses.using(paths.cache_in_use()):
        complete = _complete(verb, overrides)
        if complete:
            return complete
        sweeps.refuse_needless(overrides)
        overrides = expand(verb, trained_run.with_name(overrides))
        run: Run = discovery.command_of(verb, overrides).run(overrides)
        if verb == "train":
            _export_after(run, overrides)
    return run


def _complete(verb: str, overrides: Overrides) -> Run | None:
    if verb != "train" or overrides.get(resume.KEY) != resume.AUTO:
        return None
    folder = resume.named_folder(overrides)
    if not (folder / RECORD).is_file() or read_record(folder)["exit"] != "completed":
        return None
    console.say(f"{folder} is complete")
    return result.open_run(folder)


def prepare(verb: str, overrides: Overrides) -> None:
    """Build the environment that a run would use, if it is missing."""
    paths.make_cache()
    overrides = expand(verb, overrides)
    command, here = discovery.command_of(verb, overrides), machine.probe()
    composed, choice = context.resolve(command, overrides.without(resume.KEY), here, references.chosen(overrides))
    if composed.settings.backend.python is None:
        console.say(f"{choice.stack.name}: {store.ensure(choice.stack, here.platform).folder}")


def expand(verb: str, overrides: Overrides) -> Overrides:
    """Expand ``resume=`` to the settings of the run, and the names of the zoo's networks to their runs."""
    if verb == "train":
        if f"{resume.KEY}=" in overrides.words:
            raise ZooError("resume= names no run", "Give a run folder, or last: resume=last")
        overrides = resume.settle(overrides)
        return resume.expand(overrides) if overrides.get(resume.KEY) else overrides
    return zoo_networks.as_run(overrides) if verb in ("infer", "evaluate", "export") else overrides


def _export_after(run: Run, overrides: Overrides) -> None:
    wanted = exporting.after_training(run, overrides)
    if wanted is None:
        return
    try:
        exported = discovery.command_of("export", wanted).run(wanted)
        if exported.exit == "interrupted":
            raise ZooError("it was interrupted", exit_code=INTERRUPTED)
    except ZooError as error:
        console.say("\n".join((command_of_run(run).summary or summaries.recorded)(run)))
        error.message = f"The training is complete, in {run.folder}; its export failed: {error.message}"
        again = f"Export it later: {shlex.join(['python', '-m', 'zoo', 'export', *wanted.words])}"
        error.remedy = "\n".join(filter(None, (error.remedy, again)))
        raise
    console.say("\n".join(export_table.summary(exported)))


def command_of_run(run: Run) -> Command[Any]:
    verb, benchmark = run.record["verb"], run.record.get("bench")
    return discovery.command(verb, benchmark or config_files.task_of(run.record["model"]))


def figures_of(record: Json) -> tuple[str, ...]:
    """Return the metrics to show for a run, whose record may come from a third party."""
    name = str(record.get("bench") or config_files.task_of(str(record.get("model"))))
    command = discovery.task(name).command(str(record.get("verb"))) if name in discovery.modules() else None
    return command.figures if command else ("loss",)


def with_gpu(overrides: Overrides, here: machine.Machine | None = None) -> Overrides:
    """Replace ``backend=gpu`` with the backend for the best GPU of a machine, by default this machine."""
    if overrides.get("backend") != "gpu":
        return overrides
    return overrides.with_(USER, {"backend": selection.gpu(here or machine.probe(), overrides.get("stack"))})


def compose_settings(verb: str, overrides: Overrides) -> Any:
    return compose.compose(discovery.command_of(verb, overrides), overrides)


def composed_text(verb: str, overrides: Overrides) -> str:
    if verb in ("infer", "evaluate"):
        overrides = expand(verb, overrides)
    return context.composed_text(discovery.command_of(verb, overrides), overrides)
