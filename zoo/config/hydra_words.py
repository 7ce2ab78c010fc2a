"""Translate settings of Hydra's launchers and sweepers to the zoo's.

Names are those of hydra-joblib-launcher, hydra-submitit-launcher and hydra-ray-launcher (facebookresearch/hydra,
folder plugins).
"""

import functools
from pathlib import Path
from typing import Any

from zoo.config import model_files
from zoo.config.overrides import Overrides, leaves
from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.core.files import storage_errors
from zoo.core.paths import user_path

HELP = "`python -m zoo help launcher` lists the settings of launchers."


def experiments(overrides: list[str], folder: str | None) -> tuple[Overrides, list[str]]:
    """Read the files that ``+GROUP=NAME`` selects in the user's folders, as Hydra does.

    The folders are ``folder``, the value of ``--config-dir``, and those in ``hydra.searchpath=[DIR]``.

    Returns:
        The settings of the files, and the remaining overrides.
    """
    settings, rest, folders = Overrides(), [], [folder] if folder else []
    searched = [text for text in overrides if text.partition("=")[0].lstrip("+") == "hydra.searchpath"]
    given = [f"--config-dir {folder}"] * bool(folder) + searched
    if given and not any(text.startswith("+") and text not in searched for text in overrides):
        raise ZooError(f"{given[0]} has no effect without +GROUP=NAME", "Add +experiment=NAME, or remove it.")
    places = [each for text in searched for each in text.partition("=")[2].strip("[]").split(",")]
    folders += [each.strip(" '\"").removeprefix("file://") for each in places]
    for text in [each for each in overrides if each not in searched]:
        key, _, name = text.partition("=")
        group = key.removeprefix("+")
        if group == key or group[:1] == "+" or "." in group or not name:
            rest.append(text)
            continue
        files = [user_path(each) / group / f"{name.removesuffix('.yaml')}.yaml" for each in folders]
        with storage_errors("read", files[-1] if files else Path()):
            file = next((each for each in files if each.is_file()), None)
        if file is None:
            missing = f"there is no {' or '.join(map(str, files))}" if files else "no folder is named"
            raise ZooError(f"{text}: {missing}", f"Add --config-dir DIR, a folder with {group}/{name}.yaml.")
        settings |= _experiment(file, group)
    return settings, rest


def _experiment(file: Path, layer: str) -> Overrides:
    row = schema.read_yaml(file)
    if not isinstance(row, dict) or not isinstance(row.get("defaults", []), list):
        raise ZooError(f"{file} contains no settings", "Write KEY: VALUE lines, and a list of defaults.")
    chosen: dict[str, Any] = {}
    for entry in row.pop("defaults", []):
        if isinstance(entry, dict):
            chosen |= {key.removeprefix("override ").strip(" /"): value for key, value in entry.items()}
        elif entry != "_self_":
            raise ZooError(f"{file}: defaults cannot include {entry!r}", "Write GROUP: NAME, such as data: digits.")
    named = {f"{group}.name": group for group in ("model", "data", "backend")}
    try:
        settings = Overrides.of(chosen | {named.get(key, key): value for key, value in leaves(row)}, layer)
    except RecursionError as error:
        raise ZooError(f"{file} contains itself", "Remove the alias (*) that leads to itself.") from error
    for entry in settings:
        is_code = entry.key == "model" and model_files.is_named(str(entry.value))
        if is_code or entry.key in ("backend.python", "launcher.python", "launcher.options"):
            raise ZooError(f"{file}: {entry.key} names code to run", f"Name it on the command line: {entry.text}")
    return settings


@functools.cache
def _words(kind: str) -> dict[str, str]:
    words: dict[str, str] = schema.read_yaml(Path(__file__).with_suffix(".yaml"))[kind]
    return words


def translated(text: str) -> str:
    key, _, value = text.partition("=")
    text = text.removeprefix("++")  # add or replace
    key = key.lstrip("+")
    if not key.startswith(("hydra/", "hydra.")):
        return text
    if key == "hydra/launcher":
        launchers = _words("launchers")
        if value in launchers:
            return f"launcher={launchers[value]}"
        known = ", ".join(f"{theirs} ({ours})" for theirs, ours in launchers.items())
        raise ZooError(f"The zoo has no hydra/launcher={value}", f"It has {known}, and launcher=ssh. {HELP}")
    if key == "hydra/sweeper":
        if value == "basic":
            return "launcher=local"
        raise ZooError(f"{text} is not supported", "Searches have their own command: python -m zoo tune --help")
    if key in _words("places"):
        return f"{_words('places')[key]}={value}"
    name = key.removeprefix("hydra.launcher.")
    if name != key and name in _words("settings"):
        return f"{_words('settings')[name]}={value}"
    raise ZooError(f"The zoo has no setting {key}: it uses Hydra to compose settings only", HELP)
