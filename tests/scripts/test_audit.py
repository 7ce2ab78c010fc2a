"""The packages of this checkout's own environment have no hole that is publicly known."""

import json
from types import ModuleType

import pytest

from tests.support import CHECKOUT, scripts

SCRIPT = CHECKOUT / "scripts" / "maintenance" / "audit.py"


@pytest.fixture
def audit() -> ModuleType:
    module: ModuleType = scripts.load("maintenance/audit")
    return module


@pytest.mark.network
def test_nothing_is_known_of_the_packages_of_the_lock(audit: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    code = audit.main([])
    said = capsys.readouterr().out
    if code == audit.UNREACHABLE:
        pytest.skip(f"not audited: {said.strip()}"[:400])
    assert code == audit.CLEAN, said


def test_what_is_known_is_told(audit: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    hole = {"id": "PYSEC-1", "fix_versions": ["2.0"]}
    rows = [{"name": "a", "version": "1.0", "vulns": [hole]}, {"name": "b", "version": "1.0", "vulns": []}]
    parsed = audit.parse(json.dumps({"dependencies": rows}), "")
    assert audit.report("x", parsed) == audit.VULNERABLE
    assert "a 1.0: PYSEC-1; fixed in 2.0" in capsys.readouterr().out
    assert audit.report("x", parsed[1:]) == audit.CLEAN


@pytest.mark.parametrize(
    "out", ["", "{", "[]", json.dumps({"dependencies": [{"name": "a", "skip_reason": "not found"}]})]
)
def test_what_was_not_asked_is_no_clean_sheet(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    monkeypatch.setattr(audit, "query", lambda service, text: audit.parse(out, "no way there"))
    assert audit.main([]) == audit.UNREACHABLE
    assert "cannot be queried" in capsys.readouterr().out


def test_a_lock_is_taken_apart_by_package(audit: ModuleType) -> None:
    whole = (CHECKOUT / "requirements.lock").read_text(encoding="utf-8")
    pins = list(audit.pins(whole))
    assert all("==" in pin and "--hash=sha256:" in pin for pin in pins)
    assert "".join(pins) == "".join(line for line in whole.splitlines(True) if not line.startswith("#"))
