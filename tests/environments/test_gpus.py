"""zoo.environments.gpus: what the tools of a system print of its GPUs."""

import pytest

from zoo.environments import gpus

GIB = 2**30


def test_text_quoted_on_one_line_still_parses() -> None:
    text = "Radeon RX 5700 XT: Chipset Model: Radeon RX 5700 XT\n  Type: External GPU\n  VRAM (Total): 8 GB\n"
    (gpu,) = gpus.of_mac({gpus.DISPLAYS_TEXT: text}, [])
    assert (gpu.name, gpu.vendor, gpu.memory_bytes, gpu.external) == (
        "Radeon RX 5700 XT",
        "amd",
        8 * GIB,
        True,
    )


@pytest.mark.parametrize("text", ["", "{}", '{"SPDisplaysDataType": 3}', "usage: system_profiler"])
def test_text_that_is_no_display_report_is_none(text: str) -> None:
    assert gpus.displays(text) is None


@pytest.mark.parametrize(
    ("gpu", "text"),
    [
        (gpus.Gpu("A", "amd", 2 * GIB, "Metal 3", external=True), "A (external, 2 GiB, Metal 3)"),
        (gpus.Gpu("B", "nvidia", driver="570"), "B (driver 570)"),
        (gpus.Gpu("C", "intel"), "C"),
    ],
)
def test_a_gpu_is_described_by_what_is_known(gpu: gpus.Gpu, text: str) -> None:
    assert gpus.describe(gpu) == text


@pytest.mark.parametrize(
    ("name", "compute"),
    [
        ("NVIDIA GeForce GTX 1080", "6.1"), ("Tesla P100-PCIE-16GB", "6.0"), ("NVIDIA GeForce GTX 970", "5.2"),
        ("NVIDIA GeForce RTX 4060", None), ("NVIDIA GeForce GTX 1660", None), ("NVIDIA TITAN Xp", "6.1"),
    ],
)  # fmt: skip
def test_the_compute_capability_of_old_cards_is_known_by_name(name: str, compute: str | None) -> None:
    (gpu,) = gpus.of_linux({gpus.NVIDIA: f"{name}, 8192, 535.1"}, [])
    assert gpu.compute == compute
    (reported,) = gpus.of_linux({gpus.NVIDIA: f"{name}, 8192, 535.1", gpus.NVIDIA_COMPUTE: "8.9"}, [])
    assert reported.compute == "8.9"
