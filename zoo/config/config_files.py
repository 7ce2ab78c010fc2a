"""The files under ``configs/`` and ``recipes/``: groups and their options, tasks of models, recipes."""

from pathlib import Path
from typing import Any

from zoo.config import arguments, model_files
from zoo.config.overrides import leaves
from zoo.config.schemas.common import Arguments
from zoo.core import paths, schema

# Groups whose files can change any setting, in order of application.
OVERALL = ("data", "preset")
# The entry for the recipe in the defaults list of a file such as ``train``.
RECIPES = "optional recipes"
# The folder of the recipes for models without a recipe.
ANY = "any"
# The recipe of a model for all backends; BACKEND.yaml next to it overrides values.
BASE = "recipe"
# Keys of a recipe that are not settings.
RANGE = "range"
# The task of a model whose file does not name one.
DEFAULT_TASK = "classify"


def options(group: str) -> list[str]:
    folder = paths.CONFIGS / group
    return sorted(str(path.relative_to(folder).with_suffix("").as_posix()) for path in folder.rglob("*.yaml"))


def groups(file: str) -> dict[str, list[str]]:
    """Return the options of each group in the defaults list of a file such as ``train``."""
    return {name: options(name) for name in _defaults(file) if " " not in name}


def _defaults(file: str) -> dict[str, Any]:
    """Return the default option of each group of a file such as ``train``, in order of application."""
    entries = schema.read_yaml(paths.CONFIGS / f"{file}.yaml")["defaults"]
    return {name: option for entry in entries if isinstance(entry, dict) for name, option in entry.items()}


def layers(file: str, picked: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the values of the recipe, the data and the preset for ``file`` by dotted key, without option names."""
    chosen = _defaults(file) | picked
    files = {group: [paths.CONFIGS / group / f"{chosen.get(group)}.yaml"] for group in OVERALL}
    if RECIPES in chosen:
        model, _, backend = picked.get("recipes", f"{chosen['model']}/{chosen['backend']}").rpartition("/")
        files = {"recipe": recipe_files(model, backend)} | files
    rows = {layer: [schema.read_yaml(path) for path in each if path.is_file()] for layer, each in files.items()}
    return {layer: {key: value for row in each for key, value in leaves(row) if key not in (layer, f"{layer}.name")}
            for layer, each in rows.items()}  # fmt: skip


def task_of(model: str | None) -> str:
    return str(_file_of(model).get("task", DEFAULT_TASK))


def model_arguments(model: Arguments) -> Arguments:
    """Return the arguments of a model's builder, from its file or from composed settings."""
    return {key: value for key, value in model.items() if key not in model_files.FACTS}


def default_arguments(model: str) -> Arguments:
    """Return the arguments in the file of a bundled model, or nothing for other models."""
    return model_arguments(_file_of(model))


def _file_of(model: str | None) -> Arguments:
    return arguments.plain(arguments.row_of(model)) if model in options("model") else {}


def recipe_files(model: str, backend: str) -> list[Path]:
    """Return the existing files of a recipe: first for all backends, then for this backend."""
    files = [paths.RECIPES / model / f"{name}.yaml" for name in (BASE, backend)]
    return [path for path in files if path.is_file()]


def recipe_range(model: str, backend: str, data: str) -> dict[str, Any]:
    """Return the range in which a recipe was measured on a data set, or an empty dictionary."""
    rows = [schema.read_yaml(path).get(RANGE, {}) for path in recipe_files(model, backend)]
    return {key: value for row in rows for key, value in row.get(data, {}).items()}


def recipe_keys(model: str) -> set[str]:
    """Return the dotted keys of the settings in a model's recipes, without promises and ranges."""
    own = list((paths.RECIPES / model).glob("*.yaml")) if model in options("model") else []
    files = own or list((paths.RECIPES / ANY).glob("*.yaml"))
    keys = {key for path in files for key, _ in leaves(schema.read_yaml(path))}
    return {key for key in keys if not key.startswith(("expect.", f"{RANGE}."))}


def recipes_by_size(file: str) -> list[str]:
    """Return the recipes for models without a recipe, in alphabetical order (largest data first).

    A file such as ``infer``, which takes no recipe, has none.
    """
    files = (paths.RECIPES / ANY).glob("*.yaml") if RECIPES in _defaults(file) else ()
    return sorted(f"{ANY}/{path.stem}" for path in files)
