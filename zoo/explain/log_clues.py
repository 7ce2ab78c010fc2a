"""Clues in a log without a known issue: the error line, its stack frame and its kind of error."""

import functools
import re
from typing import NamedTuple

from zoo.core import paths, schema
from zoo.explain.log_text import LogText, printable

LINES, WIDTH, BEFORE = 4000, 400, 6
SILENT = "No line looks like an error. If the program ended early, run it with python -X faulthandler."
MATTERS = re.compile(
    r"^\W{0,4}(?:[\w.]{2,80}(?:Error|Exception|Failure|Interrupt)\b|(?:error|fatal|exception)\b)"
    r"|\b(?:fatal error|error):|\bERR!|Abort trap|Segmentation fault|Bus error|core dumped|terminate called"
    r"|failed assertion|terminated by signal|segfault|Check failed|Fatal Python error|\bFAILED\b|\bpanic",
    re.IGNORECASE,
)
ANOTHER = "The log ends with another error, for which there is no known issue. It can be a consequence of the above."
RAISED = re.compile(r"\W{0,4}[\w.]{2,80}(?:Error|Exception)\b")
FRAME = re.compile(r'^\W{0,4}File "[^"\n]{1,300}", line \d{1,7}')
UNKNOWN = "Read this line and the lines before it. Search for its text in the documentation of the library."
REPORT = "To report it, attach the whole log, the output of `python -m zoo doctor --json` and, of a run, run.json."


class Family(NamedTuple):
    """One entry of ``error_families.yaml``."""

    name: str
    pattern: str
    next: str


class Clues(NamedTuple):
    """The last line that looks like an error, its traceback's first line, its stack frame and its probable family."""

    line: str = ""
    number: int = 0
    start: int = 0
    frame: str = ""
    family: Family | None = None


def find(text: str) -> Clues:
    """Search the end of a log for the last line that looks like an error."""
    lines = [line[:WIDTH] for line in LogText(text).data.decode("utf-8", errors="replace").split("\n")]
    last = range(len(lines) - 1, max(-1, len(lines) - LINES), -1)
    index = next((index for index in last if MATTERS.search(lines[index])), None)
    if index is None:
        return Clues()
    near = [line for line in lines[max(0, index - BEFORE) : index + 1] if not FRAME.search(line)]
    frames = [line for line in lines[max(0, index - LINES) : index] if FRAME.search(line)]
    family = _family(lines[index]) or _family("\n".join(near))
    begun = [number for number, line in enumerate(lines[:index], 1) if "Traceback (most recent call last)" in line]
    chained = any("above exception" in line for line in lines)
    start = begun[-1] if begun and RAISED.match(lines[index]) and not chained else 0
    return Clues(printable(lines[index]), index + 1, start, printable(frames[-1]) if frames else "", family)


def render(text: str, known: bool = False) -> str:
    clues = find(text)
    lines = [
        ANOTHER if known else "This log contains no known issue.",
        *([f"Probable kind of error: {clues.family.name}"] if clues.family else []),
        *([f"The last line that looks like an error, {clues.number}: {clues.line}"] if clues.line else []),
        *([f"  after: {clues.frame}"] if clues.frame else []),
    ]
    advice = clues.family.next if clues.family else UNKNOWN if clues.line else SILENT
    return "\n".join([*lines, f"What to do next: {advice}", REPORT])


def _family(text: str) -> Family | None:
    return next((family for family in _families() if re.search(family.pattern, text)), None)


@functools.cache
def _families() -> tuple[Family, ...]:
    return tuple(Family(**row) for row in schema.read_yaml(paths.PACKAGE / "explain" / "error_families.yaml"))
