"""Files that a question names, and whether it wants to see them or to know something of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from palimpsest.domain.language.lexicon import STOP, WEAK
from palimpsest.domain.language.words import all_pieces, fold
from palimpsest.domain.offline.passages import FileSource, Passage, SourceText
from palimpsest.domain.offline.question import MAX_QUESTION_CHARS, paths_in

HEAD_LINES: Final = 200
"""How much of a file is shown to who asks for it."""
_HEAD_CHARS: Final = 20_000
_MAX_FILES: Final = 3

_BARE_NAME = re.compile(r"(?<![\w./-])[\w-]*[A-Z][\w-]+(?![\w/-]|\.\w)")
"""A file name without a suffix, such as Makefile; only with a capital is it told from a word."""
_OPENING = re.compile(r"\b(?:show|open|read|cat|print|display|view|contents? of|look at|what(?:'?s| is) in)\b")
_ASKING: Final = STOP | frozenset(
    """beginning cat code contain contains content contents describe display explain file folder full head inside line
    lines module open print project read script see source summarise summarize summary text top view whole""".split()
)
"""Words that ask for a file, and for nothing that stands in it."""


def named_files(question: str, texts: Sequence[SourceText]) -> Mapping[str, tuple[str, ...]]:
    """Names of files in a question, as written there, and the paths each may mean, shortest first."""
    paths = sorted(_paths(texts), key=lambda path: (path.count("/"), path))
    bare = set(_BARE_NAME.findall(question[:MAX_QUESTION_CHARS]))
    names = [*paths_in(question), *dict.fromkeys(name for name in map(_name, paths) if name in bare)]
    found = {name: tuple(path for path in paths if f"/{path}".lower().endswith(f"/{name}".lower())) for name in names}
    return {name: meant for name, meant in found.items() if meant}


def wanted_files(question: str, texts: Sequence[SourceText]) -> tuple[str, ...] | None:
    """Paths of the files that a question wants to see, as *what is in pyproject.toml?* does; None for other questions.

    Empty when there is no such file among the texts.
    """
    named = named_files(question, texts)
    names = paths_in(question)
    if named or names:
        return _first_of(named) if _has_only(question, {*named, *names}, _ASKING) else None
    rest = [piece for piece in all_pieces(question) if piece not in _ASKING]
    if len(rest) != 1 or _OPENING.search(fold(question)) is None:
        return None
    meant = [path for path in _paths(texts) if rest[0] in (fold(_name(path)), fold(_name(path)).partition(".")[0])]
    return tuple(sorted(meant, key=lambda path: (path.count("/"), path)))[:_MAX_FILES] or None


def hinted_files(question: str, texts: Sequence[SourceText]) -> tuple[str, ...]:
    """Paths of the files that a question names and asks little about, to be shown where nothing in them answers it."""
    named = named_files(question, texts)
    return _first_of(named) if named and _has_only(question, named, _ASKING | WEAK) else ()


def head_of(text: SourceText) -> Passage:
    """The beginning of a file, without the white space at its end: whole lines, unless the first is overlong."""
    whole = text.text.rstrip()
    head = "\n".join(whole.split("\n", HEAD_LINES)[:HEAD_LINES])
    if len(head) > _HEAD_CHARS:
        end = head.rfind("\n", 0, _HEAD_CHARS)
        head = head[: end if end > 0 else _HEAD_CHARS]
    return Passage(text.source, 1, head, 1.0, n_source_lines=whole.count("\n") + 1)


def _paths(texts: Iterable[SourceText]) -> list[str]:
    return [text.source.path for text in texts if isinstance(text.source, FileSource)]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _first_of(named: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The file of exactly that path where there is one, else all that end so, at most _MAX_FILES."""
    meant = [path for name, paths in named.items() for path in (paths[:1] if paths[0] == name else paths)]
    return tuple(dict.fromkeys(meant))[:_MAX_FILES]


def _has_only(question: str, names: Iterable[str], words: Set[str]) -> bool:
    rest = question.replace("\\", "/")
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(name, " ")
    return all(piece in words for piece in all_pieces(rest))
