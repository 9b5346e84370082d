"""Lines end where LSP says: at LF, CR LF and CR."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pygls.workspace import TextDocument

from palimpsest.lsp.runtime.documents import mend_documents, split_lines

TEXT = st.text(st.sampled_from("ab\n\r\v\f\x1c\x1e\x85\u2028\u2029é"), max_size=30)


@given(TEXT)
@example("a\x0cb\u2028c\nd\r\ne\rf")
def test_lines_are_the_text_cut_after_each_end_of_line(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == len(re.split(r"\r\n|\r|\n", text)) - (1 if text == "" or text[-1] in "\r\n" else 0)
    for line in lines[:-1]:
        assert re.search(r"(\r\n|\r|\n)\Z", line)
    for line in lines:
        assert not re.search(r"[\r\n]", re.sub(r"(\r\n|\r|\n)\Z", "", line))


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n", "a\u2028b\nc"])
def test_documents_of_the_library_use_it(text: str) -> None:
    mend_documents()
    assert TextDocument("file:///x", text).lines == tuple(split_lines(text))
