"""A stretch of lines as a stream of tokens, without comments, white space outside strings, trailing commas and (where
it is a matter of style) the kind of quote.

Any text has tokens: half-typed code and text of no language are rows of words and marks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final
from zlib import crc32

from palimpsest.domain.facts.staleness.tokens.languages import Format, Language, Layout, token_pattern

LONGEST_READ: Final = 100_000
"""Characters. A longer stretch is one token: the text without repeated white space."""
_LINE_END: Final = "\n"
_CLOSERS: Final = ")]}"
_WORD_OR_MARK: Final = re.compile(r"\w+|[^\w\s]")
_PROSE: Final = re.compile(r"\w+|-{3,}|={3,}|[^\w\s`]")
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")
_BULLET: Final = re.compile(r"\s*([-*+])\s+")
_UNDERLINED: Final = re.compile(r"(?<!\w)(_{1,2})(?=\S)([^_\n]{1,300})(?<=\S)\1(?!\w)")
_STRING: Final = re.compile(r"(?P<prefix>\w*)(?P<quote>\"\"\"|'''|[\"'`])(?P<body>[\s\S]*)(?P=quote)\Z")
_QUOTED_QUOTE: Final = re.compile(r"\\(['\"])")


@dataclass(slots=True)
class TokenStream:
    """Tokens in their order. A token that begins with a line end tells the depth of its line."""

    tokens: list[str] = field(default_factory=list)
    first_lines: list[int] = field(default_factory=list)
    """The first line of each token, counted from 0 at the first line of the stretch."""
    last_lines: list[int] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def add(self, token: str, first_line: int, last_line: int) -> None:
        self.tokens.append(token)
        self.first_lines.append(first_line)
        self.last_lines.append(last_line)

    def drop_last(self) -> None:
        for each in (self.tokens, self.first_lines, self.last_lines):
            each.pop()

    @property
    def said(self) -> list[str]:
        """The tokens but for those that tell the depth of a line."""
        return [token for token in self.tokens if token[0] != _LINE_END]


def digest(words: Sequence[str]) -> str:
    return blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def weight(token: str) -> int:
    """The sum of weights is the same in any order of the tokens."""
    return crc32(token.encode("utf-8", "surrogatepass"))


def read_tokens(language: Language, lines: Sequence[str]) -> TokenStream:
    """The tokens of a stretch; where it holds nothing but comments, their words."""
    if sum(map(len, lines)) + len(lines) > LONGEST_READ:
        stream = TokenStream()
        if said := " ".join(" ".join(lines).split()):
            stream.add(said, 0, max(0, len(lines) - 1))
        return stream
    if language.format is Format.MARKDOWN:
        return _read_prose(lines)
    stream = _Reader(language, lines).read()
    if not stream.tokens and stream.comments:
        words = " ".join(stream.comments).split()
        return TokenStream(words, [0] * len(words), [len(lines) - 1] * len(words))
    return stream


class _Reader:
    """The reader of one stretch of code or configuration."""

    def __init__(self, language: Language, lines: Sequence[str]) -> None:
        self._language = language
        self._lines = lines
        self._stream = TokenStream()
        self._open: list[tuple[bool, int]] = []
        """For each open bracket: whether it makes a group of its own (a call does not), and its commas so far."""
        self._depths: list[int] = []
        self._line = 0

    def read(self) -> TokenStream:
        source = "\n".join(self._lines)
        stream = self._stream
        language = self._language
        is_laid_out = language.layout is not Layout.FREE
        begins_line = True
        for match in token_pattern(language).finditer(source):
            kind = match.lastgroup
            token = match[0]
            if kind == "newline":
                self._line += 1
                if source[match.start() - 1 : match.start()] == "\\" and is_laid_out:
                    if stream.tokens and stream.tokens[-1] == "\\":
                        stream.drop_last()
                else:
                    begins_line = True
                continue
            if kind == "comment":
                stream.comments.append(" ".join(token.split()))
                self._line += token.count("\n")
                continue
            if begins_line and is_laid_out:
                self._begin_line(token)
                begins_line = False
            if kind == "word":
                stream.add(token, self._line, self._line)
            elif kind == "mark":
                self._mark(token)
            else:
                self._string(token)
        if language.has_trailing_commas and stream.tokens and stream.tokens[-1] == ",":
            stream.drop_last()
        return stream

    def _begin_line(self, token: str) -> None:
        if self._language.layout is Layout.LINES:
            if self._stream.tokens:
                self._stream.add(_LINE_END, self._line, self._line)
            return
        if self._open:
            return
        line = self._lines[self._line].expandtabs(8)
        column = 2 * (len(line) - len(line.lstrip()))
        if self._language.format is Format.KEYS and token == "-":
            column += 1  # a list may begin at its key's own column
        while len(self._depths) > 1 and column < self._depths[-1]:
            self._depths.pop()
        if not self._depths:
            self._depths.append(column)
            return
        if column < self._depths[-1]:
            self._depths[-1] = column
            self._stream.add(f"{_LINE_END}<", self._line, self._line)
            return
        if column > self._depths[-1]:
            self._depths.append(column)
        self._stream.add(f"{_LINE_END}{len(self._depths)}", self._line, self._line)

    def _mark(self, mark: str) -> None:
        stream = self._stream
        if mark == ";" and self._language.has_semicolon_style:
            return
        if mark == "," and self._open:
            is_group, n_commas = self._open[-1]
            self._open[-1] = (is_group, n_commas + 1)
        elif mark in _CLOSERS:
            is_group, n_commas = self._open.pop() if self._open else (False, 0)
            is_tuple = self._language.has_tuples_of_one and mark == ")" and is_group and n_commas == 1
            if self._language.has_trailing_commas and stream.tokens and stream.tokens[-1] == "," and not is_tuple:
                stream.drop_last()
        elif mark in self._language.brackets:
            before = stream.tokens[-1] if stream.tokens else ""
            self._open.append((not (before[-1:].isalnum() or before[-1:] in (")", "]", "_", ">", "!")), 0))
        stream.add(mark, self._line, self._line)

    def _string(self, token: str) -> None:
        stream = self._stream
        first = self._line
        self._line += token.count("\n")
        token = token.strip()
        match = _STRING.match(token)
        if match is None:
            if token[:1] in "\"'" and "\n" not in token:
                for word in _WORD_OR_MARK.findall(token):  # a quote that nothing closes is a mark among others
                    stream.add(word, first, first)
                return
            stream.add(token, first, self._line)
            return
        if len(match["quote"]) == 3 and "\n" in token:
            token = match["prefix"].lower() + '"""' + _without_margin(match["body"])
        elif match["quote"] != "`" and (meaningful := self._language.quotes_alike) is not None:
            body = match["body"]
            if not meaningful:
                body = _QUOTED_QUOTE.sub(r"\1", body)
            if not any(each in body for each in meaningful):
                token = match["prefix"] + '"' + body
        stream.add(token, first, self._line)


def _without_margin(body: str) -> str:
    """The body of a string with the lines behind the first moved left as far as the least indented of them allows."""
    first, *others = body.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first.rstrip(), *(line[margin:].rstrip() for line in others)])


def _read_prose(lines: Sequence[str]) -> TokenStream:
    """The tokens of Markdown: white space counts only in fenced blocks and as the depth of an item of a list; the marks
    of inline code do not count."""
    stream = TokenStream()
    fence = ""
    margin = 0
    depths: list[int] = []
    for idx, line in enumerate(lines):
        if (match := _FENCE.match(line)) and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
            margin = len(line) - len(line.lstrip())
            stream.add(" ".join(line.split()), idx, idx)
            continue
        if fence:
            cut = min(margin, len(line) - len(line.lstrip()))
            if line.strip():
                stream.add(" " + line[cut:].rstrip(), idx, idx)
            continue
        if bullet := _BULLET.match(line):
            column = bullet.start(1)
            while depths and column < depths[-1]:
                depths.pop()
            if not depths or column > depths[-1]:
                depths.append(column)
            stream.add(f"-{len(depths)}", idx, idx)
            line = line[bullet.end() :]
        for word in _PROSE.findall(_UNDERLINED.sub(lambda m: "*" * len(m[1]) + m[2] + "*" * len(m[1]), line)):
            stream.add(word[:3] if word[0] in "-=" else word, idx, idx)
    return stream
