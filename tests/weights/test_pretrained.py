"""What ``weights=`` means, with the downloading pretended."""

import hashlib
import http.server
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support import weight_samples
from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.models import mobilenet, mobilenet_v2
from zoo.weights import imagenet, io, pretrained

ASSUMED = "; it does not store the image size: model.input_size=224 is assumed"
FULL = {"name": "mobilenet", "alpha": 1.0, "input_size": 224}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def file_of_weights(path: Path, alpha: float = 0.25, classes: int = 1000) -> Path:
    """Weights of MobileNet drawn at random."""
    io.write(path, weight_samples.mobilenet(alpha, classes))
    return path


@pytest.mark.parametrize("model", [mobilenet, mobilenet_v2])
def test_the_table_agrees_with_the_models(model: Any) -> None:
    name = model.__name__.rpartition(".")[2]
    row, published = schema.read_yaml(imagenet.TABLE)[name], model.PUBLISHED
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


def test_published_files_are_asked_for_with_their_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(imagenet, "accept", lambda *_: None)

    def fetch(*arguments: Any) -> Path:
        asked.append(arguments)
        return file_of_weights(tmp_path / "fetched.npz", alpha=1.0)

    monkeypatch.setattr(imagenet, "fetch", fetch)
    chosen = pretrained.choose("imagenet", FULL)
    assert chosen is not None
    assert chosen.network.classes == 1000
    assert chosen.record["source"] == "imagenet"
    with pytest.raises(ZooError, match="Give model=mobilenet"):
        pretrained.choose("imagenet", {"name": "mobilenet_v2", "alpha": 1.0, "input_size": 224})
    (v1, urls, checksum, *_), (v2, _, other, *_) = asked
    assert urls == [f"https://storage.googleapis.com/tensorflow/keras-applications/mobilenet/{v1}"]
    assert (v1, len(checksum)) == ("mobilenet_1_0_224_tf.h5", 32)
    assert (v2, len(other)) == ("mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_224.h5", 64)


@pytest.mark.parametrize(
    ("source", "model", "words"),
    [
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


def test_a_huge_file_of_a_different_kind_is_rejected_before_its_checksum_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "w.npz").open("wb") as file:
        file.truncate(20 << 30)
    monkeypatch.setattr(pretrained, "file_sha256", lambda path: pytest.fail(f"reads all of {path}"))
    with pytest.raises(ZooError, match=r"w\.npz is refused: it is neither HDF5"):
        pretrained.choose(str(tmp_path / "w.npz"), FULL)


def test_none_is_none() -> None:
    assert pretrained.choose("none", FULL) is None
    assert pretrained.choose(None, FULL) is None


def test_a_file_of_the_users_own_is_read_once(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of_weights(tmp_path / "my weights é.safetensors", classes=7)
    first = pretrained.choose(str(path), FULL | {"alpha": 0.25})
    assert first is not None
    assert first.network.classes == 7
    assert first.npz.is_relative_to(cache)
    assert list(io.read(first.npz).arrays) == list(io.read(path).arrays)
    read: list[Path] = []
    plain = io.read
    monkeypatch.setattr(io, "read", lambda path: read.append(path) or plain(path))
    again = pretrained.choose(str(path), FULL | {"alpha": 0.25})
    assert (again.record, again.npz, again.arguments) == (first.record, first.npz, first.arguments)
    assert read == [first.npz]
    first.npz.write_bytes(b"PK\x03\x04 damaged")
    assert pretrained.choose(str(path), FULL | {"alpha": 0.25}).record == first.record
    shutil.copyfile(file_of_weights(tmp_path / "other.npz", classes=9), path.with_suffix(".npz"))
    other = pretrained.choose(str(path.with_suffix(".npz")), FULL)
    assert other is not None
    assert other.npz != first.npz


def test_the_file_tells_what_nobody_set_and_it_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(file_of_weights(tmp_path / "w.npz", alpha=0.5, classes=3))
    chosen = pretrained.choose(path, FULL | {"depth_multiplier": 1})
    assert chosen.settings == {"model.alpha": 0.5}
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "w.npz contains mobilenet (alpha=0.5) with 3 classes; taken from it: model.alpha=0.5" + ASSUMED
    assert pretrained.choose(path, FULL | {"alpha": 0.5, "depth_multiplier": 1}, ["alpha"]).settings == {}
    assert capsys.readouterr().err == f"w.npz contains mobilenet (alpha=0.5) with 3 classes{ASSUMED}\n"
    pretrained.choose(path, FULL | {"alpha": 0.5, "depth_multiplier": 1}, ["alpha", "input_size"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        (
            FULL,
            ["alpha"],
            ["mobilenet (alpha=0.5) with 1,000 classes", "model.alpha=1.0", "Remove model.alpha"],
        ),
        (
            {"name": "mobilenet_v2"},
            [],
            ["contains mobilenet (alpha=0.5)", "not mobilenet_v2", "Give model=mobilenet."],
        ),
    ],
)
def test_what_contradicts_the_file_is_refused(
    tmp_path: Path, model: dict[str, Any], given: list[str], words: list[str]
) -> None:
    path = file_of_weights(tmp_path / "w.npz", alpha=0.5)
    with pytest.raises(ZooError) as error:
        pretrained.choose(str(path), model, given)
    assert all(word in str(error.value) for word in words), error.value


def test_a_file_of_another_network_is_told_by_ten_of_its_layers(tmp_path: Path) -> None:
    layers = {f"mixed{number}/kernel": (1, 1, 2, 2) for number in range(94)}
    io.write(tmp_path / "inception.npz", weight_samples.drawn(layers))
    with pytest.raises(ZooError) as error:
        pretrained.choose(str(tmp_path / "inception.npz"), FULL)
    assert "its 94 layers with weights are mixed0, mixed1," in error.value.message
    assert error.value.message.endswith("mixed9 and 84 more")


def test_grey_images_saved_models_and_tensorflow_lite_are_named(tmp_path: Path) -> None:
    grey = weight_samples.mobilenet(0.25, 2)
    kernel = {"conv1/kernel": grey.arrays["conv1/kernel"][:, :, :1]}
    io.write(tmp_path / "grey.npz", io.Weights(grey.arrays | kernel, "drawn"))
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"\x08")
    (tmp_path / "a.tflite").write_bytes(b"\x1c\0\0\0TFL3" + bytes(40))
    for name, words in {
        "grey.npz": "for images whose number of channels is 1, not 3",
        "saved": "is a SavedModel of TensorFlow",
        "a.tflite": "is a TensorFlow Lite model",
    }.items():
        with pytest.raises(ZooError, match=words):
            pretrained.choose(str(tmp_path / name), FULL)


def test_a_dangling_link_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "w.h5").symlink_to(tmp_path / "gone.h5")
    with pytest.raises(ZooError, match=r"is a link to .*gone\.h5, which does not exist"):
        pretrained.choose(str(tmp_path / "w.h5"), FULL)


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
        table = schema.read_yaml(imagenet.TABLE)
        table["mobilenet"]["address"] = f"http://127.0.0.1:{server.server_port}/"
        table["mobilenet"]["checksums"][name] = {"sha256": hashlib.sha256(content).hexdigest()}
        read = schema.read_yaml
        monkeypatch.setattr(schema, "read_yaml", lambda path: table if path == imagenet.TABLE else read(path))
        first = pretrained.choose("imagenet", FULL | {"alpha": 0.25})
        assert pretrained.choose("imagenet", FULL | {"alpha": 0.25}).record == first.record
        table["mobilenet"]["checksums"]["mobilenet_5_0_224_tf.h5"] = {"md5": "0" * 32}
        with pytest.raises(ZooError, match="it serves another file") as error:
            pretrained.choose("imagenet", FULL | {"alpha": 0.5})
        assert "weights=PATH" in error.value.remedy
        server.shutdown()
    assert asked == [f"/{name}", "/mobilenet_5_0_224_tf.h5"]
    assert first is not None
    assert Path(first.record["file"]).name == name
