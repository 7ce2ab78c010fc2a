"""What every kind of run tells: machine, stack, device and its proof, probes, evidence, data, how to repeat it."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from zoo.config import config_files
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.environments import backends
from zoo.reports.html import Child, Html, folded, join, link, pairs, table, tag
from zoo.reports.units import data, seconds, short, size
from zoo.runs import evidence, untrusted
from zoo.runs.untrusted import Untrusted

KEY_VERSIONS = ("keras", "tensorflow", "torch", "jax", "jaxlib", "openvino", "plaidml", "numpy", "python")
HASHED_BYTES = 512_000_000


def badge(word: str) -> Html:
    """A word that is looked for: an outcome or a grade."""
    return tag("span", word, class_=f"badge {word if word.isalpha() else 'stand-in'}")


def grade(record: Untrusted) -> str:
    """``measured``, or ``stand-in`` where the stack stands in for another build; nothing for what did not end."""
    if record.text("exit") != "completed":
        return ""
    return "stand-in" if record.text("stack", "stand_in_for") else "measured"


def machine(record: Untrusted) -> Html:
    """The machine that did the work."""
    here = record.part("machine")
    gpus = [_gpu(gpu) for gpu in here.rows("gpus")]
    system = f"{here.text('os_version') or here.text('os')} ({here.text('os_build')})"
    return pairs([
        ("system", system if system.strip(" ()") else ""),
        ("processor", here.text("chip")), ("architecture", here.text("arch")), ("cores", here.text("cores")),
        ("memory", size(here.number("memory_bytes"))),
        ("GPU", ", ".join(gpus) or "none"),
        ("not found out", "; ".join(here.words("notes"))),
    ])  # fmt: skip


def machine_line(record: Untrusted) -> str:
    """The machine in one line, by which two are told apart."""
    here = record.part("machine")
    gpus = ", ".join(_gpu(gpu) for gpu in here.rows("gpus")) or "no GPU"
    parts = [here.text("os_version"), here.text("arch"), here.text("chip"), f"{here.text('cores')} cores",
             size(here.number("memory_bytes")), gpus]  # fmt: skip
    return ", ".join(part for part in parts if part.strip())


def device_name(record: Untrusted) -> str:
    """The device as people call it: ``Apple M1``, ``CPU:0``."""
    return record.text("device", "description") or record.text("device", "name").rpartition("device:")[2]


def _gpu(gpu: Untrusted) -> str:
    return gpu.text("name") or gpu.text("vendor") or "of unknown name"


def stack(record: Untrusted) -> Html:
    """The libraries, as they name themselves."""
    row, versions = record.part("stack"), record.items("versions")
    key = [f"{name} {value.text()}" for wanted in KEY_VERSIONS for name, value in versions if name == wanted]
    listed = table("All packages of the environment", ["package", "version"],
                   [[name, value.text()] for name, value in versions])  # fmt: skip
    differences = row.words("differences")
    return join([
        pairs([
            ("stack", row.text("name")), ("versions", ", ".join(key)), ("platform", row.text("platform")),
            ("stands in for", row.text("stand_in_for")), ("lock, sha256", _code(row.text("lock_sha256"))),
            ("an environment of the user's own", row.text("own_python")),
            ("differs from the lock", "; ".join(differences)),
        ]),
        folded(f"All {len(versions)} packages", listed) if versions else None,
    ])  # fmt: skip


def _code(text: str) -> Html | str:
    return tag("code", text) if text else ""


def device(record: Untrusted) -> Html:
    """Where the work was done, how that was found out, and whether small operations came out right."""
    row, promise = record.part("device"), record.text("promise")
    kept = f"a {promise.upper()}" + (": kept" if row.text("kind") == promise else ": not kept") if promise else ""
    if not row.text("name"):
        return tag("p", "The run did not get as far as to prove its device.")
    proof = f"the framework was asked where it had computed: {row.text('proof')}" if row.text("proof") else ""
    return join([
        pairs([
            ("device", _code(row.text("name"))), ("its name", row.text("description")), ("kind", row.text("kind")),
            ("promised", kept), ("proof", proof), ("why this backend", "; ".join(record.words("reasons"))),
        ]),
        _probes(record.rows("probes")),
    ])  # fmt: skip


def _probes(rows: list[Untrusted]) -> Html | None:
    if not rows:
        return tag("p", "No operations were compared with numpy.")
    passed = sum(row.part("ok").value is True for row in rows)
    cells: list[list[Child]] = [
        [row.text("name"), _outcome(row), data(row.number("largest_error")), data(row.number("tolerance")),
         data(row.number("seconds"), seconds(row.number("seconds")))]
        for row in rows
    ]  # fmt: skip
    return table(f"Small operations compared with numpy: {passed} of {len(rows)} right",
                 ["operation", "outcome", "largest error", "allowed", "time"], cells, (2, 3, 4))  # fmt: skip


def _outcome(row: Untrusted) -> str:
    if row.text("skipped"):
        return f"not tried: {row.text('skipped')}"
    return "right" if row.part("ok").value is True else f"WRONG {row.text('issue')}".strip()


def recorded(record: Untrusted) -> Html:
    """How this is known to work: the grade of this run, and what is recorded of its recipe; what others reported."""
    model, backend = record.text("model"), record.text("backend")
    meaning = {
        "": "The run did not come to its end: it is no evidence",
        "measured": "this run was made on this machine and device",
        "stand-in": "the stack stands in for another build: it shows that the code runs, nothing of the GPU",
    }
    rows = _rows(model, backend)
    own = [row for row in rows if row["grade"] != "reported"]
    said = [badge(grade(record)), " ", meaning[grade(record)], "."]
    return join([tag("p", said), _own_rows(own, model, backend), reported(model, rows)])  # fmt: skip


def _rows(model: str, backend: str) -> list[evidence.Row]:
    # The names may be a stranger's: only such as the zoo has are made into a path.
    if model not in config_files.options("model") or backend not in backends.names():
        return []
    try:
        return evidence.read(model, backend)
    except ZooError:  # a damaged file of the checkout; `zoo list` tells it, this page is about the run
        return []


def _own_rows(rows: list[evidence.Row], model: str, backend: str) -> Html | None:
    if not rows:
        return tag("p", "Nothing is recorded of this recipe yet.")
    cells: list[list[Child]] = [
        [badge(row["grade"]), row["stack"], row["platform"], evidence.device(row), row["data"]["name"],
         row["preset"] or "", evidence.figure(row), row["date"]]
        for row in rows
    ]  # fmt: skip
    return table(f"Recorded evidence of {model} on {backend}",
                 ["grade", "stack", "platform", "device", "data", "preset", "result", "date"], cells)  # fmt: skip


def reported(model: str, rows: list[evidence.Row]) -> Html | None:
    """Published figures about the same work, kept apart from one's own."""
    cells = [*_reported_rows(rows), *_reported_figures(model)]
    if not cells:
        return None
    words = "Reported by others, on other machines; the zoo has not repeated these"
    drawn = table(words, ["figure", "work", "machine", "stack", "date", "source"], cells)
    return tag("div", drawn, class_="apart")


def _reported_rows(rows: list[evidence.Row]) -> Iterator[list[Child]]:
    for row in rows:
        if row["grade"] == "reported":
            work = f"{row['data']['name']}, {row.get('note') or 'the recipe'}"
            yield [[badge("reported"), " ", evidence.figure(row)], work, f"{row['machine']}, {evidence.device(row)}",
                   row["stack"], row["date"], link(str(row["source"]))]  # fmt: skip


def _reported_figures(model: str) -> Iterator[list[Child]]:
    for row in evidence.reported_about(model):
        figure = f"{short(row['figure'])} {row['unit']}" if row["figure"] is not None else "no figure"
        note = f": {row['note']}" if row.get("note") else ""
        yield [[badge("reported"), " ", figure], f"{row['what']}{note}", row["machine"], row["stack"], row["date"],
               link(str(row["source"]))]  # fmt: skip


def data_set(record: Untrusted) -> Html | None:
    """What was learnt from or looked at."""
    row = record.part("data")
    if not row.text("name"):
        return None
    items = [f"{int(value):,} {words}" for key, words in _ITEMS if (value := row.number(key)) is not None]
    return pairs([
        ("name", row.text("name")), ("chosen because", row.text("reason")), ("items", ", ".join(items)),
        ("classes", ", ".join(row.words("class_names")[:60])),
        ("left out", "; ".join(": ".join(each.words()) for each in row.rows("skipped"))),
        ("source", link(row.text("source"))), ("licence", row.text("licence")),
        ("sha256 of its files", _code(row.text("sha256"))),
    ])  # fmt: skip


_ITEMS = (("train_items", "to train"), ("validation_items", "to validate"), ("test_items", "to test"), ("items", ""))


def again(record: Untrusted) -> Html:
    """How to do it again, and with what."""
    words = record.words("command")
    if words[:3] == ["python", "-m", "zoo"]:
        shown = tag("pre", tag("code", shlex.join(words)), tabindex=0)
    else:
        shown = tag("p", "The record holds no command of the zoo.")
    return join([
        shown,
        pairs([
            ("seed", record.text("config", "seed")), ("zoo", record.text("zoo_version")),
            ("commit", _code(record.text("git_commit"))), ("started", record.text("started")),
            ("finished", record.text("finished")),
        ]),
        _settings(record),
    ])  # fmt: skip


def _settings(record: Untrusted) -> Html | None:
    flat = settings(record)
    rows: list[list[Child]] = [[key, tag("code", value)] for key, value in flat.items()]
    return folded("All settings", table("Settings of the run", ["setting", "value"], rows)) if rows else None


def settings(record: Untrusted) -> dict[str, str]:
    """All settings of a run by their dotted names."""
    flat: dict[str, str] = {}
    pending = [(key, value, 0) for key, value in record.items("config")]
    while pending and len(flat) < untrusted.MOST_ROWS:
        key, value, depth = pending.pop(0)
        inside = value.items() if depth < 6 else []
        if inside:
            pending += [(f"{key}.{name}", item, depth + 1) for name, item in inside]
        elif value.value is None or value.text():
            flat[key] = "null" if value.value is None else value.text()
    return flat


def files(record: Untrusted, folder: Path) -> Html:
    """The files of the folder, held against their recorded checksums."""
    rows: list[list[Child]] = []
    left = HASHED_BYTES
    for row in record.rows("artifacts"):
        name = row.text("path")
        path = untrusted.own_file(folder, name, left) if "/" not in name and "\\" not in name else None
        state = "not looked at" if (folder / name).is_file() and path is None else "missing"
        if path is not None:
            left -= path.stat().st_size
            state = "unchanged" if _same(path, row.text("sha256")) else "CHANGED since the run"
        rows.append([name, data(row.number("bytes"), size(row.number("bytes"))), state,
                     tag("code", row.text("sha256"))])  # fmt: skip
    if not rows:
        return tag("p", "The record lists no files.")
    odd = sum(row[2] != "unchanged" for row in rows)
    state = "all unchanged" if not odd else f"{odd} not as they were"
    listed = table(f"Files of the run, {state}", ["file", "size", "state", "sha256"], rows, (1,))
    return folded(f"{len(rows)} files, {state}", listed)


def _same(path: Path, wanted: str) -> bool:
    try:
        return file_sha256(path) == wanted
    except ZooError:
        return False
