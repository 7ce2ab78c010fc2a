"""Predefined settings for common machines: ``configs/reference/NAME.yaml``. The folder is the registry.

``reference=NAME`` on the command line applies the settings of such a file; NAME can also be the path of a copy.
Settings, data sets and presets that the user chooses take precedence.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config import config_files, model_files
from zoo.config.overrides import REFERENCE, Overrides, leaves
from zoo.core import paths, schema
from zoo.core.errors import ZooError, listed, unknown
from zoo.environments.machine import Machine
from zoo.environments.platforms import SYSTEMS

KEY = REFERENCE
PLAIN = (str, int, float, type(None))


@dataclass(frozen=True)
class Needs:
    """The machine that a reference is for; None matches any.

    Attributes:
        about: description of the machine.
        os: ``macos`` or ``linux``.
        arch: ``x86_64`` or ``arm64``.
        gpu: the end of the GPU's name in the system, such as ``Radeon RX 570``.
        vendor: ``apple``, ``amd`` or ``nvidia``.
    """

    about: str
    os: str | None = None
    arch: str | None = None
    gpu: str | None = None
    vendor: str | None = None


@dataclass(frozen=True)
class Published:
    """A published result for a machine like the reference's.

    Attributes:
        what: the measured task.
        metric: the metric or phase of a run to compare with, or None.
    """

    what: str
    figure: float
    unit: str
    source: str
    metric: str | None = None
    data: str | None = None


@dataclass(frozen=True)
class Reference:
    """The content of a file. A group in ``settings`` is an option's name, or a mapping that includes ``name``."""

    about: str
    machine: Needs
    settings: dict[str, Any]
    published: list[Published] | None = None
    name: str = ""

    @property
    def overrides(self) -> Overrides:
        return Overrides.of(_flat(self.settings), KEY)


def names() -> list[str]:
    return config_files.options(KEY)


def load(name: str) -> Reference:
    """Read and check a bundled reference, by name, or a YAML file, by path."""
    path = _path(name)
    row = schema.read_yaml(path)
    schema.refuse(KEY, path, [*schema.violations(row, Reference, given=("name",)), *_setting_problems(row)])
    published = [Published(**entry) for entry in row.get("published") or []]
    return Reference(**row | {"machine": Needs(**row["machine"]), "published": published, "name": name})


def _path(name: str) -> Path:
    if name in names():
        return paths.CONFIGS / KEY / f"{name}.yaml"
    path = Path(os.path.expanduser(name))
    if os.path.isfile(path):  # isfile accepts names of any length, and unknown users
        return path
    if path.suffix in (".yaml", ".yml") or path.name != name:
        raise ZooError(f"There is no file {path}", f"Give a YAML file, or one of: {listed(names())}")
    raise unknown(KEY, name, names())


def chosen(given: Overrides) -> Reference | None:
    name = given.get(KEY)
    return load(name) if name is not None else None


def expand(given: Overrides, reference: Reference | None = None) -> Overrides:
    """Replace ``reference=NAME`` with its settings, followed by the user's own.

    If the user chooses another model, the reference's model settings are dropped; with another backend, its backend
    settings and stack. A data set or preset that the user chooses keeps the values of its file.
    """
    reference = reference or chosen(given)
    if reference is None:
        return given
    own, theirs = given.without(KEY), reference.overrides
    return theirs.without(*_outranked(own, theirs)) | own


def _outranked(own: Overrides, theirs: Overrides) -> set[str]:
    """Return the keys of the reference that the user's choices override."""
    gone: set[str] = set()
    for group in ("model", "backend"):
        if own.is_given(group) and own.get(group) != theirs.get(group):
            gone |= {f"{group}.{name}" for name in theirs.given(group)}
            gone |= {"stack"} if group == "backend" else set()
    for group in filter(own.is_given, config_files.OVERALL):
        path = paths.CONFIGS / group / f"{own.get(group)}.yaml"
        if path.is_file():  # if missing, composition reports it with the valid names
            gone |= {key for key, _ in leaves(schema.read_yaml(path))}
    return gone


def rows() -> list[dict[str, str]]:
    """Return one row per reference for listing, without composition, which would take seconds."""
    return [
        {"reference": each.name, "machine": each.machine.about, "what": each.about,
         "settings": " ".join(each.overrides.words), "published": "; ".join(map(_words, each.published or []))}
        for each in map(load, names())
    ]  # fmt: skip


def remarks(reference: Reference, here: Machine) -> list[str]:
    """Return notes for a run: the intended machine, its differences from this machine, and published results."""
    lines = [f"Reference {reference.name}: {reference.about}"]
    differing = differences(reference, here)
    if differing:
        lines.append(f"  It is for {reference.machine.about}; here {'; '.join(differing)}.")
        lines.append(f"  To adapt it to this machine: {KEY}={reference.name} backend=auto")
    return lines + [f"  Published: {_words(entry)}" for entry in reference.published or []]


def differences(reference: Reference, here: Machine) -> list[str]:
    """Return how a machine differs from the reference's machine, or nothing if the results are comparable."""
    wanted, differing = reference.machine, []
    if wanted.os not in (None, here.os):
        differing.append(f"the system is {SYSTEMS[here.os]}, not {SYSTEMS[str(wanted.os)]}")
    if wanted.arch not in (None, here.arch):
        differing.append(f"the processor is {here.arch}, not {wanted.arch}")
    present = " and ".join(gpu.name for gpu in here.gpus) or "none"
    if wanted.gpu and not any(f" {gpu.name}".lower().endswith(f" {wanted.gpu}".lower()) for gpu in here.gpus):
        differing.append(f"the GPU is {present}, not {wanted.gpu}")
    elif wanted.vendor and not any(gpu.vendor == wanted.vendor for gpu in here.gpus):
        differing.append(f"the GPU is {present}, not one of {wanted.vendor.upper()}")
    return differing


def comparison(published: list[Published], record: dict[str, Any]) -> list[str]:
    """Compare a finished run with the published results that apply, one line each.

    A run with other data, a preset or a limit on the data is not compared. ``record`` is the run's ``run.json``.
    """
    settings, data = record["config"], record["data"]["name"]
    if settings["preset"] != "full" or settings["data"]["train_limit"] or settings["data"]["test_limit"]:
        return []
    figures = {**record.get("metrics", {}), **record.get("phases", {})}
    return [
        f"Published: {_words(entry)}. This run: {figures[entry.metric]:.4g}"
        for entry in published
        if entry.metric in figures and entry.data in (None, data)
    ]


def _words(entry: Published) -> str:
    return f"{entry.what}: {entry.figure:g} {entry.unit}".strip() + f" ({entry.source})"


# -- checking a file


def _setting_problems(row: Any) -> list[str]:
    settings = row.get("settings") if isinstance(row, dict) else None
    if not isinstance(settings, dict):
        return []
    several = [(key, value) for key, value in leaves(settings) if not isinstance(value, PLAIN) and value != {}]
    problems = [f"settings.{key} must be one value, got {value!r}" for key, value in several]
    model = settings.get("model")
    if model_files.is_named(model.get("name") if isinstance(model, dict) else model):
        problems.append("settings.model: a model file is code; give it as `model=PATH` on the command line")
    if any(str(key) == KEY for key in settings):
        return [*problems, "settings.reference: a reference cannot use another one"]
    return problems


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings by dotted key, with each group as its option's name."""
    groups = config_files.groups("train")
    named = {f"{group}.name": group for group in groups}
    flat = {named.get(key, key): value for key, value in leaves(settings) if isinstance(value, PLAIN)}
    return {key: value for key, value in flat.items() if key not in groups or value is not None}
