"""Style transfer on real stacks: the same picture everywhere, and every kind of input to the end."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo import api, artwork, stylize

pytestmark = pytest.mark.stacks
ASSETS = stylize.ASSETS
# The first is what the others are held against.
STACKS = ("torch", "tf-2.21", "jax", "plaidml-0.7", "tf-1.8", "tf-2.5")
BACKENDS = {"jax": "jax", "plaidml-0.7": "plaidml"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Five steps of one and the same job on a stack: (losses by step, picture)."""
    root, found = tmp_path_factory.mktemp("stylize"), dict[str, Any]()

    def run(stack: str) -> Any:
        if stack not in found:
            done = api.train(
                model="style_transfer", backend=BACKENDS.get(stack, "cpu"), stack=stack, output={"root": str(root)},
                content=str(ASSETS / "landscape.jpg"), style=str(ASSETS / "style_mosaic.jpg"),
                features="random", size=96, smallest=96, steps=5, every=0, precision="float32",
            )  # fmt: skip
            rows = [line.split(",") for line in (done.folder / "losses.csv").read_text().splitlines()]
            losses = [float(row[rows[0].index("loss")]) for row in rows[1:]]
            found[stack] = losses, artwork.opened(done.folder / "picture.png", "result").pixels.astype(float)
        return found[stack]

    return run


@pytest.mark.parametrize("stack", STACKS[1:])
def test_all_stacks_make_the_same_picture(made: Any, stack: str) -> None:
    losses, picture = made(STACKS[0])
    own, own_picture = made(stack)
    assert losses[-1] < 0.9 * losses[0]
    assert own == pytest.approx(losses, rel=0.01)
    assert np.abs(own_picture - picture).mean() < 2


def test_odd_pictures_go_to_the_end(tmp_path: Path) -> None:
    """A panorama as content, one pixel as style, a mask, a transparent start, colours kept; saved as asked."""
    noise = np.random.default_rng(0).integers(0, 255, (8, 400, 4), dtype=np.uint8)
    Image.fromarray(noise, "RGBA").save(tmp_path / "long.png")
    Image.new("CMYK", (1, 1), (9, 80, 200, 0)).save(tmp_path / "dot.jpg")
    Image.new("L", (8, 8), 255).save(tmp_path / "mask.png")
    done = api.train(
        model="style_transfer", backend="cpu", stack="torch", output={"root": str(tmp_path / "runs")},
        content=str(tmp_path / "long.png"), start=str(tmp_path / "long.png"), features="random", size=200, steps=3,
        styles=f"[{tmp_path}/dot.jpg,{ASSETS}/style_waves.jpg]", masks=f"[{tmp_path}/mask.png,'']",
        style_weights="[1,3]", colours="content", every=1, optimizer="adam", save=str(tmp_path / "out.webp"),
    )  # fmt: skip
    with Image.open(tmp_path / "out.webp") as saved:
        assert saved.size == (200, 4)
    assert {path.name for path in done.folder.iterdir()} >= {
        "picture.png", "sheet.jpg", "making.gif", "losses.png", "losses.csv", "run.json", "steps"
    }  # fmt: skip
    record = json.loads((done.folder / "run.json").read_text())
    assert record["metrics"]["layers"]["style"]
    assert record["saved"] == str(tmp_path / "out.webp")


def test_without_a_style_the_picture_stays_the_photo(tmp_path: Path) -> None:
    done = api.train(
        model="style_transfer", backend="cpu", stack="torch", output={"root": str(tmp_path)}, size=64, steps=2,
        content=str(ASSETS / "landscape.jpg"), features="random", strength={"style": 0, "roughness": 0},
    )  # fmt: skip
    photo = artwork.fitted(artwork.opened(ASSETS / "landscape.jpg", "content").pixels, 64)
    assert np.array_equal(artwork.opened(done.folder / "picture.png", "result").pixels, photo)
