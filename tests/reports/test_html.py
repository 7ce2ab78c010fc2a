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


def test_a_table_has_headings_of_columns_and_rows() -> None:
    table = html.table("a caption", ["name", "value"], [["run-a", 1.5], ["two words", "x-y"]], figures=[1])
    assert '<th scope="col">name</th><th scope="col" class="figure">value</th>' in table
    assert '<th scope="row" class="word">run-a</th><td class="figure">1.5</td>' in table
    assert '<th scope="row">two words</th>' in table
    page = html.table(
        "c", ["a", "b"], [["x", "2026-01-01"], ["y" * 41, "z" * 17], ["y" * 40, "z" * 16], [3, html.tag("b")]]
    )
    assert '<td class="word">2026-01-01</td>' in page
    assert f'<th scope="row">{"y" * 41}</th><td>{"z" * 17}</td>' in page
    assert f'<th scope="row" class="word">{"y" * 40}</th><td class="word">{"z" * 16}</td>' in page
    assert '<th scope="row">3</th><td><b></b></td>' in page


def test_pairs_without_a_value_are_left_out() -> None:
    assert (
        html.pairs([("a", 1), ("b", ""), ("c", None), ("d", 0)]) == "<dl><dt>a</dt><dd>1</dd><dt>d</dt><dd>0</dd></dl>"
    )


def test_only_addresses_of_the_web_are_links() -> None:
    assert html.link("https://a.example.org/x?y=1") == (
        '<a href="https://a.example.org/x?y=1" rel="noreferrer noopener">https://a.example.org/x?y=1</a>'
    )
    for text in ("javascript:alert(1)", "https://a b", 'http://a"b', "ftp://a"):
        assert html.link(text) == html.escape(text)


def test_folded_content_opens_on_a_click() -> None:
    assert html.folded("more", "x", html.tag("b")) == "<details><summary>more</summary>x<b></b></details>"
