"""What a run is told to do: typed settings, composed from ``configs/`` and ``recipes/`` by Hydra.

Hydra chooses and stacks the files; single values from the command line are laid on top one by one, so that every
mistake in them is reported at once. Past this module nobody sees a DictConfig.
"""

import copy
import dataclasses
import functools
import typing
from pathlib import Path
from typing import Any

from zoo.config import config_files, model_files, ranges
from zoo.config.overrides import all_at_once, parse, value_of
from zoo.config.schemas.common import Settings
from zoo.config.tasks import Command, S
from zoo.core import paths
from zoo.core.errors import ZooError, closest, listed, nearest, unknown

# Of all schemas.
SHORTHANDS = {"launcher": "launcher.name"}


def compose(command: Command[S], overrides: list[str]) -> S:
    """Compose and check the settings of a run.

    Args:
        command: one verb of one task.
        overrides: ``group=option`` and ``key.path=value``, as on the command line.
    """
    return compose_with_text(command, overrides)[0]


def compose_with_text(command: Command[S], overrides: list[str]) -> tuple[S, str]:
    """As :func:`compose`, with the composed settings as YAML, comments left out."""
    from omegaconf import OmegaConf

    tree, problems = _tree(command, overrides)
    settings: Any = OmegaConf.to_object(tree)
    problems += [*settings.problems(), *ranges.problems(settings.launcher.checks())]
    if problems:
        raise all_at_once(problems)
    return settings, OmegaConf.to_yaml(tree)


def composed_text(command: Command[Any], overrides: list[str]) -> str:
    """Return the composed settings as YAML, ranges not yet checked."""
    from omegaconf import OmegaConf

    tree, problems = _tree(command, overrides)
    if problems:
        raise all_at_once(problems)
    return OmegaConf.to_yaml(tree)


def _tree(command: Command[Any], overrides: list[str]) -> tuple[Any, list[str]]:
    """Compose; return what is right in names and types, and what is wrong with the rest, which keeps its default."""
    picked, values, problems, row = _sort_overrides(command, overrides)
    tree = _base(command, picked, row)
    problems += [problem for problem in (_lay_on(tree, parsed) for parsed in values) if problem]
    return tree, problems


def _sort_overrides(
    command: Command[Any], overrides: list[str]
) -> tuple[list[str], list[Any], list[str], dict[str, Any] | None]:
    """Split overrides into choices of a group (as text) and single values (parsed); collect what is wrong.

    The last of the four results is the row of a model that has no file under ``configs``, or None.
    """
    valid, picked, values, problems = config_files.groups(command.file), [], [], []
    overrides = [_in_full(command.schema, text) for text in overrides]
    row = _row(command, value_of("model", overrides) if "model" in valid else None)
    if row and config_files.has_recipes(command.file):
        valid |= {"recipes": config_files.recipes_by_size()}
        picked = [f"recipes={valid['recipes'][0]}"]
    for text, parsed in zip(overrides, parse(overrides), strict=True):
        key = parsed.get_key_element()
        if parsed.is_sweep_override():
            problems.append(f"{text!r} has several values; add -m to run them one after the other")
        elif key not in valid:
            values.append(parsed)
        elif str(parsed.value()) in valid[key]:
            picked.append(text)
        elif not (key == "model" and row):
            problems.append(unknown(key, str(parsed.value()), valid[key]).on_one_line())
            picked += _meant(command, key, str(parsed.value()), valid[key])
    return picked, values, problems, row


def _meant(command: Command[Any], key: str, word: str, valid: list[str]) -> list[str]:
    """Return what may have been meant by an option that does not exist: beside it the other values are checked.

    Where nothing is like it, or only models of another task are, the group has its default.
    """
    if key == "model":
        valid = [name for name in valid if config_files.task_of(name) == command.task]
    near = closest(word, valid)
    return [f"{key}={near}"] if near else []


def _in_full(schema: type[Settings], text: str) -> str:
    """Return an override with the whole name of its key, and brackets around a list."""
    key, equals, value = text.partition("=")
    if equals and key in schema.listed and not value.startswith(("[", "'[", '"[')):
        value = f"[{value}]"
    return f"{(SHORTHANDS | schema.shorthands).get(key, key)}{equals}{value}"


def _row(command: Command[Any], model: str | None) -> dict[str, Any] | None:
    """Return the row of a model in a file of the user's own, or None."""
    if command.task != config_files.DEFAULT_TASK:
        return None
    if command.verb in ("infer", "evaluate", "export") and model_files.is_saved(model):
        return model_files.saved_row(str(model))
    if model_files.is_application(model):
        return model_files.application_row(str(model))
    return model_files.read(str(model)).row() if model_files.is_named(model) else None


def _base(command: Command[Any], picked: list[str], row: dict[str, Any] | None = None) -> Any:
    """Compose the chosen files, and give the result its types; ``row`` takes the place of the model's file."""
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        changed = _last_change(paths.CONFIGS, paths.ROOT / "recipes")
        composed = copy.deepcopy(_compose_files(command.file, tuple(picked), paths.CONFIGS, paths.ROOT, changed))
        groups = config_files.groups(command.file)
        composed |= {"model": row} if row else {}
        hints = typing.get_type_hints(command.schema)
        for group, kind in hints.items():
            if group in groups and dataclasses.is_dataclass(kind):
                # The rest of such a row is not for the user to change.
                settable = {part.name for part in dataclasses.fields(kind)}
                composed[group] = {key: value for key, value in composed[group].items() if key in settable}
        composed = {key: value for key, value in composed.items() if key != "trainer" or key in hints}
        tree = OmegaConf.merge(_structured(typing.cast("Any", command.schema)), composed)
    except (HydraException, OmegaConfBaseException) as error:
        raise ZooError(
            f"The files under {paths.CONFIGS} and {paths.RECIPES} do not fit together: {error}",
            "If you changed one of them, change it back; else please report this.",
        ) from error
    OmegaConf.set_struct(tree, True)
    if "model" in tree:
        OmegaConf.set_struct(tree.model, True)
    return tree


@functools.cache
def _structured(schema: type) -> Any:
    """Return the settings of a schema with their types; merging copies them."""
    from omegaconf import OmegaConf

    return OmegaConf.structured(schema)


def _last_change(*folders: Path) -> int:
    """Return when a file of these folders was last changed, added or removed, in nanoseconds since 1970."""
    return max(path.stat().st_mtime_ns for folder in folders for path in (folder, *folder.rglob("*")))


@functools.cache
def _compose_files(file: str, picked: tuple[str, ...], configs: Path, root: Path, _changed: int) -> Any:
    """Let Hydra compose the chosen files, which takes it a fifth of a second: again only once they have changed."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    place = str(root).replace("\\", "/").replace("'", "\\'")
    with initialize_config_dir(config_dir=str(configs), version_base="1.3"):
        composed = hydra_compose(file, overrides=[*picked, f"hydra.searchpath=['file://{place}']"])
    return OmegaConf.to_container(composed)


def _lay_on(tree: Any, parsed: Any) -> str | None:
    """Lay one value over the tree; return what is wrong with it."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    key, value = parsed.get_key_element(), parsed.value()
    if key[:1] in "+~":
        return f"{key!r}: keys can be set, not added or removed"
    valid = _flat(OmegaConf.to_container(tree))
    if key in FIXED:
        return f"{key!r} belongs to the model and cannot be set"
    if key not in valid:
        inside = [name for name in valid if name.startswith(key + ".")]
        if inside:
            return f"{key!r} is a group of keys: set {listed(inside)}"
        return f"there is no key {key!r}{nearest(key, list(valid))}"
    if value is None and valid[key] == "":
        value = ""  # KEY= of a text that may be empty
    problem = _wrong_type(key, valid[key], value) if key.startswith("model.") else None
    if problem:
        return problem
    if isinstance(value, str):
        value = value.replace("${", "\\${")
    try:
        # OmegaConf would take 7 for true.
        optional = valid[key] is None and value is not None and bool in _kinds(tree, key)
        if (optional or isinstance(valid[key], bool)) != isinstance(value, bool):
            raise OmegaConfBaseException
        OmegaConf.update(tree, key, value)
        OmegaConf.select(tree, key)  # only then is text like ${x} held against the type
    except OmegaConfBaseException:
        OmegaConf.update(tree, key, valid[key])
        return f"{key} must be {_type_words(tree, key)}, got {value!r}"
    return None


FIXED = ("model.file", "model.sha256", "model.saved")


def _flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Dotted keys of all leaves; a list is a leaf, and so is an empty dictionary."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            leaves |= _flat(value, f"{prefix}{key}.")
        else:
            leaves[prefix + str(key)] = value
    return leaves


def _wrong_type(key: str, default: Any, value: Any) -> str | None:
    """Model arguments have no schema of their own: the default in their file gives the type."""
    if default is None or (isinstance(value, type(default)) and isinstance(value, bool) == isinstance(default, bool)):
        return None
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return None
    return f"{key} must be of the same type as its default {default!r}, got {value!r}"


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _type_words(tree: Any, key: str) -> str:
    return " or ".join(_WORDS.get(kind, getattr(kind, "__name__", str(kind))) for kind in _kinds(tree, key))


def _kinds(tree: Any, key: str) -> list[Any]:
    from omegaconf import OmegaConf

    hint: Any = OmegaConf.get_type(tree)
    for part in key.split("."):
        hint = typing.get_type_hints(hint)[part] if dataclasses.is_dataclass(hint) else Any
    return [kind for kind in typing.get_args(hint) or (hint,) if kind is not type(None)]
