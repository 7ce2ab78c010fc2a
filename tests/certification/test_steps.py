"""What the steps of a certification say."""

import types
from pathlib import Path
from typing import Any

import pytest

from zoo.certification import steps
from zoo.certification.results import WHOLE, Place
from zoo.certification.work import Work
from zoo.tasks import validate


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_the_device_and_its_kind_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    proven = {"name": "device:0", "device_kind": kind, "proof": "matmul", "description": "Chip 5"}
    run: Any = types.SimpleNamespace(record={"device": proven, "probes": [{"ok": True}, {"ok": False}]})
    monkeypatch.setattr(steps, "bench", lambda *_: (run, []))
    monkeypatch.setattr(validate, "problems_of", lambda _: [])
    place = Place("backend", "torch", kind, "torch", trains=True)
    findings = steps.device(Work(place, WHOLE, tmp_path, tmp_path, None))
    assert findings.words == [f"matmul ran on Chip 5, a {kind}", "1 of 2 probes right"]
