"""A sweep: its folder, which contains the folders of its runs, and its record, ``sweep.json``.

The state of a run is stored only in its own folder, so that it cannot get out of sync.
"""

import contextlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from zoo.config.overrides import RESUME, Overrides
from zoo.config.schemas.common import Output
from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.core.files import read_json, write_json
from zoo.core.paths import user_path
from zoo.runs import folder as run_folder
from zoo.runs import records
from zoo.runs.records import Json

RECORD = run_folder.SWEEP
JOBS = "jobs.jsonl"
LOGS = "logs"
FORMAT = 1
# The sweep sets the folder and name of each run.
OWN = ("output.root", "output.name", "resume")


@dataclass(frozen=True)
class Element:
    """One run of a sweep.

    Attributes:
        name: name of its folder.
        words: settings in command-line syntax.
        chosen: settings that vary between elements.
    """

    name: str
    words: list[str]
    chosen: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sweep:
    """A sweep.

    Attributes:
        folder: absolute path of the folder that contains its runs.
        verb: verb of all runs.
        launcher: settings of the launcher in command-line syntax.
        format: version of the record format.
    """

    folder: Path
    verb: str
    elements: list[Element]
    launcher: list[str] = field(default_factory=list)
    format: int = FORMAT
    started: str = field(default_factory=records.now)

    def attempts(self, element: Element) -> list[Path]:
        """Return an element's run folders so far, oldest first; a training run resumes in its only folder."""
        if self.verb == "train":  # listing hundreds of folders on a network disk would be slow
            return [path for path in [self.folder / element.name] if path.is_dir()]
        folders = [self.folder / element.name, *self.folder.glob(f"{element.name}_*")]
        numbered = [path for path in folders if (path / records.RECORD).is_file() or path.name == element.name]
        return sorted((path for path in numbered if path.is_dir()), key=lambda path: (len(path.name), path.name))

    def run_of(self, element: Element) -> Json | None:
        """Return the record of the complete attempt or, without one, of the last attempt, or None."""
        last: Json | None = None
        for folder in self.attempts(element):
            with contextlib.suppress(ZooError):  # a new or damaged run is treated as missing
                last = records.read(folder) | {"folder": str(folder)}
                if last["exit"] == "completed":
                    return last
        return last

    def is_complete(self, element: Element) -> bool:
        run = self.run_of(element)
        return run is not None and run["exit"] == "completed"

    def missing(self) -> list[Element]:
        return [element for element in self.elements if not self.is_complete(element)]

    def log(self, name: str) -> Path:
        return self.folder / LOGS / f"{name}.log"

    def note(self, element: Element, **values: str) -> None:
        """Record the place of an element's job, or its launcher and ticket."""
        with (self.folder / JOBS).open("a", encoding="utf-8") as out:
            out.write(json.dumps({"element": element.name, **values, "at": records.now()}) + "\n")

    def tickets(self, launcher: str) -> dict[str, str]:
        return {row["element"]: row["ticket"] for row in self._noted() if row.get("launcher") == launcher}

    def places(self) -> dict[str, str]:
        return {row["element"]: row["place"] for row in self._noted() if "place" in row}

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
    """Split settings into those of the launcher, whose commas separate list items, and those of the runs."""
    own = [entry.key for entry in overrides if entry.key.partition(".")[0] == "launcher"]
    return overrides.only(*own), overrides.without(*own)


def create(verb: str, overrides: Overrides, elements: list[Element]) -> Sweep:
    launcher, _ = separate(overrides)
    root, name = place(overrides)
    folder = run_folder.new_folder(user_path(root), name, ["sweep", verb])
    sweep = Sweep(folder, verb, elements, launcher.words)
    write_json(folder / RECORD, {key: value for key, value in asdict(sweep).items() if key != "folder"})
    return sweep


def place(overrides: Overrides) -> tuple[str, str | None]:
    """Return the parent of a sweep's folder, and the folder's name if one is given."""
    return overrides.get("output.root") or Output().root, overrides.get("output.name")


def elements_of(overrides: Overrides) -> list[Element]:
    if resumed := overrides.only(RESUME).words:
        raise ZooError(f"{resumed[0]} continues one run on this machine", "Remove it, or remove -m and launcher=.")
    combinations = [each.words for each in overrides.without(*OWN).combinations()]
    digits = max(3, len(str(len(combinations))))
    varied = [at for at in range(len(combinations[0])) if len({each[at] for each in combinations}) > 1]
    return [
        Element(f"{number:0{digits}}", combination, [combination[at] for at in varied])
        for number, combination in enumerate(combinations, 1)
    ]


def is_sweep(folder: Path) -> bool:
    return (folder / RECORD).is_file()


def load(folder: Path) -> Sweep:
    """Read the sweep of a folder, which may come from a third party."""
    path = folder / RECORD
    for place in (folder / RECORD, folder / JOBS, folder / LOGS, *folder.glob(f"{LOGS}/*")):
        if place.is_symlink():
            raise ZooError(f"{place} is a link, whose target would be overwritten", "Remove the link.")
    content = read_json(path, "Give the folder of a sweep.")
    problems = schema.violations(content, Sweep, given=("folder",))
    names = [] if problems else [each["name"] for each in content["elements"]]
    problems += [f"{name!r} is not a valid name" for name in names if not name.isdigit()]
    if problems or content["format"] != FORMAT:
        raise ZooError(
            f"{path} is damaged or has another version: {', '.join(problems) or content['format']}", "Sweep again."
        )
    elements = [Element(**each) for each in content["elements"]]
    return Sweep(**content | {"folder": folder.resolve(), "elements": elements})
