"""Run uv, forward its output, and explain its failures. Only this module calls uv."""

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from zoo.core import console, processes, schema
from zoo.core.errors import MissingInterpreterError, ZooError
from zoo.environments import interpreters, package_index

# Settings of users' projects that would change the meaning of a lock. Settings of mirrors, caches, proxies and
# certificates (UV_INDEX*, UV_FIND_LINKS, UV_CACHE_DIR, UV_OFFLINE, SSL_CERT_FILE, ...) are kept.
UNWANTED = (
    "CONDA_PREFIX", "UV_BUILD_CONSTRAINT", "UV_COMPILE_BYTECODE", "UV_CONFIG_FILE", "UV_CONSTRAINT",
    "UV_EXCLUDE", "UV_EXCLUDE_NEWER", "UV_EXCLUDE_NEWER_PACKAGE", "UV_FORK_STRATEGY", "UV_NO_BINARY",
    "UV_NO_BINARY_PACKAGE", "UV_NO_BUILD", "UV_NO_BUILD_ISOLATION", "UV_NO_BUILD_PACKAGE",
    "UV_NO_VERIFY_HASHES", "UV_OVERRIDE", "UV_PRERELEASE", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT",
    "UV_PYTHON", "UV_REQUIRE_HASHES", "UV_RESOLUTION", "UV_SYSTEM_PYTHON", "UV_TORCH_BACKEND",
    "UV_VENV_CLEAR", "UV_VENV_SEED", "UV_WORKING_DIRECTORY", "VIRTUAL_ENV",
)  # fmt: skip

# Variables of pip and its libraries for mirrors and certificates, which uv does not read.
FROM_PIP = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_CERT": "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE": "SSL_CERT_FILE",
}  # fmt: skip

NETWORK = (
    "failed to fetch", "error sending request", "dns error", "connection refused", "connection reset",
    "timed out", "network is unreachable", "network connectivity is disabled", "couldn't be reached",
    "tcp connect error", "failed to download", "network was disabled",
)  # fmt: skip

DISK_FULL = ("no space left on device", "os error 28", "quota exceeded")
SPACE_REMEDY = (
    "Free some space: `python -m zoo env list` shows the environments, `python -m zoo env remove NAME` deletes one. "
    "Or set ZOO_CACHE, and UV_CACHE_DIR for downloads, to folders on another disk."
)


@dataclass(frozen=True)
class CompletedCommand:
    code: int
    words: list[str]

    def tail(self) -> str:
        return "\n".join(f"    {line}" for line in self.words[-20:])

    def find(self, pattern: str) -> str | None:
        """Return the first group of the first match in the output, or None."""
        match = re.search(pattern, "\n".join(self.words))
        return match[1] if match else None

    def mentions(self, *texts: str) -> bool:
        """Return True if the output contains one of these texts in lower case, in any case."""
        output = "\n".join(self.words).lower()
        return any(text in output for text in texts)


def version() -> str:
    import importlib.metadata

    return importlib.metadata.version("uv")


def command() -> str:
    """Return the path of the uv program that was installed with the zoo."""
    try:
        import uv

        return uv.find_uv_bin()
    except (ImportError, FileNotFoundError) as error:
        raise ZooError(
            f"The installer uv is missing from this Python environment ({error})",
            "Install it with: python -m pip install uv",
        ) from error


def environment(source: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables for uv: the user's without settings of other projects, and ``extra``."""
    kept = {name: value for name, value in source.items() if name not in UNWANTED and not name.startswith("PYTHON")}
    for pip_name, uv_name in FROM_PIP.items():
        # uv does not accept a folder of certificates.
        if source.get(pip_name) and not os.path.isdir(source[pip_name]):
            kept.setdefault(uv_name, source[pip_name])
    if source.get("PIP_FIND_LINKS"):
        kept.setdefault("UV_FIND_LINKS", ",".join(source["PIP_FIND_LINKS"].split()))
    return {**kept, **(extra or {})}


def run(
    arguments: list[str], follow: Callable[[str], None] = lambda line: None, extra: Mapping[str, str] | None = None
) -> CompletedCommand:
    """Run uv until it ends, and pass each output line to ``follow``.

    Mirrors in the settings of uv or pip are used. An interruption stops uv before it propagates.
    """
    words: list[str] = []
    variables, mirror = environment(os.environ, extra), package_index.address()
    if mirror and "UV_INDEX_URL" not in variables:
        variables.setdefault("UV_DEFAULT_INDEX", mirror)
    with processes.running(
        [command(), "--no-config", "--color", "never", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=variables,
    ) as process:  # fmt: skip
        for line in process.stdout or ():
            words.append(line.rstrip())
            follow(words[-1].strip())
        return CompletedCommand(process.wait(), words)


def is_network(outcome: CompletedCommand) -> bool:
    return outcome.mentions(*NETWORK) and not outcome.mentions("hash mismatch")


def missing_cpu_build(outcome: CompletedCommand) -> str | None:
    """Return the pin of a PyTorch CPU build that uv did not find, such as ``"torch==2.13.0+cpu"``, or None."""
    return outcome.find(r"no version of (\S+\+cpu)\b")


def is_unreachable(outcome: CompletedCommand) -> bool:
    """Return True if uv failed because no reachable index has a package in the lock."""
    return not outcome.mentions(*DISK_FULL) and (is_network(outcome) or missing_cpu_build(outcome) is not None)


def reason(outcome: CompletedCommand) -> tuple[str, str]:
    """Return why uv failed, and what to do, from ``uv_client.yaml``."""
    if outcome.mentions(*DISK_FULL):
        return "the disk is full", SPACE_REMEDY
    pin, network = missing_cpu_build(outcome), is_network(outcome)
    causes = {
        "altered": outcome.mentions("hash mismatch"),
        "cpu_build": pin is not None,
        "certificate": network and outcome.mentions("certificate"),
        "network": network,
        "no_build": outcome.mentions("no wheel", "no matching distribution"),
        "no_solution": outcome.mentions("no solution found"),
    }
    cause = next((name for name, applies in causes.items() if applies), "unknown")
    row = schema.read_yaml(Path(__file__).with_suffix(".yaml"))[cause]
    return row["why"].format(pin=pin), row["remedy"].format(pin=pin)


def ensure_interpreter(wanted: str, arch: str) -> interpreters.Interpreter:
    """Return a Python of a version such as ``"3.8"``, downloaded if it is missing and uv offers one."""
    if interpreter := interpreters.find(wanted, arch):
        return interpreter
    missing = f"Python {wanted} for {arch} is needed and was not found on this machine"
    remedy = interpreters.how_to_get(wanted, arch)
    if not interpreters.is_downloadable(wanted):
        raise MissingInterpreterError(f"{missing}; it is too old to be downloaded automatically", remedy)
    request = f"cpython-{wanted}-any-{'aarch64' if arch == 'arm64' else arch}-any"
    with console.bar(f"Downloading Python {wanted}") as bar:
        outcome = run(["python", "install", "--no-bin", request], bar.note)
    if interpreter := interpreters.find(wanted, arch):
        return interpreter
    why = "its server could not be reached" if is_network(outcome) else "the download failed"
    raise MissingInterpreterError(f"{missing}, and it could not be downloaded: {why}.\n{outcome.tail()}", remedy)
