"""Markdown that is still being written: no block is shown twice, changed after it was shown, or lost."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from palimpsest.terminal.blocks import GrowingMarkdown, parse

_LINES = st.sampled_from(
    [
        *("", "text", "more *text*", "# head", "---", "===", "- item", "  - inner", "1. one", "  continued", "> quote"),
        *("```", "```py", "~~~", "    code", "| a | b |", "| --- | --- |", "| 1 | 2 |", "<p>", "`", "#", "-", "***"),
    ]
)


@st.composite
def pieces(draw: st.DrawFn) -> list[str]:
    """A text in pieces that end anywhere."""
    text = "\n".join(draw(st.lists(_LINES, max_size=14)))
    ends = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)) | {0, len(text)})
    return [text[start:end] for start, end in itertools.pairwise(ends)]


def kinds(markdown: str) -> list[tuple[str, str]]:
    """What a text is parsed to, apart from where it stands."""
    return [(token.type, token.content) for token in parse(markdown)]


@given(pieces())
@example(["para\n#", "foo\n"])
@example(["a\n", "---", "\n"])
@example(["| a |\n", "| --- |\n", "| 1 |\n\nx\n"])
def test_the_finished_blocks_are_those_of_the_whole_text(pieces: list[str]) -> None:
    growing = GrowingMarkdown()
    blocks = [block for piece in pieces if (block := growing.feed(piece))]
    blocks.append(growing.end())
    assert "".join(blocks) == "".join(pieces)
    assert growing.rest == ""
    assert [kind for block in blocks for kind in kinds(block)] == kinds("".join(pieces))


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("One.\n\nTwo", ""),
        ("One.\n\nTwo\n", "One.\n\n"),
        ("- a\n\n- b\n", ""),
        ("```py\n# no heading\n\n- no list\n", ""),
        ("```py\nx\n```\nText\n", "```py\nx\n```\n"),
    ],
)
def test_a_block_is_finished_when_another_one_has_begun(text: str, finished: str) -> None:
    assert GrowingMarkdown().feed(text) == finished


def test_of_a_long_block_only_its_end_is_drawn_and_code_stays_code() -> None:
    growing = GrowingMarkdown()
    growing.feed("```py\n" + "".join(f"x{number} = 1\n" for number in range(100)))
    assert growing.tail(3) == "```py\nx98 = 1\nx99 = 1\n"
    assert GrowingMarkdown().tail(3) == ""
