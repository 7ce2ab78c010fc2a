"""zoo.environments.backends: rows are checked as a whole."""

from pathlib import Path

import pytest
import yaml

from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import backends as backend_rows


def test_all_problems_of_all_rows_are_reported_at_once(tmp_path: Path) -> None:
    good = yaml.safe_load((paths.CONFIGS / "backend" / "plaidml.yaml").read_text(encoding="utf-8"))
    shapeless = {key: value for key, value in good.items() if key != "needs"} | {
        "stacks": "plaidml-0.7",
        "neds": "",
    }
    entries = {**good, "serves": [{"os": "macos", "arch": "arm64", "device_kind": 1, "device": "x"}]}
    for name, row in (("second", shapeless), ("third", entries)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(row), encoding="utf-8")
    with pytest.raises(ZooError) as refusal:
        backend_rows.load_all(tmp_path)
    for piece in (
        "second.needs: missing",
        "second.neds: unknown key; did you mean 'needs'?",
        "second.stacks: expected a list, got 'plaidml-0.7'",
        "third.serves.0.device_kind: expected text (in quotes), got 1",
    ):
        assert piece in refusal.value.message
