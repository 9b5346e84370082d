"""The pages of the documents, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "docs/**/*.md", "editors/README.md", "editors/*/README.md", "benchmarks/README.md")
DOCUMENTS = sorted(path for pattern in PAGES for path in ROOT.glob(pattern))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OURS = "cut|frame|forest|front|injection|lease|ledger|librarian|loopback|notebook|preview|store|turn|wire|workspace"
"""Words that mean something only to those who know the program from inside."""
_INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def command_lines(text: str) -> Iterator[str]:
    """The lines of the blocks that are typed into a shell."""
    for language, block in FENCED.findall(text):
        if language in ("", "sh", "shell", "bash", "console"):
            yield from block.splitlines()
    for block in _INDENTED.findall(FENCED.sub("", text)):
        yield from block.splitlines()


def runs_of_palimpsest(line: str) -> Iterator[list[str]]:
    """The arguments of each `palimpsest` in a line; none of a line that leaves something out or is no shell's."""
    lexer = shlex.shlex(line.strip(), posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # a quote in a sentence
        return
    while "palimpsest" in words:
        words = words[words.index("palimpsest") + 1 :]
        end = next((at for at, word in enumerate(words) if re.fullmatch(r"[|;&<>]+", word)), len(words))
        if words[:end] and not any("…" in word for word in words[:end]):
            yield words[:end]
