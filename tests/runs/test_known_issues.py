"""Every known issue is recognised by its words, harmless lines alarm nobody, and a huge log is read in a second."""

from tests.support import CHECKOUT
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from zoo.environments import selection
from zoo.runs import known_issues

LOGS = CHECKOUT / "tests" / "logs"
EFFECTS = ("fatal", "silent-wrong", "silent-cpu", "slow", "harmless")


def _load(name: str) -> Any:
    return yaml.safe_load((LOGS / name).read_text(encoding="utf-8"))


EXCERPTS: dict[str, list[Any]] = _load("excerpts.yaml")
HARMLESS: list[list[str]] = _load("harmless.yaml")
REPORTED: list[dict[str, Any]] = _load("reported.yaml")


@pytest.mark.parametrize("name", EXCERPTS)
def test_each_issue_is_recognised(name: str) -> None:
    backend, text = EXCERPTS[name]
    padding = "Epoch 1/5\nstep 100: loss 0.25\n"
    for log in (text, padding + text + "\n" + padding, text.replace("\n", "\r\n"), text.upper()):
        assert [found.id for found in known_issues.explain(log, backend)] == [name]
    (found,) = known_issues.explain(padding + text, backend)
    assert found.number >= 3
    assert found.line in text
    assert found.cause
    assert found.remedy
    assert found.source


def test_every_issue_with_words_has_an_excerpt() -> None:
    spoken = {issue.id for issue in known_issues.issues() if issue.says}
    assert spoken == set(EXCERPTS)
    assert len(spoken) >= 94


@pytest.mark.parametrize(("backend", "text"), HARMLESS)
def test_healthy_runs_alarm_nobody(backend: str, text: str) -> None:
    for known in (backend, None):
        assert known_issues.explain(text, known) == []


@pytest.mark.parametrize("report", REPORTED, ids=[report["source"] for report in REPORTED])
def test_public_reports(report: dict[str, Any]) -> None:
    found = known_issues.explain(report["text"], report["backend"])
    assert [finding.id for finding in found] == report["found"]


def test_harmless_issues_are_marked_so() -> None:
    for name in ("metal-numa-harmless", "tf-gpu-device-0-harmless", "mps-pin-memory-harmless", "metal-0mb-harmless"):
        (finding,) = known_issues.explain(EXCERPTS[name][1])
        assert finding.harmless
        assert finding.command == ""
    (serious,) = known_issues.explain(EXCERPTS["mps-oom"][1])
    assert not serious.harmless


def test_the_backend_decides_what_the_same_words_mean() -> None:
    text = "ModuleNotFoundError: No module named 'tensorflow'"
    assert [found.id for found in known_issues.explain(text, "plaidml")] == ["plaidml-wants-tensorflow"]
    assert [found.id for found in known_issues.explain(text, "mps")] == ["keras-default-backend-tf"]
    assert known_issues.explain("Segmentation fault: 11", "metal") == []
    assert known_issues.explain("Segmentation fault: 11") == []


def test_one_line_is_explained_once_and_several_each() -> None:
    vm, full = EXCERPTS["mps-ci-runner"][1], EXCERPTS["mps-oom"][1]
    log = "\n".join([vm, vm, full, EXCERPTS["metal-numa-harmless"][1], full])
    found = {finding.id: finding.number for finding in known_issues.explain(log)}
    assert found == {"mps-ci-runner": 1, "mps-oom": 3, "metal-numa-harmless": 4}


def test_nothing_known_is_nothing_said() -> None:
    assert known_issues.explain("") == []
    assert known_issues.explain("KeyError: 'a problem nobody has written down'") == []
    assert known_issues.explain("\x00\xff\udcff binary rubbish \u2028") == []


def test_findings_are_told_with_what_to_type_and_harmless_ones_last() -> None:
    log = EXCERPTS["tf-gpu-device-0-harmless"][1] + "\n" + EXCERPTS["metal-tf220-pywrap"][1]
    text = known_issues.render(known_issues.explain(log))
    assert text.index("line 2: NotFoundError") < text.index("line 1: E tensorflow")
    for piece in (
        "    python -m pip install tensorflow==2.19.1",
        "source: tensorflow/tensorflow#126254",
        "harmless: ",
    ):
        assert piece in text
    assert "doctor --json" in known_issues.render([])


# -- the knowledge itself


def test_entries_are_complete_and_unique() -> None:
    names = [issue.id for issue in known_issues.issues()]
    assert len(names) == len(set(names))
    for issue in known_issues.issues():
        assert issue.says or issue.probe, issue.id
        assert all((issue.cause, issue.remedy, issue.source)), issue.id
        assert issue.effect in EFFECTS, issue.id
        assert set(issue.backends) <= set(selection.names()), issue.id
        assert issue.backends or not issue.vague, issue.id
        assert all(len(say) >= 6 for say in issue.says), issue.id


def test_probes_name_their_issue() -> None:
    probes = [issue.probe for issue in known_issues.issues() if issue.probe]
    assert len(probes) == len(set(probes)) >= 18


def test_expressions_cannot_run_away() -> None:
    for issue in known_issues.issues():
        # An unbounded repetition inside another is what makes matching take for ever; so is one of "anything".
        assert not re.search(r"[*+]\)?[*+{]|\.[*+]|\][*+]", issue.near), issue.id


def _logs() -> dict[str, str]:
    chance = random.Random(1)  # noqa: S311
    words = [
        "step",
        "loss",
        "0.12",
        "tensorflow",
        "torch",
        "error",
        "MPS",
        "memory",
        "symbol",
        "plaidml",
        "GPU",
        "the",
    ]
    lines = [" ".join(chance.choices(words, k=13)) for _ in range(70_000)]
    return {
        "lines": "\n".join(lines),
        "one line": " ".join(lines),
        "near misses": "out of range METAL tensorflow-metal SyntaxError dlopen libplaidml\n" * 70_000,
        "hits": (EXCERPTS["mps-oom"][1] + "\n") * 30_000,
    }


@pytest.mark.parametrize("kind", ["lines", "one line", "near misses", "hits"])
def test_a_log_of_megabytes_takes_less_than_a_second(kind: str) -> None:
    log = _logs()[kind] + "\nCould not find compiler for platform METAL"
    assert len(log) > 4_500_000
    known_issues.issues()
    begin = time.process_time()
    found = known_issues.explain(log, "metal")
    assert time.process_time() - begin < 1
    assert "metal-xla-compiler" in {finding.id for finding in found}
