"""Published weights that are trusted on first use, from a server that cuts, lies and changes its mind."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.support import weight_samples
from zoo.cli.main import main
from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.weights import imagenet, io, plain_networks, pretrained

SMALL = {"name": "mobilenet", "alpha": 0.25, "input_size": 224, "depth_multiplier": 1}
FILE = "mobilenet_2_5_224_tf.h5"


class Keras:
    """A server in the place of Keras's, which sends what it is told to."""

    def __init__(self, content: bytes) -> None:
        self.content, self.cut, self.asked, self.silent = content, 0, list[str | None](), False
        keras = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers["Range"]
                keras.asked.append(wanted)
                begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
                body = keras.content[begin:]
                self.send_response(206 if wanted else 200)
                if wanted:
                    whole = len(keras.content)
                    self.send_header("Content-Range", f"bytes {begin}-{whole - 1}/{whole}")
                if not keras.silent:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                keras.cut -= 1
                self.wfile.write(body[: len(body) // 2] if keras.cut >= 0 else body)

            def log_message(self, *_: object) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@pytest.fixture
def real(shared_data: Path) -> bytes:
    """The file that Keras publishes for the smallest width."""
    return (shared_data / "mobilenet" / "mobilenet_v1_0.25_224.h5").read_bytes()


@pytest.fixture
def keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real: bytes) -> Iterator[Keras]:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    site, table = Keras(real), schema.read_yaml(imagenet.TABLE)
    table["mobilenet"]["address"] = site.address
    read = schema.read_yaml
    monkeypatch.setattr(schema, "read_yaml", lambda path: table if path == imagenet.TABLE else read(path))
    yield site
    site.server.shutdown()
    site.server.server_close()


def changed(content: bytes, folder: Path, change: str) -> bytes:
    """The file with other numbers, other shapes, or a number that is none."""
    path = folder / "changed.h5"
    path.write_bytes(content)
    random = np.random.default_rng(0)
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        (kernel,) = (name for name in names if "model_weights/conv_pw_5/" in name)
        if change == "numbers":
            for name in names:
                if name.endswith("kernel:0"):
                    file[name][...] = random.permutation(file[name][...].ravel()).reshape(file[name].shape)
        elif change == "nan":
            file[kernel][0, 0, 0, 0] = np.nan
        else:
            values = file[kernel][...]
            del file[kernel]
            file[kernel] = values[..., :-1]
    return path.read_bytes()


def test_a_file_is_trusted_on_first_use_and_held_to_it(keras: Keras, capsys: pytest.CaptureFixture[str]) -> None:
    first = pretrained.choose("imagenet", SMALL)
    assert first is not None
    assert first.network.classes == 1000
    assert first.record["sha256"] == keras.sha256 == imagenet.noted(FILE)
    said = capsys.readouterr().err
    assert "trusted on first use" in said
    assert "a tower as stupa (0.66)" in said
    assert f"weights.checksum={keras.sha256}" in said
    assert pretrained.choose("imagenet", SMALL).record == first.record
    assert "trusted" not in capsys.readouterr().err
    assert keras.asked == [None]
    assert main(["cache", "remove", "--all"]) == 0
    assert pretrained.choose("imagenet", SMALL).record == first.record
    assert main(["cache", "remove", "--all"]) == 0
    keras.content += b"more"
    with pytest.raises(ZooError, match="serves another file") as error:
        pretrained.choose("imagenet", SMALL)
    assert "stores the sha256 of the first download" in error.value.message


def test_a_transfer_that_breaks_off_is_resumed(keras: Keras) -> None:
    keras.cut = 2
    assert pretrained.choose("imagenet", SMALL).record["sha256"] == keras.sha256
    assert [bool(wanted) for wanted in keras.asked] == [False, True, True]


def test_what_never_comes_whole_is_nothing(keras: Keras) -> None:
    keras.cut = 100
    with pytest.raises(ZooError, match="the connection was interrupted"):
        pretrained.choose("imagenet", SMALL)
    keras.cut, keras.silent = 0, True
    with pytest.raises(ZooError, match="does not send the length of the file"):
        pretrained.choose("imagenet", SMALL)
    assert imagenet.noted(FILE) is None
    keras.silent, keras.asked = False, []
    pretrained.choose("imagenet", SMALL)
    assert keras.asked == [None]  # what was left of the earlier calls may be of another file


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("numbers", "is not the published network: it classifies the image of a tower as"),
        ("shapes", "conv_pw_5|is not a supported network .mobilenet"),
        ("nan", "NaN or infinity"),
        ("page", "web page"),
        ("width", r"alpha=0.5"),
    ],
)
def test_another_file_is_refused_and_forgotten(keras: Keras, tmp_path: Path, change: str, words: str) -> None:
    right = keras.content
    if change == "page":
        keras.content = b"<html>Log in to this network first</html>"
    elif change == "width":
        io.write(tmp_path / "w.npz", weight_samples.mobilenet(0.5, 1000))
        keras.content = (tmp_path / "w.npz").read_bytes()
    else:
        keras.content = changed(right, tmp_path, change)
    with pytest.raises(ZooError, match=words):
        pretrained.choose("imagenet", SMALL)
    assert imagenet.noted(FILE) is None
    assert not list((tmp_path / "cache" / "downloads").rglob("*.h5"))
    keras.content = right
    assert pretrained.choose("imagenet", SMALL).record["sha256"] == keras.sha256


def test_a_checksum_can_be_demanded(keras: Keras, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZooError, match="serves another file"):
        pretrained.choose("imagenet", SMALL, checksum="0" * 64)
    assert pretrained.choose("imagenet", SMALL, checksum=keras.sha256) is not None
    assert "trusted" not in capsys.readouterr().err


def test_a_file_that_keras_downloaded_is_judged_too(keras: Keras, tmp_path: Path, real: bytes) -> None:
    path = tmp_path / ".keras" / "models" / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(changed(real, tmp_path, "numbers"))
    with pytest.raises(ZooError, match="not the published network"):
        pretrained.choose("imagenet", SMALL)
    assert path.is_file()
    path.write_bytes(real)
    assert pretrained.choose("imagenet", SMALL).record["file"] == str(path)
    assert keras.asked == []


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["model=mobilenet", "weights=imagenet", "weights.checksum=12"], "64 hexadecimal digits"),
        (["model=mobilenet", "weights=none", f"weights.checksum={'0' * 64}"], "has no effect with weights=none"),
        (["model=keras/ResNet50", "weights=imagenet", f"weights.checksum={'0' * 64}"], "Keras downloads and checks"),
    ],
)
def test_a_checksum_that_cannot_be_meant_is_told(
    overrides: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["infer", *overrides, "input=x.png", "model.input_size=224"]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mobilenet", "mobilenet_v2"])
def test_every_width_and_size_has_a_file_and_plausible_classes(name: str) -> None:
    row = imagenet.table()[name]
    files = {row.file_of({"alpha": alpha, "input_size": size}) for alpha in row.alphas for size in row.sizes}
    assert len(files) == len(row.alphas) * len(row.sizes)
    assert row.address.startswith("https://")
    assert len(set(row.plausible)) == 15


def test_numbers_at_random_are_never_plausible() -> None:
    random, row = np.random.default_rng(1), imagenet.table()["mobilenet"]
    pixels = imagenet._picture(128)
    for scale in (0.05, 0.3, 1.0):
        arrays = {name: random.normal(0, scale, array.shape).astype("f4")
                  for name, array in weight_samples.mobilenet(0.25, 1000).arrays.items()}  # fmt: skip
        arrays |= {name: np.abs(array) for name, array in arrays.items() if name.endswith("variance")}
        chances = plain_networks.probabilities("mobilenet", arrays, pixels)
        assert chances[row.plausible].sum() < imagenet.PLAUSIBLE
