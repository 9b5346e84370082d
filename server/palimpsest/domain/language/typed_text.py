"""The sentences of a user's text that were typed, without code, quotes, transcripts and tagged text.

Spans are offsets into the text; nothing is rewritten. Bounded: only both ends of a very long text are read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

_HEAD_CHARS, _TAIL_CHARS = 16_000, 8_000
_LONGEST_SENTENCE: Final = 4_000
"""The length in characters above which a sentence counts as data."""
_WRAPPED_FROM: Final = 55
"""The length in characters from which a line without a full stop may continue on the next line."""

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_OUTPUT = re.compile(
    r"\s*(?:[$%#\u276f\u279c\u2500-\u257f\u23bf] |>>> |\.\.\. |\+\+\+ |--- \S|@@ |diff --git|at [\w.$<>]+\(|File \""
    r"|Traceback \(|\d{4}-\d\d-\d\d|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL)\b|[\w./-]+:\d+(?::\d+)?:|#include"
    r"|(?:import|from \S+ import|def|class|return|const|let \w+ =|var|function) .*[:;({=])"
)
"""The beginnings of lines that a program printed."""
_TRANSCRIPT = re.compile(r"\s*[\u273b\u273d\u2736\u2722\u23fa\u23bf\u25cf]")
"""The marks that terminal agents print at the beginning of output; indented lines continue it."""
_BULLET = re.compile(r"\s*(?:[-*\u2022+]|\(?\d{1,2}[.)]|[a-z]\))\s+(?:\[[ xX]\]\s+)?")
HEADING: Final = re.compile(r"\s*#{1,6} ")
"""The beginning of a heading in Markdown."""
_TAG = re.compile(r"\s*<([A-Za-z][\w-]*)\b[^>\n]*>")
_SYMBOLS = re.compile(r"[{}\[\]<>=;|\\$&^~]")
_SENTENCE_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<=[.!?])[\"')\]*]*\s+(?=\S)"
    r"|(?<=[\u3002\uff01\uff1f])[\u201d\u300d\u300f\uff09]?(?![\u3002\uff01\uff1f\u201d\u300d\u300f\uff09])\s*(?=\S)"
)
_EDGE = " \t\r\n*_"


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the typed sentences, in order, none empty, without bullets and outer white space."""
    for paragraph_start, paragraph_end in _paragraphs(text):
        for first, last in _ends(paragraph_start, paragraph_end):
            start = first
            for match in _SENTENCE_END.finditer(text, first, last):
                if start == paragraph_start or start > first:  # else it ends a sentence that was cut
                    yield from _trimmed(text, start, match.end())
                start = match.end()
            if last == paragraph_end and (start == paragraph_start or start > first):
                yield from _trimmed(text, start, last)


def typed_pieces(text: str) -> list[str]:
    """The text cut behind each typed sentence: together they are the whole text, but for white space."""
    cuts = [0, *(end for _, end in sentences(text))]
    cuts[-1] = len(text)
    pieces = [text[first:last].strip() for first, last in itertools.pairwise(cuts)] if len(cuts) > 1 else [text.strip()]
    return [piece for piece in pieces if piece]


def _ends(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The parts of a paragraph that are read. They are short, because a search for a pattern holds the interpreter."""
    if last - first <= _HEAD_CHARS + _TAIL_CHARS:
        yield first, last
    else:
        yield first, first + _HEAD_CHARS
        yield last - _TAIL_CHARS, last


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if start > _HEAD_CHARS and end < len(text) - _TAIL_CHARS:
        return
    if end - start > _LONGEST_SENTENCE:
        return
    while start < end and text[start] in _EDGE:
        start += 1
    while start < end and text[end - 1] in _EDGE:
        end -= 1
    if start < end:
        yield start, end


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """The spans of typed lines that belong together. A short or closed line is a paragraph of its own."""
    start: int | None = None
    end = n_previous = 0
    for first, last, is_typed in lines(text):
        bullet = _BULLET.match(text, first, last)
        head = text[first:last].lstrip()[:1]
        goes_on = start is not None and bullet is None and n_previous >= _WRAPPED_FROM
        if goes_on and head.isupper() and text[end - 1] in ".!?:":
            goes_on = False
        if start is not None and not (is_typed and goes_on):
            yield start, end
            start = None
        if is_typed:
            start = (bullet.end() if bullet else first) if start is None else start
            end, n_previous = last, last - first
    if start is not None:
        yield start, end


def lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """The span of each line without its end, and whether it was typed."""
    fence: str | None = None
    in_transcript, after_blank, in_indented = False, True, False
    position = tagged_until = 0
    unclosed: set[str] = set()
    for line in text.split("\n"):
        first, last = position, position + len(line)
        position = last + 1
        if (
            (tag := _TAG.match(line)) is not None
            and first >= tagged_until
            and tag[1] not in unclosed
            and len(unclosed) < 32
        ):
            close = text.find(f"</{tag[1]}>", first)
            tagged_until = max(tagged_until, close)
            if close < 0:
                unclosed.add(tag[1])
        mark = _FENCE.match(line)
        if fence is not None:
            if mark is not None and mark[1].startswith(fence):
                fence = None
            yield first, last, False
            continue
        if mark is not None:
            fence = mark[1]
            yield first, last, False
            continue
        if line.count("```") % 2:
            fence, last = "```", first + line.rindex("```")
            line = text[first:last]
        is_blank = not line.strip()
        is_indented = line.startswith(("    ", "\t")) and _BULLET.match(line) is None
        in_indented = is_indented and (after_blank or in_indented)
        in_transcript = _TRANSCRIPT.match(line) is not None or (in_transcript and (is_blank or line[0] in " \t"))
        after_blank = is_blank
        pasted = first < tagged_until or in_indented or in_transcript or line.lstrip().startswith(">")
        yield first, last, not (is_blank or pasted or HEADING.match(line) or _OUTPUT.match(line) or _is_code(line))


def _is_code(line: str) -> bool:
    """Whether a line has more signs of code than prose has."""
    body = line.strip()
    looked_at = body[:_LONGEST_SENTENCE]
    n_signs = len(_SYMBOLS.findall(looked_at))
    return body.endswith(("{", "};", ");", "},")) or n_signs > max(2, len(looked_at) // 12)
