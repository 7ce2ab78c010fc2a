"""zoo.environments.marker: a folder is finished only where its marker says so."""

import json
import sys
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.environments import marker
from zoo.environments.marker import MARKER, Marker

FACTS = {"lock_sha256": "0" * 64, "python": {"version": "3.8"}, "versions": {"a": "1"}, "contents": {}}


def test_a_marker_may_hold_more_or_less_than_today(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text(json.dumps({**FACTS, "created": "2026-01-01", "of_a_later_release": 1}))
    assert marker.read_marker(tmp_path) == Marker(**FACTS, created="2026-01-01")


@pytest.mark.parametrize("text", ["", "[]", "{", json.dumps({"python": {}}), "\udcff"])
def test_what_is_no_marker_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert marker.read_marker(tmp_path) is None
    assert marker.defect(tmp_path) == "its build was never finished"


def test_an_interpreter_says_what_it_is() -> None:
    inventory = marker.inventory(Path(sys.executable))
    assert inventory.python == ".".join(map(str, sys.version_info[:3]))
    assert inventory.system == sys.platform
    assert "pytest" in inventory.versions


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no such option >&2\nexit 2\n")
    program.chmod(0o755)
    with pytest.raises(ZooError, match="does not work as a Python: no such option"):
        marker.inventory(program)


def test_a_missing_file_without_a_size_is_changed(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    (site / "a-1.dist-info").mkdir(parents=True)
    (site / "a-1.dist-info" / "RECORD").write_text(
        "gone.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,\n"
        "empty.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n"
    )
    (site / "empty.py").touch()
    assert marker.changed(tmp_path, every=True) == ["gone.py"]
