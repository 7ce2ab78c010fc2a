"""Find the package registry that uv and pip are configured to use, and test whether it answers.

Without a setting, the tools use their default registry, which is not tested.
"""

import configparser
import contextlib
import dataclasses
import os
import socket
import threading
import tomllib
from pathlib import Path

SECONDS = 2.0
VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


def address() -> str | None:
    """Return the registry's URL from the settings of uv or pip (the user's, then the system's), or None."""
    for name in VARIABLES:
        if os.environ.get(name):
            return os.environ[name]
    addresses = [_from_uv(path) for path in _uv_files()] + [_from_pip(path) for path in _pip_files()]
    return next((url for url in addresses if url), None)


@dataclasses.dataclass(frozen=True)
class Reachability:
    """Result of contacting a registry. ``host`` excludes credentials; ``why`` is the error, or empty."""

    host: str
    ok: bool
    why: str


def reachable(url: str) -> Reachability:
    """Connect to the registry, or to its proxy, within two seconds."""
    try:
        host, port = _target(url)
    except ValueError as error:
        return Reachability("", False, f"the registry's address cannot be read: {error}")
    answer: list[str] = []
    # A thread, because name lookups ignore the connection timeout.
    asking = threading.Thread(target=_connect, args=(host, port, answer), daemon=True)
    asking.start()
    asking.join(SECONDS)
    why = answer[0] if answer else f"no answer within {SECONDS:g} seconds"
    return Reachability(f"{host}:{port}", not why, why)


def _connect(host: str, port: int, answer: list[str]) -> None:
    try:
        with socket.create_connection((host, port), timeout=SECONDS):
            answer.append("")
    except OSError as error:
        answer.append(str(error))


def _target(url: str) -> tuple[str, int]:
    import urllib.parse
    import urllib.request

    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and host and not urllib.request.proxy_bypass(host):
        parts = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}", scheme=parts.scheme)
    if not parts.hostname:
        raise ValueError(f"no host in an address that begins with {parts.scheme or 'nothing'!r}")
    return parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)


def _uv_files() -> list[Path]:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    own = [Path(os.environ["UV_CONFIG_FILE"])] if os.environ.get("UV_CONFIG_FILE") else []
    return [*own, home / "uv" / "uv.toml", *_system_files("uv/uv.toml")]


def _from_uv(path: Path) -> str | None:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None  # uv reports unreadable files itself
    indexes = [entry for entry in settings.get("index", []) if isinstance(entry, dict) and entry.get("default")]
    candidates = [*(entry.get("url") for entry in indexes), settings.get("index-url")]
    pip = settings.get("pip")
    candidates.append(pip.get("index-url") if isinstance(pip, dict) else None)
    return next((url for url in candidates if isinstance(url, str) and url), None)


def _pip_files() -> list[Path]:
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    own = [Path(os.environ["PIP_CONFIG_FILE"])] if os.environ.get("PIP_CONFIG_FILE") else []
    mac = home / "Library" / "Application Support" / "pip" / "pip.conf"
    return [*own, mac, config / "pip" / "pip.conf", home / ".pip" / "pip.conf", *_system_files("pip.conf")]


def _system_files(name: str) -> list[Path]:
    return [Path("/etc", name)]


def _from_pip(path: Path) -> str | None:
    parser = configparser.RawConfigParser()
    with contextlib.suppress(configparser.Error, UnicodeDecodeError):  # pip reports bad files itself
        parser.read(path, encoding="utf-8")
    for section in ("install", "global"):
        if parser.has_option(section, "index-url"):
            return parser.get(section, "index-url").strip()
    return None
