"""What a run is told to do: typed settings, composed from ``configs/`` and ``recipes/`` by Hydra.

Hydra chooses and stacks the files; single values from the command line are laid on top one by one, so that every
mistake in them is reported at once. Past this module nobody sees a DictConfig.
"""

import dataclasses
import itertools
import re
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from zoo.config.schemas.benchmarks import (
    EncoderBenchConfig,
    MatmulConfig,
    NetworksConfig,
    StacksConfig,
    StartupConfig,
)
from zoo.config.schemas.image_classification import InferConfig, TrainConfig
from zoo.config.schemas.language_modelling import GenerateConfig, LanguageTrainConfig
from zoo.config.schemas.style_network import RestyleConfig, StyleNetworkConfig
from zoo.config.schemas.style_transfer import StyleConfig
from zoo.config.schemas.text import TextInferConfig, TextTrainConfig
from zoo.config.tasks import Command, S
from zoo.core import paths
from zoo.core import schema as yaml_schema
from zoo.core.errors import ZooError, nearest, unknown

# What a model is made for when its file names no task.
USUAL_TASK = "classify"
# Hydra's parser goes a call deeper for each.
MOST_BRACKETS = 50
PATHS = (
    "input",
    "prompt",
    "run",
    "resume",
    "save",
    "weights",
    "style",
    "photos",
    "feature_weights",
    "content",
    "start",
    "data.root",
    "output.root",
    "output.name",
    "backend.python",
    "mlflow",
)


@dataclass(frozen=True)
class Form:
    """A verb for one task: the file under ``configs/`` to start from, the schema, and the module that does it."""

    file: str
    schema: type[Any]
    module: str


# Benchmarks that need no model: what ``bench=`` names.
BENCHES: dict[str, dict[str, Form]] = {
    "matmul": {"bench": Form("bench_matmul", MatmulConfig, "zoo.tasks.benchmarks.operations")},
    "networks": {"bench": Form("bench_networks", NetworksConfig, "zoo.tasks.benchmarks.networks")},
    "stacks": {"bench": Form("bench_stacks", StacksConfig, "zoo.tasks.benchmarks.stacks")},
    "startup": {"bench": Form("bench_startup", StartupConfig, "zoo.tasks.benchmarks.startup")},
}

# task -> verb -> form. The task is the model's, as its file tells.
TASKS: dict[str, dict[str, Form]] = {
    "classify": {
        "train": Form("train", TrainConfig, "zoo.tasks.image_classification.train"),
        "infer": Form("infer", InferConfig, "zoo.tasks.image_classification.predict"),
    },
    "stylize": {"train": Form("style", StyleConfig, "zoo.tasks.style_transfer.optimize")},
    "restyle": {
        "train": Form("style_network", StyleNetworkConfig, "zoo.tasks.style_transfer.train_network"),
        "infer": Form("restyle", RestyleConfig, "zoo.tasks.style_transfer.apply_network"),
    },
    "text_classifier": {
        "train": Form("text_train", TextTrainConfig, "zoo.tasks.text.train_classifier"),
        "infer": Form("text_infer", TextInferConfig, "zoo.tasks.text.predict"),
    },
    "language_model": {
        "train": Form("language_train", LanguageTrainConfig, "zoo.tasks.text.language_model"),
        "infer": Form("language_infer", GenerateConfig, "zoo.tasks.text.language_model"),
    },
    **BENCHES,
    "encode": {
        "bench": Form("bench_encoder", EncoderBenchConfig, "zoo.tasks.benchmarks.encoder"),
    },
}


def forms() -> list[tuple[str, Form]]:
    """Every verb with each of its forms."""
    return [(verb, form) for verbs in TASKS.values() for verb, form in verbs.items()]


def task_of(model: str | None) -> str:
    """The task of a model; the usual one where there is no such model, which composing then tells."""
    if model not in options("model"):
        return USUAL_TASK
    return str(yaml_schema.read_yaml(paths.CONFIGS / "model" / f"{model}.yaml").get("task", USUAL_TASK))


def form(verb: str, task: str) -> Form:
    """The form of a verb for a task.

    Raises:
        ZooError: the task has no such verb.
    """
    if verb not in TASKS[task]:
        raise ZooError(f"`{verb}` has no use for models made to {task}", f"They can {' and '.join(TASKS[task])}.")
    return TASKS[task][verb]


def groups(form: Form | Command[Any]) -> dict[str, list[str]]:
    """The config groups of a form and the options of each, from its defaults list and the folders."""
    entries = yaml_schema.read_yaml(paths.CONFIGS / f"{form.file}.yaml")["defaults"]
    names = [name for entry in entries if isinstance(entry, dict) for name in entry if " " not in name]
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


@overload
def compose(verb: Command[S], overrides: list[str]) -> S: ...


@overload
def compose(verb: str, overrides: list[str], task: str | None = None) -> Any: ...


def compose(verb: Any, overrides: list[str], task: str | None = None) -> Any:
    """Compose and check the settings of a run.

    Args:
        verb: a command of a task, or a name such as ``train``.
        overrides: ``group=option`` and ``key.path=value``, as on the command line.
        task: of a verb that is given by name; None means that of the model among the overrides.

    Raises:
        ZooError: misspelt keys, unknown options, wrong types and values out of range, all of them at once.
    """
    return compose_with_text(verb, overrides, task)[0]


@overload
def compose_with_text(verb: Command[S], overrides: list[str], task: str | None = None) -> tuple[S, str]: ...


@overload
def compose_with_text(verb: str, overrides: list[str], task: str | None = None) -> tuple[Any, str]: ...


def compose_with_text(verb: Any, overrides: list[str], task: str | None = None) -> tuple[Any, str]:
    """As :func:`compose`, with the composed settings as YAML, comments left out."""
    from omegaconf import OmegaConf

    tree = _tree(_form_of(verb, overrides, task), overrides)
    settings: Any = OmegaConf.to_object(tree)
    problems = settings.problems()
    if problems:
        raise _all_at_once(problems)
    return settings, OmegaConf.to_yaml(tree)


def composed_text(verb: Command[Any] | str, overrides: list[str], task: str | None = None) -> str:
    """The composed settings as YAML, ranges not yet checked."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(_tree(_form_of(verb, overrides, task), overrides))


def _form_of(verb: Command[Any] | str, overrides: list[str], task: str | None) -> Form | Command[Any]:
    return form(verb, task or task_of(chosen("model", overrides))) if isinstance(verb, str) else verb


def _tree(form: Form | Command[Any], overrides: list[str]) -> Any:
    """Compose; names and types are right in what is returned."""
    picked, values, problems = _sort_overrides(form, overrides)
    # A group whose option does not exist is composed with its default, so that the other values are checked too.
    tree = _base(form, picked)
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
        if sum(map(text.count, "[{(")) > MOST_BRACKETS:
            problems.append(f"{key[:200]!r} is given a value of more than {MOST_BRACKETS} brackets")
            continue
        try:
            found.append(parser.parse_override(text))
        except (HydraException, ValueError) as error:  # the latter of numbers with thousands of digits
            hint = "write KEY=VALUE" if "=" not in text else str(error).splitlines()[0]
            problems.append(f"cannot read {text[:200]!r}: {hint}")
    if problems:
        raise _all_at_once(problems)
    return found


def _sort_overrides(form: Form | Command[Any], overrides: list[str]) -> tuple[list[str], list[Any], list[str]]:
    """Split overrides into choices of a group (as text) and single values (parsed); collect what is wrong."""
    valid, picked, values, problems = groups(form), [], [], []
    for text, parsed in zip(overrides, _parse(overrides), strict=True):
        key = parsed.get_key_element()
        if parsed.is_sweep_override():
            problems.append(f"{text!r} has several values; add -m to run them one after the other")
        elif key not in valid:
            values.append(parsed)
        elif str(parsed.value()) in valid[key]:
            picked.append(text)
        else:
            problems.append(unknown(key, str(parsed.value()), valid[key]).on_one_line())
    return picked, values, problems


def _base(form: Form | Command[Any], picked: list[str]) -> Any:
    """Let Hydra compose the chosen files, and give the result its types."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    root = str(paths.ROOT).replace("\\", "/").replace("'", "\\'")
    try:
        with initialize_config_dir(config_dir=str(paths.CONFIGS), version_base="1.3"):
            composed = hydra_compose(form.file, overrides=[*picked, f"hydra.searchpath=['file://{root}']"])
        for group, kind in typing.get_type_hints(form.schema).items():
            if group in groups(form) and dataclasses.is_dataclass(kind):
                # The rest of such a row is not for the user to change.
                settable = {part.name for part in dataclasses.fields(kind)}
                composed[group] = {key: value for key, value in composed[group].items() if key in settable}
        tree = OmegaConf.merge(OmegaConf.structured(form.schema), composed)
    except (HydraException, OmegaConfBaseException) as error:
        raise ZooError(
            f"The files under {paths.CONFIGS} and {paths.RECIPES} do not fit together: {error}",
            "If you changed one of them, change it back; else please report this.",
        ) from error
    OmegaConf.set_struct(tree, True)
    if "model" in tree:
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
        OmegaConf.select(tree, key)  # only then is text like ${x} held against the type
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
    if default is None or (isinstance(value, type(default)) and isinstance(value, bool) == isinstance(default, bool)):
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


def recipe_file(model: str, backend: str) -> Path | None:
    """The recipe that was laid over a model and a backend, where there is one."""
    path = paths.RECIPES / model / f"{backend}.yaml"
    return path if path.is_file() else None
