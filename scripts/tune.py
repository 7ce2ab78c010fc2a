"""Search for the settings of a recipe that reach a target soonest.

python scripts/tune.py --model mnist_dense --data digits [--trials 15] [--study FOLDER] [KEY=VALUE ...]

``configs/tune/MODEL/BACKEND.yaml`` declares the search space and the target. Each trial is a process of its own
(`python -m zoo train`): it ends when its validation metric reaches the target, and is pruned when it takes longer
than the best so far or falls behind the others (Optuna's median pruner). The objective is the time in seconds from
the worker's start (libraries loaded, device checked) to the end of that epoch, evaluation included; the test part is
never used.

The study is stored in a folder (SQLite) and continues where it was interrupted. At the end the recipe and the winner
are trained in turns from seeds that the search did not use. A candidate that misses the target from any of them is
rejected, and the next takes its place. The winner is written to ``recipes/MODEL/BACKEND.tuned.json`` with its
evidence: values, seconds of both, machine, stack, trials, seed, date.

Needs Optuna: pip install 'keras-gpu-zoo[tune]'
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from zoo.core import paths, schema
from zoo.core.errors import ZooError
from zoo.environments import machine, selection
from zoo.runs import event_log, records

POLL_S = 0.05
# Number of the fastest trials that are tried from new seeds, until one reaches the target from all.
CANDIDATES = 3
Values = dict[str, Any]
KeepGoing = Callable[[int, float, float], bool]


@dataclasses.dataclass(frozen=True)
class Space:
    """The search space and the target.

    Attributes:
        metric: a metric of every epoch, such as ``val_accuracy``.
        target: data set -> value that the metric has to reach.
        values: setting -> ``choices``, or ``low`` and ``high`` with ``log: true`` where its size matters.
    """

    metric: str
    target: dict[str, float]
    values: dict[str, dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Ended:
    """The end of a training: seconds to the target, or None, and the run folder."""

    seconds: float | None
    folder: Path


def space_of(model: str, backend: str) -> Space:
    """Read the search space of a recipe.

    Raises:
        ZooError: there is none, or it is malformed.
    """
    path = paths.CONFIGS / "tune" / model / f"{backend}.yaml"
    if not path.is_file():
        raise ZooError(f"{model} on {backend} declares no search space", f"Write {path}; see that of mnist_dense.")
    content = schema.read_yaml(path)
    problems = schema.violations(content, Space)
    problems += [f"values.{name}: give choices, or low and high" for name, row in content.get("values", {}).items()
                 if "choices" not in row and not {"low", "high"} <= set(row)]  # fmt: skip
    if problems:
        schema.refuse("space", path, problems)
    return Space(**content)


def suggest(trial: Any, space: Space) -> Values:
    """Suggest a value for every setting of the space."""
    values: Values = {}
    for name, row in space.values.items():
        if "choices" in row:
            values[name] = trial.suggest_categorical(name, row["choices"])
        else:
            ask = trial.suggest_int if isinstance(row["low"], int) else trial.suggest_float
            values[name] = ask(name, row["low"], row["high"], log=bool(row.get("log", False)))
    return values


def train(settings: list[str], folder: Path, metric: str, target: float, goes_on: KeepGoing) -> Ended:
    """Train in a process of its own until the metric reaches the target or ``goes_on`` returns False.

    Args:
        settings: as on the command line.
        folder: run folder, which must not exist yet.
        metric: metric of every epoch.
        target: value that it has to reach.
        goes_on: called with the epoch, the metric and the seconds so far, after every epoch and repeatedly between.

    Raises:
        ZooError: the training failed.
    """
    where = [f"output.root={folder.parent}", f"output.name={folder.name}"]
    command = [sys.executable, "-m", "zoo", "train", *settings, *where, "--json"]
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              start_new_session=True)  # fmt: skip
    reached: float | None = None
    try:
        for epoch, value, seconds in _epochs(folder / "events.jsonl", metric, worker):
            if value >= target:
                reached = seconds
            if reached is not None or not goes_on(epoch, value, seconds):
                break
    finally:
        stopped = worker.poll() is None
        if stopped:
            worker.send_signal(signal.SIGINT)
        _, errors = worker.communicate()
    if worker.returncode and not stopped:
        raise ZooError(f"A trial failed: {errors.strip()[-600:]}", f"Its folder is {folder}")
    return Ended(reached, folder)


def _epochs(log: Path, metric: str, worker: "subprocess.Popen[str]") -> Iterator[tuple[int, float, float]]:
    """Yield (epoch, metric, seconds since the start event), repeatedly while nothing new is logged."""
    began, epoch, value, at = None, 0, float("-inf"), 0
    while True:
        over = worker.poll() is not None  # checked first: the last line is written before the process ends
        lines = log.read_bytes().split(b"\n") if log.is_file() else [b""]
        for line in lines[at:-1]:
            event = event_log.parse(line)
            if event and event["event"] == "start":
                began = event["t"]
            if event and event["event"] == "epoch" and began is not None and metric in event:
                epoch, value = event["epoch"], event[metric]
                yield epoch, value, event["t"] - began
        at = max(0, len(lines) - 1)
        if over:
            return
        if began is not None:
            yield epoch, float("-inf"), time.time() - began
        time.sleep(POLL_S)


class Search:
    """A study of one recipe on one data set.

    Args:
        folder: folder for study and runs.
        space: search space of the recipe.
        fixed: settings of every trial.
        target: value that the metric has to reach.
        seed: seed of the sampler and of the trials.
    """

    def __init__(self, folder: Path, space: Space, fixed: list[str], target: float, seed: int) -> None:
        optuna = load_optuna()
        folder.mkdir(parents=True, exist_ok=True)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna, self._space, self._fixed, self._target = optuna, space, fixed, target
        self._folder, self._seed = folder, seed
        storage = f"sqlite:///{(folder / 'study.db').absolute()}"
        question = {"fixed": fixed, "target": target, "space": dataclasses.asdict(space), "seed": seed}
        self.study = optuna.create_study(
            study_name="zoo", storage=storage, load_if_exists=True, direction="minimize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=1),
        )  # fmt: skip
        before = self.study.user_attrs.get("told")  # the name in studies of all versions
        if before is not None and before != question:
            raise ZooError(f"{folder} has a study of other settings: {before}", "Name another folder: --study FOLDER")
        self.study.set_user_attr("told", question)
        # Another seed, so that a resumed study does not repeat its draws.
        self.study.sampler = optuna.samplers.TPESampler(seed=seed + len(self.study.trials), n_startup_trials=5)

    @property
    def best(self) -> Any | None:
        """The best trial, or None if none has reached the target."""
        with contextlib.suppress(ValueError):
            return self.study.best_trial
        return None

    @property
    def finished(self) -> list[Any]:
        """The trials that reached the target, the fastest first."""
        reached = [trial for trial in self.study.trials if trial.state.name == "COMPLETE"]
        return sorted(reached, key=lambda trial: float(trial.value))

    def run(self, trials: int) -> None:
        """Run further trials; Ctrl-C ends the search and keeps the finished ones."""
        self.study.optimize(self._one, n_trials=trials)

    def _one(self, trial: Any) -> float:
        values = suggest(trial, self._space)
        limit = self.best.value if self.best else float("inf")
        seen = set()

        def goes_on(epoch: int, value: float, seconds: float) -> bool:
            if epoch and epoch not in seen and value > float("-inf"):
                seen.add(epoch)
                # The study minimizes: report the distance to the target.
                trial.report(self._target - value, epoch)
                if trial.should_prune():
                    return False
            return seconds < limit

        folder = self._folder / "runs" / f"trial-{trial.number:04}"
        settings = [*self._fixed, *overrides(values), f"seed={self._seed}"]
        ended = train(settings, folder, self._space.metric, self._target, goes_on)
        outcome = "pruned" if ended.seconds is None else f"{ended.seconds:.2f} s"
        print(f"trial {trial.number}: {outcome}  {' '.join(overrides(values))}", flush=True)
        if ended.seconds is None:
            raise self._optuna.TrialPruned
        return ended.seconds

    def counts(self) -> dict[str, int]:
        """Count the trials, and those of them that were pruned."""
        states = [trial.state.name for trial in self.study.trials]
        return {"trials": sum(name in ("COMPLETE", "PRUNED") for name in states), "pruned": states.count("PRUNED")}

    def confirm(self, values: Values, seeds: int) -> dict[str, list[float | None]]:
        """Train recipe and winner in turns from new seeds; return their seconds to the target."""
        times: dict[str, list[float | None]] = {"recipe": [], "winner": []}
        for number in range(1, seeds + 1):
            for name, changed in (("recipe", []), ("winner", overrides(values))):
                folder = self._folder / "runs" / f"{name}-{records.now()[:19].replace(':', '-')}-{number}"
                settings = [*self._fixed, *changed, f"seed={self._seed + number}"]
                ended = train(settings, folder, self._space.metric, self._target, lambda *_: True)
                times[name].append(None if ended.seconds is None else round(ended.seconds, 3))
        return times


def load_optuna() -> Any:
    """Import Optuna, which the zoo does not require.

    Raises:
        ZooError: it is not installed.
    """
    try:
        import optuna  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ZooError(f"Tuning needs Optuna: {error}", "pip install 'keras-gpu-zoo[tune]'") from error
    return optuna


def overrides(values: Values) -> list[str]:
    """Format values as settings of the command line."""
    return [f"{name}={json.dumps(value) if isinstance(value, bool) else value}" for name, value in values.items()]


def confirmed(search: Search, seeds: int) -> tuple[Any, dict[str, list[float | None]]] | None:
    """Return the fastest trial that also reaches the target from every new seed, and the seconds of those trainings.

    Args:
        search: a finished search.
        seeds: number of seeds; with 0 the best trial is returned unconfirmed.
    """
    for trial in search.finished[:CANDIDATES]:
        seconds = search.confirm(trial.params, seeds)
        print(f"trial {trial.number}, from new seeds: {seconds}", flush=True)
        if None not in seconds["winner"]:
            return trial, seconds
    return None


def evidence(
    search: Search, parsed: Any, stack: str, target: float, best: Any, seconds: dict[str, Any]
) -> dict[str, Any]:
    """Return the row that records a winner."""
    return {
        "model": parsed.model, "backend": parsed.backend, "stack": stack, "data": parsed.data,
        "target": {search._space.metric: target}, "fixed": parsed.settings, "values": best.params,
        "search_s": round(best.value, 3), "confirmed_s": seconds,
        "times_as_fast": _times(seconds), **search.counts(), "seed": parsed.seed,
        "machine": machine.describe(machine.probe()), "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": records.git_commit(), "grade": "measured",
        "note": "seconds from the worker's start to the end of the epoch that reached the target",
    }  # fmt: skip


def _times(seconds: dict[str, list[float | None]]) -> float | None:
    """Return the speed of the winner relative to the recipe: the median over seeds from which both succeed."""
    pairs = zip(seconds.get("recipe", []), seconds.get("winner", []), strict=True)
    ratios = [one / other for one, other in pairs if one and other]
    return round(statistics.median(ratios), 3) if ratios else None


def keep(path: Path, row: dict[str, Any]) -> None:
    """Write a row into the file of winners, replacing that of the same data, stack and machine."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    key = ("data", "stack", "machine", "fixed")
    rows = [other for other in rows if any(other[name] != row[name] for name in key)]
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(json.dumps([*rows, row], indent=1) + "\n", encoding="utf-8")
    os.replace(aside, path)


def main(arguments: list[str] | None = None) -> int:
    """Search, confirm and write the winner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mnist_dense")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--stack")
    parser.add_argument("--data", default="digits")
    parser.add_argument("--trials", type=int, default=15, help="number of further trials")
    parser.add_argument("--confirm", type=int, default=3, metavar="SEEDS")
    parser.add_argument("--target", type=float, help="instead of the declared target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--study", type=Path, help="by default tune/MODEL_BACKEND_DATA")
    parser.add_argument("--output", type=Path, help="by default recipes/MODEL/BACKEND.tuned.json")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings of every trial")
    parsed = parser.parse_args(arguments)
    try:
        return _search(parsed)
    except ZooError as error:
        print(f"error: {error.message}\n{error.remedy}", file=sys.stderr)
        return 1


def _search(parsed: Any) -> int:
    space = space_of(parsed.model, parsed.backend)
    target = space.target.get(parsed.data) if parsed.target is None else parsed.target
    if target is None:
        raise ZooError(f"The space of {parsed.model} names no target for {parsed.data}", "Give --target VALUE.")
    stack = selection.select(parsed.backend, machine.probe(), parsed.stack).stack.name
    fixed = [f"model={parsed.model}", f"backend={parsed.backend}", f"stack={stack}", f"data={parsed.data}",
             *parsed.settings]  # fmt: skip
    study = parsed.study or Path("tune") / f"{parsed.model.replace('/', '_')}_{parsed.backend}_{parsed.data}"
    search = Search(study, space, fixed, target, parsed.seed)
    try:
        search.run(parsed.trials)
    except KeyboardInterrupt:
        print("\nStopped; start the same command again to continue the study.", flush=True)
        parsed.confirm = 0
    if search.best is None:
        print(f"No trial of {search.counts()['trials']} reached {space.metric} {target}; the study is in {study}")
        return 1
    chosen = confirmed(search, parsed.confirm)
    if chosen is None:
        print(f"None of the best reaches the target from every seed: nothing is written; the study is in {study}")
        return 1
    row = evidence(search, parsed, stack, target, *chosen)
    path = parsed.output or paths.RECIPES / parsed.model / f"{parsed.backend}.tuned.json"
    keep(path, row)
    print(json.dumps(row, indent=1))
    print(f"Written to {path}; to use it, put its values into recipes/{parsed.model}/{parsed.backend}.yaml")
    return 0


if __name__ == "__main__":
    sys.exit(main())
