"""Compose the typed settings of a run from ``configs/`` and ``recipes/`` with Hydra.

Hydra selects and stacks the files; command-line values are applied on top one by one, so that all mistakes are
reported at once. No DictConfig leaves this module.
"""

import copy
import dataclasses
import functools
import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

from zoo.config import arguments, config_files, declared, model_files, setting
from zoo.config.overrides import USER, Override, Overrides, all_at_once, leaves
from zoo.config.schemas.common import Settings
from zoo.config.tasks import Command, S
from zoo.core import paths
from zoo.core.errors import ZooError, closest, listed, nearest, typed, unknown

# Short names of keys in all schemas.
SHORTHANDS = {"launcher": "launcher.name"}


@dataclass(frozen=True)
class Composed(Generic[S]):
    """Settings of a run, with the origin of each value.

    Attributes:
        settings: the validated settings.
        tree: the same settings as an OmegaConf container.
        set_by: origin of each value that differs from the default, by dotted key: ``recipe``, ``data``, ``preset``,
            or a layer of the overrides such as ``user``.
    """

    command: Command[S]
    overrides: Overrides
    settings: S
    tree: Any
    set_by: dict[str, str]

    @property
    def text(self) -> str:
        """Return the settings as YAML, with the origin of each value as a comment."""
        return _text_of(self.tree, self.set_by)

    def needless(self, layer: str, defaults: bool = False) -> dict[str, str]:
        """Return the keys of a layer that have no effect, each with an explanation."""
        keys = (key for key, each in self.set_by.items() if each == layer)
        return setting.needless(self.settings, keys, defaults)

    def overlay(self, layer: str, settings: Mapping[str, Any]) -> "Composed[S]":
        """Return a copy with ``settings``, values by dotted key; ``layer`` is recorded as their origin.

        Files are composed again only if a group changes.
        """
        overrides = self.overrides.with_(layer, settings)
        if {"recipes", *config_files.groups(self.command.file)} & settings.keys():
            return composed(self.command, overrides)
        tree, set_by = copy.deepcopy(self.tree), dict(self.set_by)
        problems = _lay_all(tree, overrides.only(*settings), set_by)
        return _checked(self.command, overrides, tree, set_by, problems)


def compose(command: Command[S], overrides: Overrides) -> S:
    return composed(command, overrides).settings


def composed(command: Command[S], overrides: Overrides) -> Composed[S]:
    """Compose and check the settings, and record the origin of each value."""
    return _checked(command, overrides, *_tree(command, overrides))


def composed_text(command: Command[Any], overrides: Overrides) -> str:
    """Return the composed settings like :attr:`Composed.text`, without checking ranges."""
    tree, set_by, problems = _tree(command, overrides)
    if problems:
        raise all_at_once(problems)
    return _text_of(tree, set_by)


def _checked(
    command: Command[S], overrides: Overrides, tree: Any, set_by: dict[str, str], problems: list[str]
) -> Composed[S]:
    from omegaconf import OmegaConf

    if missing := sorted(OmegaConf.missing_keys(tree)):
        raise all_at_once([*problems, *(f"{key} has no value: ??? stands for a missing one" for key in missing)])
    settings: Any = OmegaConf.to_object(tree)
    result = Composed(command, overrides, settings, tree, set_by)
    problems = [*problems, *settings.problems(), *result.needless(USER).values()]
    if problems:
        raise all_at_once(problems)
    return result


def _text_of(tree: Any, set_by: Mapping[str, str]) -> str:
    from omegaconf import OmegaConf

    settings: Any = OmegaConf.to_container(tree)
    return "".join(f"{line}\n" for line in _lines(settings, set_by))


def _lines(settings: Mapping[str, Any], set_by: Mapping[str, str], prefix: str = "") -> Iterator[str]:
    from omegaconf import OmegaConf

    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            yield f"{key}:"
            yield from (f"  {line}" for line in _lines(value, set_by, f"{name}."))
            continue
        lines = OmegaConf.to_yaml(OmegaConf.create({key: value})).splitlines()
        if name in set_by:  # the comment of a multi-line text must follow its last line
            lines[0 if isinstance(value, list) else -1] += f"  # {set_by[name]}"
        yield from lines


def _tree(command: Command[Any], overrides: Overrides) -> tuple[Any, dict[str, str], list[str]]:
    """Return the composed tree, which has valid values only, the origin of each value, and the problems."""
    picked, values, problems, row = _sort_overrides(command, overrides)
    tree, set_by = _base(command, picked, row)
    for choice in picked:
        name = choice.key if choice.key not in tree or isinstance(tree[choice.key], str) else f"{choice.key}.name"
        set_by |= {name: choice.layer} if choice.key in tree else {}
    return tree, set_by, [*problems, *_lay_all(tree, values, set_by)]


def _lay_all(tree: Any, values: Iterable[Override], set_by: dict[str, str]) -> list[str]:
    problems = []
    for entry in values:
        problem = _lay_on(tree, entry.key, entry.value)
        problems += [problem] if problem else []
        set_by |= {} if problem else {entry.key: entry.layer}
    return problems


def _literal(value: Any) -> Any:
    """Escape text that OmegaConf would interpolate with settings or environment variables."""
    if isinstance(value, str):
        return re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + "\\${", value)
    if isinstance(value, dict):
        return {key: _literal(each) for key, each in value.items()}
    return [_literal(each) for each in value] if isinstance(value, list) else value


def _sort_overrides(
    command: Command[Any], overrides: Overrides
) -> tuple[Overrides, list[Override], list[str], dict[str, Any] | None]:
    """Split overrides into group choices and single values, and collect problems.

    The last result is the row of a model without a file under ``configs``, or None.
    """
    valid = config_files.groups(command.file)
    picked: list[Override] = []
    values: list[Override] = []
    problems: list[str] = []
    overrides = Overrides(_in_full(command.schema, entry) for entry in overrides)
    row = _row(command, overrides.get("model") if "model" in valid else None)
    if row and (recipes := config_files.recipes_by_size(command.file)):
        valid |= {"recipes": recipes}
        picked += Overrides.of({"recipes": valid["recipes"][0]}, "recipe")
    for entry in overrides:
        key, value = entry.key, str(entry.value)
        if entry.choices:
            lists = any(isinstance(each.default, list) for each in declared.everywhere().get(key, []))
            more = f", or give a list: '{key}=[{value}]'" if lists else ""
            problems.append(f"{entry.text!r} has several values; add -m to run them one after the other{more}")
        elif key not in valid:
            values.append(entry)
        elif value in valid[key]:
            picked.append(entry)
        elif not (key == "model" and row):
            paths.refuse_address(value)
            more = "; architectures of Keras are model=keras/NAME" if key == "model" else ""
            if key == "data" and os.path.exists(value):
                more = f"; for files of your own, data=KIND data.root={value}"
            problems.append(unknown(key, value, valid[key]).on_one_line() + more)
            # The closest option of this task, so that the remaining values can be checked too; else the default.
            likely = [name for name in valid[key] if key != "model" or config_files.task_of(name) == command.task]
            near = closest(value, likely)
            picked += Overrides.of({key: near} if near else {})
    return Overrides(picked), values, problems, row


def _in_full(schema: type[Settings], entry: Override) -> Override:
    """Expand the key of an override to its full name, and its value to a list if the key takes one."""
    key = (SHORTHANDS | schema.shorthands).get(entry.key, entry.key)
    if key not in schema.listed or isinstance(entry.value, list):
        return replace(entry, key=key)
    values = [choice.partition("=")[2] for choice in entry.choices] or [entry.value]
    return replace(entry, key=key, value=values, choices=())


def _row(command: Command[Any], model: str | None) -> dict[str, Any] | None:
    if command.task != config_files.DEFAULT_TASK:
        return None
    if model_files.is_saved(model):
        return model_files.saved_row(str(model), command.verb)
    if model_files.is_application(model):
        return {"name": str(model), "about": "of keras.applications", "input_size": None, "bn_momentum": None}
    return model_files.read(str(model)).row() if model_files.is_named(model) else None


def _base(command: Command[Any], picked: Overrides, row: dict[str, Any] | None) -> tuple[Any, dict[str, str]]:
    """Compose the selected files into a typed tree; ``row`` replaces the file of the model.

    Also return the kind of file that set each value that differs from the default.
    """
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    choices = tuple(sorted((choice.key, str(choice.value)) for choice in picked))
    try:
        folders = (paths.CONFIGS, paths.ROOT / "recipes")
        changed = max(path.stat().st_mtime_ns for folder in folders for path in (folder, *folder.rglob("*")))
        composed, layers = _compose_files(command.file, choices, paths.CONFIGS, paths.ROOT, changed)
        composed = copy.deepcopy(composed)
        groups = config_files.groups(command.file)
        if row or composed.get("model"):
            composed["model"] = _literal(row) if row else arguments.plain(composed["model"])
        hints = typing.get_type_hints(command.schema)
        for group, kind in hints.items():
            if group in groups and dataclasses.is_dataclass(kind):
                # Users can set these fields only.
                settable = {part.name for part in dataclasses.fields(kind)}
                composed[group] = {key: value for key, value in composed[group].items() if key in settable}
        composed.pop(config_files.RANGE, None)
        composed = {key: value for key, value in composed.items() if key != "trainer" or key in hints}
        structured = _structured(typing.cast("Any", command.schema))
        tree = OmegaConf.merge(structured, composed)
    except (HydraException, OmegaConfBaseException) as error:
        raise ZooError(
            f"The files under {paths.CONFIGS} and {paths.RECIPES} do not fit together: {error}",
            "Undo your changes to these files. If you made none, please report this error.",
        ) from error
    OmegaConf.set_struct(tree, True)
    if "model" in tree:
        OmegaConf.set_struct(tree.model, True)
    usual, final = (dict(leaves(typing.cast("Any", OmegaConf.to_container(each)))) for each in (structured, tree))
    differs = {key for key, value in final.items() if key not in usual or usual[key] != value}
    return tree, {key: layer for layer, keys in layers.items() for key, value in keys.items()
                  if key in differs and final[key] == value}  # fmt: skip


@functools.cache
def _structured(schema: type) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.structured(schema)


@functools.cache
def _compose_files(
    file: str, picked: tuple[tuple[str, str], ...], configs: Path, root: Path, _changed: int
) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Compose the selected files with Hydra; cached until a file changes, because it takes 0.2 seconds.

    Also return the values of the recipe, the data and the preset separately.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    place = str(root).replace("\\", "/").replace("'", "\\'")
    words = [f"{group}={option}" for group, option in picked]
    if "recipes" in dict(picked):  # also replaces the model's own recipe
        words.append(f"recipes@_global_={config_files.ANY}/{config_files.BASE}")
    with initialize_config_dir(config_dir=str(configs), version_base="1.3"):
        composed = hydra_compose(file, overrides=[*words, f"hydra.searchpath=['file://{place}']"])
    return OmegaConf.to_container(composed), config_files.layers(file, dict(picked))


def _lay_on(tree: Any, key: str, value: Any) -> str | None:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if key[:1] in "+~":
        return f"{key!r}: keys can be set, not added or removed"
    valid = dict(leaves(typing.cast("Any", OmegaConf.to_container(tree))))
    group, _, part = key.partition(".")
    if (group == "model" and part in model_files.FACTS) or key in ("data.name", "backend.name"):
        return f"{key!r} is part of {group}= and cannot be set" + f"; use {group}={value}" * (part == "name")
    if key not in valid:
        inside = [name for name in valid if name.startswith(key + ".")]
        if inside:
            return f"{key!r} is a group of keys: set {listed(inside)}"
        if key.startswith("expect."):
            return f"there is no key {key!r}: the recipe has no expected result of this name"
        known = {*valid, *(name.removesuffix(".name") for name in valid)}
        meant = next((f"; did you mean {name!r}?" for name in KEYS_ELSEWHERE.get(key, ()) if name in known), "")
        elsewhere = key in declared.everywhere() and not meant
        near = [name for name in known if name.split(".")[-1] == key.split(".")[-1]] if elsewhere else list(valid)
        return f"there is no key {key!r}{' for this command and model' * elsewhere}{meant or nearest(key, near)}"
    if value == "" and valid[key] != "":
        return f"{key}= has no value; give one, or remove {key}="
    problem = _wrong_type(key, valid[key], value) if key.startswith("model.") else None
    if problem:
        return problem
    if isinstance(valid[key], list) and value is not None and not isinstance(value, list):
        value = [value]  # a single value becomes a list
    try:
        # OmegaConf would convert 7 to true.
        optional = valid[key] is None and value is not None and bool in _kinds(tree, key)
        if (optional or isinstance(valid[key], bool)) != isinstance(value, bool):
            raise OmegaConfBaseException
        OmegaConf.update(tree, key, _literal(value))
        OmegaConf.select(tree, key)  # OmegaConf checks the type of text like ${x} only on access
    except OmegaConfBaseException:
        OmegaConf.update(tree, key, valid[key])
        kinds = " or ".join(_WORDS.get(kind, getattr(kind, "__name__", str(kind))) for kind in _kinds(tree, key))
        return f"{key} must be {kinds}, got {typed(value)}"
    return None


# Names of settings in other programs.
KEYS_ELSEWHERE = {
    "lr": ["trainer.learning_rate"], "learning_rate": ["trainer.learning_rate", "rate"], "device": ["backend"],
    "bs": ["trainer.batch_size", "batch_size"], "dataset": ["data"], "data_dir": ["data.root"],
    "path": ["data.root", "input"], "dropout": ["model.dropout"], "weight_decay": ["trainer.weight_decay"],
    "checkpoint": ["run", "weights"], "output_dir": ["output.root"], "image": ["input"], "images": ["input"],
}  # fmt: skip


def _wrong_type(key: str, default: Any, value: Any) -> str | None:
    """Check a model argument against the type of its default; arguments have no schema."""
    if default is None or (isinstance(value, type(default)) and isinstance(value, bool) == isinstance(default, bool)):
        return None
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return None
    return f"{key} must be of the same type as its default {typed(default)}, got {typed(value)}"


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _kinds(tree: Any, key: str) -> list[Any]:
    from omegaconf import OmegaConf

    hint: Any = OmegaConf.get_type(tree)
    for part in key.split("."):
        hint = typing.get_type_hints(hint)[part] if dataclasses.is_dataclass(hint) else Any
    return [kind for kind in typing.get_args(hint) or (hint,) if kind is not type(None)]
