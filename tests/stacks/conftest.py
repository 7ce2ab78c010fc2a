"""What tests on real stacks share."""

from pathlib import Path

import pytest

from tests.support.conformance import Answers


@pytest.fixture(scope="session")
def root(shared_folder: Path) -> Path:
    """Where every process of this test run finds the trainings of the others."""
    folder = shared_folder / "runs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def conformance(shared_folder: Path, pytestconfig: pytest.Config) -> Answers:
    folder = shared_folder / "conformance"
    folder.mkdir(exist_ok=True)
    return Answers(folder, pytestconfig.getoption("--all-stacks"))
