"""Training a style network: what the host hands over, with a worker that learns nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import SUPPORT, published
from zoo.cli.main import main
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.execution.array_queue import ArrayQueue, ClosedError
from zoo.tasks.style_transfer import train_network
from zoo.weights import io, manifest
from zoo.weights.formats import Weights

Zoo = Callable[..., int]
SMALL = ("trainer.steps=3", "trainer.report=1", "trainer.batch_size=2", "trainer.size=32", "style_size=48")


@pytest.fixture
def zoo(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    monkeypatch.setattr(paths, "WORKER", SUPPORT / "fake_style_worker.py")
    monkeypatch.setattr(Path, "home", lambda: pretending)  # where Keras keeps feature networks
    Image.new("RGB", (120, 80), (200, 50, 20)).save(pretending / "painting.png")
    return lambda *arguments: main(["train", "model=style_transfer/fast", "backend=cpu", *arguments])


def record(root: Path) -> dict[str, Any]:
    (folder,) = (root / "runs").iterdir()
    content: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return content | {"folder": folder}


def squares(folder: Path, levels: list[int]) -> Path:
    folder.mkdir()
    for level in levels:
        Image.new("RGB", (90, 60 + level), (level,) * 3).save(folder / f"{level}.png")
    return folder


def test_photos_painting_and_features_reach_the_worker(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    squares(tmp_path / "photos", [0, 100, 200])
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"\xff\xd8 nothing")
    assert zoo("style=painting.png", "photos=photos", *SMALL) == 0
    saved = record(tmp_path)
    folder = saved["folder"]
    assert np.load(folder / "painting.npy").shape == (48, 72, 3)
    seen = [int(each.mean()) for number in (1, 2, 3) for each in np.load(folder / f"seen_{number}.npy")]
    assert sorted(seen) == [0, 0, 100, 100, 200, 200]  # each once before any comes again
    assert (folder / "sample_000001.png").is_file()
    assert "0.1000" in (folder / "history.csv").read_text() or "0.1" in (folder / "history.csv").read_text()
    shown = capsys.readouterr()
    assert shown.err.count("broken.jpg") == 1
    assert "features=distilled" in shown.err
    assert "Trained 3 steps" in shown.out
    assert not [each for each in folder.iterdir() if each.is_dir()]


def test_without_photos_and_painting_the_bundled_ones_are_used_and_it_is_said(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert zoo(*SMALL) == 0
    shown = capsys.readouterr()
    assert "using two photos of scikit-learn" in shown.err
    assert "a painting that comes with the zoo" in shown.err
    assert "does not apply to this run: features=auto (recipe: distilled), style_size=48 (recipe: 256)" in shown.out
    assert record(tmp_path)["data"]["train_items"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("style=paintings.png",), "No such image"),
        (("style=broken.png",), "cannot be used"),
        (("style=strip.png",), "is too narrow"),
        (("style=painting.png", "photos=nowhere"), "There is no folder"),
        (("style=painting.png", "photos=empty"), "No images in"),
        (("style=painting.png", "photos=spoilt"), "None of the photos can be used"),
        (("style=painting.png", "feature_weights=x.h5"), "There are no weights at"),
        (("style=painting.png", "features=random", "feature_weights=x.h5"), "does not use weights"),
        (("style=painting.png", "features=vgg20"), "features must be one of"),
        (("style=painting.png", "trainer.size=33"), "a multiple of 4"),
        (("style=painting.png", "model.kernel_size=4"), "must be odd"),
        (("style=painting.png", "strength.style=-1"), "strength.style must be from 0"),
        (("style=painting.png", "stack=openvino", "backend=openvino"), "cannot train"),
    ],
)
def test_mistakes_are_told_in_words(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG")
    Image.new("RGB", (500, 2)).save(tmp_path / "strip.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "spoilt").mkdir()
    (tmp_path / "spoilt" / "a.png").write_bytes(b"\x89PNG")
    assert zoo(*[each for each in arguments if each.startswith("trainer.size")] or SMALL, *arguments) == 1
    shown = capsys.readouterr().err
    assert words in shown
    assert "Traceback" not in shown


def test_the_same_seed_gives_the_same_pieces(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for number in range(3):
        Image.fromarray(random.integers(0, 255, (70, 90, 3), np.uint8)).save(tmp_path / f"{number}.png")
    files = sorted(tmp_path.glob("*.png"))

    def pieces(seed: int) -> list[np.ndarray]:
        kept: list[np.ndarray] = []

        class Kept:
            def put(self, array: np.ndarray) -> None:
                kept.append(array)

        train_network.feed(Kept(), files, 32, 2, 4, seed)  # type: ignore[arg-type]
        return kept

    assert all(np.array_equal(a, b) for a, b in zip(pieces(1), pieces(1), strict=True))
    assert not np.array_equal(pieces(1)[0], pieces(2)[0])


def test_a_lane_stays_a_few_ahead_and_ends_with_its_reader(tmp_path: Path) -> None:
    ended: list[int] = []

    def feed(queue: ArrayQueue) -> None:
        try:
            for number in range(100):
                queue.put(np.full(3, number))
        except ClosedError:
            ended.append(number)
            raise

    with ArrayQueue(tmp_path, 2, feed) as queue:
        for _ in range(3):
            queue.task_done()
    assert ended
    assert ended[0] <= 6
    assert not (tmp_path / "end").exists()
    queue.check()


def test_a_lane_tells_what_stopped_it(tmp_path: Path) -> None:
    def feed(queue: ArrayQueue) -> None:
        raise OSError(28, "No space left on device")

    with ArrayQueue(tmp_path, 2, feed) as queue:
        pass
    assert (tmp_path / "end").exists()
    with pytest.raises(ZooError, match="No space left"):
        queue.check()


def test_training_starts_from_a_network_whose_size_it_takes(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published.style_network(tmp_path / "net", filters=2, blocks=1, edge=3)
    assert zoo("style=painting.png", "weights=net", "model.filters=4", *SMALL) == 1
    assert "sets the size" in capsys.readouterr().err
    assert zoo("style=painting.png", "weights=painting.png", *SMALL) == 1
    assert zoo("style=painting.png", "weights=net", *SMALL) == 0
    saved = record(tmp_path)
    request = json.loads((saved["folder"] / "request.json").read_text())
    assert request["model"]["args"] == {"filters": 2, "blocks": 1, "kernel_size": 3, "upsampling": "transposed"}
    assert saved["data"]["starts_from"] == "net"
    assert not (saved["folder"] / "start.npz").exists()
    written = {name: value for name, value in saved.items() if name != "folder"} | {"exit": "interrupted"}
    (saved["folder"] / "run.json").write_text(json.dumps(written))
    assert main(["train", f"resume={saved['folder']}"]) == 0, "the size comes from the settings that it began with"


def test_transposed_convolutions_of_a_published_network_can_be_replaced(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published.style_network(tmp_path / "net", filters=2, blocks=1, edge=3)
    assert zoo("style=painting.png", "weights=net", "model.upsampling=nearest", *SMALL) == 0
    saved = record(tmp_path)
    request = json.loads((saved["folder"] / "request.json").read_text())
    assert request["model"]["args"]["upsampling"] == "nearest"
    written = {name: value for name, value in saved.items() if name != "folder"} | {"exit": "interrupted"}
    (saved["folder"] / "run.json").write_text(json.dumps(written))
    assert main(["train", f"resume={saved['folder']}"]) == 0, "the weights are converted again"
    shutil.rmtree(tmp_path / "runs")
    io.write(tmp_path / "new.npz", Weights(manifest.without_transposed(io.read(tmp_path / "net").arrays), "test"))
    assert zoo("style=painting.png", "weights=new.npz", "model.upsampling=transposed", *SMALL) == 1
    assert "Remove model.upsampling" in capsys.readouterr().err


def test_the_network_for_any_painting_is_not_trained(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("model=style_transfer/any", "style=painting.png", *SMALL) == 1
    assert "train style_transfer/fast" in capsys.readouterr().err
