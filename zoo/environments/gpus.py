"""Read the GPUs of a machine from the output of its tools.

Captured outputs (``tests/machines``) show the formats. ``system_profiler`` prints JSON since macOS 10.15 and plain
text before. macOS 10.13 writes ``_spdisplays_vram``, later systems ``spdisplays_vram``. Apple silicon reports no
video memory, because it shares the machine's.
"""

import dataclasses
import json
import re
from collections.abc import Mapping

DISPLAYS_JSON = "system_profiler -json SPDisplaysDataType"
DISPLAYS_TEXT = "system_profiler SPDisplaysDataType"
# Only fields that every driver has: on an old driver, a query that includes compute_cap fails.
NVIDIA = "nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader,nounits"
# Drivers without this field are too old for every stack anyway.
NVIDIA_COMPUTE = "nvidia-smi --query-gpu=compute_cap --format=csv,noheader"
LSPCI = "lspci -mm"
# A Jetson's GPU is not on the PCI bus.
DEVICE_TREE, BOARD = "/proc/device-tree/model", "Jetson"
PCI_VENDORS = {"0x1002": "amd", "0x10de": "nvidia", "0x8086": "intel", "0x106b": "apple"}
VENDOR_WORDS = {"apple": "apple", "nvidia": "nvidia", "geforce": "nvidia", "amd": "amd", "radeon": "amd",
                "ati": "amd", "firepro": "amd", "intel": "intel"}  # fmt: skip


COMPUTE_BY_NAME = {
    r"GTX 10[5-8]0|TITAN X[p ]|Tesla P40?\b|Quadro P[1-6]\d{3}|GT 1030": "6.1",
    r"P100|GP100": "6.0",
    r"GTX 9[5-8]0|TITAN X$|Tesla M\d|Quadro M\d": "5.2",
    r"GTX 7[45]0|GTX 8[56]0M": "5.0",
}

Entry = Mapping[str, object]  # one GPU, from system_profiler


@dataclasses.dataclass(frozen=True)
class Gpu:
    """A GPU. ``memory_bytes`` is None for shared memory; ``compute`` is NVIDIA's compute capability."""

    name: str
    vendor: str
    memory_bytes: int | None = None
    metal: str | None = None
    external: bool = False
    driver: str | None = None
    compute: str | None = None


def describe(gpu: Gpu) -> str:
    facts = ["external"] if gpu.external else []
    facts += [size(gpu.memory_bytes)] if gpu.memory_bytes else []
    facts += [gpu.metal if "Metal" in gpu.metal else f"Metal {gpu.metal}"] if gpu.metal else []
    facts += [f"driver {gpu.driver}"] if gpu.driver else []
    facts += [f"compute capability {gpu.compute}"] if gpu.compute else []
    return f"{gpu.name} ({', '.join(facts)})" if facts else gpu.name


def size(count: int) -> str:
    """Format bytes as GiB, the unit that Apple and NVIDIA use for memory."""
    return f"{count / 2**30:.3g} GiB"


def pairs(text: str, separator: str) -> dict[str, str]:
    """Parse ``key: value`` or ``KEY=value`` lines; the first of each key wins."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, mark, value = line.partition(separator)
        if mark:
            values.setdefault(key.strip(), value.strip().strip('"'))
    return values


def of_mac(reports: Mapping[str, str], notes: list[str]) -> list[Gpu]:
    """Return the GPUs from ``system_profiler``, in JSON or plain text; add reasons for ignored ones to ``notes``."""
    entries = displays(reports.get(DISPLAYS_JSON, ""))
    if entries is not None:
        gpus = [_gpu_from_json(entry) for entry in entries]
    else:
        blocks = reports.get(DISPLAYS_TEXT, "").split("Chipset Model:")[1:]
        gpus = [_gpu_from_text(block) for block in blocks]
    # The GPU of a virtual machine is listed, but cannot allocate memory.
    virtual = [gpu.name for gpu in gpus if "paravirtual" in gpu.name.lower()]
    notes.extend(f"{name} is a virtual machine's GPU and is not used" for name in virtual)
    return [gpu for gpu in gpus if gpu.name and gpu.name not in virtual]


def _nvidia_gpus(text: str, capabilities: str) -> list[Gpu]:
    rows = [[cell.strip() for cell in line.rsplit(",", 2)] for line in text.splitlines() if line.count(",") >= 2]
    numbers = re.findall(r"^\d+\.\d+$", capabilities, re.MULTILINE)
    compute = numbers if len(numbers) == len(rows) else [_compute_of(row[0]) for row in rows]
    pairs = zip(rows, compute, strict=True)
    return [Gpu(row[0], "nvidia", _megabytes(row[1]), driver=row[2], compute=number) for row, number in pairs]


def _compute_of(name: str) -> str | None:
    """Return the compute capability of Maxwell and Pascal cards (NVIDIA's list), which old drivers do not report."""
    return next((number for pattern, number in COMPUTE_BY_NAME.items() if re.search(pattern, name)), None)


def _pci_gpus(text: str) -> list[Gpu]:
    """Parse display controllers of ``lspci -mm``: address, then class, vendor and device in quotes."""
    gpus = []
    for line in text.splitlines():
        fields = re.findall(r'"([^"]*)"', line)
        # Instinct cards are "Processing accelerators".
        if len(fields) >= 3 and (re.match(r"VGA|3D|Display", fields[0]) or "Instinct" in fields[2]):
            gpus.append(Gpu(fields[2], _vendor(fields[1])))
    return gpus


def of_linux(reports: Mapping[str, str], notes: list[str]) -> list[Gpu]:
    """Return the GPUs from ``nvidia-smi``, ``lspci`` or the kernel; those with a ``driver`` can compute."""
    working = _nvidia_gpus(reports.get(NVIDIA, ""), reports.get(NVIDIA_COMPUTE, ""))
    others = _pci_gpus(reports.get(LSPCI, ""))
    vendors = [PCI_VENDORS.get(code, "unknown") for code in reports.get("/sys/class/drm", "").split()]
    others += [Gpu(f"{vendor} GPU", vendor) for vendor in vendors]
    others += [Gpu(BOARD, "nvidia")] if BOARD in reports.get(DEVICE_TREE, "") else []
    if working:
        return working + [gpu for gpu in others if gpu.vendor != "nvidia"]
    if any(gpu.vendor == "nvidia" for gpu in others):
        notes.append(
            "an NVIDIA GPU is present, but nvidia-smi did not list it: its driver is not working, "
            "or it is a Jetson before JetPack 6"
        )
    return others


def displays(text: str) -> list[Entry] | None:
    """Return the entries of ``system_profiler -json``, or None for other text."""
    try:
        entries = json.loads(text)["SPDisplaysDataType"]
    except (ValueError, KeyError, TypeError):
        return None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else None


def _first(entry: Entry, *keys: str) -> str:
    return next((str(entry[key]) for key in keys if entry.get(key)), "")


def _gpu_from_json(entry: Entry) -> Gpu:
    name = _first(entry, "sppci_model", "_name")
    return Gpu(
        name=name,
        vendor=_vendor(_first(entry, "spdisplays_vendor"), _first(entry, "spdisplays_vendor-id"), name),
        memory_bytes=_megabytes(_first(entry, "spdisplays_vram", "_spdisplays_vram", "spdisplays_vram_shared")),
        metal=_metal(_first(entry, "spdisplays_mtlgpufamilysupport", "spdisplays_metalfamily", "spdisplays_metal")),
        external=_first(entry, "sppci_device_type") == "spdisplays_egpu",
    )


def _gpu_from_text(block: str) -> Gpu:
    """Parse the plain text that follows ``Chipset Model:``, up to the displays."""
    name, _, rest = block.split("Displays:")[0].partition("\n")
    facts = pairs(rest, ":")
    memory, metal = (next((facts[key] for key in facts if key.startswith(word)), "") for word in ("VRAM", "Metal"))
    return Gpu(
        name=name.strip(), vendor=_vendor(facts.get("Vendor", ""), name), memory_bytes=_megabytes(memory),
        metal=_metal(metal), external="External" in facts.get("Type", ""),
    )  # fmt: skip


def _vendor(*texts: str) -> str:
    text = " ".join(texts).lower()
    for code, vendor in PCI_VENDORS.items():
        if code in text:
            return vendor
    # Underscores separate words too: "sppci_vendor_amd".
    words = re.findall(r"[a-z]+", text.replace("_", " "))
    return next((VENDOR_WORDS[word] for word in words if word in VENDOR_WORDS), "unknown")


def _megabytes(text: str) -> int | None:
    """Convert ``8 GB`` or ``1536 MB`` (or a bare count of MB) to bytes; None if unknown."""
    match = re.search(r"(\d+)\s*(GB|MB)?", text, re.IGNORECASE)
    if not match or not int(match.group(1)):
        return None
    return int(match.group(1)) * (2**30 if (match.group(2) or "MB").upper() == "GB" else 2**20)


def _metal(text: str) -> str | None:
    """Return the Metal support, from any of the five formats of macOS since 10.12."""
    text = text.strip()
    if not text or "notsupported" in text.lower().replace(" ", ""):
        return None
    if match := re.search(r"metal\s?(\d)$", text, re.IGNORECASE):
        return f"Metal {match.group(1)}"
    if match := re.search(r"featuresetfamily(\d)(\d)$", text):
        return f"GPUFamily{match.group(1)} v{match.group(2)}"
    if match := re.search(r"GPUFamily\s?(?:macOS\s?)?(\w.*)$", text, re.IGNORECASE):
        return f"GPUFamily{match.group(1)}" if match.group(1)[0].isdigit() else f"GPUFamily {match.group(1)}"
    return "supported"
