"""Examine common sources of problems on this machine: conda, pip, TLS, settings of other projects.

As in :mod:`zoo.environments.machine`, the checks are pure functions of captured texts.
"""

import dataclasses
import json
import os
import re
import ssl
import sys
from collections.abc import Iterator, Mapping

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
KEPT_AWAY = f"they affect your own programs, but not the zoo's workers; {variables.MORE}=NAME,NAME passes some on"
PASSED_ON = "workers get them: they select devices, threads and memory, and may change speed and the last digits"


@dataclasses.dataclass(frozen=True)
class Check:
    """The result of a check: the observation, and its meaning, which is empty without a problem."""

    name: str
    seen: str
    meaning: str = ""


def collect() -> dict[str, str]:
    """Read the texts that the checks need."""
    texts = {
        ENV: "\n".join(f"{name}={value}" for name, value in os.environ.items()),
        KERAS_JSON: read_file(os.path.expanduser(KERAS_JSON), []),
        PLAIDML_JSON: read_file(os.path.expanduser(PLAIDML_JSON), []), TLS: ssl.OPENSSL_VERSION, PIP: _pip(),
        FREE: str(paths.free_bytes()),
    }  # fmt: skip
    if sys.platform == "darwin":
        texts[XCODE] = run_tool(XCODE, []) or ""
        texts[QUARANTINE] = run_tool(QUARANTINE, [], str(paths.ROOT)) or ""
    return {name: text for name, text in texts.items() if text is not None}


def examine(reports: Reports, machine: Machine) -> list[Check]:
    lines = (line.partition("=") for line in reports.get(ENV, "").splitlines())
    given = {name: value for name, mark, value in lines if mark}
    return [*_processor(machine), *_programs(reports, given), *_settings(reports, given), *_disk(reports)]


def _pip() -> str | None:
    import importlib.metadata

    try:
        return f"pip {importlib.metadata.version('pip')}"
    except importlib.metadata.PackageNotFoundError:
        return None  # uv's environments have none


# -- the checks


def _processor(machine: Machine) -> Iterator[Check]:
    if machine.arch == "x86_64" and machine.cpu_features is not None:
        meaning = "TensorFlow and JAX fail to load or end with `Illegal instruction`; torch, openvino and plaidml work"
        has_avx = "avx" in machine.cpu_features
        yield Check("AVX", "yes") if has_avx else Check("AVX", f"{machine.chip} has none", meaning)
    if machine.rosetta:
        meaning = "GPU libraries for this Mac need an arm64 Python; the zoo takes one for its stacks"
        yield Check("Rosetta", "this Python is an x86_64 build that Rosetta translates", meaning)
    elif machine.os == "macos":
        yield Check("Rosetta", "this Python is native")


def _programs(reports: Reports, given: Mapping[str, str]) -> Iterator[Check]:
    name = given.get("CONDA_DEFAULT_ENV", given.get("CONDA_PREFIX"))
    if "CONDA_PREFIX" in given and name == "base":
        meaning = "packages that you install with pip may break conda; the zoo does not change it"
        yield Check("conda", "its base environment is active", f"{meaning}: each stack has its own environment")
    elif "CONDA_PREFIX" in given:
        yield Check("conda", f"environment {name} is active")
    if match := re.match(r"pip (\d[\w.]*)", reports.get(PIP, "")):
        old = version_numbers(match[1]) < OLDEST_PIP
        meaning = "older than 20.3: it ignores current wheels, and builds from source or fails"
        remedy = "`python -m pip install -U pip`. Stacks are not affected"
        yield Check("pip", match[1], f"{meaning}; {remedy}" if old else "")
    if library := reports.get(TLS, "").strip():
        is_old = version_numbers(library)[:3] < (1, 1, 1)
        meaning = "older than 1.1.1: current servers may reject it" if is_old else ""
        if "LibreSSL" in library:
            meaning = "Apple's old library: downloads may fail, urllib3 2 rejects it"
            meaning += "; use Python from python.org or Homebrew"
        yield Check("TLS", library, meaning)
    if XCODE in reports:
        place = reports[XCODE].strip()
        meaning = "`xcode-select --install`: without them pyenv's Pythons and source packages of tf-1.8 cannot be built"
        yield Check("command-line tools", place or "none", "" if place else meaning)
    if QUARANTINE in reports:
        # Flags, seconds in hexadecimal, the program that downloaded it, and more.
        flags, *more = reports[QUARANTINE].strip().split(";")
        program = "".join(more[1:2]) or "another program"
        meaning = "macOS may block programs and libraries in it; `xattr -dr com.apple.quarantine .` in it ends that"
        marked = Check("quarantine", f"{paths.ROOT.name} was downloaded by {program}", meaning)
        yield marked if flags else Check("quarantine", "none")


def _settings(reports: Reports, given: Mapping[str, str]) -> Iterator[Check]:
    if folders := given.get("PYTHONPATH"):
        meaning = "its folders come before installed libraries in your own programs; the zoo's own libraries come first"
        yield Check("PYTHONPATH", folders, f"{meaning}, and its workers ignore it")
    for name, usual in ((KERAS_JSON, KERAS_DEFAULTS), (PLAIDML_JSON, {})):
        if name in reports:
            yield _settings_file(name, reports[name], usual)
    if backend := given.get("KERAS_BACKEND"):
        meaning = "your own programs use this Keras backend; every stack of the zoo sets its own"
        yield Check("KERAS_BACKEND", backend, meaning)
    configuring = sorted(filter(variables.configures_framework, given.keys() - {"KERAS_BACKEND"}))
    passed_on = list(filter(variables.is_passed_on, configuring))
    kept_away = [name for name in configuring if name not in passed_on]
    if kept_away:
        yield Check("variables kept away", ", ".join(kept_away), KEPT_AWAY)
    if passed_on:
        yield Check("variables passed on", ", ".join(passed_on), PASSED_ON)


def _settings_file(name: str, text: str, usual: Mapping[str, object]) -> Check:
    ignored = "your own programs read it; the zoo's workers ignore it"
    try:
        settings = json.loads(text)
    except ValueError:
        return Check(name, "is not valid JSON", f"libraries that read it fail or ignore it; {ignored}")
    given = settings if isinstance(settings, dict) else {"": settings}
    odd = {key: value for key, value in given.items() if usual.get(key, value) != value}
    shown = ", ".join(f"{key} {value}" for key, value in (odd or given).items())
    return Check(name, shown, ignored if odd or not usual else "")


def _disk(reports: Reports) -> Iterator[Check]:
    if FREE in reports:
        free = int(reports[FREE])
        meaning = "low: a stack needs 0.3 to 2.3 GB, with CUDA 7 GB; ZOO_CACHE=FOLDER keeps stacks on another disk"
        yield Check("disk", f"{free / 1e9:.1f} GB free for the cache", meaning if free < ROOM_BYTES else "")
