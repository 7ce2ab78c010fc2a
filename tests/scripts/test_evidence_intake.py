"""Archives of evidence from strangers: a good one is taken, forged and damaged ones are refused with the reason."""

import dataclasses
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.maintenance.evidence import intake, plausibility
from tests.support import evidence_sample as sample
from zoo.certification import archive
from zoo.certification.results import FAILED, NOT_RUN
from zoo.core.errors import ZooError

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


def _row(**changed: Any) -> dict[str, bytes]:
    row = sample.product()["rows"][0] | changed
    return _run("device", rows=[row])


# What somebody forged, and a word of the reason for which it is refused.
FORGED: dict[str, tuple[Callable[[], dict[str, bytes]], str]] = {
    "a better accuracy everywhere": (
        lambda: _run("train-mnist_dense", metrics={"test_accuracy": 0.99}), "not a whole number of 359",
    ),
    "more than all of the peak": (lambda: _row(network="mnist", share_of_peak=1.6), "times the peak"),
    "a time below zero": (lambda: _row(median_ms=-2.0), "below zero"),
    "a speed that does not fit its time": (lambda: _row(gflop_per_s=9000.0), "do not fit"),
    "a date in the future": (lambda: _state(date=TOMORROW_NEXT_YEAR, finished=TOMORROW_NEXT_YEAR), "in the future"),
    "a failed run that passed": (lambda: _run("device", exit="failed"), "its run is failed"),
    "another lock": (
        lambda: sample.members() | {archive.LOCKS: json.dumps({"tf-2.19": "0" * 64}).encode()}, "another lock",
    ),
    "a step that there is not": (
        lambda: _step("train mnist_dense", step="train everything"), "the steps of metal with tf-2.19 are not",
    ),
    "markup in the name of a device": (
        lambda: _run("device", device={"name": "<img src=x>", "device_kind": "gpu", "proof": "matmul"}),
        "not plain text",
    ),
    "a command of somebody else's": (
        lambda: _run("train-mnist_dense", command=["python", "-m", "`rm -rf ~`"]), "unknown settings",
    ),
    "another commit": (lambda: _run("device", git_commit="f" * 40), "another commit"),
    "a failure left out": (lambda: _without("golden"), "the steps of metal with tf-2.19 are not"),
    "a failure and a better try": (lambda: _twice("golden", state="passed"), "the steps of metal with"),
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
