"""zoo.reports.html: markup is only what was made here; everything else is escaped."""

import pytest

from zoo.reports import html

HOSTILE = "\"><b onload='x'>&amp;"
ESCAPED = "&quot;&gt;&lt;b onload=&#x27;x&#x27;&gt;&amp;amp;"


def test_text_and_attributes_are_escaped() -> None:
    assert html.tag("p", HOSTILE, title=HOSTILE) == f'<p title="{ESCAPED}">{ESCAPED}</p>'
    assert html.tag("img", src=HOSTILE, alt="") == f'<img src="{ESCAPED}" alt="">'


@pytest.mark.parametrize("mark", ["\x00", "\x1b", "\x7f", "\x9f", "\ud800", "\u202e", "\u2066", "\uffff"])
def test_what_cannot_be_shown_is_replaced(mark: str) -> None:
    assert html.escape(f"a{mark}b\t\n") == "a\ufffdb\t\n"


def test_attributes_have_the_names_of_html() -> None:
    given = html.tag("a", class_="x", aria_label="y", hidden=True, open=False, id=None, width=0, href="")
    assert given == '<a class="x" aria-label="y" hidden width="0" href=""></a>'


def test_children_are_joined_at_any_depth() -> None:
    children = ["a<", None, 3, 0.5, [html.tag("b", "c"), ["d", [None, html.tag("br")]]]]
    assert html.tag("p", children) == "<p>a&lt;30.5<b>c</b>d<br></p>"
    assert html.join([]) == ""
