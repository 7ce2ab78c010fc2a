"""Helpers of benchmarks whose ways take turns: commands with their costs, a log of measurements, ratios of rounds."""

import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LAST_LINES = 12
LIMIT_S = 900.0
Figures = dict[str, Any]


class CommandError(Exception):
    """A command failed. The message ends with the last lines of its output."""


class Result(NamedTuple):
    """A finished command.

    Attributes:
        output: its standard output.
        wall_s: seconds from start to end.
        cpu_s: processor seconds of the command and of its children, from `wait4`.
    """

    output: str
    wall_s: float
    cpu_s: float

    def answer(self) -> Figures:
        """Return the JSON object in the last line of the output, or an empty one."""
        lines = self.output.strip().splitlines()
        try:
            parsed = json.loads(lines[-1]) if lines else {}
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}


def run(
    command: Sequence[str],
    folder: Path,
    variables: Mapping[str, str] | None = None,
    text: str = "",
    limit_s: float = LIMIT_S,
) -> Result:
    """Run a command in a process group of its own and return its costs.

    An exception, such as Ctrl-C, ends the whole group first.

    Args:
        command: program and arguments.
        folder: working directory.
        variables: environment; None means that of this process.
        text: standard input.
        limit_s: seconds after which the command is killed.

    Raises:
        CommandError: the command failed, or took too long.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as log, tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=variables, stdin=given, stdout=out, stderr=log, start_new_session=True
            )
        except OSError as error:
            raise CommandError(f"cannot start {command[0]}: {error.strerror}") from None
        timer = threading.Timer(limit_s, _signal, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            _signal(process.pid, signal.SIGTERM)
            time.sleep(0.5)
            _signal(process.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, log):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    if process.returncode:
        why = f"exit status {process.returncode}" if wall_s < limit_s else f"killed after {limit_s:g} s"
        lines = (texts[0] + texts[1]).strip().splitlines()[-LAST_LINES:]
        raise CommandError("\n".join([f"{' '.join(command)[:200]}: {why}", *(f"    {line}" for line in lines)]))
    return Result(texts[0], wall_s, usage.ru_utime + usage.ru_stime)


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


class Foreign:
    """Processor use of other programs while a measurement runs, in cores. It is known on Linux only."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), _busy_s(), _own_s()

    def cores(self) -> float | None:
        """Return the mean number of cores that other programs used since the start; None if it is unknown."""
        busy, seconds = _busy_s(), time.monotonic() - self._began
        if busy is None or self._busy is None or seconds < 0.05:
            return None
        return max(0.0, (busy - self._busy - (_own_s() - self._own)) / seconds)


def _busy_s() -> float | None:
    """Return the seconds that all cores have worked, or were taken by other virtual machines (proc_stat(5))."""
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return None
    user, nice, system, _, _, *rest = (int(word) for word in line.split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def read(log: Path) -> list[Figures]:
    """Return the measurements of a log, one for each line; truncated lines are ignored."""
    measured = []
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        with contextlib.suppress(ValueError):
            measured.append(json.loads(line))
    return measured


def append(log: Path, line: Figures) -> None:
    """Add a measurement to a log, on a new line even if the last line is truncated."""
    with log.open("ab+") as out:
        if out.seek(0, os.SEEK_END):
            out.seek(-1, os.SEEK_END)
            if out.read() != b"\n":
                out.write(b"\n")
        out.write(json.dumps(line).encode() + b"\n")


def order(ways: Sequence[str], number: int) -> list[str]:
    """Return the ways of a round in turn: each round begins with the next one."""
    turn = number % len(ways)
    return [*ways[turn:], *ways[:turn]]


def by_round(measured: Sequence[Figures], name: str, way: str, key: str = "speed") -> dict[int, Any]:
    """Return the figures of a row by round, in order. Round 0 prepares and is not counted."""
    lines = [line for line in measured if line["row"] == name and line["way"] == way and line["round"] and key in line]
    return {line["round"]: line[key] for line in sorted(lines, key=lambda line: line["round"])}


def ratio(unit: str, ours: float, theirs: float) -> float:
    """Return how many times as fast ours is, of seconds (unit ``s``) or of rates."""
    return theirs / ours if unit == "s" else ours / theirs


def spread(figures: Sequence[float], digits: int) -> str:
    """Format the median with the lowest and the highest value."""
    return f"{statistics.median(figures):.{digits}f} ({min(figures):.{digits}f} to {max(figures):.{digits}f})"
