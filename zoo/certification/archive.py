"""Write the archive of a certification, ``evidence-HARDWARE-DATE.zip``, without private data.

==========================  ===============================================================================
member                      content
==========================  ===============================================================================
``certify.json``            the certification: machine, places, every step with its figures or its failure
``runs/NAME.json``          public fields of the record of each run, with its epochs and rows of benchmarks
``logs/NAME.txt``           the last lines of the worker's log of each failed run
``locks.json``              sha256 of the lock of each stack
``page.html``               the readable page
``SHA256SUMS``              sha256 of every other member
==========================  ===============================================================================
"""

import contextlib
import dataclasses
import hashlib
import json
import zipfile
from pathlib import Path

from zoo.certification import page, results
from zoo.certification.privacy import Cleaner
from zoo.certification.results import FAILED, Certification
from zoo.core.errors import ZooError
from zoo.core.files import atomic_file, file_sha256
from zoo.environments import stacks
from zoo.execution import diagnosis
from zoo.runs import event_log, records
from zoo.runs.records import Json
from zoo.tasks.benchmarks import results as timings

SUMS, CERTIFICATION, LOCKS, PAGE = "SHA256SUMS", "certify.json", "locks.json", "page.html"
EPOCH_FIELDS = (
    "epoch", "loss", "accuracy", "val_loss", "val_accuracy", "epoch_s", "items_per_s", "peak_memory_bytes",
)  # fmt: skip
ROW_FIELDS = (
    "operation", "size", "network", "mode", "batch_size", "implementation", "precision", "way", "device",
    "device_kind", "median_ms", "q1_ms", "q3_ms", "median_s", "count", "items_per_s", "gflop_per_s", "share_of_peak",
    "largest_error", "correct", "error", "grade",
)  # fmt: skip
# A fixed time of all members, so that equal content gives identical files.
TIME = (1980, 1, 1, 0, 0, 0)


def name_of(state: Certification) -> str:
    return f"evidence-{state.hardware or 'machine'}-{state.finished or state.date}.zip"


def members(folder: Path, state: Certification, cleaner: Cleaner) -> dict[str, bytes]:
    """Return the content of every member; ``cleaner`` removes everything that identifies this machine."""
    cleaned = cleaner.value(dataclasses.asdict(state))
    content = {CERTIFICATION: _json(cleaned), PAGE: page.page(results.of(cleaned, CERTIFICATION)).encode()}
    for step in state.steps:
        run = folder / "runs" / step.record
        if not step.record or not (run / records.RECORD).is_file():
            continue
        content[f"runs/{step.record}.json"] = _json(run_record(run, cleaner))
        if step.state == FAILED:
            content[f"logs/{step.record}.txt"] = cleaner.text(diagnosis.log_tail(run, 60)).encode()
    locks = {}
    for place in state.places:
        with contextlib.suppress(ZooError):  # the environment step reports a missing lock
            locks[place.stack] = file_sha256(stacks.lock_file(stacks.load(place.stack), state.platform))
    content[LOCKS] = _json(locks)
    return content


def run_record(run: Path, cleaner: Cleaner) -> Json:
    kept = cleaner.record(records.read(run))
    epochs = [row.to_json() for row in event_log.epochs(run / "events.jsonl")]
    kept["epochs"] = [{name: value for name, value in row.items() if name in EPOCH_FIELDS} for row in epochs]
    rows = [{name: row[name] for name in ROW_FIELDS if row.get(name) is not None} for row in timings.read(run)]
    kept["rows"] = cleaner.value(rows)
    return kept


def write(path: Path, content: dict[str, bytes]) -> Path:
    """Write an archive atomically; equal content gives identical files."""
    sums = "".join(f"{hashlib.sha256(content[name]).hexdigest()}  {name}\n" for name in sorted(content))
    with atomic_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [*sorted(content.items()), (SUMS, sums.encode())]:
            archive.writestr(zipfile.ZipInfo(name, TIME), data, zipfile.ZIP_DEFLATED)
    return path


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
