"""Architectures of keras.applications: named by the stack's Keras, trained and used like other models."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from zoo.cli.main import main
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.environments import stacks
from zoo.tasks import registry
from zoo.tasks.image_classification.source import application

NAMES = {"EfficientNetB0": 224, "Odd": None}


@pytest.fixture
def asked(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which stacks were asked for their architectures; photos lie in the working folder."""
    names: list[str] = []
    monkeypatch.setattr(application, "asked", lambda stack, *_: names.append(stack.name) or NAMES)
    for kind in ("cat", "dog"):
        (pretending / "photos" / kind).mkdir(parents=True)
        for number in range(6):
            Image.new("RGB", (40, 40), (40 * number, 9, 9)).save(pretending / "photos" / kind / f"{number}.png")
    return names


def train(*words: str) -> int:
    return main(
        ["train", *words, "data=folder", "data.root=photos", "backend=cpu", "output.root=runs", "output.name=a"]
    )


def test_a_stack_is_asked_once_and_its_size_is_taken(asked: list[str]) -> None:
    assert train("model=keras/EfficientNetB0") == 0
    request = json.loads(Path("runs/a/request.json").read_text())
    assert request["model"]["name"] == "keras/EfficientNetB0"
    assert request["model"]["args"]["input_shape"] == [224, 224, 3]
    assert "fine_tune" not in request
    row = stacks.load("tf-2.21")
    assert application.size_of("keras/EfficientNetB0", row, "linux-x86_64") == 224
    assert asked == ["tf-2.21"]


def test_without_a_network_imagenet_is_refused_before_work_begins(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application, "SERVER", "http://127.0.0.1:9/")
    assert train("model=keras/EfficientNetB0", "weights=imagenet") == 1
    assert "downloads these weights from http://127.0.0.1:9/: it refused the connection" in capsys.readouterr().err
    assert not Path("runs/a").exists()


def test_a_size_of_the_user_s_and_imagenet_go_to_the_worker(asked: list[str], pretending: Path) -> None:
    models = pretending / "cache" / "homes" / "tf-2.21" / ".keras" / "models"
    models.mkdir(parents=True)
    (models / "efficientnetb0_notop.h5").touch()
    words = ["model=keras/EfficientNetB0", "weights=imagenet", "data.size=64", "fine_tune.unfreeze_share=0.5"]
    assert train(*words) == 0
    request = json.loads(Path("runs/a/request.json").read_text())
    assert request["model"]["args"]["input_shape"] == [64, 64, 3]
    assert (request["model"]["args"]["weights"], request.get("weights")) == ("imagenet", None)
    assert request["fine_tune"]["unfreeze_share"] == 0.5
    assert request["fine_tune"]["head_epochs"] > 0


def test_an_unknown_architecture_is_named_with_the_nearest(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("model=keras/EfficientNetBO") == 1
    assert "did you mean 'EfficientNetB0'" in capsys.readouterr().err
    assert train("model=keras/Odd") == 0
    assert "Images are resized to 64 x 64 pixels" in capsys.readouterr().err


def test_a_run_of_an_architecture_is_resumed_and_used(asked: list[str]) -> None:
    assert train("model=keras/EfficientNetB0", "data.size=64") == 0
    record = json.loads(Path("runs/a/run.json").read_text())
    Path("runs/a/run.json").write_text(json.dumps(record | {"exit": "failed"}))
    assert main(["train", "resume=runs/a"]) == 0
    np.save("x.npy", np.zeros((1, 64, 64, 3), np.uint8))
    assert main(["infer", "run=runs/a", "input=photos", "--cfg", "job"]) == 0


@pytest.mark.parametrize("model", ["keras/../../evil", "keras/a.b", "keras/", "keras/é"])
def test_a_name_is_a_plain_word(model: str) -> None:
    with pytest.raises(ZooError):
        registry.compose_settings("train", Overrides.parse([f"model={model}"]))
