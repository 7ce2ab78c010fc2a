"""What ffmpeg is asked to read: videos by their first bytes, and nothing that leads it to other files."""

import os
import shutil
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.data.images import video


@pytest.mark.parametrize(
    "content",
    [
        b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n",
        b"ffconcat version 1.0\nfile secret.mp4\n",
        b"<?xml version='1.0'?><MPD></MPD>",
        b"",
        b"\0" * 64,
    ],
)
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi"])
def test_playlists_and_other_files_are_not_given_to_ffmpeg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.setattr(video, "_tool", lambda name: name)
    monkeypatch.setattr(video.subprocess, "run", lambda *_, **__: pytest.fail("ffprobe was started"))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ZooError, match="not an MP4, QuickTime, Matroska, WebM or AVI file"):
        video.opened(tmp_path / name)


def test_a_pipe_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "_tool", lambda name: name)
    os.mkfifo(tmp_path / "a.mp4")
    with pytest.raises(ZooError, match="not a regular file"):
        video.opened(tmp_path / "a.mp4")


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
@pytest.mark.parametrize(
    ("suffix", "demuxer"), [(".mp4", "mov"), (".mov", "mov"), (".mkv", "matroska"), (".avi", "avi")]
)
def test_videos_are_read_whatever_they_are_called(tmp_path: Path, suffix: str, demuxer: str) -> None:
    source = tmp_path / f"made{suffix}"
    drawn = "testsrc=size=32x16:rate=5:duration=1"
    video.subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", drawn, str(source)], check=True)
    source.rename(tmp_path / "film.webm")
    film = video.opened(tmp_path / "film.webm")
    assert film.demuxer == demuxer
    assert [frame.shape for frame in video.frames(film)] == [(16, 32, 3)] * 5


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
def test_frames_that_are_announced_and_repeated_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "a.mp4"
    drawn = "color=size=32x16:rate=5:duration=2"
    video.subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", drawn, str(source)], check=True)
    monkeypatch.setattr(video, "MOST_FRAMES", 7)
    frames = video.frames(video.opened(source))
    assert [next(frames).shape for _ in range(7)] == [(16, 32, 3)] * 7
    with pytest.raises(ZooError, match="has more than 7 frames"):
        next(frames)
