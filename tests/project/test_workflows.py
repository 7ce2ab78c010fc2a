"""The files that GitHub reads, checked offline by the tools that know their forms, and mistakes planted in them."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support import CHECKOUT

FORMS = {
    "vendor.github-workflows": ".github/workflows/*.yml",
    "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/*.yml",
    "vendor.dependabot": ".github/dependabot.yml",
    "vendor.citation-file-format": "CITATION.cff",
}
WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))


def _tool(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _form(form: str, root: Path) -> "subprocess.CompletedProcess[str]":
    files = sorted(map(str, root.glob(FORMS[form])))
    assert files
    return _tool("check-jsonschema", "--builtin-schema", form, *files)


def _audit(root: Path) -> "subprocess.CompletedProcess[str]":
    return _tool("zizmor", "--offline", "--pedantic", "--strict-collection", "--no-progress", str(root))


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the files in which a test may plant a mistake."""
    shutil.copytree(CHECKOUT / ".github", tmp_path / ".github")
    shutil.copy(CHECKOUT / "CITATION.cff", tmp_path)
    return tmp_path


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_every_file_has_its_form(form: str) -> None:
    answer = _form(form, CHECKOUT)
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("form", "place", "old", "new"),
    [
        ("vendor.github-workflows", ".github/workflows/tests.yml", "runs-on:", "runs_on:"),
        ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/evidence.yml", "type: input", "type: line"),
        ("vendor.dependabot", ".github/dependabot.yml", "interval: monthly", "interval: sometimes"),
        ("vendor.citation-file-format", "CITATION.cff", "type: software", "type: poem"),
    ],
)
def test_a_planted_mistake_of_form_is_seen(copied: Path, form: str, place: str, old: str, new: str) -> None:
    assert _form(form, copied).returncode == 0
    _replace(copied / place, old, new)
    answer = _form(form, copied)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert Path(place).name in answer.stdout


def test_the_auditor_of_workflows_finds_nothing() -> None:
    answer = _audit(CHECKOUT / ".github")
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("place", "old", "new", "finding"),
    [
        ("tests.yml", "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "unpinned-uses"),
        ("tests.yml", "persist-credentials: false", "fetch-depth: 0", "artipacked"),
        ("mac.yml", 'backend="$BACKEND"', 'backend="${{ inputs.backend }}"', "template-injection"),
        ("release.yml", "permissions: {}", "permissions: write-all", "excessive-permissions"),
        ("tests.yml", "  pull_request:", "  pull_request_target:", "dangerous-triggers"),
    ],
)
def test_a_planted_weakness_is_seen(copied: Path, place: str, old: str, new: str, finding: str) -> None:
    _replace(copied / ".github" / "workflows" / place, old, new)
    answer = _audit(copied / ".github")
    assert answer.returncode != 0
    assert finding in answer.stdout, answer.stdout + answer.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_rights_are_given_by_job(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    assert not [name for name, _ in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)]
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in used)
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert all(set(job) >= {"permissions", "timeout-minutes"} for job in workflow["jobs"].values())
    assert "secrets." not in text


def test_what_workflows_run_exists() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    named = set(re.findall(r"\b(?:scripts|tests)/[\w/]+\.py\b", text))
    assert named
    assert all((CHECKOUT / name).is_file() for name in named)


def test_issue_forms_ask_for_what_doctor_and_certify_say() -> None:
    forms = sorted((CHECKOUT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert {path.stem for path in forms} == {"problem", "evidence"}
    for path, part, words in zip(
        forms, ("archive", "doctor"), ("evidence-HARDWARE-DATE.zip", "doctor --json"), strict=True
    ):
        (asked,) = [row for row in yaml.safe_load(path.read_text("utf-8"))["body"] if row.get("id") == part]
        assert words in asked["attributes"]["description"]
        assert asked["validations"]["required"]


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert citation["authors"] == project["authors"]
