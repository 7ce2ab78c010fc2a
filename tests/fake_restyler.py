"""A worker that turns every colour into its opposite instead of restyling: the host's half without an ML library.

``$FAKE_WORKER`` says ``ok``, or ``slow``: after two pictures it waits to be asked to stop.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np


def emit(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, "t": time.time(), **fields}), flush=True)


def main() -> int:
    request = json.loads(Path(sys.argv[1]).read_text())
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    device = {"name": "fake:0", "kind": "cpu", "proof": "nothing", "description": ""}
    emit("start", versions={"fake": "1.0"}, device=device, python="3.11.0")
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


if __name__ == "__main__":
    sys.exit(main())
