"""Exports as the host sees them: what is refused before anything is built, and where results go."""

import dataclasses
import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from zoo.cli.main import main
from zoo.config import compose, exporters
from zoo.config.overrides import Overrides
from zoo.config.schemas.export import ExportConfig
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.environments import backends, stacks, store
from zoo.execution import execution, retry, worker_process
from zoo.execution.worker_process import Outcome
from zoo.protocol.events import DeviceProof, StartEvent
from zoo.runs.context import create_context
from zoo.tasks import discovery, exporting

COMMAND = discovery.command("export", "classify")


def settings(*overrides: str) -> ExportConfig:
    composed: ExportConfig = compose.compose(COMMAND, Overrides.parse(["run=r", *overrides]))
    return composed


@pytest.mark.parametrize("given", ["onnx,litert", "[onnx,litert]", "onnx"])
def test_formats_are_given_with_commas_or_in_brackets(given: str) -> None:
    assert settings(f"format={given}").format == given.strip("[]").split(",")


def test_quantizations_have_tolerances_of_their_own() -> None:
    chosen = settings("format=onnx,openvino", "quantize=float16,dynamic,int8", "max_difference=0.3")
    assert chosen.quantize == ["float16", "dynamic", "int8"]
    assert chosen.tolerance["dynamic"] == {"difference": 0.3, "changed": 20.0}


def test_output_names_the_folder_and_leaves_the_run_folder_alone() -> None:
    chosen = settings("format=onnx", "output=a, b", "output.root=elsewhere")
    assert (chosen.output.folder, chosen.output.root) == ("a, b", "elsewhere")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["format=onxn"], "did you mean 'onnx'"),
        ([], "format is missing"),
        (["format=savedmodel,onnx", "quantize=int8"], "savedmodel takes quantize=none; int8 is for litert, onnx, "),
        (["format=onnx", "quantize=int9"], "did you mean 'int8'"),
        (
            ["format=savedmodel", "quantize=none,int8"],
            "quantize=int8 has no effect: it is for litert, onnx, openvino",
        ),
        (["format=onnx,savedmodel", "quantize=dynamic,int8"], "savedmodel takes quantize=none; dynamic is for"),
        (["format=onnx", "items=0"], "items must be from 1"),
        (["format=onnx", "weights=x.h5"], "run=r has its own model and weights"),
        (["format=onnx", "compare_to=nobody"], "compare_to must be one of"),
        (["format=onnx", "preprocessing=outward"], "preprocessing must be one of outside, inside"),
        (
            ["format=onnx,coreml", "preprocessing=inside"],
            "with preprocessing=inside, format must be one of litert, onnx, openvino, savedmodel, got 'coreml'",
        ),
        (
            ["format=litert", "quantize=int8", "preprocessing=inside"],
            "with preprocessing=inside, quantize must be one of none, float16, dynamic, got 'int8'",
        ),
        (["format=onnx", "quantize=float16", "preprocessing=inside"], "float16 is for litert, openvino"),
        (["format=hub", "quantize=float16"], "hub takes quantize=none"),
        (
            ["format=hub", "preprocessing=inside"],
            "format must be one of litert, onnx, openvino, savedmodel, got 'hub'",
        ),
        (["format=onnx", "license=mit"], "license has no effect with format=onnx: remove it, or set format=hub"),
    ],
)
def test_wrong_settings_are_named(words: list[str], said: str) -> None:
    with pytest.raises(ZooError, match=said):
        settings(*words)


def test_weights_of_the_zoo_are_named_among_those_that_can_be_exported() -> None:
    for words in (["model=mnist"], []):
        with pytest.raises(ZooError, match="weights=zoo"):
            compose.compose(COMMAND, Overrides.parse([*words, "format=onnx"]))


def test_the_host_reads_quantizations_where_exporters_declare_them() -> None:
    assert exporters.formats()["savedmodel"] == ("none",)
    assert exporters.formats()["onnx"] == exporters.QUANTIZATIONS
    assert exporters.formats(inside=True)["onnx"] == ("none", "dynamic")
    assert not {"npz", "native"} & set(exporters.formats())


@pytest.mark.parametrize("task", ["classify", "text_classifier", "language_model", "restyle"])
def test_models_of_every_kind_can_be_exported(task: str) -> None:
    assert discovery.command("export", task).schema is ExportConfig


def test_a_training_is_told_where_formats_of_other_runtimes_go() -> None:
    train = discovery.command("train", "classify")
    with pytest.raises(ZooError, match=r"use output\.export=\[onnx\]"):
        compose.compose(train, Overrides.parse(["model=mnist", "trainer.export=[onnx]"]))
    with pytest.raises(ZooError, match=r"output\.export must be one of .*did you mean 'onnx'"):
        compose.compose(train, Overrides.parse(["model=mnist", "output.export=[onxn]"]))


def test_no_backend_chooses_the_stack_and_it_does_not_train() -> None:
    assert not [row.name for row in backends.load_all() if exporting.STACK in row.stacks]
    assert not stacks.load(exporting.STACK).trains
    assert set(stacks.load(exporting.STACK).platforms) >= {"linux-x86_64", "macos-arm64"}


WEIGHTS = "model=style_transfer/fast", "weights=net.npz", "format=onnx"


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights of a style network in the working folder."""
    import numpy as np

    channels = {"conv1": (9, 3, 2), "conv2": (3, 2, 4), "conv3": (3, 4, 8), "output": (9, 2, 3)}
    arrays = {}
    for name, (size, before, after) in channels.items():
        arrays[f"{name}/kernel"] = np.zeros((size, size, before, after), np.float32)
    for name, (before, after) in {"up1": (8, 4), "up2": (4, 2)}.items():
        arrays[f"{name}/kernel"] = np.zeros((3, 3, after, before), np.float32)
    for name in ("conv1", "conv2", "conv3", "up1", "up2", "output"):
        kernel = arrays[f"{name}/kernel"]
        width = kernel.shape[2] if name.startswith("up") else kernel.shape[3]
        arrays |= {f"{name}_norm/{part}": np.ones(width, np.float32) for part in ("shift", "scale")}
    np.savez(tmp_path / "net.npz", **arrays)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", [["output=mine"], ["output=mine/notes.txt"], ["output=mine/notes.txt/x"]])
def test_a_folder_with_something_in_it_is_never_written_into(
    words: list[str], network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (network / "mine").mkdir()
    (network / "mine" / "notes.txt").write_text("mine")
    assert main(["export", *WEIGHTS, *words]) == 1
    assert "output=FOLDER" in capsys.readouterr().err
    assert [path.name for path in (network / "mine").iterdir()] == ["notes.txt"]
    assert not (network / "runs").exists()


def test_int8_without_items_is_refused(network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *WEIGHTS, "quantize=int8"]) == 1
    assert "needs items for calibration" in capsys.readouterr().err


def test_a_dry_run_plans_an_export(network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *WEIGHTS, "--dry-run"]) == 0
    shown = capsys.readouterr().out.replace("\\\n", " ")  # a long command continues on the next line
    assert "backend=cpu stack=export" in " ".join(shown.split())
    assert not (network / "runs").exists()


@pytest.mark.parametrize("given", ["stack=torch", "backend=mps"])
def test_another_stack_is_refused(given: str, network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *WEIGHTS, given]) == 1
    assert "cannot export" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"kind": "texts"}, {"kind": "next_token"}, {"own_stack": "tf-2.12"}])
def test_models_that_plain_keras_cannot_load_are_refused_for_hubs(change: dict[str, str], network: Path) -> None:
    context = create_context(COMMAND, Overrides.parse(["run=r", "format=onnx,hub", "backend=cpu", "stack=export"]))
    given: Any = {"kind": "images", "model": {"name": "net"}, "weights": None, "classes": [], "items": None,
                  "examples": None, "reading": {}, "code": ()}  # fmt: skip
    with pytest.raises(ZooError, match=r"format=hub is for image classifiers and style networks .*, not for net"):
        exporting.export(context, exporting.Subject(**given | change))
    assert not (network / "runs").exists()


@pytest.mark.parametrize("target", ["labels", "number"])
def test_core_ml_is_refused_for_other_targets_before_anything_is_exported(target: str, network: Path) -> None:
    context = create_context(COMMAND, Overrides.parse(["run=r", "format=onnx,coreml", "backend=cpu", "stack=export"]))
    given: Any = {"kind": "images", "model": {"name": "net"}, "weights": None, "classes": ["a"], "items": None,
                  "examples": None, "reading": {}, "code": (), "target": target}  # fmt: skip
    with pytest.raises(ZooError, match=f"format=coreml is for classes, and net predicts {target}"):
        exporting.export(context, exporting.Subject(**given))
    assert not (network / "runs").exists()


def test_a_stopped_export_says_so_and_keeps_nothing(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "model=mnist", "data=digits"]) == 0
    monkeypatch.setenv("FAKE_WORKER", "stopped")
    assert main(["export", "run=last", "format=onnx"]) == INTERRUPTED
    assert "Interrupted; nothing is kept." in capsys.readouterr().out
    (record,) = (json.loads(path.read_text()) for path in pretending.glob("runs/*_export_*/run.json"))
    assert record["exit"] == "interrupted"


def test_a_full_disk_of_the_run_folder_is_named_with_its_setting(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert main(["train", "model=mnist", "data=digits"]) == 0
    monkeypatch.setattr(exporting, "execute", full)
    assert main(["export", "run=last", "format=onnx", f"output={pretending}/elsewhere"]) == 1
    said = capsys.readouterr().err
    assert re.search(r"Cannot write the run folder \S*_export_mnist: No space left on device\nFree some", said)
    assert "choose another folder: output.root=FOLDER" in said


def test_the_device_is_named_once_for_the_stacks_of_an_export(
    network: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = StartEvent(versions={}, device=DeviceProof(name="fake:0", device_kind="cpu", proof="matmul"))
    monkeypatch.setattr(
        worker_process, "run", lambda python, variables, path, handle, *rest: handle(start) or Outcome()
    )
    monkeypatch.setattr(retry, "run_with_retries", lambda folder, record, request, once: once(folder))
    context = create_context(COMMAND, Overrides.parse([*WEIGHTS[1:], "model=mnist", "backend=cpu", "stack=export"]))
    request = execution.request_of(context, {"name": "mnist", "args": {}}, "export")
    environment = store.Environment(Path("python"), network, network / "lock", "", {}, 0.0, "3.12")
    monkeypatch.setattr(execution, "ensure_environment", lambda context: environment)
    for each in (context, dataclasses.replace(context, folder=network / "source")):
        execution.execute(each, request, live=False)
    assert capsys.readouterr().err.count("Device: fake:0 (matmul ran there)") == 1
