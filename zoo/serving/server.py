"""Start the server from its settings, and shut it down."""

import asyncio
import contextlib
import errno
import gc
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from zoo.config.schemas import serving
from zoo.config.schemas.serving import ServeConfig
from zoo.core import console, paths, uses
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.environments import store
from zoo.execution import execution
from zoo.protocol.events import short_device
from zoo.serving import guard, http, kinds
from zoo.serving.app import Application
from zoo.serving.decoders import Decoders
from zoo.serving.metrics import Metrics
from zoo.serving.served import Served

MOST_CONNECTIONS = 1024
GRACE_S = 30


def run(words: list[str]) -> int:
    """Serve until a signal arrives; return the exit status. ``words`` are the command-line arguments."""
    limits, groups = serving.take_apart(words)
    paths.make_cache()
    _allow_connections()
    with contextlib.ExitStack() as stack:
        stack.enter_context(uses.using(paths.cache_in_use()))
        listening = stack.enter_context(_listening(limits))
        folder = Path(tempfile.mkdtemp(prefix="zoo-serve-"))  # for requests, logs and slots

        def clear(_: object, error: BaseException | None, __: object) -> None:
            if not isinstance(error, ZooError) or not any(folder.rglob("*.log")):  # which the error refers to
                shutil.rmtree(folder, True)

        stack.push(clear)
        loaded: list[Served] = []
        for overrides in groups:
            loaded.append(kinds.opened(overrides, folder, limits, {each.model.name for each in loaded}))
        metrics = Metrics()
        for each in loaded:
            environment = execution.ensure_environment(each.model.context)
            stack.enter_context(store.in_use(environment))
            each.connect(environment, metrics)
        return uvloop.run(_Server(limits, loaded, metrics, listening, folder).run())


def _allow_connections() -> None:
    """Allow more open files than the default of 256 on macOS, because each connection is an open file."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows, or not permitted
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < 4 * MOST_CONNECTIONS:
            wanted = 4 * MOST_CONNECTIONS if hard < 0 else min(hard, 4 * MOST_CONNECTIONS)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def _listening(limits: ServeConfig) -> Iterator[socket.socket]:
    """Bind the address before models are started, which takes longer."""
    family = socket.AF_INET6 if ":" in limits.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((limits.host.strip("[]"), limits.port))
            # Without this, a second server could bind the same address.
            listening.listen()
        except OSError as error:
            words = f"Cannot listen on {limits.host}, port {limits.port}: {error.strerror or error}"
            remedy = "Choose another: port=8001, or port=0 for a free one."
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                remedy = "Give an address of this machine: host=127.0.0.1, or host=0.0.0.0 for all of them."
            raise ZooError(words, remedy) from error
        yield listening


class _Server:
    def __init__(
        self, limits: ServeConfig, loaded: list[Served], metrics: Metrics, listening: socket.socket, folder: Path
    ) -> None:
        self._limits, self._listening, self._metrics = limits, listening, metrics
        self._token = _token(limits)
        self._decoders = Decoders(limits.decoders, int(limits.max_megapixels * 1e6), folder)
        self._loaded = loaded
        self._app = Application({each.model.name: each for each in loaded}, self._decoders, self._metrics)
        self._http: http.Server | None = None
        self._asked = 0

    async def run(self) -> int:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, task)
        try:
            async with asyncio.TaskGroup() as group:
                for each in self._loaded:
                    group.create_task(each.engine.start())
            await self._serve()
            return 0
        except* ZooError as errors:
            raise errors.exceptions[0] from None
        except* asyncio.CancelledError:
            return_code = INTERRUPTED
        finally:
            await asyncio.gather(*(each.engine.stop() for each in self._loaded))
            await self._decoders.stop()
        return return_code

    async def _serve(self) -> None:
        app = guard.Guard(self._app, self._limits, self._token, self._metrics)
        config = uvicorn.Config(
            app, http=http.Protocol, ws="none", loop="none", lifespan="off", log_level="warning", access_log=False,
            server_header=False, limit_concurrency=MOST_CONNECTIONS, timeout_graceful_shutdown=GRACE_S,
            proxy_headers=False,
        )  # fmt: skip
        self._http = http.Server(config)
        self._listening.listen(config.backlog)
        self._announce()
        # Collect garbage rarely, and exclude the objects that exist now: collection took a tenth of the time.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        await self._http.serve(sockets=[self._listening])

    def _stop(self, task: "asyncio.Task[Any] | None") -> None:
        self._asked += 1
        self._app.draining = True
        if self._asked == 1:
            with contextlib.suppress(OSError):  # the terminal or the log is gone or full
                console.say("\nStopping after the current requests. Press Ctrl-C again to stop immediately.")
        if self._http is None:
            if task is not None:
                task.cancel()
        elif self._asked == 1:
            self._http.should_exit = True
        else:
            self._http.force_exit = True

    def _announce(self) -> None:
        host, port = self._listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        secret = f"#token={self._token}" if self._token else ""
        for each in self._loaded:
            model = each.model
            device = short_device(model.proof.get("device", {}).get("name", ""))
            console.say(f"  {model.name}: stack {model.context.choice.stack.name}, device {device}")
        console.output(f"Serving on http://{shown}:{port}/{secret}")
        sys.stdout.flush()


def _token(limits: ServeConfig) -> str | None:
    if limits.token == serving.NONE or (limits.token == serving.AUTO and limits.is_loopback):
        return None
    return secrets.token_urlsafe(24) if limits.token == serving.AUTO else limits.token
