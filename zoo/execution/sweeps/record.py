"""A sweep: its folder, which holds the folders of its runs, and its record, ``sweep.json``.

What became of a run stands in the folder of the run alone, so that nothing has to be kept in step.
"""

import contextlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Output
from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.core.files import write_json
from zoo.core.paths import user_path
from zoo.runs import folder as run_folder
from zoo.runs import records
from zoo.runs.records import Json

RECORD = run_folder.SWEEP
JOBS = "jobs.jsonl"
LOGS = "logs"
FORMAT = 1
# Where and under which name a run goes is the sweep's business.
OWN = ("output.root", "output.name", "resume")


@dataclass(frozen=True)
class Element:
    """One run of a sweep.

    Attributes:
        name: of its folder.
        words: its settings, as on the command line.
        chosen: those of them that differ between the elements.
    """

    name: str
    words: list[str]
    chosen: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sweep:
    """A sweep.

    Attributes:
        folder: absolute; its runs are in it.
        verb: of all of its runs.
        elements: they, in order.
        launcher: settings of the launcher, as on the command line.
        format: number of the format of its record.
        started: when it was begun.
    """

    folder: Path
    verb: str
    elements: list[Element]
    launcher: list[str] = field(default_factory=list)
    format: int = FORMAT
    started: str = field(default_factory=records.now)

    def attempts(self, element: Element) -> list[Path]:
        """Return the run folders that an element has so far, oldest first; a training goes on in its only one."""
        if self.verb == "train":  # no listing: there may be hundreds, on a network's disk
            return [path for path in [self.folder / element.name] if path.is_dir()]
        folders = [self.folder / element.name, *self.folder.glob(f"{element.name}_*")]
        numbered = [path for path in folders if (path / records.RECORD).is_file() or path.name == element.name]
        return sorted((path for path in numbered if path.is_dir()), key=lambda path: (len(path.name), path.name))

    def run_of(self, element: Element) -> Json | None:
        """Return the record of the last attempt, or of the one that is complete; None before there is any."""
        last: Json | None = None
        for folder in self.attempts(element):
            with contextlib.suppress(ZooError):  # begun just now, or damaged: it counts as not there
                last = records.read(folder) | {"folder": str(folder)}
                if last["exit"] == "completed":
                    return last
        return last

    def is_complete(self, element: Element) -> bool:
        """Whether an element has a complete run."""
        run = self.run_of(element)
        return run is not None and run["exit"] == "completed"

    def missing(self) -> list[Element]:
        """Return the elements without a complete run."""
        return [element for element in self.elements if not self.is_complete(element)]

    def log(self, name: str) -> Path:
        """Return the file that the output of an element or a preparation goes into."""
        return self.folder / LOGS / f"{name}.log"

    def note_job(self, element: Element, launcher: str, ticket: str) -> None:
        """Keep how an engine calls the job of an element, to find it again."""
        self._note({"element": element.name, "launcher": launcher, "ticket": ticket, "at": records.now()})

    def note_place(self, element: Element, place: str) -> None:
        """Keep where an attempt of an element ended."""
        self._note({"element": element.name, "place": place, "at": records.now()})

    def tickets(self, launcher: str) -> dict[str, str]:
        """Return the last ticket of every element that a launcher had."""
        return {row["element"]: row["ticket"] for row in self._noted() if row.get("launcher") == launcher}

    def places(self) -> dict[str, str]:
        """Return where each element ended last."""
        return {row["element"]: row["place"] for row in self._noted() if "place" in row}

    def _note(self, row: dict[str, str]) -> None:
        with (self.folder / JOBS).open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")

    def _noted(self) -> list[dict[str, str]]:
        path = self.folder / JOBS
        rows = []
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
            with contextlib.suppress(ValueError):  # a torn last line
                row = json.loads(line)
                if isinstance(row, dict) and "element" in row and all(isinstance(each, str) for each in row.values()):
                    rows.append(row)
        return rows


def separate(overrides: Overrides) -> tuple[Overrides, Overrides]:
    """Separate the settings of the launcher, whose commas make lists, from those of the runs."""
    own = [entry.key for entry in overrides if entry.key.partition(".")[0] == "launcher"]
    return overrides.only(*own), overrides.without(*own)


def create(verb: str, overrides: Overrides) -> Sweep:
    """Make the folder and the record of a new sweep.

    Args:
        verb: of its runs.
        overrides: keys with several values are varied.
    """
    launcher, rest = separate(overrides)
    root, name = rest.get("output.root") or Output().root, rest.get("output.name")
    elements = elements_of(rest)
    folder = run_folder.new_folder(user_path(root), name, ["sweep", verb])
    sweep = Sweep(folder, verb, elements, launcher.words)
    write_json(folder / RECORD, {key: value for key, value in asdict(sweep).items() if key != "folder"})
    return sweep


def elements_of(overrides: Overrides) -> list[Element]:
    """Return an element for every combination of values."""
    combinations = [each.words for each in overrides.without(*OWN).combinations()]
    digits = max(3, len(str(len(combinations))))
    varied = [at for at in range(len(combinations[0])) if len({each[at] for each in combinations}) > 1]
    return [
        Element(f"{number:0{digits}}", combination, [combination[at] for at in varied])
        for number, combination in enumerate(combinations, 1)
    ]


def is_sweep(folder: Path) -> bool:
    """Whether a folder is that of a sweep."""
    return (folder / RECORD).is_file()


def load(folder: Path) -> Sweep:
    """Read the sweep of a folder, which may come from a stranger."""
    path = folder / RECORD
    for place in (folder / RECORD, folder / JOBS, folder / LOGS, *folder.glob(f"{LOGS}/*")):
        if place.is_symlink():
            raise ZooError(f"{place} is a link, and what it leads to would be written to", "No sweep makes links.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Give the folder that a sweep made.") from error
    problems = schema.violations(content, Sweep, given=("folder",))
    names = [] if problems else [each["name"] for each in content["elements"]]
    problems += [f"{name!r} is no name" for name in names if not name.isdigit()]
    if problems or content["format"] != FORMAT:
        raise ZooError(
            f"{path} is damaged, or of another version: {', '.join(problems) or content['format']}", "Sweep anew."
        )
    elements = [Element(**each) for each in content["elements"]]
    rest = {key: value for key, value in content.items() if key != "elements"}
    return Sweep(folder=folder.resolve(), elements=elements, **rest)
