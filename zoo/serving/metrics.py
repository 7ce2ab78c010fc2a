"""Metrics of the server for Prometheus."""

import subprocess

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    def __init__(self) -> None:
        self._all = CollectorRegistry()
        model = ["model"]
        self.requests = Counter("zoo_requests", "Requests by model and status", ["model", "status"], registry=self._all)
        self.seconds = Histogram(
            "zoo_request_seconds", "Seconds from request to response", model, buckets=SECONDS, registry=self._all
        )
        self.computing = Histogram(
            "zoo_batch_seconds", "Seconds of a batch in the worker", model, buckets=SECONDS, registry=self._all
        )
        self.sizes = Histogram("zoo_batch_items", "Items in a batch", model, buckets=SIZES, registry=self._all)
        self.waiting = Gauge("zoo_waiting_items", "Items that wait for a worker", model, registry=self._all)
        self.ready = Gauge("zoo_worker_ready", "1 if the worker is ready", model, registry=self._all)
        self.memory = Gauge("zoo_worker_memory_bytes", "Memory of the worker", model, registry=self._all)
        self.restarts = Counter("zoo_worker_restarts", "Restarts of the worker", model, registry=self._all)
        self.pending = Gauge("zoo_pending_bytes", "Bytes of bodies in memory", registry=self._all)

    def text(self) -> bytes:
        return generate_latest(self._all)


def resident_bytes(pid: int | None) -> int:
    """Return the resident memory of a process, on Linux and macOS; 0 if it has ended or ``ps`` is missing."""
    try:
        command = ["ps", "-o", "rss=", "-p", str(pid)]
        shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return 0
    return 1024 * int(shown.strip() or 0)
