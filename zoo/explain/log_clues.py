"""Clues in a log without a known issue: the error line, its stack frame and its kind of error."""

import re
from typing import NamedTuple

from zoo.core import paths, schema
from zoo.explain.log_text import ENDING, LogText, kind

WIDTH = 600
CUT = "The log ends inside a traceback. Its last line, which names the error, is missing: add it."
SILENT = "No line was recognized as an error. If the program ended early, run it with python -X faulthandler."
ANOTHER = "Cause not known: the log ends with an error for which there is no known issue."
UNKNOWN = "Read this line and the lines before it. Search for its text in the documentation of the library."
REPORT = "To report it, attach the whole log, the output of `python -m zoo doctor --json` and, of a run, run.json."


class Clues(NamedTuple):
    """The last line that looks like an error, its traceback's first line, its origin and what to do next."""

    line: str = ""
    number: int = 0
    start: int = 0
    where: str = ""
    kind: str = ""
    next: str = SILENT

    def render(self, known: bool) -> str:
        lines = [
            ANOTHER if known else "This log contains no known issue.",
            *([f"Probable kind of error: {self.kind}"] if self.kind else []),
            *([f"The last line that looks like an error, {self.number}: {self.line}"] if self.line else []),
            *([self.where] if self.where else []),
        ]
        return "\n".join([*lines, f"What to do next: {self.next}", REPORT])


def find(text: str) -> Clues:
    """Search the end of a log for the last line that looks like an error."""
    log = LogText(text)
    places = [at.start() for at in kind("error").finditer(log.data, max(0, len(log.data) - ENDING))]
    begun = log.data.rfind(b"Traceback (most recent call last)")
    if begun >= 0 and not log.last_exception()[0] and not any(place > begun for place in places):
        return Clues(log.line(begun), log.number(begun), next=CUT)
    if not places:
        return Clues()
    line, number = log.line(places[-1]), log.number(places[-1])
    near = (line, kind("place").sub(b"", log.data[max(0, places[-1] - WIDTH) : places[-1]]).decode(errors="replace"))
    families = schema.read_yaml(paths.PACKAGE / "explain" / "error_families.yaml")
    family: dict[str, str] = next((row for text in near for row in families if re.search(row["pattern"], text)), {})
    raised = 0 <= begun < places[-1] and log.last_exception()[0] == number and not log.has("above exception")
    start, where = log.number(begun) if raised else 0, log.origin(places[-1]).get("where", "")
    return Clues(line, number, start, where, family.get("name", ""), family.get("next", UNKNOWN))
