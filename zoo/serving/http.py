"""HTTP by uvicorn, with limits on headers and less overhead per request."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_S = 20.0
MOST_HEADER_BYTES = 65_536
# Largest number of connections without a complete request; a new one replaces the oldest.
MOST_IDLE = 512
# Bytes of a body to collect before the application is notified, so that a typical image arrives in one piece.
PIECE = 1 << 18


class Server(uvicorn.Server):
    """Uvicorn's server without its signal handlers, which the zoo replaces."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Joined:
    """A transport that joins all writes in one iteration of the event loop, such as headers and body."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class Protocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol, with limits on headers."""

    _header_bytes = 0
    _idle: "dict[Protocol, asyncio.TimerHandle]" = {}  # noqa: RUF012  (shared, oldest first)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(_Joined(transport, self.loop))  # type: ignore[arg-type]
        if len(self._idle) >= MOST_IDLE:
            oldest = next(iter(self._idle))
            oldest._request_is_there()
            oldest.transport.close()
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._request_is_there()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._header_bytes = 0
        self._expect_headers()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self in self._idle:  # the guard limits the time for a body
            self._idle[self].cancel()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._request_is_there()
        super().on_message_complete()

    def on_body(self, body: bytes) -> None:
        """Collect a body, without copying one that arrives in one piece."""
        cycle: Any = self.cycle
        if cycle.response_complete:
            return
        if cycle.body:
            cycle.body = bytearray(cycle.body) if isinstance(cycle.body, bytes) else cycle.body
            cycle.body += body
        else:
            cycle.body = body
        if len(cycle.body) > PIECE:
            self.flow.pause_reading()
            cycle.message_event.set()

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MOST_HEADER_BYTES:
            raise ValueError("the headers are too large")

    def _expect_headers(self) -> None:
        self._request_is_there()
        self._idle[self] = self.loop.call_later(HEADER_S, self.transport.close)

    def _request_is_there(self) -> None:
        if self in self._idle:
            self._idle.pop(self).cancel()
