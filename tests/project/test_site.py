"""The documentation builds as a site, offline, without a broken link, and every page has a kind and a place."""

import re
import tomllib
from pathlib import Path

from tests.support import CHECKOUT, scripts

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
    pages = [str(path.relative_to(CHECKOUT)) for path in (CHECKOUT / "docs").rglob("*.md")]
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
