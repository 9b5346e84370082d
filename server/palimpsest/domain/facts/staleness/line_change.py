"""The line that tells people what has changed at a stale place."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.facts.fact import Span
from palimpsest.domain.facts.staleness.anchor import Anchor, squeezed
from palimpsest.domain.facts.staleness.file_lines import FileLines, line_hash, split_lines


@dataclass(frozen=True, slots=True)
class LineChange:
    """One line, before and now, without its indentation."""

    number: int
    """The line that is new, counted from 1; 0 when none is."""
    was: str
    """The line that is no longer there; empty when it is not known. Of several lines only the head is stored."""
    now: str
    """The text of line `number`; empty when that is 0."""


def line_change(anchor: Anchor, before: FileLines, text: str, span: Span | None) -> LineChange:
    """The change of an anchor's place in a newer text of its file. `before`: the lines of the version in which the
    anchor was made. `span`: the lines that replaced those of the anchor; None when there are none, and for a whole
    file."""
    lines = split_lines(text)
    if anchor.span is None:
        span = Span(1, len(lines))
    if span is None:
        return LineChange(0, anchor.head, "")
    if anchor.start == anchor.end and anchor.start:
        return LineChange(span.start, anchor.head, squeezed(lines[span.start - 1]))
    older = set(before.hashes if anchor.span is None else before.hashes[anchor.start - 1 : anchor.end])
    inside = [(number, lines[number - 1]) for number in range(span.start, min(span.end, len(lines)) + 1)]
    number, now = next(
        ((n, squeezed(line)) for n, line in inside if line.strip() and line_hash(line) not in older), (0, "")
    )
    has_head = any(squeezed(line).startswith(anchor.head) for _, line in inside)
    return LineChange(number, "" if has_head else anchor.head, now)
