"""`zoo evaluate` with a worker that takes the mean grey of a picture for its class; figures as scikit-learn's."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn import metrics as sk

from tests.support.weight_samples import mobilenet
from zoo.cli.main import main
from zoo.core import csv_files
from zoo.tasks.image_classification.error_analysis import Judging
from zoo.weights import class_names
from zoo.weights import io as weights_io

Zoo = Callable[..., int]
MODEL = ["model=mobilenet", "model.alpha=0.25", "model.input_size=32", "weights=w.npz", "data.root=in"]
# Class folder -> means of grey of its pictures, which are the classes that the worker takes them for.
GREYS = {"tench": [0, 0, 1], "goldfish": [1, 0, 1, 1], "Tiger-Shark": [3, 200]}


@pytest.fixture
def zoo(pretending: Path) -> Zoo:
    weights_io.write(pretending / "w.npz", mobilenet())

    def run(*arguments: str) -> int:
        return main(["evaluate", *MODEL, "output.name=e", *arguments])

    return run


def pictures(greys: dict[str, list[int]]) -> None:
    for name, values in greys.items():
        Path("in", name).mkdir(parents=True)
        for number, grey in enumerate(values):
            Image.new("RGB", (40, 30), (grey, grey, grey)).save(Path("in", name, f"{number}.png"))


def rows(name: str) -> list[dict[str, str]]:
    with Path("runs", "e", name).open(newline="", encoding="utf-8") as source:
        return list(csv_files.rows(source))


def content(name: str) -> Any:
    return json.loads(Path("runs", "e", name).read_text(encoding="utf-8"))


def test_a_folder_is_judged_as_scikit_learn_would(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(GREYS)
    Path("in", "tench", "broken.jpg").write_text("no picture")
    assert zoo("batch_size=4") == 0
    imagenet = class_names.choose(None, Path(), 1000)
    labels = {"tench": 0, "goldfish": 1, "Tiger-Shark": 3}
    true = [labels[name] for name in sorted(GREYS) for _ in GREYS[name]]
    taken = [grey for name in sorted(GREYS) for grey in GREYS[name]]
    shown = sorted({*true, *taken})
    precision, recall, f1, items = sk.precision_recall_fscore_support(true, taken, labels=shown, zero_division=0)
    figures = content("evaluation.json")
    assert [row["class"] for row in figures["classes"]] == [imagenet[label] for label in shown]
    for name, wanted in (("precision", precision), ("recall", recall), ("f1", f1), ("items", items)):
        assert [row[name] for row in figures["classes"]] == pytest.approx(list(wanted))
    present = sorted(set(true))
    for name, mean in zip(
        ("macro_precision", "macro_recall", "macro_f1"),
        sk.precision_recall_fscore_support(true, taken, labels=present, average="macro", zero_division=0),
        strict=False,
    ):
        assert figures[name] == content("run.json")["metrics"][name] == pytest.approx(mean)
    assert figures["test_accuracy"] == pytest.approx(sk.accuracy_score(true, taken))
    matrix = [[int(cell) for cell in list(row.values())[1:]] for row in rows("confusion.csv")]
    assert np.array_equal(matrix, sk.confusion_matrix(true, taken, labels=shown))
    assert len(rows("predictions.csv")) == 9
    assert {row["input"] for row in rows("mistakes.csv")} == {"tench/2.png", "goldfish/1.png", "Tiger-Shark/1.png"}
    assert [row["input"] for row in rows("skipped.csv")] == ["tench/broken.jpg"]
    assert Path("runs", "e", "mistakes.png").is_file()
    assert Path("runs", "e", "confusion.png").is_file()
    shown_text = capsys.readouterr().out
    assert "top-1 0.6667" in shown_text
    assert "Skipped: 1 image" in shown_text


def test_figures_of_any_probabilities_are_those_of_scikit_learn(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    shares = random.dirichlet(np.ones(9), 400).astype(np.float32)
    labels = random.integers(0, 9, 400)
    judging = Judging([f"c{number}" for number in range(9)])
    for number, (label, row) in enumerate(zip(labels, shares, strict=True)):
        judging.take(f"{number}.png", int(label), row)
    metrics = judging.metrics()
    assert metrics["test_accuracy"] == pytest.approx(sk.accuracy_score(labels, shares.argmax(1)))
    assert metrics["test_top5"] == pytest.approx(sk.top_k_accuracy_score(labels, shares, k=5))
    wide = shares.astype(np.float64)
    assert metrics["test_loss"] == pytest.approx(sk.log_loss(labels, wide / wide.sum(1, keepdims=True)), rel=1e-4)
    analysis = judging.keep(tmp_path, "any", {}, lambda _: None)
    wanted = sk.classification_report(labels, shares.argmax(1), output_dict=True, zero_division=0)
    assert analysis["macro_f1"] == pytest.approx(wanted["macro avg"]["f1-score"])
    assert analysis["macro_precision"] == pytest.approx(wanted["macro avg"]["precision"])


@pytest.mark.parametrize(
    ("folders", "words"),
    [
        (["tench", "gold fisch"], "no class of the network is called 'gold fisch'"),
        (["tench", "crane"], "several classes are called 'crane'"),
        ([], "has no class folders"),
    ],
)
def test_folders_that_are_no_classes_are_refused(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], folders: list[str], words: str
) -> None:
    Path("in").mkdir()
    pictures({name: [1] for name in folders})
    assert zoo() == 1
    assert words in capsys.readouterr().err
    assert not Path("runs", "e").exists()


def test_synsets_parts_and_a_limit(zoo: Zoo) -> None:
    pictures({"train/n01440764": [7], "val/n01440764": [0, 0, 0], "val/n02012849": [134, 0, 134]})
    assert zoo("data.test_limit=3") == 0
    assert [row["input"] for row in rows("predictions.csv")] == [
        "n01440764/0.png",
        "n02012849/0.png",
        "n01440764/1.png",
    ]
    assert content("evaluation.json")["test_accuracy"] == 1.0
    assert content("run.json")["data"]["source"].endswith(os.path.join("in", "val"))


def test_a_table_is_judged_as_the_same_images_in_folders(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(GREYS)
    assert zoo() == 0
    figures = content("evaluation.json")
    lines = [f"{name}/{number}.png;{name};x" for name, greys in GREYS.items() for number in range(len(greys))]
    Path("labels.csv").write_text("\n".join(["file;species;note", *lines, "in/none.png;tench;x", ""]))
    shutil.rmtree("runs")
    table = ["data=image_table", "data.root=labels.csv", "data.images=in"]
    assert zoo(*table, "data.label_column=species") == 0
    assert content("evaluation.json") == figures | {"data": "image_table"}
    assert [row["input"] for row in rows("skipped.csv")] == ["in/none.png"]
    assert content("run.json")["data"]["source"].endswith("labels.csv")
    shown = " ".join(capsys.readouterr().err.split())
    assert "Read labels.csv: separated by semicolons; a header; utf-8; class in species, image in file" in shown
    shutil.rmtree("runs")
    parted = (f"{line[:-1].replace(';', ',')}{('test', 'val')[number % 2]}" for number, line in enumerate(lines))
    Path("labels.csv").write_text("\n".join(["file,species,split", *parted, ""]))
    assert zoo(*table, "data.test_limit=2") == 0
    assert [row["input"] for row in rows("predictions.csv")] == ["Tiger-Shark/1.png", "goldfish/1.png"]


def test_a_table_of_gray_images_is_evaluated_with_a_run(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "model=mnist", "data=digits", "backend=cpu", "output.name=run"]) == 0
    pictures({"seven": [10, 20, 30], "two": [40, 50]})
    Path("in/seven/broken.png").write_text("no image")
    lines = [f"{name}/{number}.png,{label}" for name, label in (("seven", 7), ("two", 2)) for number in range(2)]
    Path("in/labels.csv").write_text("\n".join(["file,digit", *lines, "seven/broken.png,7", ""]))
    words = ["evaluate", "run=runs/run", "data=image_table", "data.root=in/labels.csv", "output.name=e"]
    assert main([*words, "data.label_column=digit"]) == 0
    names = [row["input"] for row in rows("predictions.csv")]
    assert names == ["two/0.png", "two/1.png", "seven/0.png", "seven/1.png"]
    assert "Skipped seven/broken.png" in capsys.readouterr().err
    assert content("run.json")["data"]["skipped"][0][0] == "seven/broken.png"
    assert main(["infer", "run=runs/run", "input=in/seven", "output.name=i"]) == 0
    assert Path("runs/i/skipped.csv").read_text().startswith("file,reason\nbroken.png,")


def test_the_test_part_of_a_run_and_other_data(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "model=mnist", "data=digits", "backend=cpu", "output.name=run"]) == 0
    assert main(["evaluate", "run=runs/run", "output.name=e", "data.test_limit=40"]) == 0
    figures = content("evaluation.json")
    assert (figures["data"], figures["items"]) == ("digits", 40)
    assert main(["evaluate", "run=runs/run", "data=digits", "output.name=f", "data.test_limit=40"]) == 0
    assert json.loads(Path("runs", "f", "evaluation.json").read_text()) == figures
    capsys.readouterr()
    assert main(["evaluate", "run=runs/run", "data=text_lines"]) == 1
    assert "data=text_lines contains texts" in capsys.readouterr().err
    assert main(["evaluate", "run=runs/run", "data=folder"]) == 1  # not the test part of the run without a word
    assert "data=folder has no effect without data.root=" in capsys.readouterr().err
    assert main(["evaluate", "model=mnist"]) == 1
    assert "data is missing" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["clip.mp4", "camera", "0", "/dev/video0", "rtsp://10.0.0.1/live", "film.bin"])
def test_videos_and_cameras_are_refused_with_what_to_do(
    pretending: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    Path("film.bin").write_bytes(b"\x1aE\xdf\xa3" + bytes(300))
    for words in (["infer", f"input={source}"], ["evaluate", f"data.root={source}"]):
        assert main([words[0], *MODEL[:4], words[1]]) == 1
        shown = capsys.readouterr().err
        assert "videos and cameras are not supported" in shown
        assert "mkdir frames && ffmpeg -i" in shown


def test_features_are_written_with_the_names_of_the_images(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(GREYS)
    words = ["infer", *MODEL[:4], "input=in", "output=features", "output.name=e", "batch_size=4"]
    assert main(words) == 0
    greys = [grey for name in sorted(GREYS) for grey in GREYS[name]]
    assert np.load(Path("runs", "e", "features.npy"))[:, 0].tolist() == greys
    assert [row["input"] for row in rows("features.csv")][-1] == "tench/2.png"
    assert [row["row"] for row in rows("features.csv")] == [str(number) for number in range(9)]
    assert not Path("runs", "e", "predictions.csv").exists()
    assert "9 rows of 1 float32, the output of layer pool" in capsys.readouterr().out
    request = content("request.json")
    assert request["features"] == {"path": str(Path("runs", "e", "features.npy").resolve())}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["output=feature"], "output.kind must be one of predictions, features, got 'feature'"),
        (["output.layer=conv"], "output.layer is for features only"),
        (["output=features", "probabilities=true"], "output=features writes no probabilities"),
    ],
)
def test_settings_of_features_that_contradict_each_other_are_refused(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert main(["infer", *MODEL[:4], "input=in", *words]) == 1
    assert problem in capsys.readouterr().err
