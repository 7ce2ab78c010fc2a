"""The documentation builds as a site, offline, without a broken link, and every page has a kind and a place."""

import re
import tomllib
from pathlib import Path

from tests.support import CHECKOUT, scripts
from zoo import api
from zoo.config import setting
from zoo.tasks import discovery

KINDS = {"tutorials", "how-to", "reference", "background"}


def test_the_site_builds_strictly_with_its_search(tmp_path: Path) -> None:
    site = scripts.load("maintenance/site")
    done = site.build(tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").is_file()
    assert "batch_size" in (tmp_path / "site" / "search.json").read_text(encoding="utf-8")
    page = (tmp_path / "site" / "docs" / "how-to" / "install.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|img|link rel="stylesheet")[^>]* (?:src|href)="([^"]+)"', page)
    assert loaded
    assert not [address for address in loaded if "://" in address], "a page loads something from elsewhere"


def test_every_page_is_in_the_navigation_once_and_of_one_kind() -> None:
    config = (CHECKOUT / "scripts" / "maintenance" / "site.toml").read_text(encoding="utf-8")
    named = re.findall(r'"(docs/[^"]+\.md)"', config)
    generated = [f"docs/reference/{name}" for name in scripts.load("maintenance/reference").PAGES]
    pages = generated + [str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "docs").rglob("*.md")]
    assert sorted(named) == sorted(pages)
    assert {page.split("/")[1] for page in pages if page != "docs/index.md"} <= KINDS
    assert tomllib.loads(config)["project"]["nav"]


def test_every_page_is_on_the_index() -> None:
    index = (CHECKOUT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [str(path.relative_to(CHECKOUT / "docs")) for path in (CHECKOUT / "docs").rglob("*.md")]
    assert not [page for page in pages if page != "index.md" and f"({page})" not in index]


def test_how_to_pages_begin_with_a_verb() -> None:
    headings = [path.read_text(encoding="utf-8").splitlines()[0] for path in (CHECKOUT / "docs/how-to").glob("*.md")]
    nouns = [heading for heading in headings if re.match(r"# (The|A|An|Your|\w+(tion|ing|ment|ments))\b", heading)]
    assert headings
    assert not nouns


def test_the_reference_has_every_setting_command_and_function() -> None:
    reference = scripts.load("maintenance/reference")
    settings, options, functions = (page() for page in reference.PAGES.values())
    for command in discovery.commands():
        keys = [key for key, _, declared in setting.walk(command.schema()) if declared.meaning]
        assert not [key for key in keys if f"| `{key}` |" not in settings]
    assert set(re.findall(r"^## (\w+)$", options, flags=re.MULTILINE)) >= {"train", "infer", "serve", "certify"}
    assert not [name for name in api.__all__ if f"\n## {name}\n" not in functions]
    row = next(line for line in settings.splitlines() if line.startswith("| `trainer.epochs` |"))
    assert "from 0 to 100,000" in row
    assert row.endswith("| results |")


def test_a_terminal_is_drawn_with_its_first_and_last_epochs() -> None:
    terminal = scripts.load("maintenance/terminal")
    lines = ["Backend cpu", *(f"epoch {number}/9 loss <1" for number in range(1, 10)), "x" * 200]
    image = terminal.drawn("zoo train", lines)
    assert "$ zoo train" in image
    assert [int(number) for number in re.findall(r"epoch (\d)/9 loss &lt;1", image)] == [1, 2, 8, 9]
    assert image.count(">...<") == 1
    assert "x" * 101 + "...<" in image


def test_the_readme_is_short_and_its_terminal_is_a_real_run() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    assert not re.search(r"\b(EPYC|Xeon|Ryzen|Core i\d)\b", text)
    image = (CHECKOUT / "assets" / "terminal.svg").read_text(encoding="utf-8")
    assert "test accuracy 0.9" in image
    assert "://" not in image.replace("http://www.w3.org/2000/svg", "")
