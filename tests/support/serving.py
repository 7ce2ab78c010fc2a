"""Servers for tests: trained runs that pretend, and `zoo serve` in a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import requests

from tests.support import CHECKOUT
from zoo.data.text import dataset, tokenization

START_S = 240.0


def make_run(folder: Path, model: str, args: dict[str, object], data: dict[str, object]) -> Path:
    """Write what `serve` reads of a training run."""
    folder.mkdir(parents=True)
    record = {
        "verb": "train", "exit": "completed", "model": model, "backend": "cpu", "device_kind": "cpu",
        "stack": {"name": "tf-2.21"}, "started": "2026-11-22T03:26:29+00:00", "data": {"sha256": "0", **data},
        "config": {"model": {"name": model}, "data": {"name": "text_lines", "root": "."}},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "request.json").write_text(json.dumps({"model": {"name": model, "args": args}}))
    np.savez(folder / "weights.npz", a=np.zeros(1, np.float32))
    return folder


def make_runs(folder: Path) -> list[str]:
    """Make a run of each kind that needs no weights of its own; return the settings that serve them."""
    classes = [f"class {number}" for number in range(10)]
    digits = {"class_names": classes, "name": "mnist"}
    make_run(folder / "digits", "mnist", {"input_shape": [28, 28, 1], "classes": 10}, digits)
    make_run(folder / "photos", "mobilenet", {"input_shape": [32, 32, 3], "classes": 10}, {"class_names": classes})
    texts = {"class_names": ["bad", "good"], "name": "text_lines"}
    words = make_run(folder / "reviews", "transformer/classifier", {"length": 16, "classes": 2}, texts)
    tokenization.learn("words", ["a good film", "a bad film"], 100, True).save(words / dataset.VOCABULARY)
    letters = make_run(folder / "play", "transformer/lm", {"length": 8}, {})
    tokenization.learn("characters", ["to be or not\n"], 100, False).save(letters / dataset.VOCABULARY)
    return [f"run={folder / name}" for name in ("digits", "photos", "reviews", "play")]


@dataclass
class Server:
    """A server that runs, its address, and what it printed."""

    process: "subprocess.Popen[str]"
    address: str = ""
    printed: list[str] = field(default_factory=list)

    def post(self, model: str, **options: object) -> requests.Response:
        """Ask a model."""
        url = f"{self.address}/v1/models/{model}:predict"
        return requests.post(url, timeout=60, **options)  # type: ignore[arg-type]

    def get(self, path: str, **options: object) -> requests.Response:
        """Ask an address."""
        return requests.get(f"{self.address}{path}", timeout=60, **options)  # type: ignore[arg-type]


def _launched(folder: Path, settings: list[str], stand_in: bool) -> "subprocess.Popen[str]":
    module = "tests.support.stand_in_server" if stand_in else "zoo"
    command = [sys.executable, "-m", module, *([] if stand_in else ["serve"]), *settings, "port=0"]
    variables = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    if stand_in:
        variables |= {"ZOO_CACHE": str(folder / "cache"), "ZOO_WORKER_ENV": "FAKE_WORKER"}
    return subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def started(folder: Path, settings: list[str]) -> tuple["subprocess.Popen[str]", str]:
    """Start a server whose output the caller reads on; return its process and its address."""
    process = _launched(folder, settings, True)
    assert process.stdout is not None
    line = next(line for line in process.stdout if line.startswith("Serving on "))
    return process, line.split()[2].rstrip("/")


@contextlib.contextmanager
def serving(folder: Path, settings: list[str], stand_in: bool = True) -> Iterator[Server]:
    """Run a server on a free port until the block is left."""
    process = _launched(folder, settings, stand_in)
    server = Server(process)
    threading.Thread(target=_follow, args=(server,), daemon=True).start()
    try:
        deadline = time.monotonic() + START_S
        while not server.address and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.address, "".join(server.printed)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _follow(server: Server) -> None:
    assert server.process.stdout is not None
    for line in server.process.stdout:
        server.printed.append(line)
        if line.startswith("Serving on "):
            server.address = line.split()[2].partition("/#")[0].rstrip("/")
