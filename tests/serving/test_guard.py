"""zoo.serving.guard: what is refused before the application sees it, and how."""

import asyncio
import json
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from zoo.config.schemas.serving import ServeConfig
from zoo.serving.errors import RequestError, busy
from zoo.serving.guard import Guard
from zoo.serving.metrics import Metrics


class Case:
    """A guard in front of an application that reads the body and answers with its length."""

    def __init__(self, token: str | None = None, **settings: Any) -> None:
        self.metrics = Metrics()
        self.guard = Guard(self.app, ServeConfig(**settings), token, self.metrics)
        self.error: BaseException | None = None
        self.begins = False
        self.pending = 0.0

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        size = 0
        while True:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        self.pending = self.guard._pending
        if self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
        if self.error:
            raise self.error
        if not self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
        await send({"type": "http.response.body", "body": str(size).encode()})

    def ask(self, path: str = "/v1/models", parts: tuple[bytes, ...] = (b"",), **headers: str) -> tuple[int, Any, Any]:
        """Return status, headers and body of the answer."""
        known = {"host": "localhost"} | {name.replace("_", "-"): value for name, value in headers.items()}
        scope = {
            "type": "http",
            "path": path,
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in known.items()],
        }
        remaining = list(parts)
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            body = remaining.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(remaining)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self.guard(scope, receive, send))  # type: ignore[arg-type]
        if not sent:
            return 0, {}, b""
        answered = dict(sent[0]["headers"])
        return sent[0]["status"], answered, sent[-1].get("body", b"")


def error(body: bytes) -> str:
    return str(json.loads(body)["error"])


def test_an_accepted_request_is_answered_with_headers_of_safety() -> None:
    status, headers, body = Case().ask(parts=(b"ab", b"cde"))
    assert (status, headers[b"x"], body) == (200, b"y", b"5")
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cache-control"] == b"no-store"
    assert b"script-src 'self'" in headers[b"content-security-policy"]


@pytest.mark.parametrize(
    ("settings", "host", "accepted"),
    [
        ({}, "localhost", True),
        ({}, "LOCALHOST:8000", True),
        ({}, "127.0.0.1:8000", True),
        ({}, "[::1]:8000", True),
        ({}, "evil.example.org", False),
        ({}, "10.0.0.7", False),
        ({}, "localhost:abc", False),
        ({}, "localhost@evil.example.org", False),
        ({}, "", False),
        ({"hosts": "gpu.example.org, b"}, "GPU.example.org:80", True),
        ({"hosts": "gpu.example.org, b"}, "b", True),
        ({"hosts": "gpu.example.org, b"}, "c", False),
        ({"host": "0.0.0.0"}, "10.0.0.7", True),  # noqa: S104
        ({"host": "0.0.0.0"}, "evil.example.org", False),  # noqa: S104
    ],
)
def test_only_names_of_this_server_are_accepted(settings: dict[str, str], host: str, accepted: bool) -> None:
    status, _, body = Case(**settings).ask(host=host)
    assert status == (200 if accepted else 421)
    assert accepted or error(body).startswith(f"Unknown host name {host!r}")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/models", {"origin": "http://localhost"}, 200),
        ("/v1/models", {"origin": "http://evil.example.org"}, 403),
        ("/v1/models", {"origin": "null"}, 403),
        ("/v1/models", {"sec_fetch_site": "same-origin"}, 200),
        ("/v1/models", {"sec_fetch_site": "none"}, 200),
        ("/v1/models", {"sec_fetch_site": "cross-site"}, 403),
        ("/v1/models", {"sec_fetch_site": "same-site"}, 403),
        ("/", {"sec_fetch_site": "cross-site"}, 200),
        ("/", {"origin": "http://evil.example.org"}, 403),
    ],
)
def test_pages_of_other_servers_are_refused(path: str, headers: dict[str, str], status: int) -> None:
    assert Case().ask(path, **headers)[0] == status


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/v1/models", "Bearer secret", 200),
        ("/v1/models", "bearer  secret ", 200),
        ("/v1/models", "Bearer secre", 401),
        ("/v1/models", "Basic secret", 401),
        ("/v1/models", "secret", 401),
        ("/v1/models", "Bearer \xfc", 401),
        ("/v1/models", "", 401),
        ("/metrics", "", 401),
        ("/healthz", "", 200),
        ("/readyz", "", 200),
        ("/", "", 200),
        ("/page.js", "", 200),
    ],
)
def test_a_token_is_needed_except_for_pages_and_monitoring(path: str, header: str, status: int) -> None:
    answered, headers, body = Case("secret").ask(path, **({"authorization": header} if header else {}))
    assert answered == status
    if status == 401:
        assert headers[b"www-authenticate"] == b"Bearer"
        assert error(body) == "The token is missing or wrong: Authorization: Bearer TOKEN"


@pytest.mark.parametrize(
    ("parts", "announced", "status"),
    [
        ((b"x" * 1000,), None, 200),
        ((b"x" * 1000,), "1000", 200),
        ((b"x" * 600, b"x" * 400), "0", 200),
        ((b"x",), "1001", 413),
        ((b"x" * 1001,), None, 413),
        ((b"x" * 600, b"x" * 401), None, 413),
        ((b"x" * 600, b"x" * 401), "600", 413),
        ((b"x",), "many", 200),
    ],
)
def test_bodies_are_counted_as_announced_and_as_they_come(
    parts: tuple[bytes, ...], announced: str | None, status: int
) -> None:
    case = Case(max_body_mb=0.001, max_pending_mb=100.0)
    headers = {} if announced is None else {"content_length": announced}
    answered, _, body = case.ask(parts=parts, **headers)
    assert answered == status
    if status == 413:
        assert error(body) == "The body is larger than 1,000 bytes"
    else:
        assert case.pending == max(sum(map(len, parts)), int(announced) if announced and announced.isdigit() else 0)
    assert case.guard._pending == 0


def test_bodies_of_all_requests_share_the_memory() -> None:
    case = Case(max_body_mb=0.001, max_pending_mb=0.001)
    case.guard._pending = 400
    assert case.ask(parts=(b"x" * 600,))[0] == 200
    status, headers, body = case.ask(parts=(b"x" * 601,))
    assert (status, headers[b"retry-after"], error(body)) == (429, b"1", "Too many request bodies are in memory")
    assert case.guard._pending == 400
    assert b"zoo_pending_bytes 400.0" in case.metrics.text()


@pytest.mark.parametrize(
    ("raised", "status", "headers"),
    [
        (RequestError(422, "no picture"), 422, {}),
        (busy("no picture"), 429, {b"retry-after": b"1"}),
        (HTTPException(405, "no picture", {"Allow": "POST"}), 405, {b"allow": b"POST"}),
    ],
)
def test_errors_of_the_application_are_answers(raised: Exception, status: int, headers: dict[bytes, bytes]) -> None:
    case = Case()
    case.error = raised
    answered, sent, body = case.ask()
    assert (answered, error(body), sent[b"content-type"]) == (status, "no picture", b"application/json")
    assert sent[b"content-length"] == str(len(body)).encode()
    assert headers.items() <= sent.items()
    assert b"connection" not in sent  # the body was read
    assert (b"retry-after" in sent) is (status == 429)


def test_a_bug_is_an_answer_and_raised_for_the_log() -> None:
    case = Case()
    case.error = KeyError("x")
    with pytest.raises(KeyError):
        case.ask()
    case.error = ClientDisconnect()
    assert case.ask() == (0, {}, b"")


def test_an_answer_that_has_begun_is_not_replaced() -> None:
    case = Case()
    case.begins, case.error = True, RequestError(422, "late")
    status, _, body = case.ask()
    assert (status, body) == (200, b"")


def test_several_host_headers_are_refused() -> None:
    case = Case()
    scope = {"type": "http", "path": "/", "headers": [(b"host", b"localhost"), (b"host", b"localhost")]}
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(case.guard(scope, None, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 421


@pytest.mark.parametrize(("parts", "closes"), [((b"x" * 600, b"x" * 401, b""), True), ((b"x" * 1001,), True)])
def test_a_connection_closes_where_the_rest_of_a_body_is_not_read(parts: tuple[bytes, ...], closes: bool) -> None:
    _, headers, _ = Case(max_body_mb=0.001).ask(parts=parts)
    assert (headers.get(b"connection") == b"close") is closes


@pytest.mark.parametrize(("most", "timeout_s"), [(0.01, 30.0), (60.0, 0.01)])
def test_a_body_that_does_not_arrive_is_refused(monkeypatch: pytest.MonkeyPatch, most: float, timeout_s: float) -> None:
    """After the shorter of a minute and timeout_s; until then, its announced size counts."""
    monkeypatch.setattr("zoo.serving.guard.BODY_S", most)
    case = Case(timeout_s=timeout_s)
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(10)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/v1/models", "headers": [(b"host", b"localhost")]}
    asyncio.run(case.guard(scope, receive, send))
    assert (sent[0]["status"], error(sent[1]["body"])) == (408, "The body did not arrive within 0.01 s")
    assert dict(sent[0]["headers"])[b"connection"] == b"close"


def test_a_stop_before_the_body_arrived_is_answered() -> None:
    case, sent = Case(), list[Any]()

    async def receive() -> Any:
        await asyncio.sleep(10)

    async def send(message: Any) -> None:
        sent.append(message)

    async def stopped() -> None:
        scope = {"type": "http", "path": "/v1/models", "headers": [(b"host", b"localhost")]}
        task = asyncio.create_task(case.guard(scope, receive, send))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    asyncio.run(stopped())
    assert (sent[0]["status"], error(sent[1]["body"])) == (503, "The server stopped before the body arrived")
