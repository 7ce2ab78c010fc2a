"""Remove names, paths, addresses, serial numbers and other identifiers of persons and machines from records.

Only the fields in :data:`FIELDS` are taken from a run record. Identifiers of this machine in their texts are
replaced: user, full name, host, serial number, folders. So is text that looks like a path, address or identifier.
"""

import getpass
import os
import platform
import re
import socket
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.config import declared
from zoo.core import paths
from zoo.environments import machine
from zoo.runs.records import Json

# Fields to take from a run record, and nested fields if only some are taken.
FIELDS: dict[str, tuple[str, ...]] = {
    "adjusted": (), "attempts": ("failed",), "backend": (), "bench": (), "command": (), "config": (),
    "data": ("name", "sha256", "train_items", "validation_items", "test_items", "reason"),
    "device": ("name", "device_kind", "proof", "description"), "error": (), "exit": (), "expected": (),
    "expected_not_applicable": (), "finished": (), "format": (), "git_commit": (), "host_peak_memory_bytes": (),
    "machine": ("os", "os_version", "os_build", "arch", "python_arch", "chip", "cores", "memory_bytes", "gpus",
                "cpu_features", "glibc"),
    "metrics": (), "model": (), "peak_memory_bytes": (), "phases": (), "probes": (), "probes_from": (),
    "device_kind": (), "seconds": (),
    "stack": ("name", "framework", "keras", "platform", "stand_in_for", "lock_sha256", "python", "differences"),
    "stopped": (), "verb": (), "versions": (), "zoo_version": (),
}  # fmt: skip
# Common names, which do not identify a person or machine and have other meanings in a log.
COMMON = {
    "root", "user", "admin", "runner", "localhost", "home", "ubuntu", "debian", "mac", "test", "zoo", "cpu", "gpu",
}  # fmt: skip
_SHORTEST = 3
_IDENTIFIERS = (
    (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "ADDRESS"),
    (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "UUID"),
    (r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b", "MAC"),
    # Addresses of hosts do not begin with 0, but versions such as 0.12.0.1 do.
    (r"(?<![\d.])(?!(?:127|0)\.)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])", "IP"),
    (r"(?i)(serial(?:[ _-]?(?:number|no))?\"?\s*[:=]?\s*\"?)[A-Z0-9]{8,}", r"\1SERIAL"),
)
_ROOTS = (
    "home|Users|root|tmp|var|private|work|mnt|media|srv|opt|Volumes|usr|Library|Applications|System|data|export|nix"
)
# A path ends at a quote, bracket or space; TensorFlow's "/job:localhost/replica:0" is not a path.
_PATH = re.compile(rf"(?<![\w.:/-])(?:/(?:{_ROOTS})(?=[/\s]|$)|~[\w-]*/|[A-Za-z]:\\)[^\s'\"`<>()\[\]{{}},;]*")

_VERSION = re.compile(r"\d{1,6}(?:\.\w{1,12}){1,5}(?:\+[\w.]{1,40})?")


def secrets() -> list[tuple[str, str]]:
    """Return identifiers of this machine and its user with their replacements, longest first."""
    known = [Path.home(), Path.cwd(), paths.ROOT, paths.cache_dir(), Path(sys.prefix), Path(tempfile.gettempdir())]
    folders = {place for each in known for place in (each, each.resolve()) if len(place.parts) > 1}
    hosts = {platform.node(), socket.gethostname(), os.environ.get("HOSTNAME", "")}
    hosts |= {name.partition(".")[0] for name in hosts}
    named = dict.fromkeys(map(str, folders), "FOLDER") | dict.fromkeys(_user_names(), "USER")
    named |= dict.fromkeys(hosts, "HOST") | dict.fromkeys(_serials(), "SERIAL")
    kept = {text: word for text, word in named.items() if len(text) >= _SHORTEST and text.lower() not in COMMON}
    return sorted(kept.items(), key=lambda pair: -len(pair[0]))


def _user_names() -> set[str]:
    names = {getpass.getuser(), Path.home().name, os.environ.get("USER", ""), os.environ.get("LOGNAME", "")}
    try:
        import pwd

        full = pwd.getpwuid(os.getuid()).pw_gecos.split(",")[0]
    except (ImportError, KeyError):  # a system without pwd, or an unknown user
        full = ""
    return names | {full, *(word for word in full.split() if len(word) > _SHORTEST)}


def _serials() -> set[str]:
    """Return the serial numbers and identifiers of this machine, so that they can be removed."""
    listing = machine.run_tool("ioreg -rd1 -c IOPlatformExpertDevice", []) if platform.system() == "Darwin" else ""
    serials = set(re.findall(r'"IOPlatform(?:SerialNumber|UUID)" = "([^"]+)"', listing or ""))
    for name in ("/etc/machine-id", "/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/product_uuid"):
        serials.add((machine.read_file(name, []) or "").strip())  # missing, or readable by root only
    return {text for text in serials if len(text) >= 8}


class Cleaner:
    """Replaces everything that identifies this machine and its user; ``named`` overrides :func:`secrets`."""

    def __init__(self, named: Iterable[tuple[str, str]] | None = None) -> None:
        pairs = list(secrets() if named is None else named)
        self._named = [(re.compile(_bounded(text), re.IGNORECASE), word) for text, word in pairs]

    def text(self, text: str) -> str:
        """Return a text without names, paths and identifiers."""
        for pattern, word in self._named:
            text = pattern.sub(word, text)
        text = re.sub(r"FOLDER[^\s'\"`<>()\[\]{},;]*", "PATH", text)
        text = _PATH.sub("PATH", text)
        for identifier, word in _IDENTIFIERS:
            text = re.sub(identifier, word, text)
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value with all texts cleaned, including keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(name)): self.value(part) for name, part in value.items()}
        return [self.value(part) for part in value] if isinstance(value, list | tuple) else value

    def _version(self, version: Any) -> Any:
        """Return a version unchanged, even if it looks like an address; clean other values."""
        return version if _VERSION.fullmatch(str(version)) else self.value(version)

    def record(self, record: Json) -> Json:
        present = {name: parts for name, parts in FIELDS.items() if record.get(name) is not None}
        kept: Json = {name: self.value(_parts(record[name], parts)) for name, parts in present.items()}
        if isinstance(versions := record.get("versions"), dict):
            kept["versions"] = {self.text(str(name)): self._version(part) for name, part in versions.items()}
        if "finished" in kept:
            kept["finished"] = str(kept["finished"])[:10]  # the day is sufficient
        for name in ("config", "adjusted"):
            if isinstance(kept.get(name), dict):
                kept[name] = _public(kept[name])
        if isinstance(kept.get("command"), list):
            kept["command"] = [word for text in kept["command"] if (word := declared.public(text))]
        return kept


def _public(settings: Json, prefix: str = "") -> Json:
    kept = {name: part for name, part in settings.items() if not declared.is_private(f"{prefix}{name}")}
    return {name: _public(part, f"{prefix}{name}.") if isinstance(part, dict) else part for name, part in kept.items()}


def _parts(value: Any, parts: tuple[str, ...]) -> Any:
    if not parts:
        return value
    if isinstance(value, list):
        return [_parts(each, parts) for each in value]
    return {name: value[name] for name in parts if name in value} if isinstance(value, dict) else value


def _bounded(text: str) -> str:
    begin = r"(?<![A-Za-z0-9])" if text[0].isalnum() else ""
    end = r"(?![A-Za-z0-9])" if text[-1].isalnum() else ""
    return f"{begin}{re.escape(text)}{end}"
