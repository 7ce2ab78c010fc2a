"""zoo.environments.surroundings: what is around the zoo on captured machines, and what each thing means."""

import sys
import time
from pathlib import Path

import pytest

from tests import machines
from zoo.environments import machine, surroundings

# machine, check, a piece of what was seen, a piece of its meaning ("" where all is well)
TABLE = [
    ("mac_pro_2010", "AVX", "X5680", "Illegal instruction"),
    ("linux_no_avx", "AVX", "X5680", "torch, openvino and plaidml work"),
    ("rx_6600_xt", "AVX", "yes", ""),
    ("rosetta", "Rosetta", "x86_64", "need an arm64 Python"),
    ("m1_macos_11", "Rosetta", "native", ""),
    ("m1_macos_11", "conda", "base environment", "may break conda"),
    ("intel_iris", "conda", "environment ml", ""),
    ("mac_pro_2010", "pip", "9.0.1", "older than 20.3"),
    ("m1_macos_11", "pip", "20.0.2", "older than 20.3"),
    ("intel_iris", "pip", "23.3.1", ""),
    ("m1_macos_11", "TLS", "LibreSSL 2.8.3", "python.org or Homebrew"),
    ("mac_pro_2010", "TLS", "OpenSSL 1.0.2k", "older than 1.1.1"),
    ("intel_iris", "TLS", "OpenSSL 3.0.12", ""),
    ("mac_pro_2010", "command-line tools", "none", "xcode-select --install"),
    ("m1_macos_11", "command-line tools", "/Library/Developer", ""),
    ("m1_macos_11", "quarantine", "downloaded by Safari", "xattr -dr com.apple.quarantine"),
    ("m1_macos_11", "PYTHONPATH", "/Users/a/old:/Users/a/lib", "own libraries come first"),
    ("m1_macos_11", "KERAS_BACKEND", "plaidml.keras.backend", "sets its own"),
    ("m1_macos_11", "~/.keras/keras.json", "floatx float64, image_data_format channels_first", "workers ignore it"),
    ("intel_iris", "~/.keras/keras.json", "channels_last", ""),
    ("m1_macos_11", "~/.plaidml", "metal_apple_m1.0", "workers ignore it"),
    ("intel_iris", "~/.plaidml", "is not valid JSON", "fail or ignore it"),
    ("m1_macos_11", "variables kept away", "TF_XLA_FLAGS", "ZOO_WORKER_ENV"),
    ("m1_macos_11", "variables passed on", "OMP_NUM_THREADS", "last digits"),
    ("mac_pro_2010", "disk", "1.2 GB", "ZOO_CACHE"),
    ("m1_macos_11", "disk", "80.0 GB", ""),
]


def _checks(name: str) -> dict[str, surroundings.Check]:
    texts = machine.capture_texts(machines.FOLDER / f"{name}.txt")
    return {check.name: check for check in surroundings.examine(texts, machines.load(name))}


@pytest.mark.parametrize(("name", "check", "seen", "meaning"), TABLE)
def test_every_check_says_what_it_means(name: str, check: str, seen: str, meaning: str) -> None:
    row = _checks(name)[check]
    assert seen in row.seen
    assert meaning in row.meaning
    assert bool(meaning) == bool(row.meaning)


def test_every_check_is_in_the_table() -> None:
    names = {check for name in machines.NAMES for check in _checks(name)}
    assert names == {row[1] for row in TABLE}


@pytest.mark.parametrize("name", machines.NAMES)
def test_what_was_not_captured_is_not_judged(name: str) -> None:
    assert {check.name for check in surroundings.examine({}, machines.load(name))} <= {"AVX", "Rosetta"}


@pytest.mark.timing
def test_this_machine_is_read_as_the_captures_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text("[]", encoding="utf-8")
    (tmp_path / ".plaidml").write_bytes(b"\xff")
    for name, value in {
        "HOME": str(tmp_path),
        "PYTHONPATH": "/x",
        "CONDA_PREFIX": "/c",
        "JAX_ENABLE_X64": "1",
    }.items():
        monkeypatch.setenv(name, value)
    begin = time.perf_counter()
    checks = {check.name: check for check in surroundings.examine(surroundings.collect(), machine.probe())}
    assert time.perf_counter() - begin < 1
    assert checks["PYTHONPATH"].seen == "/x"
    assert "JAX_ENABLE_X64" in checks["variables kept away"].seen
    assert checks["~/.plaidml"].seen == "is not valid JSON"
    assert checks["TLS"].seen.startswith(("OpenSSL", "LibreSSL"))
    assert ("command-line tools" in checks) == (sys.platform == "darwin")
