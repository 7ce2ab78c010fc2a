"""Formats of saved models are found by their folder."""

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import parts
from zoo.worker.exporting import programs

PLANTED = """
KIND, NAME, NEEDS = "extra", "model.txt", {needs}


def export(model, path):
    open(path, "w").write(model)
"""


@pytest.fixture
def exporters(keras: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from zoo.worker import exporters

    monkeypatch.setattr(exporters, "__path__", [*exporters.__path__, str(tmp_path)])
    return exporters


def test_a_new_file_in_the_folder_is_a_format(exporters: Any, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(PLANTED.format(needs=("json",)))
    events: list[dict[str, Any]] = []
    emitter = types.SimpleNamespace(emit=lambda event, **fields: events.append({"event": event, **fields}))
    exporters.save("weights", str(tmp_path), emitter, [exporters.find("planted")], "the model")
    path = tmp_path / "model.txt"
    assert path.read_text() == "the model"
    assert events == [{"event": "artifact", "kind": "extra", "path": str(path)}]
    assert {"native", "npz", "planted"} <= set(exporters.formats())


def test_an_unknown_format_is_refused_with_those_that_there_are(exporters: Any) -> None:
    with pytest.raises(Exception, match=r"unknown export format 'onxn'; available formats: .*native, npz"):
        exporters.find("onxn")


def test_a_format_whose_library_the_stack_lacks_is_refused(exporters: Any, tmp_path: Path) -> None:
    (tmp_path / "lacking.py").write_text(PLANTED.format(needs=("nowhere_to_be_imported",)))
    with pytest.raises(Exception, match="the format lacking needs nowhere_to_be_imported"):
        exporters.find("lacking")


def test_formats_that_are_asked_for_come_after_what_every_training_leaves(exporters: Any, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(PLANTED.format(needs=()))
    names = [exporter.__name__.rpartition(".")[2] for exporter in exporters.wanted(["planted", "npz"])]
    assert names == [*exporters.ALWAYS, "planted"]


def test_a_training_refuses_a_format_before_it_begins(exporters: Any, tmp_path: Path) -> None:
    from zoo.worker.training import run

    (tmp_path / "lacking.py").write_text(PLANTED.format(needs=("nowhere_to_be_imported",)))
    request = parts.request(train=parts.training(export=["lacking"]), run_dir=str(tmp_path))
    with pytest.raises(Exception, match="the format lacking needs nowhere_to_be_imported"):
        run.Run(request, None, None, {})


def test_the_lines_of_a_card_for_hubs_print_each_likely_label(capsys: pytest.CaptureFixture[str]) -> None:
    _, loop, lines = programs.ending("hub_images").partition("for number in ")
    exec(loop + lines, {"labels": {"0": "cat", "1": "dog"}, "answer": np.array([0.9, 0.8])})  # noqa: S102
    assert capsys.readouterr().out.split() == ["dog", "0.8", "cat", "0.9"]


def test_the_program_for_texts_names_a_text_without_words() -> None:
    code = programs.ending("texts").partition("def predict")
    names = {"np": np, "numbers_of": lambda *_: [], "VOCABULARY": {}, "HOW": None}
    exec("def predict" + code[2].partition("if __name__")[0], names)  # noqa: S102
    with pytest.raises(ValueError, match="The text '' has no words"):
        names["predict"]("")  # type: ignore[operator]
