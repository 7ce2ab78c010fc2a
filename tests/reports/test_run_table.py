"""The table of all runs, and where their pages are written."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from zoo.cli.main import main
from zoo.reports import run_table


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with three runs, the last of them without a result, and a damaged folder."""
    root = tmp_path / "runs"
    for name, value, started in (("b", 0.75, "2026-11-20"), ("a", 0.5, "2026-11-21"), ("c", None, "2026-11-19")):
        metrics = {} if value is None else {"test_accuracy": value}
        save(root / name, {"exit": "completed", "verb": "train", "model": "mnist", "started": started,
                           "metrics": metrics, "seconds": 2.5})  # fmt: skip
        begun = {"c": 1e9, "b": 2e9, "a": 3e9}[name] / 2
        os.utime(root / name / "run.json", (begun, begun))
    (root / "damaged").mkdir()
    (root / "damaged" / "run.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    return root


def save(folder: Path, record: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(record))


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["report", "--list", "--json", *arguments]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


@pytest.mark.parametrize(
    ("arguments", "order"),
    [((), "cba"), (("--sort", "run"), "abc"), (("--sort", "value"), "ab"), (("--sort", "value", "--reverse"), "ba")],
)
def test_runs_are_sorted_and_what_has_no_figure_comes_last(
    runs: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], order: str
) -> None:
    names = [row["run"] for row in listed(capsys, *arguments)]
    assert "".join(name for name in names if name != "damaged")[: len(order)] == order
    assert len(names) == 4


def test_every_key_can_be_sorted_by(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for key in run_table.KEYS:
        assert len(listed(capsys, "--sort", key)) == 4


def test_the_table_shows_all_runs_and_says_which_is_damaged(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "test_accuracy 0.75" in shown
    assert "damaged" in shown


def test_the_name_of_a_run_stands_in_one_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "2026-11-22_03-26-29_transformer-classifier_cpu"
    save(runs / name, {"exit": "completed", "verb": "train", "model": "transformer/classifier", "backend": "cpu",
                       "started": "2026-11-22T03:26:29", "metrics": {"test_accuracy": 0.8233}, "seconds": 123.4,
                       "stack": {"name": "tf-2.21"}, "data": {"name": "text_folder"},
                       "peak_memory_bytes": 1_234_000_000})  # fmt: skip
    assert main(["report", "--list"]) == 0
    assert f" {name} " in capsys.readouterr().out


def test_a_language_model_is_judged_by_its_validation(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = {"accuracy": 0.33, "loss": 1.9, "val_loss": 1.75, "val_perplexity": 5.75}
    save(runs / "lm", {"exit": "completed", "model": "transformer/lm", "metrics": metrics})
    (row,) = [row for row in listed(capsys) if row["run"] == "lm"]
    assert (row["metric"], row["value"]) == ("val_loss", 1.75)


def test_a_run_cannot_steer_the_terminal(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(runs / "odd", {"exit": "completed", "model": "\x1b[2Jmnist\x9b31m", "started": "x\n\x1b]0;y\x07"})
    assert main(["report", "--list"]) == 0
    assert not set(capsys.readouterr().out) & {"\x1b", "\x07", "\x9b"}


def test_without_a_name_the_newest_run_is_told(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report"]) == 0
    assert Path(capsys.readouterr().out.strip()) == runs / "a" / "report.html"
    assert "<title>mnist - zoo</title>" in (runs / "a" / "report.html").read_text()


def test_a_page_is_written_anew_but_nothing_else_is_replaced(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "runs/a", "run=a"):
        assert main(["report", name]) == 0
    (runs / "b" / "report.html").write_text("my own notes")
    assert main(["report", "b"]) == 1
    assert (runs / "b" / "report.html").read_text() == "my own notes"
    assert "--output" in capsys.readouterr().err
    assert main(["report", "b", "--output", "b.html"]) == 0
    assert Path("b.html").is_file()


def test_several_runs_make_one_page(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "a", "b"]) == 0
    assert Path(capsys.readouterr().out.strip()).resolve() == runs / "report.html"
    assert "2 runs compared" in (runs / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere",), "There is no run folder"),
        (("damaged",), "cannot be read"),
        (("a", "--output", "no/such/place.html"), "Cannot write"),
        (("a", "--json"), "Add --list"),
        (("a", "--list"), "Remove the runs"),
        (("--list", "--sort", "valeu"), "did you mean 'value'?"),
        (("--root", "empty"), "There is no run under"),
        (("--root", __file__), "is a file, not a folder"),
        (("--list", "--root", __file__), "is a file, not a folder"),
        (("a", "--output", ""), "--output is empty"),
    ],
)
def test_what_is_wrong_is_told(
    runs: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert main(["report", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_the_newest_run_with_results_is_reported_and_named(
    pretending: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["train", "data=digits", "trainer.epochs=1", "output.name=good"]) == 0
    assert main(["train", "data=digits", "trainer.epochs=1", "output.name=bad"]) == 0
    record = pretending / "runs" / "bad" / "run.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"exit": "failed", "metrics": {}}))
    capsys.readouterr()
    assert main(["report"]) == 0
    shown = capsys.readouterr()
    assert "Report of good: newer runs have no results" in shown.err
    assert shown.out.strip().endswith("good/report.html")
