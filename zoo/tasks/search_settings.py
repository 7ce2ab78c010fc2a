"""Read the settings of a search from the command line, and summarize its result."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.config import search_space
from zoo.config.overrides import Overrides
from zoo.config.search_space import Space
from zoo.core.errors import ZooError
from zoo.core.files import check_writable
from zoo.core.paths import user_path
from zoo.environments import machine, selection
from zoo.execution import launchers
from zoo.execution.sweeps import record
from zoo.protocol.targets import KINDS, LABELS, NUMBER
from zoo.runs import study
from zoo.tasks import registry
from zoo.tasks.tune import Search

OWN = ("goal", "seconds", "trials", "target", "confirm", "seed", "space", "study", "keep")
# Handled by the sweep and the search.
REFUSED = ("output.root", "output.name", "resume")


def read(overrides: Overrides) -> tuple[Search, Path | None]:
    """Return the search that the overrides describe, and the file to add its winner to, or None."""
    own = {entry.key: str(entry.value) for entry in overrides.only(*OWN)}
    if empty := [entry.key for entry in overrides.only(*OWN) if entry.value in (None, "")]:
        raise ZooError(f"{empty[0]}= has no value", f"Give one, or remove {empty[0]}=.")
    launcher, rest = record.separate(overrides.without(*OWN))
    _refuse(rest)
    model, data = rest.get("model"), rest.get("data")
    if model is None or data is None:
        missing = "model" if model is None else "data"
        raise ZooError(f"{missing} is missing", "For example: python -m zoo tune model=mnist_dense data=digits")
    stack = rest.get("stack")
    backend = rest.get("backend")
    probed = registry.compose_settings("train", rest | launcher).launcher
    if not launchers.is_elsewhere(probed.name) or backend in (None, "auto"):
        choice = selection.select(None if backend == "auto" else backend, machine.probe(), stack)
        backend, stack = choice.backend.name, stack or choice.stack.name
    fixed = rest.with_("machine", {"backend": backend} | ({"stack": stack} if stack else {}))
    space = search_space.load(model, str(backend), own.get("space"))
    varied = {name: row for name, row in space.values.items() if not rest.is_given(name)}
    space = dataclasses.replace(space, values=varied)
    if not varied:
        raise ZooError("Every setting of the search space has a fixed value", "Remove at least one of them.")
    if (kind := rest.get("data.target")) in (LABELS, NUMBER) and "space" not in own:
        space = dataclasses.replace(space, metric=f"val_{KINDS[kind].best}", target={})
    # Compose the settings of trials at the ends of the space, so that mistakes are reported before any trial.
    ends = {name: row.choices or [row.low, row.high] for name, row in space.values.items()}
    for number in range(max(map(len, ends.values()))):
        values = {name: each[min(number, len(each) - 1)] for name, each in ends.items()}
        registry.compose_settings("train", fixed.with_("tune", values))
    limit = _limit(own)
    target = None if limit else _target(own, space, model, data)
    usual = Path("tune", f"{model.replace('/', '_')}_{backend}_{data}")
    folder = user_path(own["study"]) if "study" in own else usual
    if folder.exists() and not folder.is_dir():
        raise ZooError(f"study={folder} is not a folder", "Name a new folder, or the one of an earlier search.")
    if folder.is_dir() and not (folder / study.JOURNAL).exists() and any(folder.glob("[!.]*")):
        message = f"study={folder} has files, but no search, whose {study.JOURNAL} it would contain"
        raise ZooError(message, "Name a new folder, or the one of an earlier search.")
    check_writable(folder / study.JOURNAL, "Name a new folder: study=FOLDER")
    keep = user_path(own["keep"]) if "keep" in own else None
    if keep is not None:
        check_writable(keep, "Name a file: keep=FILE")
        search_space.existing(keep)
    search = Search(
        model, str(backend), data, space, target, fixed, probed, folder.absolute(),
        trials=_whole(own, "trials", 50, 1), confirm=_whole(own, "confirm", 3, 0), seed=_whole(own, "seed", 1, 0),
        limit_s=limit,
    )  # fmt: skip
    return search, keep


def _refuse(rest: Overrides) -> None:
    for entry in rest.only(*REFUSED):
        raise ZooError(f"{entry.text} has no effect on a search", "Set the folder of a search with study=FOLDER.")
    several = [entry.text for entry in rest if entry.choices]
    if several:
        raise ZooError(
            f"{several[0]!r} has several values", "List the values to search in the search space: space=FILE"
        )


def _limit(own: dict[str, str]) -> float | None:
    """Return the seconds of a trial in a search for the best metric, or None."""
    goal = own.get("goal", "time")
    if goal not in ("time", "accuracy"):
        raise ZooError(f"goal must be time or accuracy, got {goal!r}", "time: the target soonest. accuracy: the best.")
    if goal == "time":
        if "seconds" in own:
            raise ZooError(f"seconds={own['seconds']} has no effect with goal=time", "Add goal=accuracy.")
        return None
    for key in {"target", "keep"} & own.keys():
        raise ZooError(f"{key}={own[key]} has no effect with goal=accuracy", f"Remove {key}=.")
    return float(_whole(own, "seconds", 60, 1))


def _target(own: dict[str, str], space: Space, model: str, data: str) -> float:
    given = own.get("target")
    if given is None and data not in space.target:
        raise ZooError(f"The search space of {model} has no target for {data}", "Give target=VALUE.")
    try:
        value = space.target[data] if given is None else float(given)
    except ValueError:
        value = math.nan
    if not value <= 1:
        raise ZooError(f"target must be a number, 1 at most, got {given!r}", f"It is a value of {space.metric}.")
    return value


def _whole(own: dict[str, str], key: str, usual: int, least: int) -> int:
    given = own.get(key, str(usual))
    if not re.fullmatch(r"\d{1,6}", given, re.ASCII) or int(given) < least:
        raise ZooError(f"{key} must be a whole number, {least} or more, got {given!r}", f"For example {key}={usual}")
    return int(given)


def confirmed_words(times: Mapping[str, Sequence[float | None]]) -> str:
    """Describe the confirmed times of the winner and the recipe, in seconds: ``winner 2.0, 2.1; recipe 6.0, 6.2``."""
    rows = {name: ["not reached" if each is None else f"{each:g}" for each in row] for name, row in times.items()}
    return "; ".join(f"{name} {', '.join(row)}" for name, row in rows.items())


def summary(search: Search, result: dict[str, Any]) -> list[str]:
    states = [trial["state"] for trial in result["trials"]]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    shares = [f"{name} {share:.2f}" for name, share in result["importances"].items()]
    lines = [f"{len(states)} trials ({counted}); image: {search.folder / 'trials.png'}"]
    lines += [f"Importance of the settings: {', '.join(shares)}"] if shares else []
    winner = result["winner"]
    if winner is None:
        if search.limit_s and "complete" in states:
            lines.append("No winner: none of the best trials is better than the recipe with the new seeds")
        elif "complete" in states:
            target = f"{search.space.metric} {search.target:g}"
            lines.append(f"No winner: none of the fastest trials reaches {target} with every new seed")
        else:
            lines.append(f"No trial has a result ({search.aim})")
    else:
        lines.append(f"Winner, trial {winner['trial']}: {search_space.words(winner['values'])}")
        times = confirmed_words(winner["confirmed" if search.limit_s else "confirmed_s"])
        title = f"From new seeds, {search.aim}" if search.limit_s else "Seconds to the target from new seeds"
        lines += [f"{title}: {times}"] * bool(search.confirm)
        if winner.get("times_as_fast"):
            lines.append(f"Times as fast as the recipe, median over seeds: {winner['times_as_fast']}")
    return [*lines, f"To see it: python -m zoo report {search.folder}"]
