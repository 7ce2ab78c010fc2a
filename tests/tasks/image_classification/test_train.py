"""What a training of images changes in the settings before it starts."""

import json
from pathlib import Path

import pytest
from PIL import Image

from zoo.cli.main import main

WORDS = [
    "train",
    "model=mobilenet",
    "data=image_table",
    "data.root=t.csv",
    "data.target=number",
    "model.input_size=32",
]


@pytest.mark.parametrize(("more", "flip"), [([], False), (["augment.flip=true"], True)])
def test_images_with_a_number_are_mirrored_only_on_request(
    pretending: Path, capsys: pytest.CaptureFixture[str], more: list[str], flip: bool
) -> None:
    for number in range(30):
        Image.new("RGB", (40, 40), (8 * number, 0, 0)).save(pretending / f"{number}.png")
    (pretending / "t.csv").write_text("\n".join(["image,angle", *(f"{n}.png,{n * 1.5}" for n in range(30))]))
    main([*WORDS, "backend=cpu", "output.name=run", *more])
    record = json.loads((pretending / "runs" / "run" / "run.json").read_text())
    assert record["config"]["augment"]["flip"] is flip
    assert ("Images are not mirrored" in capsys.readouterr().err) is not flip
