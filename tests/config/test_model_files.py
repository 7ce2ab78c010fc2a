"""Models in a file of the user's own: read without being executed, and named by nobody but the user."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.cli.main import main
from zoo.config import model_files
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.tasks import registry

MARKED = 'open("executed", "a").write("x")\n'
GOOD = '"""A network."""\ndef build(input_shape, classes, width=8, *, rate=0.5, sizes=(3, 3), kind=None): pass\n'


def written(folder: Path, text: str, name: str = "my_model.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_settings_and_about_are_read_and_nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = model_files.read(str(written(tmp_path, GOOD + MARKED))).row()
    assert row["about"] == "A network."
    assert {key: row[key] for key in ("width", "rate", "sizes", "kind")} == {
        "width": 8, "rate": 0.5, "sizes": [3, 3], "kind": None,
    }  # fmt: skip
    assert not Path("executed").exists()


def test_settings_are_checked_like_those_of_any_model(tmp_path: Path) -> None:
    model = f"model={written(tmp_path, GOOD)}"
    settings = registry.compose_settings("train", Overrides.parse([model, "model.width=16", "model.rate=1"]))
    assert (settings.model["width"], settings.model["rate"]) == (16, 1)
    wrong = ["model.width=wide", "model.widht=3", "model.file=/etc/passwd", "model.name=a-b", "model.about=x"]
    with pytest.raises(ZooError) as caught:
        registry.compose_settings("train", Overrides.parse([model, *wrong]))
    refused = ["'model.file' is part of model=", "use model=a-b", "'model.about' is part of"]
    for words in ("model.width must be", "did you mean 'model.width'", *refused):
        assert words in str(caught.value)


def test_a_path_may_hold_blanks_and_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    written(tmp_path, GOOD, "my (first) model.py")
    for text in ("~/my (first) model.py", f"'{tmp_path}/my (first) model.py'"):
        assert (
            registry.compose_settings("train", Overrides.parse([f"model={text}"])).model["name"]
            == "my (first) model.py"
        )


def test_help_shows_the_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", f"model={written(tmp_path, GOOD)}"]) == 0
    assert "model.width=8" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def build(input_shape, classes:\n", "line 1 is not Python"),
        ("x = 1\ny = (\n", "line 2 is not Python"),
        ("def bild(input_shape, classes): pass\n", "no function build"),
        ("def build(shape, classes): pass\n", "lacks the argument input_shape; its argument shape has no default"),
        ("def build(input_shape, classes, width): pass\n", "width has no default"),
        ("def build(input_shape, classes, file=''): pass\n", "file has a reserved name"),
        ("x\0y", "is not Python"),
        ("x = " + "(" * 5000, "is not Python"),
        ("class A:\n    def build(input_shape, classes): pass\n", "no function build"),
        ("#" * (model_files.MOST_BYTES + 1), "longer than"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ZooError, match=words):
        model_files.read(str(written(tmp_path, text)))


def test_a_file_that_is_not_there_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    with pytest.raises(ZooError, match=r"did you mean 'my_model\.py'"):
        model_files.read(str(tmp_path / "my_modl.py"))


def test_a_function_within_a_condition_is_found_and_other_defaults_are_no_settings(tmp_path: Path) -> None:
    lists = f"b={[1] * 1000}, c={[1] * 1001}"  # the latter would take minutes to compose
    text = "try:\n    import keras\nexcept ImportError: 0\nif 1:\n"
    text += f"    def build(input_shape, classes, a=len, {lists}): 0\n"
    assert [*model_files.read(str(written(tmp_path, text))).settings] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("input_shape, classes, *, rate", "its argument rate has no default"),
        ("input_shape, /, classes", "its arguments before / cannot be passed by name"),
        ("input_shape, width=3, *, classes=2", None),
        ("width=3, input_shape=None, classes=2", None),
    ],
)
def test_every_argument_can_be_passed_by_name(tmp_path: Path, arguments: str, words: str | None) -> None:
    path = str(written(tmp_path, f"def build({arguments}): 0\n"))
    if words is None:
        assert model_files.read(path).settings == {"width": 3}
        return
    with pytest.raises(ZooError, match=words):
        model_files.read(path)


@pytest.mark.parametrize(
    ("model", "saved"),
    [("mnist", False), ("own", True), ("'own'", True), ("none", False), ("none.keras", True), ("a.H5", True),
     ("keras/ResNet50", False), ("own.py", False), (None, False), ("", False)],
)  # fmt: skip
def test_a_saved_model_is_a_path_but_no_name_of_the_zoo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str | None, saved: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mnist", "own"):
        (tmp_path / name).mkdir()
    assert model_files.is_saved(model) is saved


def test_a_reference_cannot_name_a_file(tmp_path: Path) -> None:
    for model in (str(written(tmp_path, GOOD)), {"name": str(tmp_path / "my_model.py")}):
        settings = {"about": "x", "machine": {"about": "y"}, "settings": {"model": model}}
        reference = written(tmp_path, json.dumps(settings), "reference.yaml")
        with pytest.raises(ZooError, match="a model file is code"):
            registry.compose_settings("train", Overrides.parse([f"reference={reference}"]))


# -- runs


@pytest.fixture
def trained(pretending: Path) -> Path:
    """The folder of a run that was cut off, trained with a model file that notes when it is executed."""
    model = written(pretending, GOOD + MARKED)
    words = ["data=digits", "data.train_limit=100", "output.name=a", "output.root=runs"]
    assert main(["train", f"model={model}", "model.width=4", *words]) == 0
    assert Path("runs/a/my_model.py").read_text() == model.read_text()
    for path in pretending.glob("**/executed"):
        path.unlink()
    folder = pretending / "runs" / "a"
    change(folder, exit="failed")
    np.save(pretending / "x.npy", np.zeros((1, 28, 28), np.uint8))
    return folder


def change(folder: Path, **fields: Any) -> None:
    record = json.loads((folder / "run.json").read_text()) | fields
    (folder / "run.json").write_text(json.dumps(record))


def executed(folder: Path) -> bool:
    return any(folder.parent.parent.glob("**/executed"))


def test_the_record_tells_file_settings_and_recipe(trained: Path) -> None:
    record = json.loads((trained / "run.json").read_text())
    assert record["config"]["model"]["width"] == 4
    assert "recipes=any/small" in record["command"]
    assert record["model"] == "my_model.py"
    assert "my_model.py" in [row["path"] for row in record["artifacts"]]
    request = json.loads((trained / "request.json").read_text())["model"]
    assert request["file"] == str(trained / "my_model.py")
    assert request["sha256"] == record["config"]["model"]["sha256"]


@pytest.mark.parametrize("words", [["train", "resume=runs/a"], ["infer", "run=runs/a", "input=x.npy"]])
def test_a_run_executes_its_file_only_when_the_user_names_it(
    trained: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 1
    assert "it is run only when you name it" in capsys.readouterr().err
    Path("other.py").write_text(GOOD)
    assert main([*words, "model=other.py"]) == 1
    assert "is not the file that" in capsys.readouterr().err
    assert not executed(trained)
    assert main([*words, "model=my_model.py"]) == 0
    assert executed(trained)


def test_the_copy_in_the_run_folder_may_be_named(trained: Path) -> None:
    assert main(["train", "resume=runs/a", "model=runs/a/my_model.py"]) == 0
    assert executed(trained)


@pytest.mark.parametrize("place", ["config", "command", "both", "hidden", "request"])
def test_a_forged_folder_executes_nothing(trained: Path, place: str) -> None:
    """The folder names files that note when they are executed, with their right checksums, in every place it has."""
    evil = written(trained, GOOD + MARKED + "#", "evil.py")
    row = model_files.read(str(evil)).row()
    record = json.loads((trained / "run.json").read_text())
    command = [word for word in record["command"] if not word.startswith("model")]
    named = [f"model={evil}", f"model.file={evil}", f"model.sha256={row['sha256']}", f"+model={evil}"]
    if place in ("command", "both"):
        change(trained, command=[*command, *named], config=record["config"] | {"model": {"name": "mnist"}})
    if place == "hidden":
        change(trained, command=[*command, named[0]], config=record["config"] | {"model": {"name": "evil.py"}})
    if place in ("config", "both"):
        change(trained, config=record["config"] | {"model": row})
    if place == "request":
        request = json.loads((trained / "request.json").read_text())
        request["model"] |= {"file": str(evil), "sha256": row["sha256"]}
        (trained / "request.json").write_text(json.dumps(request))
    innocent = written(trained.parent.parent, GOOD, "innocent.py")
    for words in (["train", "resume=runs/a"], ["infer", "run=runs/a", "input=x.npy"]):
        for named_file in ([], [f"model={innocent}"]):
            main([*words, *named_file])
            assert not executed(trained)
