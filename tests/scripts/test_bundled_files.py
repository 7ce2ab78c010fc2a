"""scripts/maintenance/bundled_files.py: the values in files that contributors write."""

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.environments.test_stacks import ROW, write
from tests.support import scripts
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import stacks


@pytest.fixture
def bundled_files() -> ModuleType:
    module: ModuleType = scripts.load("maintenance/bundled_files")
    return module


def complaint(bundled_files: ModuleType, root: Path, text: str) -> str:
    with pytest.raises(ZooError) as caught:
        bundled_files.checked(stacks.load("mine", write(root, text)))
    return str(caught.value)


def test_the_files_of_the_zoo_have_no_problems(
    bundled_files: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bundled_files.main([]) == 0
    write(tmp_path, ROW.replace("size_mb: 10", "size_mb: 0"))
    monkeypatch.setattr(paths, "STACKS", tmp_path)
    assert bundled_files.main([]) == 1
    assert "size_mb: must be positive" in capsys.readouterr().err


def test_all_problems_of_all_backends_are_reported_at_once(bundled_files: ModuleType, tmp_path: Path) -> None:
    good = yaml.safe_load((paths.CONFIGS / "backend" / "plaidml.yaml").read_text(encoding="utf-8"))
    bad = {**good, "name": "other", "device_kind": "fast"}
    entries = {
        **good,
        "name": "third",
        "serves": [{"os": "mac", "arch": "arm64", "device_kind": "gpu", "device": "x"}],
    }
    for name, row in (("first", bad), ("third", entries)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(row), encoding="utf-8")
    with pytest.raises(ZooError) as refusal:
        bundled_files.check_backends(tmp_path)
    for piece in (
        "first.name: must be the file's name, got 'other'",
        "first.device_kind: must be cpu or gpu, got 'fast'",
        "third.serves.0.os: must be one of macos, linux, windows, any, got 'mac'",
        "third.serves.0.vendors: an entry that drives a GPU must name the vendor",
    ):
        assert piece in refusal.value.message


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("framework: tensorflow", "framework: tensorflo", "did you mean 'tensorflow'?"),
        ("keras: keras", "keras: kerass", "keras: 'kerass' is not one of keras, tf.keras"),
        ('"3.12"', '"3"', 'python: expected a version like "3.8"'),
        ('"2026-01-31"', '"2026-02-31"', "exclude_newer: expected a date"),
        ("size_mb: 10", "size_mb: 0", "size_mb: must be positive"),
        ('["tensorflow==2.21.0"]', "[]", "requirements: must not be empty"),
        ("linux-x86_64:", "linux-riscv64:", "platforms.linux-riscv64: 'linux-riscv64' is not one of"),
        ("linux-x86_64: {", "macos-arm64: {", 'minimum_os: expected a macOS version like "12.0"'),
        ("platform: linux-x86_64, device", "platform: macos-arm64, device", "evidence.0.platform"),
        ("grade: measured", "grade: resolved", "is not one of measured, stand-in, reported"),
    ],
)
def test_a_wrong_value_of_a_stack_is_named(
    bundled_files: ModuleType, tmp_path: Path, old: str, new: str, part: str
) -> None:
    assert old in ROW
    assert part in complaint(bundled_files, tmp_path, ROW.replace(old, new))


@pytest.mark.parametrize(
    ("requirements", "part"),
    [
        ("[tensorflow==2.20.0, tensorflow-metal==1.2.0]", "tensorflow 2.20.0 does not work with tensorflow-metal"),
        ("[tensorflow==2.21.0, tensorflow-metal]", "tensorflow 2.21.0 does not work with tensorflow-metal"),
        ("[tensorflow>=2.12, tensorflow-metal==1.2.0]", "tensorflow must be pinned together with tensorflow-metal"),
        ("[tensorflow==2.19.1, keras==3.7.0, tensorflow-metal==1.2.0]", "keras 3.7.0 does not work"),
    ],
)
def test_pairs_that_cannot_work_cannot_be_written(
    bundled_files: ModuleType, tmp_path: Path, requirements: str, part: str
) -> None:
    (line,) = [line for line in ROW.splitlines() if "requirements:" in line]
    bad = re.sub(r"requirements: \[.*?\]", f"requirements: {requirements}", line)
    assert part in complaint(bundled_files, tmp_path, ROW.replace(line, bad))


def test_a_checked_lock_of_an_unknown_platform_is_named(bundled_files: ModuleType, tmp_path: Path) -> None:
    root = write(tmp_path, ROW)
    row = {"lock_sha256": "0", "device": "cpu", "what": "loads", "source": "a check"}
    (root / "mine" / "linked.json").write_text(json.dumps({"macos-x86_64": row}))
    with pytest.raises(ZooError, match=r"evidence\.1\.platform: 'macos-x86_64' is not one of linux-x86_64"):
        bundled_files.checked(stacks.load("mine", root))


def test_figures_of_others_are_checked_all_at_once(
    bundled_files: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "RECIPES", tmp_path)
    good = {"what": "a", "machine": "b", "platform": None, "stack": "c", "figure": 1.5, "unit": "s",
            "date": "2020", "source": "d"}  # fmt: skip
    bad = [good | {"unit": None}, good | {"figure": None}, good | {"figur": 1}, "text"]
    (tmp_path / "reported.yaml").write_text(json.dumps({"figures": [good, *bad]}))
    with pytest.raises(ZooError) as caught:
        bundled_files.check_figures()
    for words in (
        "row 2: a figure needs a unit",
        "row 3: a row without",
        "row 4: figur: unknown",
        "row 5: expected keys",
    ):
        assert words in caught.value.message
