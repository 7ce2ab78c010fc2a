"""Run folders of the first format, written before its fields and settings got their present names."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.trainings import ready
from zoo.cli.main import main
from zoo.runs import records, resume
from zoo.runs.result import open_run

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "format_1"
RUNS = ("finished", "interrupted")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of run folders in an empty working folder."""
    shutil.copytree(FIXTURES, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def test_they_are_listed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", "--root", str(runs), "--json"]) == 0
    listed = {row["name"]: row["about"] for row in json.loads(capsys.readouterr().out)}
    assert listed == {
        "finished": "train mnist_dense on cpu, completed",
        "interrupted": "train mnist_dense on cpu, interrupted",
    }


@pytest.mark.parametrize("name", RUNS)
def test_they_are_reported(runs: Path, name: str) -> None:
    assert main(["report", str(runs / name)]) == 0
    page = (runs / name / "report.html").read_text()
    assert "mnist_dense" in page
    assert "tf-2.21" in page


@pytest.mark.parametrize("name", RUNS)
def test_their_record_keeps_its_keys(runs: Path, name: str) -> None:
    before = json.loads((runs / name / "run.json").read_text())
    assert records.RunRecord.from_untrusted(runs / name).to_json().keys() == before.keys()


def test_they_are_opened_with_figures_and_history(runs: Path) -> None:
    run = open_run(runs / "finished")
    assert run.metrics["test_accuracy"] == pytest.approx(0.178, abs=1e-3)
    assert [row["epoch"] for row in run.history] == [1]


def test_a_run_is_resumed_by_the_command_that_started_it(runs: Path) -> None:
    overrides = resume.expand([f"resume={runs / 'interrupted'}"])
    assert "trainer.batch_size=2" in overrides
    assert overrides[-1] == f"resume={runs / 'interrupted'}"


def test_the_host_resumes_and_uses_them(pretending: Path, runs: Path) -> None:
    assert main(["train", f"resume={runs / 'interrupted'}"]) == 0
    record = open_run(runs / "interrupted").record
    assert (record["exit"], record["config"]["trainer"]["batch_size"]) == ("completed", 2)
    assert [row["exit"] for row in record["interruptions"]] == ["interrupted"]
    assert main(["infer", f"run={runs / 'finished'}", "input=test", "output.name=used"]) == 0
    assert open_run(runs / "used").record["trained_run"] == str(runs / "finished")


@pytest.mark.slow
@pytest.mark.stacks("tf-2.21")
def test_the_interrupted_one_is_resumed_from_its_checkpoint(runs: Path) -> None:
    ready("tf-2.21")
    assert main(["train", f"resume={runs / 'interrupted'}"]) == 0
    run = open_run(runs / "interrupted")
    events = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    assert [event["done"] for event in events if event["event"] == "resume"] == [85]
    assert [row["epoch"] for row in run.history] == [1, 2, 3]
    assert run.exit == "completed"
    assert run.record["interruptions"][0]["exit"] == "interrupted"


@pytest.mark.stacks("tf-2.21")
def test_the_finished_one_predicts_as_it_did(runs: Path) -> None:
    ready("tf-2.21")
    assert main(["infer", f"run={runs / 'finished'}", "input=test", f"output.root={runs}", "output.name=used"]) == 0
    assert open_run(runs / "used").metrics["test_accuracy"] == open_run(runs / "finished").metrics["test_accuracy"]
