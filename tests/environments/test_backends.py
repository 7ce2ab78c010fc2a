"""zoo.environments.backends: rows are checked as a whole."""

from pathlib import Path

import pytest
import yaml

from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import backends as backend_rows


def test_all_problems_of_all_rows_are_reported_at_once(tmp_path: Path) -> None:
    good = yaml.safe_load((paths.CONFIGS / "backend" / "plaidml.yaml").read_text(encoding="utf-8"))
    bad = {**good, "name": "other", "device_kind": "fast"}
    shapeless = {key: value for key, value in good.items() if key != "needs"} | {
        "stacks": "plaidml-0.7",
        "neds": "",
    }
    entries = {
        **good,
        "name": "third",
        "serves": [{"os": "mac", "arch": "arm64", "device_kind": "gpu", "device": "x"}],
    }
    for name, row in (("first", bad), ("second", shapeless), ("third", entries)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(row), encoding="utf-8")
    with pytest.raises(ZooError) as refusal:
        backend_rows.load_all(tmp_path)
    for piece in (
        "first.name: must be the file's name, got 'other'",
        "first.device_kind: must be cpu or gpu, got 'fast'",
        "second.needs: missing",
        "second.neds: unknown key; did you mean 'needs'?",
        "second.stacks: expected a list, got 'plaidml-0.7'",
        "third.serves.0.os: must be one of macos, linux, windows, any, got 'mac'",
        "third.serves.0.vendors: an entry that drives a GPU must name the vendor",
    ):
        assert piece in refusal.value.message
