"""zoo.environments.compatibility: which backends and stacks fit a machine, and why others do not."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.environments import compatibility
from zoo.environments.backends import Support
from zoo.environments.gpus import Gpu
from zoo.environments.machine import Machine
from zoo.environments.stacks import Platform


def machine(
    os: str = "linux", arch: str = "x86_64", version: str = "5.15", gpus: tuple[Gpu, ...] = (), **more: Any
) -> Machine:
    known = {"os_build": "", "python_arch": arch, "chip": "a chip", "cores": 2, "memory_bytes": 1}
    return Machine(os=os, os_version=version, arch=arch, gpus=list(gpus), **known | more)


def support(os: str = "linux", arch: str = "x86_64", device: str = "cuda", **more: Any) -> Support:
    return Support(os=os, arch=arch, device_kind="gpu", device=device, **more)


def backend(*serves: Support, stacks: tuple[str, ...] = ("s",)) -> Any:
    return SimpleNamespace(name="b", needs="a GPU of some kind", serves=list(serves), stacks=list(stacks))


def ways(row: Any, here: Machine, names: tuple[str, ...] = ("s", "t")) -> Any:
    usable, obstacle = compatibility.ways(row, here, list(names))
    return [(name, gpu and gpu.name) for _, name, gpu in usable], obstacle


NVIDIA = Gpu("RTX", "nvidia", 8, driver="550.1")


def test_a_backend_without_a_gpu_is_used_with_every_stack() -> None:
    assert ways(backend(support(device="cpu")), machine()) == (
        [("s", None), ("t", None)],
        "it needs a GPU of some kind",
    )
    assert ways(backend(support("any", "any")), machine())[0] == [("s", None), ("t", None)]


@pytest.mark.parametrize(
    ("entry", "here", "words"),
    [
        (support("macos", "any"), machine(), "it needs a GPU of some kind"),
        (support("linux", "arm64"), machine(), "its stacks have locks for linux-arm64, none for linux-x86_64"),
        (support("macos", "any", minimum_os="12.3"), machine("macos", version="12.2.1"),
         "it needs macOS 12.3 or newer, this is 12.2.1"),
        (support("macos", "any", minimum_os="12.3"), machine("macos", version=""),
         "it needs macOS 12.3 or newer, this is unknown"),
        (support("macos", "any", maximum_os="10.13"), machine("macos", version="10.14"),
         "it needs macOS 10.13 or older, this is 10.14"),
        (support(vendors=["nvidia"]), machine(), "it needs a GPU made by NVIDIA, this machine has none"),
        (support(vendors=["nvidia", "amd"]), machine(gpus=(Gpu("A", "intel"), Gpu("B", "intel"))),
         "it needs a GPU made by NVIDIA or AMD, this machine has A and B"),
        (support(vendors=["nvidia"], driver=True), machine(gpus=(Gpu("RTX", "nvidia"),)),
         "RTX has no working driver (`nvidia-smi` does not list it)"),
    ],
)  # fmt: skip
def test_why_a_backend_cannot_be_used(entry: Support, here: Machine, words: str) -> None:
    assert ways(backend(entry), here) == ([], words)


@pytest.mark.parametrize(("entry", "version"), [
    (support("macos", "any", minimum_os="12.3"), "12.3"), (support("macos", "any", maximum_os="10.13"), "10.13.6"),
    (support("macos", "any", maximum_os="10.13"), "10.12"),
])  # fmt: skip
def test_the_oldest_and_newest_versions_are_included(entry: Support, version: str) -> None:
    assert len(ways(backend(entry), machine("macos", version=version))[0]) == 2


def test_the_most_specific_obstacle_is_named() -> None:
    rows = [support("macos", "any"), support(vendors=["nvidia"]), support("linux", "arm64")]
    assert ways(backend(*rows), machine())[1] == "it needs a GPU made by NVIDIA, this machine has none"
    assert "locks for linux-arm64" in ways(backend(rows[0], rows[2]), machine())[1]


def test_gpus_are_ordered_by_place_vendor_and_memory() -> None:
    gpus = (Gpu("small", "amd", 1), Gpu("large", "amd", 9), Gpu("apple", "apple", 1), Gpu("shared", "amd"),
            Gpu("outside", "amd", 2, external=True), Gpu("other", "intel", 99))  # fmt: skip
    entry = support("macos", "any", vendors=["apple", "amd"])
    order = [name for _, name in ways(backend(entry), machine("macos", gpus=gpus), ("s",))[0]]
    assert order == ["outside", "apple", "large", "small", "shared"]
    working = machine(gpus=(Gpu("dead", "nvidia"), NVIDIA))
    assert ways(backend(support(vendors=["nvidia"], driver=True)), working, ("s",))[0] == [("s", "RTX")]


class Case:
    """A stack with a lock for Linux on x86_64."""

    def __init__(self, folder: Path, **platform: Any) -> None:
        (folder / "linux-x86_64.lock").touch()
        platforms = {"linux-x86_64": Platform([], ["cuda"], **platform), "linux-arm64": Platform([], ["cuda"])}
        self.available: Any = {"s": SimpleNamespace(folder=folder, platforms=platforms)}

    def problem(
        self, here: Machine | None = None, gpu: Gpu | None = NVIDIA, name: str = "s", python: str | None = None,
        entry: Support | None = None, stacks: tuple[str, ...] = ("s",),
    ) -> str | None:  # fmt: skip
        way = (entry or support(), name, gpu)
        return compatibility.stack_problem(backend(stacks=stacks), way, here or machine(), self.available, python)


def test_a_stack_needs_a_lock_unless_the_user_brings_a_python(tmp_path: Path) -> None:
    case = Case(tmp_path)
    assert case.problem() is None
    assert case.problem(name="t") == "not in this release"
    assert case.problem(stacks=("t",)) == "backend b does not use it"
    assert case.problem(stacks=("t",), entry=support(device="any")) is None
    for arch in ("arm64", "riscv"):
        here = machine(arch=arch)
        assert case.problem(here) == f"no lock for linux-{arch}"
        assert case.problem(here, entry=support(by_hand={"s": "make"})) == (
            f"no lock for linux-{arch}; it can be installed by hand"
        )
        assert case.problem(here, python="/usr/bin/python") is None
    assert case.problem(python="/usr/bin/python", stacks=("t",)) == "backend b does not use it"


def test_a_lock_supports_some_devices(tmp_path: Path) -> None:
    entry = support(device="rocm")
    assert Case(tmp_path).problem(entry=entry) == "its lock for linux-x86_64 supports cuda, not rocm"
    assert Case(tmp_path, note="by night").problem(entry=entry) == (
        "its lock for linux-x86_64 supports cuda, not rocm (by night)"
    )


@pytest.mark.parametrize(
    ("platform", "here", "gpu", "words"),
    [
        ({"minimum_os": "6.1"}, {"version": "5.15"}, {}, "needs Linux 6.1 or newer, this is 5.15"),
        ({"minimum_os": "5.15"}, {"version": "5.15"}, {}, None),
        ({"minimum_os": "6.1"}, {"version": ""}, {}, None),
        ({"minimum_glibc": "2.31"}, {"glibc": "2.30"}, {}, "needs glibc 2.31 or newer, this system has 2.30"),
        ({"minimum_glibc": "2.4"}, {"glibc": "2.30"}, {}, None),
        ({"minimum_glibc": "2.31"}, {}, {}, None),
        ({"cpu_features": ["avx"]}, {"cpu_features": ["sse"]}, {}, "needs a processor with AVX, which a chip does"),
        (
            {"cpu_features": ["avx", "fma"]},
            {"cpu_features": []},
            {},
            "needs a processor with AVX and FMA, which a ch",
        ),
        ({"cpu_features": ["avx"]}, {"cpu_features": ["avx", "fma"]}, {}, None),
        ({"cpu_features": ["avx"]}, {"cpu_features": None}, {}, None),
        ({"minimum_driver": "551"}, {}, {}, "needs NVIDIA's driver 551 or newer, this is 550.1"),
        ({"minimum_driver": "550.1"}, {}, {}, None),
        ({"minimum_driver": "551"}, {}, {"driver": None}, None),
        ({"minimum_compute": "7.0"}, {}, {"compute": "6.1"}, "needs compute capability 7.0 or newer, RTX has 6.1"),
        ({"minimum_compute": "7.0"}, {}, {"compute": "7.0"}, None),
        ({"maximum_compute": "9.0"}, {}, {"compute": "12.0"}, "has kernels up to compute capability 9.0, RTX has 12"),
        ({"maximum_compute": "9.0"}, {}, {"compute": "9.0"}, None),
        ({"maximum_compute": "9.0"}, {}, {"compute": None}, None),
    ],
)
def test_what_a_lock_requires_of_a_machine(
    tmp_path: Path, platform: dict[str, Any], here: dict[str, Any], gpu: dict[str, Any], words: str | None
) -> None:
    known = {"driver": "550.1", **gpu}
    problem = Case(tmp_path, **platform).problem(machine(**here), Gpu("RTX", "nvidia", **known))
    assert problem is None if words is None else (problem or "").startswith(words)


def test_updates_are_newer_systems_and_drivers_that_stacks_require(tmp_path: Path) -> None:
    case = Case(tmp_path, minimum_driver="560.3")
    rows = list(compatibility.updates(backend(), machine(gpus=(NVIDIA, Gpu("dead", "nvidia"))), case.available))
    ((kind, version, updated),) = rows
    assert (kind, version) == ("NVIDIA's driver", "560.3")
    assert [gpu.driver for gpu in updated.gpus] == ["560.3", None]
    assert list(compatibility.updates(backend(), machine(), case.available)) == []
    case.available["s"].platforms["macos-arm64"] = Platform([], ["metal"], minimum_os="13.0")
    entries = [support("macos", "arm64", minimum_os=version) for version in ("12.3", "9.0", "100.1")]
    here = machine("macos", "arm64", "12.0")
    rows = list(compatibility.updates(backend(*entries), here, case.available))
    assert [(kind, version, updated.os_version) for kind, version, updated in rows] == [
        ("macOS", version, version) for version in ("12.3", "13.0", "100.1")
    ]
