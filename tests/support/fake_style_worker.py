"""A worker that turns every colour into its opposite instead of restyling: the host's half without an ML library.

``$FAKE_WORKER`` says ``ok``, or ``slow``: after two pictures it waits to be asked to stop. Asked to train, it looks
at every batch and learns nothing.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def emit(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, "t": time.time(), **fields}), flush=True)


def main() -> int:
    request = json.loads(Path(sys.argv[1]).read_text())
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    device = {"name": "fake:0", "device_kind": "cpu", "proof": "nothing", "description": ""}
    emit("start", versions={"fake": "1.0"}, device=device, python="3.11.0")
    if request["job"] == "train_style_network":
        return train(request)
    assert np.load(request["weights"])["conv1/kernel"].shape[3] == request["model"]["args"]["filters"]
    inbox, index, most = Path(request["restyle"]["exchange"]), 0, 0
    while not asked:
        here = inbox / f"{index}.npy"
        if not here.exists():
            if (inbox / "end").exists() and not here.exists():
                break
            time.sleep(0.01)
            continue
        if index == 2 and os.environ["FAKE_WORKER"] == "slow":
            emit("step", step=2, steps=request["restyle"]["items"])
            time.sleep(0.02)
            continue
        most = max(most, len(list(inbox.glob("?.npy")) + list(inbox.glob("??.npy"))))
        done = inbox / f"{index}.done.npy"
        np.save(done, 255 - np.load(here))
        here.unlink()
        emit("artifact", kind="picture", path=str(done), index=index)
        index += 1
    metrics = {"pictures": index, "megapixels": 1.0, "s_per_megapixel": 0.5, "most_waiting": most}
    emit("done", metrics=metrics, phases={}, peak_memory_bytes=1, stopped="interrupted" if asked else None)
    return 0


def train(request: dict[str, Any]) -> int:
    settings, folder = request["train"], Path(request["run_dir"])
    assert np.load(settings["painting"]).dtype == np.uint8
    for step in range(1, settings["steps"] + 1):
        here = Path(settings["inbox"]) / f"{step - 1}.npy"
        while not here.exists():
            if (here.parent / "end").exists():
                return 1
            time.sleep(0.01)
        batch = np.load(here)
        assert batch.shape == (settings["batch_size"], settings["size"], settings["size"], 3)
        assert batch.dtype == np.uint8
        np.save(folder / f"seen_{step}.npy", batch)
        here.unlink()
        emit("artifact", kind="batch", path=str(here))
    np.savez(folder / "weights.npz", **{name: np.zeros(1, np.float32) for name in ("conv1/kernel",)})
    np.save(folder / "sample_000001.npy", batch[0])
    emit("artifact", kind="sample", path=str(folder / "sample_000001.npy"), step=step)
    figures = {"loss": 1.0, "content": 0.5, "style": 0.1, "roughness": 0.01}
    emit("epoch", epoch=1, epochs=1, epoch_s=1.0, items_per_s=2.5, best=True, steps=step, learning_rate=0.1, **figures)
    emit("done", metrics=figures | {"step": step}, phases={}, peak_memory_bytes=1, stopped=None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
