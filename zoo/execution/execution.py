"""Execute a request: ensure the environment, run the worker, record the outcome."""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from packaging.utils import canonicalize_name

from zoo.config import model_files
from zoo.config.config_files import model_arguments
from zoo.config.schemas.common import Settings
from zoo.config.schemas.launching import Shareable
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write
from zoo.environments import store
from zoo.execution import diagnosis, event_display, launchers, probe_cache, process_group, retry, worker_process
from zoo.execution.watchdog import ProcessLimits
from zoo.execution.worker_process import Feed, Outcome
from zoo.explain import known_issues
from zoo.protocol import targets
from zoo.protocol.events import ERROR_KINDS, Event, StartEvent
from zoo.protocol.request import DistributedPart, ModelPart, Request, TargetPart
from zoo.runs.context import RunContext
from zoo.runs.records import Json


def execute(
    context: RunContext[Settings], request: Request, watch: event_display.Show | None = None,
    feed: Feed | None = None, live: bool = True, started: Callable[[], None] | None = None,
) -> Outcome:  # fmt: skip
    """Run the worker until it ends, with retries if the settings request them, and record the outcome.

    Args:
        request: see :func:`request_of`.
        watch: called with every event of the worker, after it is shown.
        feed, started: see :func:`zoo.execution.worker_process.run`.
        live: draw bars; False if several workers run at once.
    """
    environment = ensure_environment(context)
    if context.resumes:
        request = request.replace(resume=True)
    # A user's own environment may change, so its results cannot be reused.
    cached = context.settings.backend.probes and context.settings.backend.python is None
    probed = probe_cache.known(environment, context.machine, request.device) if cached else None
    if probed:
        request = request.replace(probed=probed.rows)
    variables = store.child_environment(context.choice.stack, context.choice.env)
    meeting = _meeting(context)
    if isinstance(context.settings, Shareable) and context.settings.distributed.threads:
        variables |= process_group.thread_variables(context.settings.distributed.threads)
    if meeting:
        request = request.replace(distributed=meeting)
    starting, figures = f"Starting {context.choice.stack.name}", context.command.figures
    with event_display.following(starting, figures, live, context.devices) as show:

        def handle(event: Event) -> None:
            if isinstance(event, StartEvent) and context.settings.backend.python is None:
                _refuse_other_versions(environment, event.versions)
            show(event)
            if watch is not None:
                watch(event)
            if context.trackers:
                context.trackers.watch(event)

        def once(path: Path) -> Outcome:
            tolerance = context.settings.fault_tolerance
            limits = ProcessLimits(context.lock, 60 * tolerance.hang_minutes, tolerance.on_hangup == "continue")
            launcher = context.settings.launcher.name if others is None else "local"
            return worker_process.run(
                environment.python, variables, path, handle, feed, limits, started, launcher, meeting, others
            )

        with store.in_use(environment), _other_machines(context, meeting) as others:
            outcome = retry.run_with_retries(context.folder, context.record, request, once)
    _record(context, environment, outcome)
    context.record.probes_from = probed.date if probed else None
    if outcome.start and not probed and cached:
        probe_cache.keep(environment, context.machine, request.device, probe_cache.Probed.of(outcome.start))
    return outcome


def ensure_environment(context: RunContext[Settings]) -> store.Environment:
    """Build or find the run's environment, and save its lock and versions in the folder and the record."""
    own = context.settings.backend.python
    if own is None:
        try:
            environment = store.ensure(context.choice.stack, context.machine.platform)
        except ZooError as error:
            findings = known_issues.explain(error.message, context.choice.backend.name)
            if findings:
                error.remedy = f"{known_issues.render(findings)}\n{error.remedy}"
            raise
    else:
        environment, differences = store.inspect_own(Path(own), context.choice.stack)
        context.record.stack |= {"own_python": own, "differences": differences}
        for difference in differences:
            console.warn(f"Your environment differs from the lock: {difference}")
    atomic_write(context.folder / "requirements.lock", environment.lock.read_bytes())
    context.record.stack |= {
        "lock_sha256": environment.lock_sha256,
        "python": environment.python_version,
        "environment": str(environment.folder),
    }
    context.record.versions = environment.versions
    context.record.phases["environment_s"] = round(environment.build_s, 3)
    return environment


def _refuse_other_versions(environment: store.Environment, imported: dict[str, str]) -> None:
    """Raise an error if the worker imported a library version that differs from the environment's lock."""
    locked = {canonicalize_name(name): number for name, number in environment.versions.items()}
    for name, number in imported.items():
        wanted = locked.get(canonicalize_name(name), number).partition("+")[0]
        if number.partition("+")[0] != wanted:
            raise ZooError(
                f"The environment {environment.folder.name} was changed: {name} {number} was imported, but its lock "
                f"has {wanted}",
                f"Build it again: python -m zoo env remove {environment.folder.name}",
            )


def _other_machines(
    context: RunContext[Settings], meeting: DistributedPart | None
) -> AbstractContextManager[launchers.Executor | None]:
    if meeting is None or meeting.nodes == 1:
        return nullcontext()
    folder = context.folder / "launcher"
    folder.mkdir(exist_ok=True)
    return launchers.executor(context.settings.launcher, folder)


def _meeting(context: RunContext[Settings]) -> DistributedPart | None:
    settings = context.settings
    if not isinstance(settings, Shareable) or settings.distributed.processes == 1:
        return None
    wanted = settings.distributed
    if wanted.nodes > 1 and context.settings.launcher.name == "local":
        raise ZooError(
            f"distributed.nodes={wanted.nodes} needs other machines, but launcher is local",
            "Add launcher=ssh launcher.hosts=[NAME,...], launcher=slurm or launcher=ray.",
        )
    here = -(-wanted.processes // wanted.nodes)
    threads = wanted.threads or max(1, context.machine.cores // here)
    host = "127.0.0.1" if wanted.nodes == 1 else None
    return DistributedPart(
        processes=wanted.processes, threads=threads, host=host, port=wanted.port, join_s=wanted.join_s,
        nodes=wanted.nodes, id=secrets.token_hex(8),
    )  # fmt: skip


def _record(context: RunContext[Settings], environment: store.Environment, outcome: Outcome) -> None:
    record, start, done = context.record, outcome.start, outcome.done
    record.device = start.device.to_json() if start else None
    record.probes = start.probes if start else None
    # Versions that the libraries report take precedence over the installer's.
    record.versions = {**environment.versions, **(start.versions if start else {})}
    if start and start.processes:
        record.processes = start.processes | ((done and done.processes) or {})
    record.metrics = done.metrics if done else {}
    record.peak_memory_bytes = done.peak_memory_bytes if done else None
    interrupted = outcome.interrupted or (done is not None and done.stopped == "interrupted")
    record.exit = "interrupted" if interrupted else "completed" if done else "failed"
    if done:
        spent = context.previous.get("phases", {})  # before interruptions
        record.phases |= {key: round(spent.get(key, 0.0) + value, 4) for key, value in done.phases.items()}
        if done.stopped:
            record.stopped = done.stopped
        if done.linear_probe and done.linear_probe["trained"]:  # else stopped before the first epoch
            kept = done.metrics["best_epoch"] == 0
            record.linear_probe = done.linear_probe | {"kept": kept, "verdict": _verdict(done.linear_probe, kept)}
            del record.linear_probe["costs"]


def _verdict(probe: Json, kept: bool) -> str:
    """Say whether a linear classifier or an epoch was kept, and why."""
    best = {f"val_{kind.best}": kind.names[kind.best] for kind in targets.KINDS.values()}
    named = {"linear classifier": probe, f"epoch {probe['trained']['epoch']}": probe["trained"]}.items()
    words = {"val_loss": "validation loss"} | best
    rows = [", ".join([name, *(f"{words[key]} {row[key]:z.4f}" for key in words if key in row)]) for name, row in named]
    return "Kept: {}. Not clearly better: {}".format(*rows) if kept else "Kept: {1}. Worse: {0}".format(*rows)


def request_of(
    context: RunContext[Settings], model: Json, job: str, weights: Path | str | None = None,
    arguments: Json | None = None,
) -> Request:  # fmt: skip
    """Return a request with the parts that all jobs share.

    Args:
        model: settings of the model, or its ``name`` and ``args``.
        job: name of the worker's job.
        weights: ``weights.npz`` to load.
        arguments: additional arguments of the model's builder.
    """
    return Request(
        verb=context.verb, job=job, run_dir=str(context.folder), run_id=context.record.get("run_id", ""),
        stack=context.choice.stack.requested, device=context.choice.device(context.settings.backend.device),
        probes=context.settings.backend.probes, tensorboard=context.settings.tracking.tensorboard,
        tensorboard_histograms=context.settings.tracking.tensorboard_histograms,
        model=requested_model(model, context.folder, arguments), weights=str(weights) if weights else None,
    )  # fmt: skip


def requested_model(model: Json, folder: Path, arguments: Json | None = None) -> ModelPart:
    """Return the model part of a request; copy a user's model file into the run folder. See :func:`request_of`."""
    own = model["args"] if "args" in model else model_arguments(model)
    copied = model_files.place(model, folder) if "file" in model else {}
    target = TargetPart.of(model["target"]) if model.get("target") else None
    return ModelPart(
        name=model["name"], args=own | (arguments or {}), saved=model.get("saved"), target=target, **copied
    )


def raise_if_failed(context: RunContext[Settings], outcome: Outcome) -> None:
    """Raise the worker's error, unless the worker finished or the user stopped it."""
    if not outcome.done and not outcome.interrupted:
        error = diagnosis.failure(outcome, context.folder, context.choice.backend.name)
        hints = retry.recovery_hints(context.folder, outcome, context.record)
        environment = Path(context.record.stack.get("environment", ""))
        # Files of the environment may be missing, if the worker itself reported no error.
        damage = None if outcome.failed_with(*ERROR_KINDS) else store.damage(environment)
        if damage:
            repair = f"Remove it, and the next run builds it again: python -m zoo env remove {environment.name}"
            error.message = f"The environment {environment} is damaged: {damage}. {error.message}"
            error.remedy = f"{repair}\n{error.remedy}"
        raise ZooError(error.message, "\n".join([error.remedy, *hints]))
