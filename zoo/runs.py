"""The straight line: settings, machine, backend, data, environment, worker, artifacts, record."""

import contextlib
import dataclasses
import errno
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from zoo import backends, config, data, envs, explain, machine, progress, records, references, runner, screen
from zoo.errors import ZooError, unknown

PROTOCOL = 1
RECORD_FORMAT = 1
STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


@dataclass
class Run:
    """A run that came to an end, as its folder tells it.

    Attributes:
        folder: the run folder.
        record: the content of ``run.json``.
    """

    folder: Path
    record: dict[str, Any]

    @property
    def exit(self) -> str:
        """``completed``, ``interrupted`` or ``failed``."""
        return str(self.record["exit"])

    @property
    def metrics(self) -> dict[str, Any]:
        """Final figures, such as ``test_accuracy``."""
        found: dict[str, Any] = self.record.get("metrics", {})
        return found

    @property
    def history(self) -> list[dict[str, float]]:
        """One dictionary an epoch."""
        return records.read_history(self.folder)

    @property
    def curves(self) -> Path | None:
        """The picture of the curves, where the run has one."""
        path = self.folder / "curves.png"
        return path if path.is_file() else None

    @property
    def predictions(self) -> list[dict[str, str]]:
        """Rows of ``predictions.csv``: input, class, probability and each class's probability."""
        import csv

        path = self.folder / "predictions.csv"
        if not path.is_file():
            return []
        with path.open(newline="", encoding="utf-8") as source:
            return list(csv.DictReader(source))

    def _repr_png_(self) -> bytes | None:
        """Notebooks show the curves."""
        return self.curves.read_bytes() if self.curves else None


def open_run(folder: Path) -> Run:
    """Open a run folder."""
    return Run(folder, records.read(folder))


@dataclass
class _Line:
    """What the steps of one run hand on to each other."""

    verb: str
    settings: config.Config
    text: str
    overrides: list[str]
    choice: backends.Choice
    machine: machine.Machine
    reference: references.Reference | None = None
    folder: Path = Path()
    record: dict[str, Any] = field(default_factory=dict)


def train(overrides: list[str]) -> Run:
    """Train as told.

    Args:
        overrides: as on the command line, ``group=option`` and ``key=value``.

    Raises:
        ZooError: anything that stops the run, with what to do about it; the run folder then holds its record.
    """
    line = _prepare("train", overrides)
    settings = line.settings
    assert isinstance(settings, config.TrainConfig)  # noqa: S101  (composed for this verb)
    if not (line.choice.backend.trains and line.choice.stack.trains):
        what = (
            f"Stack {line.choice.stack.name}" if line.choice.backend.trains else f"Backend {line.choice.backend.name}"
        )
        raise ZooError(f"{what} cannot train: {line.choice.stack.about}", "`python -m zoo doctor` tells what can.")
    settings, prepared, why_data = _data(line, settings)
    _open_folder(line, [str(settings.model["name"]), line.choice.backend.name])
    with _recorded(line):
        indices = data.split(
            prepared.counts["train"], settings.data.validation, settings.seed, settings.data.train_limit
        )
        data.save_split(line.folder / "split.npz", *indices)
        line.record["data"] = _data_record(prepared, settings, why_data, [len(part) for part in indices])
        outcome = _work(line, _train_request(line, settings, prepared))
        _keep_training(line, outcome)
        _judge(line, settings)
        if line.reference:
            compared = references.comparison(line.reference.published or [], line.record)
            line.record["reference"] = {"name": line.reference.name, "compared": compared}
    return Run(line.folder, line.record)


def infer(overrides: list[str]) -> Run:
    """Use a trained run on pictures.

    Raises:
        ZooError: anything that stops the run, with what to do about it.
    """
    source, overrides = _source_run(overrides)
    line = _prepare("infer", overrides)
    settings = line.settings
    assert isinstance(settings, config.InferConfig)  # noqa: S101  (composed for this verb)
    if line.choice.stack.keras == "none":
        raise ZooError(f"Stack {line.choice.stack.name} has no Keras", "Choose another: `python -m zoo list stacks`.")
    inputs = _inputs(settings, source)
    trained = source.record["config"]["model"]["name"]
    _open_folder(line, ["infer", trained, line.choice.backend.name])
    with _recorded(line):
        line.record |= {"model": trained, "trained_run": str(source.folder), "data": inputs.record}
        outcome = _work(line, _infer_request(line, settings, source, inputs))
        _keep_predictions(line, outcome, inputs, source)
    return Run(line.folder, line.record)


def _prepare(verb: str, overrides: list[str]) -> _Line:
    """Settle on settings, machine, backend and stack; nothing is built yet."""
    here = machine.probe()
    reference = references.chosen(overrides)
    for remark in references.remarks(reference, here) if reference else []:
        progress.say(remark)
    overrides, settings, text, choice = settle(verb, overrides, here)
    _say_choice(choice)
    return _Line(verb, settings, text, overrides, choice, here, reference)


def settle(
    verb: str, overrides: list[str], here: machine.Machine
) -> tuple[list[str], config.Config, str, backends.Choice]:
    """Settle overrides, settings, their text, backend and stack for a machine.

    Raises:
        ZooError: wrong settings, or nothing that serves them on that machine.
    """
    overrides, choice = _name_backend(references.expand(overrides), here)
    settings, text = config.compose_with_text(verb, overrides)
    if choice is None:
        choice = backends.choose(settings.backend.name, here, settings.stack, settings.backend.python)
    return overrides, settings, text, choice


def _say_choice(choice: backends.Choice) -> None:
    progress.say(f"Backend {choice.backend.name}, stack {choice.stack.name}")
    for reason in choice.reasons:
        progress.say(f"  {reason}")


def _name_backend(overrides: list[str], here: machine.Machine) -> tuple[list[str], backends.Choice | None]:
    """Put the name of the chosen backend where the overrides have none or ``auto``: Hydra needs it for the recipe."""
    if config.chosen("backend", overrides) not in (None, "auto"):
        return overrides, None
    choice = backends.choose(
        None, here, config.chosen("stack", overrides), config.chosen("backend.python", overrides)
    )
    rest = [text for text in overrides if not text.startswith("backend=")]
    return [*rest, f"backend={choice.backend.name}"], choice


def composed_text(verb: str, overrides: list[str]) -> str:
    """The settings that a verb would run with, as YAML."""
    return config.composed_text(verb, _name_backend(references.expand(overrides), machine.probe())[0])


def _data(line: _Line, settings: config.TrainConfig) -> tuple[config.TrainConfig, data.Prepared, str]:
    """Resolve ``data=auto``, compose again for what it resolved to, and prepare the arrays."""
    why = ""
    if settings.data.name == "auto":
        name, why = data.resolve("auto", settings.data.root)
        line.overrides = [*(text for text in line.overrides if not text.startswith("data=")), f"data={name}"]
        composed, line.text = config.compose_with_text("train", line.overrides)
        assert isinstance(composed, config.TrainConfig)  # noqa: S101  (composed for this verb)
        line.settings = settings = composed
        (progress.say if name == "mnist" else progress.warn)(f"data=auto: {why}")
    return settings, _prepared(settings.data), why


def _prepared(settings: config.DataSettings) -> data.Prepared:
    return data.prepare(dataclasses.replace(data.load_row(settings.name), **dataclasses.asdict(settings)))


def _open_folder(line: _Line, words: list[str]) -> None:
    output = line.settings.output
    line.folder = records.new_folder(Path(output.root).expanduser(), output.name, words)
    (line.folder / "config.yaml").write_text(line.text, encoding="utf-8")
    line.record = {
        "format": RECORD_FORMAT,
        "zoo_version": version(),
        "verb": line.verb,
        "exit": "running",
        "started": records.now(),
        "command": ["python", "-m", "zoo", line.verb, *line.overrides],
        "config": dataclasses.asdict(line.settings),
        "model": dataclasses.asdict(line.settings).get("model", {}).get("name"),
        "backend": line.choice.backend.name,
        "promise": line.choice.promise,
        "reasons": line.choice.reasons,
        "stack": _stack_record(line),
        "machine": dataclasses.asdict(line.machine),
        "git_commit": records.git_commit(),
        "phases": {},
    }
    records.write_json(line.folder / records.RECORD, line.record)


def version() -> str:
    """The zoo's own version; ``unknown`` in a checkout that is not installed."""
    try:
        return metadata.version("keras-gpu-zoo")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


def _stack_record(line: _Line) -> dict[str, Any]:
    stack, platform = line.choice.stack, line.machine.platform
    row = stack.platforms.get(platform)
    return {
        "name": stack.name,
        "framework": stack.framework,
        "keras": stack.keras,
        "platform": platform,
        "stand_in_for": row.stand_in_for if row else None,
    }


@contextlib.contextmanager
def _recorded(line: _Line) -> Iterator[None]:
    """Whatever happens inside, the folder ends with a complete ``run.json``."""
    began = time.monotonic()
    try:
        yield
    except ZooError as error:
        line.record |= {"exit": "failed", "error": {"message": error.message, "remedy": error.remedy}}
        raise
    except KeyboardInterrupt:
        line.record |= {"exit": "interrupted"}
        raise
    except BaseException as error:
        line.record |= {
            "exit": "failed",
            "error": {"message": f"{type(error).__name__}: {error}", "remedy": ""},
        }
        if isinstance(error, OSError) and error.errno in STORAGE:
            raise ZooError(
                f"Cannot write the run folder {line.folder}: {error.strerror}",
                "Make room there, or choose another place: output.root=FOLDER",
            ) from error
        raise
    finally:
        line.record["finished"] = records.now()
        line.record["seconds"] = round(time.monotonic() - began, 3)
        _close_record(line)


def _close_record(line: _Line) -> None:
    try:
        _list_artifacts(line)
        records.write_json(line.folder / records.RECORD, line.record)
    except OSError as error:  # said and no more: what stopped the run is on its way already
        progress.warn(f"{line.folder / records.RECORD} could not be brought up to date: {error.strerror or error}")


def _list_artifacts(line: _Line) -> None:
    files = sorted(path for path in line.folder.iterdir() if path.is_file() and path.name != records.RECORD)
    line.record["artifacts"] = [records.describe_file(line.folder, path) for path in files]


def _ready_python(line: _Line) -> envs.Environment:
    """The environment to work in: the zoo's own, or the user's where ``backend.python`` names one."""
    own = line.settings.backend.python
    if own is None:
        return _explained(line)
    environment, differences = envs.use_own(Path(own), line.choice.stack)
    line.record["stack"]["own_python"] = own
    line.record["stack"]["differences"] = differences
    for difference in differences:
        progress.warn(f"Your environment differs from the lock: {difference}")
    return environment


def _explained(line: _Line) -> envs.Environment:
    """The zoo's own environment; where it cannot be built, with what is known of such a failure."""
    try:
        return envs.ensure(line.choice.stack, line.machine.platform)
    except ZooError as error:
        findings = explain.explain(error.message, line.choice.backend.name)
        if findings:
            raise ZooError(error.message, f"{explain.render(findings)}\n{error.remedy}") from error
        raise


def _work(line: _Line, request: dict[str, Any]) -> runner.Outcome:
    """Make the environment ready, run the worker on the request, and note what it says of itself."""
    environment = _ready_python(line)
    shutil.copyfile(environment.lock, line.folder / "requirements.lock")
    line.record["stack"] |= {
        "lock_sha256": environment.lock_sha256,
        "python": environment.python_version,
        "environment": str(environment.folder),
    }
    line.record["versions"] = environment.versions
    line.record["phases"]["environment_s"] = round(environment.build_s, 3)
    path = line.folder / "request.json"
    path.write_text(json.dumps(request, indent=2), encoding="utf-8")
    with screen.following(f"Starting {line.choice.stack.name}") as show:
        outcome = runner.run(
            environment.python, envs.child_environment(line.choice.stack, line.choice.env), path, show
        )
    line.record["device"] = outcome.start.get("device")
    line.record["probes"] = outcome.start.get("probes")
    line.record["versions"] = {**environment.versions, **_spoken_versions(outcome)}
    line.record["phases"] |= {key: round(value, 4) for key, value in outcome.done.get("phases", {}).items()}
    line.record["metrics"] = outcome.done.get("metrics", {})
    line.record["peak_memory_bytes"] = outcome.done.get("peak_memory_bytes")
    line.record["exit"] = "interrupted" if outcome.interrupted else "completed" if outcome.done else "failed"
    return outcome


def _spoken_versions(outcome: runner.Outcome) -> dict[str, str]:
    """Versions as the libraries themselves say; they outrank what the installer wrote down."""
    return {str(name): str(number) for name, number in outcome.start.get("versions", {}).items()}


def _device(line: _Line) -> dict[str, Any]:
    return {
        "backend": line.choice.backend.name,
        "framework": line.choice.stack.framework,
        "promise": line.choice.promise,
        "id": line.settings.backend.device or line.choice.device_hint,
    }


def _request(line: _Line, model: dict[str, Any]) -> dict[str, Any]:
    arguments = {key: value for key, value in model.items() if key not in ("name", "about")}
    return {
        "protocol": PROTOCOL,
        "verb": line.verb,
        "run_dir": str(line.folder),
        "stack": {"framework": line.choice.stack.framework, "keras": line.choice.stack.keras},
        "device": _device(line),
        "probes": line.settings.backend.probes,
        "model": {"name": model["name"], "args": arguments},
    }


def _train_request(line: _Line, settings: config.TrainConfig, prepared: data.Prepared) -> dict[str, Any]:
    request = _request(line, settings.model)
    request["model"]["args"] |= {"input_shape": list(prepared.input_shape), "classes": prepared.classes}
    files = {name: str(getattr(prepared, name)) for name in ("x_train", "y_train", "x_test", "y_test")}
    rest = {
        "split": str(line.folder / "split.npz"),
        "classes": prepared.classes,
        "test_limit": settings.data.test_limit,
    }
    return request | {
        "train": dataclasses.asdict(settings.trainer) | {"seed": settings.seed},
        "data": files | rest,
        "weights": None,
    }


def _data_record(prepared: data.Prepared, settings: config.TrainConfig, why: str, sizes: list[int]) -> dict[str, Any]:
    test = min(prepared.counts["test"], settings.data.test_limit or prepared.counts["test"])
    return {
        "name": prepared.name,
        "reason": why,
        "sha256": prepared.sha256,
        "published": prepared.published,
        "source": prepared.source,
        "licence": prepared.licence,
        "class_names": prepared.class_names,
        "input_shape": list(prepared.input_shape),
        "train_items": sizes[0],
        "validation_items": sizes[1],
        "test_items": test,
        "split_seed": settings.seed,
    }


def _keep_training(line: _Line, outcome: runner.Outcome) -> None:
    """Write history and curves; say why where the worker did not finish."""
    if outcome.epochs:
        records.write_history(line.folder / "history.csv", outcome.epochs)
        from zoo import report

        told = line.record
        title = f"{told['model']} on {told['backend']} ({told['stack']['name']}), {told['data']['name']}"
        report.curves(records.read_history(line.folder), title, line.folder / "curves.png")
    _raise_if_failed(line, outcome)


def _raise_if_failed(line: _Line, outcome: runner.Outcome) -> None:
    if not outcome.done and not outcome.interrupted:
        raise runner.failure(outcome, line.folder, line.choice.backend.name)


def _judge(line: _Line, settings: config.TrainConfig) -> None:
    """Hold the result against what the recipe expects of this data set."""
    expected = settings.expect.get(line.record["data"]["name"], {})
    part_only = settings.preset != "full" or settings.data.train_limit or settings.data.test_limit
    if part_only or not expected or line.record["exit"] != "completed":
        return
    line.record["expected"] = {
        name: {"at_least": least, "met": line.record["metrics"][name] >= least} for name, least in expected.items()
    }


@dataclass
class _Inputs:
    names: list[str]
    x: Path | Any
    y: Path | None
    record: dict[str, Any]


def _source_run(overrides: list[str]) -> tuple[Run, list[str]]:
    """Open the run that ``run=`` names; its backend and stack are the default."""
    told = config.chosen("run", overrides)
    if not told:
        config.compose("infer", [*(text for text in overrides if not text.startswith("backend=auto"))])
        raise AssertionError("compose refuses settings without a run")
    root = Path(config.chosen("output.root", overrides) or config.Output().root)
    folder = records.latest(root, "train") if told == "last" else Path(told).expanduser().resolve()
    source = open_run(folder)
    if source.record.get("verb") != "train" or not (folder / "weights.npz").is_file():
        raise ZooError(f"{folder} holds no trained weights", "Give the folder of a training run, or run=last.")
    if config.chosen("backend", overrides) is None:
        overrides = [*overrides, f"backend={source.record['backend']}"]
        if config.chosen("stack", overrides) is None:
            overrides = [*overrides, f"stack={source.record['stack']['name']}"]
    return source, overrides


def _inputs(settings: config.InferConfig, source: Run) -> _Inputs:
    trained = source.record["data"]
    if settings.input == "test":
        return _test_set(source)
    from zoo import pictures

    style = "digits" if trained["name"] in ("mnist", "digits") else "plain"
    loaded = pictures.load(str(settings.input), tuple(trained["input_shape"]), style)
    for name, reason in loaded.skipped:
        progress.warn(f"Left out {name}: {reason}")
    record = {
        "name": str(settings.input),
        "items": len(loaded.names),
        "skipped": [list(row) for row in loaded.skipped],
    }
    return _Inputs(loaded.names, loaded.array, None, record | {"class_names": trained["class_names"]})


def _test_set(source: Run) -> _Inputs:
    prepared = _prepared(config.DataSettings(**source.record["config"]["data"]))
    if prepared.sha256 != source.record["data"]["sha256"]:
        raise ZooError(
            f"The data set {prepared.name} is no longer the one that {source.folder} was trained with",
            "Restore the files under data.root, or train again.",
        )
    count = source.record["data"]["test_items"]
    names = [f"test[{index}]" for index in range(count)]
    record = {
        "name": prepared.name,
        "items": count,
        "sha256": prepared.sha256,
        "class_names": prepared.class_names,
    }
    return _Inputs(names, prepared.x_test, prepared.y_test, record)


def _infer_request(line: _Line, settings: config.InferConfig, source: Run, inputs: _Inputs) -> dict[str, Any]:
    import numpy as np

    trained = _trained_model(source)
    x = line.folder / "inputs.npy"
    # A copy inside the run folder: what was asked stays beside what was answered.
    array = np.load(inputs.x, mmap_mode="r")[: len(inputs.names)] if isinstance(inputs.x, Path) else inputs.x
    np.save(x, array, allow_pickle=False)
    return _request(line, trained["args"] | {"name": trained["name"]}) | {
        "weights": str(source.folder / "weights.npz"),
        "data": {"x": str(x), "y": str(inputs.y) if inputs.y else None},
        "infer": {"batch_size": settings.batch_size},
    }


def _trained_model(source: Run) -> dict[str, Any]:
    """The model part of the request that the run was trained with; the folder may come from a stranger."""
    path = source.folder / "request.json"
    try:
        model = json.loads(path.read_text(encoding="utf-8"))["model"]
        name, arguments = model["name"], dict(model["args"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ZooError(f"{path} cannot be used: {error}", "Give another run, or train again.") from error
    if name not in config.options("model"):
        raise unknown("model", str(name), config.options("model"))
    return {"name": name, "args": arguments}


def _keep_predictions(line: _Line, outcome: runner.Outcome, inputs: _Inputs, source: Run) -> None:
    _raise_if_failed(line, outcome)
    path = line.folder / "probabilities.npy"
    if path.is_file():
        import numpy as np

        probabilities = np.load(path, allow_pickle=False)
        names = inputs.names[: len(probabilities)]
        classes = source.record["data"]["class_names"]
        records.write_predictions(line.folder / "predictions.csv", names, classes, probabilities)
