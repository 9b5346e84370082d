"""Blocks, and the heads above a line, told by indentation, so that half-typed code has blocks too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from palimpsest.domain.facts.staleness.tokens.languages import Format, Language

_FARTHEST_HEAD: Final = 2_000
"""In lines."""
_CLOSER: Final = re.compile(r"\s*(?:[)\]}]|end\b|</|fi\b|done\b|esac\b)")
_REOPENS: Final = re.compile(r"(?:[{(\[:]|=>|->|\b(?:do|then|where))\s*$")
_CONTINUES: Final = re.compile(r"\s*(?:\{|where\b)")
_HEAD: Final = re.compile(r"\s*[\w@#\[\"'<.&*$:-]")
_ATTRIBUTE: Final = re.compile(r"\s*(?:@|#\[)")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_HEADING: Final = re.compile(r"(#{1,6})\s")
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")
_BELOW_ALL_HEADINGS: Final = 7
_SECTION: Final = re.compile(r"\s*\[")


def indent_of(line: str) -> int:
    if "\t" in line:
        line = line.expandtabs(8)
    return len(line) - len(line.lstrip())


def is_attribute(line: str) -> bool:
    """A decorator or attribute: it belongs to the definition below."""
    return _ATTRIBUTE.match(line) is not None


def heading_level(line: str) -> int:
    """1 to 6; 0 for a line that is no Markdown heading."""
    match = _HEADING.match(line)
    return len(match[1]) if match else 0


def is_section(line: str) -> bool:
    return _SECTION.match(line) is not None


def block_end(language: Language, lines: Sequence[str], start: int) -> int:
    """The line behind the block that begins at `start`; blank lines at its end are no part of it."""
    match language.format:
        case Format.MARKDOWN:
            return _prose_end(lines, start)
        case Format.SECTIONS if is_section(lines[start]):
            others = (idx for idx in range(start + 1, len(lines)) if is_section(lines[idx]))
            return _filled_end(lines, start, next(others, len(lines)))
        case _:
            return _code_end(language, lines, start)


def _code_end(language: Language, lines: Sequence[str], start: int) -> int:
    indent = indent_of(lines[start])
    end = start + 1
    while end < len(lines) and is_attribute(lines[end - 1]) and lines[end].strip() and indent_of(lines[end]) == indent:
        end += 1
    head = lines[end - 1]
    has_list_at_own_column = language.format is Format.KEYS and not head.lstrip().startswith("-")
    for idx in range(end, len(lines)):
        line = lines[idx]
        if not line.strip():
            continue
        column = indent_of(line)
        if column < indent:
            break
        if column == indent:
            if _CLOSER.match(line):
                end = idx + 1
                if not _REOPENS.search(line):
                    break
                continue
            if not (_CONTINUES.match(line) or (has_list_at_own_column and line.lstrip().startswith("- "))):
                break
        end = idx + 1
    return end


def _prose_end(lines: Sequence[str], start: int) -> int:
    if level := heading_level(lines[start]):
        others = (start + 1 + idx for idx, other in _headings(lines[start + 1 :]) if other <= level)
        return _filled_end(lines, start, next(others, len(lines)))
    indent = indent_of(lines[start])
    is_item = _ITEM.match(lines[start]) is not None
    end = start + 1
    while end < len(lines) and (line := lines[end]).strip() and not heading_level(line):
        if _ITEM.match(line) and not (is_item and indent_of(line) > indent):
            break
        end += 1
    return end


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The line and the level of each heading; fenced blocks have none."""
    fence = ""
    for idx, line in enumerate(lines):
        if (match := _FENCE.match(line)) and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
        elif not fence and (level := heading_level(line)):
            yield idx, level


def _filled_end(lines: Sequence[str], start: int, end: int) -> int:
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def heads_above(language: Language, lines: Sequence[str], line: int) -> Iterator[int]:
    """The heads of the blocks around a line, the nearest first."""
    lowest = max(0, line - _FARTHEST_HEAD)
    if language.format is Format.MARKDOWN:
        level = heading_level(lines[line]) or _BELOW_ALL_HEADINGS
        for idx, above_level in reversed(list(_headings(lines[:line]))):
            if above_level < level:
                level = above_level
                yield idx
        return
    if language.format is Format.SECTIONS:
        above_it = range(line - 1, lowest - 1, -1) if not is_section(lines[line]) else ()
        section = next((idx for idx in above_it if is_section(lines[idx])), None)
        if section is not None:
            yield section
        return
    column = indent_of(lines[line])
    for idx in range(line - 1, lowest - 1, -1):
        above = lines[idx]
        if column == 0:
            return
        if above.strip() and indent_of(above) < column and _HEAD.match(above):
            if is_attribute(above):
                continue
            column = indent_of(above)
            yield idx
