"""A worker process of a server: start it in its stack, and exchange messages with it from the event loop."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from zoo.config.schemas.common import Settings
from zoo.core.download import in_thread
from zoo.core.files import write_json
from zoo.environments import store
from zoo.environments.store import Environment
from zoo.execution import diagnosis, launchers, probe_cache
from zoo.execution.launchers.commands import Child
from zoo.execution.worker_process import Outcome
from zoo.protocol.events import BatchEvent, ReadyEvent, TextEvent
from zoo.protocol.part import Json
from zoo.protocol.request import Request
from zoo.runs import event_log
from zoo.runs.context import RunContext


@dataclass
class Model:
    """A model that the server serves.

    Attributes:
        context: settings, backend and stack; its folder is the worker's folder.
        request: request that starts the worker.
        proof: device and versions that the worker reports; empty before it starts.
    """

    name: str
    context: RunContext[Settings]
    request: Request
    proof: Json = field(default_factory=dict)


class WorkerProcess(asyncio.Protocol):
    """A worker process, from its start to its end.

    Its lines are parsed into events in the event loop, because a thread would wait for the GIL.

    Args:
        take: called in the event loop with every event after ``ready``.
        ended: called in the event loop after the process ended.
    """

    def __init__(
        self, model: Model, environment: Environment, take: Callable[[BatchEvent | TextEvent], None],
        ended: Callable[[], None],
    ) -> None:  # fmt: skip
        self._model, self._environment, self._take, self._ended = model, environment, take, ended
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._process: launchers.Process | None = None
        self.outcome = Outcome()
        self.reason, self._rest = "", b""

    async def start(self) -> None:
        context, request = self._model.context, self._model.request
        probed = probe_cache.known(self._environment, context.machine, request.device)
        path = context.folder / "request.json"
        write_json(path, (request.replace(probed=probed.rows) if probed else request).to_json())
        variables = store.child_environment(context.choice.stack, context.choice.env)
        command = store.worker_command(self._environment.python, path)
        launcher = launchers.load(context.settings.launcher.name)
        self._process = launcher.start(command, variables, context.folder, stdin=True)
        await self._loop.connect_read_pipe(lambda: self, self._process.stdout)
        await self._ready
        if not probed and self.outcome.start:
            result = probe_cache.Probed.of(self.outcome.start)
            probe_cache.keep(self._environment, context.machine, request.device, result)

    @property
    def pid(self) -> int | None:
        return self._process.pid if isinstance(self._process, Child) else None

    def send(self, command: Json) -> None:
        """Send a command; if the worker has ended, its end is reported separately."""
        if self._process is None or self._process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def kill(self, reason: str) -> None:
        self.reason = self.reason or reason
        if self._process is not None and self._process.is_running():
            self._process.kill()

    async def finish(self, seconds: float) -> None:
        """Close the worker's standard input and wait until it ends; kill it after ``seconds``."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        deadline = self._loop.time() + seconds
        while self._process.is_running() and self._loop.time() < deadline:
            await asyncio.sleep(0.02)
        self.kill("it did not end when requested")

    def why(self) -> str:
        if self.reason:
            return self.reason
        if self.outcome.error:
            return self.outcome.error.message.partition("\n")[0][:300]
        code = self.outcome.returncode
        return f"it was killed by signal {-code}" if code < 0 else f"it ended with exit status {code}"

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait in a thread until the process ends, which may be long after it closed its output."""
        assert self._process is not None  # noqa: S101  (its output was closed)
        asyncio.wrap_future(in_thread(self._process.wait)).add_done_callback(self._gone)

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for event in map(event_log.parse, lines):
            if event is not None:
                self.outcome.add(event)
            if isinstance(event, ReadyEvent) and not self._ready.done():
                self._ready.set_result(None)
            elif isinstance(event, BatchEvent | TextEvent):
                self._take(event)

    def _gone(self, waiting: "asyncio.Future[int]") -> None:
        self.outcome.returncode = waiting.result()
        if not self._ready.done():
            context = self._model.context
            failure = diagnosis.failure(self.outcome, context.folder, context.choice.backend.name)
            self._ready.set_exception(failure)
        self._ended()
