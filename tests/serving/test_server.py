"""The server, from outside: what it answers, what it refuses, and how it survives its worker."""

import base64
import contextlib
import io
import json
import re
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
import requests
from PIL import Image

from tests.support import serving
from tests.support.serving import Server
from tests.support.serving_worker import DIES, HANGS, REFUSED

RAW = {"content-type": "application/octet-stream"}


def _png(size: tuple[int, int] = (40, 30), color: str = "teal") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, "PNG")
    return out.getvalue()


def _raw(first: int, count: int = 1) -> bytes:
    return (bytes([first]) + bytes(32 * 32 * 3 - 1)) * count


LIMITS = ["hang_s=1", "max_queue=40", "max_body_mb=1", "max_pending_mb=3", "max_megapixels=1", "max_characters=500",
          "max_streams=3", "timeout_s=20"]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("serving")
    with serving.serving(folder, [*serving.make_runs(folder / "runs"), *LIMITS]) as running:
        yield running


@pytest.fixture(autouse=True)
def _ready(request: pytest.FixtureRequest) -> None:
    """Begin each test with workers that are ready."""
    if "server" in request.fixturenames:
        _wait_until_ready(request.getfixturevalue("server"))


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + 20
    while server.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _until_waiting(server: Server, model: str, count: int) -> None:
    deadline = time.monotonic() + 30
    while f'zoo_waiting_items{{model="{model}"}} {count}.0' not in server.get("/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def _writes_at_once(server: Server) -> None:
    """Whether the texts before, of 4 s each, were given up."""
    _until_waiting(server, "play", 0)
    body = {"instances": ["to"], "parameters": {"length": 3}}
    assert requests.post(f"{server.address}/v1/models/play:predict", json=body, timeout=10).status_code == 200


def test_raw_pixels_are_answered_in_their_order(server: Server) -> None:
    answer = server.post("photos", data=b"".join(_raw(number) for number in (3, 8, 1)), headers=RAW)
    assert answer.status_code == 200, answer.text
    assert [row["class"] for row in answer.json()["predictions"]] == ["class 3", "class 8", "class 1"]


@pytest.mark.parametrize("way", ["b64", "nested", "plain", "form", "body", "curl"])
def test_a_picture_may_be_sent_in_every_usual_way(server: Server, way: str) -> None:
    picture = _png(color="#040000")
    text = base64.b64encode(picture).decode()
    match way:
        case "form":
            answer = server.post("photos", files={"file": ("a.png", picture)})
        case "body":
            answer = server.post("photos", data=picture, headers={"content-type": "image/png"})
        case "curl":
            kind = {"content-type": "application/x-www-form-urlencoded"}
            answer = server.post("photos", data=json.dumps({"instances": [{"b64": text}]}), headers=kind)
        case _:
            instance = {"b64": {"b64": text}, "nested": {"image_bytes": {"b64": text}}, "plain": text}[way]
            answer = server.post("photos", json={"instances": [instance]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["predictions"][0]["class"] == "class 4"


def test_pixels_may_be_sent_as_numbers(server: Server) -> None:
    pixels = np.full((28, 28), 6).tolist()
    answer = server.post("digits", json={"instances": [pixels], "parameters": {"probabilities": True}})
    prediction = answer.json()["predictions"][0]
    assert (prediction["class"], len(prediction["probabilities"])) == ("class 6", 10)
    for wrong, words in ((np.full((28, 28), "6"), "numbers"), (np.ones((28, 28), bool), "numbers"),
                         (np.full((28, 28), 0.5), "from 0 to 255; these are from 0 to 1")):  # fmt: skip
        refused = server.post("digits", json={"instances": [wrong.tolist()]})
        assert (refused.status_code, f"Pixels must be {words}" in refused.text) == (400, True)


def test_a_text_is_answered(server: Server) -> None:
    answer = server.post("reviews", json={"instances": ["a good film", {"text": "bad bad"}]})
    assert [row["class"] for row in answer.json()["predictions"]] != []
    assert server.post("reviews", json={"instances": [" "]}).status_code == 422


def test_a_text_is_written_on_and_streamed(server: Server) -> None:
    address = f"{server.address}/v1/models/play:generate"
    with requests.post(address, json={"prompt": "to be", "length": 20}, stream=True, timeout=20) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines(decode_unicode=True) if line]
    assert lines[0] == 'data: {"text": "0 "}'
    assert lines[-2:] == ["event: done", "data: {}"]
    whole = server.post("play", json={"instances": ["to be"], "parameters": {"length": 3}}).json()
    assert whole == {"predictions": [{"text": "0 1 2 "}]}


def test_who_stops_listening_frees_the_writer(server: Server) -> None:
    address, began = f"{server.address}/v1/models/play:generate", time.monotonic()
    for _ in range(6):
        with requests.post(address, json={"prompt": "to", "length": 2000}, stream=True, timeout=20) as answer:
            assert answer.status_code == 200, answer.text
            next(answer.iter_lines())
    _writes_at_once(server)
    assert time.monotonic() - began < 20  # to its end each text takes 4 s


def test_who_leaves_before_a_text_is_complete_frees_the_writer(server: Server) -> None:
    address = f"{server.address}/v1/models/play:predict"
    for _ in range(6):
        with pytest.raises(requests.exceptions.Timeout):
            requests.post(address, json={"instances": ["to"], "parameters": {"length": 2000}}, timeout=0.2)
    _writes_at_once(server)


def test_numbers_of_a_form_are_read_as_numbers(server: Server) -> None:
    form = {"length": (None, "3"), "temperature": (None, "0.5"), "text": ("prompt.txt", "to be")}
    assert server.post("play", files=form).json() == {"predictions": [{"text": "0 1 2 "}]}
    answer = server.post("play", files=form | {"temperature": (None, "warm")})
    assert (answer.status_code, "got warm" in answer.text) == (400, True)


def test_more_texts_than_may_be_written_are_refused(server: Server) -> None:
    ask = {"instances": ["to be"], "parameters": {"length": 300}}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.post("play", json=ask), range(8)))
    codes = [answer.status_code for answer in answers]
    assert set(codes) == {200, 429}
    assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 429)


BROKEN = [
    ("photos", {"data": b"{", "headers": {"content-type": "application/json"}}, 400),
    ("photos", {"data": b"[" * 100_000, "headers": {"content-type": "application/json"}}, 400),
    ("photos", {"json": []}, 400),
    ("photos", {"json": {"instances": []}}, 400),
    ("photos", {"json": {"instances": [0] * 129}}, 400),
    ("photos", {"json": {"instances": [None]}}, 400),
    ("photos", {"json": {"instances": [{"b64": "?"}]}}, 400),
    ("photos", {"json": {"instances": [[[1, 2], [3]]]}}, 400),
    ("photos", {"json": {"instances": [{"b64": "aGVsbG8="}]}}, 422),
    ("photos", {"data": b"hello", "headers": {"content-type": "image/png"}}, 422),
    ("photos", {"data": _png()[:60], "headers": {"content-type": "image/png"}}, 422),
    ("photos", {"data": b"", "headers": {"content-type": "image/png"}}, 422),
    ("photos", {"data": b"12345", "headers": RAW}, 400),
    ("photos", {"data": b"12345", "headers": {"content-type": "multipart/form-data; boundary=x"}}, 400),
    ("photos", {"data": b"12345", "headers": {"content-type": "multipart/form-data"}}, 400),
    ("photos", {"data": b"hello", "headers": {"content-type": "text/html"}}, 415),
    ("photos", {"data": _raw(REFUSED), "headers": RAW}, 422),
    ("photos", {"data": bytes(1_000_001), "headers": RAW}, 413),
    ("reviews", {"json": {"instances": ["x" * 501]}}, 413),
    ("reviews", {"json": {"instances": [["a"]]}}, 400),
    ("reviews", {"json": {"instances": ["", ""]}}, 422),
    ("photos", {"json": {"instances": [{"b64": "aGVsbG8="}, {"b64": "aGVsbG8="}]}}, 422),
    ("play", {"json": {"instances": ["XYZ"]}}, 422),
    ("play", {"json": {"instances": ["to"], "parameters": {"length": 10**9}}}, 400),
    ("play", {"json": {"instances": ["to"], "parameters": {"lenght": 3}}}, 400),
    ("play", {"json": {"instances": ["to"], "length": 3}}, 400),
    ("play", {"json": {"instances": [{"prompt": "to", "len": 3}]}}, 400),
    ("play", {"json": {"instances": ["to"], "parameters": {"temperature": float("1e300")}}}, 400),
    ("nobody", {"json": {"instances": [1]}}, 404),
]  # fmt: skip


@pytest.mark.parametrize(("model", "request_", "status"), BROKEN, ids=[str(row)[:60] for row in BROKEN])
def test_what_is_broken_is_refused_with_its_reason(
    server: Server, model: str, request_: dict[str, object], status: int
) -> None:
    answer = server.post(model, **request_)
    assert (answer.status_code, list(answer.json())) == (status, ["error"]), answer.text
    assert len(answer.json()["error"]) > 10


def test_a_bad_instance_among_others_is_named(server: Server) -> None:
    answer = server.post("photos", json={"instances": [[[1, 2], [3]], {"b65": "aGVsbG8="}]})
    assert (answer.status_code, answer.json()["error"][:13]) == (400, "instances[0]:")
    answer = server.post("reviews", json={"instances": ["fine", {"text": "fine", "size": 5}]})
    assert (answer.status_code, answer.json()) == (400, {"error": "instances[1]: Unknown key 'size'; known: text"})


def test_a_picture_that_claims_too_many_pixels_is_refused(server: Server) -> None:
    answer = server.post("photos", data=_png((2000, 1000)), headers={"content-type": "image/png"})
    assert (answer.status_code, "more than 1,000,000 pixels" in answer.text) == (422, True)


def test_a_body_of_unknown_length_is_counted_as_it_comes(server: Server) -> None:
    answer = server.post("photos", data=(bytes(100_000) for _ in range(30)), headers=RAW)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:80"}, 421),
        ({"host": "127.0.0.1:abc"}, 421),
        ({"host": "127.0.0.1:99999"}, 421),
        ({"host": "localhost:80"}, 200),
        ({"host": "LOCALHOST"}, 200),
        ({"host": "127.0.0.1@evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_other_names_and_pages_of_others_are_refused(server: Server, headers: dict[str, str], status: int) -> None:
    assert server.get("/v1/models", headers=headers).status_code == status


def test_the_page_needs_nothing_from_outside(server: Server) -> None:
    page = server.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for path in ("/", "/page.css", "/page.js", "/docs", "/docs.js"):
        text = server.get(path).text
        assert text
        assert "://" not in text.replace("http://www.w3.org", "")
    assert "access-control-allow-origin" not in page.headers


def test_a_worker_that_dies_is_started_again_and_its_request_is_answered(server: Server) -> None:
    answer = server.post("photos", data=_raw(DIES), headers=RAW)
    assert (answer.status_code, "exit status 7" in answer.text) == (503, True)
    assert answer.headers["retry-after"]
    assert server.post("photos", data=_raw(2), headers=RAW).status_code == 200


def test_a_worker_that_hangs_is_started_again(server: Server) -> None:
    answer = server.post("photos", data=_raw(HANGS), headers=RAW)
    assert (answer.status_code, "did not answer within 1 s" in answer.text) == (503, True)
    assert server.post("photos", data=_raw(2), headers=RAW).status_code == 200


def test_no_request_is_lost_while_workers_are_killed(server: Server) -> None:
    """Every request under load is answered: by the model, or with a status that says when to come again."""
    codes: list[int] = []
    over = threading.Event()

    def ask() -> None:
        session = requests.Session()
        while not over.is_set():
            url = f"{server.address}/v1/models/photos:predict"
            codes.append(session.post(url, data=_raw(5), headers=RAW, timeout=30).status_code)

    def until_answered() -> None:
        before, deadline = codes.count(200), time.monotonic() + 60
        while codes.count(200) < before + 5:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    with ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(ask) for _ in range(6)]
        try:
            for _ in range(5):
                until_answered()
                killed = [
                    child
                    for child in psutil.Process(server.process.pid).children(recursive=True)
                    if "serving_worker.py" in " ".join(child.as_dict(["cmdline"], ad_value="")["cmdline"] or ())
                ]
                for child in killed:
                    child.kill()
                # Until the server has waited for it, it is a zombie, which has no command line.
                assert not psutil.wait_procs(killed, timeout=60)[1]
            until_answered()
        finally:
            over.set()
        for task in tasks:
            task.result()
    assert set(codes) <= {200, 429, 503}


def test_a_full_batch_does_not_wait_for_more(tmp_path: Path) -> None:
    """One image waits for others for ten seconds; those that fill its batch start it at once."""
    run = serving.make_runs(tmp_path / "runs")[1]
    with (
        serving.serving(tmp_path, [run, "max_wait_ms=10000", "max_batch=4"]) as running,
        ThreadPoolExecutor(1) as pool,
    ):
        began = time.monotonic()
        first = pool.submit(running.post, "photos", data=_raw(1), headers=RAW)
        _until_waiting(running, "photos", 1)
        assert running.post("photos", data=_raw(2, 3), headers=RAW).status_code == 200
        assert first.result().status_code == 200
        assert time.monotonic() - began < 8


def test_a_full_queue_is_answered_with_429(server: Server) -> None:
    hanging = threading.Thread(target=server.post, args=("photos",), kwargs={"data": _raw(HANGS), "headers": RAW})
    hanging.start()
    time.sleep(0.5)  # of the second after which it is ended
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: server.post("photos", data=_raw(1, 10), headers=RAW), range(10)))
    hanging.join()
    assert {answer.status_code for answer in answers} >= {429}
    assert {answer.status_code for answer in answers} <= {200, 429, 503}


def test_more_items_than_may_ever_wait_are_not_asked_for_again(server: Server) -> None:
    answer = server.post("photos", data=_raw(1, 41), headers=RAW)
    assert (answer.status_code, "retry-after" in answer.headers) == (413, False)
    assert "accepts at most 40" in answer.text


def test_bodies_beyond_the_memory_for_them_are_answered_with_429(server: Server) -> None:
    """Three slow clients announce a megabyte each; a fourth finds no room until they are gone."""
    host, port = server.address.removeprefix("http://").split(":")
    head = (
        f"POST /v1/models/photos:predict HTTP/1.1\r\nHost: {host}\r\ncontent-type: application/octet-stream\r\n"
        "content-length: 990000\r\n\r\n"
    )
    slow = [socket.create_connection((host, int(port))) for _ in range(3)]
    for connection in slow:
        connection.sendall(head.encode())
    _until_answered_with(429, server, bytes(100_000))
    for connection in slow:
        connection.close()
    _until_answered_with(200, server, _raw(1))


def _until_answered_with(code: int, server: Server, data: bytes) -> None:
    """What slow clients send or give up arrives when the machine gets to it."""
    deadline = time.monotonic() + 20
    while (answer := server.post("photos", data=data, headers=RAW)).status_code != code:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.05)


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"GET /healthz HTTP/1.1\r\nx-slow: ",
        b"POST /v1/models/photos:predict HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n",
    ],
)  # fmt: skip
def test_slow_connections_do_not_keep_others_out(server: Server, sent: bytes) -> None:
    """More connections without a whole request than the server keeps; each new one replaces the oldest of them."""
    host, port = server.address.removeprefix("http://").split(":")
    with contextlib.ExitStack() as idle:
        for _ in range(1200):
            connection = idle.enter_context(socket.create_connection((host, int(port))))
            with contextlib.suppress(OSError):
                connection.sendall(sent)
        answers = [requests.get(f"{server.address}/healthz", timeout=5).status_code for _ in range(5)]
        assert answers == [200] * 5
        assert server.post("photos", data=_raw(1), headers=RAW).status_code == 200


def test_figures_and_states_are_told(server: Server) -> None:
    server.post("photos", data=_raw(1), headers=RAW)
    text = server.get("/metrics").text
    assert 'zoo_requests_total{model="photos",status="200"}' in text
    assert 'zoo_worker_ready{model="photos"} 1.0' in text
    memory = re.search(r'^zoo_worker_memory_bytes{model="photos"} (\S+)$', text, re.MULTILINE)
    assert memory is not None
    assert 5e6 < float(memory[1]) < 1e10
    assert server.get("/healthz").json() == {"status": "ok"}
    row = server.get("/v1/models/photos").json()
    assert row["model_version_status"][0]["state"] == "AVAILABLE"
    assert row["device"]["name"] == "fake:0"


def test_a_network_that_comes_with_the_zoo_is_served(tmp_path: Path) -> None:
    with serving.serving(tmp_path, ["model=mnist", "weights=zoo"]) as running:
        row = running.get("/v1/models/mnist").json()
        assert (row["classes"][0], row["drawn"], row["input"]) == ("0", True, [28, 28, 1])
        assert running.post("mnist", data=bytes(28 * 28), headers=RAW).status_code == 200


def test_beyond_this_computer_a_token_is_needed(tmp_path: Path) -> None:
    runs = serving.make_runs(tmp_path / "runs")
    with serving.serving(tmp_path, [runs[1], "host=0.0.0.0", "token=secret"]) as running:
        address = running.address.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        assert requests.get(f"{address}/v1/models", timeout=20).status_code == 401
        assert requests.get(f"{address}/", timeout=20).status_code == 200
        for token, status in (("secret", 200), ("secre", 401), ("", 401)):
            headers = {"authorization": f"Bearer {token}"}
            assert requests.get(f"{address}/v1/models", headers=headers, timeout=20).status_code == status


def test_what_is_in_hand_is_finished_after_sigterm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = serving.make_runs(tmp_path / "runs")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with serving.serving(tmp_path, [runs[3]]) as running:
        with ThreadPoolExecutor(1) as pool:
            ask = {"instances": ["to"], "parameters": {"length": 2000}}
            answer = pool.submit(running.post, "play", json=ask)
            _until_waiting(running, "play", 1)
            running.process.send_signal(signal.SIGTERM)
            assert answer.result().json()["predictions"][0]["text"].endswith("1999 ")
        assert running.process.wait(20) == 0
        assert not list(Path(tempfile.gettempdir()).glob("zoo-serve-*"))


def test_a_server_whose_output_nobody_reads_goes_on_and_can_be_stopped(tmp_path: Path) -> None:
    run = serving.make_runs(tmp_path / "runs")[1]
    process, address = serving.started(tmp_path, [run])
    assert process.stdout is not None
    process.stdout.close()
    url = f"{address}/v1/models/photos:predict"
    assert requests.post(url, data=_raw(DIES), headers=RAW, timeout=20).status_code == 503
    assert requests.post(url, data=_raw(2), headers=RAW, timeout=20).status_code == 200
    process.send_signal(signal.SIGTERM)
    process.wait(20)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([], "No model is named"),
        (["model=net.py", "weights=w.npz"], "There is no file or folder net.py"),
        (["prt=1"], "did you mean 'port'"),
        (["run=nowhere"], "nowhere"),
        (["run=a", "port=x"], "port must be a whole number"),
        (["run=a", "max_batch=0"], "max_batch must be from 1"),
        (["run=a", "host=0.0.0.0", "token=none"], "token=none is for 127.0.0.1 only"),
        (["run=a", "max_batch=0", "timeout_s=-1"], "timeout_s"),
        (["run=runs/digits", "name=a/b"], "cannot be part of a URL"),
        (["run=runs/digits", "launcher=ssh"], "launcher=ssh has no effect on a server"),
        (["run=runs/digits", "launcher.jobs=3"], "launcher.jobs=3 has no effect on a server"),
        (["run=runs/digits", "input=photo.png"], "input=photo.png has no effect on a server"),
        (["run=runs/digits", "batch_size=8"], "batch_size=8 has no effect on a server"),
        (["run=runs/digits", "output.name=me"], "output.name=me has no effect on a server"),
        (["run=runs/digits", "sheets=3"], "sheets=3 has no effect on a server"),
        (["run=runs/digits", "shets=3"], "did you mean 'sheets'"),
        (["run=runs/digits", "name=a", "run=runs/photos", "name=a"], "is the name of another model"),
        (["run=runs/digits", "host=no.such.host.invalid"], "Cannot listen on"),
    ],
)
def test_wrong_settings_are_told_in_words(
    tmp_path: Path, settings: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving.make_runs(tmp_path / "runs")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(AssertionError) as caught, serving.serving(tmp_path, settings):
        pass
    assert words in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert not list(tmp_path.glob("zoo-serve-*"))


def test_a_worker_that_cannot_start_stops_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = serving.make_runs(tmp_path / "runs")
    monkeypatch.setenv("FAKE_WORKER", "broken")
    with pytest.raises(AssertionError, match="it does not work"), serving.serving(tmp_path, [runs[0]]):
        pass
