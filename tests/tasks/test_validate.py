"""Validating a recipe, with a fake worker at the end of the line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import SUPPORT
from zoo.cli.commands.validate import row_of
from zoo.cli.main import main
from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import backends
from zoo.runs import evidence, lifecycle, promises, records, result
from zoo.tasks import recipe_status, registry, validate

COMMIT = "0123456789" * 4
Check = Callable[..., validate.Verdict]


@pytest.fixture
def check(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Validate with a copy of the recipes and a worker that pretends."""
    recipes = pretending / "recipes"
    (recipes / "mnist").mkdir(parents=True)
    shutil.copy(paths.RECIPES / "mnist" / "recipe.yaml", recipes / "mnist")
    monkeypatch.setattr(paths, "RECIPES", recipes)
    monkeypatch.setattr(records, "git_commit", lambda: COMMIT)
    monkeypatch.setattr(validate, "_load", lambda: 0.0)

    def run(*overrides: str, script: str = "ok", write: bool = True) -> validate.Verdict:
        monkeypatch.setenv("FAKE_WORKER", script)
        return validate.validate(Overrides.parse(["model=mnist", "backend=cpu", "data=digits", *overrides]), write)

    return run


def row(verdict: validate.Verdict) -> evidence.Row:
    assert verdict.row is not None
    return verdict.row


def judged(monkeypatch: pytest.MonkeyPatch, least: float) -> None:
    """The recipe is composed from the checkout: pretend that its promise for the digits is another."""
    judge = promises.judge

    def other(command: Any, settings: Any, record: Any) -> Any:
        settings.expect["digits"] = {"test_accuracy": least}
        return judge(command, settings, record)

    monkeypatch.setattr(promises, "judge", other)


def test_a_kept_promise_is_written_beside_the_recipe(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(monkeypatch, 0.9)
    verdict = check("stack=tf-2.21", "output.root=elsewhere", "seed=4")
    evidence_row = row(verdict)
    assert verdict.folder is not None
    assert json.loads((verdict.folder / "run.json").read_text())["config"]["trainer"]["calibrate"] is False
    assert verdict.passed
    assert verdict.written == evidence.file("mnist", "cpu")
    assert evidence.read("mnist", "cpu") == [evidence_row]
    assert (evidence_row["grade"], evidence_row["value"], evidence_row["expected"], evidence_row["commit"]) == (
        "measured",
        0.93,
        0.9,
        COMMIT,
    )
    assert evidence_row["versions"]["six"] == "1.17.0"
    assert evidence_row["device"] == {"name": "fake:0", "device_kind": "cpu", "proof": "nothing"}
    assert evidence_row["seconds"]["train_s"] == 0.2
    assert evidence_row["changed"] == []
    assert evidence_row["command"] == (
        "python -m zoo validate model=mnist backend=cpu data=digits seed=4 stack=tf-2.21"
    )


def test_a_broken_promise_leaves_the_recipe_s_evidence_alone(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(monkeypatch, 0.97)
    verdict = check()
    assert not verdict.passed
    assert verdict.problems == ["test_accuracy is 0.9300, the recipe promises at least 0.97"]
    assert not list(paths.RECIPES.rglob(f"*{evidence.SUFFIX}"))
    assert verdict.folder is not None
    assert verdict.written == verdict.folder / "validated.json"
    assert evidence.verdict(evidence.read_file(verdict.written)[0]) == "missed"


def test_without_a_promise_the_figure_is_recorded_and_not_judged(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = check("data.train_limit=1200", "trainer.epochs=3")
    evidence_row = row(verdict)
    assert verdict.passed
    assert (evidence_row["value"], evidence_row["expected"]) == (0.93, None)
    assert evidence_row["changed"] == ["data.train_limit=1200", "trainer.epochs=3"]
    (remark,) = [text for text in verdict.remarks if "without a verdict" in text]
    assert "data.train_limit=1200 (recipe: null), trainer.epochs=3 (recipe: 8)" in remark


def test_a_promise_on_a_loss_is_recorded_as_an_upper_bound(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    train = registry.dispatch

    def finished_with(value: float) -> evidence.Row:
        def run(verb: str, overrides: Overrides) -> result.Run:
            done = train(verb, overrides)
            done.record["metrics"] = {"val_loss": value}
            done.record["expected"] = {"val_loss": {"at_most": 1.88, "met": value <= 1.88}}
            return done

        monkeypatch.setattr(registry, "dispatch", run)
        return row(check())

    kept = finished_with(1.79)
    assert (kept["expected"], kept["direction"], evidence.verdict(kept)) == (1.88, "at_most", "reached")
    assert "(at most 1.88: reached)" in evidence.words(kept)
    assert evidence.verdict(finished_with(2.5)) == "missed"


def test_a_setting_that_repeats_the_recipe_is_no_change(check: Check) -> None:
    assert row(check("trainer.learning_rate=0.02"))["changed"] == []


def test_smoke_never_reaches_an_expectation(check: Check) -> None:
    verdict = check("preset=smoke")
    evidence_row = row(verdict)
    assert (evidence_row["preset"], evidence_row["expected"]) == ("smoke", None)
    assert verdict.passed
    assert row_of(verdict)["result"] == "trains"


def test_a_stand_in_is_never_called_measured(check: Check) -> None:
    verdict = check("stack=tf-2.5", "preset=smoke")
    evidence_row = row(verdict)
    assert evidence_row["grade"] == "stand-in"
    assert "tensorflow-metal 0.1.2" in evidence_row["note"]
    assert any("does not test the GPU" in text for text in verdict.remarks)


def test_no_path_of_this_machine_is_written(check: Check, shared_data: Path, tmp_path: Path) -> None:
    verdict = check("data=mnist", f"data.root={shared_data / 'mnist'}", "preset=smoke", f"output.root={tmp_path / 'o'}")
    assert "data.root=DATA" in row(verdict)["command"]
    assert verdict.written is not None
    text = verdict.written.read_text()
    for place in (tmp_path, shared_data, Path.home(), paths.ROOT):
        assert str(place) not in text


def test_the_backend_that_auto_stood_for_is_named(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_WORKER", "ok")
    evidence_row = row(validate.validate(Overrides.parse(["data=digits", "preset=smoke", "backend=cpu"])))
    assert "model=mnist" in evidence_row["command"]
    assert "auto" not in json.dumps(evidence_row)


def test_a_place_in_any_setting_is_left_out(check: Check) -> None:
    command = row(check("preset=smoke", "stack=torch", "backend.device='/opt/devices/one'"))["command"]
    assert "backend.device=PATH" in command


def test_changes_that_are_not_committed_are_told(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "git_commit", lambda: f"{COMMIT}-dirty")
    verdict = check("preset=smoke")
    assert row(verdict)["commit"] == f"{COMMIT}-dirty"
    assert any("uncommitted changes" in text for text in verdict.remarks)


def test_a_failed_training_leaves_no_row(check: Check) -> None:
    with pytest.raises(ZooError, match="it does not work"):
        check(script="error")
    assert not list(paths.RECIPES.rglob(f"*{evidence.SUFFIX}"))


def test_an_interruption_is_told_as_one(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import signal

    from zoo.execution import event_display

    def press_ctrl_c(*_: Any) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "an epoch"

    monkeypatch.setattr(event_display, "epoch_line", press_ctrl_c)
    with pytest.raises(ZooError) as caught:
        check(script="slow")
    assert caught.value.exit_code == 130
    assert not list(paths.RECIPES.rglob(f"*{evidence.SUFFIX}"))


def test_an_unknown_zoo_is_refused_before_anything_is_trained(
    check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(records, "git_commit", lambda: None)
    monkeypatch.setattr(lifecycle, "version", lambda: "unknown")
    with pytest.raises(ZooError, match="The version of the zoo is unknown"):
        check()
    assert not (tmp_path / "runs").exists()


def test_the_checkout_is_left_alone_unless_it_is_to_be_written(check: Check) -> None:
    verdict = check("preset=smoke", write=False)
    assert verdict.written == evidence.own_file("mnist", "cpu")
    assert not list(paths.RECIPES.rglob(f"*{evidence.SUFFIX}"))
    (kept,) = evidence.read_file(evidence.own_file("mnist", "cpu"))
    assert kept == row(verdict)
    assert recipe_status.rows_of("mnist", backends.load("cpu")) == [kept]
    assert recipe_status.rows_of("mnist", backends.load("cpu"), own=False) == []


def test_an_installed_zoo_is_not_written_and_nothing_is_trained_for_it(
    check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "ROOT", paths.PACKAGE)
    with pytest.raises(ZooError, match="this zoo is installed"):
        check("preset=smoke")
    assert not (tmp_path / "runs").exists()


def finished(**changes: Any) -> dict[str, Any]:
    """A record as far as its judgement goes."""
    device = {"name": "GPU:0", "device_kind": "gpu", "proof": "matmul"}
    return {"device_kind": "gpu", "device": device, "metrics": {"test_accuracy": 0.99}} | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"probes": [{"name": "dense", "ok": True}]}, None),
        ({"probes": [{"name": "dense", "ok": False}]}, "the probe dense failed"),
        ({"probes": [{"name": "dense", "ok": True}, {"name": "conv", "ok": False}]}, "the probe conv failed"),
        (
            {"device": {"name": "CPU:0", "device_kind": "cpu", "proof": "matmul"}},
            "promises a GPU, but matmul ran on CPU:0",
        ),
        ({"expected": {"test_accuracy": {"at_least": 0.995, "met": False}}}, "the recipe promises at least 0.995"),
        (
            {"metrics": {"val_loss": 2.0}, "expected": {"val_loss": {"at_most": 1.9, "met": False}}},
            "at most 1.9",
        ),
    ],
)
def test_what_does_not_count(changes: dict[str, Any], words: str | None) -> None:
    problems = validate.problems_of(finished(**changes))
    assert (words is None) == (problems == [])
    assert words is None or words in problems[0]


def test_the_time_on_a_busy_machine_is_told_to_be_wrong(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "note" not in row(check("preset=smoke"))
    monkeypatch.setattr(validate, "_load", lambda: 1000.0)
    verdict = check("preset=smoke", "stack=tf-2.5")
    assert row(verdict)["note"].startswith("stands in for")
    assert validate.BUSY in row(verdict)["note"]
    assert any(validate.BUSY in text for text in verdict.remarks)


def test_probes_are_kept_and_told(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    train = registry.dispatch
    outcome = {"name": "dense_relu", "ok": True, "largest_error": 2e-7, "tolerance": 1e-4, "skipped": None}
    failing = outcome | {"name": "conv", "largest_error": None, "skipped": "it failed loudly: /tmp/a/b.so"}

    def probed(verb: str, overrides: Overrides) -> result.Run:
        run = train(verb, overrides)
        run.record["probes"] = [outcome, failing]
        return run

    monkeypatch.setattr(registry, "dispatch", probed)
    verdict = check("preset=smoke")
    assert row(verdict)["probes"]["dense_relu"]["largest_error"] == 2e-7
    assert "/tmp" not in json.dumps(row(verdict))
    assert any("1 of 2 right; not compared: conv" in text for text in verdict.remarks)


def test_one_table_of_all_with_the_failed_one_in_it(
    check: Check, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_WORKER", "ok")
    common = ["--write", "model=mnist", "backend=cpu", "data=digits", "preset=smoke"]
    assert main(["validate", "-m", *common, "stack=tf-2.21,tf-1.8"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("0.9300") == 2
    assert "stand-in" in shown
    assert main(["validate", "-m", *common, "stack=tf-2.21,tf-9"]) == 1
    printed = capsys.readouterr()
    assert "FAILED" in printed.out
    assert "tf-9" in printed.err
    assert main(["validate", *common, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["passed"] is True


def test_all_recipes_are_validated_and_the_second_start_skips_them(
    check: Check, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(monkeypatch, 0.9)
    monkeypatch.setenv("FAKE_WORKER", "ok")
    monkeypatch.setattr(recipe_status, "promised", lambda *_: {"digits": {"test_accuracy": 0.9}})
    monkeypatch.setattr(recipe_status, "file_sha256", lambda *_: "0" * 64)  # of the environment that pretends
    words = ["validate", "--all", "model=mnist", "backend=cpu", "stack=tf-2.21,torch"]
    assert main([*words, "data=mnist"]) == 1
    assert "data=mnist has no effect with --all" in capsys.readouterr().err
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "[1/2, time left unknown] model=mnist backend=cpu data=digits stack=tf-2.21" in shown.err
    assert "[2/2, about 0 min left]" in shown.err
    kept = evidence.read_file(evidence.own_file("mnist", "cpu"))
    assert [row["stack"] for row in kept if row["recipe_sha256"]] == ["tf-2.21", "torch"]
    assert main(words) == 0
    assert "Nothing to do" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["stack=zzz", "stack=torch,zzz", "model=mnist,zzz", "backend=zzz", "stack="])
def test_a_name_that_nothing_has_validates_nothing(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--all", word]) == 1
    assert f"There is no {word.partition('=')[0]} called '{'zzz' * (word[-1] == 'z')}'" in capsys.readouterr().err


def test_the_loss_of_a_style_network_is_recorded(
    check: Check, pretending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "WORKER", SUPPORT / "fake_style_worker.py")
    verdict = validate.validate(Overrides.parse(
        ["model=style_transfer/fast", "backend=cpu", "features=distilled", "trainer.steps=3", "trainer.size=32"]
    ))  # fmt: skip
    evidence_row = row(verdict)
    assert verdict.passed
    assert verdict.written == evidence.own_file("style_transfer/fast", "cpu")
    assert (evidence_row["metric"], evidence_row["preset"]) == ("loss", "full")
    assert evidence_row["data"]["name"] == "photos"
    assert evidence_row["data"]["train_items"] == 2
    assert evidence_row["changed"] == ["trainer.size=32", "trainer.steps=3"]
    assert "data=" not in evidence_row["command"]


def test_a_model_without_a_figure_is_refused_before_it_is_trained(check: Check) -> None:
    with pytest.raises(ZooError, match="have no metric on a data set"):
        validate.validate(Overrides.parse(["model=style_transfer"]))
