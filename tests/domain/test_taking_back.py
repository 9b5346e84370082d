"""An edit is taken back where it stands, and what was typed since stays, to the character."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.domain.taking_back import Standing, differences, without_edit

LINES = "one\ntwo\nthree\nfour\nfive\nsix\n"


def edited(old: str, new: str, text: str = LINES) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("after", "now", "left"),
    [
        ("1 B 3 4 5", "1 B 3 4 e", "1 2 3 4 e"),
        ("1 B 3 4 5", "x 1 B y 3 4 5", "x 1 2 y 3 4 5"),
        ("1 3 4 5", "1 3 4 5 6", "1 2 3 4 5 6"),
        ("1 2 new 3 4 5", "2 new 3 4 5", "2 3 4 5"),
        ("all", "mine all", "mine 1 2 3 4 5"),
        ("1 Telling 3 4 5", "x Telling y 4 5", "x 2 y 4 5"),
    ],
)
def test_what_was_typed_elsewhere_stays(after: str, now: str, left: str) -> None:
    found = without_edit(*("\n".join([*text.split(), ""]) for text in ("1 2 3 4 5", after, now)))
    assert (found.standing, found.text) == (Standing.AS_LEFT, "\n".join([*left.split(), ""]))


@pytest.mark.parametrize(
    "now",
    [
        edited("two", "TWO!"),
        edited("two\n", ""),
        "other\nTW\nthings\n",
        "",
        None,
    ],
)
def test_where_the_edit_was_changed_again_nothing_is_taken_back(now: str | None) -> None:
    found = without_edit(LINES, edited("two", "TWO"), now)
    assert (found.standing, found.text) == (Standing.CHANGED, now)


def test_it_must_be_clear_which_lines_are_meant() -> None:
    assert without_edit("a\nb\nc\n", "a\n}\nc\n", "mine\n}\nmine\n").standing is Standing.CHANGED
    assert without_edit("p\nq\np\n", "p\np\np\n", "p\np\n").standing is Standing.CHANGED


def test_lines_that_were_removed_do_not_come_back_into_what_was_typed_there() -> None:
    after = edited("three\nfour\n", "")
    assert without_edit(LINES, after, edited("three\nfour\n", "mine\n")).standing is Standing.CHANGED


def test_what_the_user_undid_is_as_before() -> None:
    after = edited("two", "TWO").replace("five", "FIVE")
    assert without_edit(LINES, after, LINES).standing is Standing.AS_BEFORE
    assert without_edit(LINES, after, f"{LINES}more\n").standing is Standing.AS_BEFORE
    half = without_edit(LINES, after, f"{edited('two', 'TWO')}more\n")
    assert (half.standing, half.text) == (Standing.PARTLY, f"{LINES}more\n")
    assert without_edit("a\nx\nb\n", "a\nx\nx\nb\n", "a\nx\nb\nc\n").standing is Standing.AS_BEFORE


def test_a_file_that_was_made_goes_whole_or_not_at_all() -> None:
    assert without_edit(None, "text", "text").text is None
    assert without_edit(None, "text\n", "text\r\n").standing is Standing.AS_LEFT
    assert without_edit(None, "text", "text\n").standing is Standing.AS_LEFT
    assert without_edit(None, "text", "").text is None
    assert without_edit(None, "text", "text!").standing is Standing.CHANGED
    assert without_edit(None, "text", None).standing is Standing.AS_BEFORE


@pytest.mark.parametrize(
    ("before", "after", "now", "left"),
    [
        ("a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\nc\r\n", "a\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\nB\n", "a\r\nB\r\nc\r\n", "a\r\nb\r\nc\r\n"),
        ("a\nb\nc", "a\nB\nc", "a\nB\nc\n", "a\nb\nc\n"),
        ("a", "a\nb", "a\nb", "a"),
        ("a", "a\nb", "a\nb\n", "a\n"),
        ("a", "a\nb\n", "mine\na\nb\n", "mine\na"),
        ("a", "a\nb\n", "a\nb\nmine\n", "a\nmine\n"),
        ("a\nb", "a\n", "mine\na\n", "mine\na\nb"),
        ("", "x", "x\nmine", "mine"),
        ("a\nb\n", "", "", "a\nb\n"),
    ],
)
def test_line_ends_are_those_of_the_file(before: str, after: str, now: str, left: str) -> None:
    found = without_edit(before, after, now)
    assert (found.standing, found.text) == (Standing.AS_LEFT, left)


LINE = st.sampled_from(["", "}", "a", "b", "c", "  a", "return x"])
ENDS = st.sampled_from(["\n", "\r\n"])


@given(st.lists(LINE, max_size=12), st.lists(LINE, max_size=12), ENDS, st.booleans())
@examples(300)
def test_an_edit_that_stands_alone_is_taken_back_to_the_character(
    old: list[str], new: list[str], end: str, has_last: bool
) -> None:
    before, after = (end.join(lines) + (end if has_last and lines else "") for lines in (old, new))
    found = without_edit(before, after, after)
    assert found.text == before
    back = without_edit(before, after, before)
    assert back.standing is Standing.AS_BEFORE


@given(st.lists(LINE, max_size=12), st.lists(LINE, max_size=12), st.integers(0, 2**32), ENDS)
@examples(500)
def test_nothing_that_was_typed_is_lost_wherever_it_was_typed(
    old: list[str], new: list[str], seed: int, end: str
) -> None:
    rng = random.Random(seed)
    before, after = (end.join([*lines, ""]) for lines in (old, new))
    now = after
    for number in range(rng.randrange(1, 6)):
        at = rng.randrange(len(now) + 1)
        now = f"{now[:at]}{chr(0x4E00 + number)}{rng.choice(['', end])}{now[at:]}"
    typed = [character for character in now if character >= "\u4e00"]
    found = without_edit(before, after, now)
    assert found.text is not None
    assert [character for character in found.text if character >= "\u4e00"] == typed
    if found.standing is Standing.CHANGED:
        assert found.text == now


@given(st.text("ab\r\n\U0001f389", max_size=20), st.text("ab\r\n\U0001f389", max_size=20))
@examples(300)
def test_the_differences_make_one_text_of_the_other(old: str, new: str) -> None:
    made, end = "", 0
    for each in differences(old, new):
        assert end <= each.start <= each.end
        made += old[end : each.start] + each.text
        end = each.end
    assert made + old[end:] == new


def test_a_file_that_was_written_anew_takes_time_that_grows_like_the_file() -> None:
    lines = [f"line {number}" for number in range(60_000)]
    before = "\n".join(lines)
    random.Random(23).shuffle(lines)
    after = "\n".join(lines)
    assert without_edit(before, after, f"{after}\nmine").text == f"{before}\nmine"
