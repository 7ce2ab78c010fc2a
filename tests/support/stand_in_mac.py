"""The command line of the zoo as on a Mac that nobody has at hand: `stand_in_mac.py ARCHITECTURE ARGUMENT...`.

Python says that it runs on macOS; what the system's tools say comes from programs on PATH: :func:`install_tools`.
An environment is this test environment's own Python, if the stack has a lock for that Mac, and its worker pretends.
With STRICT_MPS, the Python of a stack for this machine, the real worker runs in that on a stand-in for Apple's GPU.
"""

import os
import platform
import shlex
import sys
import sysconfig
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
sys.path.insert(0, str(SUPPORT.parent.parent))

if __name__ == "__main__":  # before anything asks
    sysconfig.get_config_vars()  # for Linux, whose files lie here
    platform.system = lambda: "Darwin"
    platform.machine = lambda: sys.argv[1]
    sys.platform = "darwin"

from zoo.__main__ import leave  # noqa: E402
from zoo.certification import endurance  # noqa: E402
from zoo.cli.main import main  # noqa: E402
from zoo.core import paths  # noqa: E402
from zoo.core.errors import NoLockError  # noqa: E402
from zoo.environments import store  # noqa: E402
from zoo.environments.machine import capture_texts  # noqa: E402
from zoo.environments.stacks import Stack  # noqa: E402

TOOLS = ("sw_vers", "sysctl", "system_profiler", "xcode-select", "xattr", "uname", "nvidia-smi", "lspci")


def install_tools(capture: Path, folder: Path) -> Path:
    """Write programs that print what a capture holds, and fail where it holds nothing; return their folder.

    `sysctl -i` passes over names that it does not know.
    """
    texts = capture_texts(capture)
    folder.mkdir(parents=True)
    for tool in TOOLS:
        answers = {line: text for line, text in texts.items() if line.split()[0] == tool}
        cases = [f"{shlex.quote(line)}*) cat <<'END'\n{text.rstrip()}\nEND\n;;" for line, text in answers.items()]
        unknown = f'*) echo "{tool}: no answer captured for $*" >&2; exit 1;;' if tool != "sysctl" else "*) ;;"
        script = "\n".join(["#!/bin/sh", f'case "{tool}${{1:+ }}$*" in', *cases, unknown, "esac", ""])
        (folder / tool).write_text(script, encoding="utf-8")
        (folder / tool).chmod(0o755)
    return folder


def ensure(stack: Stack, name: str) -> store.Environment:
    """Stand in for building an environment: the lock for that Mac must be there."""
    lock = stack.folder / f"{name}.lock"
    if name not in stack.platforms or not lock.is_file():
        raise NoLockError(f"Stack {stack.name} has no lock for {name}")
    version = ".".join(map(str, sys.version_info[:3]))
    python = Path(os.environ.get("STRICT_MPS", sys.executable))
    return store.Environment(python, Path(sys.prefix), lock, "0" * 64, {}, 0.0, version)


if __name__ == "__main__":
    store.ensure = ensure
    endurance.ZOO = [sys.executable, __file__, sys.argv[1]]
    strict = "STRICT_MPS" in os.environ
    paths.WORKER = SUPPORT / ("workers/strict_mps.py" if strict else "fake_worker.py")
    leave(main(sys.argv[2:]))
