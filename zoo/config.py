"""What a run is told to do: typed settings, composed from ``configs/`` and ``recipes/`` by Hydra.

Hydra chooses and stacks the files; single values from the command line are laid on top one by one, so that every
mistake in them is reported at once. Past this module nobody sees a DictConfig.
"""

import dataclasses
import itertools
import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo import paths
from zoo.errors import ZooError, nearest, unknown

OPTIMIZERS = ("adam", "momentum", "rmsprop", "sgd")
SCHEDULES = ("constant", "cosine")
PATHS = ("input", "run", "data.root", "output.root", "output.name", "backend.python")


@dataclass
class Trainer:
    """How to train.

    Attributes:
        epochs: passes over the training pictures.
        batch_size: pictures per optimizer step.
        optimizer: adam, momentum (SGD with Nesterov momentum 0.9), rmsprop or sgd.
        learning_rate: the highest learning rate.
        schedule: constant, or cosine: falls to a hundredth along half a cosine.
        warmup: share of all steps that climb to the learning rate.
        jit: compile with XLA where Keras 3 can. Slower for small networks on a CPU, impossible on Metal.
    """

    epochs: int = 12
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 0.001
    schedule: str = "constant"
    warmup: float = 0.0
    jit: bool = False


@dataclass
class BackendSettings:
    """What can be set of a backend; the rest of its row is not for the user to change.

    Attributes:
        python: interpreter of an environment of your own, used instead of the zoo's.
        device: name of one device, where the backend has several.
        probes: compare small operations with numpy before the first step; false skips that.
    """

    name: str = "cpu"
    python: str | None = None
    device: str | None = None
    probes: bool = True


@dataclass
class DataSettings:
    """What can be set of a data set; the rest of its row is not for the user to change.

    Attributes:
        root: folder that holds the files; null means the zoo's cache, filled by download.
        train_limit: use only so many training pictures.
        test_limit: use only so many test pictures.
        validation: share of the training pictures set aside to choose the best epoch.
    """

    name: str = "auto"
    root: str | None = None
    train_limit: int | None = None
    test_limit: int | None = None
    validation: float = 0.1


@dataclass
class Output:
    """Where the run folder goes.

    Attributes:
        root: folder of all run folders.
        name: name of this run's folder; null means date, time, model and backend.
    """

    root: str = "runs"
    name: str | None = None


@dataclass
class TrainConfig:
    """Everything ``train`` is told.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        seed: of the split, the first weights, the order of the pictures and the framework.
        expect: the result that the recipe promises, by data set.
    """

    model: dict[str, Any] = field(default_factory=dict)
    backend: BackendSettings = field(default_factory=BackendSettings)
    data: DataSettings = field(default_factory=DataSettings)
    trainer: Trainer = field(default_factory=Trainer)
    output: Output = field(default_factory=Output)
    preset: str = "full"
    stack: str | None = None
    seed: int = 1
    expect: dict[str, Any] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        trainer, data = self.trainer, self.data
        found = [
            _within("trainer.epochs", trainer.epochs, 1, 100_000),
            _within("trainer.batch_size", trainer.batch_size, 1, 65_536),
            _within("trainer.learning_rate", trainer.learning_rate, 1e-9, 10.0),
            _within("trainer.warmup", trainer.warmup, 0.0, 0.9),
            _one_of("trainer.optimizer", trainer.optimizer, OPTIMIZERS),
            _one_of("trainer.schedule", trainer.schedule, SCHEDULES),
            _within("data.validation", data.validation, 0.0, 0.9),
            _within("seed", self.seed, 0, 2**31 - 1),
        ]
        for key in ("train_limit", "test_limit"):
            limit = getattr(data, key)
            found.append(None if limit is None else _within(f"data.{key}", limit, 1, 10**9))
        found += [_model_argument(key, value) for key, value in self.model.items()]
        return [problem for problem in found if problem]


@dataclass
class InferConfig:
    """Everything ``infer`` is told.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        input: picture, folder of pictures, .npy array, or ``test``: the test set that the run was made with.
        stack: name of the stack to use; null means the run's own where the backend has it.
        batch_size: pictures at a time.
    """

    run: str | None = None
    input: str | None = None
    backend: BackendSettings = field(default_factory=BackendSettings)
    output: Output = field(default_factory=Output)
    stack: str | None = None
    batch_size: int = 128

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        found = [_within("batch_size", self.batch_size, 1, 65_536)]
        found.append(None if self.run else "run is missing: give run=RUN_FOLDER, or run=last")
        found.append(
            None if self.input else "input is missing: give input=PICTURE, a folder, a .npy array, or input=test"
        )
        return [problem for problem in found if problem]


Config = TrainConfig | InferConfig
SCHEMAS: dict[str, type[TrainConfig] | type[InferConfig]] = {"train": TrainConfig, "infer": InferConfig}

_PARTS: dict[str, type[Any]] = {"backend": BackendSettings, "data": DataSettings}

# Builders take keywords of these names; the same name has the same range in every model.
_MODEL_RANGES: dict[str, tuple[float, float]] = {
    "dropout": (0.0, 0.99),
    "l2": (0.0, 1.0),
    "units": (1, 65_536),
    "alpha": (0.05, 4.0),
    "depth_multiplier": (1, 8),
    "input_size": (32, 1024),
}


def _within(key: str, value: float, low: float, high: float) -> str | None:
    if low <= value <= high:
        return None
    return f"{key} must be from {low:g} to {high:g}, got {value!r}"


def _one_of(key: str, value: str, valid: tuple[str, ...]) -> str | None:
    if value in valid:
        return None
    return f"{key} must be one of {', '.join(valid)}, got {value!r}{nearest(value, list(valid))}"


def _model_argument(key: str, value: Any) -> str | None:
    if key not in _MODEL_RANGES or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _within(f"model.{key}", value, *_MODEL_RANGES[key])


def groups(verb: str) -> dict[str, list[str]]:
    """The config groups of a verb and the options of each, from the folders."""
    names = ("model", "backend", "data", "preset") if verb == "train" else ("backend",)
    return {name: options(name) for name in names}


def options(group: str) -> list[str]:
    """Names that a config group offers, sub-folders included (``transformer/lm``)."""
    folder = paths.CONFIGS / group
    return sorted(str(path.relative_to(folder).with_suffix("").as_posix()) for path in folder.rglob("*.yaml"))


def expand_sweep(overrides: list[str]) -> list[list[str]]:
    """Every combination of overrides such as ``seed=1,2,3`` or ``trainer.epochs=range(1,4)``."""
    choices = []
    for text, parsed in zip(overrides, _parse(overrides), strict=True):
        several = parsed.sweep_string_iterator() if parsed.is_sweep_override() else None
        choices.append([f"{parsed.get_key_element()}={value}" for value in several] if several else [text])
    return [list(combination) for combination in itertools.product(*choices)]


def chosen(group: str, overrides: list[str]) -> str | None:
    """The last value that the overrides give a group or key, or None."""
    named = [text for text in overrides if text.partition("=")[0] == group]
    if not named:
        return None
    value = _parse(named[-1:])[0].value()
    return None if value is None else str(value)


@dataclass(frozen=True)
class _Path:
    """A path from the command line, taken as it is: its name may hold blanks, commas, brackets and equal signs."""

    key: str
    text: str

    def get_key_element(self) -> str:
        return self.key

    def is_sweep_override(self) -> bool:
        return False

    def value(self) -> str | None:
        inside = self.text[1:-1] if re.fullmatch(r"'.*'|\".*\"", self.text) else self.text
        return None if inside in ("", "null") else inside


def compose(verb: str, overrides: list[str]) -> Config:
    """Compose and check the settings of a run.

    Args:
        verb: ``train`` or ``infer``.
        overrides: ``group=option`` and ``key.path=value``, as on the command line.

    Raises:
        ZooError: misspelt keys, unknown options, wrong types and values out of range, all of them at once.
    """
    return compose_with_text(verb, overrides)[0]


def compose_with_text(verb: str, overrides: list[str]) -> tuple[Config, str]:
    """As :func:`compose`, with the composed settings as YAML, comments left out."""
    from omegaconf import OmegaConf

    tree = _tree(verb, overrides)
    config = OmegaConf.to_object(tree)
    assert isinstance(config, TrainConfig | InferConfig)  # noqa: S101  (the schema's own type)
    problems = config.problems()
    if problems:
        raise _all_at_once(problems)
    return config, OmegaConf.to_yaml(tree)


def composed_text(verb: str, overrides: list[str]) -> str:
    """The composed settings as YAML, ranges not yet checked."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(_tree(verb, overrides))


def _tree(verb: str, overrides: list[str]) -> Any:
    """Compose; names and types are right in what is returned."""
    picked, values, problems = _sort_overrides(verb, overrides)
    # A group whose option does not exist is composed with its default, so that the other values are checked too.
    tree = _base(verb, picked)
    problems += [problem for problem in (_lay_on(tree, parsed) for parsed in values) if problem]
    if problems:
        raise _all_at_once(problems)
    return tree


def _all_at_once(problems: list[str]) -> ZooError:
    if len(problems) == 1:
        return ZooError(problems[0], "`python -m zoo help` lists groups and keys; --cfg job shows what is composed")
    listed = "\n".join(f"  - {problem}" for problem in problems)
    return ZooError(f"{len(problems)} settings are wrong:\n{listed}", "`python -m zoo help` lists groups and keys")


def _parse(overrides: list[str]) -> list[Any]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser, problems = OverridesParser.create(), []
    found: list[Any] = []
    for text in overrides:
        key, equals, value = text.partition("=")
        if key in PATHS and equals:
            found.append(_Path(key, value))
            continue
        try:
            found.append(parser.parse_override(text))
        except HydraException as error:
            hint = "write KEY=VALUE" if "=" not in text else str(error).splitlines()[0]
            problems.append(f"cannot read {text!r}: {hint}")
    if problems:
        raise _all_at_once(problems)
    return found


def _sort_overrides(verb: str, overrides: list[str]) -> tuple[list[str], list[Any], list[str]]:
    """Split overrides into choices of a group (as text) and single values (parsed); collect what is wrong."""
    valid, picked, values, problems = groups(verb), [], [], []
    for text, parsed in zip(overrides, _parse(overrides), strict=True):
        key = parsed.get_key_element()
        if parsed.is_sweep_override():
            problems.append(f"{text!r} has several values; add -m to run them one after the other")
        elif key not in valid:
            values.append(parsed)
        elif str(parsed.value()) in valid[key]:
            picked.append(text)
        else:
            problems.append(unknown(key, str(parsed.value()), valid[key]).__str__().replace("\n", ". "))
    return picked, values, problems


def _base(verb: str, picked: list[str]) -> Any:
    """Let Hydra compose the chosen files, and give the result its types."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    root = str(paths.ROOT).replace("\\", "/").replace("'", "\\'")
    try:
        with initialize_config_dir(config_dir=str(paths.CONFIGS), version_base="1.3"):
            composed = hydra_compose(verb, overrides=[*picked, f"hydra.searchpath=['file://{root}']"])
        for group in [name for name in _PARTS if name in composed]:
            settable = {part.name for part in dataclasses.fields(_PARTS[group])}
            composed[group] = {key: value for key, value in composed[group].items() if key in settable}
        tree = OmegaConf.merge(OmegaConf.structured(SCHEMAS[verb]), composed)
    except (HydraException, OmegaConfBaseException) as error:
        raise ZooError(
            f"The files under {paths.CONFIGS} and {paths.RECIPES} do not fit together: {error}",
            "If you changed one of them, change it back; else please report this.",
        ) from error
    OmegaConf.set_struct(tree, True)
    if verb == "train":
        OmegaConf.set_struct(tree.model, True)
    return tree


def _lay_on(tree: Any, parsed: Any) -> str | None:
    """Lay one value over the tree; return what is wrong with it."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    key, value = parsed.get_key_element(), parsed.value()
    if key[:1] in "+~":
        return f"{key!r}: keys can be set, not added or removed"
    valid = _flat(OmegaConf.to_container(tree))
    if key not in valid:
        inside = [name for name in valid if name.startswith(key + ".")]
        if inside:
            return f"{key!r} is a group of keys: set {', '.join(inside)}"
        return f"there is no key {key!r}{nearest(key, list(valid))}"
    problem = _wrong_type(key, valid[key], value) if key.startswith("model.") else None
    if problem:
        return problem
    if isinstance(value, str):
        value = value.replace("${", "\\${")
    try:
        # OmegaConf would take 7 for true.
        if isinstance(valid[key], bool) != isinstance(value, bool):
            raise OmegaConfBaseException
        OmegaConf.update(tree, key, value)
    except OmegaConfBaseException:
        return f"{key} must be {_type_words(tree, key)}, got {value!r}"
    return None


def _flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Dotted keys of all leaves; a list is a leaf, and so is an empty dictionary."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + str(key)] = value
    return found


def _wrong_type(key: str, default: Any, value: Any) -> str | None:
    """Model arguments have no schema of their own: the default in their file gives the type."""
    if default is None or (
        isinstance(value, type(default)) and not (type(default) is int and value in (True, False))
    ):
        return None
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return None
    return f"{key} must be of the same type as its default {default!r}, got {value!r}"


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _type_words(tree: Any, key: str) -> str:
    from omegaconf import OmegaConf

    hint: Any = OmegaConf.get_type(tree)
    for part in key.split("."):
        hint = typing.get_type_hints(hint)[part] if dataclasses.is_dataclass(hint) else Any
    plain = [kind for kind in typing.get_args(hint) or (hint,) if kind is not type(None)]
    return " or ".join(_WORDS.get(kind, getattr(kind, "__name__", str(kind))) for kind in plain)


def documented(schema: Any) -> Iterator[tuple[str, str, str]]:
    """Yield (key, default, meaning) for every documented setting of a schema, from its docstrings."""
    for part in dataclasses.fields(schema):
        kind = typing.get_type_hints(schema)[part.name]
        if dataclasses.is_dataclass(kind):
            yield from ((f"{part.name}.{key}", default, words) for key, default, words in documented(kind))
        else:
            words = _attribute_words(schema.__doc__ or "", part.name)
            if words:
                yield part.name, _default_words(part), words


def _attribute_words(docstring: str, name: str) -> str:
    lines = [line.strip() for line in docstring.splitlines()]
    starts = [index for index, line in enumerate(lines) if line.startswith(f"{name}: ")]
    return lines[starts[0]].partition(": ")[2] if starts else ""


def _default_words(part: Any) -> str:
    return (
        "null"
        if part.default is None
        else str(part.default).lower()
        if part.default is not dataclasses.MISSING
        else ""
    )


def recipe_file(model: str, backend: str) -> Path | None:
    """The recipe that was laid over a model and a backend, where there is one."""
    path = paths.RECIPES / model / f"{backend}.yaml"
    return path if path.is_file() else None
