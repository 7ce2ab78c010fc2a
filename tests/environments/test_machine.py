"""The machine is read rightly from what its own tools print, and nothing that fails is passed over."""

import os
import stat
from pathlib import Path

import pytest

from tests import machines
from zoo.core.errors import ZooError
from zoo.environments import gpus, machine

GIB = 2**30
# name, platform, OS version, memory in GiB, GPUs as (name, vendor, memory in GiB or None, Metal, external)
TABLE = [
    ("m1", "macos-arm64", "13.6.7", 8, [("Apple M1", "apple", None, "Metal 3", False)]),
    ("m1_pro", "macos-arm64", "14.2", 16, [("Apple M1 Pro", "apple", None, "Metal 3", False)]),
    ("m4", "macos-arm64", "26.1", 16, [("Apple M4", "apple", None, "Metal 4", False)]),
    ("rosetta", "macos-arm64", "14.5", 16, [("Apple M2", "apple", None, "Metal 3", False)]),
    ("rx_570", "macos-x86_64", "12.6.3", 64, [("AMD Radeon RX 570", "amd", 4, "GPUFamily mac2", False)]),
    ("rx_5700_xt", "macos-x86_64", "10.15.6", 16, [("Radeon RX 5700 XT", "amd", 8, "GPUFamily2 v1", True)]),
    (
        "two_gpus",
        "macos-x86_64",
        "10.13.4",
        16,
        [
            ("Intel HD Graphics 530", "intel", 1.5, "GPUFamily1 v3", False),
            ("AMD Radeon Pro 450", "amd", 2, "GPUFamily1 v3", False),
        ],
    ),
    (
        "two_gpus_sonoma",
        "macos-x86_64",
        "14.6.1",
        32,
        [
            ("Intel UHD Graphics 630", "intel", 1.5, "Metal 3", False),
            ("AMD Radeon Pro 5500M", "amd", 8, "Metal 3", False),
        ],
    ),
    (
        "gtx_750_ti",
        "macos-x86_64",
        "10.13.6",
        16,
        [("NVIDIA GeForce GTX 750 Ti", "nvidia", 2, "GPUFamily1 v3", False)],
    ),
    ("vm", "macos-arm64", "15.7.1", 7, []),
    ("vm_paravirtual", "macos-arm64", "15.7.1", 7, []),
    (
        "linux_nvidia",
        "linux-x86_64",
        "Ubuntu 24.04.1 LTS",
        31.1,
        [
            ("NVIDIA GeForce RTX 3050 Ti Laptop GPU", "nvidia", 4, None, False),
            ("Alder Lake-P Integrated Graphics Controller", "intel", None, None, False),
        ],
    ),
    (
        "linux_nvidia_no_driver",
        "linux-x86_64",
        "Ubuntu 24.04.1 LTS",
        31.1,
        [
            ("Alder Lake-P Integrated Graphics Controller", "intel", None, None, False),
            ("GA107M [GeForce RTX 3050 Ti Mobile]", "nvidia", None, None, False),
        ],
    ),
    (
        "intel_iris",
        "macos-x86_64",
        "10.15.7",
        16,
        [("Intel Iris Plus Graphics", "intel", 1.5, "GPUFamily mac2", False)],
    ),
    ("m1_macos_11", "macos-arm64", "11.6.8", 8, [("Apple M1", "apple", None, "GPUFamily apple7", False)]),
    ("mac_pro_2010", "macos-x86_64", "10.14.6", 32, [("Radeon RX 580", "amd", 8, "GPUFamily mac2", False)]),
    ("rx_6600_xt", "macos-x86_64", "12.3.1", 32, [("AMD Radeon RX 6600 XT", "amd", 8, "GPUFamily mac2", False)]),
    ("linux_arm64", "linux-arm64", "Ubuntu 24.04.1 LTS", 15.36, []),
    ("linux_arm64_old", "linux-arm64", "Ubuntu 20.04.6 LTS", 7.63, []),
    (
        "linux_arm64_nvidia",
        "linux-arm64",
        "Ubuntu 24.04.2 LTS",
        478.7,
        [("NVIDIA GH200 480GB", "nvidia", 95.577, None, False)],
    ),
    (
        "linux_gtx_1080",
        "linux-x86_64",
        "Ubuntu 22.04.5 LTS",
        31.27,
        [("NVIDIA GeForce GTX 1080", "nvidia", 8, None, False)],
    ),
    (
        "linux_gtx_970",
        "linux-x86_64",
        "Ubuntu 22.04.5 LTS",
        15.57,
        [("NVIDIA GeForce GTX 970", "nvidia", 4, None, False)],
    ),
    ("linux_driver_470", "linux-x86_64", "Ubuntu 20.04.6 LTS", 61.99, [("Tesla T4", "nvidia", 14.755, None, False)]),
    (
        "linux_driver_525",
        "linux-x86_64",
        "Ubuntu 22.04.3 LTS",
        61.99,
        [("NVIDIA GeForce RTX 3090", "nvidia", 24, None, False)],
    ),
    (
        "linux_gtx_1660_no_avx",
        "linux-x86_64",
        "Debian GNU/Linux 12 (bookworm)",
        23.54,
        [("NVIDIA GeForce GTX 1660", "nvidia", 6, None, False)],
    ),
    ("linux_no_avx", "linux-x86_64", "Debian GNU/Linux 12 (bookworm)", 23.54, []),
    (
        "wsl_driver_566",
        "linux-x86_64",
        "Ubuntu 24.04.1 LTS",
        15.26,
        [("NVIDIA GeForce RTX 4060 Laptop GPU", "nvidia", 7.996, None, False)],
    ),
    (
        "linux_two_nvidia",
        "linux-x86_64",
        "Ubuntu 24.04.1 LTS",
        61.99,
        [
            ("NVIDIA GeForce GTX 1080 Ti", "nvidia", 11, None, False),
            ("NVIDIA GeForce RTX 4060", "nvidia", 7.996, None, False),
        ],
    ),
    ("linux_cpu", "linux-x86_64", "Debian GNU/Linux 12 (bookworm)", 23.5, []),
    ("gt_750m", "macos-x86_64", "10.13.6", 16, [("NVIDIA GeForce GT 750M", "nvidia", 2, "GPUFamily1 v3", False)]),
    (
        "radeon_pro_560x",
        "macos-x86_64",
        "10.15.5",
        16,
        [
            ("Intel UHD Graphics 630", "intel", 1.5, "GPUFamily mac2", False),
            ("Radeon Pro 560X", "amd", 4, "GPUFamily mac2", False),
        ],
    ),
    ("m5_max", "macos-arm64", "26.5", 128, [("Apple M5 Max", "apple", None, "Metal 4", False)]),
    (
        "m4_egpu",
        "macos-arm64",
        "26.2",
        24,
        [
            ("Apple M4", "apple", None, "Metal 4", False),
            ("AMD Radeon RX 7900 XTX", "amd", 24, None, True),
        ],
    ),
    (
        "linux_rtx_5070_driver_570",
        "linux-x86_64",
        "Ubuntu 22.04.5 LTS",
        30.5,
        [("NVIDIA GeForce RTX 5070", "nvidia", 11.94, None, False)],
    ),
    (
        "linux_rtx_5090_driver_580",
        "linux-x86_64",
        "Ubuntu 24.04.3 LTS",
        61.0,
        [("NVIDIA GeForce RTX 5090", "nvidia", 31.843, None, False)],
    ),
    (
        "linux_gtx_1080_no_compute",
        "linux-x86_64",
        "Ubuntu 20.04.1 LTS",
        30.5,
        [("GeForce GTX 1080 Ti", "nvidia", 10.916, None, False)],
    ),
    ("linux_dgx_spark", "linux-arm64", "Ubuntu 24.04.3 LTS", 119.2, [("NVIDIA GB10", "nvidia", None, None, False)]),
    ("linux_jetson_orin", "linux-arm64", "Ubuntu 22.04.5 LTS", 59.1, [("Orin (nvgpu)", "nvidia", None, None, False)]),
    ("linux_jetson_jetpack_5", "linux-arm64", "Ubuntu 20.04.6 LTS", 7.06, [("Jetson", "nvidia", None, None, False)]),
    (
        "linux_mi325x",
        "linux-x86_64",
        "Ubuntu 24.04.3 LTS",
        2193.5,
        [
            ("Aqua Vanjaram [Instinct MI325X]", "amd", None, None, False),
            ("ASPEED Graphics Family", "unknown", None, None, False),
        ],
    ),
    (
        "wsl_rtx_4080_driver_581",
        "linux-x86_64",
        "Ubuntu 22.04.5 LTS",
        15.26,
        [("NVIDIA GeForce RTX 4080 Laptop GPU", "nvidia", 11.994, None, False)],
    ),
]


def test_every_machine_is_in_the_table() -> None:
    assert sorted(row[0] for row in TABLE) == machines.NAMES


@pytest.mark.parametrize(("name", "platform", "version", "memory", "gpus"), TABLE, ids=[row[0] for row in TABLE])
def test_reads(name: str, platform: str, version: str, memory: float, gpus: list[tuple[object, ...]]) -> None:
    seen = machines.load(name)
    assert (seen.platform, seen.os_version) == (platform, version)
    assert seen.memory_bytes / GIB == pytest.approx(memory, abs=0.05)
    assert seen.cores > 0
    shown = [
        (gpu.name, gpu.vendor, gpu.memory_bytes and round(gpu.memory_bytes / GIB, 3), gpu.metal, gpu.external)
        for gpu in seen.gpus
    ]
    assert shown == gpus
    assert seen.chip in machine.describe(seen)


@pytest.mark.parametrize(
    ("name", "features", "compute"),
    [
        ("linux_no_avx", ["sse4_2"], []),
        ("linux_gtx_1080", ["sse4_2", "avx", "avx2"], ["6.1"]),
        ("linux_two_nvidia", ["sse4_2", "avx", "avx2"], ["6.1", "8.9"]),
        ("linux_driver_470", ["sse4_2", "avx", "avx2"], [None]),
        ("linux_arm64", None, []),
        ("linux_cpu", None, []),
        ("mac_pro_2010", [], [None]),
        ("rx_6600_xt", ["avx", "avx2"], [None]),
    ],
)
def test_reads_instructions_and_compute_capability(name: str, features: list[str] | None, compute: list[str]) -> None:
    seen = machines.load(name)
    assert seen.cpu_features == features
    assert [gpu.compute for gpu in seen.gpus] == compute


def test_rosetta_is_recognised_and_the_real_chip_named() -> None:
    assert [name for name in machines.NAMES if machines.load(name).rosetta] == ["rosetta"]
    seen = machines.load("rosetta")
    assert (seen.arch, seen.python_arch, seen.chip) == ("arm64", "x86_64", "Apple M2")


def test_a_card_that_apple_silicon_cannot_use_is_explained() -> None:
    (note,) = machines.load("m4_egpu").notes
    assert note.startswith("AMD Radeon RX 7900 XTX is not used: macOS has no driver for it on Apple silicon")
    assert machines.load("m4").notes == []


def test_a_board_names_the_chip_and_pascal_is_known_by_its_name() -> None:
    assert machines.load("linux_jetson_orin").chip == "NVIDIA Jetson AGX Orin Developer Kit"
    assert [gpu.compute for gpu in machines.load("linux_gtx_1080_no_compute").gpus] == ["6.1"]


def test_what_is_left_out_is_said() -> None:
    assert "virtual machine's GPU" in machines.load("vm_paravirtual").notes[0]
    assert "driver is not working" in machines.load("linux_nvidia_no_driver").notes[0]
    assert machines.load("linux_nvidia").gpus[0].driver == "570.86.15"


@pytest.mark.parametrize("system", ["macos", "linux", "windows"])
def test_a_system_without_any_tool_still_gives_a_machine(system: str) -> None:
    seen = machine.from_reports(system, {}, "AMD64")
    assert (seen.os, seen.arch, seen.gpus) == (system, "x86_64", [])
    assert machine.describe(seen)


def _tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in tools are shell scripts")
def test_a_failing_tool_is_noted_and_a_missing_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.system", lambda: "Linux")
    _tool(tmp_path, "nvidia-smi", "echo 'could not communicate with the driver' >&2; exit 9")
    seen = machine.probe()
    assert seen.notes == ["nvidia-smi failed with exit code 9: could not communicate with the driver"]
    monkeypatch.setattr(machine, "SECONDS", 0.2)
    _tool(tmp_path, "nvidia-smi", "exec /bin/sleep 5")
    assert machine.probe().notes == ["nvidia-smi did not answer within 0 seconds"]


@pytest.mark.skipif(os.name == "nt", reason="the stand-in tools are shell scripts")
def test_old_macos_without_json_is_asked_again_in_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = machine.capture_texts(machines.FOLDER / "gtx_750_ti.txt")
    (tmp_path / "displays.txt").write_text(texts[gpus.DISPLAYS_TEXT], encoding="utf-8")
    (tmp_path / "sysctl.txt").write_text(texts[machine.SYSCTL], encoding="utf-8")
    (tmp_path / "sw_vers.txt").write_text(texts["sw_vers"], encoding="utf-8")
    _tool(tmp_path, "system_profiler", f'[ "$1" = -json ] && exit 1; /bin/cat {tmp_path}/displays.txt')
    _tool(tmp_path, "sysctl", f"/bin/cat {tmp_path}/sysctl.txt")
    _tool(tmp_path, "sw_vers", f"/bin/cat {tmp_path}/sw_vers.txt")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert machine.probe() == machines.load("gtx_750_ti")


def test_a_device_is_not_read_as_a_machine() -> None:
    with pytest.raises(ZooError, match="/dev/zero: it is not a text of at most 16 MB"):
        machine.capture_texts(Path("/dev/zero"))
