"""zoo.core.download, against a server on this machine that misbehaves on request."""

import hashlib
import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import CHECKOUT
from zoo.core import download
from zoo.core.errors import ZooError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HALF = len(CONTENT) // 2


class Site:
    """What the server does with each path, and what it was asked."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[tuple[str, str | None]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    site: Site

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        kind, wanted = self.path.strip("/"), self.headers["Range"]
        self.site.asked.append((kind, wanted))
        behave: Callable[[str | None], None] = getattr(self, f"serve_{kind}", self.serve_missing)
        behave(wanted)

    def send(self, body: bytes, status: int = 200, announced: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def serve_good(self, wanted: str | None) -> None:
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if start >= len(CONTENT):
            self.send(b"", 416)
        elif wanted:
            span = f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
            self.send(CONTENT[start:], 206, Content_Range=span)
        else:
            self.send(CONTENT)

    def serve_fragile(self, wanted: str | None) -> None:
        """Breaks off in the middle, unless it is asked to go on."""
        if wanted:
            self.serve_good(wanted)
        else:
            self.send(CONTENT[:HALF], announced=len(CONTENT))

    def serve_broken(self, _: str | None) -> None:
        self.send(CONTENT[:HALF], announced=len(CONTENT))

    def serve_rangeless(self, _: str | None) -> None:
        self.send(CONTENT)

    def serve_liar(self, wanted: str | None) -> None:
        """Sends another part than was asked for."""
        assert wanted
        self.send(CONTENT[:10], 206, Content_Range=f"bytes 0-9/{len(CONTENT)}")

    def serve_other(self, _: str | None) -> None:
        self.send(CONTENT[::-1])

    def serve_shorter(self, _: str | None) -> None:
        self.send(b"a page that says: log in to this network first")

    def serve_encoded(self, _: str | None) -> None:
        self.send(CONTENT, Content_Encoding="gzip")

    def serve_away(self, _: str | None) -> None:
        self.send(b"", 302, Location="http://192.0.2.1/file")

    def serve_silent(self, _: str | None) -> None:
        time.sleep(1.0)

    def serve_slow(self, _: str | None) -> None:
        time.sleep(0.5)
        self.send(CONTENT)

    def serve_endless(self, _: str | None) -> None:
        """Does not say how long the file is."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(CONTENT)

    def serve_unsatisfiable(self, _: str | None) -> None:
        self.send(b"", 416)

    def serve_missing(self, _: str | None) -> None:
        self.send(b"no", 404)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.site = Site(server.server_address[1])
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield Handler.site
    server.shutdown()
    server.server_close()


def get(site: Site, folder: Path, *kinds: str, size: int | None = None) -> Path:
    return download.fetch("file.gz", [site.url(kind) for kind in kinds], SHA256, folder, size)


def test_fetches_once(site: Site, tmp_path: Path) -> None:
    path = get(site, tmp_path / "new", "good", size=len(CONTENT))
    assert path == tmp_path / "new" / "file.gz"
    assert path.read_bytes() == CONTENT
    assert get(site, tmp_path / "new", "good") == path
    assert site.asked == [("good", None)]
    assert not list(path.parent.glob("*.part"))


def test_goes_on_after_a_broken_connection(site: Site, tmp_path: Path) -> None:
    assert get(site, tmp_path, "fragile").read_bytes() == CONTENT
    assert site.asked == [("fragile", None), ("fragile", f"bytes={HALF}-")]


def test_goes_on_in_a_later_call_from_another_mirror(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="the connection was interrupted"):
        get(site, tmp_path, "broken")
    assert (tmp_path / "file.gz.part").stat().st_size == HALF
    assert get(site, tmp_path, "good").read_bytes() == CONTENT
    assert site.asked[-1] == ("good", f"bytes={HALF}-")


@pytest.mark.parametrize("kept", [CONTENT[:HALF], b"garbage", CONTENT + b"x"])
@pytest.mark.parametrize("kind", ["good", "rangeless"])
def test_what_was_kept_never_spoils_the_file(site: Site, tmp_path: Path, kind: str, kept: bytes) -> None:
    (tmp_path / "file.gz.part").write_bytes(kept)
    assert get(site, tmp_path, kind).read_bytes() == CONTENT


def test_a_whole_part_is_not_sent_again(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file.gz.part").write_bytes(CONTENT)
    assert get(site, tmp_path, "good").read_bytes() == CONTENT
    assert site.asked == [("good", f"bytes={len(CONTENT)}-")]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("other", "it serves another file"),
        ("missing", "HTTP 404"),
        ("broken", "the connection was interrupted"),
        ("shorter", f"46 bytes, not {len(CONTENT):,}"),
        ("away", "redirects to an address that is not https"),
        ("silent", "did not answer|no answer|was interrupted|Remote end closed"),
    ],
)
def test_the_next_mirror_is_asked(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, reason: str
) -> None:
    if kind == "silent":
        monkeypatch.setattr(download, "ANSWER_S", 0.3)
    with pytest.raises(ZooError, match=reason):
        get(site, tmp_path / "alone", kind, size=len(CONTENT))
    assert not (tmp_path / "alone" / "file.gz").exists()
    assert get(site, tmp_path / "both", kind, "good", size=len(CONTENT)).read_bytes() == CONTENT


def test_a_mirror_that_sends_another_part_is_left(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file.gz.part").write_bytes(CONTENT[:HALF])
    assert get(site, tmp_path, "liar", "good").read_bytes() == CONTENT


def test_no_mirror_serves(site: Site, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/file"
        with pytest.raises(ZooError) as caught:
            download.fetch("file.gz", [site.url("missing"), site.url("other"), closed], SHA256, tmp_path)
    assert f"{site.url('missing')}: HTTP 404" in caught.value.message
    assert f"{site.url('other')}: it serves another file" in caught.value.message
    assert f"{closed}: it refused the connection" in caught.value.message
    assert SHA256 in caught.value.remedy


def test_a_name_that_cannot_be_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ZooError, match="could not be resolved"):
        download.fetch("file.gz", ["https://mirror.invalid/file.gz"], SHA256, tmp_path)


def test_stored_bytes_are_kept_as_they_are(site: Site, tmp_path: Path) -> None:
    assert get(site, tmp_path, "encoded").read_bytes() == CONTENT


def test_a_damaged_file_is_fetched_again_and_it_says_so(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file.gz").write_bytes(CONTENT[:100])
    assert get(site, tmp_path, "good").read_bytes() == CONTENT
    assert "is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    ["http://example.org/file", "http://127.0.0.1.example.org/x", "ftp://localhost/x", "https://", "http://[x/"],
)
def test_only_https_is_fetched_from(tmp_path: Path, url: str) -> None:
    with pytest.raises(ZooError, match="is not permitted"):
        download.fetch("file.gz", [url], SHA256, tmp_path)


@pytest.mark.parametrize("name", ["", "..", "../file", "a/b"])
def test_only_bare_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(ZooError, match="bare file name"):
        download.fetch(name, ["https://mirror.invalid/x"], SHA256, tmp_path)


def test_unusable_folders(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ZooError, match="Cannot write"):
        get(site, tmp_path / "file" / "below", "good")
    (tmp_path / "file.gz").mkdir()
    with pytest.raises(ZooError, match="is a folder where a file belongs"):
        get(site, tmp_path, "good")
    assert site.asked == []


def test_full_disk(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(ZooError, match=f"needs {len(CONTENT):,} bytes .* 1,000 are free"):
        get(site, tmp_path, "good", "good")
    assert len(site.asked) == 1


@pytest.mark.parametrize("small_disk", ["20k"], indirect=True)
def test_a_disk_that_fills_up_keeps_no_part(site: Site, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_check_room", lambda *_: None)
    with pytest.raises(ZooError, match="No space left on device"):
        get(site, small_disk, "good")
    assert list(small_disk.glob("*.part")) == []


def test_two_processes_fetch_once(site: Site, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from zoo.core.download import fetch;"
        f"print(fetch('file.gz', [{site.url('slow')!r}], {SHA256!r}, Path({str(tmp_path)!r})))"
    )
    root = CHECKOUT
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=30) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert len(site.asked) == 1
    assert (tmp_path / "file.gz").read_bytes() == CONTENT


def test_an_md5_is_held_against_the_file_where_no_more_is_known(site: Site, tmp_path: Path) -> None:
    md5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    assert download.fetch("file.gz", [site.url("good")], md5, tmp_path).read_bytes() == CONTENT
    with pytest.raises(ZooError, match=f"it serves another file \\(md5 {md5}\\)"):
        download.fetch("other.gz", [site.url("good")], "0" * 32, tmp_path)


def unknown(site: Site, folder: Path, kind: str, size: int | None = None) -> Path:
    return download.fetch("file.gz", [site.url(kind)], None, folder, size)


def test_of_an_unknown_file_only_the_length_tells_whether_it_is_whole(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file.gz.part").write_bytes(CONTENT[::-1][:HALF])  # of an earlier call, perhaps of another file
    assert unknown(site, tmp_path, "good").read_bytes() == CONTENT
    assert site.asked == [("good", None)]
    for kind, words in (
        ("broken", "the connection was interrupted"),
        ("endless", "it does not send the length of the file"),
    ):
        with pytest.raises(ZooError, match=words):
            unknown(site, tmp_path / kind, kind)
    assert unknown(site, tmp_path / "told", "endless", len(CONTENT)).read_bytes() == CONTENT
    with pytest.raises(ZooError, match="was interrupted"):
        unknown(site, tmp_path / "longer", "endless", len(CONTENT) + 1)
    with pytest.raises(ZooError, match=f"it sends more than the {HALF:,} bytes"):
        unknown(site, tmp_path / "shorter", "endless", HALF)


@pytest.mark.parametrize(("kind", "words"), [("unsatisfiable", "HTTP 416"), ("missing", "HTTP 404")])
def test_a_mirror_that_brings_nothing_is_asked_once(site: Site, tmp_path: Path, kind: str, words: str) -> None:
    with pytest.raises(ZooError, match=words):
        get(site, tmp_path, kind)
    assert site.asked == [(kind, None)]


def test_a_disk_with_just_enough_room_is_enough(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": len(CONTENT)}))
    assert get(site, tmp_path, "good").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError("The read operation timed out"), "it did not answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "it refused the connection"),
        (OSError("IncompleteRead(3 bytes read)"), "the connection was interrupted"),
        (OSError("Connection broken: reset"), "the connection was interrupted"),
        (OSError("Failed to resolve 'a'"), "its name could not be resolved"),
        (OSError("something else"), "OSError: something else"),
    ],
)
def test_what_went_wrong_is_told_plainly(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("requests.Session.get", fail)
    with pytest.raises(ZooError, match=words):
        get(site, tmp_path, "good")
