"""Every command that README and docs show: its program exists, its options exist, its settings compose."""

import json
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import CHECKOUT, scripts
from zoo.cli import parser
from zoo.cli.main import main
from zoo.config.overrides import Overrides

PAGES = [CHECKOUT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")] + sorted(
    (CHECKOUT / "docs").rglob("*.md")
)


def _commands(page: Path) -> list[str]:
    """The commands of a page: lines of its shell blocks, continued lines joined, and code in tables and text."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    inline = re.findall(r"`((?:python3? |git |\. )[^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [line.strip() for line in [*lines, *inline] if line.strip() and not line.startswith("#")]


# One page a command: those that several pages show are checked once.
COMMANDS = list({command: page.name for page in PAGES if page.is_file() for command in _commands(page)}.items())


def _words(command: str) -> list[str]:
    """The words of a command from its program on, without what makes the environment."""
    words = shlex.split(command, comments=True)
    if words[:2] in (["python3", "scripts/run.py"], ["python", "scripts/run.py"]):
        words = words[2:]
    return words


def test_pages_show_commands() -> None:
    assert len(COMMANDS) > 80


ZOO = [(page, command) for command, page in COMMANDS if _words(command)[:3] == ["python", "-m", "zoo"]]
ZOO += [(page, command) for command, page in COMMANDS if _words(command)[:1] == ["zoo"]]


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a folder the working one in which the newest run trained a model."""

    def train(model: str) -> None:
        folder = tmp_path / "runs" / "newest"
        folder.mkdir(parents=True)
        record = {"exit": "completed", "verb": "train", "model": model, "started": "2026-11-22T03:26:29+00:00"}
        (folder / "run.json").write_text(json.dumps(record))
        (folder / "weights.npz").touch()
        (tmp_path / "tests").symlink_to(CHECKOUT / "tests")
        (tmp_path / "my_model.py").write_text("def build(input_shape, classes, width=32, dropout=0.3): pass\n")
        with zipfile.ZipFile(tmp_path / "cats.keras", "w") as archive:
            archive.writestr("config.json", "{}")
        lite, onnx = b"\0\0\0\0TFL3", b"\x08\x08\x3a\0\x42\0"
        models = {"vww_96.h5": b"\x89HDF\r\n\x1a\n model_config", "model.tflite": lite, "model_unquant.tflite": lite,
                  "detector.onnx": onnx}  # fmt: skip
        for name, content in models.items():
            (tmp_path / name).write_bytes(content)
        monkeypatch.chdir(tmp_path)

    return train


def _model_of_newest_run(page: str, overrides: list[str]) -> str:
    if any(word.startswith("prompt=") for word in overrides):
        return "transformer/lm"
    return {"text.md": "transformer/classifier", "style-transfer.md": "style_transfer/fast"}.get(page, "mnist")


@pytest.mark.parametrize(("page", "command"), ZOO, ids=[command for _, command in ZOO])
def test_a_command_of_the_zoo_is_understood(
    page: str, command: str, trained: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    words = _words(command)
    words = words[3:] if words[0] == "python" else words[1:]
    if words[:1] == ["COMMAND"]:
        words = words[1:]
    parsed = parser.parse([word for word in words if word != "--help"]) if "--help" not in words else None
    resumes = any(word.startswith("resume=") for word in words)
    if parsed is None or words[0] not in ("train", "infer", "bench", "export") or resumes:
        return
    trained(_model_of_newest_run(page, parsed.overrides))
    overrides = Overrides.parse(parsed.overrides).combinations()[0].words if parsed.multirun else parsed.overrides
    assert main([words[0], *overrides, "--cfg", "job"]) == 0, capsys.readouterr().err


SCRIPTS = [(page, command) for command, page in COMMANDS if any("scripts/" in word for word in _words(command)[:2])]
SCRIPTS += [(page, command) for command, page in COMMANDS if _words(command)[:2] == ["python", "scripts/run.py"]]


@pytest.mark.parametrize(("page", "command"), SCRIPTS, ids=[command for _, command in SCRIPTS])
def test_a_script_and_its_options_exist(page: str, command: str) -> None:
    words = _words(command)
    script = CHECKOUT / next(word for word in words if "scripts/" in word)
    assert script.is_file()
    source = script.read_text(encoding="utf-8")
    assert not [
        word
        for word in words
        if word.startswith("--") and word != "--help" and f'"{word}"' not in source and word not in source
    ]


LINKS = [
    (page, target)
    for page in PAGES
    if page.is_file()
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    if "://" not in target
]


@pytest.mark.parametrize(("page", "target"), LINKS, ids=[f"{page.name}-{target}" for page, target in LINKS])
def test_a_link_leads_somewhere(page: Path, target: str) -> None:
    assert (page.parent / target).exists()


ANCHORS = [
    (page, target, anchor)
    for page in PAGES
    if page.is_file()
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "target", "anchor"), ANCHORS, ids=[f"{a.name}-{b}#{c}" for a, b, c in ANCHORS])
def test_a_link_into_a_page_names_a_heading(page: Path, target: str, anchor: str) -> None:
    text = ((page.parent / target) if target else page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    assert anchor in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_every_command_of_the_command_line_is_on_its_page() -> None:
    shown = subprocess.run([sys.executable, "-m", "zoo", "--help"], capture_output=True, text=True, check=True).stdout
    verbs = set(re.findall(r"^    (\w+)(?: +\S|$)", shown, flags=re.MULTILINE))
    page = (CHECKOUT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert verbs
    assert verbs == set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE))


def test_the_badges_state_the_facts_of_the_package() -> None:
    drawn = scripts.load("maintenance/badges").badges()
    first_page = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert len(drawn) == 4
    for name, content in drawn.items():
        assert (CHECKOUT / "assets" / name).read_text(encoding="utf-8") == content
        assert f"](assets/{name})" in first_page
