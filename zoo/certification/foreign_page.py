"""Whether the page in a stranger's archive does no more than show text: somebody may open it."""

import html.parser
import re

TAGS = frozenset((
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "div", "p", "h1", "h2", "h3", "dl",
    "dt", "dd", "ul", "li", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "br", "code", "a",
))  # fmt: skip
ATTRIBUTES = frozenset((
    "class", "id", "lang", "scope", "role", "tabindex", "rel", "charset", "name", "content", "http-equiv", "colspan",
))  # fmt: skip
# What a style sheet loads by.
_LOADS = re.compile(r"url\s*\(|@import|expression\s*\(|\\", re.IGNORECASE)
_REFRESH = "refresh"


class _Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        if tag not in TAGS:
            self.problems.append(f"has the element {tag!r}")
        for name, value in attrs:
            web = name == "href" and tag == "a" and (value or "").startswith(("https://", "http://", "#"))
            if not (name in ATTRIBUTES or name.startswith("aria-") or web):
                self.problems.append(f"has the attribute {name!r} of {tag!r}")
            if name == "http-equiv" and (value or "").strip().lower() == _REFRESH:
                self.problems.append("goes to another page by itself")

    def handle_endtag(self, tag: str) -> None:
        self._in_style = self._in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        if self._in_style and _LOADS.search(data):
            self.problems.append("has a style sheet that loads something")


def problems(page: str) -> list[str]:
    """Return what a page has that no page of ``certify`` has, a phrase each, without repetition."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return list(dict.fromkeys(reader.problems))
