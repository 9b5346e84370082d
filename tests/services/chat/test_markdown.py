"""Text in Markdown: as it is, but code is code."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from palimpsest.services.chat.commands.markdown import plain, table


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("`RATE` of [a](http://host) <b>", "<code>RATE</code> of [a](http://host) &lt;b&gt;"),
        ("one ` alone", "one ` alone"),
        ("``two` and` one", "``two<code> and</code> one"),
        ("`<img src=x>` *b*", "<code>&lt;img src=x&gt;</code> *b*"),
        (r"\`a` [x`](http://host)", r"\<code>a</code> [x`](http://host)"),
    ],
)
def test_text_is_no_markdown_but_code_stays_code(text: str, html: str) -> None:
    assert MarkdownIt().renderInline(plain(text)) == html


def test_code_ends_no_cell_of_a_table() -> None:
    cells = MarkdownIt().enable("table").render(table(["a", "b"], [["`x | y`", "`z`"]]))
    assert cells.count("<td>") == 2
    assert "<code>z</code>" in cells
