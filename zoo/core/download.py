"""Download a file once, from the first mirror that answers, and verify its checksum before use."""

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from zoo.core import console, planning
from zoo.core.errors import ZooError
from zoo.core.files import FULL, file_digest, locked, remove, storage_error, storage_errors

if TYPE_CHECKING:
    import requests

T = TypeVar("T")
CONNECT_S = 5.0
READ_S = 20.0
# A name lookup, or a host with many addresses, can take many times the connection timeout.
ANSWER_S = 8.0
TRIES = 4
CHUNK = 1 << 16
LOOPBACK = ("localhost", "127.0.0.1")


class _MirrorError(Exception):
    """The reason why a mirror failed; the next mirror is tried."""


def fetch(name: str, urls: Sequence[str], sha256: str | None, folder: Path, size: int | None = None) -> Path:
    """Return ``folder/name``, downloaded from the first of ``urls`` that serves it unless it already exists.

    A broken transfer resumes where it stopped, also in a later call. The file gets its name after its checksum is
    verified.

    Args:
        urls: full address of the file on each mirror, best first; https, or http on this machine.
        sha256: expected checksum in lower-case hexadecimal; 32 digits mean MD5, the only checksum published for some
            files. None: the caller verifies the file; the mirror must then send its length, and a broken transfer
            resumes within this call only.
        size: in bytes, if known; a mirror that announces or sends another size is skipped.
    """
    if Path(name).name != name or name in ("", ".", ".."):
        raise ZooError(f"{name!r} is not a bare file name", "Name the file without a folder.")
    if not urls:
        raise ZooError(f"No mirror is named for {name}", "Add at least one https address.")
    for url in urls:
        if not _permitted(url):
            raise ZooError(f"The mirror {url!r} is not permitted", "Mirrors must begin with https:// and a host.")
    target = folder / name
    if _intact(target, sha256):
        return target
    planning.stop(f"{name} is not downloaded yet")
    with locked(folder / f".{name}.lock", f"fetches {name}"):
        if _intact(target, sha256):
            return target
        if target.exists():
            console.warn(f"{target} is damaged (its checksum is not the published one); downloading it again")
        if sha256 is None:  # without a checksum, a part from an earlier call may belong to another file
            remove(target.with_name(f"{name}.part"))
        return _from_mirrors(target, urls, sha256, size)


def unreachable(url: str) -> str:
    """Return why a server does not answer a request, or an empty text if it does."""
    with _session(url) as session:
        try:
            _answer(session, url, 0).close()
        except _MirrorError as error:
            return "" if str(error).startswith("HTTP ") else str(error)
    return ""


def noted(note: Path) -> str | None:
    """Return the checksum in a file, or None if it does not exist."""
    try:
        return note.read_text(encoding="ascii").strip() if note.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        raise storage_error("read", note, error) from error


def _kind(checksum: str) -> str:
    return "md5" if len(checksum) == 32 else "sha256"


def _permitted(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK))


def _intact(path: Path, sha256: str | None) -> bool:
    with storage_errors("read", path):
        if path.is_dir():
            raise ZooError(f"{path} is a folder where a file belongs", "Move it away and repeat.")
        return path.exists() and (sha256 is None or file_digest(path, _kind(sha256)) == sha256)


def _from_mirrors(target: Path, urls: Sequence[str], sha256: str | None, size: int | None) -> Path:
    part = target.with_name(f"{target.name}.part")
    reasons = []
    for url in urls:
        try:
            _from_mirror(url, part, sha256, size)
            os.replace(part, target)
            return target
        except _MirrorError as reason:
            reasons.append(f"  {url}: {reason}")
        except OSError as error:
            if error.errno in FULL:  # a kept part would take up space on a full disk
                remove(part)
            raise storage_error("write", target, error) from error
    raise ZooError(
        f"{target.name} could not be downloaded:\n" + "\n".join(reasons),
        f"Check the network and try again, or put the file there yourself: {target}{_words(sha256)}.",
    )


def _words(checksum: str | None) -> str:
    return f" ({_kind(checksum)} {checksum})" if checksum else ""


def _from_mirror(url: str, part: Path, sha256: str | None, size: int | None) -> None:
    """Complete ``part`` from one mirror: retry while each try adds bytes, and restart if the content is wrong."""
    for tries_left in reversed(range(TRIES)):
        before = _length(part)
        try:
            whole = _transfer(url, part, before, size, unknown=sha256 is None)
        except _MirrorError:
            if tries_left and _length(part) > before:
                continue
            raise
        checksum = None if sha256 is None else file_digest(part, _kind(sha256))
        if checksum == sha256:
            return
        part.unlink()
        if whole:
            raise _MirrorError(f"it serves another file{_words(checksum)}")
    raise _MirrorError("the part from an earlier transfer does not match its file")


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _transfer(url: str, part: Path, offset: int, size: int | None, unknown: bool) -> bool:
    """Append the missing bytes to ``part``; return True if the mirror ignored Range and sent the whole file."""
    import urllib3

    with _session(url) as session, contextlib.closing(_answer(session, url, offset)) as response:
        if response.status_code == 416:
            return False  # the part is complete; the checksum decides
        offset = _start(response, offset)
        total = _total(response, offset, size)
        if unknown and total is None:
            raise _MirrorError("it does not send the length of the file, so a truncated file could not be detected")
        _check_room(part, offset, total)
        label = f"Downloading {part.stem} from {urlsplit(url).hostname}"
        with part.open("ab" if offset else "wb") as stream, console.bar(label, total, "B") as bar:
            bar.advance(offset)
            done = offset
            try:
                for chunk in response.raw.stream(CHUNK, decode_content=False):
                    done += len(chunk)
                    if total is not None and done > total:
                        raise _MirrorError(f"it sends more than the {total:,} bytes of the file")
                    stream.write(chunk)
                    bar.advance(len(chunk))
            except (urllib3.exceptions.HTTPError, TimeoutError) as error:
                raise _MirrorError(_plainly(error)) from error
            if total is not None and done < total:
                raise _MirrorError("the connection was interrupted")
    return offset == 0


def _session(url: str) -> "requests.Session":
    """Open a session for https, and for http if ``url`` uses it. A redirection from https to http fails."""
    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.adapters.clear()
    session.mount("https://", HTTPAdapter())
    parts = urlsplit(url)
    if parts.scheme == "http":
        session.mount(f"http://{parts.netloc}/", HTTPAdapter())
    # Get the stored bytes: a .gz file must not arrive unpacked.
    session.headers["Accept-Encoding"] = "identity"
    return session


def _answer(session: "requests.Session", url: str, offset: int) -> "requests.Response":
    """Return the mirror's response with its body unread; wait at most ``ANSWER_S`` seconds."""
    import requests

    options: dict[str, Any] = {"headers": {"Range": f"bytes={offset}-"} if offset else {}, "stream": True}
    outcome = in_thread(lambda: session.get(url, timeout=(CONNECT_S, READ_S), **options))
    try:
        response = outcome.result(ANSWER_S)
    except (requests.RequestException, OSError, ValueError) as error:
        raise _MirrorError(_plainly(error) if outcome.done() else f"no answer within {ANSWER_S:g} s") from error
    if response.status_code not in (200, 206) and not (response.status_code == 416 and offset):
        response.close()
        raise _MirrorError(f"HTTP {response.status_code} {response.reason}")
    return response


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Run ``work`` in a thread that does not keep this process alive."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # raised in the thread that asks for the result
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


def _plainly(error: Exception) -> str:
    text = str(error)
    if "NameResolution" in text or "resolve" in text:
        return "its name could not be resolved (is there a network?)"
    if "timed out" in text.lower():
        return "it did not answer in time"
    if "refused" in text.lower():
        return "it refused the connection"
    if "No connection adapters" in text:
        return "it redirects to an address that is not https"
    if "IncompleteRead" in text or "Connection broken" in text:
        return "the connection was interrupted"
    return f"{type(error).__name__}: {text}"


def _start(response: "requests.Response", offset: int) -> int:
    """Return the offset in the file at which the response begins; a mirror that ignores Range begins at 0."""
    if response.status_code == 200:
        return 0
    said = response.headers.get("Content-Range", "")
    if not said.startswith(f"bytes {offset}-"):
        raise _MirrorError(f"the bytes from {offset} were requested, but it sends {said or 'an unnamed range'}")
    return offset


def _total(response: "requests.Response", offset: int, size: int | None) -> int | None:
    said = response.headers.get("Content-Length", "")
    total = offset + int(said) if said.isascii() and said.isdigit() else None
    if total is not None and size is not None and total != size:
        raise _MirrorError(f"its file has {total:,} bytes, not {size:,}")
    return total if total is not None else size


def _check_room(part: Path, offset: int, total: int | None) -> None:
    needed, free = (total or 0) - offset, shutil.disk_usage(part.parent).free
    if free < needed:
        raise ZooError(
            f"{part.stem} needs {needed:,} bytes in {part.parent}, where {free:,} are free",
            "Free some space, or use another disk for downloads: ZOO_CACHE=FOLDER.",
        )
