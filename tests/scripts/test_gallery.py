"""The gallery shows every network that comes with the zoo, in small pictures; the scripts that it is made with."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import CHECKOUT, scripts
from zoo.data import idx
from zoo.weights import zoo_networks

PAGE = CHECKOUT / "docs" / "background" / "gallery.md"
MOST_BYTES = 1_000_000


def test_it_shows_every_network_and_its_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    module = scripts.load("maintenance/gallery")
    assert module.figures(zoo_networks.load_all()) in text
    for network in zoo_networks.load_all():
        assert network.card.painting is None or f"### {network.source}\n" in text


def test_its_pictures_are_there_and_small() -> None:
    pictures = [PAGE.parent / name for name in re.findall(r"\]\((gallery/[^)]+)\)", PAGE.read_text(encoding="utf-8"))]
    assert len(pictures) > 4
    assert sum(path.stat().st_size for path in pictures) < MOST_BYTES
    assert set(pictures) == set((PAGE.parent / "gallery").iterdir())


def test_a_right_answer_is_plain_and_a_wrong_one_bold() -> None:
    answer = scripts.load("maintenance/gallery").answer
    assert answer({"class": "T-shirt/top", "probability": 0.914}, "T-shirt or top") == "T-shirt/top 0.91"
    assert answer({"class": "7", "probability": "0.5"}, "1") == "**7** 0.50"


def test_a_still_scene_that_changes_is_flicker() -> None:
    change = scripts.load("benchmarks/flicker").change
    scene = np.random.default_rng(1).uniform(0, 255, (64, 96, 3))
    frames = [scene[:, start : start + 64] for start in (0, 4, 8)]
    assert change(frames) > 50
    assert change(frames, 4) == 0
    assert change([frames[0], frames[1] + 3], 4) == pytest.approx(3)


def test_clothes_lie_in_the_folder_of_their_class(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "fashion"
    assert scripts.load("maintenance/class_folders").write(source, tmp_path, "test", 5) == 5
    paths = sorted(tmp_path.rglob("*.png"), key=lambda path: path.stem)
    assert [path.parent.name for path in paths] == ["Ankle boot", "Pullover", "Trouser", "Trouser", "Shirt"]
    first = idx.read(source / "t10k-images-idx3-ubyte.gz", (28, 28))[0]
    assert np.array_equal(np.asarray(Image.open(paths[0])), first)


def test_the_data_of_a_promise_are_written_by_one_command(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(shared_data / "fashion"), str(tmp_path), "--train", "5", "--test", "3", "--bmp"]
    assert scripts.load("maintenance/class_folders").main(words) == 0
    assert "train: 5 pictures" in capsys.readouterr().out
    assert len(list((tmp_path / "train").rglob("*.bmp"))) == 5
    first = idx.read(shared_data / "fashion" / "t10k-images-idx3-ubyte.gz", (28, 28))[0]
    assert np.array_equal(np.asarray(Image.open(tmp_path / "test" / "Ankle boot" / "00000.bmp")), first)


def test_photos_are_scaled_and_missing_ones_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = scripts.load("maintenance/training_photos")
    (tmp_path / "skimage" / "data").mkdir(parents=True)
    Image.new("RGB", (1280, 960)).save(tmp_path / "skimage" / "data" / "coffee.png")
    assert module.main([str(tmp_path), str(tmp_path / "photos")]) == 1
    assert Image.open(tmp_path / "photos" / "coffee.jpg").size == (640, 480)
    assert "Missing: skimage/data/chelsea" in capsys.readouterr().out
