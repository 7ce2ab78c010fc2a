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
