"""Where a text falls into sentences, and what stands around a line that tells what the line is about.

Works on any text file or message by its looks: prose that is wrapped over lines is joined, a line of code or
configuration stands alone. Nothing here changes a text; everything is offsets into it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

WHOLE_LINE_CHARS: Final = 200
"""A line up to this length is quoted whole; of a longer one, the sentence."""
QUOTE_CHARS: Final = 600
"""No quote is longer, so that minified and generated text cannot fill an answer."""
MAX_LINE_CHARS: Final = 20_000
"""Longer lines are data, not something to quote."""
PROSE_SUFFIXES: Final = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org")
CONFIGURATION_SUFFIXES: Final = (".toml", ".yaml", ".yml", ".json", ".ini", ".cfg", ".conf", ".properties", ".xml")
_TABLE_SUFFIXES: Final = (".csv", ".tsv")
_MAX_JOINED_LINES: Final = 12
_MAX_BLOCK_LINES: Final = 6
_FILLED: Final = 0.7
_MAX_PARENTS: Final = 4
_MAX_LOOK_BACK: Final = 400

_LEADS: Final = ("?", ":", "\uff1f", "\uff1a")
_BRACKETS: Final = frozenset(("{", "}", "[", "]", "(", ")", "},", "],", "),", "};", ");"))
_MARKER: Final = r"#+!?|//+!?|\*|--+|;+|%+|<!--"
_COMMENT = re.compile(rf"\s*(?:{_MARKER}|\"{{3}}|'{{3}})?\s*")
_COMMENT_LINE = re.compile(rf"\s*(?:{_MARKER})\s*\S")
_REFERS = re.compile(r"(?:[#/*\-\s]|\"{3})*(?:they|it|its|this|these|that|those|their|he|she|both|all)\b", re.I)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_UNDERLINE = re.compile(r"\s*([=\-~^\"'`#*+])\1{2,}\s*$")
_STRUCTURE = re.compile(
    r"(?:[-*+\u2022]\s|\d{1,3}[.)]\s|#{1,6}\s|[|>]|```|~~~|\[|<|[\"']?[\w.-]+[\"']?\s*[:=]|\d{4}-\d\d)"
)
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+\S")
_SECTION = re.compile(r"\s*\[+[^\[\]]+\]+\s*(?:[#;].*)?$")
_BREAK = re.compile("[.!?][\"')\\]*_`]*\\s+(?=[\"'(\\[*_`]*[A-Z0-9])|[\u3002\uff01\uff1f]\\s*|\\n\\s*\\n")
_NO_BREAK = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Fig|ca|[A-Z])|\s\d{1,3})\.$"
)
_ENDS = re.compile("[.!?:;{}\u3002\uff01\uff1f][\"')\\]*_`]*$")
_PROSE_CHAR = re.compile("[^\\W\\d_]|[ ,'\u2019-]")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text that can be quoted: [start, end) in characters, first to last line counted from 0."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Around:
    """A line that tells what another is about, and how far it does so (0 to 1)."""

    line: int
    weight: float


def is_prose_path(path: str) -> bool:
    """Whether a file holds sentences rather than code, as far as its name tells: README.md, LICENSE."""
    name = path.rpartition("/")[2]
    return name.lower().endswith(PROSE_SUFFIXES) or ("." not in name and name.isupper())


class Layout:
    """One text cut into lines. `path` is None for a message."""

    def __init__(self, path: str | None, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.is_prose = path is None or is_prose_path(path)
        self.is_configuration = path is not None and path.lower().endswith(CONFIGURATION_SUFFIXES)
        self._is_table = path is not None and path.lower().endswith(_TABLE_SUFFIXES)
        self._headings = dict(self._find_headings()) if self.is_prose else {}

    def spans(self, line: int) -> Iterator[Span]:
        """What may be quoted of a line, in order: the whole line, or each sentence that touches it."""
        text = self.lines[line].strip()
        if not text or len(text) > MAX_LINE_CHARS:
            return
        first, last = self._joined(line)
        if first == last and len(text) <= WHOLE_LINE_CHARS:
            yield self._span(self._starts[line], self._starts[line + 1])
            return
        start = self._starts[first]
        for end in self._breaks(start, self._starts[last + 1]):
            span = self._span(start, end)
            start = end
            if span.start < span.end and span.first <= line <= span.last:
                yield span

    def is_title(self, line: int) -> bool:
        """Whether the line names what comes below it rather than saying something itself."""
        text = self.lines[line]
        is_opening = self.is_configuration and text.rstrip().endswith((":", "{", "["))
        return line in self._headings or is_opening or _SECTION.match(text) is not None

    def refers_back(self, span: Span) -> bool:
        """Whether the span begins with a word that stands for something said before."""
        return _REFERS.match(self.text, span.start, span.end) is not None

    def around(self, span: Span) -> list[Around]:
        """What the span is about, judging by its place: headings above, parents by indentation, the line before."""
        line = span.first
        found = [Around(parent, 0.85 if self.is_configuration else 0.5) for parent in self._parents(line)]
        above = self._above(line)
        if above is not None:
            is_lead = self._is_lead(above)
            weight = 0.8 if is_lead or self.refers_back(span) else 0.5 if line - above == 1 else 0.25
            found.append(Around(above, weight))
        head = self._table_head(line)
        if head is not None:
            found.append(Around(head, 0.8))
        return found

    def comment_above(self, span: Span) -> Span | None:
        """The comment that stands right above a line of code or a setting."""
        last = span.first - 1
        if self.is_prose or last < 0 or self._is_comment(span.first) or not self._is_comment(last):
            return None
        first = last
        while first > 0 and last - first < _MAX_BLOCK_LINES and self._is_comment(first - 1):
            first -= 1
        return self._lines_span(first, last)

    def below(self, span: Span) -> Span | None:
        """What a span leads to: the block under a heading, under a line that ends in `?` or `:`, under a comment."""
        is_lead = self._is_lead(span.last)
        is_comment = self._is_comment(span.last)
        if not is_lead and not is_comment:
            return None
        line = span.last + 1
        while is_lead and line < min(len(self.lines), span.last + 4) and self._is_filler(line):
            line += 1
        if line >= len(self.lines) or self._is_filler(line) or self.is_title(line):
            return None
        if not is_lead:
            return None if self._is_comment(line) else self._lines_span(line, line)
        last = self._joined(line)[1]
        while last + 1 < len(self.lines) and last + 1 - line < _MAX_BLOCK_LINES:
            if self._is_filler(last + 1) or self.is_title(last + 1):
                break
            last += 1
        return self._lines_span(line, last)

    def _is_lead(self, line: int) -> bool:
        if line in self._headings:
            return True
        return (self.is_prose or self._is_comment(line)) and self.lines[line].rstrip().endswith(_LEADS)

    def _is_comment(self, line: int) -> bool:
        return not self.is_prose and _COMMENT_LINE.match(self.lines[line]) is not None

    def _is_filler(self, line: int) -> bool:
        text = self.lines[line]
        return not text.strip() or _FENCE.match(text) is not None or _UNDERLINE.match(text) is not None

    def _find_headings(self) -> Iterator[tuple[int, int]]:
        """Lines that are headings, ascending, with their depth; underlined ones count as depth 2."""
        is_fenced = False
        for i, line in enumerate(self.lines):
            if _FENCE.match(line):
                is_fenced = not is_fenced
            if is_fenced or not line.strip():
                continue
            match = _HEADING.match(line)
            if match:
                yield i, len(match[1])
            elif i + 1 < len(self.lines) and _UNDERLINE.match(self.lines[i + 1]) and not _UNDERLINE.match(line):
                if len(self.lines[i + 1].strip()) >= len(line.strip()) - 2:
                    yield i, 2

    def _parents(self, line: int) -> list[int]:
        """Lines above that the line stands under, nearest first: headings, or lines with less indentation each."""
        found: list[int] = []
        if self.is_prose:
            level = 7
            for heading, depth in reversed(self._headings.items()):
                if heading < line and depth < level and len(found) < _MAX_PARENTS:
                    level = depth
                    found.append(heading)
            return found
        indent = _indent(self.lines[line])
        for candidate in range(line - 1, max(-1, line - _MAX_LOOK_BACK), -1):
            text = self.lines[candidate]
            if not text.strip() or text.strip() in _BRACKETS:
                continue
            is_section = _SECTION.match(text) is not None
            if is_section or _indent(text) < indent:
                indent = _indent(text)
                found.append(candidate)
            if is_section or len(found) == _MAX_PARENTS:
                break
        return found

    def _above(self, line: int) -> int | None:
        """The nearest line above that says something, if it is near."""
        return next((i for i in range(line - 1, max(-1, line - 4), -1) if not self._is_filler(i)), None)

    def _table_head(self, line: int) -> int | None:
        if self._is_table:
            return 0 if line else None
        top = line
        while top and self.lines[top].lstrip().startswith("|") and self.lines[top - 1].lstrip().startswith("|"):
            top -= 1
        return top if top != line else None

    def _span(self, start: int, end: int) -> Span:
        """A span without the white space around it."""
        piece = self.text[start:end]
        start += len(piece) - len(piece.lstrip())
        end = start + min(len(piece.strip()), QUOTE_CHARS)
        return Span(start, end, self._line_at(start), self._line_at(max(start, end - 1)))

    def _lines_span(self, first: int, last: int) -> Span:
        return self._span(self._starts[first], self._starts[last + 1])

    def _line_at(self, offset: int) -> int:
        return min(bisect_right(self._starts, offset), len(self.lines)) - 1

    def _breaks(self, start: int, end: int) -> Iterator[int]:
        """Where sentences end between two offsets; the last is `end`. Overlong ones are cut between words."""
        ends = [match.end() for match in _BREAK.finditer(self.text, start, end) if self._is_break(start, match)]
        for stop in (*ends, end):
            while stop - start > QUOTE_CHARS:
                space = self.text.rfind(" ", start + 1, start + QUOTE_CHARS)
                start = space + 1 if space > start else start + QUOTE_CHARS
                yield start
            yield stop
            start = stop

    def _is_break(self, start: int, match: re.Match[str]) -> bool:
        return not _NO_BREAK.search(self.text[max(start, match.start() - 12) : match.start() + 1])

    def _joined(self, line: int) -> tuple[int, int]:
        """First and last line of the wrapped prose a line belongs to."""
        first = last = line
        while first > 0 and line - first < _MAX_JOINED_LINES and self._continues(first - 1):
            first -= 1
        while last + 1 < len(self.lines) and last - line < _MAX_JOINED_LINES and self._continues(last):
            last += 1
        return first, last

    def _continues(self, line: int) -> bool:
        """Whether a sentence runs on from this line into the next: wrapped prose, in a document or a comment."""
        if line in self._headings:
            return False
        head, head_marker = self._body(line)
        body, body_marker = self._body(line + 1)
        if not head or not body or _ENDS.search(head) or _STRUCTURE.match(body):
            return False
        if body_marker != head_marker and not (body_marker == "" and head_marker in ('"""', "'''")):
            return False
        if len(head) + 1 + len(body.split(maxsplit=1)[0]) < _FILLED * max(len(head), len(body)):
            return False  # The next word would have fitted: the line was ended on purpose.
        return _is_prose(head) and _is_prose(body) and (len(head) >= 50 or body[0].islower())

    def _body(self, line: int) -> tuple[str, str]:
        """A line without its comment marker, and the marker, which documents do not have."""
        text = self.lines[line]
        match = None if self.is_prose else _COMMENT.match(text)
        return (text[match.end() :].strip(), match.group().strip()) if match else (text.strip(), "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_prose(text: str) -> bool:
    return text.count(" ") >= 2 and len(_PROSE_CHAR.findall(text)) >= 0.82 * len(text)
