"""What a user pasted into a message: terminal output, logs, code. These are not the user's words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.language import typed_text
from palimpsest.wording import counted

_PROMPT: Final = re.compile(
    r"\s*(?:[$\u276f\u279c\u203a\u00bb]\s+\S|[%#]\s+(?:sudo |cd |ls|git |npm |pip )|PS [A-Z]:.*>\s*\S|[A-Z]:\\.*>\s*\S"
    r"|(?:\([\w.-]+\) )?[\w.-]+@[\w.-]+\S*\s?[^\s$%#]*\s?[$%#](?:\s|$))"
)
"""The prompt of a terminal: what stands below it, up to an empty line, was printed."""
_PRINTED: Final = re.compile(
    r"\s*(?:at \S+ ?\(|at (?:async )?\S+:\d+|Caused by:|\^+\s*$|[~^]{3,}|\.\.\. \d+ more|E\s{2,}\S"
    r"|\[?(?:FAILED|PASSED)\b|(?:error|warning|fatal|panic|note)(?:\[\w+\])?: "
    r"|(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception): |npm (?:ERR|WARN)|zsh: |bash: |sh: "
    r"|\[?\d\d:\d\d:\d\d\b|\d+\s*[|│→]|\+ \d+ |\d+ \+ |index [0-9a-f]{7}|[)\]}]+[,;)]*\s*$|[=_-]{8,}|[\u2800-\u28ff])"
    r"|.*[─━│┃┌┐└┘├┤╭╮╰╯⎯█▌✓✔✗✘]|.*(?:[{}]|[)\]'\"];|=>)\s*$|[^ ]+(?:/[^ /]+)+:\d+(?::\d+)?\b.*|\t"
)
"""A line that a program wrote, beside those that are never typed."""
_TELLING: Final = re.compile(
    r"\b(?:error|fail(?:ed|ure|s)?|exception|fatal|panic|denied|not found|traceback|warning|invalid|cannot)\b"
    r"|[A-Z]\w*(?:Error|Exception)\b",
    re.I,
)
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_FEWEST: Final = 2
"""Lines that a program wrote, one after the other: a single one may be a user's."""
_FIRST_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Paste:
    """Some lines that the user pasted."""

    text: str

    def __str__(self) -> str:
        """For a reader: how many lines there are, and the first that tells something."""
        lines = [line for line in self.text.splitlines() if line.strip() and _FENCE.match(line) is None]
        words = [line for line in lines if len(_WORD.findall(line)) > 1] or lines
        first = next((line for line in words if _TELLING.search(line)), words[0] if words else "")
        shown = " ".join(first.split())
        shown = shown if len(shown) <= _FIRST_CHARS else f"{shown[: _FIRST_CHARS - 1]}…"
        return f"(pasted {counted(len(lines), 'line')}{': ' if shown else ''}{shown})"


def split_pastes(text: str) -> list[str | Paste]:
    """The text in order: what the user wrote, and what was pasted. Together they are all of its lines."""
    spans = list(typed_text.lines(text))
    lines = [line for line in text.split("\n")]
    pasted = _pasted(lines, [is_typed for _, _, is_typed in spans])
    runs = itertools.groupby(zip(pasted, lines, strict=True), key=lambda each: each[0])
    joined = ((is_pasted, "\n".join(line for _, line in run)) for is_pasted, run in runs)
    return [Paste(run) if is_pasted else run for is_pasted, run in joined]


def _pasted(lines: Sequence[str], typed: Sequence[bool]) -> list[bool]:
    """Whether each line was pasted."""
    is_printed = [
        bool(line.strip()) and (_PRINTED.match(line) is not None or not (is_typed or typed_text.HEADING.match(line)))
        for line, is_typed in zip(lines, typed, strict=True)
    ]
    below_prompt = False
    for index, line in enumerate(lines):
        below_prompt = bool(line.strip()) and (below_prompt or _PROMPT.match(line) is not None)
        is_printed[index] = is_printed[index] or below_prompt
    printed = [index for index, each in enumerate(is_printed) if each]
    for before, behind in itertools.pairwise(printed):
        if _belongs(lines[before + 1 : behind]):
            is_printed[before:behind] = [True] * (behind - before)
    for first, after in _runs(is_printed):
        if sum(bool(line.strip()) for line in lines[first:after]) < _FEWEST:
            is_printed[first:after] = [False] * (after - first)
    return is_printed


def _belongs(between: Sequence[str]) -> bool:
    """Whether what stands between two lines that were printed was printed with them: empty lines alone, or none."""
    return len({bool(line.strip()) for line in between}) < 2 and len(between) <= 2


def _runs(marked: Sequence[bool]) -> list[tuple[int, int]]:
    """The stretches [first, after) that are marked."""
    borders = [
        index
        for index in range(len(marked) + 1)
        if (index < len(marked) and marked[index]) != (index > 0 and marked[index - 1])
    ]
    return list(zip(borders[::2], borders[1::2], strict=True))
