"""Which device of a framework a request gets, and what is said where there is none."""

import sys
import types
from typing import Any

import pytest

from tests.support import parts
from zoo.protocol.request import DevicePart
from zoo.worker.devices import jax, mlx, plaidml, torch
from zoo.worker.errors import OutOfMemoryError, UserError, raise_if_out_of_memory

CPU, GPU = parts.device(), parts.device("gpu")


def library(mps: bool | None = None, cuda: bool = False, built_for: str | None = None, built: bool = True) -> Any:
    """A PyTorch on a machine: whether it can use MPS (None: too old to know it) and CUDA."""
    backends = types.SimpleNamespace()
    if mps is not None:
        backends.mps = types.SimpleNamespace(is_available=lambda: mps, is_built=lambda: built)
    backend = types.SimpleNamespace(is_available=lambda: cuda)
    version = types.SimpleNamespace(cuda=built_for)
    return types.SimpleNamespace(backends=backends, cuda=backend, version=version, __version__="2.15.0")


@pytest.mark.parametrize(
    ("device", "machine", "chosen"),
    [
        (GPU, library(mps=True), "mps"),
        (GPU, library(mps=False, cuda=True), "cuda"),
        (GPU, library(cuda=True), "cuda"),
        (CPU, library(mps=True, cuda=True), "cpu"),
        (parts.device("gpu", id="cuda:1"), library(cuda=True), "cuda:1"),
    ],
)
def test_torch_takes_what_was_promised(device: DevicePart, machine: Any, chosen: str) -> None:
    assert torch.choose(device, machine) == chosen


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (library(mps=False), "PyTorch 2.15.0 cannot use a GPU: it was built with MPS, but this macOS is too old"),
        (library(mps=False, built=False), "it was built for the CPU only"),
        (library(), "it was built for the CPU only"),
        (library(built_for="13.0"), "it was built for CUDA 13.0, but finds no NVIDIA GPU or driver"),
    ],
)
def test_torch_without_a_gpu_says_why(machine: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        torch.choose(GPU, machine)


@pytest.mark.parametrize(
    ("device", "system", "platforms"),
    [
        (GPU, "darwin", "mps,cpu"),
        (GPU, "linux", "cuda,cpu"),
        (CPU, "darwin", "cpu"),
        (parts.device("gpu", id="rocm:0"), "linux", "rocm,cpu"),
        (parts.device("cpu", id="cpu"), "linux", "cpu"),
    ],
)
def test_jax_opens_the_promised_platform_first(device: DevicePart, system: str, platforms: str) -> None:
    assert jax.choose(device, system) == platforms


def test_plaidml_takes_metal_before_opencl_and_no_cpu_for_a_gpu() -> None:
    devices = ["llvm_cpu.0", "opencl_amd_radeon.0", "metal_amd_radeon.0"]
    assert plaidml.choose(devices, GPU) == "metal_amd_radeon.0"
    assert plaidml.choose(devices, CPU) == "llvm_cpu.0"
    assert plaidml.choose(devices, parts.device("gpu", id="opencl_amd_radeon.0")) == "opencl_amd_radeon.0"
    with pytest.raises(Exception, match=r"PlaidML finds no GPU; it finds llvm_cpu\.0"):
        plaidml.choose(devices[:1], GPU)
    with pytest.raises(Exception, match=r"PlaidML has no device 'x'; it has llvm_cpu\.0"):
        plaidml.choose(devices[:1], parts.device("gpu", id="x"))


@pytest.mark.parametrize(
    ("device", "kind"),
    [
        (CPU, "cpu"),
        (GPU, "gpu"),
        (parts.device("gpu", id="gpu:0"), "gpu"),
        (parts.device("gpu", id="cpu"), "cpu"),
    ],
)
def test_mlx_has_one_device_of_each_kind(device: DevicePart, kind: str) -> None:
    assert mlx.choose(device) == kind


@pytest.mark.parametrize("name", ["mps", "gpu:1"])
def test_mlx_refuses_other_devices(name: str) -> None:
    with pytest.raises(UserError, match=f"MLX has no device '{name}'; it has cpu and gpu"):
        mlx.choose(parts.device("gpu", id=name))


def core(gpu: bool) -> tuple[Any, list[Any]]:
    """An MLX whose settings are recorded."""
    calls: list[Any] = []
    module = types.SimpleNamespace(
        gpu="gpu", cpu="cpu", __version__="0.31.2", is_available=lambda kind: gpu or kind == "cpu",
        set_default_device=calls.append, device_info=lambda: {"max_recommended_working_set_size": 5},
        set_memory_limit=lambda size: calls.append(size),
    )  # fmt: skip
    return module, calls


@pytest.mark.parametrize(("device", "called"), [(CPU, ["cpu"]), (GPU, ["gpu", 5])])
def test_mlx_takes_the_memory_that_the_system_recommends_and_compiles_for_gpus_alone(
    monkeypatch: pytest.MonkeyPatch, device: DevicePart, called: list[Any]
) -> None:
    module, calls = core(gpu=True)
    monkeypatch.setitem(sys.modules, "mlx", types.SimpleNamespace(core=module))
    monkeypatch.setitem(sys.modules, "mlx.core", module)
    monkeypatch.setattr(mlx.os, "environ", {})
    mlx.start(device)
    assert calls == called
    assert ("MLX_DISABLE_COMPILE" in mlx.os.environ) == (device is CPU)


def test_mlx_without_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module, _ = core(gpu=False)
    monkeypatch.setitem(sys.modules, "mlx", types.SimpleNamespace(core=module))
    monkeypatch.setitem(sys.modules, "mlx.core", module)
    with pytest.raises(UserError, match=r"MLX 0\.31\.2 has no GPU here"):
        mlx.start(GPU)


@pytest.mark.parametrize(
    "words",
    [
        "[metal::malloc] Attempting to allocate 204800 bytes which is greater than the maximum allowed buffer size",
        "[METAL] Command buffer execution failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOut)",
        "[metal::malloc] Resource limit (499000) exceeded.",
    ],
)
def test_what_mlx_says_without_memory_is_understood(words: str) -> None:
    with pytest.raises(OutOfMemoryError, match="batch_size=8"):
        raise_if_out_of_memory(RuntimeError(words), parts.training(batch_size=8))
