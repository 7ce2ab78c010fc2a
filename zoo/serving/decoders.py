"""Processes that decode and encode images for the server, with limited memory (except on macOS).

Each message, in both directions, is a line of JSON with a number of bytes, followed by these bytes.
"""

import asyncio
import contextlib
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from zoo.core import paths
from zoo.core.arrays import Bytes, Image, np
from zoo.core.errors import ZooError
from zoo.data.images import decode, grayscale
from zoo.runs.records import Json
from zoo.serving.errors import RequestError

CODE = "import sys; sys.path.insert(0, sys.argv[1]); from zoo.serving import decoders; decoders.child(sys.argv[2])"
SECONDS = 20.0
# Limit of the address space of a process, several times the largest image with all its copies.
MOST_BYTES = 3 << 30


class Decoders:
    """Several processes, each of which processes one image at a time.

    Args:
        count: number of processes.
        most_pixels: largest number of pixels of an image before it is resized.
    """

    def __init__(self, count: int, most_pixels: int, folder: Path) -> None:
        self._most_pixels = most_pixels
        self._idle: asyncio.LifoQueue[_Process] = asyncio.LifoQueue()
        self._all = [_Process(folder / f"picture-{number}") for number in range(count)]
        for process in self._all:
            self._idle.put_nowait(process)

    async def decode(self, picture: bytes, how: Json) -> "Bytes":
        """Return the pixels of an image file, uint8 (height, width, channels), or raise RequestError.

        ``how`` has ``op``, a key of :data:`OPERATIONS`, and its settings.
        """
        answer, pixels = await self._ask({"most_pixels": self._most_pixels, **how}, picture)
        return np.frombuffer(pixels, np.uint8).reshape(answer["shape"])

    async def encode(self, pixels: "Bytes", kind: str) -> bytes:
        return (await self._ask({"op": "encode", "shape": pixels.shape, "kind": kind}, pixels.tobytes()))[1]

    async def stop(self) -> None:
        for process in self._all:
            await process.end()

    async def _ask(self, question: Json, content: bytes) -> tuple[Json, bytes]:
        process = await self._idle.get()
        try:
            answer, more = await asyncio.wait_for(process.ask(question, content), SECONDS)
        except (TimeoutError, OSError, EOFError) as error:
            await process.end()
            words = f"it took longer than {SECONDS:g} s" if isinstance(error, TimeoutError) else "it crashed"
            raise RequestError(422, f"The image cannot be used: the decoder failed ({words})") from None
        except asyncio.CancelledError:
            await process.end()  # part of a response may be pending
            raise
        finally:
            self._idle.put_nowait(process)
        if "problem" in answer:
            raise RequestError(422, f"The image cannot be used: {answer['problem']}")
        return answer, more


class _Process:
    """A process, started on first use and restarted after its end; ``path`` is the file for its current image."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._running: asyncio.subprocess.Process | None = None

    async def ask(self, question: Json, content: bytes) -> tuple[Json, bytes]:
        """Send a request and return the response.

        Raise OSError or EOFError if the process ended before it received the request or sent the whole response.
        """
        if self._running is None:
            self._running = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-B", "-c", CODE, str(paths.PACKAGE.parent), str(self._path),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20, start_new_session=True,
            )  # fmt: skip
        source, sink = self._running.stdout, self._running.stdin
        assert source is not None and sink is not None  # noqa: S101, PT018  (both are pipes)
        sink.write(json.dumps({**question, "bytes": len(content)}).encode() + b"\n")
        sink.write(content)
        await sink.drain()
        answer: Json = json.loads(await source.readuntil(b"\n"))
        return answer, await source.readexactly(answer["bytes"])

    async def end(self) -> None:
        """Kill the process; the next request starts a new one."""
        running, self._running = self._running, None
        if running is not None:
            with contextlib.suppress(ProcessLookupError):
                running.kill()
            await running.wait()


# -- code of these processes


def child(path: str) -> None:
    """Process requests until the server closes standard input; ``path`` is the file for the current image."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError, ValueError, OSError):  # not supported on macOS
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while line := source.readline():
        question = json.loads(line)
        answer, more = _answered(question, source.read(question["bytes"]), Path(path))
        sink.write(json.dumps({**answer, "bytes": len(more)}).encode() + b"\n" + more)
        sink.flush()


def _answered(question: Json, content: bytes, path: Path) -> tuple[Json, bytes]:
    try:
        if question["op"] == "encode":
            return {}, _encoded(question, content)
        path.write_bytes(content)
        decode.MOST_PIXELS = question["most_pixels"]
        pixels = OPERATIONS[question["op"]](question, path)
        return {"shape": pixels.shape}, pixels.tobytes()
    except decode.UnreadableError as error:
        return {"problem": str(error)}, b""
    except ZooError as error:
        return {"problem": error.message.partition(" cannot be used: ")[2] or error.message}, b""
    except MemoryError:
        return {"problem": "it takes too much memory"}, b""


def _photo(question: Json, path: Path) -> Any:
    return decode.decode(path, tuple(question["size"]), question["resize"])


def _grey(question: Json, path: Path) -> Any:
    (pixels,) = grayscale.load(str(path), (*question["size"], 1), question["style"]).parts
    return pixels[0]


def _whole(question: Json, path: Path) -> Any:
    """Return the image, reduced if its longer side exceeds ``side``."""
    side = question["side"]
    image = decode.to_rgb(decode.open_upright(path, side))
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return np.array(image)


def _encoded(question: Json, content: bytes) -> bytes:
    out = io.BytesIO()
    options = {"quality": 92} if question["kind"] == "JPEG" else {}
    pixels = np.frombuffer(content, np.uint8).reshape(question["shape"])
    Image.fromarray(pixels).save(out, question["kind"], **options)
    return out.getvalue()


OPERATIONS = {"photo": _photo, "grey": _grey, "whole": _whole}
