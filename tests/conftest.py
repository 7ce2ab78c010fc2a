"""What every test may ask for."""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from PIL import Image

from tests.support import CHECKOUT, SUPPORT, alone, real_stacks, rings
from tests.support.once import once
from zoo.core import paths
from zoo.data import array_datasets
from zoo.data.images import decode
from zoo.environments import store
from zoo.execution import watchdog
from zoo.runs import plots

# The same examples every time, however slow the machine: scripts/maintenance/fuzz.py searches for others.
hypothesis.settings.register_profile(
    "zoo", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("zoo")


@pytest.fixture
def without_heif(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take Pillow's decoder of HEIC away, which the tests have and users may not."""
    decode.formats()  # registers it once
    monkeypatch.delitem(Image.OPEN, "HEIF")


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "stacks that no test may be skipped for, with commas between; in CI (CI=true) all that can be built here"
    parser.addoption("--no-skip-stacks", metavar="NAMES", help=words)
    others = f"run the tests that are left out without it: those of stacks other than {', '.join(rings.DEFAULT)}, "
    parser.addoption("--all-stacks", action="store_true", help=others + "and those marked slow or network")
    words = "run the tests of stacks that `python scripts/lock.py --nightly` locked with a nightly build of Keras"
    parser.addoption("--nightly", action="store_true", help=words)


def pytest_configure(config: pytest.Config) -> None:
    real_stacks.require(real_stacks.required(config.getoption("--no-skip-stacks")))
    real_stacks.allow(frozenset(rings.DEFAULT) if rings.chosen(config) == "default" else None)


def pytest_report_header(config: pytest.Config) -> str:
    return f"ring: {rings.chosen(config)}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Every core for the whole suite; chosen files run in this process, where starting others takes longer."""
    return (os.cpu_count() or 1) if config.args == ["tests"] else 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the chosen ring, long ones first."""
    other = [item for item in items if not rings.includes(config, item)]
    if other:
        config.hook.pytest_deselected(items=other)
        rings.report(config, len(other))
    items[:] = sorted((item for item in items if item not in set(other)), key=rings.order)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the number of tests that a process left out; every process leaves out the same ones."""
    rings.take_report(node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    rings.skip_late(item.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with alone.turn(item.config, item.get_closest_marker("timing") is not None):
        return (yield)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this test run share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, named by ``$ZOO_TEST_DATA`` or found beside the checkout."""
    folder = Path(os.environ.get("ZOO_TEST_DATA") or CHECKOUT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"real data not present at {folder}; set ZOO_TEST_DATA to a folder that holds mnist/ and fashion/")
    return folder


@pytest.fixture(scope="session")
def digits(shared_folder: Path) -> Path:
    """A cache that holds the bundled digits, which take half a second to prepare."""

    def prepare(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ZOO_CACHE", str(folder))
            array_datasets.prepare(array_datasets.load_row("digits"))

    return once(shared_folder / "digits", prepare)


@pytest.fixture(scope="session")
def drawn_curves(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Curves as every training draws them, which takes a quarter of a second."""
    path = tmp_path_factory.mktemp("drawn") / "curves.png"
    rows = [{"epoch": epoch, "loss": 1 / epoch, "accuracy": 1 - 1 / epoch} for epoch in (1.0, 2.0, 3.0)]
    plots.curves(rows, "drawn once", path)
    return path.read_bytes()


@pytest.fixture(autouse=True)
def _own_evidence(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what the user of this machine validated out of the tests, and what they validate out of the user's."""
    folder = tmp_path_factory.getbasetemp() / "user" / uuid.uuid4().hex
    monkeypatch.setattr(paths, "user_dir", lambda: folder)


@pytest.fixture
def pretending(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    digits: Path,
    drawn_curves: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """An empty working folder, an environment that is ready, and a worker that pretends as ``$FAKE_WORKER`` says.

    Curves are drawn for tests with the mark ``draws``; elsewhere a picture that was drawn once stands for them.
    """
    if not request.node.get_closest_marker("draws"):
        monkeypatch.setattr(plots, "curves", lambda _history, _title, path: path.write_bytes(drawn_curves))
    lock = tmp_path / "fake.lock"
    lock.write_text("six==1.17.0 --hash=sha256:0\n")
    ready = store.Environment(
        python=Path(sys.executable), folder=tmp_path, lock=lock, lock_sha256="0" * 64,
        versions={"six": "1.17.0"}, build_s=0.0, python_version="3.11.0",
    )  # fmt: skip
    monkeypatch.setattr(store, "ensure", lambda stack, platform: ready)
    monkeypatch.setattr(paths, "WORKER", SUPPORT / "fake_worker.py")
    monkeypatch.setattr(watchdog, "INTERRUPT_GRACE_S", 1.0)
    monkeypatch.setenv("ZOO_CACHE", str(shutil.copytree(digits, tmp_path / "cache")))
    monkeypatch.setenv("FAKE_WORKER", "ok")
    monkeypatch.setenv("ZOO_WORKER_ENV", "FAKE_WORKER")
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
