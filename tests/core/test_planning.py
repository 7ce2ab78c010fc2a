"""zoo.core.planning: a plan passes the checks, and leaves nothing behind."""

import os
from pathlib import Path

import pytest

from zoo.core import paths, planning


def test_only_a_plan_is_stopped() -> None:
    planning.stop("ignored")
    assert not planning.is_planning()
    with planning.planning():
        assert planning.is_planning()
        with pytest.raises(planning.PlanEnd, match="mnist") as end:
            planning.stop("mnist.npz is not downloaded yet")
    assert end.value.missing == "mnist.npz is not downloaded yet"
    assert not planning.is_planning()


@pytest.mark.parametrize("named", [True, False])
def test_a_plan_sees_the_cache_and_writes_into_another(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "zoo"
    (cache / "data" / "digits").mkdir(parents=True)
    (cache / "data" / ".lock").touch()
    (cache / ".hidden").mkdir()
    (cache / "file").touch()
    monkeypatch.delenv("ZOO_CACHE", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(cache))
    if named:
        monkeypatch.setenv("ZOO_CACHE", str(cache))
    with planning.planning():
        scratch = paths.cache_dir()
        assert scratch != cache
        assert scratch.name.startswith("zoo-plan-")
        assert [path.name for path in scratch.iterdir()] == ["data"]
        assert [path.name for path in (scratch / "data").iterdir()] == ["digits"]
        (scratch / "data" / "new").touch()
    assert not scratch.exists()
    assert sorted(path.name for path in (cache / "data").iterdir()) == [".lock", "digits"]
    assert os.environ.get("ZOO_CACHE") == (str(cache) if named else None)


def test_a_plan_needs_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "none"))
    with planning.planning():
        assert not list(paths.cache_dir().iterdir())
    assert not (tmp_path / "none").exists()
