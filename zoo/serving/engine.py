"""A queue in front of a worker: waiting items are batched, and a worker that crashes or hangs is restarted."""

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass
from typing import Any

from zoo.config.schemas.serving import ServeConfig
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments.store import Environment
from zoo.protocol.events import BatchEvent, TextEvent
from zoo.protocol.part import Json
from zoo.serving.errors import RequestError, busy, unavailable
from zoo.serving.metrics import Metrics, resident_bytes
from zoo.serving.process import Model, WorkerProcess
from zoo.serving.slots import Slots

LONGEST_PAUSE_S = 30.0
FINISH_S = 5.0
# Smaller batches leave cores idle; more items are divided evenly between both slots.
LEAST_SHARED = 8


@dataclass
class _Batch:
    futures: "list[asyncio.Future[Any]]"
    timer: asyncio.TimerHandle


class Supervisor:
    """Starts a model's worker, and restarts it after its end; ``reason`` says why it is not ready."""

    def __init__(self, model: Model, environment: Environment, limits: ServeConfig, metrics: Metrics) -> None:
        self.model, self.limits, self.metrics = model, limits, metrics
        self.is_ready, self.reason = False, "it has not been started yet"
        self._environment, self._closing, self._failures = environment, False, 0
        self._process: WorkerProcess | None = None
        self._restarting: asyncio.Task[None] | None = None
        metrics.ready.labels(model.name).set(0)
        memory = metrics.memory.labels(model.name)
        memory.set_function(lambda: resident_bytes(self._process.pid if self._process else None))

    async def start(self) -> None:
        process = WorkerProcess(self.model, self._environment, self._take, lambda: self._ended(process))
        self._process = process
        await process.start()
        self.is_ready, self._failures = True, 0
        start = process.outcome.start
        if start:
            self.model.proof = {"device": start.device.to_json(), "versions": start.versions}
        self.metrics.ready.labels(self.model.name).set(1)
        self._pump()

    async def stop(self) -> None:
        """Stop the worker after its current batch."""
        self._closing = True
        if self._restarting is not None:
            self._restarting.cancel()
        if self._process is not None:
            await self._process.finish(FINISH_S)

    def _send(self, command: Json) -> None:
        if self._process is not None:
            self._process.send(command)

    def _kill(self, reason: str) -> None:
        if self._process is not None:
            self._process.kill(reason)

    def _ended(self, process: WorkerProcess) -> None:
        was_ready, self.is_ready, self.reason = self.is_ready, False, process.why()
        self.metrics.ready.labels(self.model.name).set(0)
        self._fail_running(unavailable(f"The worker of {self.model.name} was lost ({self.reason}); try again"))
        if was_ready and not self._closing:
            with contextlib.suppress(OSError):  # the terminal or the log is gone or full
                console.warn(f"{self.model.name}: the worker was lost ({self.reason}) and is restarted")
            self._restarting = asyncio.get_running_loop().create_task(self._restart())

    async def _restart(self) -> None:
        """Try to start the worker until it succeeds, with increasing pauses."""
        while not self._closing:
            self.metrics.restarts.labels(self.model.name).inc()
            try:
                await self.start()
                return
            except (ZooError, OSError) as error:
                self._failures += 1
                self.reason = str(error).partition("\n")[0]
                with contextlib.suppress(OSError):
                    console.warn(f"{self.model.name}: the worker cannot be started: {self.reason}")
                self._fail_waiting(unavailable(f"The worker of {self.model.name} cannot be started: {self.reason}"))
            await asyncio.sleep(min(LONGEST_PAUSE_S, 2.0**self._failures))

    # -- implemented by each kind of engine

    def _take(self, event: BatchEvent | TextEvent) -> None:
        raise NotImplementedError

    def _fail_running(self, error: RequestError) -> None:
        raise NotImplementedError

    def _pump(self) -> None:
        """Send what waits for the worker, if anything can wait."""

    def _fail_waiting(self, error: RequestError) -> None:
        """Fail what waits for the worker, if anything can wait."""


class Engine(Supervisor):
    """Processes items in batches; host and worker share ``slots``."""

    def __init__(
        self, model: Model, environment: Environment, limits: ServeConfig, metrics: Metrics, slots: Slots
    ) -> None:
        super().__init__(model, environment, limits, metrics)
        self._slots = slots
        self._waiting: deque[tuple[Any, asyncio.Future[Any]]] = deque()
        self._free = list(range(slots.count))
        self._running: dict[int, _Batch] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sizes = metrics.sizes.labels(model.name)
        self._computing = metrics.computing.labels(model.name)
        metrics.waiting.labels(model.name).set_function(lambda: len(self._waiting))

    async def ask(self, items: list[Any]) -> list[Any]:
        """Return the model's outputs for all items.

        Raise RequestError if the queue is full, the worker is lost, the model rejects an item, or it takes too long.
        """
        if not self.is_ready and self._failures:
            raise unavailable(f"The worker of {self.model.name} cannot be started: {self.reason}")
        room = min(self.limits.max_queue, self._slots.most_waiting)
        if len(items) > room:
            raise RequestError(413, f"The request has {len(items)} items; {self.model.name} accepts at most {room}")
        if len(self._waiting) + len(items) > room:
            raise busy(f"The queue of {self.model.name} is full: {len(self._waiting)} items wait, of at most {room}")
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in items]
        self._waiting.extend(zip(items, futures, strict=True))
        words = f"No response within {self.limits.timeout_s:g} s"
        timer = loop.call_later(self.limits.timeout_s, _fail, futures, RequestError(504, words, retry_after=1))
        self._pump()
        try:
            return [await future for future in futures]
        finally:
            timer.cancel()
            for future in futures:
                if not future.cancel() and not future.cancelled():
                    future.exception()  # asyncio reports errors that nobody took

    def _pump(self) -> None:
        while self.is_ready and self._free and self._waiting:
            count = self._next_size()
            if not count or not self._send_batch(count):
                return

    def _next_size(self) -> int:
        """Return the size of the next batch; 0 means wait for more items.

        During a batch, the next one is sent when it is half as large, because a smaller one takes nearly as long.
        Items are divided evenly between the batches, so that neither worker nor host is idle.
        """
        waiting, running = len(self._waiting), sum(len(batch.futures) for batch in self._running.values())
        most = min(self._slots.batch, waiting, max(LEAST_SHARED, (waiting + running + 1) // 2))
        if running:
            return most if 2 * waiting >= running else 0
        if self.limits.max_wait_ms and waiting < self._slots.batch:
            if self._timer is None:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(self.limits.max_wait_ms / 1000, self._waited)
            return 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return most

    def _waited(self) -> None:
        self._timer = None
        if self.is_ready and self._free and self._waiting:
            self._send_batch(min(self._slots.batch, len(self._waiting)))

    def _send_batch(self, count: int) -> bool:
        taken = [self._waiting.popleft() for _ in range(count)]
        chosen = [pair for pair in taken if not pair[1].done()]
        if not chosen:
            return bool(self._waiting)
        slot = self._free.pop()
        command = self._slots.put(slot, [item for item, _ in chosen])
        hung = f"it did not answer within {self.limits.hang_s:g} s"
        timer = asyncio.get_running_loop().call_later(self.limits.hang_s, self._kill, hung)
        self._running[slot] = _Batch([future for _, future in chosen], timer)
        self._sizes.observe(len(chosen))
        self._send(command)
        return True

    def _take(self, event: BatchEvent | TextEvent) -> None:
        batch = self._running.pop(event.slot, None) if event.slot is not None else None
        if batch is None or event.slot is None or not isinstance(event, BatchEvent):
            return
        batch.timer.cancel()
        if event.problem is not None:
            _fail(batch.futures, RequestError(422, event.problem))
        else:
            self._computing.observe(event.seconds or 0.0)
            for future, answer in zip(batch.futures, self._slots.take(event.slot), strict=True):
                if not future.done():
                    future.set_result(answer)
        self._free.append(event.slot)
        self._pump()

    def _fail_running(self, error: RequestError) -> None:
        for batch in self._running.values():
            batch.timer.cancel()
            _fail(batch.futures, error)
        self._running.clear()
        self._free = list(range(self._slots.count))

    def _fail_waiting(self, error: RequestError) -> None:
        _fail([future for _, future in self._waiting], error)
        self._waiting.clear()


def _fail(futures: "list[asyncio.Future[Any]]", error: RequestError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
