"""Wheel and source archive as strangers get them: built, checked, installed and used outside any checkout."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from PIL import Image

from tests.support import CHECKOUT

PYTHON, UV, UVX, TWINE = (str(Path(sys.executable).with_name(name)) for name in ("python", "uv", "uvx", "twine"))
# Nothing of the checkout or of this environment is passed on; what says where packages come from is.
# PYENV_ROOT: where Python for the stacks may lie.
PASSED_ON = (
    "HOME", "PATH", "LANG", "TMPDIR", "XDG_CACHE_HOME", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY", "PYENV_ROOT",
)  # fmt: skip
PACKAGES = ("UV_", "PIP_")
CLEAN = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith(PACKAGES)}


def _run(command: list[str], folder: Path, **more: str) -> str:
    done = subprocess.run(command, cwd=folder, env=CLEAN | more, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the source archive, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    _run([PYTHON, "-m", "build", "--no-isolation", "--outdir", str(folder)], CHECKOUT)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A working folder outside any checkout, whose path has a space and accents."""
    folder = tmp_path / "Été à la mer"
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_both_are_valid_for_the_package_index(built: Path) -> None:
    files = sorted(map(str, built.iterdir()))
    assert len(files) == 2
    assert _run([TWINE, "check", "--strict", *files], built).count("PASSED") == 2


@pytest.mark.slow
def test_the_source_archive_holds_no_results_of_this_machine(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "zoo/worker/__main__.py", "assets/style_waves.jpg"} <= names
    assert not [name for name in names if name.startswith(("runs/", ".venv/", "dist/", ".git/", ".ci/"))]
    assert path.stat().st_size < 15_000_000


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.stacks("tf-2.21")
def test_it_trains_and_paints_where_only_the_wheel_is_installed(wheel: Path, elsewhere: Path) -> None:
    _run([UV, "venv", "--python", PYTHON, "clean"], elsewhere)
    versions = ["--constraint", str(CHECKOUT / "requirements.lock")]
    _run([UV, "pip", "install", "--python", "clean", *versions, str(wheel)], elsewhere)
    zoo = str(elsewhere / "clean" / "bin" / "zoo")
    shown = _run([zoo, "train", "model=mnist", "data=digits", "preset=smoke", "backend=cpu"], elsewhere)
    assert "test accuracy" in shown
    Image.linear_gradient("L").convert("RGB").save(elsewhere / "photo.png")
    words = ["content=photo.png", "size=64", "steps=3", "save=peint.png", "backend=cpu", "stack=tf-2.21"]
    _run([zoo, "train", "model=style_transfer", *words], elsewhere)
    with Image.open(elsewhere / "peint.png") as picture:
        assert picture.size == (64, 64)
        assert len(picture.convert("RGB").getcolors(64 * 64) or []) > 64
    assert len(list((elsewhere / "runs").glob("2*"))) == 2


@pytest.mark.slow
@pytest.mark.network
def test_uvx_runs_it_from_the_file(wheel: Path, elsewhere: Path) -> None:
    assert "mnist_conv5" in _run([UVX, "--python", PYTHON, "--from", str(wheel), "zoo", "list"], elsewhere)


@pytest.mark.slow
@pytest.mark.network
def test_pipx_installs_it_from_the_file(wheel: Path, elsewhere: Path) -> None:
    places = {"PIPX_HOME": str(elsewhere / "pipx"), "PIPX_BIN_DIR": str(elsewhere / "bin")}
    _run([UVX, "pipx", "install", "--python", PYTHON, str(wheel)], elsewhere, **places)
    assert "mnist_conv5" in _run([str(elsewhere / "bin" / "zoo"), "list"], elsewhere)
