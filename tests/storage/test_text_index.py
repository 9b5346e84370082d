"""The index finds words however they are written, and takes a question for words, whatever stands in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.facts.retrieval.words import Terms
from palimpsest.domain.offline.places import MARK, UNMARK, without_marks
from palimpsest.domain.offline.question import search_terms
from palimpsest.storage.text_index import LINES, TextIndex, lines_of, marked_texts

IDENTITY = (1, 2, 3, 4)


def index_of(**files: str) -> TextIndex:
    """`a_py` means `a.py`."""
    index = TextIndex()
    for name, text in files.items():
        index.put(name.replace("_", "."), IDENTITY, text)
    return index


def found(index: TextIndex, question: str) -> list[str]:
    return [f"{hit.path}:{hit.line}" for hit in index.matches(search_terms(question), 10)]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("retry_delay = 3", "what is the retry delay"),
        ("retryDelay = 3", "what is the retry delay"),
        ("const HTTPServer", "which server"),
        ("the retries are delayed", "retry"),
        ("maxTokens", "maxtokens"),
        ("Zürich", "zurich"),
        ("服务器重新連接超时", "重新連接"),
    ],
)
def test_a_word_is_found_however_it_is_written(text: str, question: str) -> None:
    assert found(index_of(a_md="nothing", b_md=f"here:\n{text}\n"), question) == ["b.md:1"]


def test_a_file_is_found_by_its_path_and_passages_by_their_lines() -> None:
    index = index_of(cache_py="\n" * (2 * LINES) + "def clear(): ...\n", other_py="def clear(): ...\n")
    assert found(index, "clear the cache")[0] == f"cache.py:{2 * LINES + 1}"


@given(
    st.lists(
        st.sampled_from(
            ['"', "AND", "OR", "NOT", "NEAR(a, 2)", "words:x", "{path words}: a", "a*", "^a", "-a", "+", "'"]
        )
        | st.text(max_size=12),
        max_size=12,
    ).map(" ".join)
)
def test_no_question_is_syntax(question: str) -> None:
    index_of(a_md="a and or not near words path x").matches(search_terms(question), 10)


def test_without_words_nothing_is_found() -> None:
    assert index_of(a_md="a").matches(Terms((), ()), 10) == []
    assert marked_texts(["a"], Terms((), ())) == {}


def test_of_texts_those_that_mention_it_are_marked() -> None:
    texts = ["nothing", "x" * 3_000 + " retryDelay", "no"]
    assert marked_texts(texts, search_terms("the delays")) == {1: ["x" * 3_000 + f" retry{MARK}Delay{UNMARK}"]}


@given(st.text(alphabet="aB_ \n\r\t\0\2\3\u2063é日", max_size=300))
def test_marked_lines_are_the_lines_of_the_file(text: str) -> None:
    index, terms = index_of(a_md=text), search_terms("ab b é 日")
    for hit in index.matches(terms, 10):
        marked = index.marked_lines(hit, terms)
        start = hit.line - 1
        assert [without_marks(line) for line in marked] == lines_of(text)[start : start + LINES]


def test_what_matches_is_marked_inside_an_identifier_too() -> None:
    terms = search_terms("retry the servers")
    index = index_of(a_py="x\nHTTPServer.retryDelay\n")
    (hit,) = index.matches(terms, 10)
    assert index.marked_lines(hit, terms)[1] == f"HTTP{MARK}Server{UNMARK}.{MARK}retry{UNMARK}Delay"


def test_a_file_that_is_put_again_or_removed_leaves_nothing_of_what_it_was() -> None:
    index = index_of(a_md="lantern\n" * 100, b_md="lantern")
    index.put("a.md", (2, 2, 2, 2), "harbor")
    index.put("c.bin", IDENTITY, None)
    assert found(index, "lantern") == ["b.md:1"]
    assert found(index, "harbor") == ["a.md:1"]
    assert index.known() == {"a.md": ((2, 2, 2, 2), True), "b.md": (IDENTITY, True), "c.bin": (IDENTITY, False)}
    index.remove(["b.md", "never.there"])
    assert found(index, "lantern") == []
    assert index.n_texts() == 1


def test_a_file_of_line_ends_and_a_line_without_end_are_indexed() -> None:
    index = index_of(a_md="\n" * 1_000_000 + "lantern", b_md="harbor " + "x" * 1_000_000 + " anchor")
    assert found(index, "lantern") == ["a.md:1000001"]
    assert found(index, "harbor") == ["b.md:1"]
    assert found(index, "anchor") == []
