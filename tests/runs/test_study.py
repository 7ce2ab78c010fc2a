"""zoo.runs.study: the journal of a search is continued as it was left."""

import types
from pathlib import Path
from typing import Any

import pytest

from zoo.config.search_space import Range, Space
from zoo.core.errors import ZooError
from zoo.runs import study

pytest.importorskip("optuna")

SPACE = Space("val_accuracy", {"digits": 0.9}, {
    "size": Range(choices=[16, 64]), "rate": Range(low=0.001, high=0.1, log=True), "epochs": Range(low=2, high=9),
})  # fmt: skip
QUESTION = {"model": "mnist"}


def opened(folder: Path, direction: str = "minimize", question: dict[str, Any] = QUESTION) -> study.Study:
    return study.Study(folder, question, seed=1, jobs=1, direction=direction)


def test_values_are_of_the_space_and_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first, second = (opened(tmp_path / name).ask(SPACE) for name in ("a", "b") if not (tmp_path / name).mkdir())
    assert first.values == second.values
    assert first.values["size"] in (16, 64)
    assert 0.001 <= first.values["rate"] <= 0.1
    assert first.values["epochs"] in range(2, 10)
    assert isinstance(first.values["epochs"], int)
    again = opened(tmp_path / "a").ask(SPACE)
    assert (again.number, again.values != first.values) == (1, True)


def test_results_are_kept_the_best_first(tmp_path: Path) -> None:
    search = opened(tmp_path)
    trials = [search.ask(SPACE) for _ in range(5)]
    assert [trial.number for trial in trials] == [0, 1, 2, 3, 4]
    trials[2].is_hopeless(3, 0.5)
    for trial, result, failed in ((trials[0], 5.0, False), (trials[1], 3.0, False), (trials[2], None, False),
                                  (trials[3], None, True)):  # fmt: skip
        search.tell(trial, result, failed)
    again = opened(tmp_path)
    assert [trial.state for trial in again.trials] == ["complete", "complete", "pruned", "failed", "running"]
    assert [(trial.number, trial.result) for trial in again.finished] == [(1, 3.0), (0, 5.0)]
    assert again.trials[2].epochs == 3
    assert again.trials[0].values == trials[0].values
    assert again.trials[2].result is None


def test_the_largest_value_of_a_metric_is_best(tmp_path: Path) -> None:
    search = opened(tmp_path, "maximize")
    for result in (0.5, 0.9, 0.7):
        search.tell(search.ask(SPACE), result)
    assert [trial.result for trial in search.finished] == [0.9, 0.7, 0.5]


def test_a_trial_that_was_left_goes_on_with_its_values_and_notes(tmp_path: Path) -> None:
    trial = opened(tmp_path).ask(SPACE)
    trial.note("folder", "runs/a")
    (left,) = opened(tmp_path).left(SPACE)
    assert (left.number, left.values, left.noted("folder"), left.noted("x")) == (0, trial.values, "runs/a", None)
    search = opened(tmp_path)
    search.tell(left, 1.0)
    assert search.left(SPACE) == []


def test_a_journal_of_another_question_is_refused(tmp_path: Path) -> None:
    opened(tmp_path)
    opened(tmp_path)
    with pytest.raises(ZooError, match=r"contains a search with other settings: \{'model': 'mnist'\}"):
        opened(tmp_path, question={"model": "lenet"})


def test_an_epoch_is_reported_once_and_a_hopeless_trial_ends(tmp_path: Path) -> None:
    search = opened(tmp_path)
    assert not any(search.ask(SPACE).is_hopeless(2, value) for value in (0.2, 0.1))
    bad = search.ask(SPACE)
    assert bad.is_hopeless(2, 9.0)
    assert not bad.is_hopeless(2, 9.0)


def test_settings_are_important_only_with_enough_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search, rows = opened(tmp_path), []

    def shares(apart: Any, evaluator: Any) -> dict[str, float]:
        rows.extend((row.value, row.params) for row in apart.trials)
        return {"size": 0.123456, "rate": 0.876544}

    stub = types.SimpleNamespace(get_param_importances=shares, FanovaImportanceEvaluator=lambda seed: None)
    monkeypatch.setattr(search._optuna, "importance", stub)
    trials = [search.ask(SPACE) for _ in range(9)]
    for number, trial in enumerate(trials):
        assert search.importances() == {}
        trial.is_hopeless(3 if number == 0 else 2, float(number))
        trial.is_hopeless(6, 99.0)
    assert search.importances() == {"size": 0.1235, "rate": 0.8765}
    assert rows == [(float(number), trials[number].values) for number in range(1, 9)]


def test_states_of_optuna_have_names_of_the_zoo() -> None:
    row = types.SimpleNamespace(state=types.SimpleNamespace(name="PRUNED"), value=0.5, number=3, params={"a": 1},
                                intermediate_values={1: 0.1, 4: 0.2})  # fmt: skip
    assert study.Trial.of(row) == study.Trial(3, "pruned", {"a": 1}, None, 4)
    row.state.name, row.intermediate_values = "COMPLETE", {}
    assert study.Trial.of(row) == study.Trial(3, "complete", {"a": 1}, 0.5, 0)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"null\n", b'{"op_code": 0}\n', b"[1]\n"])
def test_a_damaged_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "journal.log").write_bytes(content)
    with pytest.raises(ZooError, match=r"journal\.log is damaged"):
        opened(tmp_path)
