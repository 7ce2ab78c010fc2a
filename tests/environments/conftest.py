"""What the tests of environments share."""

import os
from pathlib import Path

import pytest

from tests.support.tiny_stack import ROW, wheel, write_lock
from zoo.environments import stacks


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> stacks.Stack:
    """A stack of one tiny package, with an index, a cache and a uv cache of its own."""
    for name in list(os.environ):
        if name.startswith(("UV_", "PIP_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "index").as_uri())
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    folder = tmp_path / "stacks" / "small"
    folder.mkdir(parents=True)
    (folder / "stack.yaml").write_text(ROW)
    write_lock(folder, wheel(tmp_path / "index", "1.0"))
    return stacks.load("small", tmp_path / "stacks")
