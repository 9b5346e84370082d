"""What is pasted is told apart from what a user wrote, and nothing of a message is lost."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.language.pastes import Paste, split_pastes
from palimpsest.domain.language.typed_text import typed_pieces

LINES = st.sampled_from(
    [
        "",
        "Please look at this.",
        "- and then at that, which is",
        "$ make all",
        "me@host ~ % git status",
        '  File "a.py", line 3, in f',
        "KeyError: 'x'",
        "```",
        "⏺ Bash(ls)",
        "    at read (src/a.ts:3:4)",
        "2025-01-02 10:11:12 INFO started",
    ]
)
LOGS = [
    "$ make all\ncc -o a a.c\nall is made",
    "me@host ~ % git status\nOn branch main",
    "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'x'",
    "Error: no such theme\n    at load (src/theme.ts:3:4)\n    at main (src/a.ts:1:1)",
    "2025-01-02 10:11:12 INFO started\n2025-01-02 10:11:13 ERROR stopped",
    "diff --git a/x b/x\n@@ -1 +1 @@\n--- a/x\n+++ b/x",
    "⏺ I will look at it.\n\n  It goes on here.",
    "```\nany text at all\n```",
    "12 │ let x = 1\n13 │ let y = 2",
]
PROSE = [
    "1. Read the parts;\n2. sort them;\n3. tell me.",
    "- 3 apples\n- 4 pears\n- the rest",
    "# Plan\n\nFirst the reader, then the writer.",
    "Please use the new reader\nand keep the old one.",
    "Is this right: `a.b`?\nI think so.",
]


@given(st.lists(LINES, max_size=30))
def test_the_parts_are_all_lines_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = split_pastes(text)
    assert "\n".join(part.text if isinstance(part, Paste) else part for part in parts) == text
    kinds = [isinstance(part, Paste) for part in parts]
    assert all(one is not other for one, other in itertools.pairwise(kinds))


@given(st.lists(LINES, max_size=30))
def test_the_pieces_of_a_text_are_all_of_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "".join("".join(typed_pieces(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("log", LOGS)
def test_output_and_logs_are_no_words_of_the_user(log: str) -> None:
    before, paste, behind = split_pastes(f"This is what I see now.\n\n{log}\n\nCan you mend it?")
    assert isinstance(paste, Paste)
    assert paste.text.strip() == log
    assert (str(before).strip(), str(behind).strip()) == ("This is what I see now.", "Can you mend it?")


@pytest.mark.parametrize("prose", PROSE)
def test_what_somebody_wrote_in_lines_is_no_paste(prose: str) -> None:
    assert split_pastes(prose) == [prose]


def test_a_paste_is_told_by_its_lines_and_the_first_that_tells_something() -> None:
    assert str(Paste("$ make all\ncc -o a a.c\nerror: no rule for b")) == "(pasted 3 lines: error: no rule for b)"
    assert str(Paste("```\nlet the_pump = 1\n```")) == "(pasted 1 line: let the_pump = 1)"
    assert len(str(Paste("word " * 200))) < 160
