"""Search for the settings of a recipe that reach a target fastest, or the best metric in a given time.

Each trial is a separate training run, executed by a launcher. It ends when its validation metric reaches the target,
or early if it takes longer than the best trial or other trials are far ahead. The search minimizes the seconds from
the worker's start (libraries loaded, device checked) to the end of the epoch that reached the target. With a limit
of seconds, it maximizes the metric of the best epoch that ended before. The test part is never used.
"""

import collections
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zoo.config import compose, search_space
from zoo.config.overrides import Overrides
from zoo.config.schemas.launching import LauncherSettings
from zoo.config.search_space import Space
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.files import free_path, write_json
from zoo.environments import machine
from zoo.execution import launchers, trainings
from zoo.execution.launchers import Executor, Job
from zoo.execution.sweeps import attempts, drive
from zoo.execution.sweeps.record import Element
from zoo.runs import lock, plots, records, study
from zoo.runs.study import Open, Study
from zoo.tasks import discovery

POLL_S = 0.1
# Number of concurrent trials without `launcher.jobs`. More would use the sampler less: it needs completed trials.
AT_A_TIME = 4
# Number of the fastest trials to repeat with new seeds, until one reaches the target with all of them.
CANDIDATES = 3
RESULT = "search.json"
PICTURE = "trials.png"
Times = dict[str, list[float | None]]


@dataclass(frozen=True)
class Search:
    """The settings of a search.

    Attributes:
        target: value that the metric has to reach; None with ``limit_s``.
        limit_s: seconds in which a trial has to reach the best metric; None to search for the fastest.
        fixed: settings of every trial.
        confirm: number of new seeds that the winner is trained from.
    """

    model: str
    backend: str
    data: str
    space: Space
    target: float | None
    fixed: Overrides
    launcher: LauncherSettings
    folder: Path
    trials: int = 50
    confirm: int = 3
    seed: int = 1
    limit_s: float | None = None

    @property
    def aim(self) -> str:
        if self.target is None:
            return f"best {self.space.metric} in {self.limit_s:g} seconds"
        return f"seconds to {self.space.metric} {self.target:g}"

    @property
    def jobs(self) -> int:
        usual = 1 if self.launcher.name == "local" else AT_A_TIME
        return min(self.launcher.jobs or usual, self.trials)

    @property
    def question(self) -> dict[str, Any]:
        """Return the settings of all trials for the journal."""
        space = asdict(self.space)
        limit = {"seconds": self.limit_s} if self.limit_s else {}
        return {"fixed": self.fixed.words, "target": self.target, "space": space, "seed": self.seed, **limit}

    def result(self, training: trainings.Training) -> float | None:
        """Return the seconds to the target, or the best metric in time; None if there is none."""
        if self.limit_s is None:
            return None if training.reached_s is None else round(training.reached_s, 3)
        return max((round(value, 5) for _, value, at in training.epochs if at <= self.limit_s), default=None)


@dataclass
class _Attempt:
    """A running trial: Optuna's trial, its training, the number of its failures, and whether it is pruned."""

    trial: Open
    training: trainings.Training
    failures: int
    is_pruned: bool = False


def run(search: Search) -> dict[str, Any]:
    """Search, confirm the winner with new seeds, and write the result and the plot to the search folder.

    An interrupted search continues where it stopped; after Ctrl-C all trials are in the journal.

    Returns:
        The result: the trials, the importance of each setting, and under ``winner`` the settings with their evidence.
        ``winner`` is None if no trial reached the target from every seed.
    """
    search.folder.mkdir(parents=True, exist_ok=True)
    handle = lock.take(search.folder, ["python", "-m", "zoo", "tune", f"study={search.folder}"])
    try:
        direction = "minimize" if search.limit_s is None else "maximize"
        journal = Study(search.folder, search.question, search.seed, search.jobs, direction)
        with launchers.executor(search.launcher, search.folder / ".engine") as executor:
            _search(search, journal, executor)
            _write(search, journal, None)
            row = _winner(search, journal, executor)
        return _write(search, journal, row)
    finally:
        lock.release(handle)


def _search(search: Search, journal: Study, executor: Executor) -> None:
    waiting, active = collections.deque((trial, 0) for trial in journal.left(search.space)), list[_Attempt]()
    if waiting:
        console.say(f"{len(waiting)} interrupted trials are restarted with the same values")
    if not waiting and len(journal.trials) >= search.trials:
        return
    drive.prepare(executor, attempts.preparations("train", [Element("", search.fixed.words)]), search.folder / "logs")
    running: dict[str, Job] = {}
    with drive.stopped_in_order(running):
        while active or waiting or len(journal.trials) < search.trials:
            while len(active) < search.jobs and (waiting or len(journal.trials) < search.trials):
                trial, failures = waiting.popleft() if waiting else (journal.ask(search.space), 0)
                settings = search.fixed.with_("tune", {**trial.values, "seed": search.seed})
                training = _begin(search, executor, settings, f"trial-{trial.number:04}")
                trial.note("folder", training.folder.name)
                active.append(_Attempt(trial, training, failures))
            running.clear()
            running.update({str(each.trial.number): each.training.job for each in active})
            for attempt in list(active):
                if not attempt.training.follow(_judge(search, journal, attempt)):
                    active.remove(attempt)
                    waiting.extend(_end(search, journal, attempt))
            time.sleep(POLL_S)


def _begin(search: Search, executor: Executor, settings: Overrides, name: str) -> trainings.Training:
    """Start training in a new folder, without settings that have no effect; a failed attempt keeps its folder."""
    tried = Overrides.parse(["trainer.calibrate=false", *settings.words], "tune")
    command = discovery.command_of("train", tried)
    settings = tried.without(*compose.composed(command, tried).needless("tune"))
    folder = free_path(search.folder / "runs" / name)
    log = search.folder / "logs" / f"{folder.name}.log"
    target = float("inf") if search.target is None else search.target
    return trainings.begin(executor, settings.words, folder.absolute(), log, search.space.metric, target)


def _judge(search: Search, journal: Study, attempt: _Attempt) -> trainings.GoesOn:
    best = [trial.result for trial in journal.finished[:1] if search.limit_s is None]
    limit = search.limit_s or (best[0] if best and best[0] is not None else float("inf"))

    def goes_on(epoch: int, value: float, seconds: float) -> bool:
        # For seconds the journal minimizes, so the distance to the target is reported.
        reported = value if search.target is None else search.target - value
        attempt.is_pruned = epoch > 0 and attempt.trial.is_hopeless(epoch, reported)
        return not attempt.is_pruned and seconds < limit

    return goes_on


def _end(search: Search, journal: Study, attempt: _Attempt) -> list[tuple[Open, int]]:
    """Handle the end of a trial; return it, with its failures, to be executed again with the same values."""
    training, trial = attempt.training, attempt.trial
    status = training.job.wait()
    shown = search_space.words(trial.values)
    if status and not training.is_stopped:
        words = f"killed by signal {-status}" if status < 0 else drive.last_words(training.log).splitlines()[0]
        again = attempt.failures < search.launcher.retries
        ended = "it is executed again" if again else "it is given up"
        console.warn(f"trial {trial.number} ended with exit status {status} ({words}); {ended}")
        if again:
            return [(trial, attempt.failures + 1)]
        journal.tell(trial, None, failed=True)
        states = [each.state for each in journal.trials if each.state != "running"]
        if len(states) >= 3 and set(states) == {"failed"}:  # later ones would fail too
            raise ZooError(f"All {len(states)} trials failed: {words}", "Try one by hand: python -m zoo train ...")
        return []
    result = None if attempt.is_pruned else search.result(training)
    journal.tell(trial, result)
    unit = " s" if search.limit_s is None else f" ({search.space.metric})"
    outcome = "ended early" if result is None else f"{result:.4g}{unit}"
    count = sum(each.state != "running" for each in journal.trials)
    console.say(f"[{count}/{search.trials}] trial {trial.number}: {outcome}  {shown}")
    return []


def _winner(search: Search, journal: Study, executor: Executor) -> dict[str, Any] | None:
    """Return the best trial that is also good from every new seed, with its evidence, or None.

    Good means: it reaches the target, or its mean metric is better than the recipe's. Recipe and candidate are
    trained alternately, one at a time, so that both have the same conditions.
    """
    for trial in journal.finished[:CANDIDATES]:
        times: Times = {"recipe": [], "winner": []}
        for number in range(1, search.confirm + 1):
            for name, changed in (("recipe", {}), ("winner", trial.values)):
                settings = search.fixed.with_("tune", {**changed, "seed": search.seed + number})
                label = f"{name}-{trial.number:04}-seed-{search.seed + number}"
                times[name].append(_timed(search, executor, settings, label))
        if search.confirm:
            console.say(f"trial {trial.number}, from new seeds: {times}")
        if None not in times["winner"] and (search.limit_s is None or _gain(times) > 0):
            return _evidence(search, journal, trial, times)
    return None


def _timed(search: Search, executor: Executor, settings: Overrides, name: str) -> float | None:
    training = _begin(search, executor, settings, name)
    with drive.stopped_in_order({name: training.job}):
        while training.follow(lambda *_: True):
            time.sleep(POLL_S)
    if training.job.wait() and not training.is_stopped:
        raise ZooError(f"A training run failed: {drive.last_words(training.log)}", f"Its folder is {training.folder}")
    return search.result(training)


def _gain(times: Times) -> float:
    """Return by how much the winner's mean metric exceeds the recipe's; infinity without new seeds."""
    winner, recipe = ([each or 0.0 for each in times[name]] for name in ("winner", "recipe"))
    return statistics.mean(winner) - statistics.mean(recipe) if winner else float("inf")


def _evidence(search: Search, journal: Study, trial: study.Trial, times: Times) -> dict[str, Any]:
    states = collections.Counter(each.state for each in journal.trials)
    pairs = zip(times["recipe"], times["winner"], strict=True)
    ratios = [one / other for one, other in pairs if one and other]
    if search.limit_s is None:
        figures = {
            "target": {search.space.metric: search.target}, "search_s": trial.result, "confirmed_s": times,
            "times_as_fast": round(statistics.median(ratios), 3) if ratios else None,
            "note": "seconds from the worker's start to the end of the epoch that reached the target",
        }  # fmt: skip
    else:
        figures = {
            "metric": search.space.metric, "seconds": search.limit_s, "search_result": trial.result,
            "confirmed": times, "gain": round(_gain(times), 5) if times["winner"] else None,
            "note": "best metric of an epoch that ended in the given seconds from the worker's start",
        }  # fmt: skip
    return {
        "model": search.model, "backend": search.backend, "stack": search.fixed.get("stack"), "data": search.data,
        "fixed": search.fixed.words, "values": trial.values, "trial": trial.number, **figures,
        "trials": len(journal.trials), "pruned": states["pruned"], "failed": states["failed"], "jobs": search.jobs,
        "launcher": search.launcher.name, "importances": journal.importances(), "seed": search.seed,
        "machine": machine.describe(machine.probe()), "date": records.today(),
        "commit": records.git_commit(), "grade": "measured",
    }  # fmt: skip


def _write(search: Search, journal: Study, row: dict[str, Any] | None) -> dict[str, Any]:
    trials = [vars(trial) for trial in journal.trials]
    result = {"format": 1, **search.question, "metric": search.space.metric, "trials": trials,
              "importances": journal.importances(), "winner": row}  # fmt: skip
    write_json(search.folder / RESULT, result)
    points = [(each.number, each.result, each.state) for each in journal.trials]
    title = f"{search.model} on {search.data}: {search.aim}"
    plots.trials(points, result["importances"], title, search.folder / PICTURE, search.limit_s is not None)
    return result


def keep(path: Path, row: dict[str, Any]) -> None:
    """Add a winner to a file, replacing the one for the same data, stack, machine and settings."""
    key = ("data", "stack", "machine", "fixed")
    rows = [other for other in search_space.existing(path) if any(other.get(name) != row[name] for name in key)]
    write_json(path, [*rows, row], parents=True)
