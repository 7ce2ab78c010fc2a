"""Style transfer on real stacks: the same picture everywhere, and every kind of input to the end."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import CHECKOUT, published, trainings
from tests.support.conformance import Answers
from zoo import api
from zoo.cli.main import main
from zoo.tasks.style_transfer import images, inputs

pytestmark = pytest.mark.stacks
ASSETS = inputs.PAINTING.parent
# The first is what the others are compared with.
STACKS = ("torch", "tf-2.21", "jax", "plaidml-0.7", "tf-1.8", "tf-2.5", "mlx")
JOB = ["model=style_transfer", f"content={ASSETS / 'landscape.jpg'}", f"style={ASSETS / 'style_mosaic.jpg'}",
       "features=distilled", "size=96", "min_size=96", "steps=5", "every=0", "precision=float32"]  # fmt: skip


def computed(root: Path, stack: str) -> tuple[list[float], np.ndarray]:
    """Five steps of one and the same job on a stack: losses by step, and the picture."""
    folder = trainings.train(root, *trainings.ready(stack), *JOB)
    with (folder / "losses.csv").open(newline="") as source:
        losses = [float(row["loss"]) for row in csv.DictReader(source)]
    return losses, images.opened(folder / "picture.png", "result").pixels.astype(float)


@pytest.mark.stacks(STACKS[0])
@pytest.mark.parametrize("stack", [pytest.param(STACKS[1], marks=pytest.mark.slow), *STACKS[2:]])
def test_all_stacks_make_the_same_picture(root: Path, stack: str) -> None:
    losses, picture = computed(root, STACKS[0])
    own, own_picture = computed(root, stack)
    assert losses[-1] < 0.9 * losses[0]
    assert own == pytest.approx(losses, rel=0.01)
    assert np.abs(own_picture - picture).mean() < 2


@pytest.mark.slow
def test_odd_pictures_go_to_the_end(tmp_path: Path) -> None:
    """A panorama as content, one pixel as style, a mask, a transparent start, colours kept; saved as asked."""
    noise = np.random.default_rng(0).integers(0, 255, (8, 400, 4), dtype=np.uint8)
    Image.fromarray(noise, "RGBA").save(tmp_path / "long.png")
    Image.new("CMYK", (1, 1), (9, 80, 200, 0)).save(tmp_path / "dot.jpg")
    Image.new("L", (8, 8), 255).save(tmp_path / "mask.png")
    done = api.train(
        model="style_transfer", backend="cpu", stack="torch", output={"root": str(tmp_path / "runs")},
        content=str(tmp_path / "long.png"), start=str(tmp_path / "long.png"), features="random", size=200, steps=3,
        styles=[str(tmp_path / "dot.jpg"), str(ASSETS / "style_waves.jpg")], masks=[str(tmp_path / "mask.png"), ""],
        style_weights=[1, 3], colors="content", every=1, optimizer="adam", save=str(tmp_path / "out.webp"),
    )  # fmt: skip
    with Image.open(tmp_path / "out.webp") as saved:
        assert saved.size == (200, 4)
    assert {path.name for path in done.folder.iterdir()} >= {
        "picture.png", "sheet.jpg", "making.gif", "losses.png", "losses.csv", "run.json", "steps"
    }  # fmt: skip
    record = json.loads((done.folder / "run.json").read_text())
    assert record["metrics"]["layers"]["style"]
    assert record["saved"] == str(tmp_path / "out.webp")


@pytest.mark.slow
def test_without_a_style_the_picture_stays_the_photo(tmp_path: Path) -> None:
    done = api.train(
        model="style_transfer", backend="cpu", stack="torch", output={"root": str(tmp_path)}, size=64, steps=2,
        content=str(ASSETS / "landscape.jpg"), features="random", strength={"style": 0, "total_variation": 0},
    )  # fmt: skip
    photo = images.fitted(images.opened(ASSETS / "landscape.jpg", "content").pixels, 64)
    assert np.array_equal(images.opened(done.folder / "picture.png", "result").pixels, photo)


@pytest.mark.slow
def test_vgg16_of_the_published_layout_judges(tmp_path: Path) -> None:
    """With drawn numbers: the real file was never at hand. The run holds its losses against numpy's by itself."""
    done = api.train(
        model="style_transfer", backend="cpu", stack="torch", output={"root": str(tmp_path)}, size=64, steps=3,
        features="vgg16", feature_weights=str(published.vgg(tmp_path / "vgg16.h5", "vgg16")), precision="float32",
    )  # fmt: skip
    run_record = json.loads((done.folder / "run.json").read_text())
    assert run_record["features"]["network"] == "vgg16"
    assert run_record["metrics"]["layers"]["style"] == [f"block{block}_conv1" for block in range(1, 6)]
    rows = (done.folder / "losses.csv").read_text().splitlines()
    assert float(rows[-1].split(",")[4]) < float(rows[1].split(",")[4])


def words(folder: Path, size: int, *more: str) -> list[str]:
    """A run into ``folder`` by the command line."""
    return [
        "train", "model=style_transfer", "backend=cpu", "stack=torch", "features=random", f"size={size}",
        "min_size=32", f"style={ASSETS}/style_waves.jpg", f"output.root={folder.parent}",
        f"output.name={folder.name}", *more,
    ]  # fmt: skip


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_last_picture(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    saved = tmp_path / "out.png"
    arguments = words(folder, 64, f"content={ASSETS}/landscape.jpg", "steps=30", "every=10", f"save={saved}")
    arguments.append("checkpoint_minutes=0.003")
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(
        [sys.executable, "-m", "zoo", *arguments], stderr=subprocess.DEVNULL, env=environment
    ) as host:
        while host.poll() is None and len(list((folder / "steps").glob("*.png"))) < 3:
            time.sleep(0.05)
        host.send_signal(signal.SIGKILL)
    before = images.opened(folder / "picture.png", "result").pixels
    assert before.shape[1] in (32, 64)
    assert not saved.exists()
    for _ in range(100):  # the worker notices, and lets go of the folder
        if main(["train", f"resume={folder}", f"save={saved}"]) == 0:
            break
        time.sleep(0.2)
    record = json.loads((folder / "run.json").read_text())
    assert (record["exit"], len(record["interruptions"])) == ("completed", 1)
    rows = (folder / "losses.csv").read_text().splitlines()[1:]
    steps = [int(row.split(",")[0]) for row in rows]
    assert steps == sorted(steps)
    assert len(rows) > 50
    losses = [float(row.split(",")[4]) for row in rows if row.split(",")[1] == rows[-1].split(",")[1]]
    assert losses[-1] < 0.9 * losses[0]
    assert saved.exists()
    assert main(["train", f"resume={folder}"]) == 1


@pytest.mark.slow
def test_a_disk_that_fills_up_costs_nothing_of_the_users(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = small_disk / "mine.jpg"
    shutil.copyfile(ASSETS / "landscape.jpg", mine)
    before = mine.read_bytes()
    saved = small_disk / "out.png"
    Image.new("RGB", (9, 9), "red").save(saved)
    was = saved.read_bytes()
    folder = small_disk / "run"
    arguments = words(folder, 63, "every=1", "steps=300", f"content={mine}", f"save={saved}", "overwrite=true")
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free - 200_000))
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "No space left" in said
    assert "Traceback" not in said
    assert mine.read_bytes() == before
    assert saved.read_bytes() == was or images.opened(saved, "result").pixels.shape[1] == 63
    kept = images.opened(folder / "picture.png", "result").pixels
    assert kept.shape[1] == 63
    assert not list(folder.glob("*.png.part"))


def test_layers_without_copies_compute_what_those_of_keras_do(conformance: Answers) -> None:
    answer = conformance.of("torch", "spatial")
    assert answer["layers"] < 1e-4
    assert answer["chunk"] < 32767  # from there on the GPUs of M1 and M2 may be wrong
    assert [row[0] for row in answer["products"]] == ["torch.float32"] * 2 + ["torch.bfloat16"] * 2
    for kind, result, product, gradient in answer["products"]:
        assert result == "torch.float32"
        assert product < 1e-4
        assert gradient < (1e-4 if kind == "torch.float32" else 0.5)


def test_a_picture_beyond_the_memory_is_refused_with_the_size_that_fits(conformance: Answers) -> None:
    refusal = conformance.of("torch", "spatial")["refusal"]
    assert "4096 x 3072 pixels take about" in refusal
    assert "this machine has 8.0 GB. Use size=21" in refusal
    assert "instead of 4096" in refusal
