"""What every test may ask for."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import CHECKOUT, SUPPORT, real_stacks
from zoo.core import paths
from zoo.environments import store
from zoo.runs import worker_process


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "stacks that no test may be skipped for, with commas between; in CI (CI=true) all that can be built here"
    parser.addoption("--no-skip-stacks", metavar="NAMES", help=words)


def pytest_configure(config: pytest.Config) -> None:
    real_stacks.require(real_stacks.required(config.getoption("--no-skip-stacks")))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, named by ``$ZOO_TEST_DATA`` or found beside the checkout."""
    folder = Path(os.environ.get("ZOO_TEST_DATA") or CHECKOUT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(
            f"real data not present at {folder}; set ZOO_TEST_DATA to a folder that holds mnist/ and fashion/"
        )
    return folder


@pytest.fixture
def pretending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, an environment that is ready, and a worker that pretends as ``$FAKE_WORKER`` says."""
    lock = tmp_path / "fake.lock"
    lock.write_text("six==1.17.0 --hash=sha256:0\n")
    ready = store.Environment(
        python=Path(sys.executable), folder=tmp_path, lock=lock, lock_sha256="0" * 64,
        versions={"six": "1.17.0"}, build_s=0.0, python_version="3.11.0",
    )  # fmt: skip
    monkeypatch.setattr(store, "ensure", lambda stack, platform: ready)
    monkeypatch.setattr(paths, "WORKER", SUPPORT / "fake_worker.py")
    monkeypatch.setattr(worker_process, "INTERRUPT_GRACE_S", 1.0)
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_WORKER", "ok")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB, or of what a test says by ``parametrize(..., indirect=True)``."""
    size = getattr(request, "param", "2m")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)
