"""The wheel: it carries configs and recipes, and works outside the checkout."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import CHECKOUT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout and unpacked as pip would."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def zoo(installed: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed), "ZOO_CACHE": str(installed / "cache")}
    command = [sys.executable, "-m", "zoo", *arguments]
    answer = subprocess.run(command, cwd=installed.parent, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_it_finds_its_own_recipes(installed: Path) -> None:
    listing = zoo(installed, "list")
    for name in ("mnist_conv5", "plaidml-0.7", "tf-1.8", "metal"):
        assert name in listing


def test_it_composes_and_plans(installed: Path) -> None:
    assert "learning_rate: 0.003" in zoo(installed, "train", "--cfg", "job", "model=mnist", "backend=cpu")
    assert "recipes/mnist/recipe.yaml" in zoo(installed, "train", "--dry-run", "data=digits")


def test_it_carries_the_worker_and_every_lock(installed: Path) -> None:
    assert (installed / "zoo" / "worker" / "__main__.py").is_file()
    assert (installed / "zoo" / "py.typed").is_file()
    locks = {path.relative_to(CHECKOUT / "recipes") for path in (CHECKOUT / "recipes").rglob("*.lock")}
    assert locks
    assert {path.relative_to(installed / "zoo" / "recipes") for path in installed.rglob("*.lock")} == locks


def test_nothing_else_is_installed_beside_it(installed: Path) -> None:
    assert {path.name for path in installed.iterdir()} - {"cache"} == {"zoo", "keras_gpu_zoo-0.1.0.dist-info"}


def test_installing_it_touches_no_keras(installed: Path) -> None:
    (metadata,) = installed.glob("*.dist-info/METADATA")
    needed = re.findall(r"^Requires-Dist: ([\w.-]+)", metadata.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert needed
    assert not {"keras", "tensorflow", "torch", "jax", "openvino", "protobuf", "ml-dtypes"} & set(needed)
