"""Pictures through `zoo infer`, with a worker that takes the mean grey of a picture for its class."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.data.images.test_decode import bomb
from tests.support import CHECKOUT, SUPPORT
from tests.support.weight_samples import mobilenet
from tests.weights.test_saved_models import archive, config, layer
from zoo.cli.main import main
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.protocol.events import BatchEvent, Event
from zoo.tasks import registry
from zoo.tasks.image_classification import contact_sheet, photo_stream
from zoo.weights import io as weights_io
from zoo.weights.class_names import choose as names_of

Zoo = Callable[..., int]
MODEL = ("infer", "model=mobilenet", "model.alpha=0.25", "model.input_size=32")


@pytest.fixture
def zoo(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    weights_io.write(pretending / "w.npz", mobilenet())

    def run(*arguments: str, script: str = "ok") -> int:
        monkeypatch.setenv("FAKE_WORKER", script)
        return main([*MODEL, "weights=w.npz", *arguments])

    return run


def photo(path: Path, grey: int, size: tuple[int, int] = (50, 40)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (grey, grey, grey)).save(path)
    return path


def only_run(folder: Path) -> Path:
    (only,) = (folder / "runs").iterdir()
    return only


def record(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return content


def rows(folder: Path, name: str = "predictions.csv") -> list[dict[str, str]]:
    with (folder / name).open(newline="", encoding="utf-8") as source:
        return list(csv.DictReader(source))


def test_a_folder_with_all_that_folders_hold(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    greys = {"a b.png": 1, "sub/ünï 日本.bmp": 22, "z.png": 250}
    for name, grey in greys.items():
        photo(tmp_path / "in" / name, grey)
    (tmp_path / "in" / "text.jpg").write_text("no picture")
    (tmp_path / "in" / "empty.png").touch()
    bomb(tmp_path / "in" / "bomb.png", 20_000)
    (tmp_path / "in" / "cut.png").write_bytes((tmp_path / "in" / "z.png").read_bytes()[:60])
    assert zoo("input=in", "batch_size=2") == 0
    folder, names = only_run(tmp_path), names_of(None, tmp_path / "w.npz", 1000)
    inputs_shown = rows(folder)
    assert [(row["input"], row["class"]) for row in inputs_shown] == [
        (name, names[grey]) for name, grey in greys.items()
    ]
    assert {row["probability"] for row in inputs_shown} == {"0.75"}
    assert list(inputs_shown[0])[-2:] == ["class_5", "probability_5"]
    entries = json.loads((folder / "predictions.json").read_text(encoding="utf-8"))
    assert [entry["top"][0]["class"] for entry in entries] == list(greys.values())
    assert [len(entry["top"]) for entry in entries] == [5, 5, 5]
    assert {row["input"]: row["reason"][:20] for row in rows(folder, "skipped.csv")} == {
        "bomb.png": "it has more than 89,",
        "cut.png": "it is damaged or of ",
        "empty.png": "the file is empty",
        "text.jpg": "it is not an image o",
    }
    kept = record(folder)
    assert kept["exit"] == "completed"
    assert (kept["data"]["items"], kept["data"]["skipped_items"]) == (3, 4)
    assert kept["metrics"]["end_to_end_items_per_s"] > 0
    assert kept["weights"]["sha256"]
    assert not list(folder.glob("*.ring"))
    with Image.open(folder / "contact_sheet_01.png") as sheet:
        assert len(sheet.convert("RGB").getcolors(1 << 20) or []) > 20
    shown = capsys.readouterr()
    assert "│ a b.png" in shown.out
    assert "skipped.csv: 4" in shown.out
    assert "Skipped text.jpg: it is not an image" in shown.err


def test_names_that_cannot_be_printed(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["a\nb.png", "c\x1b[31m.png", os.fsdecode(b"d\xff.png")]
    for number, name in enumerate(names):
        photo(tmp_path / "in" / "x.png", number).rename(tmp_path / "in" / name)
    (tmp_path / "in" / os.fsdecode(b"\xfe.png")).touch()
    assert zoo("input=in") == 0
    shown_names = [row["input"] for row in rows(only_run(tmp_path))]
    assert shown_names == ["a\\nb.png", "c\\x1b[31m.png", "d\\udcff.png"]
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "Skipped \\udcfe.png" in shown.err


def test_a_folder_that_may_not_be_listed_is_told(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photo(tmp_path / "in" / "a.png", 3)
    (tmp_path / "in" / "shut").mkdir()
    plain = os.scandir

    def scandir(path: Any = ".") -> Any:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert zoo("input=in") == 0
    (row,) = rows(only_run(tmp_path), "skipped.csv")
    assert row["input"].endswith("in/shut")
    assert row["reason"] == "Permission denied"
    with pytest.raises(ZooError, match="Permission denied"):
        photo_stream.listed(str(tmp_path / "in" / "shut"))


def test_large_pictures_do_not_cover_each_other_on_a_sheet(tmp_path: Path) -> None:
    entries = [contact_sheet.Entry(np.full((300, 300, 3), 9, np.uint8), "a", []) for _ in range(2)]
    contact_sheet.draw(entries, "two", tmp_path / "sheet.png")
    sheet = np.asarray(Image.open(tmp_path / "sheet.png").convert("L"))
    row = sheet[sheet.shape[0] // 2]
    assert (row == 9).sum() == 2 * contact_sheet.CELL


def test_sheets_have_pages_and_an_end(zoo: Zoo, tmp_path: Path) -> None:
    for number in range(47):
        photo(tmp_path / "in" / f"{number:02}.png", number)
    assert zoo("input=in", "sheets=2", "probabilities=true", "batch_size=7") == 0
    folder = only_run(tmp_path)
    assert sorted(path.name for path in folder.glob("*sheet*")) == ["contact_sheet_01.png", "contact_sheet_02.png"]
    whole = np.load(folder / "probabilities.npy")
    assert whole.shape == (47, 1000)
    np.testing.assert_array_equal(whole.argmax(axis=1), np.arange(47))
    assert [row["input"] for row in rows(folder)] == [f"{number:02}.png" for number in range(47)]


def _standard_input(*paths: object) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(b"".join(os.fsencode(str(path)) + b"\n" for path in paths)))


def test_paths_from_standard_input(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = photo(tmp_path / "a, [b]=c.png", 3), photo(tmp_path / "d.png", 4)
    monkeypatch.setattr(sys, "stdin", _standard_input(first, "", tmp_path / "gone.png", "https://host/a.png", second))
    assert zoo("input=-", "sheets=0") == 0
    folder = only_run(tmp_path)
    assert [row["input"] for row in rows(folder)] == [str(first), str(second)]
    gone = [str(tmp_path / "gone.png"), "https://host/a.png"]
    assert rows(folder, "skipped.csv") == [{"input": name, "reason": "there is no such file"} for name in gone]
    assert not list(folder.glob("*.png"))


@pytest.mark.usefixtures("without_heif")
def test_a_name_that_is_no_text_in_a_reason(zoo: Zoo, tmp_path: Path) -> None:
    photo(tmp_path / "in" / "a.png", 3)
    (tmp_path / "in" / os.fsdecode(b"\xe4.jpg")).write_bytes(b"\0\0\0\x18ftypheic" + bytes(200))
    assert zoo("input=in", "sheets=0") == 0
    (row,) = rows(only_run(tmp_path), "skipped.csv")
    assert "it is HEIC" in row["reason"]


def test_paths_that_are_no_text(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    photo(tmp_path / "a.png", 3).rename(tmp_path / os.fsdecode(b"\xe4.png"))
    monkeypatch.setattr(sys, "stdin", _standard_input(tmp_path / os.fsdecode(b"\xe4.png")))
    assert zoo("input=-", "sheets=0") == 0
    assert [row["input"][-10:] for row in rows(only_run(tmp_path))] == ["\\udce4.png"]


@pytest.fixture
def ages(pretending: Path) -> Path:
    """A saved network that was compiled with mse and ends in one number."""
    tree = config(layer("Flatten", name="f"))
    tree["config"]["layers"][-1]["config"] |= {"units": 1, "activation": "linear"}
    return archive(pretending / "ages.keras", tree | {"compile_config": {"loss": "mse"}})


def test_numbers_are_shown_as_numbers(ages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, gray in (("30", 30), ("41", 40)):
        photo(tmp_path / "photos" / name / "a.png", gray)
    words = ["model=ages.keras", "scale=none", "backend=cpu"]
    assert main(["infer", *words, f"input={tmp_path / 'photos' / '30'}", "output.name=a"]) == 0
    assert rows(tmp_path / "runs" / "a") == [{"input": "a.png", "number": "30"}]
    shown = capsys.readouterr().out
    assert "class" not in shown
    assert record(tmp_path / "runs" / "a")["data"]["numbers"] == ["number"]
    assert main(["evaluate", *words, "data.root=photos", "output.name=b"]) == 0
    metrics = record(tmp_path / "runs" / "b")["metrics"]
    assert (metrics["test_mae"], metrics["test_r2"] < 1) == (0.5, True)
    assert "Largest error 1" in capsys.readouterr().out


def test_the_scale_of_a_network_is_printed_and_a_contradiction_names_the_layer(
    pretending: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive(tmp_path / "a.keras", config(layer("Rescaling", scale=1 / 255, name="to_unit"), layer("Flatten", name="f")))
    photo(tmp_path / "photos" / "a.png", 3)
    words = ["infer", "model=a.keras", "input=photos", "backend=cpu"]
    assert main([*words, "scale=0..1"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "scale=0..1 contradicts a.keras: its layer 'to_unit' scales pixels itself" in said
    assert "use scale=none" in said
    assert main(words) == 0
    assert "scale=none: the layer 'to_unit' of a.keras scales pixels" in capsys.readouterr().err


def test_numbers_have_no_classes(ages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo(tmp_path / "photos" / "old" / "a.png", 30)
    photo(tmp_path / "photos" / "new" / "a.png", 30)
    words = ["model=ages.keras", "scale=none", "backend=cpu"]
    for more, said in (
        (["infer", "input=photos", "top=3"], "top has no effect with ages.keras, which predicts numbers"),
        (["evaluate", "data.root=photos"], "but a folder name is not a number"),
        (["evaluate", "data=digits"], "predicts numbers, not classes"),
    ):
        assert main([more[0], *words, *more[1:]]) == 1
        assert said in " ".join(capsys.readouterr().err.split())


def test_one_picture(zoo: Zoo, tmp_path: Path) -> None:
    photo(tmp_path / "one.png", 7)
    assert zoo("input=one.png") == 0
    request = json.loads((only_run(tmp_path) / "request.json").read_text())
    assert request["stream"]["shape"][1:] == [1, 32, 32, 3]
    assert request["model"]["args"]["classes"] == 1000


def test_what_the_file_tells_is_taken_and_recorded(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo(tmp_path / "one.png", 1)
    weights_io.write(tmp_path / "half.npz", mobilenet(0.5, 2))
    (tmp_path / "labels.txt").write_text("no person\nperson\n")
    arguments = ["infer", "model=mobilenet", "weights=half.npz", "input=one.png", "scale=0..1", "top=1"]
    assert main([*arguments, "output.name=a"]) == 0
    folder = tmp_path / "runs" / "a"
    request = json.loads((folder / "request.json").read_text())["model"]["args"]
    assert (request["alpha"], request["classes"], request["input_size"]) == (0.5, 2, 224)
    assert request["normalise"] == [[0.0] * 3, [255.0] * 3]
    assert record(folder)["config"]["model"]["alpha"] == 0.5
    assert list(rows(folder)[0]) == ["input", "class", "probability"]
    assert rows(folder)[0]["class"] == "person"
    assert (
        "half.npz contains mobilenet (alpha=0.5) with 2 classes; taken from it: model.alpha=0.5"
        in capsys.readouterr().err
    )
    (tmp_path / "other.json").write_text('{"yes": 1, "no": 0}')
    assert main([*arguments, "output.name=b", "classes=other.json"]) == 0
    assert rows(tmp_path / "runs" / "b")[0]["class"] == "yes"


@pytest.mark.parametrize(
    ("scale", "mean", "deviation"),
    [
        ("-1..1", [127.5] * 3, [127.5] * 3),
        ("imagenet", [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]),
        ("none", [0.0] * 3, [1.0] * 3),
    ],
)
def test_a_scale_is_the_mean_and_the_deviation_of_pixels(
    zoo: Zoo, tmp_path: Path, scale: str, mean: list[float], deviation: list[float]
) -> None:
    photo(tmp_path / "one.png", 1)
    weights_io.write(tmp_path / "half.npz", mobilenet(0.5, 2))
    arguments = ["infer", "model=mobilenet", "weights=half.npz", "input=one.png", f"scale={scale}", "output.name=a"]
    assert main(arguments) == 0
    request = json.loads((tmp_path / "runs" / "a" / "request.json").read_text())
    assert request["model"]["args"]["normalise"] == [mean, deviation]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("weights=top.npz",),
            "contains mobilenet (alpha=0.25), but cannot classify: it contains no top",
        ),
        (("weights=half.npz", "model.alpha=0.25"), "not model.alpha=0.25"),
        (("weights=half.npz", "classes=three.txt"), "three.txt names 3 classes, but the network has 2"),
        (("weights=half.npz", "classes=gone.txt"), "There is no file or folder gone.txt"),
        (("weights=https://example.org/w.h5",), "https://example.org/w.h5 is an address"),
        (("weights=half.npz", "input=http://example.org/a b.jpg"), "curl -LO 'http://example.org/a b.jpg'"),
        (("weights=half.npz", "top=0"), "top must be from 1 to 1,000"),
        (("weights=half.npz", "scale=0..2"), "scale must be one of 0..1, -1..1, imagenet, none"),
    ],
)
def test_what_cannot_be_asked_of_a_file_is_told_before_anything_is_built(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    photo(tmp_path / "one.png", 1)
    weights_io.write(tmp_path / "half.npz", mobilenet(0.5, 2))
    weights_io.write(tmp_path / "top.npz", mobilenet(0.25, None))
    (tmp_path / "three.txt").write_text("a\nb\nc\n")
    assert main(["infer", "model=mobilenet", "input=one.png", *arguments]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_probabilities_are_numbers_from_python(zoo: Zoo, tmp_path: Path) -> None:
    photo(tmp_path / "one.png", 3)
    arguments = [*MODEL[1:], "weights=w.npz", "input=one.png", "top=7"]
    (row,) = registry.dispatch("infer", Overrides.parse(arguments)).predictions
    assert row["probability"] == 0.75
    assert [key for key in row if key.startswith("class_")] == [f"class_{rank}" for rank in range(2, 8)]
    assert all(isinstance(row[f"probability_{rank}"], float) for rank in range(2, 8))
    assert isinstance(row["class"], str)


def test_ctrl_c_keeps_what_is_done(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        photo(tmp_path / "in" / f"{number:02}.png", number)
    plain = photo_stream.PhotoStream.event

    def event(feed: photo_stream.PhotoStream, said: Event) -> None:
        plain(feed, said)
        if isinstance(said, BatchEvent):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    monkeypatch.setattr(photo_stream.PhotoStream, "event", event)
    assert zoo("input=in", "batch_size=4", script="slow") == 130
    folder = only_run(tmp_path)
    assert record(folder)["exit"] == "interrupted"
    assert [row["input"] for row in rows(folder)] == ["00.png", "01.png", "02.png", "03.png"]
    assert len(json.loads((folder / "predictions.json").read_text())) == 4
    assert (folder / "contact_sheet_01.png").is_file()
    assert not list(folder.glob("*.ring"))


def test_a_worker_that_dies_is_told_and_leaves_nothing(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo(tmp_path / "one.png", 7)
    assert zoo("input=one.png", script="crash") == 1
    assert "something in C went wrong" in capsys.readouterr().err
    assert not list(only_run(tmp_path).glob("*.ring"))


def test_nothing_to_see(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.jpg").write_text("text")
    photo(tmp_path / "photo.png", 1)
    for source, words in {
        "input=empty": "No images in empty",
        "input=photo.pgn": "did you mean 'photo.png'",
        "input=bad": "No usable images",
    }.items():
        assert zoo(source) == 1
        assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["model=mobilenet", "input=x"], "weights is missing"),
        (["input=x"], "run is missing: give run=RUN_FOLDER"),
        (["model=mobilenet", "weights=w.npz", "run=r", "input=x"], "has its own model and weights"),
        (["model=mobilenet", "weights=w.npz"], "input is missing"),
        (["model=mobilnet", "weights=w.npz", "input=x"], "did you mean 'mobilenet'"),
        (["model=mobilenet", "weights=w.npz", "input=x", "resize=squeeze"], "resize must be one of stretch"),
        (["model=mobilenet", "weights=w.npz", "input=x", "precision=int8"], "precision must be one of auto, float32"),
        (["model=mnist", "weights=w.npz", "input=x"], "mnist does not accept photos"),
        (["model=mobilenet_v2", "weights=w.npz", "input=x"], "Give model=mobilenet."),
    ],
)
def test_settings_that_make_no_sense(zoo: Zoo, overrides: list[str], words: str) -> None:
    with pytest.raises(ZooError) as error:
        registry.dispatch("infer", Overrides.parse(overrides))
    assert words in str(error.value)


def test_the_fastest_stack_is_taken_unless_another_is_named(zoo: Zoo, tmp_path: Path) -> None:
    photo(tmp_path / "one.png", 7)
    chosen = {
        (): ("openvino", "openvino"),
        ("backend=cpu",): ("cpu", "tf-2.21"),
        ("stack=openvino",): ("openvino", "openvino"),
        ("stack=tf-2.5",): ("cpu", "tf-2.5"),
        ("stack=torch",): ("cpu", "torch"),
    }
    for number, (words, (backend, stack)) in enumerate(chosen.items()):
        assert zoo("input=one.png", f"output.name=r{number}", *words) == 0
        saved = record(tmp_path / "runs" / f"r{number}")
        assert (saved["backend"], saved["stack"]["name"]) == (backend, stack), words


def test_a_trained_run_sees_photos_by_its_own_classes(zoo: Zoo, tmp_path: Path) -> None:
    """The folder of a run that learnt from colours, made by hand; one class has a name that is no UTF-8."""
    run = tmp_path / "runs" / "trained"
    run.mkdir(parents=True)
    np.savez(run / "weights.npz", **{"a/kernel": np.ones(1, np.float32)})
    model = {
        "name": "mobilenet",
        "args": {"alpha": 0.25, "input_shape": [32, 48, 3], "classes": 3, "input_size": None},
    }
    (run / "request.json").write_text(json.dumps({"model": model}))
    data = {"class_names": ["ant", "bee", "c\udce9t"], "input_shape": [32, 48, 3], "name": "folder"}
    config = {"model": model, "data": {"resize": "crop"}}
    trained_record = {"verb": "train", "exit": "completed", "data": data, "config": config, "model": "mobilenet"}
    trained_record |= {"backend": "cpu", "device_kind": "cpu", "stack": {"name": "tf-2.21"}}
    (run / "run.json").write_text(json.dumps(trained_record))
    for number in (2, 1):
        photo(tmp_path / "in" / f"{number}.png", number)
    answered = registry.dispatch("infer", Overrides.parse(["run=runs/trained", "input=in", "output.name=seen"]))
    assert [row["class"] for row in answered.predictions] == ["bee", "c\\udce9t"]
    assert "class_4" not in answered.predictions[0]
    request = json.loads((answered.folder / "request.json").read_text())
    assert request["model"] == model
    assert answered.record["config"]["resize"] == "crop"
    assert answered.record["trained_run"] == str(run)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pictures(zoo: Zoo, tmp_path: Path) -> None:
    photo(tmp_path / "one.png", 7, (300, 200))
    peaks = {}
    for count in (200, 2000):
        folder = tmp_path / f"in{count}"
        folder.mkdir()
        for number in range(count):
            (folder / f"{number}.png").hardlink_to(tmp_path / "one.png")
        arguments = [*MODEL, "weights=w.npz", f"input={folder}", f"output.name=m{count}", "sheets=1"]
        code = (
            "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
            "from pathlib import Path; from zoo.cli.main import main; from zoo.core import paths\n"
            "from zoo.environments import store\n"
            "ready = store.Environment(python=Path(sys.executable), folder=Path(), lock=Path('fake.lock'),\n"
            "    lock_sha256='0', versions={}, build_s=0.0, python_version='3.11.0')\n"
            "store.ensure = lambda stack, platform: ready\n"
            "paths.WORKER = Path(sys.argv.pop(1)); sys.exit(main(sys.argv[1:]))\n"
        )
        command = [sys.executable, "-c", code, str(CHECKOUT), str(SUPPORT / "fake_worker.py"), *arguments]
        subprocess.run(command, check=True, capture_output=True)
        saved = record(tmp_path / "runs" / f"m{count}")
        assert saved["data"]["items"] == count
        peaks[count] = saved["host_peak_memory_bytes"]
    assert peaks[2000] < 1.15 * peaks[200]
