"""The full-text index of messages, and the meaning of a person's words to it.

The index holds no text of its own (FTS5, contentless), so a row is removed by repeating its text: `columns` must give
the same for the same message for ever, or a migration builds the index anew. `passages` is the other index, for
retrieval; this one finds every word of a message as a whole.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from palimpsest.domain.facts.retrieval.words import HUMP, RUN, WORD, humped
from palimpsest.domain.language.lexicon import STOP
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ConversationId,
    ImagePart,
    MessageId,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)
from palimpsest.storage.sql import execute

_TOKENIZE: Final = "porter unicode61 remove_diacritics 2"
"""The same tokenizer as in the migration."""
_LONGEST_QUERY: Final = 2_000
"""In characters; the rest of a query is ignored."""
_MOST_WORDS: Final = 32
_SEPARATOR: Final = "\u2063"
"""The invisible separator: the index takes it for a space, and it occurs in no text."""
_SNIPPET_TOKENS: Final = 32
_LOOKED_THROUGH: Final = 4_000
"""The characters of a message in which its passage is looked for."""
_QUOTED: Final = re.compile(r'"([^"]+)"')
_SNIPPET_LENGTH: Final = 300
"""In characters."""


def text_of(content: Content) -> str:
    """Everything in a message that a person can read, a line or more for each part."""
    return "\n".join(text for part in content.parts for text in _texts(part) if text)


def _texts(part: Part) -> list[str]:
    match part:
        case TextPart() | ReasoningPart() | ToolResultPart():
            return [part.text]
        case ToolCallPart():
            return [part.name, part.arguments]
        case AttachmentPart():
            return [part.label, part.text]
        case ImagePart():
            return [part.label]
        case OpaquePart():
            return []
        case _:
            assert_never(part)


def columns(content: Content) -> tuple[str, str]:
    """The indexed text of a message, and the humped identifiers in it as separate words."""
    text = text_of(content)
    return text, humped(text)


def add(row_id: int, content: Content) -> None:
    """Makes a stored message findable. `row_id` is the id of its row."""
    execute("INSERT INTO message_search (rowid, words, parts) VALUES (?, ?, ?)", row_id, *columns(content))


def add_missing(conversation_id: ConversationId, first: int, after: int) -> None:
    """Indexes the messages [first, after) that were not stored through `message_log.append`, such as imported ones."""
    found = execute(
        """SELECT id, content FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?
        AND content IS NOT NULL AND NOT EXISTS (SELECT 1 FROM message_search_docsize AS d WHERE d.id = message.id)""",
        *(conversation_id, first, after),
    ).fetchall()
    for row_id, text in found:
        add(row_id, Content.from_json(json.loads(text)))


def _is_indexed(row_id: int) -> bool:
    return any(True for _ in execute("SELECT 1 FROM message_search_docsize WHERE id = ?", row_id))


def remove(row_id: int, content: Content) -> None:
    """Removes a message from the index, if it is in. Until `settle`, its words are still in the file."""
    if not _is_indexed(row_id):
        return
    words, parts = columns(content)
    execute(
        "INSERT INTO message_search (message_search, rowid, words, parts) VALUES ('delete', ?, ?, ?)",
        row_id,
        words,
        parts,
    )


def settle() -> None:
    """Rewrites the index without the words of removed rows."""
    execute("INSERT INTO message_search (message_search) VALUES ('optimize')")


@dataclass(frozen=True, slots=True)
class Query:
    """A person's words as expressions of the index, without any of its syntax."""

    strict: str
    """Every word, and words with punctuation inside as phrases."""
    loose: str
    """Any part of any word."""

    @property
    def expressions(self) -> tuple[str, ...]:
        return (self.strict, self.loose)


def to_query(text: str) -> Query | None:
    """The query of a text; None when the text has no letter and no digit. Stop words count only when there is nothing
    else."""
    cleaned, _ = clean_text(text[:_LONGEST_QUERY])
    words = [word for word in dict.fromkeys(cleaned.split()) if WORD.search(word)]
    words = ([word for word in words if word.casefold() not in STOP] or words)[:_MOST_WORDS]
    if not words:
        return None
    parts = dict.fromkeys(part for word in words for run in WORD.findall(word) for part in (run, *HUMP.split(run)))
    telling = [part for part in parts if part.casefold() not in STOP] or list(parts)
    strict = " AND ".join(f"({_quoted(word)} OR {_quoted(HUMP.sub(' ', word))})" for word in words)
    return Query(strict, " OR ".join(_quoted(part) for part in telling[: 2 * _MOST_WORDS]))


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', " "))


@dataclass(frozen=True, slots=True)
class Match:
    """A matching row: the conversation that holds it, and the message."""

    owner: str
    message_id: MessageId


def matches(expression: str, stretches: Sequence[tuple[str, int, int]] | None, limit: int) -> Iterator[Match]:
    """The best matches first, and of equals the newer first. `stretches` are the (conversation, first, after) of rows
    that may match; None: all."""
    where = "" if stretches is None else _WITHIN
    found = execute(
        f"""SELECT message.conversation, message.message_id
        FROM message_search JOIN message ON message.id = message_search.rowid
        WHERE message_search MATCH ? {where}
        ORDER BY bm25(message_search, 1.0, 0.5), message.id DESC LIMIT ?""",
        expression,
        *(() if stretches is None else (json.dumps(stretches),)),
        limit,
    )
    return (Match(owner, MessageId(message_id)) for owner, message_id in found)


_WITHIN: Final = """AND EXISTS (
    SELECT 1 FROM json_each(?) AS stretch
    WHERE json_extract(stretch.value, '$[0]') = message.conversation
    AND json_extract(stretch.value, '$[1]') <= message.message_id
    AND json_extract(stretch.value, '$[2]') > message.message_id
)"""


def snippets(expression: str, texts: Mapping[int, str]) -> dict[int, str]:
    """The passage of each text where it matches, on one line.

    The index has no text, so the few texts that are shown are indexed once more, in memory; of a long one the part
    around the first word of the query, because what chooses a passage takes the square of the matches it has.
    """
    texts = {key: _around_first_word(expression, text) for key, text in texts.items()}
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"CREATE VIRTUAL TABLE shown USING fts5(words, parts, tokenize='{_TOKENIZE}')")
        memory.executemany(
            "INSERT INTO shown (rowid, words, parts) VALUES (?, ?, ?)",
            [(key, text, RUN.sub(_separated, text)) for key, text in texts.items()],
        )
        found = memory.execute(
            "SELECT rowid, snippet(shown, -1, char(2), char(3), '…', ?) FROM shown WHERE shown MATCH ?",
            (_SNIPPET_TOKENS, expression),
        )
        passages = {key: _on_one_line(passage) for key, passage in found}
    return {key: passages.get(key) or _on_one_line(text) for key, text in texts.items()}


def _around_first_word(expression: str, text: str) -> str:
    if len(text) <= _LOOKED_THROUGH:
        return text
    folded = text.casefold()
    places = [at for quoted in _QUOTED.findall(expression) for word in quoted.split() if (at := folded.find(word)) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET_LENGTH)
    return text[start : start + _LOOKED_THROUGH]


def _separated(run: re.Match[str]) -> str:
    return HUMP.sub(_SEPARATOR, run.group())


def _on_one_line(passage: str) -> str:
    """At most 300 characters around the first mark, without marks and separators."""
    line = " ".join(passage.replace(_SEPARATOR, "").replace("\3", "").split())
    if len(line) > _SNIPPET_LENGTH:
        start = max(0, min(line.find("\2") - _SNIPPET_LENGTH // 3, len(line) - _SNIPPET_LENGTH))
        line = line[start : start + _SNIPPET_LENGTH]
    return line.replace("\2", "")
