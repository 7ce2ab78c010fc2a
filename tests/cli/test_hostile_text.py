"""Names in run folders cannot control the terminal that shows them."""

import csv
import json
from pathlib import Path

import pytest

from zoo.cli.main import main
from zoo.runs import records, result
from zoo.tasks import registry

NAME = "cat\x1b[2J\x9b31m\u202e"
SHOWN = r"cat\x1b[2J\x9b31m\u202e"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder with a hostile name, classes and files, which `infer` returns."""
    folder = tmp_path / "runs" / NAME
    folder.mkdir(parents=True)
    record = {
        "exit": "completed", "verb": "infer", "model": NAME, "backend": "cpu", "started": "2026-11-21",
        "stack": {"name": "tf-2.21"}, "device": {"name": NAME}, "data": {"items": 1, "what": "pictures"},
        "metrics": {"items_per_s": 10.0},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with (folder / "predictions.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["input", "class", "probability"], [f"{NAME}.png", NAME, 0.5]])
    monkeypatch.setattr(registry, "dispatch", lambda *_: result.Run(folder, records.read(folder)))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("command", ["infer", "runs list", "report --list", "report --list --json", "runs list --json"])
def test_no_name_controls_the_terminal(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    printed = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\u202e"} & set(printed)
    assert SHOWN in printed or json.loads(printed)[0]["name" if "runs" in command else "run"] == NAME


def test_the_path_of_a_page_is_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "last"]) == 0
    assert SHOWN in capsys.readouterr().out


FORGED = "a\nerror: the disk is full\n"


@pytest.mark.parametrize(
    "command",
    [
        ["explain", "{}/none"], ["report", "{}/none"], ["weights", "convert", "{}/text", "out.npz"],
        ["train", "model=mnist", "data=mnist", "data.root={}/none"],
        ["train", "model=mobilenet", "data=folder", "data.root={}/none"],
        ["infer", "model=mobilenet", "weights=zoo", "input={}/none"], ["infer", "run={}/none", "input=x.png"],
        ["train", "model=transformer/classifier", "data=text_table", "data.root=."],
    ],
)  # fmt: skip
def test_a_path_cannot_forge_lines(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FORGED).mkdir()
    (tmp_path / FORGED / "text").write_text("secret words of another file")
    (tmp_path / f"{FORGED}.tsv").touch()
    monkeypatch.chdir(tmp_path)
    assert main([word.format(FORGED) for word in command]) == 1
    printed = "".join(capsys.readouterr())
    assert "\nerror: the disk" not in printed
    assert r"a\nerror: the disk is full\n" in printed or "a\\\\nerror" in printed
    assert "secret" not in printed


def test_a_file_of_a_folder_cannot_forge_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / f"{FORGED}.png").touch()
    (tmp_path / FORGED).mkdir()
    assert main(["train", "model=mobilenet", "data=folder", f"data.root={tmp_path}", "--dry-run"]) == 1
    assert "\nerror: the disk" not in capsys.readouterr().err
