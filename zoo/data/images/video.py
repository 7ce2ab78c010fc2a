"""Read and write videos through ffmpeg, which the user installs.

Frames pass as PPM images through pipes, one at a time. Because files come from third parties, the demuxer is chosen
here by the first bytes. A playlist named film.mp4 cannot make ffmpeg read other files or the network.
"""

import contextlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zoo.core import console
from zoo.core.arrays import Bytes, np
from zoo.core.errors import ZooError
from zoo.core.files import atomic_file, storage_errors
from zoo.data.images.decode import MOST_PIXELS, UnreadableError

# Suffix -> ffmpeg's name of the format.
FORMATS = {
    ".mp4": "mp4", ".m4v": "mp4", ".mov": "mov", ".mkv": "matroska", ".webm": "webm", ".avi": "avi",
}  # fmt: skip
# Demuxer -> position and value of the identifying bytes.
DEMUXERS = {"mov": (4, b"ftyp"), "matroska": (0, b"\x1a\x45\xdf\xa3"), "avi": (8, b"AVI ")}
PROBE_S = 60.0
# Nine hours at 30 frames a second. A file of a few bytes can announce any number, which ffmpeg would repeat.
MOST_FRAMES = 1_000_000
INSTALL = (
    "Install ffmpeg (https://ffmpeg.org; apt install ffmpeg, brew install ffmpeg), or give the frames as a folder."
)
_QUIET = ["-nostdin", "-hide_banner", "-loglevel", "error"]
_LOCAL = ["-protocol_whitelist", "file"]
# Most encoders need even sides; colors use and declare the matrix of HD video.
_FILTERS = "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv"
_COLORS = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]


@dataclass(frozen=True)
class Video:
    """A video file.

    Attributes:
        demuxer: ffmpeg's name of its format.
        rate: frames per second, as a fraction such as ``30000/1001``.
        count: of frames, if known.
    """

    path: Path
    demuxer: str
    rate: str
    count: int | None

    @property
    def source(self) -> list[str]:
        return [*_LOCAL, "-f", self.demuxer, "-i", f"file:{self.path}"]


def describes(path: Path) -> bool:
    return path.suffix.lower() in FORMATS


def opened(path: Path) -> Video:
    probe, demuxer = _tool("ffprobe"), _demuxer(path)
    fields = "stream=avg_frame_rate,r_frame_rate,nb_frames,width,height"
    words = ["-loglevel", "error", "-select_streams", "v:0", "-show_entries", fields, "-of", "json"]
    command = [probe, *words, *_LOCAL, "-f", demuxer, f"file:{path}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROBE_S)
    except subprocess.TimeoutExpired as error:
        reason = f"{path} cannot be used: ffprobe took more than {PROBE_S:.0f} s"
        raise ZooError(reason, "Encode the video again.") from error
    if answer.returncode:
        raise ZooError(f"{path} cannot be used: {_last(answer.stderr)}", "Give a video that ffmpeg plays.")
    streams = json.loads(answer.stdout).get("streams", [])
    rates = [str(stream.get(key)) for stream in streams for key in ("avg_frame_rate", "r_frame_rate")]
    rate = next((each for each in rates if re.fullmatch(r"[1-9]\d*/[1-9]\d*", each, re.ASCII)), None)
    if rate is None or streams[0].get("width", 0) * streams[0].get("height", 0) > MOST_PIXELS:
        raise ZooError(f"{path} holds no video, or one of too many pixels", "Give a video that ffmpeg plays.")
    count = str(streams[0].get("nb_frames", ""))
    return Video(path, demuxer, rate, int(count) if count.isdecimal() else None)


def _demuxer(path: Path) -> str:
    if not path.is_file():
        raise ZooError(f"{path} is not a regular file", "Give a video file.")
    with storage_errors("read", path), path.open("rb") as stream:
        head = stream.read(16)
    for name, (offset, magic) in DEMUXERS.items():
        if head[offset : offset + len(magic)] == magic:
            return name
    raise ZooError(
        f"{path} cannot be used: not an MP4, QuickTime, Matroska, WebM or AVI file", "Encode the video again."
    )


def frames(video: Video) -> "Iterator[Bytes]":
    """Yield every frame, uint8 (rows, columns, 3), upright, at a constant rate.

    Raises:
        UnreadableError: it is damaged before its first frame.
    """
    # Without a pixel format, ffmpeg writes 10-bit films as 16-bit images.
    limit = ["-timelimit", str(60 + video.path.stat().st_size // 10_000)]  # seconds of processor time
    words = [*limit, *video.source, "-map", "0:v:0", "-r", video.rate, "-pix_fmt", "rgb24"]
    words += ["-f", "image2pipe", "-c:v", "ppm", "-"]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [_tool("ffmpeg"), *_QUIET, *words], stdout=subprocess.PIPE, stderr=said, bufsize=1 << 20
        )
        assert process.stdout is not None  # noqa: S101  (a pipe)
        number = 0
        try:
            while (frame := _ppm(process.stdout)) is not None:
                number += 1
                if number > MOST_FRAMES:
                    raise ZooError(f"{video.path} has more than {MOST_FRAMES:,} frames", "Cut the video into parts.")
                yield frame
            process.stdout.close()
            process.wait()
        finally:
            process.stdout.close()
            process.terminate()
            process.wait()
        said.seek(0)
        complaints = said.read().decode(errors="replace")
        if not number:
            raise UnreadableError(_last(complaints))
        if complaints.strip() or process.returncode:
            console.warn(f"{video.path} may be damaged: {number:,} frames were read; {_last(complaints)}")


def _ppm(stream: IO[bytes]) -> "Bytes | None":
    """Read one PPM image from ffmpeg (``P6``, sizes, and 255, on a line each), or None after the last."""
    if stream.readline() != b"P6\n":
        return None
    columns, rows = (int(word) for word in stream.readline().split())
    if stream.readline() != b"255\n":
        return None
    content = stream.read(3 * rows * columns)
    return np.frombuffer(content, np.uint8).reshape(rows, columns, 3) if len(content) == 3 * rows * columns else None


class Writer:
    """Writes a video frame by frame with the sound and rate of ``source``; the file appears when it is complete."""

    def __init__(self, path: Path, source: Video) -> None:
        self._path, self._stack = path, contextlib.ExitStack()
        part = self._stack.enter_context(atomic_file(path, parents=True))
        self._said = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  (closed by the stack)
        kind = FORMATS[path.suffix.lower()]
        sound = ["-c:a", "copy"] if FORMATS[source.path.suffix.lower()] == kind else []
        words = ["-y", "-f", "image2pipe", "-c:v", "ppm", "-framerate", source.rate, "-i", "pipe:0"]
        words += [*source.source, "-map", "0:v", "-map", "1:a?", *sound, "-vf", _FILTERS]
        words += ["-pix_fmt", "yuv420p", *_COLORS, "-f", kind, f"file:{part}"]
        quiet = [word for word in _QUIET if word != "-nostdin"]
        self._process = subprocess.Popen(
            [_tool("ffmpeg"), *quiet, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said
        )

    def add(self, frame: "Bytes") -> None:
        assert self._process.stdin is not None  # noqa: S101  (a pipe)
        rows, columns = frame.shape[:2]
        try:
            self._process.stdin.write(b"P6\n%d %d\n255\n" % (columns, rows) + frame.tobytes())
        except OSError as error:
            raise self._failed() from error

    def close(self) -> None:
        """Finish the file and give it its name."""
        assert self._process.stdin is not None  # noqa: S101  (a pipe)
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        if self._process.wait():
            raise self._failed()
        with storage_errors("write", self._path):
            self._stack.close()

    def _failed(self) -> ZooError:
        self._process.kill()
        self._process.wait()
        self._said.seek(0)
        reason = _last(self._said.read().decode(errors="replace"))
        error = ZooError(f"{self._path} cannot be written: {reason}", "Choose another suffix, such as .mp4.")
        with contextlib.suppress(ZooError):
            self._stack.__exit__(ZooError, error, None)
        return error


def check_target(path: Path) -> None:
    if path.suffix.lower() not in FORMATS:
        raise ZooError(f"Videos cannot be written to {path.name!r}", f"End the name in {', '.join(FORMATS)}.")


def _tool(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        raise ZooError(f"Videos need ffmpeg, and there is no {name} on this machine's PATH", INSTALL)
    return program


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "ffmpeg does not say why"
