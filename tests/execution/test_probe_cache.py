"""What the probes found on a processor is remembered, and on a GPU never."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import parts
from zoo.core import paths
from zoo.environments import machine
from zoo.environments.store import Environment
from zoo.execution import probe_cache

CPU = parts.device()
ROWS = [{"name": "convolution", "ok": True, "largest_error": 1e-7}]
FOUND = probe_cache.Probed(ROWS, "2026-01-01", {"CUDA_VISIBLE_DEVICES": "-1"})


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "tf-2.21-0123456789"
    return Environment(folder / "bin" / "python", folder, folder / "lock", "a" * 64, {}, 0.0, "3.12.1")


def test_rows_come_back_with_their_date(environment: Environment) -> None:
    here = machine.probe()
    assert probe_cache.known(environment, here, CPU) is None
    probe_cache.keep(environment, here, CPU, FOUND)
    probed = probe_cache.known(environment, here, CPU)
    assert probed == FOUND


@pytest.mark.parametrize(
    "changed",
    [
        {"machine": {"os_build": "24G91"}},
        {"machine": {"chip": "another"}},
        {"environment": {"lock_sha256": "b" * 64}},
        {"environment": {"python_version": "3.12.2"}},
        {"device": {"id": "cpu:1"}},
        {"variable": "TF_ENABLE_ONEDNN_OPTS"},
        {"variable": "OMP_NUM_THREADS"},
    ],
)
def test_whatever_may_change_the_numbers_asks_for_new_ones(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    here = machine.probe()
    probe_cache.keep(environment, here, CPU, FOUND)
    if "variable" in changed:
        monkeypatch.setenv(changed["variable"], "0")
    other = dataclasses.replace(here, **changed.get("machine", {}))
    place = dataclasses.replace(environment, **changed.get("environment", {}))
    assert probe_cache.known(place, other, CPU.replace(**changed.get("device", {}))) is None


@pytest.mark.parametrize("name", ["worker/probes/run.py", "models/compat/tensors.py", "models/compat/planted.py"])
def test_another_version_of_the_probes_asks_for_new_rows(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    here = machine.probe()
    probe_cache.keep(environment, here, CPU, FOUND)
    for package in probe_cache.SOURCES:
        shutil.copytree(paths.PACKAGE / package, tmp_path / "zoo" / package)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "zoo")
    assert probe_cache.known(environment, here, CPU) is not None
    with (tmp_path / "zoo" / name).open("a") as module:
        module.write("\n")
    assert probe_cache.known(environment, here, CPU) is None


def test_a_gpu_and_wrong_rows_are_not_remembered(environment: Environment) -> None:
    here = machine.probe()
    probe_cache.keep(environment, here, CPU.replace(device_kind="gpu"), FOUND)
    probe_cache.keep(environment, here, CPU, dataclasses.replace(FOUND, rows=[{**ROWS[0], "ok": False}]))
    assert not (paths.cache_dir() / "probes").exists()


def test_a_damaged_file_is_told_and_passed_over(environment: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    here = machine.probe()
    probe_cache.keep(environment, here, CPU, FOUND)
    (path,) = (paths.cache_dir() / "probes").iterdir()
    for content in ("", "[]", json.dumps({"rows": ROWS}), json.dumps({"rows": ROWS, "date": "2026-01-01"})):
        path.write_text(content)
        assert probe_cache.known(environment, here, CPU) is None
        assert "is damaged" in capsys.readouterr().err
