"""A worker of `serve` without an ML library: the job's protocol, and on request what can go wrong with a worker.

A picture is of the class of its first byte, a text of the class of its first token; a restyled picture is inverted. A
first byte of 251 ends the process, 252 lets it hang, 253 is refused. ``$FAKE_WORKER``: ok, broken (never ready).
"""

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path

import numpy as np

DIES, HANGS, REFUSED = 251, 252, 253


def emit(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, "t": time.time(), **fields}), flush=True)


def misbehave(first: int) -> None:
    if first == DIES:
        os._exit(7)
    if first == HANGS:
        time.sleep(600)


def rows(serve: dict[str, object]) -> None:
    kind = np.uint8 if serve["kind"] == "pictures" else np.int32
    shape = tuple(serve["shape"])  # type: ignore[arg-type]
    inputs = np.memmap(str(serve["inputs"]), kind, "r", shape=shape)
    outputs = np.memmap(str(serve["outputs"]), np.float32, "r+", shape=(*shape[:2], serve["classes"]))
    for line in sys.stdin:
        asked = json.loads(line)
        slot, count = asked["slot"], asked["count"]
        first = inputs[slot, :count].reshape(count, -1)[:, 0]
        for each in first:
            misbehave(int(each))
        if REFUSED in first:
            emit("batch", slot=slot, problem="the outputs are no numbers")
            continue
        outputs[slot, :count] = 0.25 / shape[0]
        outputs[slot, np.arange(count), first % serve["classes"]] = 0.75  # type: ignore[operator]
        emit("batch", slot=slot, seconds=0.001)


def restyle(serve: dict[str, object]) -> None:
    shape = tuple(serve["shape"])  # type: ignore[arg-type]
    inputs = np.memmap(str(serve["inputs"]), np.uint8, "r", shape=shape)
    outputs = np.memmap(str(serve["outputs"]), np.uint8, "r+", shape=shape)
    for line in sys.stdin:
        asked = json.loads(line)
        size = asked["rows"] * asked["columns"] * 3
        outputs[asked["slot"], :size] = 255 - inputs[asked["slot"], :size]
        emit("batch", slot=asked["slot"], seconds=0.001)


def write() -> None:
    asked: queue.SimpleQueue[dict[str, int] | None] = queue.SimpleQueue()
    closed: set[int] = set()

    def listen() -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "close" in message:
                closed.add(message["close"])
            else:
                asked.put(message)
        asked.put(None)

    threading.Thread(target=listen, daemon=True).start()
    while message := asked.get():
        slot = message["slot"]
        for number in range(message["length"]):
            if slot in closed:
                break
            emit("text", slot=slot, text=f"{number} ")
            time.sleep(0.002)
        else:
            emit("batch", slot=slot, seconds=0.001)


def main() -> int:
    request = json.loads(Path(sys.argv[1]).read_text())
    device = {"name": "fake:0", "device_kind": "cpu", "proof": "nothing", "description": ""}
    emit("start", versions={"fake": "1.0"}, device=device, python="3.11.0", probes=[], variables={})
    if os.environ.get("FAKE_WORKER") == "broken":
        emit("error", message="it does not work", type="UserError")
        return 1
    serve = request["serve"]
    emit("ready")
    {"pictures": rows, "texts": rows}.get(serve["kind"], restyle if serve["kind"] == "restyle" else lambda _: write())(
        serve
    )
    emit("done", metrics={}, phases={}, peak_memory_bytes=1, stopped=None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
