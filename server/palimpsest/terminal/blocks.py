"""The blocks of Markdown that is still being written: the finished ones are shown once, and only the last one grows."""

from __future__ import annotations

from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Text that looks like HTML is shown as it is, and not left out. An image is shown as a link.
_PARSER: Final = MarkdownIt().enable(["strikethrough", "table"]).disable(["html_block", "html_inline", "image"])
_STRUCTURE: Final = MarkdownIt().enable(["strikethrough", "table"]).disable(["html_block", "inline"])


def parse(markdown: str) -> list[Token]:
    """The tokens of a whole text."""
    return _PARSER.parse(markdown)


class GrowingMarkdown:
    """Markdown that comes in pieces.

    Whatever `feed` and `end` return, joined, is the text that was fed. No line that follows changes a block that they
    returned, except that it may define a link which the block mentions.
    """

    def __init__(self) -> None:
        self.rest = ""
        """The block that still grows."""

    def feed(self, piece: str) -> str:
        """Add a piece; return the blocks that it finished, which may be none."""
        self.rest += piece
        if "\n" not in piece:
            return ""
        # The last line may still become anything.
        whole = self.rest[: self.rest.rindex("\n") + 1]
        begins = _starts(whole)
        if len(begins) < 2:
            return ""
        end = _offset(whole, begins[-1])
        finished, self.rest = self.rest[:end], self.rest[end:]
        return finished

    def end(self) -> str:
        """Return the last block, which no longer grows."""
        finished, self.rest = self.rest, ""
        return finished

    def tail(self, rows: int) -> str:
        """At least the last `rows` lines of the growing block, as Markdown of the same kind: drawing it is quick,
        however long the block is."""
        lines = self.rest.split("\n")
        if len(lines) <= 2 * rows:
            return self.rest
        fence = lines[0].lstrip().startswith(("```", "~~~"))
        return "\n".join(([lines[0]] if fence else []) + lines[-rows:])


def _starts(markdown: str) -> list[int]:
    """The first line of each block of the highest level, counted from 0."""
    return [token.map[0] for token in _STRUCTURE.parse(markdown) if token.level == 0 and token.map is not None]


def _offset(text: str, line: int) -> int:
    """Where a line begins."""
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return at
