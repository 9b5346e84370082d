"""Definitions, headings and keys of a file, told by the form of their first line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.facts.fact import Span
from palimpsest.domain.facts.staleness.blocks import (
    block_end,
    heading_level,
    heads_above,
    indent_of,
    is_attribute,
    is_section,
)
from palimpsest.domain.facts.staleness.file_lines import split_lines
from palimpsest.domain.facts.staleness.tokens.languages import Format, Language, language_of

_LONGEST_HEAD: Final = 300
"""Characters; the rest of a line is not read."""
_BEFORE: Final = (
    r"(?:(?:export|default|declare|async|pub(?:\([\w: ]+\))?|public|private|protected|internal|static|final|"
    r"abstract|sealed|open|override|virtual|inline|unsafe|extern|readonly|partial|data|inner|suspend|local|get|set|const)\s+)*"
)
_BLOCK: Final = re.compile(
    rf"\s*{_BEFORE}(?:def|defp|defmodule|class|fn|func|fun|function\*?|struct|enum|trait|interface|mod|module|namespace|object|"
    r"protocol|extension|record|union|macro_rules!|sub|procedure|resource|message|service|actor|mixin|type(?=[^=]*\{|\s+\w+\s+(?:struct|interface)))\s+"
    r"(?:class\s+|\([^)]*\)\s*|self\.)?(?P<name>[A-Za-z_$][\w$]*(?:(?:::?|\.)\w+)*[?!]?)"
)
_IMPLEMENTATION: Final = re.compile(r"\s*(?:unsafe\s+)?impl\b(?:<[^{]*?>)?\s+(?:[^{]*\sfor\s+)?(?P<name>\w[\w:]*)")
_METHOD: Final = re.compile(
    r"\s*(?:[\w<>\[\],.*&?@:]+\s+)*[*&#]*(?P<name>~?[A-Za-z_$][\w$]*(?:::~?\w+)*)\s*(?:<[^()]*>)?\s*\([^;=]*(?:[{,(]|\)[^;.]*)\s*$"
)
_BINDING: Final = re.compile(
    rf"\s*{_BEFORE}(?:const|let|var|val|local|static|type|using|typedef|alias|set|export|readonly)\s+(?:mut\s+|ref\s+)?"
    r"(?P<name>[A-Za-z_$][\w$.]*)"
)
_MACRO: Final = re.compile(r"\s*#\s*define\s+(?P<name>\w+)")
_ASSIGNMENT: Final = re.compile(
    r"\s*(?:[\w<>\[\],.*&?]+\s+){0,4}[$@]{0,2}(?P<name>[A-Za-z_][\w.:$-]*)\s*(?::[^=()]*)?(?:[:+?]?=(?![=>]))"
)
_FIELD: Final = re.compile(
    r"\s*(?:(?:pub|public|private|readonly|static)\s+)*[\"']?(?P<name>[A-Za-z_$][\w$-]*)[\"']?\??\s*:(?![:=])"
)
_SHELL_FUNCTION: Final = re.compile(r"\s*(?:function\s+)?(?P<name>[\w:.-]+)\s*\(\)")
_SQL_OBJECT: Final = re.compile(
    r"\s*(?:create|alter)\s+(?:or\s+replace\s+)?(?:(?:unique|temp|temporary|virtual|materialized)\s+)*"
    r"(?:table|view|index|trigger|function|procedure|type|schema)\s+(?:if\s+(?:not\s+)?exists\s+)?[\"`\[]?(?P<name>[\w.]+)",
    re.IGNORECASE,
)
_STAGE: Final = re.compile(r"\s*from\s+\S+\s+as\s+(?P<name>[\w-]+)", re.IGNORECASE)
_TARGET: Final = re.compile(r"(?P<name>[\w./%$(){}-]+)\s*:(?!=)")
_SELECTOR: Final = re.compile(r"\s*(?P<name>[^{};/]+?)\s*\{")
_KEY: Final = re.compile(
    r"\s*(?:- +)?(?:\"(?P<quoted>[^\"\n]+)\"|'(?P<single>[^'\n]+)'|(?P<name>[^\s\"'#\[{,:-][^:#\[{]*?))\s*:(?:\s|$)"
)
_SETTING: Final = re.compile(r"\s*(?:\"(?P<quoted>[^\"\n]+)\"|(?P<name>[\w.-]+))\s*[=:]")
_SECTION_NAME: Final = re.compile(r"\s*\[+\s*(?P<name>[^\]\n]+?)\s*\]")
_HEADING_NAME: Final = re.compile(r"#{1,6}\s+(?P<name>.*?)[\s#]*$")
_NO_NAME: Final = frozenset(
    "if for while switch return catch else elif new throw await do try match with when case in not and or is as from "
    "import use using assert del raise yield foreach until unless elsif include require sizeof typeof delete goto "
    "where select print echo".split()
)
_PARTS: Final = re.compile(r"::|[./#\s]+")


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    is_block: bool
    """Whether other lines can lie in it: a function, a class, a section."""


def definition_at(language: Language, lines: Sequence[str], idx: int) -> Definition | None:
    """The definition that begins at the line `idx`; None for any other line."""
    line = lines[idx][:_LONGEST_HEAD]
    match language.format:
        case Format.MARKDOWN:
            return _named(_HEADING_NAME.match(line), is_block=True) if heading_level(line) else None
        case Format.KEYS:
            return _named(_KEY.match(line), is_block=False)
        case Format.SECTIONS if is_section(line):
            return _named(_SECTION_NAME.match(line), is_block=True)
        case Format.SECTIONS:
            return _named(_SETTING.match(line), is_block=False)
        case Format.TEXT:
            return None
        case Format.CODE:
            return _code_definition(language, lines, idx, line)


def _code_definition(language: Language, lines: Sequence[str], idx: int, line: str) -> Definition | None:
    for pattern in _OWN_PATTERNS.get(language.name, ()):
        if found := _named(pattern.match(line), is_block=True):
            return found
    if language.name in ("css", "scss"):
        return None
    for pattern in (_BLOCK, _IMPLEMENTATION):
        if found := _named(pattern.match(line), is_block=True):
            return found
    if (found := _named(_METHOD.match(line), is_block=True)) and _has_body(lines, idx, line):
        return found
    for pattern in (_BINDING, _MACRO, _ASSIGNMENT, _FIELD):
        if found := _named(pattern.match(line), is_block=False):
            return found
    return None


_OWN_PATTERNS: Final[dict[str, tuple[re.Pattern[str], ...]]] = {
    "shell": (_SHELL_FUNCTION,),
    "sql": (_SQL_OBJECT,),
    "dockerfile": (_STAGE,),
    "makefile": (_TARGET,),
    "css": (_SELECTOR,),
    "scss": (_SELECTOR,),
}


def _named(match: re.Match[str] | None, *, is_block: bool) -> Definition | None:
    if match is None:
        return None
    name = next((value for value in match.groupdict().values() if value), "")
    if not name or name in _NO_NAME or match[0].split(None, 1)[0] in _NO_NAME - {"using"}:
        return None
    return Definition(name, is_block)


def _has_body(lines: Sequence[str], idx: int, line: str) -> bool:
    """Whether a block follows, so that the line is a definition and no call."""
    for below in lines[idx : idx + 30]:
        stripped = below.rstrip()
        if stripped.endswith("{") or stripped == "{" or stripped.endswith("{}"):
            return indent_of(below) <= indent_of(line) or below is lines[idx]
        if stripped.endswith(";") or not stripped:
            return False
    return False


def enclosing_symbol(path: str, text: str, line: int) -> tuple[Span, str] | None:
    """The innermost definition, section or key around a line (counted from 1), with its qualified name. Assignments
    inside functions do not count. None when nothing is around the line."""
    language = language_of(path)
    lines = split_lines(text)
    idx = line - 1
    if not 0 <= idx < len(lines):
        return None
    if not lines[idx].strip():
        idx = next((i for i in range(idx, -1, -1) if lines[i].strip()), idx)
    while is_attribute(lines[idx]) and language.format is Format.CODE and idx + 1 < len(lines):
        idx += 1
    for start in (idx, *heads_above(language, lines, idx)):
        found = definition_at(language, lines, start)
        if found is None or not (found.is_block or _is_outermost(language, lines, start)):
            continue
        first = _with_attributes(lines, start)
        end = block_end(language, lines, start)
        if first <= line - 1 < end:
            return Span(first + 1, end), _qualified(language, lines, start, found.name)
    return None


def _is_outermost(language: Language, lines: Sequence[str], start: int) -> bool:
    """Whether no function is around it."""
    if language.format is not Format.CODE:
        return True
    around = next(heads_above(language, lines, start), None)
    return (
        around is None
        or re.search(r"\b(?:class|struct|enum|trait|interface|impl|object|module)\b", lines[around]) is not None
    )


def _with_attributes(lines: Sequence[str], start: int) -> int:
    while start and is_attribute(lines[start - 1]) and indent_of(lines[start - 1]) == indent_of(lines[start]):
        start -= 1
    return start


def _around(language: Language, lines: Sequence[str], start: int) -> Iterator[str]:
    for idx in heads_above(language, lines, start):
        if (found := definition_at(language, lines, idx)) and (found.is_block or language.format is not Format.CODE):
            yield found.name


def _qualified(language: Language, lines: Sequence[str], start: int, name: str) -> str:
    return ".".join([*reversed(list(_around(language, lines, start))), name])


def find_symbol(path: str, text: str, name: str) -> Span | None:
    """The definition of a name, which may be qualified (`Store.open`, `store::open`); None when there is none.

    Of several, the one with the most parts of the qualified name, then a block before an assignment, then the first.
    """
    language = language_of(path)
    lines = split_lines(text)
    parts = [part for part in _PARTS.split(name.strip().rstrip("()")) if part]
    if not parts:
        return None
    best: tuple[int, bool, int] | None = None
    for idx, line in enumerate(lines):
        if parts[-1] not in line or (found := definition_at(language, lines, idx)) is None:
            continue
        own_parts = [part for part in _PARTS.split(found.name) if part]
        if found.name != name and own_parts[-1:] != parts[-1:]:
            continue
        whole = [
            part for above in reversed(list(_around(language, lines, idx))) for part in _PARTS.split(above)
        ] + own_parts
        n_same = len(set(parts) & set(whole)) + 2 * (found.name == name)
        if best is None or (n_same, found.is_block) > best[:2]:
            best = (n_same, found.is_block, idx)
    if best is None:
        return None
    start = best[2]
    return Span(_with_attributes(lines, start) + 1, block_end(language, lines, start))
