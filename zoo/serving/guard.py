"""Check the token, host name, origin and size of a request before it is read."""

import asyncio
import functools
import hmac
import ipaddress
import json
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zoo.config.schemas.serving import LOOPBACK, ServeConfig
from zoo.serving.errors import RequestError, busy
from zoo.serving.metrics import Metrics

# Paths for monitoring, without a token: they contain no information about the models.
OPEN = ("/healthz", "/readyz")
# Path -> file and content type. Pages need no token, but their requests do.
PAGE = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"),
        "/page.js": ("page.js", "text/javascript"), "/docs": ("docs.html", "text/html"),
        "/docs.js": ("docs.js", "text/javascript")}  # fmt: skip
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()), (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"), (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"), (b"cache-control", b"no-store"),
)  # fmt: skip
BODY_S = 60.0


class Guard:
    """Rejects requests before the application, counts body bytes, and reports every error to the client.

    Args:
        app: application that processes accepted requests.
        token: token that requests must have, or None.
    """

    def __init__(self, app: ASGIApp, limits: ServeConfig, token: str | None, metrics: Metrics) -> None:
        self._app, self._limits, self._token, self._metrics = app, limits, token, metrics
        own = [name.strip() for name in limits.hosts.split(",") if name.strip()]
        self._names = {name.lower() for name in (*LOOPBACK, limits.host.strip("[]"), *own)}
        self._is_own = functools.lru_cache(64)(self._looks_own)
        self._pending = 0
        metrics.pending.set_function(lambda: self._pending)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, self._limits, self._reserve)
        answer = _Answer(scope, receive, send)
        # Use the first of several headers with the same name.
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        try:
            self._check(scope, headers)
            body.announced(headers.get(b"content-length"))
            await self._app(scope, body.receive, answer.send)
        except RequestError as error:
            await answer.refuse(error, body.is_read)
        except HTTPException as error:
            await answer.refuse(RequestError(error.status_code, error.detail), body.is_read, error.headers)
        except ClientDisconnect:
            pass  # the client has disconnected
        except Exception as error:
            words = f"This is a bug in zoo ({type(error).__name__}); see the log of the server"
            await answer.refuse(RequestError(500, words), body.is_read)
            raise
        finally:
            self._pending -= body.size

    def _reserve(self, size: int) -> None:
        if self._pending + size > self._limits.max_pending_mb * 1e6:
            raise busy("Too many request bodies are in memory")
        self._pending += size

    def _check(self, scope: Scope, headers: dict[bytes, str]) -> None:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            asked = ", ".join(hosts)[:200]
            raise RequestError(421, f"Unknown host name {asked!r}. Start the server with hosts=NAME to allow it")
        origin = headers.get(b"origin")
        foreign = headers.get(b"sec-fetch-site") in ("cross-site", "same-site") and scope["path"] not in PAGE
        if foreign or (origin is not None and origin.partition("://")[2].lower() != hosts[0].lower()):
            raise RequestError(403, "Pages of other servers may not use this one")
        if self._token is not None and scope["path"] not in (*OPEN, *PAGE):
            kind, _, token = headers.get(b"authorization", "").partition(" ")
            wanted = self._token.encode()
            if kind.lower() != "bearer" or not hmac.compare_digest(token.strip().encode("utf-8", "replace"), wanted):
                raise RequestError(401, "The token is missing or wrong: Authorization: Bearer TOKEN")

    def _looks_own(self, host: str) -> bool:
        """Return whether a Host header names this server, which blocks DNS rebinding by other sites."""
        try:
            parts = urlsplit(f"//{host}")
            name = parts.hostname or ""
            if parts.port is None and not host.lower().endswith(name + "]" * ("]" in host)):  # raises for :abc
                return False
            if name in self._names:
                return True
            return not self._limits.is_loopback and bool(ipaddress.ip_address(name))
        except ValueError:
            return False


class _Body:
    """The body of a request; its bytes are counted as they arrive."""

    def __init__(self, receive: Receive, limits: ServeConfig, reserve: Callable[[int], None]) -> None:
        self._receive, self._reserve = receive, reserve
        self._most, self._read, self.size = int(limits.max_body_mb * 1e6), 0, 0
        self._seconds, self.is_read = min(BODY_S, limits.timeout_s), False

    def announced(self, length: str | None) -> None:
        """Count the bytes that the header announces."""
        if length is not None and length.isdecimal():
            self._take(int(length))

    async def receive(self) -> Message:
        if self.is_read:
            return await self._receive()
        try:
            async with asyncio.timeout(self._seconds):
                message = await self._receive()
        except TimeoutError:
            raise RequestError(408, f"The body did not arrive within {self._seconds:g} s") from None
        except asyncio.CancelledError:
            raise RequestError(503, "The server stopped before the body arrived") from None
        self._read += len(message.get("body", b""))
        if self._read > self.size:
            self._take(self._read - self.size)
        self.is_read = not message.get("more_body")
        return message

    def _take(self, size: int) -> None:
        if self.size + size > self._most:
            raise RequestError(413, f"The body is larger than {self._most:,} bytes")
        self._reserve(size)
        self.size += size


class _Answer:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send, self._begun = scope, receive, send, False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            message["headers"] = [*message["headers"], *HEADERS]
        await self._send(message)

    async def refuse(self, error: RequestError, is_read: bool, more: Mapping[str, str] | None = None) -> None:
        """Send an error with ``more`` headers, unless a response has begun.

        If the request was not read completely (``is_read``), the connection may have to close.
        """
        if self._begun:
            return
        answer = Response(json.dumps({"error": error.message}), error.status, more, "application/json")
        if error.retry_after is not None:
            answer.headers["retry-after"] = str(error.retry_after)
        if error.status == 401:
            answer.headers["www-authenticate"] = "Bearer"
        if error.status in (408, 413, 429) and not is_read:
            answer.headers["connection"] = "close"
        await answer(self._scope, self._receive, self.send)
