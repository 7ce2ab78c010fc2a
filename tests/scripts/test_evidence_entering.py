"""What evidence changes in a checkout: recipes, stacks, the table of machines; and how two machines differ."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from scripts.maintenance.evidence import comparison, entering, intake, machines, plausibility
from scripts.maintenance.evidence.entering import StackRow
from tests.support import CHECKOUT, scripts
from tests.support import evidence_sample as sample
from zoo.certification.results import NOT_RUN
from zoo.core import paths
from zoo.environments import stacks
from zoo.runs import evidence

EVIDENCE = scripts.load("maintenance/evidence/evidence")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recipes that may be written."""
    recipes = shutil.copytree(CHECKOUT / "recipes", tmp_path / "recipes", ignore=shutil.ignore_patterns("*.lock"))
    for lock in (CHECKOUT / "recipes" / "stacks").glob("*/*.lock"):
        (recipes / "stacks" / lock.parent.name / lock.name).symlink_to(lock)
    monkeypatch.setattr(paths, "RECIPES", recipes)
    monkeypatch.setattr(paths, "STACKS", recipes / "stacks")
    return tmp_path


def test_evidence_becomes_rows_of_grade_measured(checkout: Path) -> None:
    changes = entering.changes(intake.read(sample.write(checkout / "e.zip")))
    shown = "\n".join(entering.lines(changes))
    assert "mnist_dense/metal.validated.json: measured: test_accuracy 0.9721" in shown
    entering.write(changes)
    (row,) = [each for each in evidence.read("mnist_dense", "metal") if each["grade"] == "measured"]
    assert (row["device"]["description"], row["platform"], row["stack"]) == ("Apple M1", "macos-arm64", "tf-2.19")
    assert (row["changed"], row["note"]) == ([], "certified on apple-m1-8gb")
    assert "max_minutes" not in row["command"]
    (known,) = [each for each in stacks.load("tf-2.19").evidence if each.grade == "measured"]
    assert (known.platform, known.device) == ("macos-arm64", "metal")
    assert known.what.startswith("6 of 14 steps of certify passed on Apple M1; 6 were not run; failed: train mnist,")
    (machine,) = machines.read()
    assert (machine.passed, machine.failed, machine.not_run, machine.device) == (6, 2, 6, "Apple M1")
    assert machines.table_rows([machine])[0][4].startswith("6 passed, 2 failed, 6 not run (quick); failed: train")


def test_entering_twice_changes_nothing(checkout: Path) -> None:
    read = intake.read(sample.write(checkout / "e.zip"))
    entering.write(entering.changes(read))
    before = {path: path.read_bytes() for path in (checkout / "recipes").rglob("*") if path.is_file()}
    entering.write(entering.changes(read))
    assert before == {path: path.read_bytes() for path in (checkout / "recipes").rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", stacks.names())
def test_a_row_leaves_the_rest_of_a_stack_as_it_is(name: str) -> None:
    text = (CHECKOUT / "recipes" / "stacks" / name / "stack.yaml").read_text(encoding="utf-8")
    platform = sorted(stacks.load(name).platforms)[0]
    row = stacks.Evidence("measured", platform, "cpu", 'says "well": yes', "python -m zoo certify, 2026-11-22, x")
    changed = entering.with_row(text, StackRow(name, "x", row))
    kept = text.replace("evidence: []\n", "evidence:\n")
    assert changed.startswith(kept)
    assert changed.removeprefix(kept).startswith("  - grade: measured\n")
    newer = dataclasses.replace(row, what="later", source="python -m zoo certify, 2026-12-01, x")
    assert entering.with_row(changed, StackRow(name, "x", newer)).count("python -m zoo certify") == 1


def test_two_machines_with_the_same_device_keep_their_rows(checkout: Path) -> None:
    """Every processor is called CPU:0; the hardware tells two of them apart."""
    file = evidence.file("mnist", "cpu")
    (row,) = [
        each for each in evidence.read_file(file) if each["stack"] == "tf-2.21" and each["data"]["name"] == "mnist"
    ]
    other = row | {"hardware": "another-xeon-64gb", "value": 0.9921}
    newer = row | {"value": 0.9931}
    evidence.add(file, other)
    rows = evidence.add(file, newer)
    same = [each for each in rows if evidence.key(each)[:3] == evidence.key(row)[:3] and each["data"] == row["data"]]
    assert {each["hardware"]: each["value"] for each in same} == {
        "another-xeon-64gb": 0.9921,
        row["hardware"]: 0.9931,
    }
    assert len(same) == 2
    assert evidence.place(other).endswith(" of another-xeon-64gb")


def test_what_a_row_takes_the_place_of_is_said(checkout: Path) -> None:
    read = intake.read(sample.write(checkout / "e.zip"))
    entering.write(entering.changes(read))
    shown = entering.lines(entering.changes(read))
    assert f"  in place of that of {sample.TODAY}: 6 passed, 2 failed, 6 not run (quick)" in shown


def test_a_backend_that_was_not_reached_gets_no_row(checkout: Path) -> None:
    """A row without any step would take the place of one that has some."""
    state = sample.certification()
    for step in state.steps[1:]:
        reached = {"state": NOT_RUN, "seconds": 0.0, "figures": {}, "record": "", "issues": [], "problem": ""}
        vars(step).update(reached, reference_gflop_per_s=0.0)
    members = sample.members(state)
    read = intake.read(
        sample.write(checkout / "e.zip", {name: members[name] for name in members if "runs/" not in name})
    )
    assert plausibility.problems(read) == []
    changes = entering.changes(read)
    assert (changes.machines, changes.stacks, changes.trainings) == ([], [], [])
    assert changes.remarks == ["metal with tf-2.19: it was ended before the device was proven"]


def test_a_passed_training_that_misses_the_promise_gives_no_row(checkout: Path) -> None:
    records = sample.runs()
    missed = {"test_accuracy": {"at_least": 0.99, "met": False}}
    records["train-mnist_dense"]["expected"] = missed
    read = intake.read(sample.write(checkout / "e.zip", sample.members(records=records)))
    changes = entering.changes(read)
    assert changes.trainings == []
    assert "the recipe promises at least 0.99" in changes.remarks[0]


@pytest.mark.parametrize("name", ["folder", "text_lines", "PATH", "photos"])
def test_a_training_on_data_that_nobody_else_has_gives_no_row(checkout: Path, name: str) -> None:
    records = sample.runs()
    records["train-mnist_dense"]["data"]["name"] = name
    changes = entering.changes(intake.read(sample.write(checkout / "e.zip", sample.members(records=records))))
    assert changes.trainings == []
    assert changes.remarks[0].startswith("train mnist_dense: it trained on data of certify's own")


def test_a_proposed_recipe_is_kept_with_its_evidence(checkout: Path) -> None:
    records = {"device": sample.runs()["device"]}
    read = intake.read(sample.write(checkout / "e.zip", sample.members(sample.searched(), records)))
    assert plausibility.problems(read) == []
    changes = entering.changes(read)
    (line,) = entering.lines(changes)
    assert "metal.tuned.json: proposed trainer.batch_size=64 trainer.epochs=6, 2.0 times as fast" in line
    (path,) = entering.write(changes)
    (row,) = json.loads(path.read_text(encoding="utf-8"))
    assert (row["values"], row["grade"]) == ({"trainer.batch_size": 64, "trainer.epochs": 6}, "measured")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"values": {"trainer.batch_size": 63}}, "not in the search space"),
        ({"values": {"trainer.jit": True}}, "not in the search space"),
        ({"confirmed_s": {"recipe": [1.0], "winner": [-1.0]}}, "not confirmed"),
        ({"machine": "another"}, "another model, place or machine"),
        ({"model": "../../x"}, "another model, place or machine"),
    ],
)
def test_a_forged_proposal_is_refused(changed: dict[str, object], reason: str, tmp_path: Path) -> None:
    state, records = sample.searched(), {"device": sample.runs()["device"]}
    state.steps[2].proposal |= changed
    read = intake.read(sample.write(tmp_path / "e.zip", sample.members(state, records)))
    assert reason in plausibility.problems(read)[0]


def test_nothing_is_written_unless_it_is_wanted(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sample.write(checkout / "e.zip")
    assert EVIDENCE.main(["add", str(path)]) == 1
    printed = capsys.readouterr()
    assert "Nothing was written" in printed.err
    page = Path(printed.out.partition("before you enter it: ")[2].strip())
    assert "apple-m1-8gb" in page.read_text(encoding="utf-8")
    assert not machines.file().exists()


def test_the_page_inside_of_an_archive_is_not_shown(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = sample.members() | {"page.html": b"<!DOCTYPE html><script>alert(1)</script>"}
    assert EVIDENCE.main(["add", str(sample.write(checkout / "e.zip", members))]) == 1
    page = Path(capsys.readouterr().out.partition("before you enter it: ")[2].strip())
    assert "alert" not in page.read_text(encoding="utf-8")


def test_evidence_that_cannot_be_true_is_not_entered(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = sample.certification()
    state.steps[1].seconds = -1.0
    path = sample.write(checkout / "e.zip", sample.members(state))
    assert EVIDENCE.main(["add", str(path), "--yes"]) == 1
    assert "seconds is -1.0, below zero" in capsys.readouterr().err
    assert not machines.file().exists()


def test_two_machines_differ_by_machine_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = sample.write(tmp_path / "a.zip")
    state = sample.certification()
    state.hardware, state.machine = "apple-m4-16gb", "another Mac"
    state.steps[1].figures = {"device_gflop_per_s": 2147.4}
    state.steps[sample.number_of(state, "golden")] = sample.step("golden")
    other = sample.write(tmp_path / "b.zip", sample.members(state))
    rows = comparison.differences(intake.read(one), intake.read(other))
    assert ["metal with tf-2.19, device: device_gflop_per_s", "1074", "2147", "2"] in rows
    assert any(row[0].endswith("golden") and row[1].startswith("failed") and row[2] == "passed" for row in rows)
    assert EVIDENCE.main(["diff", str(one), str(other)]) == 0
    assert "apple-m1-8gb and apple-m4-16gb" in capsys.readouterr().out
    assert EVIDENCE.main(["diff", str(one), str(one)]) == 0


def test_a_damaged_table_of_machines_is_refused(checkout: Path) -> None:
    machines.file().write_text(json.dumps([{"hardware": 1}]), encoding="utf-8")
    with pytest.raises(Exception, match="malformed"):
        machines.read()
