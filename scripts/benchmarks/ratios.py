"""Print measured ratios as one table, from files that the scripts of this folder wrote with ``--output FILE.json``.

python scripts/benchmarks/ratios.py FILE.json... [--markdown] [--output ALL.json]
                                    [--check docs/background/ratios.json]

A FILE may also be the results.json of `python -m zoo bench model=transformer implementation=both` or of
`python -m zoo bench bench=stacks`, of which the first stack is compared with the others.

``--check`` compares with rows that were measured earlier, on the same machine where there are some; those against
matrix products on the same machine only. Where the median of a row is more than a tenth below the least of its rounds
then, something has become slower (exit status 1).

A row gives the speed of the zoo relative to something else in the same run, its spread over the rounds, and the share
of the matrix peak where it was measured. There is one table for each machine.
"""

import argparse
import datetime
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

Row = dict[str, Any]
TOLERANCE = 0.1
PRODUCTS = "matrix product"
HEADINGS = ["what", "zoo", "against", "times as fast", "rounds", "of the peak"]


def row(
    what: str, zoo: str, against: str, ratios: Sequence[float], share_of_peak: float | None = None, note: str = ""
) -> Row:
    """Return a row: median and extremes of the rounds' ratios, machine, date and commit.

    Args:
        what: the work, such as ``MobileNet, inference, batch 1``.
        zoo: stack and precision.
        against: what the zoo is compared with.
        ratios: speed of the zoo relative to it, one number a round.
        share_of_peak: share of the fastest matrix product of the same run, 0 to 1.
        note: further conditions or results.
    """
    from zoo.environments import machine
    from zoo.runs import records

    return {
        "what": what, "zoo": zoo, "against": against, "times_as_fast": round(statistics.median(ratios), 4),
        "least": round(min(ratios), 4), "most": round(max(ratios), 4), "rounds": len(ratios),
        "share_of_peak": share_of_peak, "note": note, "machine": machine.describe(machine.probe()),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(), "commit": records.git_commit(),
    }  # fmt: skip


def write(path: Path, rows: list[Row]) -> None:
    """Write rows as JSON."""
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"Rows written to {path}")


def read(path: Path) -> list[Row]:
    """Read the rows of a file, or convert the timings of `zoo bench` to rows.

    Raises:
        ValueError: the file has neither.
    """
    rows = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
        raise ValueError(f"{path} holds no rows")
    if rows and "times_the_first" in rows[0]:
        return _of_stacks(rows)
    return _of_encoder(rows) if rows and "implementation" in rows[0] else rows


def _of_stacks(rows: list[Row]) -> list[Row]:
    """Compare the first stack and precision of each mode with the others, with quartiles in place of extremes."""
    first: dict[str, Row] = {}
    timed = [each for each in rows if each.get("times_the_first")]
    others = [each for each in timed if first.setdefault(each["mode"], each) is not each]
    return [
        {
            "what": f"{own['network']}, {own['mode']}, batch {own['batch_size']}",
            "zoo": f"{own['stack']}, {own['precision']}", "against": f"{each['stack']}, {each['precision']}",
            "times_as_fast": 1 / each["times_the_first"], "least": 1 / each["times_the_first_q3"],
            "most": 1 / each["times_the_first_q1"], "rounds": each["rounds"], "share_of_peak": own["share_of_peak"],
            "note": "", "machine": own["machine"], "date": own["date"][:10], "commit": own["git_commit"],
        }
        for each in others
        for own in [first[each["mode"]]]
    ]  # fmt: skip


def _of_encoder(rows: list[Row]) -> list[Row]:
    """Compare the zoo's fastest execution mode with that of PyTorch's module, for each mode and precision."""
    best: dict[tuple[str, str, str], Row] = {}
    for each in rows:
        key = each["implementation"], each["mode"], each["precision"]
        if each["grade"] == "measured" and each.get("median_s"):
            best[key] = min(best.get(key, each), each, key=lambda one: float(one["median_s"]))
    pairs = [(one, best.get(("torch", mode, kind))) for (name, mode, kind), one in best.items() if name == "zoo"]
    return [
        {
            "what": f"transformer's encoder, {own['mode']}", "zoo": f"{own['stack']}, {own['precision']}",
            "against": "PyTorch's module", "times_as_fast": other["median_s"] / own["median_s"],
            "least": other["fastest_s"] / own["slowest_s"], "most": other["slowest_s"] / own["fastest_s"],
            "rounds": min(own["repeats"], other["repeats"]), "share_of_peak": own["share_of_peak"], "note": "",
            "machine": own["machine"], "date": own["date"][:10], "commit": own["git_commit"],
        }
        for own, other in pairs if other
    ]  # fmt: skip


def cells(row: Row) -> list[str]:
    """Format a row as cells."""
    spread = f"{row['times_as_fast']:.2f}"
    if row["rounds"] > 1:
        spread += f" ({row['least']:.2f} to {row['most']:.2f})"
    share = "" if row["share_of_peak"] is None else f"{100 * row['share_of_peak']:.0f} %"
    return [row["what"], row["zoo"], row["against"], spread, str(row["rounds"]), share]


def lines(rows: list[Row], markdown: bool) -> list[str]:
    """Format one table for each machine, with its name and the dates above it."""
    output = []
    for where in dict.fromkeys(row["machine"] for row in rows):
        own = [row for row in rows if row["machine"] == where]
        days = sorted({row["date"] for row in own})
        output += ["", f"{where}; measured {days[0]}" + (f" to {days[-1]}" if days[1:] else ""), ""]
        table = [HEADINGS, *(cells(row) for row in own)]
        widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
        padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in table]
        if markdown:
            padded.insert(1, ["-" * width for width in widths])
        output += [f"| {' | '.join(line)} |" if markdown else "  ".join(line).rstrip() for line in padded]
        output += [f"{row['what']}: {row['note']}" for row in own if row["note"]]
    return output


def slower(rows: list[Row], earlier: list[Row]) -> tuple[int, list[str]]:
    """Return how many rows were measured earlier, and describe those that are slower than in all rounds then."""
    compared, result = 0, []
    for row in rows:
        same = [each for each in earlier if all(each[key] == row[key] for key in ("what", "zoo", "against"))]
        here = [each for each in same if each["machine"] == row["machine"]]
        if not here and PRODUCTS not in row["against"]:  # which differ too much from machine to machine
            here = same
        compared += bool(here)
        if here and row["times_as_fast"] < (1 - TOLERANCE) * here[-1]["least"]:
            was = " ".join(cells(here[-1])[3:4])
            result.append(
                f"{row['what']}, against {row['against']}: {row['times_as_fast']:.2f} times as fast, was {was}"
            )
    return compared, result


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--output", type=Path, help="JSON file for all rows")
    parser.add_argument("--check", type=Path, help="JSON file of rows that were measured earlier")
    parsed = parser.parse_args(arguments)
    try:
        earlier = read(parsed.check) if parsed.check else []
        rows = [each for path in parsed.files for each in read(path)]
        print("\n".join(lines(rows, parsed.markdown)[1:]))
        if parsed.output:
            write(parsed.output, rows)
        compared, worse = slower(rows, earlier)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"error: a file has no rows of these benchmarks: {error}", file=sys.stderr)
        return 1
    for words in worse:
        print(f"slower: {words}", file=sys.stderr)
    if parsed.check:
        words = f"{compared} of {len(rows)} rows were compared with {parsed.check}, {len(worse)} are slower"
        print(words, file=sys.stderr)
    return 1 if worse or (parsed.check and not compared) else 0


if __name__ == "__main__":
    sys.exit(main())
