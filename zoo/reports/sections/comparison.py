"""Compare several runs, and list what makes them incomparable."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from zoo.reports.bars import shares
from zoo.reports.charts import Axis, Series, lines
from zoo.reports.html import Html, folded, join, table, tag
from zoo.reports.sections import provenance, results
from zoo.reports.units import capitalized, label, named, short
from zoo.runs.result import HEADLINES
from zoo.runs.untrusted import Untrusted

Runs = list[tuple[str, Untrusted]]
MOST_FIGURES, MOST_NAMED = 8, 3


def _data(record: Untrusted) -> str:
    return record.text("data", "sha256") or record.text("data", "name")


# Properties that must be equal for a fair comparison.
SAME: tuple[tuple[str, Callable[[Untrusted], str], str], ...] = (
    ("machine", provenance.machine_line, "their times are not comparable"),
    ("data", _data, "their results are not comparable"),
    ("preset", lambda record: record.text("config", "preset"), "a shortened run only shows that the code works"),
    ("grade", provenance.grade, "a stand-in says nothing about the GPU"),
    ("commit", lambda record: record.text("git_commit"), "the code may have changed between them"),
)


def labels(runs: Runs) -> list[str]:
    """Return a label for each run: its name, and the settings that vary, if few vary (the user's take precedence)."""
    flat = [provenance.settings(record) for _, record in runs]
    keys = _varied(flat)
    given = [key for key in keys if all(record.text("set_by", key) == "user" for _, record in runs)]
    keys = (given or keys)[: MOST_NAMED + 1]
    if len(keys) > MOST_NAMED:
        return [name for name, _ in runs]
    ends = {key: key.removesuffix(".name").rpartition(".")[2] for key in keys}
    varied = [" ".join(f"{ends[key]}={each[key]}" for key in keys) for each in flat]
    return [f"{name}: {words}" if words else name for (name, _), words in zip(runs, varied, strict=True)]


def best(runs: Runs) -> Html | None:
    """Name the best run by the first metric that all runs have, if all used the same data."""
    common = [name for name in HEADLINES if all(record.number("metrics", name) is not None for _, record in runs)]
    if len({_data(record) for _, record in runs}) > 1 or not common or common[0] == "items_per_s":
        return None
    figures = [(record.number("metrics", common[0]) or 0.0, name) for name, record in runs]
    ranked = sorted(figures, reverse=not common[0].endswith("loss"))
    (value, name), (other, _) = ranked[:2]
    what = label(common[0])
    if value == other:
        return tag("p", f"Several runs share the best {what}, {short(value)}.")
    words = f"Best run: {name}, with a {what} of {short(value)}; the next has {short(other)}."
    items = runs[0][1].number("data", "test_items")
    if common[0] == "test_accuracy" and items and items > 0 and 0 < value < 1:
        chance = 1.96 * math.sqrt(2 * value * (1 - value) / items)
        words += f" With {items:,.0f} test items, a difference below {chance:.2g} can be chance."
    return tag("p", tag("strong", words))


def figures(runs: Runs) -> Html:
    """Show a row per run; common properties are above the table."""
    names = _names(runs)
    facts = {what: [find(run) for _, run in runs] for what, find in WORDS.items()}
    same = [f"{what} {values[0]}" for what, values in facts.items() if len(set(values)) == 1 and values[0]]
    apart = [what for what, values in facts.items() if len(set(values)) > 1]
    cells = [
        [name, *(facts[what][at] for what in apart), *(_figure(run, where, key) for where, key in names)]
        for at, (name, run) in enumerate(runs)
    ]
    training = any(results.of_training(run) for _, run in runs)
    headings = ["Run", *map(capitalized, apart), *(results.title(key, training) for _, key in names)]
    drawn = table("Metrics of the runs", headings, cells, range(1 + len(apart), len(headings)))
    return join([best(runs), tag("p", f"Common to all runs: {', '.join(same)}.") if same else None, drawn])


WORDS: dict[str, Callable[[Untrusted], str]] = {
    "verb": lambda record: record.text("verb"), "model": lambda record: record.text("model"),
    "backend": lambda record: record.text("backend"), "stack": lambda record: record.text("stack", "name"),
    "device": provenance.device_name, "data": lambda record: record.text("data", "name"), "grade": provenance.grade,
    "exit": lambda record: record.text("exit"),
}  # fmt: skip


def _names(runs: Runs) -> list[tuple[str, str]]:
    """Select the columns: test metrics, times and memory, then other metrics by frequency."""
    count = Counter(("metrics", name) for _, record in runs for name, _ in record.numbers("metrics"))
    order = sorted(count, key=lambda pair: (pair[1] in ("loss", "accuracy"), -count[pair]))
    tested = [pair for pair in order if pair[1].startswith("test")]
    times = [("phases", name) for name in ("train_s", "infer_s") if any(t.number("phases", name) for _, t in runs)]
    rest = [pair for pair in order if pair not in tested]
    return [*tested, *times, ("", "seconds"), ("", "peak_memory_bytes"), *rest][:MOST_FIGURES]


def _figure(record: Untrusted, where: str, key: str) -> Html:
    return named("seconds_s" if key == "seconds" else key, record.part(*([where] if where else [])).number(key))


def remarks(runs: Runs) -> Html | None:
    said = []
    for what, value, meaning in SAME:
        names_by_value: dict[str, list[str]] = {}
        for name, record in runs:
            names_by_value.setdefault(value(record), []).append(name)
        names_by_value.pop("", None)
        if len(names_by_value) > 1:
            rows = [tag("li", f"{each}: {', '.join(names)}") for each, names in names_by_value.items()]
            said.append(tag("li", tag("strong", f"Different {what}"), f"; {meaning}.", tag("ul", rows)))
    if not said:
        return tag("p", "Same machine, data, preset, grade and commit.")
    return tag("ul", said, class_="warnings")


def curves(folders: list[tuple[str, Path]]) -> Html | None:
    histories = [(name, results.history(folder)) for name, folder in folders]
    drawn = []
    for key, axis in (("loss", Axis("validation loss", log=True)), ("accuracy", Axis("validation accuracy"))):
        series = [Series(name, results.validation(rows, key)) for name, rows in histories]
        drawn.append(lines(series, Axis("epoch", whole=True), axis, f"{axis.label.capitalize()} by epoch"))
    return tag("div", drawn, class_="pair") if any(drawn) else None


def time(runs: Runs) -> Html | None:
    return shares([(name, results.phases(record)) for name, record in runs], "Time of each phase", "s") or None


def differences(runs: Runs) -> Html | None:
    """Show the settings that differ; settings that only some runs have are folded."""
    flat = [provenance.settings(record) for _, record in runs]
    shared, keys = _varied(flat), dict.fromkeys(key for each in flat for key in each if not _is_idle(key))
    partial = [key for key in keys if not all(key in each for each in flat)]
    drawn = [_settings("Settings that differ", shared, runs, flat) if shared else None]
    if partial:
        words = "Settings that only some of the runs have"
        drawn.append(folded(words, _settings(words, partial, runs, flat)))
    return join(drawn) if any(drawn) else None


def _varied(flat: list[dict[str, str]]) -> list[str]:
    keys = [key for key in flat[0] if not _is_idle(key) and all(key in each for each in flat)]
    return [key for key in keys if len({each[key] for each in flat}) > 1]


def _is_idle(key: str) -> bool:
    return key.startswith("output.") or key.endswith(".about")


def _settings(words: str, keys: list[str], runs: Runs, flat: list[dict[str, str]]) -> Html:
    rows = [[key, *(each.get(key, "") for each in flat)] for key in keys]
    return table(words, ["Setting", *(name for name, _ in runs)], rows)
