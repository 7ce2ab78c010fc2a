"""Archives of evidence from strangers: a good one is taken, forged and damaged ones are refused with the reason."""

import dataclasses
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import evidence_sample as sample
from zoo.certification import archive, intake, plausibility
from zoo.certification.results import FAILED, NOT_RUN, SKIPPED
from zoo.core.errors import ZooError
from zoo.environments import machine

TOMORROW_NEXT_YEAR = "2099-01-01"


def test_a_good_archive_is_taken_and_plausible(tmp_path: Path) -> None:
    evidence = intake.read(sample.write(tmp_path / "e.zip"))
    assert plausibility.problems(evidence) == []
    assert evidence.state.hardware == "apple-m1-8gb"
    assert (evidence.state.count(FAILED), evidence.state.count(NOT_RUN)) == (2, 6)


def test_the_same_evidence_gives_the_same_bytes(tmp_path: Path) -> None:
    one, other = sample.write(tmp_path / "a.zip"), sample.write(tmp_path / "b.zip")
    assert one.read_bytes() == other.read_bytes()


def _state(**changed: Any) -> dict[str, bytes]:
    return sample.members(dataclasses.replace(sample.certification(), **changed))


def _step(name: str, **changed: Any) -> dict[str, bytes]:
    state = sample.certification()
    number = sample.number_of(state, name)
    state.steps[number] = dataclasses.replace(state.steps[number], **changed)
    return sample.members(state)


def _run(name: str, **changed: Any) -> dict[str, bytes]:
    records = sample.runs()
    records[name] = records[name] | changed
    return sample.members(records=records)


def _without(name: str) -> dict[str, bytes]:
    state, records = sample.certification(), sample.runs()
    del state.steps[sample.number_of(state, name)]
    records.pop(name, None)
    return sample.members(state, records)


def _twice(name: str, **changed: Any) -> dict[str, bytes]:
    state = sample.certification()
    number = sample.number_of(state, name)
    state.steps.insert(number, dataclasses.replace(state.steps[number], record="", **changed))
    return sample.members(state)


def _machine(**changed: Any) -> dict[str, bytes]:
    """Everything of another machine that has the same backend."""
    here = dataclasses.replace(sample.HERE, **changed)
    described = {key: value for key, value in dataclasses.asdict(here).items() if key != "notes"}
    records = {name: row | {"machine": described} for name, row in sample.runs().items()}
    state = dataclasses.replace(
        sample.certification(), hardware=machine.hardware(here), machine=machine.describe(here)
    )
    return sample.members(state, records)


def _row(**changed: Any) -> dict[str, bytes]:
    row = sample.product()["rows"][0] | changed
    return _run("device", rows=[row])


# What somebody forged, and a word of the reason for which it is refused.
FORGED: dict[str, tuple[Callable[[], dict[str, bytes]], str]] = {
    "a better accuracy in the step": (
        lambda: _step("train mnist_dense", figures={"test_accuracy": 0.999}), "in the step and",
    ),
    "a better accuracy everywhere": (
        lambda: _run("train-mnist_dense", metrics={"test_accuracy": 0.99}), "no whole number of 359",
    ),
    "more than all of the peak": (lambda: _row(network="mnist", share_of_peak=1.4), "of the peak"),
    "a time below zero": (lambda: _row(median_ms=-2.0), "below zero"),
    "a speed that does not fit its time": (lambda: _row(gflop_per_s=9000.0), "do not fit"),
    "an impossible version": (
        lambda: _run("device", versions={"tensorflow": "2.99.0"}), "tensorflow 2.99.0 is impossible",
    ),
    "a Python of another stack": (
        lambda: _run("device", stack=sample.product()["stack"] | {"python": "3.9.1"}), "Python 3.9.1 is impossible",
    ),
    "a date in the future": (lambda: _state(date=TOMORROW_NEXT_YEAR, finished=TOMORROW_NEXT_YEAR), "in the future"),
    "another machine": (lambda: _state(hardware="apple-m4-max-128gb"), "the hardware is called"),
    "the CPU for a GPU": (
        lambda: _run("device", device={"name": "cpu", "kind": "cpu", "proof": "matmul"}), "proves 'cpu'",
    ),
    "wrong numbers for right ones": (
        lambda: _run("device", probes=[{"name": "dense_relu", "ok": False}]), "a probe found wrong numbers",
    ),
    "losses of another first epoch": (
        lambda: _run("first-epoch-of-mnist_dense", epochs=[{"loss": 0.1, "val_loss": 0.1}]), "losses are off",
    ),
    "a failed run that passed": (lambda: _run("device", exit="failed"), "its run is failed"),
    "another lock": (
        lambda: sample.members() | {archive.LOCKS: json.dumps({"tf-2.19": "0" * 64}).encode()}, "another lock",
    ),
    "a run of no step": (lambda: sample.members() | {"runs/extra.json": b"{}"}, "belongs to no step"),
    "a step that there is not": (
        lambda: _step("train mnist_dense", step="train everything"), "which is no such step",
    ),
    "markup in the name of a device": (
        lambda: _run("device", device={"name": "<img src=x>", "kind": "gpu", "proof": "matmul"}), "no plain text",
    ),
    "a command of somebody else's": (
        lambda: _run("train-mnist_dense", command=["python", "-m", "`rm -rf ~`"]), "none of the zoo's",
    ),
    "another commit": (lambda: _run("device", git_commit="f" * 40), "another commit"),
    "a failure left out": (lambda: _without("golden"), "lacks golden"),
    "a failure and a better try": (lambda: _twice("golden", state="passed"), "has golden 2 times"),
    "a failure that was not run": (
        lambda: _step("train mnist", state=NOT_RUN, seconds=0.0, problem="", reference_gflop_per_s=0.0),
        "after one that was not run",
    ),
    "a failure that was skipped": (
        lambda: _step("train mnist", state=SKIPPED, seconds=0.0, reference_gflop_per_s=0.0), "no step failed that",
    ),
    "a figure without a run": (
        lambda: _step("train mnist", state="passed", figures={"test_accuracy": 0.9}, problem=""), "no run belongs to",
    ),
    "the run of another step": (
        lambda: _step("train mnist", state="passed", record="train-mnist_dense", problem=""), "belongs to 2 steps",
    ),
    "the run of another model": (lambda: _run("train-mnist_dense", model="mnist"), "its record is of train mnist"),
    "the settings of another model": (
        lambda: _run("train-mnist_dense", config=sample.first_epoch("mobilenet")["config"]), "has the settings of",
    ),
    "a speed that no row has": (
        lambda: _step("device", figures={"probes": 1, "device_gflop_per_s": 9000.0}), "9000.0 in the step and",
    ),
    "a Mac that has no such GPU": (lambda: _machine(gpus=[], arch="x86_64"), "does not work on its machine"),
    "a GPU that was not promised": (lambda: _run("device", promise="cpu"), "promises a cpu"),
    "a device that was not probed": (lambda: _run("device", probes=[]), "nothing was probed"),
    "a page with a script": (
        lambda: sample.members() | {archive.PAGE: b"<!DOCTYPE html><script>alert(1)</script>"}, "page.html",
    ),
    "a page that loads": (
        lambda: sample.members() | {archive.PAGE: b"<p>x</p><IMG\nsRC=//evil.example/x.png>"}, "page.html",
    ),
    "no time at all": (lambda: _step("first epoch of mnist_dense", seconds=-1.0), "seconds is -1.0, below zero"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_evidence_is_refused(name: str, tmp_path: Path) -> None:
    forge, reason = FORGED[name]
    evidence = intake.read(sample.write(tmp_path / "e.zip", forge()))
    with pytest.raises(ZooError, match="cannot be true") as refusal:
        plausibility.refuse(evidence)
    assert reason in refusal.value.message


def _zip(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return out.getvalue()


def _whole(tmp_path: Path) -> list[tuple[str | zipfile.ZipInfo, bytes]]:
    with zipfile.ZipFile(sample.write(tmp_path / "good.zip")) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def _link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("runs/link.json")
    entry.external_attr = 0o120777 << 16
    return entry


def _edited(members: list[tuple[str | zipfile.ZipInfo, bytes]]) -> list[tuple[str | zipfile.ZipInfo, bytes]]:
    return [(name, data.replace(b"91.0", b"99.0") if name == "certify.json" else data) for name, data in members]


DAMAGED: dict[str, tuple[Callable[[list[Any]], bytes], str]] = {
    "no archive": (lambda _: b"PK\x03\x04 and then nothing", "no archive"),
    "a path out of it": (lambda good: _zip(*good, ("../../etc/passwd", b"x")), "does not belong"),
    "an absolute path": (lambda good: _zip(*good, ("/etc/passwd", b"x")), "does not belong"),
    "a link": (lambda good: _zip(*good, (_link(), b"/etc/passwd")), "a link"),
    "a bomb": (lambda good: _zip(*good, ("logs/bomb.txt", bytes(50_000_000))), "unpacks to 50,000,000"),
    "too many members": (lambda good: _zip(*good, *((f"logs/{n}.txt", b"") for n in range(600))), "members"),
    "a member twice": (lambda good: _zip(*good, ("page.html", b"other")), "twice"),
    "a program": (lambda good: _zip(*good, ("run.sh", b"#!/bin/sh")), "does not belong"),
    "an edited record": (lambda good: _zip(*_edited(good)), "changed after it was written"),
    "no checksums": (lambda good: _zip(*(row for row in good if row[0] != "SHA256SUMS")), "SHA256SUMS is missing"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", DAMAGED)
def test_an_archive_that_certify_did_not_write_is_refused(name: str, tmp_path: Path) -> None:
    damage, reason = DAMAGED[name]
    path = tmp_path / "e.zip"
    path.write_bytes(damage(_whole(tmp_path)))
    with pytest.raises(ZooError) as refusal:
        intake.read(path)
    assert reason in refusal.value.message


@pytest.mark.parametrize("content", [b"[" * 90_000, b'{"a": NaN}', b"\xff\xfe", b"[]", b"{}"])
def test_a_certification_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    path = sample.write(tmp_path / "e.zip", sample.members() | {"certify.json": content})
    with pytest.raises(ZooError):
        intake.read(path)


@pytest.mark.parametrize(("share", "refused"), [(1.2, False), (1.3, True)])
def test_more_than_the_peak_is_believed_as_far_as_the_speed_of_the_machine_varied(
    share: float, refused: bool, tmp_path: Path
) -> None:
    state, records = sample.certification(), sample.runs()
    state.steps[-1].reference_gflop_per_s = 1.25 * state.reference_gflop_per_s
    records["device"]["rows"][0]["share_of_peak"] = share
    evidence = intake.read(sample.write(tmp_path / "e.zip", sample.members(state, records)))
    assert any("of the peak" in each for each in plausibility.problems(evidence)) == refused


def test_a_busy_machine_may_have_more_than_its_peak(tmp_path: Path) -> None:
    state, records = sample.certification(), sample.runs()
    state.steps[1].busy = True
    records["device"]["rows"][0]["share_of_peak"] = 1.2
    evidence = intake.read(sample.write(tmp_path / "e.zip", sample.members(state, records)))
    assert plausibility.problems(evidence) == []
