"""zoo.runs.result: what a finished run offers to Python and to notebooks."""

import json
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.runs import result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record = {"exit": "completed", "verb": "train", "model": "<mnist>", "backend": "cpu",
              "metrics": {"test_accuracy": 0.98765432, "parameters": 7}}  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(record))
    return tmp_path


def test_without_files_a_run_has_its_record(folder: Path) -> None:
    run = result.open_run(folder)
    assert (run.exit, run.metrics["parameters"], run.history, run.predictions, run.curves) == (
        "completed", 7, [], [], None,
    )  # fmt: skip
    assert result.Run(folder, {"exit": "failed"}).metrics == {}


def test_probabilities_are_numbers_and_the_rest_is_text(folder: Path) -> None:
    (folder / "predictions.csv").write_text("input,class,probability,probability_2,number,p_0,pi\n1,2,0.5,0.25,x,1,3\n")
    (row,) = result.open_run(folder).predictions
    assert row == {"input": "1", "class": "2", "probability": 0.5, "probability_2": 0.25, "number": "x", "p_0": 1.0,
                   "pi": "3"}  # fmt: skip


def test_a_notebook_shows_figures_and_curves(folder: Path) -> None:
    shown = result.open_run(folder)._repr_html_()
    assert "<b>&lt;mnist&gt; on cpu: completed</b>" in shown
    assert "<tr><th>test_accuracy</th><td>0.987654</td></tr>" in shown
    assert "parameters" not in shown
    assert f"<tr><th>folder</th><td>{folder}</td></tr>" in shown
    assert "<img" not in shown
    (folder / "curves.png").write_bytes(b"abc")
    run = result.open_run(folder)
    assert run.curves == folder / "curves.png"
    assert '<img alt="curves" src="data:image/png;base64,YWJj">' in run._repr_html_()


def test_a_run_is_named_by_its_folder_its_name_or_as_the_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = folder / "runs" / "a"
    run.mkdir(parents=True)
    (run / "run.json").write_text((folder / "run.json").read_text())
    (run / "weights.npz").touch()
    monkeypatch.chdir(folder)
    for name, root in (
        ("runs/a", None),
        ("a", None),
        ("a", "runs"),
        ("last", None),
        ("last", "runs"),
        (str(run), "x"),
    ):
        assert result.named(str(name), root).folder == run
    with pytest.raises(ZooError, match="There is no run folder"):
        result.named("b", None)
