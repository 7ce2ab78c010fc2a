"""The search for settings that reach a target sooner."""

import dataclasses
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support import real_stacks
from zoo.cli.main import main
from zoo.config import search_space
from zoo.config.overrides import Overrides
from zoo.config.schemas.launching import LauncherSettings
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.execution import launchers, trainings
from zoo.runs.study import Study
from zoo.tasks import registry, search_settings, tune

SPACE = search_space.Space("val_accuracy", {"digits": 0.95}, {
    "trainer.batch_size": search_space.Range(choices=[16, 64]),
    "trainer.learning_rate": search_space.Range(low=0.001, high=0.1, log=True),
    "trainer.epochs": search_space.Range(low=2, high=9),
})  # fmt: skip


class Training:
    """A job whose training takes as long as told; it begins far from the target and comes nearer with every look."""

    def __init__(self, engine: "Engine", words: list[str]) -> None:
        values = dict(word.partition("=")[::2] for word in words[4:])
        self.ticket, self.place, self.values = values["output.name"], "here", values
        self._file = Path(values["output.root"]) / self.ticket / "events.jsonl"
        self._file.parent.mkdir(parents=True)
        self._needs, self._epoch, self.ended = engine.does(values), 0, False
        device = {"name": "fake:0", "device_kind": "cpu"}
        self._write({"event": "start", "t": 0.0, "versions": {}, "device": device})

    def _write(self, event: dict[str, Any]) -> None:
        with self._file.open("a") as out:
            out.write(json.dumps(event) + "\n")

    def is_running(self) -> bool:
        if isinstance(self._needs, BaseException):
            raise self._needs
        if self._needs is None or self.ended or self._epoch >= 30:
            return False
        self._epoch += 1
        value = 0.95 - (self._needs - self._epoch) / 100
        self._write({"event": "epoch", "t": float(self._epoch), "epoch": self._epoch, "val_accuracy": value})
        return True

    def interrupt(self) -> None:
        self.ended = True

    kill = interrupt

    def wait(self) -> int:
        return -9 if self._needs is None else 0


class Engine:
    """An engine that pretends; ``does`` says how many epochs a training needs, or None: its process dies."""

    jobs: int | None = None
    places = ("here",)

    def __init__(self, does: Any) -> None:
        self.does, self.asked = does, []  # type: tuple[Any, list[Training]]

    def submit(self, command: Any, place: str | None = None) -> Any:
        if command.name.startswith("prepare"):
            return Prepared()
        self.asked.append(Training(self, command.words))
        return self.asked[-1]

    def find(self, ticket: str) -> None:
        return None

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Prepared:
    ticket = place = "here"

    def is_running(self) -> bool:
        return False

    def wait(self) -> int:
        return 0


def search(
    folder: Path, trials: int = 10, jobs: int = 1, confirm: int = 0, seed: int = 1, retries: int = 2
) -> tune.Search:
    settings = LauncherSettings(jobs=jobs, retries=retries)
    fixed = Overrides.of({"model": "mnist_dense"})
    return tune.Search("mnist_dense", "cpu", "digits", SPACE, 0.95, fixed, settings, folder, trials, confirm, seed)


def executed(monkeypatch: pytest.MonkeyPatch, wanted: tune.Search, does: Any) -> tuple[dict[str, Any], Engine]:
    engine = Engine(does)
    monkeypatch.setattr(launchers, "executor", lambda *_: engine)
    monkeypatch.setattr(tune, "POLL_S", 0.0)
    return tune.run(wanted), engine


def by_batch(values: dict[str, str]) -> float:
    return float(values["trainer.batch_size"]) / 4 + float(values["trainer.learning_rate"])


@pytest.mark.draws
def test_the_soonest_wins_and_the_slower_are_ended_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, engine = executed(monkeypatch, search(tmp_path, trials=12, jobs=3), by_batch)
    assert len(engine.asked) == len(result["trials"]) == 12
    assert {training.values["trainer.calibrate"] for training in engine.asked} == {"false"}
    assert result["winner"]["values"]["trainer.batch_size"] == 16
    assert Counter(trial["state"] for trial in result["trials"])["pruned"] > 0
    assert set(result["importances"]) == set(SPACE.values)
    assert (tmp_path / "trials.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["report", str(tmp_path)]) == 0
    assert "Settings of the winner" in (tmp_path / "report.html").read_text()


def test_no_trial_is_lost_or_doubled_where_workers_die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deaths = iter([None, None])

    def dies_twice(values: dict[str, str]) -> float | None:
        return next(deaths, 4.0) if values["output.name"].startswith("trial-0002") else 4.0

    result, engine = executed(monkeypatch, search(tmp_path, trials=8, jobs=4), dies_twice)
    assert [trial["number"] for trial in result["trials"]] == list(range(8))
    assert "failed" not in {trial["state"] for trial in result["trials"]}
    again = [job.ticket for job in engine.asked if job.ticket.startswith("trial-0002")]
    assert again == ["trial-0002", "trial-0002_2", "trial-0002_3"]
    assert len({job.values["trainer.learning_rate"] for job in engine.asked if job.ticket in again}) == 1


def test_a_trial_that_keeps_dying_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = executed(monkeypatch, search(tmp_path, trials=3, retries=1),
                         lambda values: None if "trial-0001" in values["output.name"] else 4.0)  # fmt: skip
    assert [trial["state"] == "failed" for trial in result["trials"]] == [False, True, False]


def test_where_every_trial_fails_the_search_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ZooError, match="All 3 trials failed"):
        executed(monkeypatch, search(tmp_path, trials=50, retries=0), lambda _: None)


def test_a_search_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([5.0, 4.0, KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        executed(monkeypatch, search(tmp_path, trials=5), lambda _: next(answers))
    left = Study(tmp_path, search(tmp_path).question, 1, 1)
    assert [trial.state for trial in left.trials][-1] == "running"
    result, engine = executed(monkeypatch, search(tmp_path, trials=5), lambda _: 3.0)
    assert [trial["number"] for trial in result["trials"]] == [0, 1, 2, 3, 4]
    assert "running" not in {trial["state"] for trial in result["trials"]}
    assert engine.asked[0].ticket == "trial-0002_2"
    assert len(executed(monkeypatch, search(tmp_path, trials=5), lambda _: 3.0)[1].asked) == 0
    with pytest.raises(ZooError, match="other settings"):
        executed(monkeypatch, search(tmp_path, seed=2), lambda _: 3.0)


def test_the_winner_is_confirmed_in_turns_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = search(tmp_path / "study", trials=2, confirm=2)
    result, engine = executed(monkeypatch, wanted, lambda values: 2.0 if "trainer.batch_size" in values else 6.0)
    row = result["winner"]
    assert row["confirmed_s"] == {"recipe": [6.0, 6.0], "winner": [2.0, 2.0]}
    assert (row["times_as_fast"], row["trials"], row["seed"], row["grade"]) == (3.0, 2, 1, "measured")
    lines = search_settings.summary(wanted, result)
    assert "Seconds to the target from new seeds: recipe 6, 6; winner 2, 2" in lines
    assert search_settings.confirmed_words({"recipe": [6.25, None]}) == "recipe 6.25, not reached"
    assert [job.values["seed"] for job in engine.asked[2:]] == ["2", "2", "3", "3"]
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps([{"data": "mnist"}]))
    for _ in range(2):
        tune.keep(kept, row)
    assert [each["data"] for each in json.loads(kept.read_text())] == ["mnist", "digits"]
    kept.write_text("{}")
    with pytest.raises(ZooError, match="does not contain a list of winners"):
        tune.keep(kept, row)


def test_the_best_accuracy_in_a_given_time_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = dataclasses.replace(search(tmp_path, trials=12, confirm=2), target=None, limit_s=5.0)
    recipe = {"trainer.batch_size": "40", "trainer.learning_rate": "0"}
    result, engine = executed(monkeypatch, wanted, lambda values: by_batch(recipe | values))
    states = Counter(trial["state"] for trial in result["trials"])
    assert states["complete"] > 0 < states["pruned"]
    row, best = result["winner"], max(trial["result"] or 0 for trial in result["trials"])
    assert row["values"]["trainer.batch_size"] == 16
    assert row["search_result"] == best == round(0.96 - row["values"]["trainer.learning_rate"] / 100, 5)
    assert row["confirmed"] == {"recipe": [0.9] * 2, "winner": [best] * 2}
    assert row["gain"] == pytest.approx(best - 0.9, abs=1e-5)
    assert len(engine.asked) == 16
    assert any(line.startswith("From new seeds, best val_accuracy in 5 seconds: ")
               for line in search_settings.summary(wanted, result))  # fmt: skip
    lines = search_settings.summary(dataclasses.replace(wanted, confirm=0), result)
    assert not any("new seeds" in line for line in lines)
    assert main(["report", str(tmp_path)]) == 0
    assert "gain over the recipe" in (tmp_path / "report.html").read_text()


def test_what_is_no_better_than_the_recipe_is_no_winner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = dataclasses.replace(search(tmp_path, trials=2, confirm=1), target=None, limit_s=5.0)
    result, _ = executed(monkeypatch, wanted, lambda values: 9.0 if "trainer.batch_size" in values else 6.0)
    assert result["winner"] is None
    assert "is better than the recipe" in "\n".join(search_settings.summary(wanted, result))


@pytest.mark.parametrize(
    ("more", "words"),
    [("goal=best", "goal must be time or accuracy"), ("seconds=9", "seconds=9 has no effect with goal=time"),
     ("goal=accuracy target=0.9", "target=0.9 has no effect"), ("goal=accuracy keep=a", "keep=a has no effect"),
     ("goal=accuracy seconds=0.5", "seconds must be a whole number")],
)  # fmt: skip
def test_goals_that_do_not_fit_are_refused(more: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "model=mnist_dense", "data=digits", *more.split()]) == 1
    assert words in capsys.readouterr().err


def test_what_was_luck_is_no_winner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = search(tmp_path, trials=2, confirm=1)
    result, _ = executed(monkeypatch, wanted, lambda values: 2.0 if values["seed"] == "1" else 1000.0)
    assert result["winner"] is None
    assert "No winner: none of" in "\n".join(search_settings.summary(wanted, result))


def test_a_value_that_the_user_gave_is_not_varied() -> None:
    given = ["model=mnist_dense", "data=digits", "trainer.epochs=3", "trainer.schedule=cosine"]
    wanted, _ = search_settings.read(Overrides.parse(given))
    usual, _ = search_settings.read(Overrides.parse(given[:2]))
    assert set(usual.space.values) - set(wanted.space.values) == {"trainer.epochs", "trainer.schedule"}
    every = [f"{name}={row.choices[0] if row.choices else row.low}" for name, row in usual.space.values.items()]
    with pytest.raises(ZooError, match="Every setting of the search space has a fixed value"):
        search_settings.read(Overrides.parse([*given[:2], *every]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data=digits"], "model is missing"),
        (["model=mobilenet", "data=digits"], "declares no search space"),
        (["model=mnist_dense", "data=folder"], "has no target for folder"),
        (["model=mnist_dense", "data=digits", "trials=0"], "trials must be a whole number"),
        (["model=mnist_dense", "data=digits", "target=high"], "target must be a number"),
        (["model=mnist_dense", "data=digits", "target=2"], "target must be a number, 1 at most, got '2'"),
        (["model=mnist_dense", "data=digits", "keep="], "keep= has no value"),
        (["model=mnist_dense", "data=digits", "seed=1", "trainer.warmup=0.1,0.2"], "several values"),
        (["model=mnist_dense", "data=digits", "output.root=x"], "study=FOLDER"),
        (["model=mnist_dense", "data=digits", "space=nowhere.yaml"], "There is no file nowhere.yaml"),
        (["model=mnist_dense", "data=digits", "trainer.epocs=3"], "trainer.epochs"),
        (["model=mnist_dense", "data=digits", "keep=."], "Cannot write .: Is a directory"),
        (["model=mnist_dense", "data=digits", f"keep={__file__}"], "cannot be read"),
        (["model=mnist_dense", "data=digits", "study=/proc/x", "--dry-run"], "Cannot write /proc/x/"),
    ],
)
def test_mistakes_come_before_any_trial(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tune", *words]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_search_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "search.json").write_text("my notes")
    assert main(["tune", "model=mnist_dense", "data=digits", f"study={tmp_path}"]) == 1
    assert "has files, but no search" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["search.json"]


def test_without_optuna_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "model=mnist_dense", "data=digits"]) == 1
    assert "[tune]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "row", ["{low: 1}", "{choices: [1], low: 2}", "{low: 3, high: 1}", "{low: 0, high: 1, log: true}"]
)
def test_a_malformed_space_is_refused(tmp_path: Path, row: str) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(f"metric: val_accuracy\ntarget: {{}}\nvalues: {{trainer.epochs: {row}}}\n")
    with pytest.raises(ZooError, match="low"):
        search_space.load("mnist", "cpu", str(path))


@pytest.mark.parametrize("key", ["model", "backend.python", "output.root", "launcher.options"])
def test_a_space_varies_settings_of_the_training_only(tmp_path: Path, key: str) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(f"metric: val_accuracy\ntarget: {{}}\nvalues: {{{key}: {{choices: [a, b]}}}}\n")
    with pytest.raises(ZooError, match=f"values.{key}: a search varies settings such as trainer.epochs"):
        search_space.load("mnist", "cpu", str(path))


@pytest.mark.parametrize("metric", ["zzz", "val_zzz", "loss", "epochs"])
def test_a_metric_that_no_validation_has_is_refused(
    tmp_path: Path, metric: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(f"metric: {metric}\ntarget: {{digits: 0.9}}\nvalues: {{seed: {{low: 1, high: 2}}}}\n")
    assert main(["tune", "model=mnist_dense", "data=digits", f"space={path}", "--dry-run"]) == 1
    assert f"metric: expected a validation metric, such as val_accuracy, got '{metric}'" in capsys.readouterr().err


def test_every_space_names_settings_that_there_are() -> None:
    files = sorted((paths.CONFIGS / "tune").rglob("*.yaml"))
    assert files
    for path in files:
        model = path.parent.relative_to(paths.CONFIGS / "tune").as_posix()
        space = search_space.load(model, path.stem)
        for name, row in space.values.items():
            for each in row.choices or [row.low, row.high]:
                words = [f"model={model}", f"backend={path.stem}", "data=digits", f"{name}={each}"]
                registry.compose_settings("train", Overrides.parse(words))


@pytest.mark.slow
@pytest.mark.stacks("tf-1.8")
def test_a_training_ends_when_it_has_reached_the_target(tmp_path: Path) -> None:
    real_stacks.environment("tf-1.8")
    fixed = ["model=mnist_dense", "data=digits", "stack=tf-1.8", "backend=cpu", "backend.probes=false"]
    with launchers.executor(LauncherSettings(), tmp_path) as executor:
        settings = [*fixed, "trainer.epochs=2000"]
        training = trainings.begin(executor, settings, tmp_path / "run", tmp_path / "log", "val_accuracy", 0.5)
        while training.follow(lambda *_: True):
            pass
    assert training.reached_s is not None
    assert training.reached_s > 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["exit"] == "interrupted"
