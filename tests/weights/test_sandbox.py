"""zoo.weights.sandbox: a reader that hangs or crashes is an error, not the end."""

from pathlib import Path

import pytest

from tests.support.weight_samples import drawn
from zoo.core.errors import ZooError
from zoo.weights import io as weights_io
from zoo.weights import sandbox


def refusal(path: Path) -> str:
    with pytest.raises(ZooError) as caught:
        weights_io.read(path)
    assert str(path) in caught.value.message
    return caught.value.message


def test_a_file_on_which_the_library_hangs_comes_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights_io.write(tmp_path / "w.h5", drawn())
    monkeypatch.setattr("zoo.weights.sandbox._CODE", "import time; time.sleep(60)")
    monkeypatch.setattr("zoo.weights.sandbox.SECONDS", 0.5)
    monkeypatch.setattr("zoo.weights.sandbox.PATIENCE", 1)
    assert "did not finish" in refusal(tmp_path / "w.h5")
    monkeypatch.setattr("zoo.weights.sandbox._CODE", "import os; os.abort()")
    monkeypatch.setattr("zoo.weights.sandbox.SECONDS", 20)
    assert "failed on it" in refusal(tmp_path / "w.h5")


def test_a_reader_that_gets_little_of_the_processor_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights_io.write(tmp_path / "w.h5", drawn())
    monkeypatch.setattr("zoo.weights.sandbox._CODE", "import time; time.sleep(11); " + sandbox._CODE)
    monkeypatch.setattr("zoo.weights.sandbox.SECONDS", 10)
    assert weights_io.read(tmp_path / "w.h5").arrays


def test_a_reader_that_computes_on_and_on_comes_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights_io.write(tmp_path / "w.h5", drawn())
    endless = sandbox._CODE.replace("sandbox.child", "sandbox.hdf5.read = lambda _: any(iter(int, 1)); sandbox.child")
    monkeypatch.setattr("zoo.weights.sandbox._CODE", endless)
    monkeypatch.setattr("zoo.weights.sandbox.SECONDS", 2)
    monkeypatch.setattr("zoo.weights.sandbox.PATIENCE", 1000)
    assert "within 2 seconds of processor time" in refusal(tmp_path / "w.h5")
