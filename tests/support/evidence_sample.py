"""Evidence of a Mac that nobody has: written as `certify` writes it, from one of the captured machines."""

import copy
import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

from tests import machines
from zoo.certification import archive, page, results, steps
from zoo.certification.results import FAILED, NOT_RUN, PASSED, Certification, Place, StepResult
from zoo.config.overrides import Overrides
from zoo.core.files import file_sha256
from zoo.environments import machine, stacks
from zoo.tasks import registry

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FIRST_EPOCHS = ("mnist_dense", "mobilenet", "transformer/lm")
PLACE = Place("metal", "tf-2.19", "gpu", "tensorflow", trains=True)
HERE = machines.load("m1")
TODAY = datetime.datetime.now(datetime.UTC).date().isoformat()
LOCK = stacks.lock_file(stacks.load(PLACE.stack), HERE.platform)


def record(name: str, **more: Any) -> dict[str, Any]:
    """What is taken of the record of a run."""
    versions = {name: stacks.pins(LOCK)[name] for name in ("tensorflow", "keras", "numpy")}
    common = {
        "name": name, "format": 1, "zoo_version": "0.1.0", "exit": "completed", "backend": PLACE.backend,
        "device_kind": PLACE.device_kind, "git_commit": COMMIT, "seconds": 8.0, "finished": TODAY,
        "phases": {"train_s": 2.5},
        "stack": {"name": PLACE.stack, "framework": "tensorflow", "keras": "keras", "platform": HERE.platform,
                  "stand_in_for": None, "lock_sha256": file_sha256(LOCK), "python": "3.12.1"},
        "machine": {key: value for key, value in dataclasses.asdict(HERE).items() if key != "notes"},
        "device": {"name": "/device:GPU:0", "device_kind": "gpu", "proof": "matmul", "description": ""},
        "versions": versions, "metrics": {}, "epochs": [], "rows": [],
    }  # fmt: skip
    del common["name"]
    return {**common, **more}


def training() -> dict[str, Any]:
    """The record of a training by the recipe."""
    words = ["model=mnist_dense", "data=digits", "trainer.max_minutes=1", "backend=metal", "stack=tf-2.19"]
    settings = dataclasses.asdict(registry.compose_settings("train", Overrides.parse(words)))
    epochs = [{"epoch": number, "loss": 0.5 / number, "val_loss": 0.4 / number, "epoch_s": 0.2} for number in (1, 2)]
    data = {"name": "digits", "sha256": "8" * 64, "train_items": 1294, "validation_items": 144, "test_items": 359}
    metrics = {"test_accuracy": 349 / 359, "test_loss": 0.1}
    command = ["python", "-m", "zoo", "train", *words]
    return record("train", verb="train", model="mnist_dense", config=settings, command=command, data=data,
                  metrics=metrics, epochs=epochs)  # fmt: skip


def first_epoch(model: str) -> dict[str, Any]:
    """The record of a first epoch whose losses are the golden ones."""
    golden = json.loads(steps.FIRST_EPOCHS.read_text(encoding="utf-8"))["losses"][model]
    losses = {name: golden[name] for name in ("loss", "val_loss")}
    words = [f"model={model}", "backend=metal", "stack=tf-2.19"]
    settings = dataclasses.asdict(registry.compose_settings("train", Overrides.parse(words)))
    return training() | {"model": model, "config": settings, "epochs": [{"epoch": 1, "epoch_s": 0.5, **losses}]}


def product(median_ms: float = 2.0) -> dict[str, Any]:
    """The record of a product of matrices."""
    row = {"operation": "square", "size": 1024, "device": "/device:GPU:0", "device_kind": "gpu",
           "median_ms": median_ms, "gflop_per_s": 2 * 1024**3 / median_ms / 1e6, "largest_error": 1e-6,
           "correct": True}  # fmt: skip
    probes = [{"name": "dense_relu", "ok": True}]
    return record("device", verb="bench", bench="matmul", rows=[row], probes=probes,
                  command=["python", "-m", "zoo", "bench"])  # fmt: skip


def number_of(state: Certification, name: str) -> int:
    """The place of a step among the steps."""
    return [row.step for row in state.steps].index(name)


def step(name: str, state: str = PASSED, **more: Any) -> StepResult:
    """One step with a record of the same name."""
    run = "" if name == "environment" else name.replace(" ", "-").replace("/", "-")
    row = StepResult(
        backend=PLACE.backend, stack=PLACE.stack, step=name, about="does something", state=state, seconds=10.0,
        reference_gflop_per_s=90.0, record=run,
    )  # fmt: skip
    if state == NOT_RUN:
        row = dataclasses.replace(row, seconds=0.0, reference_gflop_per_s=0.0, record="")
    return dataclasses.replace(row, **more)


def certification() -> Certification:
    """A certification in which two steps failed, and which was ended after the second."""
    return Certification(
        mode=results.QUICK, hardware=machine.hardware(HERE), machine=machine.describe(HERE), platform=HERE.platform,
        commit=COMMIT, date=TODAY, finished=TODAY, power="on mains, charged to 80 %", reference_gflop_per_s=91.0,
        places=[PLACE],
        steps=[
            step("environment"),
            step("device", words=["matmul ran on Apple M1, a gpu"],
                 figures={"probes": 1, "device_gflop_per_s": product()["rows"][0]["gflop_per_s"]}),
            *(step(f"first epoch of {model}", figures={"off": 0.0}) for model in FIRST_EPOCHS),
            step("train mnist_dense", figures={"test_accuracy": 349 / 359, "train_s": 2.5}),
            step("train mnist", FAILED, problem="no memory left", record=""),
            step("golden", FAILED, problem="mobilenet is off by 0.2", issues=["metal-fused-dense-relu-wrong"]),
            *(step(name, NOT_RUN) for name in ("matmul", "networks", "encoder", "memory", "resume", "device again")),
        ],
    )  # fmt: skip


def searched() -> Certification:
    """A certification that searched for a recipe."""
    proposal = {
        "model": "mnist_dense", "data": "digits", "backend": PLACE.backend, "stack": PLACE.stack,
        "machine": machine.describe(HERE), "commit": COMMIT, "date": TODAY, "target": {"val_accuracy": 0.95},
        "fixed": ["model=mnist_dense", "data=digits"], "values": {"trainer.batch_size": 64, "trainer.epochs": 6},
        "confirmed_s": {"recipe": [2.0, 2.2], "winner": [1.0, 1.1]}, "times_as_fast": 2.0, "grade": "measured",
    }  # fmt: skip
    state = certification()
    last = step("tune mnist_dense", record="", proposal=proposal, words=["proposed: trainer.batch_size=64"])
    return dataclasses.replace(state, mode="tune mnist_dense digits 4", steps=[*state.steps[:2], last])


def runs() -> dict[str, dict[str, Any]]:
    """The records by the names of their runs."""
    return {
        "device": product(), "train-mnist_dense": training(),
        **{f"first-epoch-of-{model.replace('/', '-')}": first_epoch(model) for model in FIRST_EPOCHS},
        "golden": record("golden", verb="bench", bench="networks", exit="failed", command=["python", "-m", "zoo"]),
    }  # fmt: skip


def members(state: Certification | None = None, records: dict[str, Any] | None = None) -> dict[str, bytes]:
    """The content of an archive, but for its checksums."""
    state, records = state or certification(), records or runs()
    content = {archive.CERTIFICATION: _json(dataclasses.asdict(state)), archive.PAGE: page.page(state).encode(),
               archive.LOCKS: _json({PLACE.stack: file_sha256(LOCK)})}  # fmt: skip
    content |= {f"runs/{name}.json": _json(copy.deepcopy(each)) for name, each in records.items()}
    return content


def write(path: Path, content: dict[str, bytes] | None = None) -> Path:
    """Write an archive."""
    return archive.write(path, content or members())


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
