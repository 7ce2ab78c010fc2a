"""zoo.environments.platforms: one spelling for systems, processors and versions."""

import pytest

from zoo.environments.platforms import architecture, version_numbers


@pytest.mark.parametrize(
    ("machine", "expected"),
    [("AMD64", "x86_64"), ("x86_64\n", "x86_64"), ("aarch64", "arm64"), ("arm64", "arm64"), ("riscv64", "riscv64")],
)
def test_every_spelling_of_a_processor_becomes_one(machine: str, expected: str) -> None:
    assert architecture(machine) == expected


def test_versions_compare_as_numbers() -> None:
    assert version_numbers("10.13.6") == (10, 13, 6)
    assert version_numbers("10.9") < version_numbers("10.13")
    assert version_numbers("") == ()
