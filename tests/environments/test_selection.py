"""For every machine: backend, stack and reason; refusals say what is needed and what would work."""

import dataclasses
import time

import pytest
import yaml

from scripts.maintenance import machines_page
from tests import machines
from zoo.config.schemas import common
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import backends, selection, stacks
from zoo.environments.machine import Machine

# machine, backend, stack, promise, a piece of the reasons
AUTOMATIC = [
    ("m1", "metal", "tf-2.19", "gpu", "metal computes on the GPU Apple M1"),
    ("m1_pro", "mps", "torch", "gpu", "mps computes on the GPU Apple M1 Pro"),
    ("m4", "mps", "torch", "gpu", "mps computes on the GPU Apple M4, with stack torch"),
    ("rosetta", "mps", "torch", "gpu", "this Python is an x86_64 build that Rosetta translates"),
    ("rx_570", "metal", "tf-2.12", "gpu", "skipped stack tf-2.19: no lock for macos-x86_64"),
    (
        "rx_5700_xt",
        "plaidml",
        "plaidml-0.7",
        "gpu",
        "skipped metal: it needs macOS 12.0 or newer, this is 10.15",
    ),
    ("two_gpus", "cpu", "tf-1.8", "cpu", "skipped plaidml: it needs macOS 10.14 or newer, this is 10.13.4"),
    ("two_gpus_sonoma", "metal", "tf-2.12", "gpu", "computes on the GPU AMD Radeon Pro 5500M"),
    (
        "gtx_750_ti",
        "cpu",
        "tf-1.8",
        "cpu",
        "skipped cuda-mac: tf-1.8: its lock for macos-x86_64 supports cpu, not",
    ),
    ("vm", "cpu", "tf-2.21", "cpu", "skipped mps: it needs a GPU made by Apple, this machine has none"),
    ("vm_paravirtual", "cpu", "tf-2.21", "cpu", "skipped metal: it needs a GPU made by Apple"),
    ("linux_nvidia", "cuda", "tf-2.21-cuda", "gpu", "torch-cuda: needs NVIDIA's driver 580 or newer, this is 570.86"),
    ("linux_gtx_1080", "cuda", "tf-2.21-cuda", "gpu", "torch-cuda: needs compute capability 7.5 or newer, NVIDIA"),
    (
        "linux_gtx_970",
        "cpu",
        "tf-2.21",
        "cpu",
        "needs compute capability 6.0 or newer, NVIDIA GeForce GTX 970 has 5.2",
    ),
    ("linux_driver_470", "cpu", "tf-2.21", "cpu", "needs NVIDIA's driver 525.60 or newer, this is 470.256.02"),
    ("linux_driver_525", "cuda", "tf-2.21-cuda", "gpu", "torch-cuda: needs NVIDIA's driver 580 or newer"),
    (
        "wsl_driver_566",
        "cuda",
        "tf-2.21-cuda",
        "gpu",
        "torch-cuda: needs NVIDIA's driver 580 or newer, this is 566.36",
    ),
    ("linux_two_nvidia", "cuda", "torch-cuda", "gpu", "cuda computes on the GPU NVIDIA GeForce RTX 4060"),
    ("linux_no_avx", "cpu", "torch", "cpu", "tf-1.8: needs a processor with AVX, which Intel(R) Xeon(R) CPU"),
    ("linux_gtx_1660_no_avx", "cuda", "torch-cuda", "gpu", "cuda computes on the GPU NVIDIA GeForce GTX 1660"),
    ("linux_arm64", "cpu", "tf-2.21", "cpu", "cpu computes on the processor"),
    ("linux_arm64_old", "cpu", "tf-2.21", "cpu", "cpu computes on the processor"),
    ("linux_arm64_nvidia", "cpu", "tf-2.21", "cpu", "cpu computes on the processor"),
    ("mac_pro_2010", "plaidml", "plaidml-0.7", "gpu", "plaidml computes on the GPU Radeon RX 580"),
    ("intel_iris", "plaidml", "plaidml-0.7", "gpu", "losses become NaN on Intel Iris under PlaidML"),
    ("rx_6600_xt", "metal", "tf-2.12", "gpu", "Metal fails on the RX 6600 series in one report"),
    (
        "linux_nvidia_no_driver",
        "cpu",
        "tf-2.21",
        "cpu",
        "skipped cuda: GA107M [GeForce RTX 3050 Ti Mobile] has no",
    ),
    (
        "linux_cpu",
        "cpu",
        "tf-2.21",
        "cpu",
        "skipped cuda: it needs a GPU made by NVIDIA, this machine has none",
    ),
    (
        "linux_rtx_5070_driver_570",
        "cuda",
        "jax-cuda",
        "gpu",
        "tf-2.21-cuda: has kernels up to compute capability 9.0",
    ),
    ("linux_rtx_5090_driver_580", "cuda", "torch-cuda", "gpu", "cuda computes on the GPU NVIDIA GeForce RTX 5090"),
    ("linux_gtx_1080_no_compute", "cuda", "tf-2.21-cuda", "gpu", "with stack tf-2.21-cuda"),
    (
        "linux_dgx_spark",
        "cpu",
        "tf-2.21",
        "cpu",
        "skipped cuda: torch-cuda: no lock for linux-arm64; it can be installed by hand",
    ),
    (
        "linux_jetson_orin",
        "cpu",
        "tf-2.21",
        "cpu",
        "skipped cuda: torch-cuda: no lock for linux-arm64; it can be installed by hand",
    ),
    ("linux_jetson_jetpack_5", "cpu", "tf-2.21", "cpu", "skipped cuda: Jetson has no working driver"),
    ("linux_mi325x", "cpu", "tf-2.21", "cpu", "this machine has Aqua Vanjaram [Instinct MI325X]"),
    ("wsl_rtx_4080_driver_581", "cuda", "torch-cuda", "gpu", "cuda computes on the GPU NVIDIA GeForce RTX 4080"),
    ("m5_max", "mps", "torch", "gpu", "caveat: linear layers with a bias were wrong by a fifth"),
    ("m4_egpu", "mps", "torch", "gpu", "mps computes on the GPU Apple M4, with stack torch"),
    ("radeon_pro_560x", "plaidml", "plaidml-0.7", "gpu", "skipped metal: it needs macOS 12.0 or newer"),
    ("gt_750m", "cpu", "tf-1.8", "cpu", "skipped cuda-mac: tf-1.8: its lock for macos-x86_64 supports cpu, not"),
]
UNSERVED = ["m1_macos_11"]
NAMED = [
    ("cpu", "rx_570", None, "tf-2.12", "cpu"),
    ("cpu", "linux_cpu", "plaidml-0.7", "plaidml-0.7", "cpu"),
    ("cpu", "linux_cpu", "tf-2.5", "tf-2.5", "cpu"),
    ("auto", "linux_cpu", "tf-1.8", "tf-1.8", "cpu"),
    ("auto", "m4", "tf-2.19", "tf-2.19", "gpu"),
    ("metal", "m4", None, "tf-2.19", "gpu"),
    ("metal", "rx_570", "tf-2.11", "tf-2.11", "gpu"),
    ("mps", "m1", None, "torch-2.1", "gpu"),
    ("mps", "two_gpus_sonoma", None, "torch-2.2", "gpu"),
    ("jax", "m4", None, "jax-mps", "gpu"),
    ("mlx", "m4", None, "mlx", "gpu"),
    ("jax", "linux_cpu", None, "jax", "cpu"),
    ("jax", "linux_driver_525", None, "jax-cuda", "gpu"),
    ("jax", "linux_driver_470", None, "jax", "cpu"),
    ("jax", "linux_arm64", None, "jax", "cpu"),
    ("cpu", "linux_arm64", "torch", "torch", "cpu"),
    ("openvino", "linux_arm64", None, "openvino", "cpu"),
    ("openvino", "linux_no_avx", None, "openvino", "cpu"),
    ("plaidml", "linux_no_avx", None, "plaidml-0.7", "cpu"),
    ("cpu", "mac_pro_2010", None, "plaidml-0.7", "cpu"),
    ("plaidml", "linux_cpu", None, "plaidml-0.7", "cpu"),
    ("plaidml", "linux_nvidia", None, "plaidml-0.7", "cpu"),
    ("openvino", "linux_cpu", None, "openvino", "cpu"),
]
# backend, machine, stack, pieces of what is said
REFUSED = [
    (
        "metal",
        "linux_cpu",
        None,
        ["macOS 12 or newer", "Debian GNU/Linux 12", "train model=mnist backend=cpu"],
    ),
    ("metal", "rx_5700_xt", None, ["macOS 12.0 or newer", "10.15.6", "backend=plaidml"]),
    ("cuda", "linux_nvidia_no_driver", None, ["no working driver", "nvidia-smi", "backend=cpu"]),
    (
        "cuda",
        "linux_nvidia",
        "plaidml-0.7",
        ["backend cuda does not use it", "fit here: tf-2.21-cuda"],
    ),
    ("cuda-mac", "gtx_750_ti", None, ["supports cpu, not cuda", "backend=cpu"]),
    ("cuda-mac", "linux_nvidia", None, ["macOS 10.13", "backend=cuda"]),
    ("plaidml", "m1", None, ["an Intel Mac with an AMD or Intel GPU", "backend=metal"]),
    ("mlx", "linux_cpu", None, ["it needs Apple silicon with macOS 14 or newer", "backend=cpu stack=mlx"]),
    ("mps", "vm", None, ["a GPU made by Apple", "Apple M1 (Virtual)", "backend=cpu"]),
    (
        "metal",
        "m4",
        "tf-2.5",
        ["no lock for macos-arm64", "conda create", "backend.python=", "stack=tf-2.19"],
    ),
    ("cuda", "linux_driver_470", None, ["driver 525.60 or newer, this is 470", "Update NVIDIA's driver to 580"]),
    ("cuda", "linux_arm64_nvidia", None, ["no lock for linux-arm64", "backend.python=PATH", "backend=cpu"]),
    ("plaidml", "gtx_750_ti", None, ["10.14 or newer, this is 10.13.6", "backend=cpu"]),
    ("plaidml", "two_gpus", None, ["Update macOS to 10.14 or newer", "GPU AMD Radeon Pro 450"]),
    ("plaidml", "linux_arm64", None, ["locks for linux-x86_64, none for linux-arm64"]),
    ("openvino", "linux_arm64_old", None, ["needs glibc 2.35 or newer, this system has 2.31"]),
    ("jax", "linux_no_avx", None, ["needs a processor with AVX"]),
    ("metal", "m1_macos_11", None, ["macOS 12.0 or newer", "Update macOS to 12.1 or newer"]),
    ("auto", "m1_macos_11", None, ["torch: needs macOS 14.0", "Update macOS to 12.1 or newer"]),
    ("metl", "m4", None, ["no backend called 'metl'", "did you mean 'metal'?", "auto, cpu, cuda"]),
    ("cpu", "m4", "tf-9", ["no stack called 'tf-9'", "plaidml-0.7"]),
]


def test_every_machine_is_in_the_table() -> None:
    assert sorted([*(row[0] for row in AUTOMATIC), *UNSERVED]) == machines.NAMES


@pytest.mark.parametrize(("name", "backend", "stack", "promise", "piece"), AUTOMATIC, ids=[r[0] for r in AUTOMATIC])
@pytest.mark.parametrize("wanted", [None, "auto"])
def test_automatic(wanted: str | None, name: str, backend: str, stack: str, promise: str, piece: str) -> None:
    choice = selection.select(wanted, machines.load(name))
    assert (choice.backend.name, choice.stack.name, choice.device_kind) == (backend, stack, promise)
    assert piece in "\n".join(choice.reasons)
    assert (choice.gpu is not None) == (promise == "gpu")


@pytest.mark.parametrize(("wanted", "name", "stack", "expected", "promise"), NAMED)
def test_named(wanted: str, name: str, stack: str | None, expected: str, promise: str) -> None:
    choice = selection.select(wanted, machines.load(name), stack)
    assert (choice.stack.name, choice.device_kind) == (expected, promise)
    assert wanted in ("auto", choice.backend.name)
    assert choice.device_hint == ("llvm_cpu.0" if (wanted, promise) == ("plaidml", "cpu") else None)


@pytest.mark.parametrize(("wanted", "name", "stack", "pieces"), REFUSED)
def test_refused(wanted: str, name: str, stack: str | None, pieces: list[str]) -> None:
    with pytest.raises(ZooError) as refusal:
        selection.select(wanted, machines.load(name), stack)
    assert [piece for piece in pieces if piece not in str(refusal.value)] == []
    assert refusal.value.remedy


def test_an_environment_of_the_users_own_needs_no_lock() -> None:
    choice = selection.select("cuda-mac", machines.load("gtx_750_ti"), python="/opt/tf18/bin/python")
    assert (choice.stack.name, choice.device_kind) == ("tf-1.8", "gpu")
    choice = selection.select("metal", machines.load("m4"), "tf-2.5", python="/opt/tf25/bin/python")
    assert choice.stack.name == "tf-2.5"


@pytest.mark.parametrize(
    ("name", "driver", "compute", "expected", "piece"),
    [
        ("NVIDIA GeForce RTX 5090", "570.86", "12.0", ("cuda", "jax-cuda"), "up to compute capability 9.0"),
        ("NVIDIA GeForce RTX 5090", "580.65", "12.0", ("cuda", "torch-cuda"), "RTX 5090"),
        ("NVIDIA H100 PCIe", "570.86", "9.0", ("cuda", "tf-2.21-cuda"), "H100"),
    ],
)
def test_a_gpu_newer_than_a_stack_is_not_given_to_it(
    name: str, driver: str, compute: str, expected: tuple[str, str], piece: str
) -> None:
    machine = machines.load("linux_nvidia")
    gpu = dataclasses.replace(machine.gpus[0], name=name, driver=driver, compute=compute)
    choice = selection.select(None, dataclasses.replace(machine, gpus=[gpu]))
    assert (choice.backend.name, choice.stack.name) == expected
    assert piece in "\n".join(choice.reasons)


def test_the_external_gpu_is_preferred_to_the_built_in_one() -> None:
    inside, outside = machines.load("two_gpus"), machines.load("rx_5700_xt")
    both = dataclasses.replace(inside, os_version="10.15", gpus=[*inside.gpus, *outside.gpus])
    choice = selection.select("plaidml", both)
    assert choice.gpu == outside.gpus[0]


def test_the_page_of_captured_machines_is_up_to_date() -> None:
    assert machines_page.PAGE.read_text(encoding="utf-8") == machines_page.page()


def test_an_arm64_machine_computes_on_its_nvidia_gpu_with_a_python_of_the_users_own() -> None:
    choice = selection.select("cuda", machines.load("linux_dgx_spark"), "torch-cuda", python="/opt/env/bin/python")
    assert (choice.stack.name, choice.gpu and choice.gpu.name) == ("torch-cuda", "NVIDIA GB10")


@pytest.mark.parametrize(
    ("name", "backend", "piece"),
    [
        ("m4", "jax", "jax-mps is an alpha version"),
        ("m5_max", "mps", "virtual machines with macOS 26"),
        ("m1_pro", "mps", ""),
    ],
)
def test_known_problems_of_a_system_are_reasons(name: str, backend: str, piece: str) -> None:
    known = [reason for reason in selection.select(backend, machines.load(name)).reasons if "caveat: " in reason]
    assert len(known) == bool(piece)
    assert not known or piece in known[0]


def test_metal_says_that_its_oldest_plug_in_draws_random_numbers_on_the_processor() -> None:
    newer = machines.load("rx_6600_xt")
    older = dataclasses.replace(newer, os_version="12.0.1")
    for machine, stack, said in ((newer, "tf-2.12", False), (older, "tf-2.5", True)):
        choice = selection.select("metal", machine)
        assert choice.stack.name == stack
        assert any("no kernel for random numbers" in reason for reason in choice.reasons) == said


def test_a_machine_without_any_stack_is_told_so() -> None:
    windows = Machine("windows", "10.0.26100", "", "x86_64", "x86_64", "some chip", 8, 0)
    for wanted in (None, "cpu"):
        with pytest.raises(ZooError, match="no lock for windows-x86_64") as refusal:
            selection.select(wanted, windows)
        assert "macOS" in refusal.value.remedy


# -- the rows and stacks of this release


def test_rows_are_what_the_settings_expect() -> None:
    rows = [row.name for row in backends.load_all()]
    assert rows == backends.names()
    assert "auto" not in rows
    for name in rows:
        row = yaml.safe_load((paths.CONFIGS / "backend" / f"{name}.yaml").read_text(encoding="utf-8"))
        assert {field.name for field in dataclasses.fields(common.BackendSettings)} - {"probes"} <= set(row)


def test_auto_ranks_are_never_equal_on_one_kind_of_machine() -> None:
    seen: dict[tuple[object, ...], str] = {}
    for row in backends.load_all():
        for entry in row.serves:
            if entry.auto_rank is not None:
                kind = (entry.os, entry.arch, tuple(entry.vendors), entry.auto_rank)
                assert seen.setdefault(kind, row.name) == row.name


def test_every_stack_of_a_row_is_in_this_release() -> None:
    assert {name for row in backends.load_all() for name in row.stacks} <= {stack.name for stack in stacks.load_all()}


def test_what_is_unknown_of_a_machine_is_no_obstacle() -> None:
    known = machines.load("linux_gtx_1080")
    gpus = [dataclasses.replace(known.gpus[0], compute=None)]
    unknown = dataclasses.replace(known, cpu_features=None, glibc="", gpus=gpus)
    assert selection.select("cuda", unknown).stack.name == "torch-cuda"


@pytest.mark.parametrize("name", [name for name in machines.NAMES if name not in UNSERVED])
def test_this_release_serves_every_machine(name: str) -> None:
    machine = machines.load(name)
    choice = selection.select(None, machine)
    assert stacks.lock_file(choice.stack, machine.platform).is_file()


@pytest.mark.timing
def test_refusing_builds_and_downloads_nothing() -> None:
    begin = time.perf_counter()
    with pytest.raises(ZooError):
        selection.select("metal", machines.load("linux_cpu"))
    assert time.perf_counter() - begin < 5
