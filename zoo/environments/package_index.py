"""Find the package registry that uv and pip are configured to use, and test whether it answers.

Without a setting, the tools use their default registry, which is not tested.
"""

import configparser
import contextlib
import dataclasses
import os
import socket
import tomllib
from pathlib import Path

from zoo.core.download import in_thread

SECONDS = 2.0
SYSTEM = Path("/etc")
VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")


def address() -> str | None:
    """Return the registry's URL from the settings of uv or pip (the user's, then the system's), or None."""
    for name in VARIABLES:
        if os.environ.get(name):
            return os.environ[name]
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    mac = home / "Library" / "Application Support" / "pip" / "pip.conf"
    of_uv = [*_named("UV_CONFIG_FILE"), config / "uv/uv.toml", SYSTEM / "uv/uv.toml"]
    of_pip = [*_named("PIP_CONFIG_FILE"), mac, config / "pip/pip.conf", home / ".pip/pip.conf", SYSTEM / "pip.conf"]
    return next(filter(None, [*map(_from_uv, of_uv), *map(_from_pip, of_pip)]), None)


def _named(variable: str) -> list[Path]:
    return [Path(os.environ[variable])] if os.environ.get(variable) else []


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
    # In a thread, because name lookups ignore the connection timeout.
    outcome = in_thread(lambda: socket.create_connection((host, port), timeout=SECONDS).close())
    try:
        outcome.result(SECONDS)
        why = ""
    except (OSError, ValueError) as error:
        why = str(error) if outcome.done() else f"no answer within {SECONDS:g} seconds"
    return Reachability(f"{host}:{port}", not why, why)


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


def _from_pip(path: Path) -> str | None:
    parser = configparser.RawConfigParser()
    with contextlib.suppress(configparser.Error, UnicodeDecodeError):  # pip reports bad files itself
        parser.read(path, encoding="utf-8")
    urls = (parser.get(section, "index-url", fallback=None) for section in ("install", "global"))
    return next((url.strip() for url in urls if url is not None), None)
