"""A table of labels next to a folder of images: trained, resumed and classified on a real stack."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.trainings import record
from zoo.cli.main import main

pytestmark = pytest.mark.stacks


def test_a_table_is_trained_resumed_and_classified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random, rows = np.random.default_rng(1), ["image_id,diagnosis,patient", "none,red,p0"]
    (tmp_path / "images").mkdir()
    for number in range(120):
        pixels = random.integers(0, 80, (16, 16, 3), dtype=np.uint8)
        pixels[..., number % 3] += 150
        Image.fromarray(pixels).save(tmp_path / "images" / f"ID_{number}.png")
        rows.append(f"ID_{number},{('red', 'green', 'blue')[number % 3]},p{number // 4}")
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    data = ["data=image_table", f"data.root={tmp_path / 'labels.csv'}", "data.size=16", "data.group=patient"]
    run = tmp_path / "run"
    words = ["model=mnist_dense", "trainer.epochs=2", "backend=cpu", f"output.root={tmp_path}", "output.name=run"]
    assert main(["train", *data, *words]) == 0
    said = capsys.readouterr().err
    assert "class in diagnosis, image in image_id, group in patient" in said
    assert "3 classes: blue (40), green (40), red (40)" in said
    assert 'none,"labels.csv, line 2: no such image"' in (run / "skipped.csv").read_text()
    first, split = record(run), dict(np.load(run / "split.npz"))
    assert first["metrics"]["test_accuracy"] == 1.0
    assert first["data"]["split"].startswith("test: 0.1 of every class, by patient")
    assert main(["train", f"resume={run}", "trainer.epochs=3"]) == 0
    again = dict(np.load(run / "split.npz"))
    assert all(np.array_equal(split[part], again[part]) for part in split)
    assert record(run)["data"]["sha256"] == first["data"]["sha256"]
    assert main(["infer", f"run={run}", "input=test", f"output.root={tmp_path}", "output.name=test"]) == 0
    assert "test accuracy 1.0000" in capsys.readouterr().out
