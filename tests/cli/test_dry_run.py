"""The plan of a run, for this machine and for others."""

import shlex
from pathlib import Path

import pytest
from PIL import Image

from tests import machines
from tests.support import CHECKOUT
from zoo.cli import dry_run
from zoo.cli.main import main
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


# What the five systems of 2018 to 2023 would be given, and today's: machine, what to type, what it must say.
TOLD = [
    ("rx_5700_xt", ["backend=plaidml"], ("plaidml-0.7", "macos-x86_64.lock", "keras 2.2.4", "Radeon RX 5700 XT")),
    ("rx_570", ["backend=metal", "stack=tf-2.11"], ("tensorflow-macos 2.11.0", "tensorflow-metal 0.7.1", "RX 570")),
    ("m4", ["backend=metal"], ("tensorflow 2.19.1", "tensorflow-metal 1.2.0", "keras 3.6.0", "Apple M4")),
    ("m1_pro", ["backend=mps"], ("torch 2.15.0", "keras 3.15.1", "Apple M1 Pro", "KERAS_BACKEND=torch")),
    (
        "m1",
        ["backend=metal", "model=mnist_dense"],
        ("tf-2.19/macos-arm64.lock", "Apple M1", "must run on a GPU"),
    ),
    (
        "gtx_750_ti",
        ["backend=cuda-mac", "backend.python=~/tf-cuda/bin/python"],
        ("DYLD_LIBRARY_PATH=/usr/local/cuda/lib:", "~/tf-cuda/bin/python", "GeForce GTX 750 Ti"),
    ),
    ("linux_cpu", [], ("tf-2.21", "linux-x86_64.lock", "keras 3.15.1", "required device: CPU")),
    ("linux_cpu", ["model=style_transfer"], ("stack=torch", "KERAS_BACKEND=torch", "required device: CPU")),
    ("m4", ["model=style_transfer", "backend=metal"], ("tf-2.19", "tensorflow-metal 1.2.0")),
]


@pytest.mark.parametrize(("name", "overrides", "words"), TOLD, ids=["-".join([row[0], *row[1][:1]]) for row in TOLD])
def test_every_step_is_told(name: str, overrides: list[str], words: tuple[str, ...]) -> None:
    text = "\n".join(
        dry_run.lines("train", Overrides.parse(["model=mnist", *overrides]), machines.FOLDER / f"{name}.txt")
    )
    assert all(word in text for word in words)


WIDE = [
    "train model=mobilenet data=folder data.root=set",
    "train model=mnist data=digits trainer.batch_size=64 trainer.epochs=3 seed=7",
    "train model=style_transfer content=a.png style=a.png", "infer model=mobilenet weights=imagenet input=a.png",
    "tune model=mnist_dense data=digits",
]  # fmt: skip


@pytest.mark.parametrize("words", WIDE)
def test_a_plan_fits_a_screen(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.png", "set/cat/1.png", "set/dog/1.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 40)).save(tmp_path / name)
    assert main([*words.split(), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 100
    assert sum("(set by user)" in line for line in lines) >= 2
    assert not (tmp_path / "tune").exists()


def test_the_command_of_a_plan_is_one_of_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["model=mnist_dense", "data=digits", "output.root=a place", "trainer.learning_rate=0.0031",
             "trainer.schedule=cosine", "trainer.warmup=0.25", "seed=7"]  # fmt: skip
    assert main(["train", *words, "--dry-run"]) == 0
    command = capsys.readouterr().out.partition("To run it: ")[2]
    assert shlex.split(command)[:4] == ["python", "-m", "zoo", "train"]
    assert set(words) <= set(shlex.split(command))


def test_nothing_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--dry-run", "model=mnist", "data=digits"]) == 0
    assert "recipes/mnist/recipe.yaml" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


# What a run refuses before it begins: settings, data, weights, pictures, names, places, stacks.
REFUSED = [
    "train model=mnist_dense data=folder data.size=8",
    "train model=mnist_dense data=folder data.size=8 data.root=nowhere",
    "train model=mnist_dense data=folder data.size=8 data.root=one",
    "train model=mnist data=mnist data.root=nowhere",
    "train model=mobilenet data=digits",
    "train model=mobilenet data=digits weights=nowhere.h5",
    "train model=mobilenet data=digits weights=junk.h5",
    "train model=mnist_dense data=digits weights=imagenet",
    "train model=mnist_dense data=digits backend=openvino",
    "train model=mnist_dense data=digits output.root=taken output.name=run",
    "train model=mnist_dense data=digits output.name=a/b",
    "train model=mnist_dense data=digits output.root=junk.h5",
    "train model=mnist_dense data=digits mlflow=ftp://x",
    "train model=mnist_dense data=digits backend.python=nowhere",
    "train model=nowhere.py data=digits",
    "train model=transformer/classifier data=text_folder data.root=nowhere",
    "train model=transformer/classifier data=text_table data.root=t.csv data.label_column=absent",
    "train model=transformer/lm data=text_file data.root=nowhere",
    "train model=style_transfer content=nowhere.png style=a.png",
    "train model=style_transfer content=a.png style=a.png save=nowhere/x.png",
    "train model=style_transfer/fast style=nowhere.png",
    "train resume=nowhere",
    "train resume=last",
    "train model=mnist_dense data=digits resume=",
    "train model=mnist_dense data=digits output.name=last",
    "train data=digits launcher=ssh",
    "train data=digits launcher=ssh launcher.hosts=[a;b]",
    "infer run=nowhere input=a.png",
    "infer run=last input=a.png",
    "infer run=taken/run input=a.png",
    "infer model=mobilenet weights=nowhere.h5 input=a.png",
    "infer model=mobilenet weights=junk.h5 input=a.png",
    "infer model=style_transfer/fast weights=nowhere input=a.png",
]


@pytest.mark.parametrize("words", REFUSED)
def test_what_a_run_refuses_its_plan_refuses_too(
    pretending: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (pretending / "one" / "class").mkdir(parents=True)
    for path in (pretending / "a.png", pretending / "one" / "class" / "a.png"):
        Image.new("RGB", (40, 40)).save(path)
    (pretending / "junk.h5").write_text("junk")
    (pretending / "t.csv").write_text("label,text\na,b\nc,d\n")
    (pretending / "taken" / "run").mkdir(parents=True)
    said = []
    for more in ([], ["--dry-run"]):
        assert main([*words.split(), *more]) == 1
        said.append(capsys.readouterr().err.partition("error: ")[2])
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("cache", ["/dev/null", "/proc/nowhere", "file"])
def test_a_cache_that_cannot_be_made_is_refused(
    pretending: Path, cache: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (pretending / "file").touch()
    monkeypatch.setenv("ZOO_CACHE", cache)
    for more in ([], ["--dry-run"]):
        assert main(["train", "model=mnist", "data=digits", *more]) == 1
        assert "Cannot write" in capsys.readouterr().err


def test_what_is_not_there_yet_is_not_fetched_for_a_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Image.new("RGB", (40, 40)).save(tmp_path / "a.png")
    for name in ("a", "b"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        Image.new("RGB", (40, 40)).save(tmp_path / "pictures" / name / "1.png")
    words = ["train", "model=mnist_dense", "data=folder", "data.root=pictures", "data.size=8", "--dry-run"]
    assert main(words) == 0
    assert "the images are not decoded yet: checks that need this are skipped" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "pictures"}


def test_the_same_is_refused_as_by_the_run_itself() -> None:
    with pytest.raises(ZooError, match="does not work here"):
        dry_run.lines("train", Overrides.parse(["backend=metal"]), machines.FOLDER / "linux_cpu.txt")
    with pytest.raises(ZooError, match=r"trainer\.epochs"):
        dry_run.lines("train", Overrides.parse(["trainer.epochs=0"]))


def test_gpu_means_that_of_the_machine_that_is_planned_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "--dry-run", "model=mnist", "backend=gpu", "--machine"]
    assert main([*words, str(machines.FOLDER / "m1.txt")]) == 0
    assert "required device: GPU" in capsys.readouterr().out
    assert main([*words, str(machines.FOLDER / "linux_cpu.txt")]) == 1
    assert "no GPU of this machine can be used" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "backend", "said"), [("m4_egpu", "mps", 1), ("m4", "cpu", 0), ("linux_nvidia", "cuda", 0)]
)
def test_a_plan_says_that_no_gpu_of_a_mac_was_measured(name: str, backend: str, said: int) -> None:
    overrides = Overrides.parse(["model=mnist", f"backend={backend}"])
    plan = "\n".join(dry_run.lines("train", overrides, machines.FOLDER / f"{name}.txt"))
    assert plan.count("no GPU of a Mac has been measured by this project yet") == said
    assert ("macOS has no driver for it" in plan) == (name == "m4_egpu")


def test_another_machine_is_only_for_dry_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--machine", "m1.txt"]) == 1
    assert "--dry-run" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"no outputs", b"\xff\xfe"])
def test_a_text_that_is_no_machine_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.txt").write_bytes(content)
    with pytest.raises(ZooError, match=r"m\.txt"):
        dry_run.lines("train", Overrides.parse([]), tmp_path / "m.txt")


@pytest.mark.parametrize(
    ("words", "stack"),
    [
        (["model=mnist"], "tf-2.21"), (["model=mnist_fast"], "torch"),
        (["model=mnist_fast", "stack=tf-2.19"], "tf-2.19"),
        (["model=mobilenet", "model.input_size=32"], "torch"), (["model=mobilenet", "model.alpha=0.25"], "tf-2.21"),
    ],
)  # fmt: skip
def test_training_is_planned_for_the_fastest_stack(words: list[str], stack: str) -> None:
    overrides = Overrides.parse([*words, "data=digits", "backend=cpu"])
    plan = "\n".join(dry_run.lines("train", overrides, machines.FOLDER / "linux_cpu.txt"))
    assert f"recipes/stacks/{stack}/linux-x86_64.lock" in plan


def test_photos_are_planned_for_the_fastest_stack(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (40, 40)).save(tmp_path / "photos" / "a.png")
    text = "\n".join(dry_run.lines("infer", Overrides.parse(["model=mobilenet", "weights=imagenet", "input=photos"])))
    assert "backend      openvino" in text
    assert "weights=imagenet" in text
    mac = CHECKOUT / "tests" / "machines" / "m1.txt"
    text = "\n".join(
        dry_run.lines("infer", Overrides.parse(["model=mobilenet", "weights=imagenet", "input=photos"]), mac)
    )
    assert "required device: GPU" in text
