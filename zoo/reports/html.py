"""Build HTML from Python; everything except markup is escaped."""

import html
import re
from collections.abc import Iterable, Sequence

# Control characters, surrogates, and marks that change the text direction.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


class Html(str):
    """Text that is markup."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]


def escape(text: str) -> Html:
    """Escape text for use between tags and in attributes; unprintable characters become U+FFFD."""
    return Html(html.escape(_UNSHOWN.sub("\ufffd", text), quote=True))


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """Return an element.

    Args:
        children: markup, text (escaped), or lists of them; None is omitted.
        attributes: ``class_`` means ``class``, ``aria_label`` means ``aria-label``; True has no value, None and False
            are omitted.
    """
    given = {key: value for key, value in attributes.items() if value is not None and value is not False}
    shown = "".join(_attribute(key, value) for key, value in given.items())
    if name in ("br", "img", "meta"):  # elements without an end
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{join(children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def join(children: Iterable[Child]) -> Html:
    return Html("".join(_rendered(child) for child in children))


def _rendered(child: Child) -> str:
    if isinstance(child, Html):
        return child
    if child is None:
        return ""
    return escape(str(child)) if isinstance(child, str | int | float) else join(child)


def table(caption: str, headings: list[str], rows: Sequence[Sequence[Child]], figures: Iterable[int] = ()) -> Html:
    """Return a table; the first cell of a row is its heading, ``figures`` are indices of numeric columns."""
    right = dict.fromkeys(figures, "figure")
    head = [tag("th", text, scope="col", class_=right.get(index)) for index, text in enumerate(headings)]
    # A single word in a heading, such as the name of a run, is not broken at its hyphens.
    titles = [tag("th", row[0], scope="row", class_=_kind(row[0], 40)) for row in rows]
    others = [
        [tag("td", row[at], class_=right.get(at) or _kind(row[at], 16)) for at in range(1, len(row))] for row in rows
    ]
    body = [tag("tr", *each) for each in zip(titles, others, strict=True)]
    drawn = tag("table", tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body))
    return tag("div", drawn, class_="wide", role="region", aria_label=caption, tabindex=0)


def _kind(cell: Child, longest: int) -> str | None:
    """Return the class of a single short word, such as a date, which is not broken at its hyphens."""
    is_word = isinstance(cell, str) and not isinstance(cell, Html) and len(cell) <= longest and " " not in cell
    return "word" if is_word else None


def pairs(rows: Iterable[tuple[str, Child]]) -> Html:
    return tag("dl", [[tag("dt", name), tag("dd", value)] for name, value in rows if value not in ("", None)])


def folded(summary: str, *children: Child) -> Html:
    """Return content that opens on a click; it is printed in full."""
    return tag("details", tag("summary", summary), *children)


def link(address: str) -> Html:
    if re.fullmatch(r"https?://[^\s<>\"'\\]+", address):
        return tag("a", address, href=address, rel="noreferrer noopener")
    return escape(address)
