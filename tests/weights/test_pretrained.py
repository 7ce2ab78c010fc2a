"""What ``weights=`` means, with the downloading pretended."""

import hashlib
import http.server
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.models import mobilenet, mobilenet_v2
from zoo.weights import convert, io, pretrained

FULL = {"name": "mobilenet", "alpha": 1.0, "input_size": 224}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def file_of_weights(path: Path, alpha: float = 0.25, classes: int = 1000) -> Path:
    """The two weights that tell of what model a file is."""
    arrays = {
        "conv_pw_13/kernel": np.ones((1, 1, 8, round(1024 * alpha)), np.float32),
        "conv_preds/kernel": np.ones((1, 1, round(1024 * alpha), classes), np.float32),
    }
    io.write(path, io.Weights(arrays, "drawn"))
    return path


@pytest.mark.parametrize("model", [mobilenet, mobilenet_v2])
def test_the_table_agrees_with_the_models(model: Any) -> None:
    name = model.__name__.rpartition(".")[2]
    row, published = schema.read_yaml(pretrained.TABLE)[name], model.PUBLISHED
    assert row["address"] == published.address
    assert tuple(row["alphas"]) == published.alphas
    assert tuple(row["sizes"]) == published.sizes
    files = {published.file_name(alpha, size, True) for alpha in published.alphas for size in published.sizes}
    spelt = {row["file"].format(alpha=word, size=size) for word in row["alphas"].values() for size in row["sizes"]}
    assert files == spelt
    assert set(row["checksums"]) <= files
    for entry in row["checksums"].values():
        assert len(entry.get("sha256") or entry["md5"]) in (64, 32)
        assert entry["source"]


def test_class_names() -> None:
    # The checksum that Keras itself holds the file against.
    index = hashlib.md5(pretrained.CLASS_INDEX.read_bytes(), usedforsecurity=False)
    assert index.hexdigest() == "c2c37ea517e94d9795004a39431a14cb"
    names = pretrained.class_names(1000)
    assert (names[0], names[281], names[999]) == ("tench", "tabby", "toilet_tissue")
    assert pretrained.class_names(2) == ["class 0", "class 1"]


def test_published_files_are_asked_for_with_their_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fetch(*arguments: Any) -> Path:
        asked.append(arguments)
        return file_of_weights(tmp_path / "fetched.npz", alpha=1.0)

    monkeypatch.setattr(pretrained, "fetch", fetch)
    chosen = pretrained.choose("imagenet", FULL)
    assert chosen is not None
    assert chosen.classes == 1000
    assert chosen.hint == ""
    assert chosen.record["source"] == "imagenet"
    pretrained.choose("imagenet", {"name": "mobilenet_v2", "alpha": 1.0, "input_size": 224})
    (v1, urls, checksum, *_), (v2, _, other, *_) = asked
    assert urls == [f"https://storage.googleapis.com/tensorflow/keras-applications/mobilenet/{v1}"]
    assert (v1, len(checksum)) == ("mobilenet_1_0_224_tf.h5", 32)
    assert (v2, len(other)) == ("mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_224.h5", 64)


@pytest.mark.parametrize(
    ("source", "model", "words"),
    [
        ("imagenet", FULL | {"alpha": 0.5}, ["No checksum of mobilenet_5_0_224_tf.h5", "weights=FOLDER/"]),
        ("imagenet", FULL | {"alpha": 0.3}, ["model.alpha=0.3", "0.25, 0.5, 0.75, 1.0"]),
        ("imagenet", FULL | {"input_size": 200}, ["model.input_size=200", "128, 160, 192, 224"]),
        ("imagenet", {"name": "mnist"}, ["No weights were published for mnist", "mobilenet_v2"]),
        ("imagent", FULL, ["There is no file of weights imagent", "did you mean 'imagenet'"]),
        ("/nowhere/w.h5", FULL, ["There is no file of weights /nowhere/w.h5"]),
        (str(Path(__file__).parent), FULL, ["is a folder", "run=FOLDER"]),
        (__file__, FULL, ["is refused"]),
    ],
)
def test_what_cannot_be_had_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, model: dict[str, Any], words: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ZooError) as error:
        pretrained.choose(source, model)
    assert all(word in str(error.value) for word in words), error.value


def test_a_file_that_keras_downloaded_is_taken_where_no_checksum_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".keras" / "models" / "mobilenet_5_0_224_tf.h5"
    path.parent.mkdir(parents=True)
    file_of_weights(tmp_path / "made.npz", alpha=0.5)
    convert.convert(tmp_path / "made.npz", tmp_path / "made.h5")
    (tmp_path / "made.h5").rename(path)
    chosen = pretrained.choose("imagenet", FULL | {"alpha": 0.5})
    assert chosen is not None
    assert chosen.record["file"] == str(path)
    assert chosen.hint == ""
    assert "Keras downloaded" in capsys.readouterr().err


def test_none_is_none() -> None:
    assert pretrained.choose("none", FULL) is None
    assert pretrained.choose(None, FULL) is None


def test_a_file_of_the_users_own_is_read_once(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of_weights(tmp_path / "my weights é.safetensors", classes=7)
    first = pretrained.choose(str(path), FULL | {"alpha": 0.25})
    assert first is not None
    assert first.classes == 7
    assert first.hint == ""
    assert first.npz.is_relative_to(cache)
    assert list(io.read(first.npz).arrays) == list(io.read(path).arrays)
    read: list[Path] = []
    plain = io.read
    monkeypatch.setattr(io, "read", lambda path: read.append(path) or plain(path))
    assert pretrained.choose(str(path), FULL | {"alpha": 0.25}) == first
    assert read == [first.npz]
    first.npz.write_bytes(b"PK\x03\x04 damaged")
    assert pretrained.choose(str(path), FULL | {"alpha": 0.25}) == first
    shutil.copyfile(file_of_weights(tmp_path / "other.npz", classes=9), path.with_suffix(".npz"))
    other = pretrained.choose(str(path.with_suffix(".npz")), FULL)
    assert other is not None
    assert other.npz != first.npz


def test_the_file_tells_which_model_it_is_of(tmp_path: Path) -> None:
    path = str(file_of_weights(tmp_path / "w.npz", alpha=0.5))
    hints = {
        "alpha": pretrained.choose(path, FULL),
        "model": pretrained.choose(path, {"name": "mobilenet_v2", "alpha": 1.0}),
        "nothing": pretrained.choose(path, {"name": "mnist"}),
    }
    assert {key: weights.hint for key, weights in hints.items() if weights} == {
        "alpha": "these are the weights of alpha 0.5: model.alpha=0.5",
        "model": "these are the weights of mobilenet: model=mobilenet",
        "nothing": "",
    }


def test_a_published_file_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "mobilenet_2_5_224_tf.h5"
    content = file_of_weights(tmp_path / "w.npz").read_bytes()
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        table = schema.read_yaml(pretrained.TABLE)
        table["mobilenet"]["address"] = f"http://127.0.0.1:{server.server_port}/"
        table["mobilenet"]["checksums"][name] = {"sha256": hashlib.sha256(content).hexdigest()}
        monkeypatch.setattr(schema, "read_yaml", lambda _path: table)
        first = pretrained.choose("imagenet", FULL | {"alpha": 0.25})
        assert pretrained.choose("imagenet", FULL | {"alpha": 0.25}) == first
        table["mobilenet"]["checksums"]["mobilenet_5_0_224_tf.h5"] = {"md5": "0" * 32}
        with pytest.raises(ZooError, match="it serves another file") as error:
            pretrained.choose("imagenet", FULL | {"alpha": 0.5})
        assert "weights=PATH" in error.value.remedy
        server.shutdown()
    assert asked == [f"/{name}", "/mobilenet_5_0_224_tf.h5"]
    assert first is not None
    assert Path(first.record["file"]).name == name
