"""The origin of a result: machine, software, device, probes, evidence, data, command line and files."""

import shlex
from pathlib import Path

from zoo.config import config_files
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.environments import backends
from zoo.protocol.events import short_device
from zoo.reports.html import Child, Html, folded, join, link, pairs, table, tag
from zoo.reports.units import data, seconds, short, size
from zoo.runs import evidence, untrusted
from zoo.runs.untrusted import Untrusted

KEY_VERSIONS = ("keras", "tensorflow", "torch", "jax", "jaxlib", "openvino", "plaidml", "numpy", "python")
HASHED_BYTES = 512_000_000


def badge(word: str) -> Html:
    return tag("span", word, class_=f"badge {word if word.isalpha() else 'stand-in'}")


def grade(record: Untrusted) -> str:
    """Return ``measured``, ``stand-in`` for a stack that replaces another build, or nothing for an incomplete run."""
    if record.text("exit") != "completed":
        return ""
    return "stand-in" if record.text("stack", "stand_in_for") else "measured"


def machine(record: Untrusted) -> Html:
    here = record.part("machine")
    system = f"{here.text('os_version') or here.text('os')} ({here.text('os_build')})"
    return pairs([
        ("System", system if system.strip(" ()") else ""),
        ("Processor", here.text("chip")), ("Architecture", here.text("arch")), ("Cores", here.text("cores")),
        ("Memory", size(here.number("memory_bytes"))),
        ("GPU", _gpus(here) or "none"),
        ("Undetermined", "; ".join(here.words("notes"))),
    ])  # fmt: skip


def machine_line(record: Untrusted) -> str:
    here = record.part("machine")
    parts = [here.text("os_version"), here.text("arch"), here.text("chip"), f"{here.text('cores')} cores",
             size(here.number("memory_bytes")), _gpus(here) or "no GPU"]  # fmt: skip
    return ", ".join(part for part in parts if part.strip())


def device_name(record: Untrusted) -> str:
    return record.text("device", "description") or short_device(record.text("device", "name"))


def _gpus(here: Untrusted) -> str:
    return ", ".join(gpu.text("name") or gpu.text("vendor") or "unknown GPU" for gpu in here.rows("gpus"))


def stack(record: Untrusted) -> Html:
    row, versions = record.part("stack"), record.items("versions")
    key = [f"{name} {value.text()}" for wanted in KEY_VERSIONS for name, value in versions if name == wanted]
    listed = table("All packages of the environment", ["Package", "Version"],
                   [[name, value.text()] for name, value in versions])  # fmt: skip
    return join([
        pairs([
            ("Stack", row.text("name")), ("Main packages", ", ".join(key)), ("Platform", row.text("platform")),
            ("Stand-in for", row.text("stand_in_for")), ("SHA-256 of the lock", _code(row.text("lock_sha256"))),
            ("User's own Python", row.text("own_python")),
            ("Differences from the lock", "; ".join(row.words("differences"))),
        ]),
        folded(f"All {len(versions)} packages", listed) if versions else None,
    ])  # fmt: skip


def _code(text: str) -> Html | str:
    return tag("code", text) if text else ""


def device(record: Untrusted) -> Html:
    row, required = record.part("device"), record.text("device_kind")
    confirmed = "confirmed" if row.text("device_kind") == required else "not confirmed"
    if not row.text("name"):
        return tag("p", "The run ended before its device was verified.")
    proof = f"the framework reported the device of a test operation: {row.text('proof')}" if row.text("proof") else ""
    return join([
        pairs([
            ("Device", _code(row.text("name"))), ("Description", row.text("description")),
            ("Kind", row.text("device_kind")),
            ("Required", f"{required.upper()}, {confirmed}" if required else ""), ("Verification", proof),
            ("Choice of backend", "; ".join(record.words("reasons"))),
        ]),
        _probes(record.rows("probes")),
    ])  # fmt: skip


def _probes(rows: list[Untrusted]) -> Html | None:
    if not rows:
        return tag("p", "No numeric probes were run.")
    passed = sum(row.part("ok").value is True for row in rows)
    cells = [
        [row.text("name"), _outcome(row), data(row.number("largest_error")), data(row.number("tolerance")),
         data(row.number("seconds"), seconds(row.number("seconds")))]
        for row in rows
    ]  # fmt: skip
    return table(f"Numeric probes, compared with NumPy: {passed} of {len(rows)} passed",
                 ["Operation", "Outcome", "Largest error", "Tolerance", "Time"], cells, (2, 3, 4))  # fmt: skip


def _outcome(row: Untrusted) -> str:
    if row.text("skipped"):
        return f"skipped: {row.text('skipped')}"
    return "passed" if row.part("ok").value is True else f"FAILED {row.text('issue')}".strip()


def recorded(record: Untrusted) -> Html:
    """Show the grade of this run, the recorded evidence of its recipe, and published figures."""
    model, backend = record.text("model"), record.text("backend")
    meaning = {
        "": "The run did not complete, so it does not count as evidence",
        "measured": "This run measured the machine and device named above",
        "stand-in": "The stack is a stand-in for another build: the code runs, which says nothing about the GPU",
    }
    rows = _rows(model, backend)
    own = [row for row in rows if row["grade"] != "reported"]
    said = [badge(grade(record)), " ", meaning[grade(record)], "."]
    return join([tag("p", said), _own_rows(own, model, backend), reported(model, rows)])  # fmt: skip


def _rows(model: str, backend: str) -> list[evidence.Row]:
    # The names may come from a third party, so only known names are used in a path.
    if model not in config_files.options("model") or backend not in backends.names():
        return []
    try:
        return evidence.read(model, backend)
    except ZooError:  # `zoo list` reports damaged evidence; this page is about the run
        return []


def _own_rows(rows: list[evidence.Row], model: str, backend: str) -> Html | None:
    if not rows:
        return tag("p", "No evidence is recorded for this recipe yet.")
    cells: list[list[Child]] = [
        [badge(row["grade"]), row["stack"], row["platform"], evidence.place(row), row["data"]["name"],
         row["preset"] or "", evidence.figure(row), row["date"]]
        for row in rows
    ]  # fmt: skip
    return table(f"Recorded evidence of {model} on {backend}",
                 ["Grade", "Stack", "Platform", "Device", "Data", "Preset", "Result", "Date"], cells)  # fmt: skip


def reported(model: str, rows: list[evidence.Row]) -> Html | None:
    """Show published figures about the same work."""
    cells: list[list[Child]] = []
    for row in rows:
        if row["grade"] == "reported":
            work = f"{row['data']['name']}, {row.get('note') or 'the recipe'}"
            where = f"{row['machine']}, {evidence.device(row)}"
            cells.append([[badge("reported"), " ", evidence.figure(row)], work, where, row["stack"], row["date"],
                          link(str(row["source"]))])  # fmt: skip
    for row in evidence.published_about(model):
        figure = f"{short(row['figure'])} {row['unit']}" if row["figure"] is not None else "no figure"
        note = f": {row['note']}" if row.get("note") else ""
        cells.append([[badge("reported"), " ", figure], f"{row['what']}{note}", row["machine"], row["stack"],
                      row["date"], link(str(row["source"]))])  # fmt: skip
    if not cells:
        return None
    words = "Published figures from other machines, not measured with zoo"
    drawn = table(words, ["Figure", "Work", "Machine", "Stack", "Date", "Source"], cells)
    return tag("div", drawn, class_="apart")


def data_set(record: Untrusted) -> Html | None:
    row = record.part("data")
    if not row.text("name"):
        return None
    items = [f"{int(value):,} {words}" for key, words in _ITEMS if (value := row.number(key)) is not None]
    return pairs([
        ("Name", row.text("name")), ("Reason for the choice", row.text("reason")), ("Items", ", ".join(items)),
        ("Classes", ", ".join(row.words("class_names")[:60])),
        ("Skipped", "; ".join(": ".join(each.words()) for each in row.rows("skipped"))),
        ("How it was read", "; ".join(row.words("read"))),
        ("Skipped items", ", ".join(f"{int(value):,} {words}" for key, words in _LEFT if (value := row.number(key)))),
        ("Test items also used for training or validation", f"{int(row.number('duplicates') or 0):,}"
            if row.number("duplicates") is not None else ""),
        ("Source", link(row.text("source"))), ("License", row.text("licence")),
        ("SHA-256 of the files", _code(row.text("sha256"))),
    ])  # fmt: skip


_ITEMS = (
    ("train_items", "for training"), ("validation_items", "for validation"), ("test_items", "for testing"),
    ("items", ""),
)  # fmt: skip
_LEFT = (("skipped_items", "in skipped.csv"), ("blank", "blank"))


def again(record: Untrusted) -> Html:
    """Show the command line, the version of zoo and all settings."""
    words = record.words("command")
    rows: list[list[Child]] = [[key, tag("code", value)] for key, value in settings(record).items()]
    if words[:3] == ["python", "-m", "zoo"]:
        shown = tag("pre", tag("code", shlex.join(words)), tabindex=0)
    else:
        shown = tag("p", "The record contains no zoo command.")
    return join([
        shown,
        pairs([
            ("Seed", record.text("config", "seed")), ("zoo version", record.text("zoo_version")),
            ("Commit", _code(record.text("git_commit"))), ("Started", record.text("started")),
            ("Finished", record.text("finished")),
        ]),
        folded("All settings", table("Settings of the run", ["Setting", "Value"], rows)) if rows else None,
    ])  # fmt: skip


def settings(record: Untrusted) -> dict[str, str]:
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
    """List the recorded files, and verify their checksums, up to :data:`HASHED_BYTES` in total."""
    rows: list[list[Child]] = []
    left = HASHED_BYTES
    for row in record.rows("artifacts"):
        name = row.text("path")
        path = untrusted.own_file(folder, name, left) if "/" not in name and "\\" not in name else None
        state = "not checked" if (folder / name).is_file() and path is None else "missing"
        if path is not None:
            left -= path.stat().st_size
            state = "unchanged" if _same(path, row.text("sha256")) else "CHANGED since the run"
        rows.append([name, data(row.number("bytes"), size(row.number("bytes"))), state,
                     tag("code", row.text("sha256"))])  # fmt: skip
    if not rows:
        return tag("p", "The record lists no files.")
    odd = sum(row[2] != "unchanged" for row in rows)
    state = "all unchanged" if not odd else f"{odd} not unchanged"
    listed = table(f"Files of the run, {state}", ["File", "Size", "State", "SHA-256"], rows, (1,))
    return folded(f"{len(rows)} files, {state}", listed)


def _same(path: Path, wanted: str) -> bool:
    try:
        return file_sha256(path) == wanted
    except ZooError:
        return False
