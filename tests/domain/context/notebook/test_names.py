"""Names and fragments: what counts as a name, and that a fragment never cuts one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.context.notebook.fragments import best_of, pieces_of
from palimpsest.domain.context.notebook.names import names_in, shortened_path
from palimpsest.domain.facts.extraction.names import places_in


def test_spellings_of_a_name_meet_under_one_key() -> None:
    assert names_in("./Lib/Reader.py and lib/reader.py/") == {"lib/reader.py": "./Lib/Reader.py"}


def test_tags_and_short_words_are_no_names() -> None:
    assert names_in("<my-tag attr> text </my-tag> a_b and/or 12") == {"and/or": "and/or"}


def test_a_place_to_fill_in_is_a_name_and_no_tag() -> None:
    assert names_in("<task_id>/<session_name> of </tool_use_error>").keys() == {"task_id", "session_name"}


@pytest.mark.parametrize("blob", ["a" * 400_000, "0f" * 200_000, "/" * 400_000, "-" * 400_000, "a/" * 200_000])
def test_a_blob_of_any_length_holds_no_place_and_no_name_is_sought_in_it_for_long(blob: str) -> None:
    """Time that grows with the square of its length would be minutes."""
    assert [place.path for place in places_in(f"See {blob} and src/a.py too", "")] == ["src/a.py"]
    assert "src/a.py" in names_in(f"See {blob} and src/a.py too")
    assert all(len(each.text) < 400 for each in pieces_of(f"src/b.py {blob} and src/a.py too"))


WORDS = st.sampled_from(
    ["the", "reader", "of", "read_block", "src/deep/reader.py", "a.b.C", "UTF-8", "über", "0a1b2c3d4e", "--verbose"]
)


@given(st.lists(WORDS, min_size=1, max_size=80))
def test_a_fragment_holds_whole_names_of_its_line(words: list[str]) -> None:
    line = " ".join(words)
    whole = names_in(line)
    for text, within, _ in pieces_of(line):
        assert text.removesuffix("…") in line
        assert within.keys() <= whole.keys()


def test_a_line_number_and_the_sign_of_a_diff_are_left_out() -> None:
    assert [each.text for each in pieces_of("  12→def read_block(source):\n+ return next_block")] == [
        "def read_block(source):",
        "return next_block",
    ]


def test_of_many_lines_those_that_name_most_are_kept_until_each_name_occurs() -> None:
    found = pieces_of("call read_block\nread_block, skip_block, next_block\nnothing of it")
    assert [each.text for each in best_of(found)] == ["read_block, skip_block, next_block"]


def test_a_long_path_is_shortened_to_its_end() -> None:
    assert shortened_path("/home/somebody/core/reader.py") == "…/core/reader.py"
    assert shortened_path("src/reader.py") == "src/reader.py"


def test_a_long_line_is_cut_where_a_sentence_or_a_clause_ends_near() -> None:
    line = (
        "I do not know why that is so. Look at src/parser.py first, and tell me what happens to the readings of the "
        "pump. After that nobody needs old_pump any more, I think; the others are all fine and can be left as they are."
    )
    assert [each.text for each in pieces_of(line)] == [
        "I do not know why that is so. Look at src/parser.py first",
        "After that nobody needs old_pump any more, I think",
    ]


@given(st.lists(WORDS, min_size=1, max_size=20), st.integers(1, 4))
def test_no_escape_of_a_quoted_text_joins_a_name(words: list[str], n_quoted: int) -> None:
    quoted = text = "\n\t".join(words)
    for _ in range(n_quoted):
        quoted = json.dumps({"content": quoted}, ensure_ascii=False)
    assert names_in(quoted).keys() <= {*names_in(text), *names_in(" ".join(words))}


def test_a_path_of_windows_holds_no_escape() -> None:
    path = r"C:\new_parts\table_1\read_me.txt"
    assert names_in(f"See {path} there.") == names_in(path.replace("\\", " "))


def test_a_long_line_that_quotes_a_text_is_read_by_the_lines_of_that() -> None:
    source = "\n".join(f"def read_block_{n}(source): the next block" for n in range(4))
    assert [each.text for each in pieces_of(json.dumps({"content": source}))][1:3] == source.split("\n")[1:3]


def test_a_stretch_that_breaks_off_says_so() -> None:
    line = f"{'and so on ' * 30}read_block {'and so on ' * 30}"
    (text, *_), *_ = pieces_of(line)
    assert text.endswith("…")
    assert not pieces_of("The reader of read_block.")[0][0].endswith("…")
