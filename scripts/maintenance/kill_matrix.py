"""Kill trainings at random moments, resume them, and compare the result with an uninterrupted run.

    python scripts/maintenance/kill_matrix.py --stack tf-2.21 --kills 50 --seed 1 [--output FILE]

Each run is killed a few times by SIGKILL, the worker or the host or both, while it starts or while it trains; then it
finishes. Reported of each: whether it finished, whether it always resumed from its newest whole checkpoint, and
whether weights and history equal those of the uninterrupted run. Only kills of a running process count; a run that
finishes first is replaced by another.
"""

import argparse
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

KILLS_A_RUN = 5
# After so many consecutive runs without a kill, kills come too late to ever succeed.
MOST_MISSED = 10
EPOCHS = 20
SETTINGS = ["model=mnist_dense", "data=digits", f"trainer.epochs={EPOCHS}", "trainer.schedule=cosine",
            "trainer.checkpoint_minutes=0.01", "backend.probes=false"]  # fmt: skip
TIMEOUT_S = 300.0


def main() -> int:
    """Run the matrix; return 0 if every run ended as it should."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="start no further run after this time")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        result = matrix(Path(root), options.stack, options.backend, options.kills, options.seed, options.minutes)
    text = json.dumps(result, indent=1)
    if options.output:
        options.output.write_text(text)
    print(text)
    return 0 if result["good"] == result["runs"] else 1


def matrix(root: Path, stack: str, backend: str, kills: int, seed: int, minutes: float = 1e6) -> dict[str, Any]:
    """Kill so many times and return the results."""
    chosen, draw = [*SETTINGS, f"backend={backend}", f"stack={stack}", f"output.root={root}"], random.Random(seed)  # noqa: S311
    began = time.monotonic()
    _run(["train", *chosen, "output.name=whole"])
    worked = _training_s(root / "whole")
    runs: list[dict[str, Any]] = []
    while (left := kills - _kills(runs)) > 0 and time.monotonic() - began < 60 * minutes:
        if len(runs) >= MOST_MISSED and not _kills(runs[-MOST_MISSED:]):
            raise SystemExit(f"{MOST_MISSED} runs of {worked:.1f} s finished before they could be killed")
        name = f"run{len(runs)}"
        command = [*chosen, f"output.name={name}"]
        runs.append(_one(root / name, command, min(KILLS_A_RUN, left), draw, worked, root / "whole"))
        shutil.rmtree(root / name)
        print(f"{stack}: {_kills(runs)}/{kills} kills, {json.dumps(runs[-1])}", file=sys.stderr, flush=True)
    good = [run for run in runs if run["finished"] and run["from_newest"] and run["equal"]]
    return {
        "stack": stack, "seed": seed, "kills": _kills(runs), "runs": len(runs),
        "finished": sum(run["finished"] for run in runs), "good": len(good),
        "largest_difference": max((run["difference"] for run in runs), default=0.0),
        "victims": {who: sum(run["victims"].count(who) for run in runs) for who in ("worker", "host", "both")},
        "while_starting": sum(run["while_starting"] for run in runs), "training_s": round(worked, 2),
        "took_s": round(time.monotonic() - began, 1), "bad": [run for run in runs if run not in good],
    }  # fmt: skip


def _kills(runs: list[dict[str, Any]]) -> int:
    return sum(run["kills"] for run in runs)


def _one(
    folder: Path, command: list[str], kills: int, draw: random.Random, worked: float, whole: Path
) -> dict[str, Any]:
    """Kill one run at most so many times, let it finish, and compare it."""
    result: dict[str, Any] = {"kills": 0, "victims": [], "while_starting": 0, "from_newest": True}
    whole_steps, newest = _newest(whole) or 1, None
    arguments = ["train", *command]
    for _ in range(kills):
        starting, delay = draw.random() < 0.2, draw.random()
        victim = draw.choice(["worker", "host", "both"])
        left_s = worked * max(0.0, 1 - (newest or 0) / whole_steps)  # finished steps are not repeated
        before = len(_resumed(folder))
        killed = _kill(folder, arguments, starting, delay, left_s, victim)
        result["from_newest"] &= _resumed_from(folder, newest, before)
        if not killed:
            break  # the run has finished
        result["kills"] += 1
        result["victims"].append(victim)
        result["while_starting"] += starting
        newest = _newest(folder)
        arguments = ["train", f"resume={folder}"] if (folder / "run.json").is_file() else ["train", *command]
        if arguments[-1] == command[-1]:
            shutil.rmtree(folder, ignore_errors=True)
    before = len(_resumed(folder))
    finished = _state(folder) == "completed" or _run(arguments) == 0
    result["from_newest"] &= _resumed_from(folder, newest, before)
    difference = _difference(folder, whole) if finished else float("inf")
    return {**result, "finished": finished, "difference": difference, "equal": difference == 0.0}


def _resumed_from(folder: Path, newest: int | None, before: int) -> bool:
    """Return whether a run resumed from its newest checkpoint; an orphaned worker may have written a newer one."""
    since = _resumed(folder)[before:]
    return newest is None or all(step >= newest for step in since)


def _kill(folder: Path, arguments: list[str], starting: bool, delay: float, worked: float, victim: str) -> bool:
    """Start a command and kill its worker, its host or both; return False if it finished first."""
    before = _size(folder / "events.jsonl")
    host = subprocess.Popen(_command(arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + TIMEOUT_S
    while host.poll() is None and time.monotonic() < deadline:
        begun = _size(folder / "events.jsonl") > before
        if begun or (starting and _workers(host.pid)):
            break
        time.sleep(0.01)
    time.sleep(delay * (2.0 if starting else worked))
    if host.poll() is not None:
        return False
    for worker in _workers(host.pid) if victim != "host" else []:
        worker.kill()
    if victim != "worker":
        host.send_signal(signal.SIGKILL)
    host.wait()
    _wait_for_orphan(folder)
    return _state(folder) != "completed"


def _workers(pid: int) -> list[psutil.Process]:
    try:
        return [child for child in psutil.Process(pid).children() if "zoo/worker" in " ".join(child.cmdline())]
    except psutil.Error:
        return []


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "zoo", *arguments]


def _run(arguments: list[str]) -> int:
    done = subprocess.run(_command(arguments), capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
    return done.returncode


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _state(folder: Path) -> str:
    try:
        return str(json.loads((folder / "run.json").read_text())["exit"])
    except (OSError, ValueError, KeyError):
        return "none"


def _wait_for_orphan(folder: Path) -> None:
    """Wait until a worker whose host was killed has written its checkpoint."""
    while (folder / ".lock").is_file() and _is_locked(folder):
        time.sleep(0.05)


def _newest(folder: Path) -> int | None:
    """Return the step of the newest checkpoint."""
    return max((int(path.stem) for path in (folder / "checkpoints").glob("*.json")), default=None)


def _is_locked(folder: Path) -> bool:
    from zoo.runs import lock

    return lock.is_held(folder)


def _resumed(folder: Path) -> list[int]:
    """Return the steps at which a run resumed, in order."""
    from zoo.protocol.events import ResumeEvent
    from zoo.runs import event_log

    return [event.done for event in event_log.read(folder / "events.jsonl") if isinstance(event, ResumeEvent)]


def _training_s(folder: Path) -> float:
    phases = json.loads((folder / "run.json").read_text())["phases"]
    return float(phases["train_s"] + phases["evaluate_s"] + phases["checkpoint_s"])


def _difference(folder: Path, whole: Path) -> float:
    """Return the largest difference of a weight; infinite if the histories differ."""
    mine, theirs = (np.load(path / "weights.npz") for path in (folder, whole))
    if _history(folder) != _history(whole):
        return float("inf")
    return max(float(np.abs(mine[name] - theirs[name]).max()) for name in theirs.files)


def _history(folder: Path) -> list[tuple[str, ...]]:
    with (folder / "history.csv").open(newline="") as source:
        return [(row["epoch"], row["loss"], row["val_loss"]) for row in csv.DictReader(source)]


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
