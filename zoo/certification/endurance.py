"""The steps that kill and resume a training run, and that check whether its memory grows."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from zoo.certification.results import Findings
from zoo.certification.work import Work, finished, run_of
from zoo.config.overrides import Overrides
from zoo.core import processes
from zoo.core.errors import ZooError
from zoo.runs import event_log
from zoo.tasks import registry

# Starts the training run to kill as a separate process.
ZOO = [sys.executable, "-m", "zoo"]
# Epochs of the run that is killed after its third epoch: enough that a fast device has not finished by then.
KILLED_EPOCHS = 61
# A worker leaks if its memory grows by more than this from the third to the last epoch; late allocations of
# frameworks are smaller.
GROWTH_SHARE, GROWTH_BYTES = 0.05, 30_000_000


def memory(work: Work) -> Findings:
    """Train for many epochs and check whether the worker's memory grows."""
    epochs = 20 if work.quick else 80
    settings = ("model=mnist_dense", "data=digits", f"trainer.epochs={epochs}", "backend.probes=false")
    run = run_of("train", work, *settings)
    peaks = [row["peak_memory_bytes"] for row in run.history if row.get("peak_memory_bytes")]
    if len(peaks) < 4:
        return Findings(problem="the system does not report the memory of a process")
    grown = peaks[-1] - peaks[2]
    third, last = (f"{peaks[place] / 1e6:.0f} MB" for place in (2, -1))
    words = [f"{third} after the third epoch, {last} after the last of {len(peaks)}"]
    leaks = grown > GROWTH_BYTES and grown > GROWTH_SHARE * peaks[2]
    problem = f"the worker's memory grew by {grown / 1e6:.0f} MB in {len(peaks) - 3} epochs" if leaks else ""
    return Findings(words, {"peak_bytes": peaks[-1], "grown_bytes": grown}, problem, "Train in several runs.")


def resume(work: Work) -> Findings:
    folder = work.folder / f"{work.place.backend}-{work.place.stack}-killed-{time.time_ns() // 10**6}"
    settings = [*work.place.words, "model=mnist_dense", "data=digits", f"trainer.epochs={KILLED_EPOCHS}",
                "backend.probes=false", f"output.root={folder.parent}", f"output.name={folder.name}"]  # fmt: skip
    after = _killed_in_epoch(folder, [*ZOO, "train", *settings])
    run = finished(registry.dispatch("train", Overrides.of({"resume": folder})))
    epochs = [int(row["epoch"]) for row in run.history]
    whole = epochs == list(range(1, KILLED_EPOCHS + 1))
    words = [f"killed after epoch {after} of {KILLED_EPOCHS}, resumed up to {epochs[-1] if epochs else 0}"]
    return Findings(words, {"killed_after": after}, "" if whole else f"epochs are missing: {epochs}")


def _killed_in_epoch(folder: Path, command: list[str]) -> int:
    log = folder / "events.jsonl"
    with processes.running(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while process.poll() is None and len(event_log.epochs(log)) < 3:
            time.sleep(0.05)
        if process.poll() is not None:
            said = process.stderr.read()[-600:] if process.stderr else ""
            raise ZooError(f"The training ended before it could be killed: {said.strip()}")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    size = -1
    while log.stat().st_size != size:
        size = log.stat().st_size
        time.sleep(1.0)
    return len(event_log.epochs(log))
