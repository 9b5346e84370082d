"""The texts that a context tells: whole sentences, wherever a page or a message has them, and no half ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.context.told import Told

PAGE = """## Said by the user
- [3] Never write to the ledger twice.
## Done
- [4] The parser was split in two. | Edit src/parser.py: def read_block(source) · failed: no such module here · also a_b
- [6] Write src/gate.py: the gate opens early\\n\\tnobody waits at night
  → [5] three tests failed, one passed"""
TOLD = Told(("Hello. The gate opens\nat nine in winter.", PAGE))


@pytest.mark.parametrize(
    "sentence",
    [
        "Never write to the ledger twice.",
        "* Never write to the ledger  twice",
        "The parser was split in two.",
        "def read_block(source)",
        "no such module here",
        "three tests failed, one passed",
        "nobody waits at night",
        "The gate opens",
        "Hello.",
    ],
)
def test_a_sentence_that_stands_there_whole_is_told(sentence: str) -> None:
    assert TOLD.untold(sentence) == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "Write to the ledger twice.",
        "write to the ledger twice.",
        "The gate opens at nine",
        "Was the parser split in two?",
    ],
)
def test_a_part_of_a_sentence_or_another_one_is_not_told(sentence: str) -> None:
    assert TOLD.untold(sentence) == sentence


def test_what_is_told_is_left_out_of_a_text_and_the_rest_stays() -> None:
    text = "I was there. The parser was split in two. Never write to the ledger twice. Nobody else came along."
    assert TOLD.untold(text) == "I was there. … Nobody else came along."
    assert TOLD.untold("The parser was split in two. Thanks!") == ""


def test_a_script_without_spaces_says_something_too() -> None:
    assert TOLD.untold("The parser was split in two. \u6eab\u5ba4\u7684\u6c34\u6cf5\u574f\u4e86") != ""


SENTENCES = st.lists(st.sampled_from([f"The lamp number {n} is lit." for n in range(6)]), min_size=1)


@given(SENTENCES, SENTENCES)
def test_no_sentence_is_told_twice_and_none_is_lost(told: list[str], text: list[str]) -> None:
    left = Told((" ".join(told),)).untold(" ".join(text))
    assert not any(sentence in left for sentence in told)
    assert all(sentence in left for sentence in text if sentence not in told)


def test_a_word_of_any_length_is_read_once() -> None:
    """As in encoded data. Where each of its characters began another search, this would not end."""
    data = "aB3" * 300_000
    assert Told().untold(data) == data
    assert Told((f"{data} is the key.",)).untold(f"{data} is the key.") == ""
