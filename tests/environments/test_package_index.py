"""zoo.environments.package_index: which registry is configured, and whether it answers."""

import socket
import threading
import time
from pathlib import Path

import pytest

from zoo.environments import package_index


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own: nobody's settings or registries."""
    for name in (*package_index.VARIABLES, "UV_CONFIG_FILE", "PIP_CONFIG_FILE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(package_index, "SYSTEM", tmp_path / "etc")


def test_a_registry_that_keeps_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def silent(*_args: object, **_settings: object) -> None:
        released.wait(20)
        raise OSError("nobody waits for this")

    monkeypatch.setattr(socket, "create_connection", silent)
    monkeypatch.setattr(package_index, "SECONDS", 0.3)
    begin = time.perf_counter()
    answer = package_index.reachable("https://registry.example/simple")
    released.set()
    assert time.perf_counter() - begin < 10  # nobody waited for the 20 seconds
    assert (answer.ok, answer.host) == (False, "registry.example:443")
    assert "no answer" in answer.why


def test_the_proxy_is_tried_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    assert package_index.reachable("https://registry.example/simple").host == "127.0.0.1:9"


def test_an_address_without_a_host_is_said() -> None:
    assert "cannot be read" in package_index.reachable("wheels/folder").why


def test_settings_are_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert package_index.address() is None
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip" / "pip.conf").write_text("[global]\nindex-url = https://pip.example/simple\n", encoding="utf-8")
    assert package_index.address() == "https://pip.example/simple"
    (tmp_path / ".config" / "uv").mkdir(parents=True)
    settings = tmp_path / ".config" / "uv" / "uv.toml"
    settings.write_text('index-url = "https://old.example/simple"\n', encoding="utf-8")
    assert package_index.address() == "https://old.example/simple"
    settings.write_text('[[index]]\nurl = "https://new.example/simple"\ndefault = true\n', encoding="utf-8")
    assert package_index.address() == "https://new.example/simple"
    settings.write_text("not toml at all [", encoding="utf-8")
    assert package_index.address() == "https://pip.example/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable.example/simple")
    assert package_index.address() == "https://variable.example/simple"
