"""Restyling: the host's half with a worker that inverts colours, and half precision on OpenVINO."""

import json
import os
import shutil
import subprocess
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
from zoo.data.images import video
from zoo.execution import watchdog
from zoo.protocol.events import Event, StepEvent
from zoo.tasks.style_transfer import export, pipeline

Zoo = Callable[..., int]


@pytest.fixture
def zoo(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    """The command line in an empty folder that holds a small published network, ``net``."""
    monkeypatch.setattr(paths, "WORKER", SUPPORT / "fake_style_worker.py")
    published.style_network(pretending / "net")

    def run(*arguments: str) -> int:
        return main(["infer", "model=style_transfer/fast", "weights=net", *arguments])

    return run


def photo(path: Path, level: int = 10, size: tuple[int, int] = (30, 20)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (level, level, level)).save(path)
    return path


def level(path: Path) -> int:
    return int(np.asarray(Image.open(path).convert("RGB"))[0, 0, 0])


def record(root: Path) -> dict[str, Any]:
    (folder,) = (root / "runs").iterdir()
    content: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return content


def test_a_picture_goes_into_the_run_folder(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo(tmp_path / "a b,c=1.png")
    assert zoo("input=a b,c=1.png") == 0
    saved = record(tmp_path)
    (result,) = saved["results"]
    assert level(Path(result)) == 245
    assert saved["exit"] == "completed"
    assert saved["model"] == "style_transfer/fast"
    assert result in capsys.readouterr().out
    assert not [each for each in Path(result).parent.iterdir() if each.is_dir()]  # nothing of the way is left


def test_the_suffix_gives_the_format_and_nothing_is_written_over_unasked(zoo: Zoo, tmp_path: Path) -> None:
    photo(tmp_path / "a.png")
    assert zoo("input=a.png", "save=out/b.webp") == 0
    assert Image.open(tmp_path / "out" / "b.webp").format == "WEBP"
    before = (tmp_path / "out" / "b.webp").read_bytes()
    photo(tmp_path / "a.png", 200)
    assert zoo("input=a.png", "save=out/b.webp") == 1
    assert (tmp_path / "out" / "b.webp").read_bytes() == before
    assert zoo("input=a.png", "save=out/b.webp", "overwrite=true") == 0
    assert abs(level(tmp_path / "out" / "b.webp") - 55) < 3
    assert zoo("input=a.png", "save=a.png", "overwrite=true") == 1
    assert level(tmp_path / "a.png") == 200


def test_a_folder_is_done_piece_by_piece_and_what_is_damaged_is_told(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        photo(tmp_path / "in" / f"{number:02}.png", number)
    photo(tmp_path / "in" / "below" / "x.ppm", 99)
    (tmp_path / "in" / "05.png").write_bytes(b"\x89PNG nothing")
    assert zoo("input=in", "save=out") == 0
    saved = record(tmp_path)
    assert saved["metrics"]["written"] == 12
    assert saved["metrics"]["most_waiting"] <= pipeline.AHEAD
    assert [Path(name).name for name, _ in saved["data"]["skipped"]] == ["05.png"]
    assert level(tmp_path / "out" / "07.png") == 248
    assert level(tmp_path / "out" / "below" / "x.ppm.png") == 156
    assert "05.png" in capsys.readouterr().err


def test_a_film_stays_a_film(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = [Image.new("RGB", (30, 20), (shade,) * 3) for shade in (0, 80, 160)]
    images[0].save(tmp_path / "a.gif", save_all=True, append_images=images[1:], duration=[50, 60, 70], loop=0)
    assert zoo("input=a.gif", "save=b.gif") == 0
    film = Image.open(tmp_path / "b.gif")
    assert film.n_frames == 3
    film.seek(2)
    assert abs(int(np.asarray(film.convert("RGB"))[0, 0, 0]) - 95) <= 2
    assert film.info["duration"] == 70
    assert zoo("input=a.gif", "save=b.jpg") == 0
    assert "only the first frame" in capsys.readouterr().err


def test_transparency_stays_and_the_time_is_told_for_each_megapixel(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("RGBA", (30, 20), (10, 10, 10, 0)).save(tmp_path / "a.png")
    assert zoo("input=a.png", "save=b.png") == 0
    assert Image.open(tmp_path / "b.png").convert("RGBA").getpixel((5, 5))[3] == 0
    assert "s per megapixel" in capsys.readouterr().out


def test_asked_to_stop_it_keeps_what_is_done(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import signal

    for number in range(6):
        photo(tmp_path / "in" / f"{number}.png", number)
    plain = pipeline.ImagePipeline.take

    def take(self: pipeline.ImagePipeline, event: Event) -> None:
        plain(self, event)
        if isinstance(event, StepEvent):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setenv("FAKE_WORKER", "slow")
    monkeypatch.setattr(pipeline.ImagePipeline, "take", take)
    monkeypatch.setattr(watchdog, "INTERRUPT_GRACE_S", 5.0)
    assert zoo("input=in", "save=out") == 130
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["0.png", "1.png"]
    assert record(tmp_path)["exit"] == "interrupted"
    assert "Interrupted after 2 of 6" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("input=nowhere.png",), "There is no file or folder"),
        (("input=empty",), "No images in"),
        (("input=broken.jpg",), "cannot be used"),
        (("input=a.png", "save=b.xyz"), "End the name in"),
        (("input=a.png", "run=last"), "Both run= and weights="),
        (("input=a.png", "model.filters=3"), "The weights determine"),
        (("input=a.png", "weights=a.png"), "is refused"),
        (("input=a.png", "weights=other.npz"), "not a feed-forward style network"),
        (("input=a.png", "tile=1"), "tile must be from 64"),
        (("input=a.png", "precision=half"), "precision must be one of float32, bfloat16, float16"),
        (("input=empty", "save=a.png"), "a.png"),
        (("input=a.png", "save=a.png/b.png"), "Not a directory"),
        (("input=a.png", "save=/proc/none/b.png"), "Choose a place you can write: save=PATH"),
        (("input=film.mp4",), "ffmpeg"),
        (("input=photo.heic",), "sips -s format jpeg photo.heic --out photo.jpg"),
        ((), "input is missing"),
    ],
)
@pytest.mark.usefixtures("without_heif")
def test_mistakes_are_told_in_words(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    photo(tmp_path / "a.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    np.savez(tmp_path / "other.npz", **{"dense/kernel": np.zeros((2, 2), np.float32)})
    (tmp_path / "film.mp4").write_bytes(b"\0\0\0\x20ftypisom" + bytes(50))
    (tmp_path / "photo.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(50))
    if "save=a.png" in arguments:
        photo(tmp_path / "empty" / "x.png")
    assert zoo(*arguments) == 1
    shown = capsys.readouterr().err
    assert words in shown
    assert "Traceback" not in shown
    assert ".heic," not in shown
    assert level(tmp_path / "a.png") == 10
    assert not (tmp_path / "runs").exists()


def test_no_room_for_the_results_is_told(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Image.Image, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for number in range(3):
        photo(tmp_path / "in" / f"{number}.png")
    monkeypatch.setattr(Image.Image, "save", full)
    assert zoo("input=in", "save=out") == 1
    assert "No space left" in capsys.readouterr().err
    assert record(tmp_path)["exit"] == "failed"


@pytest.mark.stacks("openvino")
def test_half_as_many_bits_shift_a_picture_by_less_than_a_grey_level(tmp_path: Path, shared_data: Path) -> None:
    if "avx512_bf16" not in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"):
        pytest.skip("this CPU has no instructions for bfloat16")
    with Image.open(shared_data / "style" / "golden_gate.jpg") as image:
        image.convert("RGB").resize((320, 240)).save(tmp_path / "a.png")
    shown = {}
    for precision in ("float32", "bfloat16"):
        overrides = [
            "infer",
            "model=style_transfer/fast",
            f"weights={shared_data / 'faststyle' / 'wave'}",
            "stack=openvino",
        ]
        overrides += [f"input={tmp_path / 'a.png'}", f"save={tmp_path / precision}.png", f"precision={precision}"]
        assert main([*overrides, f"output.root={tmp_path}", "backend.probes=false"]) == 0
        shown[precision] = np.asarray(Image.open(tmp_path / f"{precision}.png"), np.float32)
    difference = np.abs(shown["float32"] - shown["bfloat16"])
    assert 0 < difference.mean() < 0.5
    assert difference.max() < 20


def test_results_have_the_size_that_is_asked_for(zoo: Zoo, tmp_path: Path) -> None:
    photo(tmp_path / "a.png", size=(60, 40))
    assert zoo("input=a.png", "save=b.png", "size=30") == 0
    assert Image.open(tmp_path / "b.png").size == (30, 20)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("strength=1.5",), "strength"),
        (("size=3",), "size"),
        (("colors=red",), "colors"),
        (("style=b.png",), "style= is for model=style_transfer/any"),
        (("model=style_transfer/any",), "give either style=PAINTING"),
        (("model=style_transfer/any", "style=b.png", "styles=[b.png]"), "give either style=PAINTING"),
        (("model=style_transfer/any", "styles=[b.png,b.png]", "style_weights=[1]"), "one for each style"),
        (("model=style_transfer/any", "style=b.png", "style_weights=[0]"), "one of them above"),
        (("model=style_transfer/any", "style=c.png"), "does not contain networks for style in one pass"),
    ],
)
def test_wrong_styles_are_told(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    photo(tmp_path / "a.png")
    photo(tmp_path / "b.png")
    assert zoo("input=a.png", *arguments) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_no_result_is_written_over_a_picture_that_is_read_or_over_another(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("in/x.png", "in/sub/x.png"):
        photo(tmp_path / name)
    before = (tmp_path / "in" / "sub" / "x.png").read_bytes()
    assert zoo("input=in", "save=in/sub", "overwrite=true") == 1
    assert "is an input and would be overwritten" in capsys.readouterr().err
    assert (tmp_path / "in" / "sub" / "x.png").read_bytes() == before
    (tmp_path / "two").mkdir()
    for name in ("x.ppm", "x.ppm.png"):  # a format that is not written gets .png behind its name
        Image.new("RGB", (20, 20)).save(tmp_path / "two" / name, "PPM" if name == "x.ppm" else "PNG")
    assert zoo("input=two", "save=out") == 1
    assert "Two results would have the name" in capsys.readouterr().err


def test_videos_need_ffmpeg_and_the_user_is_told(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.mp4").write_bytes(b"not looked at")
    monkeypatch.setattr(video.shutil, "which", lambda *_, **__: None)
    assert zoo("input=a.mp4", "save=b.mp4") == 1
    assert "Install ffmpeg" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_a_video_keeps_its_frames_and_its_sound(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["-f", "lavfi", "-i", "color=black:size=50x31:rate=10:duration=1", "-f", "lavfi"]
    command += ["-i", "sine=duration=1", "-pix_fmt", "yuv444p", "-y", str(tmp_path / "a.mp4")]
    subprocess.run(["ffmpeg", "-loglevel", "error", *command], check=True)
    assert zoo("input=a.mp4", "save=b.mp4") == 0
    shown = ["-show_entries", "stream=codec_type,nb_frames", "-of", "csv=p=0", str(tmp_path / "b.mp4")]
    answer = subprocess.run(["ffprobe", "-loglevel", "error", *shown], capture_output=True, text=True, check=True)
    assert answer.stdout.split()[0] == "video,10"
    assert "audio" in answer.stdout
    (frame, *_) = video.frames(video.opened(tmp_path / "b.mp4"))
    assert frame.mean() > 245  # the worker turned black into white
    (tmp_path / "c.mp4").write_bytes(b"no video")
    assert zoo("input=c.mp4", "save=d.mp4") == 1
    assert "cannot be used" in capsys.readouterr().err
    assert zoo("input=a.mp4", "save=e.png") == 1
    assert "Videos cannot be written" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_films_of_ten_bits_are_read_and_what_a_damaged_one_lacks_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    film = tmp_path / "a.mkv"
    source = ["-f", "lavfi", "-i", "testsrc=size=160x120:rate=10:duration=2"]
    subprocess.run(
        ["ffmpeg", "-loglevel", "error", *source, "-c:v", "ffv1", "-pix_fmt", "yuv420p10le", film], check=True
    )
    frames = list(video.frames(video.opened(film)))
    assert [frame.shape for frame in frames] == [(120, 160, 3)] * 20
    assert "damaged" not in capsys.readouterr().err
    film.write_bytes(film.read_bytes()[: film.stat().st_size * 3 // 4])
    fewer = len(list(video.frames(video.opened(film))))
    assert 0 < fewer < 20
    assert f"a.mkv may be damaged: {fewer} frames were read" in capsys.readouterr().err


def test_an_export_passes_over_pictures_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(2):
        photo(tmp_path / "in" / f"{number}.png", size=(300, 200))
    (tmp_path / "in" / "00.jpg").write_bytes(b"no picture")
    photo(tmp_path / "in" / "strip.png", size=(2000, 20))
    (tmp_path / "arrays").mkdir()
    arrays = export._pictures(str(tmp_path / "in"), tmp_path / "arrays", 10).pictures
    assert [np.load(path).shape for path in arrays] == [(168, 256, 3), (128, 192, 3)]
    shown = capsys.readouterr().err
    assert "00.jpg (input) cannot be used" in shown
    assert "strip.png is a strip" in shown
    with pytest.raises(ZooError, match="No usable images"):
        export._pictures(str(tmp_path / "in" / "00.jpg"), tmp_path / "arrays", 10)
