"""HTML put together from Python: whatever is not markup already is escaped, so that no text can become markup."""

import html
import re
from collections.abc import Iterable

# Control characters, halves of characters, and marks that turn the direction of the text around them.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
_VOID = {"br", "img", "meta"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]


def escape(text: str) -> Html:
    """Text as it may stand between tags and in attributes; what cannot be shown becomes U+FFFD."""
    return Html(html.escape(_UNSHOWN.sub("\ufffd", text), quote=True))


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """An element.

    Args:
        name: of the tag.
        children: markup, text (escaped), or lists of them; None is left out.
        attributes: ``class_`` is ``class``, ``aria_label`` is ``aria-label``; True stands alone, None and False are
            left out.
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    if name in _VOID:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{join(children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def join(children: Iterable[Child]) -> Html:
    """Children one after the other."""
    return Html("".join(_rendered(child) for child in children))


def _rendered(child: Child) -> str:
    if isinstance(child, Html):
        return child
    if child is None:
        return ""
    return escape(str(child)) if isinstance(child, str | int | float) else join(child)


def table(caption: str, headings: list[str], rows: Iterable[list[Child]], figures: Iterable[int] = ()) -> Html:
    """A table that scrolls by itself where it is too wide; the first cell of a row is its heading.

    Args:
        caption: says what is in it.
        headings: of the columns.
        rows: cells, as many as there are headings.
        figures: indices of the columns that hold numbers.
    """
    right = dict.fromkeys(figures, "figure")
    head = [tag("th", text, scope="col", class_=right.get(index)) for index, text in enumerate(headings)]
    body = [
        tag("tr", tag("th", row[0], scope="row"), [_cell(row[at], right.get(at)) for at in range(1, len(row))])
        for row in rows
    ]
    drawn = tag("table", tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body))
    return tag("div", drawn, class_="wide", role="region", aria_label=caption, tabindex=0)


def _cell(cell: Child, kind: str | None) -> Html:
    """A cell; a word of its own, such as a date, is not broken at its hyphens."""
    word = isinstance(cell, str) and not isinstance(cell, Html) and len(cell) <= 16 and " " not in cell
    return tag("td", cell, class_=kind or ("word" if word else None))


def pairs(rows: Iterable[tuple[str, Child]]) -> Html:
    """Names and what they stand for; what is empty is left out."""
    return tag("dl", [[tag("dt", name), tag("dd", value)] for name, value in rows if value not in ("", None)])


def folded(summary: str, *children: Child) -> Html:
    """What is shown when asked for; paper shows it all."""
    return tag("details", tag("summary", summary), *children)


def link(address: str) -> Html:
    """An address to follow where it is one of the web, else its text."""
    if re.fullmatch(r"https?://[^\s<>\"'\\]+", address):
        return tag("a", address, href=address, rel="noreferrer noopener")
    return escape(address)
