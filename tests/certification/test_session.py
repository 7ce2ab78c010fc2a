"""A certification from the command line, with a worker that pretends: what is kept, told and gone on with."""

import dataclasses
import datetime
import itertools
import json
import sys
import zipfile
from pathlib import Path
from typing import Any, Self

import pytest

from scripts.maintenance.evidence import intake
from tests.support import evidence_sample as sample
from zoo.certification import endurance, page, plan, reference, results, samples, session, steps
from zoo.certification.plan import Step
from zoo.certification.results import FAILED, NOT_RUN, PASSED, SKIPPED
from zoo.certification.work import Findings, Work
from zoo.cli.main import main
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.environments import backends, power
from zoo.environments.power import Power
from zoo.tasks import registry

QUICK = ["certify", "--quick", "backend=cpu", "stack=tf-2.21"]


def state(folder: Path) -> dict[str, Any]:
    (path,) = (folder / "runs").glob("certify-*/certify.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def only(monkeypatch: pytest.MonkeyPatch, *chosen: Step) -> None:
    """Let a certification consist of these steps."""
    monkeypatch.setattr(plan, "steps_of", lambda place, mode: list(chosen))


DEVICE = Step("device", "proves the device", 8, steps.device, needed=True)
TRAIN = Step("train mnist_dense", "trains", 9, steps.training("mnist_dense", "data=digits", minutes=1))
EPOCH = Step("first epoch of mnist_dense", "compares losses", 9, steps.first_epoch("mnist_dense"))


def test_passed_and_failed_steps_become_a_page_and_an_archive(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only(monkeypatch, DEVICE, EPOCH, TRAIN)
    assert main(QUICK) == 1
    said = capsys.readouterr()
    by_name = {row["step"]: row for row in state(pretending)["steps"]}
    assert {name: row["state"] for name, row in by_name.items()} == {
        "device": PASSED, "first epoch of mnist_dense": FAILED, "train mnist_dense": PASSED,
    }  # fmt: skip
    assert "the losses differ from the golden values" in by_name["first epoch of mnist_dense"]["problem"]
    assert by_name["device"]["reference_gflop_per_s"] > 0
    assert "[1/3] cpu with tf-2.21: proves the device" in said.err
    assert "2 passed, 1 failed\n" in said.out
    (archive,) = pretending.glob("evidence-*.zip")
    assert archive.with_suffix(".html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    read = intake.read(archive)
    assert [row.step for row in read.state.steps] == ["device", "first epoch of mnist_dense", "train mnist_dense"]
    assert len(read.runs) == 3
    with zipfile.ZipFile(archive) as file:
        assert str(pretending) not in "".join(file.read(name).decode() for name in file.namelist())


def test_the_same_command_goes_on_with_what_was_stopped(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def count(name: str, stops: bool = False) -> Step:
        def do(_: Work) -> Findings:
            done.append(name)
            if stops and done.count(name) == 1:
                raise KeyboardInterrupt
            return Findings([name])

        return Step(name, name, 1, do)

    only(monkeypatch, count("one"), count("two", stops=True), count("three"))
    assert main(QUICK) == 130
    assert "Run the same command to continue" in capsys.readouterr().err
    assert [row["step"] for row in state(pretending)["steps"]] == ["one"]
    assert main(QUICK) == 0
    assert done == ["one", "two", "two", "three"]
    assert state(pretending)["finished"]
    assert main(QUICK) == 0  # a finished one is not gone on with, and its archive not overwritten
    assert len(list(pretending.glob("evidence-*.zip"))) == 2
    assert len(list((pretending / "runs").glob("certify-*"))) == 2


def test_two_that_begin_in_one_second_have_a_folder_each(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Self:
            return cls(2026, 11, 25, 10, 30, tzinfo=tz)

    monkeypatch.setattr(session.datetime, "datetime", Clock)
    only(monkeypatch, Step("one", "one", 1, lambda _: Findings(["one"])))
    assert [main(QUICK), main(QUICK)] == [0, 0]
    assert len(list((pretending / "runs").glob("certify-*/certify.json"))) == 2


def test_what_a_stopped_one_has_done_is_evidence_and_it_still_goes_on(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def stop(_: Work) -> Findings:
        asked.append("two")
        if len(asked) == 1:
            raise KeyboardInterrupt
        return Findings(["two"])

    only(monkeypatch, DEVICE, Step("two", "two", 1, stop), Step("three", "three", 1, lambda _: Findings(["three"])))
    assert main([*QUICK, "--finish"]) == 1
    assert "There is no stopped certification with these settings" in capsys.readouterr().err
    assert main(QUICK) == 130
    assert "add --finish to write the evidence of the finished steps" in capsys.readouterr().err
    assert main(["certify", "backend=cpu", "stack=tf-2.21", "--finish"]) == 1  # another command: it was not stopped
    assert not list(pretending.glob("evidence-*"))
    assert main([*QUICK, "--finish"]) == 0
    assert "1 passed, 2 not run" in capsys.readouterr().out
    (archive,) = pretending.glob("evidence-*.zip")
    kept = intake.read(archive).state
    assert [(row.step, row.state) for row in kept.steps] == [("device", PASSED), ("two", NOT_RUN), ("three", NOT_RUN)]
    assert kept.finished
    assert "not run" in archive.with_suffix(".html").read_text(encoding="utf-8")
    assert main(QUICK) == 0  # what is kept in the folder was not ended
    assert [row["state"] for row in state(pretending)["steps"]] == [PASSED, PASSED, PASSED]


def test_a_certification_that_was_stopped_at_once_is_no_evidence(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: Work) -> Findings:
        raise KeyboardInterrupt

    only(monkeypatch, Step("one", "one", 1, stop))
    assert main(QUICK) == 130
    assert main([*QUICK, "--finish"]) == 1
    assert "No step has run yet" in capsys.readouterr().err
    assert not list(pretending.glob("evidence-*"))


def test_what_needs_a_device_is_skipped_without_one(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_WORKER", "plugin")
    only(monkeypatch, DEVICE, TRAIN)
    assert main(QUICK) == 1
    device, train = state(pretending)["steps"]
    assert (device["state"], train["state"], train["problem"]) == (FAILED, SKIPPED, "device failed")
    assert device["issues"] == ["metal-tf220-pywrap"]


def test_a_killed_training_goes_on(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training that is killed is a program that does what a training leaves behind, and then waits."""
    folder = pretending / "killed"
    leaving = (
        "import json, pathlib, time\n"
        f"folder = pathlib.Path({str(folder)!r}); folder.mkdir()\n"
        "with (folder / 'events.jsonl').open('w') as log:\n"
        "    for number in (1, 2, 3):\n"
        "        print(json.dumps({'event': 'epoch', 'epoch': number}), file=log, flush=True)\n"
        "time.sleep(60)\n"
    )
    assert endurance._killed_in_epoch(folder, [sys.executable, "-c", leaving]) == 3


def test_a_machine_on_battery_is_waited_for(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [Power(True, 40)] * 6
    monkeypatch.setattr(power, "read", lambda: answers.pop(0) if answers else Power(False, 41))
    monkeypatch.setattr(session, "BATTERY_POLL_S", 0.01)
    only(monkeypatch, Step("one", "one", 1, lambda _: Findings(["done"])))
    assert main(QUICK) == 0
    assert "waiting until it is plugged in" in capsys.readouterr().err
    assert not answers


def test_throttling_is_noticed_and_rested_until_it_ends(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speeds = iter([100.0, 100.0, 55.0, 60.0, 70.0, 98.0, 99.0])  # at the end of a step, twice in the rest, and again
    monkeypatch.setattr(session.reference, "gflop_per_s", lambda: next(speeds))
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(session, "SETTLE_S", 0.01)
    only(monkeypatch, *(Step(name, name, 1, lambda _: Findings()) for name in ("one", "two", "three")))
    assert main(QUICK) == 0
    assert "60 % of its first speed: this machine is throttled" in capsys.readouterr().err
    assert list(speeds) == []


@pytest.mark.parametrize(
    ("last", "verdict"),
    [(100.0, "kept its speed"), (130.0, "was busy with other work at the beginning"), (70.0, "It was throttled")],
)
def test_the_page_tells_how_the_speed_changed(last: float, verdict: str) -> None:
    state = sample.certification()
    for step in state.steps:
        step.reference_gflop_per_s = 100.0
    state.reference_gflop_per_s, state.steps[-1].reference_gflop_per_s = 100.0, last
    shown = page.page(state)
    assert verdict in shown
    assert ("kept its speed" in shown) == (last == 100.0)


def test_the_reference_product_is_computed_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    count = "import os; print(sum(os.environ[name] == '1' for name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS')))"
    for name in reference.ONE_THREAD:
        monkeypatch.setenv(name, "8")
    assert 0 < reference.gflop_per_s() < 1e5
    monkeypatch.setattr(reference, "CODE", count)
    assert reference.gflop_per_s() == 2


def test_a_rest_ends_on_a_machine_that_stays_hot(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speeds = itertools.chain([100.0], itertools.repeat(60.0))
    monkeypatch.setattr(session.reference, "gflop_per_s", lambda: next(speeds))
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(session, "SETTLE_S", 0.01)
    monkeypatch.setattr(session, "COOL_S", 0.05)
    only(monkeypatch, *(Step(name, name, 1, lambda _: Findings()) for name in ("one", "two")))
    assert main(QUICK) == 0
    assert "waiting up to 0 seconds" in capsys.readouterr().err


def test_work_that_passes_is_no_throttling(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speeds = iter([100.0, 60.0, 98.0, 99.0])
    monkeypatch.setattr(session.reference, "gflop_per_s", lambda: next(speeds))
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(session, "SETTLE_S", 0.01)
    only(monkeypatch, *(Step(name, name, 1, lambda _: Findings()) for name in ("one", "two")))
    assert main(QUICK) == 0
    assert "throttled" not in capsys.readouterr().err


def test_a_hot_machine_does_not_rest_before_steps_that_are_skipped(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speeds = iter([100.0, 60.0, 60.0])
    monkeypatch.setattr(session.reference, "gflop_per_s", lambda: next(speeds))
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(session, "SETTLE_S", 0.01)
    monkeypatch.setattr(session, "COOL_S", 600.0)
    broken = Step("one", "one", 1, lambda _: Findings(problem="broken"), needed=True)
    only(monkeypatch, broken, *(Step(name, name, 1, lambda _: Findings()) for name in ("two", "three")))
    assert main(QUICK) == 1
    assert "throttled" not in capsys.readouterr().err


def test_steps_are_listed_with_their_time(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "--list", "backend=cpu", "stack=tf-2.21"]) == 0
    shown = capsys.readouterr().out
    assert "train transformer/lm" in shown
    assert not list(pretending.glob("runs"))


@pytest.mark.parametrize("word", ["bakend=cpu", "backend", "backend=nothing", "stack=nothing"])
def test_a_wrong_setting_is_refused(pretending: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", word]) == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["--tune"], ["--tune", "model=mobilenet"], ["--tune", "model=mnist_dense", "trials=x"], ["trials=3"]],
)
def test_a_search_without_what_it_needs_is_refused(pretending: Path, words: list[str]) -> None:
    assert main(["certify", "backend=cpu", *words]) == 1
    assert not list(pretending.glob("runs/certify-*"))


def test_a_search_brings_back_a_proposed_recipe(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    row = {"values": {"trainer.epochs": 4}, "confirmed_s": {"recipe": [2.0], "winner": [1.0]}, "times_as_fast": 2.0}

    def search(wanted: Any) -> dict[str, Any]:
        asked.append(wanted)
        return {"winner": row}

    monkeypatch.setattr(steps.tune, "run", search)
    words = ["certify", "--tune", "model=mnist_dense", "trials=4", "backend=cpu", "stack=tf-2.21"]
    assert main(words) == 0
    last = state(pretending)["steps"][-1]
    assert (last["step"], last["state"], last["proposal"]["values"]) == ("tune mnist_dense", PASSED, row["values"])
    assert (asked[0].trials, asked[0].backend, asked[0].data) == (4, "cpu", "digits")
    (folder,) = (pretending / "runs").iterdir()
    assert folder.name.startswith("certify-tune-mnist_dense-digits-4-")


def test_a_damaged_state_begins_anew(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, Step("one", "one", 1, lambda _: Findings()))
    broken = pretending / "runs" / "certify-quick-0"
    broken.mkdir(parents=True)
    (broken / results.STATE).write_text("{")
    assert main(QUICK) == 0
    assert (broken / results.STATE).read_text() == "{"
    with pytest.raises(ZooError, match="not a valid certification"):
        results.of({"format": 9}, "x")


@pytest.mark.parametrize("model", json.loads(steps.FIRST_EPOCHS.read_text(encoding="utf-8"))["losses"])
def test_every_backend_takes_the_same_first_epoch(model: str, tmp_path: Path) -> None:
    """Golden losses hold for one set of settings: no recipe of a backend may change any of them."""
    composed = {}
    for backend in (row for row in backends.load_all() if row.runnable and row.trains):
        words = [*steps.first_epoch_settings(model, tmp_path), f"backend={backend.name}"]
        settings = dataclasses.asdict(registry.compose_settings("train", Overrides.parse(words)))
        chosen = {name: value for name, value in settings.items() if name not in ("backend", "stack", "expect")}
        composed[backend.name] = chosen
    assert len(composed) > 5
    assert {name: chosen for name, chosen in composed.items() if chosen != composed["cpu"]} == {}


def test_the_drawn_images_are_trained_on(pretending: Path) -> None:
    """They are flat, and files of each class have the same names, as in a data set of masks."""
    words = steps.first_epoch_settings("mobilenet", samples.draw(pretending / "samples"))
    assert main(["train", *words, "backend=cpu"]) == 0
