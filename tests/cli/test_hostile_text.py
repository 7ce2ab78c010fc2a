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


@pytest.mark.parametrize(
    "command", ["infer", "runs list", "report --list", "report --list --json", "runs list --json"]
)
def test_no_name_controls_the_terminal(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    printed = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\u202e"} & set(printed)
    assert SHOWN in printed or json.loads(printed)[0]["name" if "runs" in command else "run"] == NAME


def test_the_path_of_a_page_is_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "last"]) == 0
    assert SHOWN in capsys.readouterr().out
