"""The steps of a certification: each is a function that does something public of the zoo and says what came out."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.certification.results import QUICK, Place
from zoo.core import paths, processes
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.environments import machine, stacks, store
from zoo.runs import event_log, known_issues, result
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import registry, validate

# What starts a training that is to be killed, in a process of its own.
ZOO = [sys.executable, "-m", "zoo"]
FIRST_EPOCHS = Path(__file__).with_name("first_epoch.json")
GOLDEN = ("mnist", "mnist_dense", "mnist_conv5", "mobilenet")
# Of the training that is killed in its third epoch; enough that even a fast device has not finished by then.
KILLED_EPOCHS = 61
# A worker whose memory grows by more than this from the third epoch to the last leaks: what frameworks still take
# for themselves by then stays below.
GROWTH_SHARE, GROWTH_BYTES = 0.05, 30_000_000


@dataclasses.dataclass(frozen=True)
class Work:
    """What a step works with.

    Attributes:
        place: backend and stack.
        mode: quick or whole.
        folder: of the run folders.
        samples: drawn data, see :mod:`zoo.certification.samples`.
        mnist: folder of the files of MNIST, None where the published ones are downloaded.
    """

    place: Place
    mode: str
    folder: Path
    samples: Path
    mnist: str | None

    @property
    def quick(self) -> bool:
        """Whether short steps are wanted."""
        return self.mode == QUICK


@dataclasses.dataclass
class Findings:
    """What came out of a step; ``problem`` is empty where all is well, ``run`` belongs to it."""

    words: list[str] = dataclasses.field(default_factory=list)
    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    problem: str = ""
    remedy: str = ""
    run: Run | None = None


Do = Callable[[Work], Findings]


def environment(work: Work) -> Findings:
    """Build the environment of the stack, or find it."""
    here = machine.probe()
    built = store.ensure(stacks.load(work.place.stack), here.platform)
    names = [
        f"{name} {built.versions[name]}" for name in ("keras", "tensorflow", "torch", "jax") if name in built.versions
    ]
    how = f"built in {built.build_s:.0f} s" if built.build_s else "was there already"
    return Findings(
        [f"Python {built.python_version}, {', '.join(names) or 'no Keras'}; {how}"], {"build_s": built.build_s}
    )


def device(work: Work) -> Findings:
    """Prove on which device matrix products run, probe operations, and time a product there."""
    if has_operations(work.place):
        run = _bench(work, "matmul", "operations=[square]", "square=[256,1024]", "count=5", "max_s=5")
    else:
        run = _bench(
            work, "networks", "networks=[mnist]", "modes=[inference]", "batch_sizes=[32]", "count=5", "max_s=5"
        )
    record = run.record
    proven = record.get("device") or {}
    rows = [row for row in rows_of(run) if row.get("size") == 1024 and row.get("device_kind") == work.place.kind]
    speeds = [row["gflop_per_s"] for row in rows if row.get("gflop_per_s") and row["device"] != "numpy"]
    probes = record.get("probes") or []
    where = proven.get("description") or proven.get("name")
    words = [f"{proven.get('proof')} ran on {where}, a {proven.get('kind')}",
             f"{sum(bool(row['ok']) for row in probes)} of {len(probes)} probes right"
             + (f" (probed on {record['probes_from']})" if record.get("probes_from") else "")]  # fmt: skip
    figures = {"probes": len(probes), **({"device_gflop_per_s": max(speeds)} if speeds else {})}
    return Findings(words, figures, _wrong_device(work.place, record), "", run)


def has_operations(place: Place) -> bool:
    """Whether single operations of a place's framework can be timed."""
    return place.framework in paths.worker_modules("devices/kernels")


def _wrong_device(place: Place, record: Json) -> str:
    problems = validate.problems_of({**record, "expected": {}})
    return "; ".join(problems)


def first_epoch(model: str) -> Do:
    """Return the step that trains one short epoch in float32 and compares its losses with the golden ones."""

    def do(work: Work) -> Findings:
        run = _train(work, *first_epoch_settings(model, work.samples))
        losses = {name: float(run.history[0][name]) for name in ("loss", "val_loss")}
        golden = json.loads(FIRST_EPOCHS.read_text(encoding="utf-8"))["losses"][model]
        off = max(abs(losses[name] - golden[name]) / golden[name] for name in losses)
        words = [
            f"loss {losses['loss']:.6f}, validation {losses['val_loss']:.6f}: off by {off:.2g} of the golden ones"
        ]
        wrong = f"the losses differ from the golden ones by {off:.2g}, allowed are {golden['tolerance']:g}"
        problem = "" if off <= golden["tolerance"] else wrong
        return Findings(words, {**losses, "off": off}, problem, "Numbers of this device are wrong: use another.", run)

    return do


def first_epoch_settings(model: str, samples: Path) -> list[str]:
    """Return the settings of the short epoch of a model: nothing in it is drawn by the framework."""
    digits = ["data=digits", "data.train_limit=512", "trainer.batch_size=32", "trainer.learning_rate=0.001"]
    settings = {
        "mnist_dense": [*digits, "model.dropout=0"],
        "mnist": [*digits, "model.dropout=0", "freeze.before=null"],
        "mobilenet": ["data=folder", f"data.root={samples / 'shapes'}", "model.input_size=64", "model.alpha=0.25",
                      "model.dropout=0", "augment.flip=false", "augment.crop=0", "trainer.batch_size=32"],
        "transformer/classifier": ["data=text_lines", f"data.root={samples / 'texts'}", "model.length=32",
                                   "model.pooled_dropout=0", "model.dropout=0", "trainer.word_dropout=0"],
        "transformer/lm": ["data=text_file", f"data.root={samples / 'sentences.txt'}", "model.layers=2",
                           "model.d_model=64", "model.d_ff=128", "model.length=32", "data.tokenizer=characters",
                           "data.test_limit=2000", "data.train_limit=40000", "trainer.steps=20"],
    }[model]  # fmt: skip
    return [f"model={model}", *settings, "trainer.epochs=1", "trainer.precision=float32", "trainer.schedule=constant",
            "trainer.warmup=0", "seed=1"]  # fmt: skip


def training(model: str, *settings: str, minutes: float) -> Do:
    """Return the step that trains a model by its recipe; one that takes longer than ``minutes`` is cut off then."""

    def do(work: Work) -> Findings:
        words = [text.format(samples=work.samples) for text in settings]
        limit = [] if model.startswith("style_transfer") else [f"trainer.max_minutes={minutes}"]
        run = _train(work, f"model={model}", *words, *limit)
        record = run.record
        shown = {name: value for name, value in run.metrics.items() if isinstance(value, int | float)}
        first = ("test_accuracy", "val_loss", "loss")
        said = [f"{name} {shown[name]:.4g}" for name in first if name in shown]
        said += [f"trained for {record['phases'].get('train_s', 0.0):.1f} s"]
        if record.get("stopped"):
            said.append(f"cut off after {minutes:g} minutes; no promise of the recipe is held against it")
        problems = validate.problems_of(record)
        figures = {name: float(value) for name, value in shown.items()} | {
            "train_s": record["phases"].get("train_s", 0.0)
        }
        return Findings(said, figures, "; ".join(problems), "", run)

    return do


def mnist(work: Work) -> Findings:
    """Train the small convolutional network by its recipe on MNIST; on scikit-learn's digits where it is not here."""
    where = [] if work.mnist is None else [f"data.root={work.mnist}"]
    try:
        return training("mnist", "data=mnist", *where, minutes=10)(work)
    except ZooError as error:
        if error.exit_code == INTERRUPTED or "data.root=" not in error.remedy:
            raise
        findings = training("mnist", "data=digits", minutes=5)(work)
        findings.words.insert(0, f"MNIST could not be had, so scikit-learn's digits: {error.message.splitlines()[0]}")
        return findings


def golden(work: Work) -> Findings:
    """Let networks with drawn weights answer, and compare with the golden answers."""
    sizes = "[1]" if work.quick else "[1,32]"
    names = GOLDEN[:1] + GOLDEN[-1:] if work.quick else GOLDEN
    run = _networks(work, names, sizes, "inference")
    rows = rows_of(run)
    compared = [row for row in rows if row.get("correct") is not None]
    wrong = [f"{row['network']} is off by {row['largest_error']:.2g}" for row in compared if not row["correct"]]
    wrong += [f"{row['network']}: {row['error']}" for row in rows if row.get("error")]
    missing = "" if compared else "there are no golden answers here: an installed zoo has none, a checkout does"
    largest = max((float(row["largest_error"]) for row in compared), default=0.0)
    words = [f"{len(compared)} answers compared, largest error {largest:.2g}", *_speeds(rows)]
    return Findings(words, {"largest_error": largest, **_rates(rows)}, "; ".join(wrong) or missing, "", run)


def networks(work: Work) -> Findings:
    """Time training steps of networks."""
    run = _networks(work, GOLDEN[:1] if work.quick else GOLDEN, "[32]", "training")
    rows = rows_of(run)
    wrong = [f"{row['network']}: {row['error']}" for row in rows if row.get("error")]
    return Findings(_speeds(rows), _rates(rows), "; ".join(wrong), "", run)


def matmul(work: Work) -> Findings:
    """Time matrix products and convolutions, small to large, on processor and device."""
    small = ("square=[64,256,1024]", "row_column=[10000]", "convolution=[32]", "count=5", "max_s=2")
    run = _bench(work, "matmul", *(small if work.quick else ("max_s=3",)))
    rows = rows_of(run)
    best: dict[str, float] = {}
    for row in rows:
        name = f"{row['operation']}_{row['size']}_{row['device_kind']}_gflop_per_s"
        if row.get("gflop_per_s") and row["device"] != "numpy":
            best[name] = max(best.get(name, 0.0), float(row["gflop_per_s"]))
    wrong = [f"{row['operation']} {row['size']} on {row['device']} is off by {row['largest_error']:.2g}"
             for row in rows if row.get("correct") is False and row["device"] != "numpy"]  # fmt: skip
    return Findings(list(run.record.get("told", []))[:6], best, "; ".join(wrong), "", run)


def encoder(work: Work) -> Findings:
    """Time the transformer's encoder."""
    short = ("length=128", "passes=2", "repeats=2", "compiled=false", "modes=[evaluation]", "precisions=[float32]")
    run = _run("bench", work, "model=transformer", *(short if work.quick else ("repeats=1", "compiled=false")))
    rows = [row for row in rows_of(run) if row.get("implementation") == "zoo"]
    figures = {f"{row['mode']}_{row['precision']}_s": float(row["median_s"]) for row in rows if row.get("median_s")}
    wrong = [str(row["error"]) for row in rows if row.get("error")]
    return Findings([f"{name}: {value:.3g}" for name, value in figures.items()], figures, "; ".join(wrong), "", run)


def memory(work: Work) -> Findings:
    """Train for many epochs and see whether the worker's memory grows."""
    run = _train(
        work, "model=mnist_dense", "data=digits", f"trainer.epochs={20 if work.quick else 80}", "backend.probes=false"
    )
    peaks = [row["peak_memory_bytes"] for row in run.history if row.get("peak_memory_bytes")]
    if len(peaks) < 4:
        return Findings(problem="the system does not tell how much memory a process takes", run=run)
    grown = peaks[-1] - peaks[2]
    words = [
        f"{peaks[2] / 1e6:.0f} MB after the third epoch, {peaks[-1] / 1e6:.0f} MB after the last of {len(peaks)}"
    ]
    leaks = grown > GROWTH_BYTES and grown > GROWTH_SHARE * peaks[2]
    problem = f"the worker's memory grew by {grown / 1e6:.0f} MB in {len(peaks) - 3} epochs" if leaks else ""
    return Findings(words, {"peak_bytes": peaks[-1], "grown_bytes": grown}, problem, "Train in several runs.", run)


def resume(work: Work) -> Findings:
    """Kill a training in the middle, and go on with it to its end."""
    folder = work.folder / f"{work.place.backend}-{work.place.stack}-killed-{time.time_ns() // 10**6}"
    settings = [*work.place.overrides, "model=mnist_dense", "data=digits", f"trainer.epochs={KILLED_EPOCHS}",
                "backend.probes=false", f"output.root={folder.parent}", f"output.name={folder.name}"]  # fmt: skip
    after = _killed_in_epoch(folder, [*ZOO, "train", *settings])
    run = _finished(registry.train([f"resume={folder}"]))
    epochs = [int(row["epoch"]) for row in run.history]
    whole = epochs == list(range(1, KILLED_EPOCHS + 1))
    words = [f"killed after epoch {after} of {KILLED_EPOCHS}, went on to {epochs[-1] if epochs else 0}"]
    return Findings(words, {"killed_after": after}, "" if whole else f"epochs are missing: {epochs}", "", run)


def _killed_in_epoch(folder: Path, command: list[str]) -> int:
    """Start a training, kill it without warning once its third epoch has ended, and return the epochs it made."""
    log = folder / "events.jsonl"
    with processes.running(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while process.poll() is None and _epochs(log) < 3:
            time.sleep(0.05)
        if process.poll() is not None:
            said = process.stderr.read()[-600:] if process.stderr else ""
            raise ZooError(f"The training that was to be killed ended by itself: {said.strip()}")
        os.killpg(process.pid, signal.SIGKILL)  # nothing of the training is told that it ends
        process.wait()
    _wait_for_worker(log)
    return _epochs(log)


def _wait_for_worker(log: Path) -> None:
    """Wait until the worker, which sees that its host is gone, has written its last."""
    size = -1
    while log.stat().st_size != size:
        size = log.stat().st_size
        time.sleep(1.0)


def _epochs(log: Path) -> int:
    return len(event_log.epochs(log)) if log.is_file() else 0


# -- running


def _train(work: Work, *settings: str) -> Run:
    return _run("train", work, *settings)


def _bench(work: Work, name: str, *settings: str) -> Run:
    return _run("bench", work, f"bench={name}", *settings)


def _networks(work: Work, names: tuple[str, ...], sizes: str, mode: str) -> Run:
    count = "count=5" if work.quick else "count=20"
    wanted = f"networks=[{','.join(names)}]"
    return _bench(work, "networks", wanted, f"modes=[{mode}]", f"batch_sizes={sizes}", count, "max_s=5")


def _run(verb: str, work: Work, *settings: str) -> Run:
    overrides = [*settings, *work.place.overrides, f"output.root={work.folder}"]
    return _finished(registry.dispatch(verb, overrides))


def _finished(run: Run) -> Run:
    """Return a run that ended by itself.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    if run.exit == "interrupted":
        raise KeyboardInterrupt
    return result.open_run(run.folder)


def rows_of(run: Run) -> list[dict[str, Any]]:
    """Return the rows of a benchmark."""
    path = run.folder / "results.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return rows


def _speeds(rows: list[dict[str, Any]]) -> list[str]:
    return [f"{row['network']}, {row['mode']}, batch {row['batch_size']}: {row['median_ms']:.3g} ms"
            for row in rows if row.get("median_ms")]  # fmt: skip


def _rates(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {f"{row['network']}_{row['mode']}_{row['batch_size']}_items_per_s": float(row["items_per_s"])
            for row in rows if row.get("items_per_s")}  # fmt: skip


def explained(error: ZooError, backend: str) -> list[str]:
    """Return the ids of the known issues in an error's text, or that its text names."""
    text = str(error)
    known = [finding.id for finding in known_issues.explain(text, backend) if not finding.harmless]
    named = [issue.id for issue in known_issues.issues() if f"({issue.id})" in text or f"{issue.id}:" in text]
    return list(dict.fromkeys([*named, *known]))
