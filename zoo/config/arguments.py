"""Arguments of models, declared in ``configs/model/NAME.yaml``: default, meaning, and range or choices."""

from collections.abc import Mapping
from typing import Any

from zoo.config import model_files
from zoo.config.setting import Setting
from zoo.core import paths, schema

_DEFAULT = "default"


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's row with each declaration replaced by its default."""
    return {key: value[_DEFAULT] if _is_declared(value) else value for key, value in row.items()}


def _is_declared(value: Any) -> bool:
    return isinstance(value, dict) and _DEFAULT in value


def declared(model: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the declared arguments of a bundled model, found by ``name``; user models declare none."""
    name = str(model.get("name"))
    if not model or "file" in model or "saved" in model:
        return {}
    # Arguments of keras.applications architectures have the declarations of MobileNet's.
    row = row_of("mobilenet" if model_files.is_application(name) else name)
    return {key: Setting(**value) for key, value in row.items() if _is_declared(value)}


def row_of(name: str) -> dict[str, Any]:
    """Return the content of a bundled model's file, or nothing if there is no such file."""
    path = paths.CONFIGS / "model" / f"{name}.yaml"
    content: dict[str, Any] = schema.read_yaml(path) if path.is_file() else {}
    return content


def problems(model: Mapping[str, Any]) -> list[str]:
    rows = declared(model)
    wrong = [problem for key, row in rows.items() for problem in row.problems(f"model.{key}", model.get(key))]
    return wrong or [
        f"model.{key} must divide model.{row.divides}, {model[row.divides]}, got {model[key]}"
        for key, row in rows.items()
        if row.divides and model[row.divides] % model[key]
    ]
