"""Published weights of feature networks, downloaded from a server that pretends, and a file of VGG16's layout."""

import dataclasses
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support import published
from zoo.core.errors import ZooError
from zoo.models.features import distilled
from zoo.weights import feature_networks
from zoo.weights.feature_networks import PublishedFile


class Mirror:
    """A server of one file, and what the table then says of it."""

    def __init__(self, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        self.content, self.asked = content, 0
        mirror = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.asked += 1
                self.send_response(200)
                self.send_header("Content-Length", str(len(mirror.content)))
                self.end_headers()
                self.wfile.write(mirror.content)

            def log_message(self, *_: object) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.row = PublishedFile(
            address=f"http://127.0.0.1:{self.server.server_port}/",
            file="vgg16_notop.h5",
            bytes=len(content),
            checksum={"md5": hashlib.md5(content, usedforsecurity=False).hexdigest()},
        )
        monkeypatch.setattr(feature_networks, "published", lambda: {"vgg16": self.row})


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    server = Mirror(b"weights" * 1000, monkeypatch)
    yield server
    server.server.shutdown()
    server.server.server_close()


def test_the_table_is_complete() -> None:
    for network, row in feature_networks.published().items():
        assert network in ("vgg19", "vgg16", "squeezenet")
        assert row.address.startswith("https://")
        assert row.bytes > 1e6
        ((kind, checksum),) = row.checksum.items()
        assert len(checksum) == {"md5": 32, "sha256": 64}[kind]
        assert row.source


def test_the_rows_squeezenet_is_the_file_at_hand(shared_data: Path) -> None:
    row = feature_networks.published()["squeezenet"]
    content = (shared_data / "squeezenet" / row.file).read_bytes()
    assert (len(content), hashlib.sha256(content).hexdigest()) == (row.bytes, row.checksum["sha256"])


def test_it_is_downloaded_once_and_its_sha256_kept(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    path = feature_networks.download("vgg16")
    assert path.read_bytes() == mirror.content
    note = path.with_name(path.name + ".sha256")
    assert note.read_text().strip() == hashlib.sha256(mirror.content).hexdigest()
    assert "is checked from now on" in capsys.readouterr().err
    assert feature_networks.download("vgg16") == feature_networks.available("vgg16") == path
    assert mirror.asked == 1


def test_another_file_of_the_same_md5_is_refused(mirror: Mirror) -> None:
    path = feature_networks.download("vgg16")
    path.with_name(path.name + ".sha256").write_text("0" * 64)  # as if the file had been another one at first
    with pytest.raises(ZooError, match="no longer the file that was downloaded") as error:
        feature_networks.available("vgg16")
    assert "download it again" in error.value.remedy


@pytest.mark.parametrize(("content", "words"), [(b"others!" * 1000, "another file"), (b"short", "5 bytes, not 7,000")])
def test_anything_else_is_thrown_away(mirror: Mirror, content: bytes, words: str, tmp_path: Path) -> None:
    mirror.content = content
    with pytest.raises(ZooError, match=words) as error:
        feature_networks.choose("vgg16", None)
    assert "feature_weights=FILE" in error.value.remedy
    assert not list(tmp_path.rglob("vgg16_notop.h5"))


def test_the_bundled_features_have_a_finite_kernel_and_bias_for_every_convolution() -> None:
    features = feature_networks.choose("distilled", None)
    assert features.network == "distilled"
    assert features.arrays is not None
    channels, expected = 3, {}
    for number, level in enumerate(distilled.LEVELS, start=1):
        for place, count in enumerate(level, start=1):
            expected[f"level{number}_conv{place}/kernel"] = (3, 3, channels, count)
            expected[f"level{number}_conv{place}/bias"] = (count,)
            channels = count
    assert {name: array.shape for name, array in features.arrays.items()} == expected
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in features.arrays.values())
    assert feature_networks.BUNDLED.stat().st_size < 2 << 20


def test_auto_downloads_nothing(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    assert feature_networks.choose("auto", None).network == "distilled"
    printed = capsys.readouterr().err
    assert "features=distilled" in printed
    assert "features=vgg19 (80 MB)" in printed
    assert "download=yes" in printed
    assert mirror.asked == 0


def test_auto_downloads_squeezenet_if_it_may(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mirror sends another file, so the bundled features follow."""
    row = dataclasses.replace(mirror.row, file="squeezenet_notop.h5", bytes=7)
    monkeypatch.setattr(feature_networks, "published", lambda: {"squeezenet": row})
    assert feature_networks.choose("auto", None, "ask").network == "distilled"  # there is no terminal to ask in
    assert mirror.asked == 0
    assert feature_networks.choose("auto", None, "yes").network == "distilled"
    assert mirror.asked > 0
    assert "squeezenet_notop.h5 could not be downloaded" in capsys.readouterr().err


def test_a_file_of_the_published_layout_is_vgg16(mirror: Mirror, tmp_path: Path) -> None:
    path = published.vgg(tmp_path / "vgg16.h5", "vgg16")
    features = feature_networks.choose("auto", str(path))
    assert features.network == "vgg16"
    assert features.arrays is not None
    assert list(features.arrays)[:2] == ["block1_conv1/kernel", "block1_conv1/bias"]
    assert features.arrays["block5_conv3/kernel"].shape == (3, 3, 512, 512)
    assert sum(array.size for array in features.arrays.values()) == 14_714_688
