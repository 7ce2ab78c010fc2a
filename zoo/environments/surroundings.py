"""Examine common sources of problems on this machine: conda, pip, TLS, settings of other projects.

As in :mod:`zoo.environments.machine`, the checks are pure functions of captured texts.
"""

import dataclasses
import json
import os
import re
import ssl
import sys
from collections.abc import Callable, Mapping

from zoo.core import paths
from zoo.environments import variables
from zoo.environments.machine import Machine, read_file, run_tool
from zoo.environments.platforms import version_numbers

ENV, KERAS_JSON, PLAIDML_JSON = "env", "~/.keras/keras.json", "~/.plaidml"
TLS, PIP, XCODE, FREE = "ssl.OPENSSL_VERSION", "pip --version", "xcode-select -p", "free bytes"
QUARANTINE = "xattr -p com.apple.quarantine"  # of the zoo's folder
Reports = Mapping[str, str]
OLDEST_PIP = (20, 3)  # the first to support macOS 11 and wheels named by their glibc
ROOM_BYTES = 3 * 10**9  # the largest stack for the CPU and its downloads
# Keras's defaults for keys missing in its settings file.
KERAS_DEFAULTS: dict[str, object] = {
    "floatx": "float32", "epsilon": 1e-07, "backend": "tensorflow", "image_data_format": "channels_last",
}  # fmt: skip
OURS = "each stack has its own environment"


@dataclasses.dataclass(frozen=True)
class Check:
    """The result of a check: the observation, and its meaning, which is empty without a problem."""

    name: str
    seen: str
    meaning: str = ""


Examine = Callable[[Reports, Machine], Check | None]


def collect() -> dict[str, str]:
    """Read the texts that the checks need."""
    texts = {
        ENV: "\n".join(f"{name}={value}" for name, value in os.environ.items()),
        KERAS_JSON: read_file(os.path.expanduser(KERAS_JSON), []),
        PLAIDML_JSON: read_file(os.path.expanduser(PLAIDML_JSON), []),
        TLS: ssl.OPENSSL_VERSION,
        PIP: _pip(),
        FREE: str(paths.free_bytes()),
    }
    if sys.platform == "darwin":
        texts[XCODE] = run_tool(XCODE, []) or ""
        texts[QUARANTINE] = run_tool(QUARANTINE, [], str(paths.ROOT)) or ""
    return {name: text for name, text in texts.items() if text is not None}


def examine(reports: Reports, machine: Machine) -> list[Check]:
    return list(filter(None, (check(reports, machine) for check in CHECKS)))


def _pip() -> str | None:
    import importlib.metadata

    try:
        return f"pip {importlib.metadata.version('pip')}"
    except importlib.metadata.PackageNotFoundError:
        return None  # uv's environments have none


def _variables(reports: Reports) -> dict[str, str]:
    lines = (line.partition("=") for line in reports.get(ENV, "").splitlines())
    return {name: value for name, mark, value in lines if mark}


# -- the checks


def _processor(reports: Reports, machine: Machine) -> Check | None:
    if machine.arch != "x86_64" or machine.cpu_features is None:
        return None
    if "avx" in machine.cpu_features:
        return Check("AVX", "yes")
    meaning = "TensorFlow and JAX fail to load or end with `Illegal instruction`; torch, openvino and plaidml work"
    return Check("AVX", f"{machine.chip} has none", meaning)


def _rosetta(reports: Reports, machine: Machine) -> Check | None:
    if machine.os != "macos":
        return None
    if not machine.rosetta:
        return Check("Rosetta", "this Python is native")
    meaning = "GPU libraries for this Mac need an arm64 Python; the zoo takes one for its stacks"
    return Check("Rosetta", "this Python is an x86_64 build that Rosetta translates", meaning)


def _conda(reports: Reports, machine: Machine) -> Check | None:
    given = _variables(reports)
    if "CONDA_PREFIX" not in given:
        return None
    name = given.get("CONDA_DEFAULT_ENV", given["CONDA_PREFIX"])
    if name != "base":
        return Check("conda", f"environment {name} is active")
    meaning = f"packages that you install with pip may break conda; the zoo does not change it: {OURS}"
    return Check("conda", "its base environment is active", meaning)


def _pip_age(reports: Reports, machine: Machine) -> Check | None:
    match = re.match(r"pip (\d[\w.]*)", reports.get(PIP, ""))
    if not match:
        return None
    old = version_numbers(match[1]) < OLDEST_PIP
    meaning = "older than 20.3: it ignores current wheels, and builds from source or fails"
    return Check(
        "pip", match[1], f"{meaning}; `python -m pip install -U pip`. Stacks are not affected" if old else ""
    )


def _tls_library(reports: Reports, machine: Machine) -> Check | None:
    name = reports.get(TLS, "").strip()
    if not name:
        return None
    if "LibreSSL" in name:
        meaning = (
            "Apple's old library: downloads may fail, urllib3 2 rejects it; use Python from python.org or Homebrew"
        )
        return Check("TLS", name, meaning)
    old = version_numbers(name)[:3] < (1, 1, 1)
    return Check("TLS", name, "older than 1.1.1: current servers may reject it" if old else "")


def _command_line_tools(reports: Reports, machine: Machine) -> Check | None:
    if XCODE not in reports:
        return None
    place = reports[XCODE].strip()
    meaning = "`xcode-select --install`: without them pyenv's Pythons and source packages of tf-1.8 cannot be built"
    return Check("command-line tools", place or "none", "" if place else meaning)


def _quarantine(reports: Reports, machine: Machine) -> Check | None:
    if QUARANTINE not in reports:
        return None
    # Flags, seconds in hexadecimal, the program that downloaded it, and more.
    fields = reports[QUARANTINE].strip().split(";")
    if not fields[0]:
        return Check("quarantine", "none")
    meaning = "macOS may block programs and libraries in it; `xattr -dr com.apple.quarantine .` in it ends that"
    program = fields[2] if len(fields) > 2 and fields[2] else "another program"
    return Check("quarantine", f"{paths.ROOT.name} was downloaded by {program}", meaning)


def _pythonpath(reports: Reports, machine: Machine) -> Check | None:
    value = _variables(reports).get("PYTHONPATH")
    if not value:
        return None
    meaning = "its folders come before installed libraries in your own programs; the zoo's own libraries come first"
    return Check("PYTHONPATH", value, f"{meaning}, and its workers ignore it")


def _settings_file(name: str, usual: Mapping[str, object]) -> Examine:
    def check(reports: Reports, machine: Machine) -> Check | None:
        if name not in reports:
            return None
        ignored = "your own programs read it; the zoo's workers ignore it"
        try:
            settings = json.loads(reports[name])
        except ValueError:
            return Check(name, "is not valid JSON", f"libraries that read it fail or ignore it; {ignored}")
        given = settings if isinstance(settings, dict) else {"": settings}
        odd = {key: value for key, value in given.items() if usual.get(key, value) != value}
        text = ", ".join(f"{key} {value}" for key, value in (odd or given).items())
        return Check(name, text, ignored if odd or not usual else "")

    return check


def _keras_backend(reports: Reports, machine: Machine) -> Check | None:
    value = _variables(reports).get("KERAS_BACKEND")
    meaning = "your own programs use this Keras backend; every stack of the zoo sets its own"
    return Check("KERAS_BACKEND", value, meaning) if value else None


def _framework_variables(title: str, passed_on: bool, meaning: str) -> Examine:
    def check(reports: Reports, machine: Machine) -> Check | None:
        given = sorted(filter(variables.configures_framework, _variables(reports).keys() - {"KERAS_BACKEND"}))
        names = [name for name in given if variables.is_passed_on(name) == passed_on]
        return Check(title, ", ".join(names), meaning) if names else None

    return check


KEPT_AWAY = f"they affect your own programs, but not the zoo's workers; {variables.MORE}=NAME,NAME passes some on"
PASSED_ON = "workers get them: they select devices, threads and memory, and may change speed and the last digits"


def _disk(reports: Reports, machine: Machine) -> Check | None:
    if FREE not in reports:
        return None
    free = int(reports[FREE])
    meaning = "low: a stack needs 0.3 to 2.3 GB, with CUDA 7 GB; ZOO_CACHE=FOLDER keeps stacks on another disk"
    return Check("disk", f"{free / 1e9:.1f} GB free for the cache", meaning if free < ROOM_BYTES else "")


CHECKS: tuple[Examine, ...] = (
    _processor, _rosetta, _conda, _pip_age, _tls_library, _command_line_tools, _quarantine, _pythonpath,
    _settings_file(KERAS_JSON, KERAS_DEFAULTS),
    _settings_file(PLAIDML_JSON, {}), _keras_backend,
    _framework_variables("variables kept away", False, KEPT_AWAY),
    _framework_variables("variables passed on", True, PASSED_ON), _disk,
)  # fmt: skip
