"""zoo.runs.published_figures: results of networks that are like those of the zoo."""

from pathlib import Path

import pytest
import yaml

from zoo.core import paths
from zoo.runs import published_figures


def test_figures_are_by_the_models_they_are_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "RECIPES", tmp_path)
    row = {"what": "a", "machine": "b", "platform": None, "stack": "c", "figure": 1.5, "unit": "s", "date": "2020",
           "source": "d"}  # fmt: skip
    noted = row | {"figure": None, "unit": None, "note": "faster", "about": ["mnist"]}
    rows = [row, row | {"about": ["mnist", "matmul"]}, noted]
    (tmp_path / "reported.yaml").write_text(yaml.safe_dump({"figures": rows}))
    assert published_figures.read() == rows
    assert published_figures.about("mnist") == rows[1:]
    assert published_figures.about("matmul") == rows[1:2]
    assert published_figures.about("lenet") == []
