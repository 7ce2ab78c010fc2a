"""`zoo validate`: train recipes, check them against their expected result, and record the evidence."""

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zoo.cli import execution
from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.core import console
from zoo.core.errors import INTERRUPTED, ZooError, require_known

if TYPE_CHECKING:
    from zoo.config.overrides import Overrides
    from zoo.tasks.validate import Verdict

COLUMNS = (
    "recipe", "stack", "platform", "device", "data", "preset", "figure", "expected", "train s", "total s", "grade",
    "result",
)  # fmt: skip


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "validate", run, "train a recipe, check its expected result, record the evidence")
    execution.add_overrides(parser, ("model", "backend", "data", "preset"))
    parser.add_argument(
        "--all",
        action="store_true",
        help="train every recipe that is not validated on this machine yet, on every stack that runs here. model=, "
        "backend= and stack= restrict it; data.root=FOLDER is the folder of the data sets",
    )
    parser.add_argument("--write", action="store_true", help="write into the checkout, not into your own data folder")
    add_json(parser)


def run(parsed: argparse.Namespace) -> int:
    """Validate each combination of settings, and print a table that includes failures."""
    from zoo.config.overrides import Overrides
    from zoo.tasks import validate

    given = Overrides.parse(parsed.overrides)
    combinations = _remaining(given) if parsed.all else _announced(given) if parsed.multirun else [given]
    verdicts: list[validate.Verdict] = []
    for overrides in combinations:
        try:
            verdict = validate.validate(overrides, parsed.write)
            for text in validate.lines(verdict):
                console.say(text)
            verdicts.append(verdict)
        except ZooError as error:
            console.fail(error.message, error.remedy)
            if error.exit_code == INTERRUPTED:
                return INTERRUPTED
            verdicts.append(validate.Verdict(overrides, problems=[error.message.splitlines()[0]]))
    if parsed.json:
        console.output_json([validate.as_dict(verdict) for verdict in verdicts], indent=2)
    else:
        console.table_of("validated", [row_of(verdict) for verdict in verdicts])
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def _announced(overrides: "Overrides") -> "Iterator[Overrides]":
    combinations = overrides.combinations()
    for number, combination in enumerate(combinations, 1):
        console.say(f"\n[{number}/{len(combinations)}] {' '.join(combination.words)}")
        yield combination


def _remaining(given: "Overrides") -> "Iterator[Overrides]":
    """Yield the recipes that are not validated on this machine yet, after printing the expected time."""
    from zoo.config import config_files
    from zoo.environments import machine, stacks
    from zoo.tasks import recipe_status

    known = {group: config_files.options(group) for group in ("model", "backend")}
    known["stack"] = [stack.name for stack in stacks.load_all()]
    for entry in given.only(*known):
        named = [choice.partition("=")[2] for choice in entry.choices] or [str(entry.value)]
        require_known(entry.key, named, known[entry.key])
    trainings = list(recipe_status.planned(given, machine.probe()))
    took: list[float] = []
    for number, each in enumerate(trainings):
        left = recipe_status.seconds_left(trainings[number:], took)
        shown = f"about {left / 60:.0f} min left" if left is not None else "time left unknown"
        console.say(f"\n[{number + 1}/{len(trainings)}, {shown}] {' '.join(each.overrides.words)}")
        start = time.monotonic()
        yield each.overrides
        took.append(time.monotonic() - start)
    if not trainings:
        console.say("Nothing to do: every recipe that can run here is validated")


def row_of(verdict: "Verdict") -> dict[str, str]:
    """Return a table row for a validation: what ran where, its metric, and its time in seconds."""
    from zoo.runs import evidence

    row = verdict.row
    if row is None:
        failed = {"recipe": " ".join(verdict.overrides.words), "result": f"FAILED: {verdict.problems[0]}"}
        return dict.fromkeys(COLUMNS, "-") | failed
    seconds = row["seconds"]
    usual = "trains" if row["preset"] != "full" else "recorded, nothing expected"
    passed = evidence.verdict(row) or usual
    return {
        "recipe": verdict.recipe,
        "stack": row["stack"],
        "platform": row["platform"],
        "device": evidence.place(row),
        "data": row["data"]["name"],
        "preset": str(row["preset"]),
        "figure": f"{row['metric']} {row['value']:.4f}",
        "expected": evidence.expectation(row) or "-",
        "train s": f"{seconds['train_s']:.1f}" if "train_s" in seconds else "-",
        "total s": f"{sum(seconds.values()):.1f}",
        "grade": row["grade"],
        "result": f"FAILED: {'; '.join(verdict.problems)}" if verdict.problems else passed,
    }
