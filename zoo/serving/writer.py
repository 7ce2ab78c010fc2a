"""Generate texts with a language model, several at a time, streamed in pieces."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from zoo.protocol.events import BatchEvent, TextEvent
from zoo.serving.engine import Supervisor
from zoo.serving.errors import RequestError, busy, unavailable

_END = object()


class Writer(Supervisor):
    """Streams texts; its arguments are those of :class:`zoo.serving.engine.Supervisor`.

    Texts never wait: one that cannot start at once is rejected.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._streams: dict[int, asyncio.Queue[Any]] = {}
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self.metrics.waiting.labels(self.model.name).set_function(lambda: len(self._streams))

    async def write(self, settings: dict[str, Any]) -> AsyncIterator[str]:
        """Yield the generated text in pieces; leaving the loop early stops the generation.

        Raise RequestError if too many texts are being generated, or the worker is lost.
        """
        if not self.is_ready:
            raise unavailable(f"The worker of {self.model.name} is not ready: {self.reason}")
        if len(self._streams) >= self.limits.max_streams:
            raise busy(f"{self.model.name} is already generating {len(self._streams)} texts")
        self._number += 1
        number, pieces = self._number, asyncio.Queue[Any]()
        self._streams[number] = pieces
        self._send({"slot": number, **settings})
        self._watch()
        try:
            while (piece := await pieces.get()) is not _END:
                if isinstance(piece, RequestError):
                    raise piece
                yield piece
        finally:
            if self._streams.pop(number, None) is not None:
                self._send({"close": number})

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop, hung = asyncio.get_running_loop(), f"it generated nothing within {self.limits.hang_s:g} s"
        self._timer = loop.call_later(self.limits.hang_s, self._kill, hung) if self._streams else None

    def _take(self, event: BatchEvent | TextEvent) -> None:
        stream = self._streams.get(event.slot) if event.slot is not None else None
        if stream is not None and isinstance(event, TextEvent):
            stream.put_nowait(event.text)
        elif stream is not None and event.slot is not None and isinstance(event, BatchEvent):
            del self._streams[event.slot]
            stream.put_nowait(RequestError(422, event.problem) if event.problem else _END)
        self._watch()

    def _fail_running(self, error: RequestError) -> None:
        for stream in self._streams.values():
            stream.put_nowait(error)
        self._streams.clear()
        self._watch()
