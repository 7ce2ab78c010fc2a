"""Describe this machine: its system, chip, memory and GPUs, and whether this Python is native to it.

The parsers are pure functions of the output of system tools, so that tests can use captured outputs
(``tests/machines``).
"""

import dataclasses
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.environments import gpus
from zoo.environments.gpus import DEVICE_TREE, DISPLAYS_JSON, DISPLAYS_TEXT, LSPCI, NVIDIA, NVIDIA_COMPUTE, Gpu
from zoo.environments.platforms import SYSTEMS, architecture

SECONDS = 10.0
# Largest file of captured outputs.
MOST_BYTES = 16 << 20
SYSTEM_FOLDERS = "/usr/bin:/usr/sbin:/bin:/sbin"
# "-i" skips names that do not exist on older or Intel Macs.
SYSCTL = "sysctl -i hw.memsize hw.ncpu hw.optional.arm64 sysctl.proc_translated machdep.cpu.brand_string"
SYSCTL_CPU = "sysctl -i hw.optional.avx1_0 hw.optional.avx2_0"
GLIBC = "getconf GNU_LIBC_VERSION"
# Instructions that builds of the libraries require, in Linux spelling.
CPU_FEATURES = ("sse4_2", "avx", "avx2")


@dataclasses.dataclass(frozen=True)
class Machine:
    """Hardware and system of a machine. ``notes`` explains what could not be detected.

    ``cpu_features`` are the :data:`CPU_FEATURES` of the CPU, or None if unknown.
    """

    os: str
    os_version: str
    os_build: str
    arch: str
    python_arch: str
    chip: str
    cores: int
    memory_bytes: int
    gpus: list[Gpu] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    cpu_features: list[str] | None = None
    glibc: str = ""

    @property
    def platform(self) -> str:
        """Return the platform of the machine, not of this Python, as in the names of lock files: ``macos-arm64``."""
        return f"{self.os}-{self.arch}"

    @property
    def rosetta(self) -> bool:
        """Return True if this Python is an x86_64 build translated on Apple silicon."""
        return self.platform == "macos-arm64" and self.python_arch == "x86_64"


def probe() -> Machine:
    """Examine this machine, usually in less than a second; each tool has at most ten seconds."""
    notes: list[str] = []
    system = {"Darwin": "macos", "Windows": "windows"}.get(platform.system(), "linux")
    collect = {"macos": _macos_reports, "linux": _linux_reports, "windows": _windows_reports}[system]
    return from_reports(system, collect(notes), platform.machine(), notes)


def from_reports(system: str, reports: Mapping[str, str], python_arch: str, notes: list[str] | None = None) -> Machine:
    """Build a machine from the output of its tools.

    Args:
        system: ``macos``, ``linux`` or ``windows``.
        reports: text of each command line or file; any may be missing.
        python_arch: architecture of this Python's build.
    """
    read = {"macos": _macos, "linux": _linux, "windows": _windows}[system]
    return read(reports, architecture(python_arch), notes if notes is not None else [])


def from_capture(path: Path) -> Machine:
    """Build a machine from captured tool outputs; see :func:`capture_texts`."""
    texts = capture_texts(path)
    system = "macos" if "sw_vers" in texts else "linux"
    default = "arm64" if "hw.optional.arm64: 1" in str(texts) else "x86_64"
    return from_reports(system, texts, texts.get("uname -m", default).strip())


def capture_texts(path: Path) -> dict[str, str]:
    """Read captured outputs: a line that begins with ``$ `` names a command or file, and its text follows.

    On a Mac: ``sw_vers``, ``uname -m``, ``system_profiler -json SPDisplaysDataType``, ``sysctl -i ...``; see
    ``tests/machines``.
    """
    remedy = "Give a text such as tests/machines/m1.txt."
    if path.exists() and not (path.is_file() and path.stat().st_size < MOST_BYTES):
        raise ZooError(f"Cannot read the machine in {path}: it is not a text of at most 16 MB", remedy)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ZooError(f"Cannot read the machine in {path}: {error}", remedy) from error
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    if not texts.keys() & {"sw_vers", "uname -m", "/proc/cpuinfo"}:
        raise ZooError(f"{path} contains no output of sw_vers, uname -m or /proc/cpuinfo", remedy)
    return texts


def describe(machine: Machine) -> str:
    # The name of a Linux distribution suffices without "Linux".
    named = f"{SYSTEMS[machine.os]} {machine.os_version}".strip()
    system = machine.os_version if machine.os == "linux" else named
    parts = [f"{system} ({machine.os_build})" if machine.os_build else system]
    parts += [machine.arch, machine.chip, f"{machine.cores} cores"]
    if machine.memory_bytes:
        parts.append(f"{gpus.size(machine.memory_bytes)} memory")
    parts.append("GPU " + " and ".join(map(gpus.describe, machine.gpus)) if machine.gpus else "no GPU")
    return ", ".join(part for part in parts if part)


def hardware(machine: Machine) -> str:
    """Return chip, GPUs and memory as part of a file name: ``apple-m1-8gb``."""
    graphics = [gpu.name for gpu in machine.gpus if gpu.name != machine.chip]
    memory = f"{round(machine.memory_bytes / 2**30)}gb" if machine.memory_bytes else ""
    named = re.sub(r"\((?:R|TM|tm|r)\)|\bCPU\b|@.*", " ", " ".join([machine.chip, *graphics]))
    return re.sub(r"[^a-z0-9]+", "-", f"{named} {memory}".lower()).strip("-")


# -- asking the system


def run_tool(command: str, notes: list[str], *paths: str) -> str | None:
    """Return the output of a tool, or None if it is missing or fails; a failure adds a note.

    ``paths`` may contain spaces; they are appended to the command.
    """
    name, *arguments = [*command.split(), *paths]
    path = shutil.which(name) or shutil.which(name, path=SYSTEM_FOLDERS)
    if path is None:
        return None
    # Without SYSTEM_VERSION_COMPAT=0, a Python linked against an old SDK gets macOS 10.16.
    environment = os.environ | {"LC_ALL": "C", "SYSTEM_VERSION_COMPAT": "0"}
    try:
        done = subprocess.run(
            [path, *arguments], capture_output=True, text=True, errors="replace", timeout=SECONDS, env=environment
        )
    except subprocess.TimeoutExpired:
        notes.append(f"{name} did not answer within {SECONDS:.0f} seconds")
        return None
    except OSError as error:
        notes.append(f"{name} could not be started: {error}")
        return None
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[0]
        notes.append(f"{name} failed with exit code {done.returncode}: {words}")
    return done.stdout if not done.returncode else None


def read_file(path: str | Path, notes: list[str]) -> str | None:
    """Return the text of a file, or None if it is missing or unreadable, which adds a note."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        notes.append(f"{path} could not be read: {error}")
        return None


def _present(reports: Mapping[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in reports.items() if text is not None}


def _macos_reports(notes: list[str]) -> dict[str, str]:
    reports = _present({command: run_tool(command, notes) for command in ("sw_vers", SYSCTL, SYSCTL_CPU)})
    reports["uname -m"] = platform.machine()
    unused_notes: list[str] = []  # -json fails before macOS 10.15, as expected
    answer = run_tool(DISPLAYS_JSON, unused_notes)
    if answer is not None and gpus.displays(answer) is not None:
        return reports | {DISPLAYS_JSON: answer}
    plain = run_tool(DISPLAYS_TEXT, notes)
    if plain is None:
        notes.extend(unused_notes)
    return reports | _present({DISPLAYS_TEXT: plain})


def _linux_reports(notes: list[str]) -> dict[str, str]:
    files = ("/etc/os-release", "/proc/cpuinfo", "/proc/meminfo", DEVICE_TREE)
    reports = {name: read_file(name, notes) for name in files} | {c: run_tool(c, notes) for c in (NVIDIA, LSPCI)}
    if reports[LSPCI] is None:
        cards = sorted(Path("/sys/class/drm").glob("card[0-9]/device/vendor"))
        reports["/sys/class/drm"] = "".join(read_file(card, notes) or "" for card in cards)
    if reports[NVIDIA]:
        reports[NVIDIA_COMPUTE] = run_tool(NVIDIA_COMPUTE, [])  # unknown to old drivers
    reports[GLIBC] = " ".join(platform.libc_ver())
    return _present(reports) | {"uname -m": platform.machine(), "uname -r": platform.release()}


def _windows_reports(notes: list[str]) -> dict[str, str]:
    notes.append("GPUs are not detected on Windows")
    return {"ver": platform.version(), "uname -m": platform.machine(), "chip": platform.processor()}


# -- parsing the output


def _number(text: str) -> int:
    match = re.search(r"\d+", text)
    return int(match.group()) if match else 0


def _macos(reports: Mapping[str, str], python_arch: str, notes: list[str]) -> Machine:
    release = gpus.pairs(reports.get("sw_vers", ""), ":")
    known, cpu = (gpus.pairs(reports.get(command, ""), ":") for command in (SYSCTL, SYSCTL_CPU))
    names = {"hw.optional.avx1_0": "avx", "hw.optional.avx2_0": "avx2"}
    graphics = gpus.of_mac(reports, notes)
    chip = known.get("machdep.cpu.brand_string", "")
    translated = known.get("sysctl.proc_translated") == "1"
    apple = known.get("hw.optional.arm64") == "1" or translated or chip.startswith("Apple")
    undriven = "is not used: macOS has no driver for it on Apple silicon (TinyGPU and mac-amdgpu serve tinygrad)"
    notes += [f"{gpu.name} {undriven}" for gpu in graphics if apple and gpu.vendor in ("amd", "nvidia")]
    if chip.startswith("VirtualApple"):  # Rosetta's name of the chip; the GPU has the real name
        chip = next((gpu.name for gpu in graphics if gpu.vendor == "apple"), chip)
    return Machine(
        os="macos",
        os_version=release.get("ProductVersion", ""),
        os_build=release.get("BuildVersion", ""),
        arch="arm64" if apple else architecture(reports.get("uname -m", python_arch)),
        python_arch=python_arch,
        chip=chip or "unknown chip",
        cores=_number(known.get("hw.ncpu", "")),
        memory_bytes=_number(known.get("hw.memsize", "")),
        gpus=graphics,
        notes=notes,
        cpu_features=[names[key] for key in names if cpu.get(key) == "1"] if cpu.keys() & names.keys() else None,
    )


def _linux(reports: Mapping[str, str], python_arch: str, notes: list[str]) -> Machine:
    release = gpus.pairs(reports.get("/etc/os-release", ""), "=")
    cpu = reports.get("/proc/cpuinfo", "")
    memory, known = gpus.pairs(reports.get("/proc/meminfo", ""), ":"), gpus.pairs(cpu, ":")
    flags = known.get("flags", "").split()
    return Machine(
        os="linux",
        os_version=release.get("PRETTY_NAME", "Linux"),
        os_build=reports.get("uname -r", "").strip(),
        arch=architecture(reports.get("uname -m", python_arch)),
        python_arch=python_arch,
        chip=known.get("model name") or reports.get(DEVICE_TREE, "").strip("\0\n") or "unknown chip",
        cores=len(re.findall(r"^processor\s*:", cpu, re.MULTILINE)),
        memory_bytes=_number(memory.get("MemTotal", "")) * 1024,
        gpus=gpus.of_linux(reports, notes),
        notes=notes,
        # On arm64, the key is Features; no lock requires one.
        cpu_features=[name for name in CPU_FEATURES if name in flags] if flags else None,
        glibc=reports.get(GLIBC, "").partition(" ")[2].strip(),
    )


def _windows(reports: Mapping[str, str], python_arch: str, notes: list[str]) -> Machine:
    return Machine(
        os="windows", os_version=reports.get("ver", "").strip(), os_build="",
        arch=architecture(reports.get("uname -m", python_arch)), python_arch=python_arch,
        chip=reports.get("chip", "").strip() or "unknown chip", cores=os.cpu_count() or 1, memory_bytes=0,
        notes=notes,
    )  # fmt: skip
