"""A worker that follows a script instead of training: what the host sees of a worker, without an ML library.

The script comes from ``$FAKE_WORKER``: ok, error, nan, crash, killed, torn, slow (until SIGINT), deaf (to SIGINT
and SIGTERM), chatty (prints like a framework would), hung (says nothing more), oom (with more than 40 pictures a
batch), dies-once (killed, unless it goes on), lingers (a while before it ends), stopped (by somebody else, before its
first figures), starved (without memory for any training), aborts (as C++ does without memory, with more than 40
pictures a batch), plugin (Apple's cannot be loaded), wrong (a probe found wrong numbers), steady (a step every tenth
of a second until SIGINT). A calibration goes through its points: larger batches are faster, bfloat16 is slower, and
oom, aborts and starved (killed unless one size is left) hold. A run that goes on begins with epoch 2. The device is
of the kind that the request names.
"""

import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

EPOCHS, LONG = 3, 61
BOOTSTRAP = Path(__file__).resolve().parents[2] / "zoo" / "worker" / "bootstrap.py"


def emit(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, "t": time.time(), **fields}), flush=True)


# What dlopen says on macOS 26 of tensorflow-metal 1.2.0 beside TensorFlow 2.21 (tensorflow#126360).
PLUGIN = (
    "dlopen(/site-packages/tensorflow-plugins/libmetal_plugin.dylib, 0x0006): "
    "Library not loaded: @rpath/_pywrap_tensorflow_internal.so"
)
# By backend: what a probe that found a fused Dense layer wrong is a sign of.
ISSUES = {"metal": "metal-fused-dense-relu-wrong", "mps": "mps-silent-wrong", "plaidml": "plaidml-opencl-wrong"}


def start(request: dict[str, Any], **more: object) -> None:
    asked = request.get("device", {})
    device = {"name": "fake:0", "device_kind": asked.get("device_kind", "cpu"), "proof": "nothing", "description": ""}
    emit("start", versions={"fake": "1.0", "keras": "0.0"}, device=device, python="3.11.0", **more)


def wrong_row(request: dict[str, Any]) -> dict[str, Any]:
    """A probe that found a fused Dense layer wrong."""
    figures = {"ok": False, "largest_error": 0.41, "tolerance": 0.002, "seconds": 0.01, "skipped": None}
    return {"name": "dense_relu", **figures, "issue": ISSUES[request["device"]["backend"]]}


def steps(asked: list[int]) -> None:
    while not asked:
        emit("step", epoch=2, epochs=EPOCHS, step=1, steps=1, loss=0.5, accuracy=0.9, items_per_s=10.0)
        time.sleep(0.1)


def epoch(number: int, epochs: int = EPOCHS) -> None:
    emit("step", epoch=number, epochs=epochs, step=1, steps=1, loss=1 / number, accuracy=0.9, items_per_s=10.0)
    figures = {
        "loss": 1 / number,
        "accuracy": 0.9,
        "val_loss": 1 / number,
        "val_accuracy": 0.9 + number / 100,
    }
    emit("epoch", epoch=number, epochs=epochs, epoch_s=0.1, items_per_s=10.0, best=True, steps=1,
         learning_rate=0.001, **figures)  # fmt: skip


def done(stopped: str | None = None, metrics: dict[str, object] | None = None, **more: object) -> None:
    metrics = metrics or ({} if stopped else {"test_accuracy": 0.93, "test_loss": 0.25})
    phases = {"import_s": 0.1, "train_s": 0.2}
    emit("done", metrics=metrics, phases=phases, peak_memory_bytes=1_000_000, stopped=stopped, **more)


def calibrate(points: dict[str, Any], script: str) -> None:
    """Time points, until one needs more memory than there is."""
    usual, *others = points["batch_sizes"]
    larger = [(size, points["precisions"][0]) for size in others if size > usual]
    known = [each for each in points["precisions"] if each != "float32" or "auto" not in points["precisions"]]
    for size, precision in [*((usual, each) for each in known), *larger]:
        named = {"batch_size": size, "precision": precision.replace("auto", "float32")}
        emit("point", **named)
        if (script == "aborts" and size > 40) or (script == "starved" and others):
            os.kill(os.getpid(), signal.SIGKILL)
        if script == "oom" and size > 40:
            emit("point", **named, seconds=0.1, problem="out of memory")
            break
        emit("point", **named, seconds=0.1, items_per_s=size * (4.0 if "bfloat16" in precision else 10.0))
    emit("done", metrics={}, phases={})


def execute_model_file(request: dict[str, object]) -> None:
    """Execute a model file as the worker does, so that a test sees whether it came this far."""
    file = request.get("model", {}).get("file")  # type: ignore[attr-defined]
    if file:
        runpy.run_path(file)


def train(request: dict[str, object]) -> None:
    execute_model_file(request)
    folder = Path(str(request["run_dir"]))
    np.savez(folder / "weights.npz", **{"dense/kernel": np.ones((2, 2), np.float32)})
    emit("artifact", kind="weights", path=str(folder / "weights.npz"))
    settings: dict[str, object] = request.get("train", {})  # type: ignore[assignment]
    resumes = request.get("resume")
    if resumes:
        emit("resume", epoch=2, step=0, done=1)
    # What is to be killed on its way has that many epochs, and takes a while for them.
    wanted = LONG if settings.get("epochs") == LONG else EPOCHS
    for number in range(2 if resumes else 1, wanted + 1):
        epoch(number, wanted)
        time.sleep(0.03 if wanted == LONG else 0.0)
    if request.get("job") == "train_text_classifier":
        judge_texts(request)


def judge_texts(request: dict[str, object]) -> None:
    """Take every test text for one of the first class."""
    data: dict[str, str] = request["data"]  # type: ignore[assignment]
    labels = np.load(data["labels"])[np.load(data["split"])["test"]].astype(np.int32)
    true = np.where(labels == 0, 0.75, 0.25).astype(np.float32)
    count, path = len(labels), Path(str(request["run_dir"])) / "judged_test.npz"
    best, probability = np.zeros((count, 1), np.int32), np.full((count, 1), 0.75, np.float32)
    np.savez(path, label=labels, best=best, probability=probability, true=true)
    emit("artifact", kind="judged", path=str(path))


def infer(request: dict[str, object]) -> None:
    execute_model_file(request)
    assert Path(str(request["weights"])).is_file(), "the worker runs in another folder: paths must be absolute"
    pixels = np.load(request["data"]["x"])  # type: ignore[index]
    probabilities = np.eye(10, dtype=np.float32)[pixels.reshape(len(pixels), -1).max(axis=1) % 10]
    np.save(Path(str(request["run_dir"])) / "probabilities.npy", probabilities)


def read_texts(request: dict[str, object]) -> None:
    """Say of every text that it is of the class of its number of tokens."""
    offsets = np.load(request["data"]["offsets"])  # type: ignore[index]
    classes = request["model"]["args"]["classes"]  # type: ignore[index]
    answers = np.full((len(offsets) - 1, classes), 0.25 / (classes - 1), np.float32)
    answers[np.arange(len(answers)), np.diff(offsets) % classes] = 0.75
    np.save(Path(str(request["run_dir"])) / "probabilities.npy", answers)


def write_text(request: dict[str, object]) -> None:
    settings: dict[str, object] = request["generate"]  # type: ignore[assignment]
    emit("text", text=settings["prompt"])
    for _ in range(int(str(settings["length"]))):
        emit("text", text="la \x1b[31m")
    figures = {"items": settings["length"], "items_per_s": 5.0}
    emit(
        "done",
        metrics=figures,
        phases={},
        peak_memory_bytes=1,
        stopped=None,
        text="la " * int(str(settings["length"])),
    )


def stream_features(settings: dict[str, object], pixels: np.ndarray) -> None:
    """Write the mean grey of every picture."""
    means: list[float] = []
    emit("ready")
    for line in sys.stdin:
        filled = json.loads(line)
        means += pixels[filled["slot"], : filled["count"]].reshape(filled["count"], -1).mean(axis=1).tolist()
        emit("batch", **filled)
    np.save(str(settings["path"]), np.array(means, np.float32)[:, None])


def stream(request: dict[str, object], script: str, asked: list[int]) -> None:
    """Say of every picture that it is of the class of its mean grey; ``slow`` waits after the first batch.

    A saved model without classes predicts the mean gray itself.
    """
    settings: dict[str, object] = request["stream"]  # type: ignore[assignment]
    slots, batch, classes = settings["shape"][0], settings["shape"][1], settings["classes"]  # type: ignore[index]
    model: dict[str, Any] = request["model"]  # type: ignore[assignment]
    assert "saved" in model or Path(str(request["weights"])).is_file()
    pixels = np.memmap(str(settings["pixels"]), np.uint8, "r", shape=tuple(settings["shape"]))  # type: ignore[arg-type]
    if "features" in request:
        stream_features(request["features"], pixels)  # type: ignore[arg-type]
        return
    answers = np.memmap(str(settings["probabilities"]), np.float32, "r+", shape=(slots, batch, classes))
    emit("ready")
    for line in sys.stdin:
        filled = json.loads(line)
        slot, count = filled["slot"], filled["count"]
        gray = pixels[slot, :count].reshape(count, -1).mean(axis=1)
        if model["args"].get("classes"):
            answers[slot] = 0.25 / classes
            answers[slot, np.arange(count), gray.astype(int) % classes] = 0.75
        else:
            answers[slot, :count] = gray[:, None]
        emit("batch", slot=slot, count=count)
        while script == "slow" and not asked:
            time.sleep(0.02)
        if asked:
            return


def bench(request: dict[str, Any]) -> None:
    """Time products and networks, in figures that fit each other."""
    settings, kind = request["bench"], request["device"]["device_kind"]
    common = {"device": "fake:0", "device_kind": kind, "median_ms": 2.0, "q1_ms": 1.9, "q3_ms": 2.1, "correct": True,
              "largest_error": 1e-7, "count": 5}  # fmt: skip
    rows: list[dict[str, object]] = []
    if request["job"] == "bench_operations":
        for what in settings["operations"]:
            rows += [
                {"operation": what, "size": size, "gflop_per_s": 2 * size**3 / 2e6, **common}
                for size in settings["sizes"][what]
            ]
    elif request["job"] == "bench_networks":
        for network in settings["networks"]:
            more = {"batch_size": settings["batch_sizes"][0], "items_per_s": 500.0, "gflop_per_s": 3.0}
            rows.append({"network": network["name"], "mode": settings["modes"][0], **common, **more})
    else:
        raise SystemExit(f"nothing stands in for {request['job']}")
    (Path(str(request["run_dir"])) / "rows.json").write_text(json.dumps(rows))
    emit("done", metrics={"rows": len(rows)}, phases={}, peak_memory_bytes=1, stopped=None)


def refuse_wrong(request: dict[str, object]) -> None:
    """Hold what a task asks for against the protocol, as the real worker does."""
    if "zoo" not in sys.modules:
        runpy.run_path(str(BOOTSTRAP))
    from zoo.protocol.request import Request

    if "job" in request:
        Request.of(request)


def main() -> int:
    request = json.loads(Path(sys.argv[1]).read_text())
    refuse_wrong(request)
    script = os.environ.get("FAKE_WORKER", "ok")
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    if script == "plugin":
        sys.stderr.write(f"tensorflow.python.framework.errors_impl.NotFoundError: {PLUGIN}\n")
        emit("error", message=PLUGIN, type="NotFoundError")
        return 1
    start(request, **({"probes": [wrong_row(request)]} if script == "wrong" else {}))
    if script == "wrong":
        emit("error", message="wrong numbers: dense_relu (off by 0.41 of the largest value)", type="ProbeError")
        return 1
    if script == "error":
        sys.stderr.write("a framework says why, in its own words\n")
        emit("error", message="it does not work", type="RuntimeError")
        return 1
    if script == "nan":
        epoch(1)
        emit("error", message="the loss became nan at epoch 2, step 1", type="FloatingPointError")
        return 1
    if script == "crash":
        sys.stderr.write("Fatal: something in C went wrong\n")
        return 139
    if script == "killed":
        epoch(1)
        os.kill(os.getpid(), signal.SIGKILL)
    if "calibration" in request:
        calibrate(request["calibration"], script)
        return 0
    settings: dict[str, object] = request.get("train", {})
    if script == "dies-once" and not request.get("resume"):
        epoch(1)
        epoch(2)
        os.kill(os.getpid(), signal.SIGKILL)
    if script == "starved" and request["verb"] == "train":
        emit("error", message="no memory left", type="OutOfMemoryError")
        return 1
    if script == "oom" and int(str(settings["batch_size"])) > 40:
        epoch(1)
        emit("error", message="no memory left", type="OutOfMemoryError")
        return 1
    if script == "aborts" and int(str(settings["batch_size"])) > 40:
        epoch(1)
        sys.stderr.write("terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
        sys.stderr.flush()
        os.abort()
    if script == "stopped":
        done("interrupted", {"parameters": 4})
        return 0
    if script == "lingers":
        time.sleep(2.5)
    if script == "hung":
        epoch(1)
        time.sleep(600)
    if script == "steady":
        epoch(1)
        steps(asked)
        done("interrupted")
        return 0
    if script == "torn":
        epoch(1)
        sys.stdout.write('{"event": "epo')
        sys.stdout.flush()
        return 9
    if request.get("job") == "predict_stream":
        stream(request, script, asked)
        done("interrupted" if asked else None, {"items_per_s": 9.0, "batch_ms_p50": 1.0, "batch_ms_p90": 2.0,
                                                "precision": "float32", "batch_size": 4},
             **({"features": {"layer": "pool", "shape": [1]}} if "features" in request else {}))  # fmt: skip
        return 0
    if request.get("job") == "predict_text":
        read_texts(request)
        done(None, {"items_per_s": 9.0})
        return 0
    if request.get("job") == "generate_text":
        write_text(request)
        return 0
    if request.get("job") == "score_text":
        done(None, {"perplexity": 2.0, "loss": 0.6931, "token_accuracy": 0.5, "items": 3, "items_per_s": 9.0})
        return 0
    if script == "slow":
        epoch(1)
        while not asked:
            time.sleep(0.02)
        done("interrupted")
        return 0
    if script == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        epoch(1)
        while True:
            time.sleep(0.05)
    if request["verb"] == "bench":
        bench(request)
        return 0
    {"train": train, "infer": infer, "evaluate": infer}[str(request["verb"])](request)
    done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
