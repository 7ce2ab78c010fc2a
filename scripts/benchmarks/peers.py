"""Compare the zoo with the best program that an expert would write for the same work: one table.

python scripts/benchmarks/peers.py [ROW ...] --data FOLDER [--rounds 5] [--output FILE.json] [--again]
python scripts/benchmarks/peers.py --list

FOLDER contains the data sets; a row whose data is missing is listed as not measured, with the reason. In each round,
the zoo and every peer run once, each in new processes. The order changes from round to round. A peer counts if it is
as accurate as the zoo, or reaches the target of the row. Peers use the PyTorch of the stack torch, or an environment
with the versions of peers.lock.txt, which is built once in the cache of the zoo or in --environments.

--output is a file for ratios.py. Each measurement is also kept in FILE.jsonl: the same command continues there after
Ctrl-C, and skips rows that have all rounds unless --again is given. Measurements of other commits do not count.
A round during which other programs used more than a fifth of a core is marked with *.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common, peer_rows, ratios, turns
from scripts.benchmarks.peer_rows import Row
from scripts.benchmarks.turns import CommandError, Figures, spread

ZOO = "zoo"
BUSY = 0.2  # cores used by other programs, above which a round is marked
HEADINGS = ["what", "zoo", "best peer", "times as fast, median (least to most)", "CPU seconds, zoo and peer", "load"]
Log = list[Figures]


class Compared(NamedTuple):
    """A row with its measurements.

    Attributes:
        best: name of the fastest peer that counts; empty if there is none.
        times: how many times as fast the zoo is, by peer that counts: a number for each round of both.
        short: peers that are less accurate than they must be.
    """

    best: str
    times: dict[str, list[float]]
    short: list[str]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = common.parser(__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to measure; all without names")
    parser.add_argument("--list", action="store_true", help="list rows and exit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the data sets")
    parser.add_argument("--environments", type=Path, help="folder for the environment of the peers")
    parser.add_argument("--again", action="store_true", help="measure the rows again, even those with all rounds")
    parser.add_argument("--definitions", type=Path, help="JSON file with rows to use instead of the built-in ones")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell ignores Ctrl-C for its background jobs
        signal.signal(number, signal.default_int_handler)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = defined(options, Path(folder))
        except (OSError, ValueError, TypeError, KeyError) as error:
            parser.error(f"{options.definitions} has no rows: {error}")
        unknown = [name for name in options.rows if name not in rows]
        if unknown:
            parser.error(f"unknown row: {', '.join(unknown)}. Rows: {', '.join(rows)}")
        chosen = {name: rows[name] for name in options.rows or rows}
        if options.list:
            for name, row in chosen.items():
                print(f"{name:<24} {row.seconds:4.0f} s a round  {row.what}: {', '.join(row.peers)}")
            return 0
        return measured_and_shown(chosen, options, Path(folder))


def defined(options: argparse.Namespace, folder: Path) -> dict[str, Row]:
    """Return the built-in rows, or those of ``--definitions``."""
    shop = peer_rows.Workshop(options.data.resolve(), folder, options.environments)
    if options.definitions:
        return peer_rows.from_file(options.definitions, shop)
    return peer_rows.table(shop)


def measured_and_shown(rows: dict[str, Row], options: argparse.Namespace, folder: Path) -> int:
    """Measure, print the table, write the rows for ratios.py; return the exit status."""
    from zoo.runs import records

    log = options.output.with_suffix(".jsonl") if options.output else folder / "log.jsonl"
    commit = records.git_commit() or ""
    if options.again:
        forget(log, rows)
    missing = {name: reason for name, row in rows.items() if (reason := row.missing())}
    present = {name: row for name, row in rows.items() if name not in missing}
    say(f"Estimated time: {estimated(present, log, commit, options.rounds) / 60:.0f} minutes")
    failed: dict[str, str] = {}
    status = 0
    try:
        for name, row in present.items():
            measure(name, row, log, commit, options.rounds, folder, failed)
            write(options.output, present, known(log, commit))
    except KeyboardInterrupt:
        say(f"Interrupted. {f'The same command continues from {log}.' if options.output else ''}")
        status = 130
    measured = known(log, commit)
    show(present, measured, missing, failed)
    write(options.output, present, measured)
    return status or (1 if failed else 0)


def say(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def known(log: Path, commit: str) -> Log:
    """Return the measurements of this commit."""
    return [line for line in turns.read(log) if line["commit"] == commit]


def forget(log: Path, rows: dict[str, Row]) -> None:
    """Remove the measurements of some rows from a log."""
    kept = [line for line in turns.read(log) if line["row"] not in rows]
    if log.exists():
        log.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")


def estimated(rows: dict[str, Row], log: Path, commit: str, rounds: int) -> float:
    """Return the seconds that the missing rounds will take, without preparations."""
    measured = known(log, commit)
    left = {name: rounds - len(turns.by_round(measured, name, ZOO)) for name in rows}
    return sum(row.seconds * max(0, left[name]) for name, row in rows.items())


def measure(name: str, row: Row, log: Path, commit: str, rounds: int, folder: Path, failed: dict[str, str]) -> None:
    """Take the rounds of a row that the log lacks; a way that fails is reported and not repeated."""
    ways: dict[str, Callable[[int, Path], Figures]] = {ZOO: row.zoo, **row.peers}
    taken = {(line["way"], line["round"]) for line in known(log, commit) if line["row"] == name}
    left = [number for number in range(1, rounds + 1) if any((way, number) not in taken for way in ways)]
    if not left:
        say(f"{name}: all rounds are in {log}")
        return
    numbers = [0, *left] if row.prepares else left
    for number in numbers:
        for way in turns.order(list(ways), number):
            if (way, number) in taken or f"{name}, {way}" in failed or f"{name}, {ZOO}" in failed:
                continue
            if number == 0 and way != ZOO:
                continue
            try:
                if row.prepare:
                    row.prepare()
                with tempfile.TemporaryDirectory(dir=folder) as to:
                    line = one(ways[way], number, Path(to))
            except CommandError as error:
                failed[f"{name}, {way}"] = str(error)
                say(f"error: {name}, {way}: {error}")
                continue
            line = {"row": name, "way": way, "round": number, "commit": commit, **line}
            say(json.dumps(line))
            if number:
                turns.append(log, line)


def one(way: Callable[[int, Path], Figures], number: int, folder: Path) -> Figures:
    """Measure a way once, with the load average before it and the processor use of other programs during it."""
    load, foreign = os.getloadavg()[0], turns.Foreign()
    began = time.monotonic()
    figures = way(number, folder)
    cores = foreign.cores()
    return {
        **figures, "took_s": round(time.monotonic() - began, 2), "load": round(load, 2),
        "foreign": None if cores is None else round(cores, 2),
    }  # fmt: skip


def compare(name: str, row: Row, measured: Log) -> Compared:
    """Compare the zoo with each peer of a row, round by round."""
    ours = turns.by_round(measured, name, ZOO)
    own = accuracies(name, ZOO, measured)
    least = row.target if row.target is not None else statistics.median(own) - row.slack if own else None
    times, short, speeds = dict[str, list[float]](), [], {}
    for peer in row.peers:
        theirs = turns.by_round(measured, name, peer)
        accuracy = accuracies(name, peer, measured)
        both = [number for number in ours if number in theirs]
        if not both:
            continue
        if least is not None and accuracy and statistics.median(accuracy) < least:
            short.append(peer)
            continue
        times[peer] = [turns.ratio(row.unit, ours[number], theirs[number]) for number in both]
        speeds[peer] = turns.ratio(row.unit, 1.0, statistics.median(theirs.values()))
    return Compared(min(speeds, key=speeds.__getitem__, default=""), times, short)


def write(path: Path | None, rows: dict[str, Row], measured: Log) -> None:
    """Write the rows for ratios.py: the zoo against each peer that counts."""
    if not path:
        return
    written = []
    for name, row in rows.items():
        result = compare(name, row, measured)
        for peer, times in result.times.items():
            note = "; ".join(f"{way}: {cell(name, row, way, measured)}" for way in (ZOO, peer))
            written.append(ratios.row(row.what, row.how, peer, times, None, note))
    path.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def cell(name: str, row: Row, way: str, measured: Log) -> str:
    """Format the speed of a way, and its accuracy if it has one."""
    speeds = list(turns.by_round(measured, name, way).values())
    digits = 1 if min(speeds) < 1000 else 0
    text = f"{spread(speeds, digits)} {row.unit}"
    accuracy = accuracies(name, way, measured)
    return f"{text}, {row.quality} {spread(accuracy, 4)}" if accuracy else text


def cpu(name: str, row: Row, way: str, measured: Log) -> str:
    """Return the median processor seconds of a way."""
    seconds = turns.by_round(measured, name, way, "cpu_s").values()
    return f"{statistics.median(seconds):.3g}" if seconds else "unknown"


def load(name: str, measured: Log) -> str:
    """Return the range of the load averages of a row, and the rounds with foreign load."""
    lines = [line for line in measured if line["row"] == name]
    loads = [line["load"] for line in lines]
    marked = sorted({line["round"] for line in lines if (line["foreign"] or 0.0) > BUSY})
    stars = f" * foreign load in round {', '.join(map(str, marked))}" if marked else ""
    return f"{min(loads):.1f} to {max(loads):.1f}{stars}"


def show(rows: dict[str, Row], measured: Log, missing: dict[str, str], failed: dict[str, str]) -> None:
    """Print the table in Markdown, then the remaining peers, and rows that were not measured."""
    print(f"| {' | '.join(HEADINGS)} |")
    print("|---" * len(HEADINGS) + "|")
    notes = []
    for name, row in rows.items():
        if not turns.by_round(measured, name, ZOO):
            missing[name] = failed.get(f"{name}, {ZOO}", "no round was finished")
            continue
        result = compare(name, row, measured)
        print(f"| {' | '.join(cells(name, row, result, measured))} |")
        notes += remarks(name, row, result, measured)
    for name, peer_error in failed.items():
        notes.append(f"{name} failed: {peer_error.splitlines()[-1].strip()}")
    if notes:
        print("\n" + "\n".join(f"- {note}" for note in notes))
    for name, reason in missing.items():
        print(f"- {name} was not measured: {reason.splitlines()[-1].strip()}")


def cells(name: str, row: Row, result: Compared, measured: Log) -> list[str]:
    """Return the cells of a line of the table."""
    own = cell(name, row, ZOO, measured)
    if result.best:
        best = f"{result.best}: {cell(name, row, result.best, measured)}"
        times = spread(result.times[result.best], 2)
        seconds = f"{cpu(name, row, ZOO, measured)} and {cpu(name, row, result.best, measured)}"
    else:
        best, times, seconds = "none counts", "", cpu(name, row, ZOO, measured)
    return [f"{row.what} ({row.how})", own, best, times, f"{seconds} ({row.cpu_of})", load(name, measured)]


def remarks(name: str, row: Row, result: Compared, measured: Log) -> list[str]:
    """Return sentences about the peers that are not in the table, and about accuracy."""
    texts = []
    for peer, times in result.times.items():
        if peer != result.best:
            texts.append(f"{name}, {peer}: {cell(name, row, peer, measured)}; the zoo is {spread(times, 2)} as fast.")
    for peer in result.short:
        about, seconds = cell(name, row, peer, measured), cpu(name, row, peer, measured)
        texts.append(f"{name}, {peer} does not count, because it is less accurate: {about}, CPU {seconds} s.")
    own = accuracies(name, ZOO, measured)
    if own and row.target is not None and statistics.median(own) < row.target:
        texts.append(f"{name}: the zoo does not reach the target {row.target:g}, so its ratio does not count.")
    for peer in result.times:
        theirs = accuracies(name, peer, measured)
        if own and theirs and statistics.median(theirs) > statistics.median(own) + row.slack:
            texts.append(f"{name}, {peer} is more accurate than the zoo.")
    return texts


def accuracies(name: str, way: str, measured: Log) -> Sequence[Any]:
    """Return the accuracies of a way, by round."""
    return list(turns.by_round(measured, name, way, "accuracy").values())


if __name__ == "__main__":
    sys.exit(main())
