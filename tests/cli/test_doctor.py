"""The doctor looks at everything, changes nothing, is quick, and names the command to type next."""

import dataclasses
import json
import shutil
import socket
import time
from pathlib import Path

import pytest

from tests import machines
from zoo.cli import doctor
from zoo.cli import main as cli
from zoo.environments import backends, interpreters, machine, package_index, store
from zoo.environments.interpreters import Broken, Interpreter

SECTIONS = ("Machine", "Python", "Backends", "Environments", "Data", "Disk", "Surroundings", "Network", "Advice")


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own: nobody's settings, caches or registries."""
    for name in (*package_index.VARIABLES, "UV_CONFIG_FILE", "PIP_CONFIG_FILE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache" / "zoo"))
    monkeypatch.setattr(package_index, "SYSTEM", tmp_path / "etc")


def _be(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "probe", lambda: machines.load(name))


@pytest.mark.timing
def test_examining_this_machine(tmp_path: Path) -> None:
    begin = time.perf_counter()
    report = doctor.examine()
    assert time.perf_counter() - begin < 10
    assert json.loads(json.dumps(report.to_json())) == report.to_json()
    text = doctor.render(report)
    assert [line for line in text.splitlines() if not line.startswith(" ")] == list(SECTIONS)
    assert machine.describe(machine.probe()) in text
    assert "not checked" in text
    assert "none built yet" in text
    assert not (tmp_path / "cache").exists()


def test_empty_folders_are_not_data_and_a_stack_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "cache" / "zoo" / "downloads" / "mnist").mkdir(parents=True)
    built = [store.EnvironmentInfo(Path("/envs", name), "tf-2.21", 0, "ready", "", "") for name in ("a", "b")]
    text = doctor.render(dataclasses.replace(doctor.examine(), environments=built))
    assert "  nothing downloaded yet" in text
    assert "  tf-2.21: ready, /envs/a and /envs/b" in text


def test_prepared_data_sets_are_data(tmp_path: Path) -> None:
    for name in ("data/digits-0a", "data/pictures-1b", "data/pictures-2c", "texts/text_table-3d"):
        folder = tmp_path / "cache" / "zoo" / name
        folder.mkdir(parents=True)
        (folder / "x.npy").write_bytes(bytes(2_000_000))
    text = doctor.render(doctor.examine())
    assert "nothing downloaded" not in text
    assert "Data\n  digits, prepared: 2 MB\n  pictures, prepared: 4 MB\n  text_table, prepared: 2 MB\n" in text


@pytest.mark.parametrize("name", machines.NAMES)
def test_every_machine_gets_advice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _be(name, monkeypatch)
    monkeypatch.setattr(interpreters, "survey", lambda: ([Interpreter("3.6.15", Path("/p"), "x86_64")], []))
    empty = shutil.disk_usage("/")._replace(free=10**12)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: empty)
    report = doctor.examine()
    usable = [row for row in report.backends if row.usable]
    if name == "m1_macos_11":
        assert report.advice == "Update macOS to 12.1 or newer, if it can be: then metal computes on the GPU Apple M1"
    else:
        assert report.advice.rpartition("backend=")[2] == next(row.name for row in usable if row.trains)
    assert all(row.stack and row.promise in ("cpu", "gpu") for row in usable)
    assert all(row.why for row in report.backends)


def test_what_is_wrong_with_a_machine_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    _be("rosetta", monkeypatch)
    assert "Rosetta" in doctor.render(doctor.examine())
    _be("linux_nvidia_no_driver", monkeypatch)
    assert "note: an NVIDIA GPU is present" in doctor.render(doctor.examine())


def test_a_python_that_is_missing_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    _be("gtx_750_ti", monkeypatch)
    broken = Broken(Path("/opt/python3.6"), "answered nothing")
    wrong = Interpreter("3.6.15", Path("/p"), "arm64")
    monkeypatch.setattr(interpreters, "survey", lambda: ([wrong], [broken]))
    text = doctor.render(doctor.examine())
    assert "runs on Python 3.6" in text
    assert "pyenv install 3.6" in text
    assert "does not work: /opt/python3.6: answered nothing" in text


def test_a_full_disk_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    _be("linux_cpu", monkeypatch)
    full = shutil.disk_usage("/")._replace(free=100 * 10**6)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    report = doctor.examine()
    assert "free some space" in report.advice
    assert "ZOO_CACHE" in report.advice
    assert "100 MB free" in doctor.render(report)


def test_fetched_data_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "zoo" / "downloads" / "fashion"
    folder.mkdir(parents=True)
    (folder / "images").write_bytes(b"x" * 3_000_000)
    assert "fashion: 3 MB" in doctor.render(doctor.examine())


# -- the network


def test_a_registry_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("UV_INDEX_URL", f"http://user:secret@127.0.0.1:{port}/simple")
        monkeypatch.setenv("no_proxy", "*")
        report = doctor.examine()
    assert report.to_json()["network"] == {"checked": True, "host": f"127.0.0.1:{port}", "ok": True, "why": ""}
    assert "secret" not in json.dumps(report.to_json())
    # The server is closed now.
    assert f"127.0.0.1:{port} does not answer: " in doctor.render(doctor.examine())


@pytest.mark.parametrize("name", ["m4_egpu", "linux_dgx_spark", "m1_macos_11"])
def test_another_machine_is_examined_from_its_capture(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(machines.FOLDER / f"{name}.txt")
    assert cli.main(["doctor", "--machine", capture]) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if not line.startswith(" ")] == ["Machine", "Backends", "Choice"]
    pieces = {
        "m4_egpu": ["backend=mps stack=torch", "is not used: macOS has no driver", "an alpha version", "macOS 26"],
        "linux_dgx_spark": ["backend=cpu stack=tf-2.21", "skipped cuda: torch-cuda: no lock for linux-arm64"],
        "m1_macos_11": ["This machine cannot run any backend", "Update macOS to 12.1 or newer"],
    }
    assert [piece for piece in pieces[name] if piece not in text] == []
    assert cli.main(["doctor", "--json", "--machine", capture]) == 0
    known = json.loads(capsys.readouterr().out)
    assert known["machine"]["text"] in text
    assert {row["name"] for row in known["backends"]} == set(backends.names())
    assert known["choice"][0] in text


@pytest.mark.parametrize("content", [b"", b"nothing", b"$ ls\nfile\n", b"\xff\xfe\x00"])
def test_a_file_that_is_no_capture_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "capture.txt").write_bytes(content)
    for path in (tmp_path / "capture.txt", tmp_path, tmp_path / "missing.txt"):
        assert cli.main(["doctor", "--machine", str(path)]) == 1
        message = capsys.readouterr().err
        assert message.startswith("error: ")
        assert "Give a text such as tests/machines/m1.txt" in message
