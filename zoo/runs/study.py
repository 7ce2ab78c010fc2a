"""The journal of a search, written by Optuna in a folder that all machines share.

A single process draws trials and reports their ends, so that trials are not lost or repeated. A running trial without
a process that holds the folder's lock was left by a killed process; it continues with the same values.
"""

import contextlib
import importlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.search_space import Range, Space
from zoo.core import paths
from zoo.core.errors import ZooError

NAME, JOURNAL = "zoo", "journal.log"
# Number of trials drawn at random before the sampler learns.
RANDOM_TRIALS = 5
# ASHA (Li et al. 2020): at epochs 2, 6, 18, ..., the best third of the trials continues.
FIRST_RUNG, REDUCTION = 2, 3
LEAST_TRIALS = 8


@dataclass(frozen=True)
class Trial:
    """A trial in the journal.

    Attributes:
        number: counted from 0.
        state: ``running``, ``complete``, ``pruned`` or ``failed``.
        result: seconds to the target, or best value of the metric in the given time; None if there is none.
    """

    number: int
    state: str
    values: dict[str, Any]
    result: float | None
    epochs: int

    @classmethod
    def of(cls, row: Any) -> "Trial":
        """Convert a trial of Optuna, which reports the last value of a pruned trial as its result."""
        state = _STATES[row.state.name]
        result = float(row.value) if state == "complete" else None
        return cls(row.number, state, row.params, result, max(row.intermediate_values, default=0))


_STATES = {"RUNNING": "running", "WAITING": "running", "COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}


class Open:
    """A trial that is being executed; ``trial`` is Optuna's."""

    def __init__(self, trial: Any, space: Space) -> None:
        self._trial, self.number, self._seen = trial, int(trial.number), set[int]()
        self.values = {name: self._value(name, row) for name, row in space.values.items()}

    def _value(self, name: str, row: Range) -> Any:
        if row.choices is not None:
            return self._trial.suggest_categorical(name, row.choices)
        whole = isinstance(row.low, int) and isinstance(row.high, int)
        ask = self._trial.suggest_int if whole else self._trial.suggest_float
        return ask(name, row.low, row.high, log=row.log)

    def note(self, key: str, value: str) -> None:
        self._trial.set_user_attr(key, value)

    def noted(self, key: str) -> str | None:
        value = self._trial.user_attrs.get(key)
        return None if value is None else str(value)

    def is_hopeless(self, epoch: int, value: float) -> bool:
        """Report the metric, or its distance to the target, after an epoch; return True to prune the trial."""
        if epoch in self._seen:
            return False
        self._seen.add(epoch)
        with warnings.catch_warnings(action="ignore"):  # a failed attempt may have reported this epoch
            self._trial.report(value, epoch)
        return bool(self._trial.should_prune())


class Study:
    """A journal in a folder.

    Args:
        question: the settings that all trials share; a journal with other settings is rejected.
        seed: seed of the sampler.
        jobs: number of simultaneous trials.
        direction: ``minimize`` or ``maximize`` the results.
    """

    def __init__(
        self, folder: Path, question: dict[str, Any], seed: int, jobs: int, direction: str = "minimize"
    ) -> None:
        self._optuna = optuna = paths.optional("optuna", "tune", "Tuning needs Optuna")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        backend = importlib.import_module("optuna.storages.journal").JournalFileBackend
        try:
            with warnings.catch_warnings(action="ignore"):  # experimental features
                storage = optuna.storages.JournalStorage(backend(str(folder / JOURNAL)))
                pruner = optuna.pruners.SuccessiveHalvingPruner(FIRST_RUNG, REDUCTION)
                self._study = optuna.create_study(
                    study_name=NAME, storage=storage, load_if_exists=True, direction=direction, pruner=pruner
                )
                before = self._study.user_attrs.get("question")
                if before is not None and before != question:
                    why = f"{folder} contains a search with other settings: {before}"
                    raise ZooError(why, "Name another folder: study=FOLDER")
                self._study.set_user_attr("question", question)
                # The seed depends on the number of trials, so that a resumed search does not repeat its draws.
                self._study.sampler = optuna.samplers.TPESampler(
                    seed=seed + len(self._study.trials), n_startup_trials=RANDOM_TRIALS, constant_liar=jobs > 1
                )
        except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            why = f"{folder / JOURNAL} is damaged: {type(error).__name__}: {error}"  # or another program wrote it
            raise ZooError(why, "Restore it, or name another folder: study=FOLDER") from error

    @property
    def trials(self) -> list[Trial]:
        return [Trial.of(row) for row in self._study.get_trials(deepcopy=False)]

    @property
    def finished(self) -> list[Trial]:
        """Return the trials with a result, the best first."""
        reached = [trial for trial in self.trials if trial.result is not None]
        maximize = self._study.direction.name == "MAXIMIZE"
        return sorted(reached, key=lambda trial: trial.result or 0.0, reverse=maximize)

    def ask(self, space: Space) -> Open:
        return Open(self._study.ask(), space)

    def left(self, space: Space) -> list[Open]:
        """Return the trials that a killed process had started."""
        states = (self._optuna.trial.TrialState.RUNNING, self._optuna.trial.TrialState.WAITING)
        rows = self._study.get_trials(deepcopy=False, states=states)
        # A process killed during sampling may not have recorded all values; recorded ones are returned unchanged.
        return [Open(self._optuna.trial.Trial(self._study, row._trial_id), space) for row in rows]

    def tell(self, trial: Open, result: float | None, failed: bool = False) -> None:
        """Record the result of a trial, or None if it was pruned or failed."""
        ends = self._optuna.trial.TrialState
        state = None if result is not None else ends.FAIL if failed else ends.PRUNED
        self._study.tell(trial.number, result, state)

    def importances(self) -> dict[str, float]:
        """Return the importance of each setting for the metric at the first rung.

        Unlike seconds, the metric is known for nearly every trial, including pruned trials. The method is fANOVA
        (Hutter et al. 2014). The result is empty with fewer than eight trials, or without differences.
        """
        rows = [each for each in self._study.get_trials(deepcopy=False) if FIRST_RUNG in each.intermediate_values]
        if len(rows) < LEAST_TRIALS:
            return {}
        apart = self._optuna.create_study()
        for row in rows:
            value = row.intermediate_values[FIRST_RUNG]
            kept = {"params": row.params, "distributions": row.distributions, "value": value}
            apart.add_trial(self._optuna.trial.create_trial(**kept))
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(ValueError, RuntimeError):
            evaluator = self._optuna.importance.FanovaImportanceEvaluator(seed=1)
            shares = self._optuna.importance.get_param_importances(apart, evaluator=evaluator)
            return {str(name): round(float(share), 4) for name, share in shares.items()}
        return {}
