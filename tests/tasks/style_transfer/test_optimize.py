"""Style transfer on the host: pictures of every kind, where results go, what is refused before anything is built."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import CHECKOUT
from zoo.config.overrides import Overrides
from zoo.config.schemas.style_transfer import StyleConfig
from zoo.core.errors import ZooError
from zoo.data.images import files
from zoo.data.sources import bundled_photos
from zoo.tasks import registry
from zoo.tasks.style_transfer import images, inputs
from zoo.weights import feature_networks, feature_weights
from zoo.worker import png, resample
from zoo.worker.training import optimizers

BASE = ["model=style_transfer", "backend=cpu"]


def photo(path: Path, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> Path:
    """A picture of noise."""
    noise = np.random.default_rng(1).integers(0, 255, (size[1], size[0], 4), dtype=np.uint8)
    Image.fromarray(noise, "RGBA").convert(mode).save(path)
    return path


def refused(*overrides: str) -> str:
    """What is said of settings that cannot be used; nothing must have been built or written."""
    with pytest.raises(ZooError) as caught:
        registry.dispatch("train", Overrides.parse([*BASE, *overrides]))
    return f"{caught.value}"


@pytest.fixture(autouse=True)
def _elsewhere(pretending: Path) -> None:
    """No environment is built and no real worker started here."""


def test_the_defaults_are_a_photo_and_a_style_that_are_at_hand() -> None:
    assert images.opened(bundled_photos()[0], "content").pixels.shape == (427, 640, 3)
    assert {path.stem for path in inputs.PAINTING.parent.glob("*.jpg")} >= {
        "landscape", "style_waves", "style_mosaic", "style_hatching"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["strength.style=0", "strength.content=0"], "nothing to optimize"),
        (["strength.style=-1"], "strength.style must be from 0"),
        (["size=9000"], "size must be 0 or from 16"),
        (["style_weights=[1,2]"], "one for each style, 1, got 2"),
        (["styles=[a.png,b.png]", "style_weights=[0,0]"], "one of them above"),
        (["styles=[a.png]", "style=b.png"], "not both"),
        (["features=vgg99"], "features must be one of"),
        (["optimizer=sgd"], "optimizer must be one of lbfgs, adam"),
        (["content=absent.png"], "No such image (content): absent.png"),
        (["style=absent.png"], "No such image (style): absent.png"),
        (["save=out.xyz"], "Cannot write an image as"),
        (["save=absent/out.png"], "No folder"),
        (["save=/proc/out.png"], "Cannot write /proc/out.png"),
        (["output.root=/proc/none"], "Cannot create a run folder in /proc/none"),
        (["features=random", "feature_weights=x.npz"], "does not use weights"),
        (["feature_weights=absent.npz"], "There are no weights at absent.npz"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(
    settings: list[str], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert words in refused(*settings)
    assert not (tmp_path / "runs").exists()


def test_a_corrupt_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(photo(tmp_path / "whole.png").read_bytes()[:300])
    assert "broken.jpg (content) cannot be used" in refused("content=broken.jpg")
    assert "broken.jpg (style) cannot be used" in refused("content=whole.png", "style=broken.jpg")


@pytest.mark.parametrize("role", ["content", "style", "start", "masks"])
def test_a_picture_is_never_written_over_itself(tmp_path: Path, role: str) -> None:
    whole = photo(tmp_path / "mine.png")
    before = whole.read_bytes()
    (tmp_path / "link.png").symlink_to(whole)
    for name in ("mine.png", "link.png"):
        given = "[mine.png]" if role == "masks" else "mine.png"
        assert "would be overwritten" in refused(f"{role}={given}", f"save={name}", "overwrite=true")
    assert whole.read_bytes() == before


@pytest.mark.parametrize(("setting", "words"), [("content", "Cannot read"), ("save", "Cannot write")])
def test_a_folder_that_may_not_be_entered_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, words: str
) -> None:
    plain = os.stat

    def stat(path: Any, *arguments: Any, **settings: Any) -> os.stat_result:
        if "shut" in str(path):
            raise PermissionError(13, "Permission denied")
        return plain(path, *arguments, **settings)

    monkeypatch.setattr(os, "stat", stat)
    assert f"{words} {tmp_path / 'shut' / 'a.png'}: Permission denied" in refused(f"{setting}={tmp_path}/shut/a.png")


def test_a_mask_that_was_drawn_on_nothing_is_black_there(tmp_path: Path) -> None:
    photo(tmp_path / "photo.png", (4, 4))
    drawn = np.zeros((4, 4, 4), np.uint8)
    drawn[:2] = 255
    Image.fromarray(drawn, "RGBA").save(tmp_path / "mask.png")
    settings = StyleConfig(content=str(tmp_path / "photo.png"), masks=[str(tmp_path / "mask.png")])
    (mask,) = inputs.open_all(settings, None).masks
    assert mask is not None
    assert mask.tolist() == [[255] * 4] * 2 + [[0] * 4] * 2


def test_a_file_that_is_there_is_kept_unless_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo(tmp_path / "out.png")
    (tmp_path / "out_2.png").touch()
    settings = StyleConfig(save=str(tmp_path / "out.png"))
    assert inputs.target(settings, []) == tmp_path / "out_3.png"
    assert "out.png exists; the image" in capsys.readouterr().err
    settings.overwrite = True
    assert inputs.target(settings, []) == tmp_path / "out.png"
    assert "will be replaced" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "mode"), [("a.png", "RGBA"), ("b.jpg", "CMYK"), ("c.png", "L"), ("d.gif", "P"), ("e.png", "1")]
)
def test_pictures_of_every_mode_become_colours(tmp_path: Path, name: str, mode: str) -> None:
    picture = images.opened(photo(tmp_path / name, mode=mode), "content")
    assert picture.pixels.shape == (30, 40, 3)
    assert picture.pixels.dtype == np.uint8


def test_sixteen_bits_and_moving_pictures(tmp_path: Path) -> None:
    Image.fromarray(np.linspace(0, 65535, 600).astype(np.uint16).reshape(20, 30)).save(tmp_path / "deep.png")
    assert images.opened(tmp_path / "deep.png", "content").pixels[-1, -1].tolist() == [255, 255, 255]
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    picture = images.opened(tmp_path / "film.gif", "content")
    assert picture.pixels[0, 0].tolist() == [255, 0, 0]
    assert not picture.metadata.durations


def test_sizes_double_up_to_the_one_asked_for() -> None:
    assert images.sizes(512, 128) == [128, 256, 512]
    assert images.sizes(100, 128) == [100]
    assert images.sizes(500, 128) == [250, 500]
    panorama = images.fitted(np.zeros((10, 500, 3), np.uint8), 200)
    assert panorama.shape == (4, 200, 3)
    assert images.fitted(np.zeros((1, 1, 3), np.uint8), 64).shape == (64, 64, 3)


def test_colours_can_be_kept() -> None:
    content = np.full((8, 8, 3), (200, 40, 40), np.uint8)
    result = np.asarray(Image.new("RGB", (8, 8), (90, 90, 90)))
    red, green, blue = images.recoloured(result, content)[0, 0].astype(int)
    assert red - green > 80
    assert abs(0.299 * red + 0.587 * green + 0.114 * blue - 90) < 25


def test_a_sheet_and_a_film_are_made(tmp_path: Path) -> None:
    pixels = np.full((50, 3000, 3), 9, np.uint8)
    sheet = images.sheet([("content", pixels), ("result", pixels[:, :70])])
    assert sheet.shape[0] < 450
    steps = [tmp_path / f"{number}.png" for number in range(3)]
    for number, step in enumerate(steps):
        Image.new("RGB", (66, 50), (80 * number, 40, 0)).save(step)
    images.film(tmp_path / "making.gif", steps, pixels[:, :66])
    with Image.open(tmp_path / "making.gif") as film:
        assert film.n_frames == 4  # type: ignore[attr-defined]


def test_weights_tell_whose_they_are(tmp_path: Path) -> None:
    def weights(*names: str) -> Path:
        feature_weights.write(tmp_path / "w.npz", {name: np.zeros((1, 1, 1, 1), np.float32) for name in names})
        return tmp_path / "w.npz"

    vgg = ["block1_conv1/kernel", "block3_conv1/kernel"]
    assert feature_networks.choose("auto", str(weights(*vgg, "block3_conv4/kernel"))).network == "vgg19"
    assert feature_networks.choose("auto", str(weights(*vgg))).network == "vgg16"
    assert feature_networks.choose("auto", str(weights("fire2_squeeze1x1/kernel"))).network == "squeezenet"
    with pytest.raises(ZooError, match="not of VGG or SqueezeNet"):
        feature_networks.choose("auto", str(weights("dense/kernel")))
    with pytest.raises(ZooError, match="are of squeezenet, not of vgg19"):
        feature_networks.choose("vgg19", str(weights("fire2_squeeze1x1/kernel")))


def test_without_weights_the_bundled_features_judge_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert feature_networks.choose("auto", None).network == "distilled"
    assert "features=distilled" in capsys.readouterr().err


def test_the_workers_png_is_a_png(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (13, 7, 3)).astype(np.float32)
    png.write(str(tmp_path / "a.png"), pixels)
    assert np.array_equal(images.opened(tmp_path / "a.png", "x").pixels, pixels.astype(np.uint8))


def test_a_full_disk_leaves_the_picture_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    png.write(str(path), np.zeros((4, 4, 3)))
    before = path.read_bytes()

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        png.write(str(path), np.ones((4, 4, 3)))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.glob("*.png*")] == ["a.png"]


def test_padding_mirrors_and_resizing_keeps_flat_pictures_flat() -> None:
    small = np.arange(3, dtype=np.float32).reshape(1, 3, 1)
    padded = resample.pad(small, 4, 8, 2)
    assert padded.shape == (8, 8, 1)
    assert padded[0, :, 0].tolist() == [1, 0, 0, 1, 2, 2, 1, 0]
    flat = resample.resize(np.full((5, 9, 3), 7.0, np.float32), 11, 4)
    assert flat.shape == (11, 4, 3)
    assert np.allclose(flat, 7.0)


@pytest.mark.parametrize("way", [optimizers.lbfgs, optimizers.adam])
def test_both_ways_lead_down(way: Any) -> None:
    bend = np.array([1.0, 30.0, 4.0, 0.5], np.float32)

    def bowl(x: Any) -> Any:
        return [float((bend * (x - 3) ** 2).sum())], 2 * bend * (x - 3)

    seen: list[float] = []
    lowest = way(bowl, np.array([9.0, -5, 20, 0], np.float32), 80, 1.0, lambda step, x, terms: seen.append(terms[0]))
    assert seen[-1] < seen[0] / 50
    if way is optimizers.lbfgs:
        assert np.allclose(lowest, 3, atol=1e-2)


def test_a_loss_that_is_no_number_stops() -> None:
    with pytest.raises(FloatingPointError, match="at step 1"):
        optimizers.adam(lambda x: ([float("nan")], x), np.ones(2, np.float32), 5, 1.0, lambda *_: False)


def test_the_script_says_the_zoos_words() -> None:
    completed = subprocess.run(
        [sys.executable, str(CHECKOUT / "scripts" / "style_transfer.py"), "--help"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "--content" in completed
    settings = registry.compose_settings(
        "train", Overrides.parse([*BASE, "styles=['it\\'s, mine.jpg','b.jpg']", "content=my, file.jpg"])
    )
    assert isinstance(settings, StyleConfig)
    assert settings.styles == ["it's, mine.jpg", "b.jpg"]
    assert settings.content == "my, file.jpg"


def test_exif_stays_with_what_is_saved(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "a day at the sea"
    exif[0x0112] = 6
    Image.new("RGB", (12, 8), "red").save(tmp_path / "turned.jpg", exif=exif)
    picture = images.opened(tmp_path / "turned.jpg", "content")
    assert picture.pixels.shape == (12, 8, 3)
    files.write(tmp_path / "out.jpg", [picture.pixels], picture.metadata)
    with Image.open(tmp_path / "out.jpg") as saved:
        assert saved.getexif().get(0x010E) == "a day at the sea"
        assert saved.getexif().get(0x0112) in (None, 1)


def test_transparency_stays_with_what_is_saved(tmp_path: Path) -> None:
    alpha = Image.linear_gradient("L").resize((12, 8))
    red = Image.new("RGBA", (12, 8), "red")
    red.putalpha(alpha)
    red.save(tmp_path / "clear.png")
    picture = images.opened(tmp_path / "clear.png", "content")
    files.write(tmp_path / "out.png", [images.fitted(picture.pixels, 24)], picture.metadata)
    with Image.open(tmp_path / "out.png") as saved:
        assert saved.mode == "RGBA"
        assert np.abs(np.asarray(saved.getchannel("A").resize((12, 8)), int) - np.asarray(alpha, int)).max() < 24


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--style", "a.jpg", "--strength", "2"], ["train", "strength.style=2.0", "style=a.jpg"]),
        (["--features", "random", "--keep-colors"], ["train", "features=random", "colors=content"]),
        (["weights=net", "--strength", "0.5"], ["infer", "weights=net", "strength=0.5"]),
        (["--way", "any", "--style", "a.jpg", "--size", "400"], ["infer", "model=style_transfer/any", "size=400"]),
        (["--style", "a.jpg", "--download", "no"], ["train", "download=no", "style=a.jpg"]),
        (["--way", "network", "--content", "b.jpg"], ["weights=zoo", "input=b.jpg"]),
    ],
)
def test_the_script_turns_its_options_into_settings(options: list[str], words: list[str]) -> None:
    script = runpy.run_path(str(CHECKOUT / "scripts" / "style_transfer.py"))
    said = script["settings"](script["parse"](options))
    assert not [word for word in words if word not in said], said


@pytest.mark.parametrize(
    ("options", "model"),
    [
        ([], "style_transfer/any"),
        (["--size", "400", "colors=content", "backend=cpu"], "style_transfer/any"),
        (["--steps", "3"], "style_transfer"),
        (["strength.style=2"], "style_transfer"),
        (["masks=[m.png]"], "style_transfer"),
    ],
)
def test_the_script_prefers_one_pass_with_downloaded_networks(
    options: list[str],
    model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    folder = tmp_path / "downloads" / "style_any"
    folder.mkdir(parents=True)
    for name in ("style_predict_quantized_256.tflite", "style_transfer_f16_384.tflite"):
        (folder / name).touch()
    script = runpy.run_path(str(CHECKOUT / "scripts" / "style_transfer.py"))
    assert f"model={model}" in script["settings"](script["parse"](["--style", "a.jpg", *options]))
    assert ("--way optimize" in capsys.readouterr().err) == (model == "style_transfer/any")


@pytest.mark.parametrize(
    ("options", "model", "line"),
    [
        ([], "fast", "Way: network, because no --style is given. --style FILE uses your painting"),
        (["weights=net"], "fast", "Way: network, because weights= names a network"),
        (
            ["--style", "a.jpg", "weights=folder"],
            "any",
            "Way: any, because weights= gives its networks. --way optimize",
        ),
        (["styles=[a.jpg,b.jpg]", "weights=folder"], "any", "Way: any, because"),
        (["--style", "a.jpg"], "train", "Way: optimize, because the networks of --way any are missing. --download yes"),
        (["--steps", "3"], "train", "Way: optimize, because only this way has --steps. Without it, --way network"),
        (["--style", "a.jpg", "masks=[m.png]"], "train", "Way: optimize, because only this way has masks"),
    ],
)
def test_the_script_names_its_way_the_reason_and_an_alternative(
    options: list[str],
    model: str,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    script = runpy.run_path(str(CHECKOUT / "scripts" / "style_transfer.py"))
    words = script["settings"](script["parse"](options))
    assert model in (words[0], words[1].partition("/")[2])
    assert capsys.readouterr().err.startswith(line)


def test_the_painting_of_a_command_without_one_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    refused("strength.style=0", "strength.content=1", "start=nowhere.png")
    assert "style_waves.jpg; style=FILE selects another painting" in capsys.readouterr().err
