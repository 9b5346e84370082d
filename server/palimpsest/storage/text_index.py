"""A full-text index of files in memory. It ends with the process, and no part of it is written to a disk.

A file is indexed as passages of whole lines. An invisible separator takes identifiers apart: the index reads it as a
space, and without it a highlighted passage is the text of the file again.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from palimpsest.domain.facts.retrieval.words import HUMP, RUN, Terms
from palimpsest.domain.offline.places import MARK, UNMARK, Hit
from palimpsest.storage.conversation.passage_search import to_expression

LINES: Final = 20
"""Lines in a passage."""

_SEPARATOR: Final = "\u2063"
_LINE_CHARS: Final = 2_000
"""Characters of a line that are indexed. A longer line is data."""
_PASSAGE_BITS: Final = 20
"""The row id of a passage is the id of its file, shifted by so many bits, plus the number of the passage."""
_TOKENIZE: Final = "porter unicode61 remove_diacritics 2"
_PATH, _WORDS, _NAMES = 2.0, 1.0, 0.5
"""The weights of a word in the path of a file, in its text, and as an identifier of several words."""
_INNER: Final = re.compile(
    f"{HUMP.pattern}|(?<=[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])(?=[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])"
)
"""The places between the words of an identifier, and between characters of scripts without spaces."""

Identity = tuple[int, int, int, int]
"""Size, times of modification and of change in ns, and inode: a file with the same four is unchanged."""


class TextIndex:
    """The index of one folder. One thread at a time may use it; the caller keeps that."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE TABLE file "
            "(id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, size, mtime_ns, ctime_ns, inode, is_text)"
        )
        self._db.execute(f"CREATE VIRTUAL TABLE passage USING fts5 (path, words, names, tokenize = '{_TOKENIZE}')")

    def __del__(self) -> None:
        self._db.close()  # else Python warns when it closes it

    def known(self) -> dict[str, tuple[Identity, bool]]:
        """The indexed files by path: their identity, and whether they are texts."""
        found = self._db.execute("SELECT path, size, mtime_ns, ctime_ns, inode, is_text FROM file")
        return {
            path: ((size, mtime, ctime, inode), bool(is_text)) for path, size, mtime, ctime, inode, is_text in found
        }

    def n_texts(self) -> int:
        ((n_texts,),) = self._db.execute("SELECT count(*) FROM file WHERE is_text")
        return int(n_texts)

    def put(self, path: str, identity: Identity, text: str | None) -> None:
        """Indexes a file in place of its earlier content. `text` is None for a file that is no text."""
        with self._db:
            self._remove(path)
            row = self._db.execute(
                "INSERT INTO file VALUES (NULL, ?, ?, ?, ?, ?, ?)", (path, *identity, text is not None)
            )
            if text is not None:
                first = (row.lastrowid or 0) << _PASSAGE_BITS
                self._db.executemany(
                    "INSERT INTO passage (rowid, path, words, names) VALUES (?, ?, ?, ?)",
                    ((first + number, _separated(path), *columns) for number, columns in _passages(text)),
                )

    def remove(self, paths: Collection[str]) -> None:
        with self._db:
            for path in paths:
                self._remove(path)

    def _remove(self, path: str) -> None:
        for (file_id,) in self._db.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchall():
            first = file_id << _PASSAGE_BITS
            self._db.execute(
                "DELETE FROM passage WHERE rowid >= ? AND rowid < ?", (first, first + (1 << _PASSAGE_BITS))
            )
            self._db.execute("DELETE FROM file WHERE id = ?", (file_id,))

    def matches(self, terms: Terms, limit: int) -> list[Hit]:
        """The passages that hold a word of `terms`, best first; empty when there is no word."""
        expression = _expression(terms)
        if not expression:
            return []
        found = self._db.execute(
            f"""SELECT hit.id, file.path, hit.score FROM (
                SELECT rowid AS id, -bm25(passage, {_PATH}, {_WORDS}, {_NAMES}) AS score
                FROM passage WHERE passage MATCH ? ORDER BY score DESC, rowid LIMIT ?
            ) AS hit JOIN file ON file.id = hit.id >> {_PASSAGE_BITS} ORDER BY hit.score DESC, hit.id""",
            (expression, limit),
        )
        passages = (1 << _PASSAGE_BITS) - 1
        return [Hit(row_id, path, (row_id & passages) * LINES + 1, score) for row_id, path, score in found]

    def marked_lines(self, hit: Hit, terms: Terms) -> list[str]:
        """The lines of a matching passage, with each matching word between MARK and UNMARK."""
        found = self._db.execute(
            "SELECT highlight(passage, 1, ?, ?) FROM passage WHERE passage MATCH ? AND rowid = ?",
            (MARK, UNMARK, _expression(terms), hit.row_id),
        )
        return [line for (text,) in found for line in _marked(text)]


def marked_texts(texts: Sequence[str], terms: Terms) -> dict[int, list[str]]:
    """The texts that hold a word of `terms`, by their position in `texts`, as lines marked like those of a passage."""
    expression = _expression(terms)
    if not expression:
        return {}
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE shown USING fts5 (words, tokenize = '{_TOKENIZE}')")
        rows = ((number, _separated(_cleaned(text))) for number, text in enumerate(texts))
        db.executemany("INSERT INTO shown (rowid, words) VALUES (?, ?)", rows)
        found = db.execute(
            "SELECT rowid, highlight(shown, 0, ?, ?) FROM shown WHERE shown MATCH ?",
            (MARK, UNMARK, expression),
        )
        return {number: _marked(text) for number, text in found}


def lines_of(text: str) -> list[str]:
    """The lines as they are indexed: without line ends, NUL and our marks, and cut when they are too long."""
    return [line.rstrip("\r")[:_LINE_CHARS] for line in _cleaned(text).split("\n")]


def _cleaned(text: str) -> str:
    for ours in (MARK, UNMARK, _SEPARATOR, "\0"):  # FTS5 takes NUL for the end of a text
        text = text.replace(ours, "")
    return text


def _passages(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """The passages that are not blank: the number of each, from 0, and its columns after the path."""
    lines = lines_of(text)
    for number, start in enumerate(range(0, len(lines), LINES)):
        passage = "\n".join(lines[start : start + LINES])
        if passage.strip():
            names = (run for run in dict.fromkeys(RUN.findall(passage)) if not run.islower() and HUMP.search(run))
            yield number, (_separated(passage), " ".join(names))


def _separated(text: str) -> str:
    return _INNER.sub(_SEPARATOR, text)


def _marked(text: str) -> list[str]:
    return text.replace(_SEPARATOR, "").split("\n")


def _expression(terms: Terms) -> str:
    return _separated(to_expression(terms))
