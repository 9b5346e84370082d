"""What the offline provider quotes: passages of the folder's files and of the conversation that answer a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palimpsest.domain.messages import Role
from palimpsest.domain.offline.files import head_of, hinted_files, wanted_files
from palimpsest.domain.offline.passages import FileSource, HistoryLine, MessageSource, Passage, SourceText
from palimpsest.domain.offline.question import questions_of
from palimpsest.domain.offline.ranking import MAX_QUOTES, rank
from palimpsest.services.offline.folder_text import FolderText
from palimpsest_clients.offline import OFFLINE

_MIN_WORDS: Final = 4
"""A user's message of fewer words asks or answers something; alone it says nothing."""


def find_passages(question: str, folder: FolderText, history: Sequence[HistoryLine]) -> tuple[Passage, ...]:
    """The passages that answer a user's message, best first; empty when nothing does.

    A message that asks for a file gets the beginning of that file. Never quoted are the question itself, what
    the offline provider said, and what the user only asked. Blocking: it reads the folder.
    """
    files = folder.read().files
    wanted = wanted_files(question, files)
    if wanted is not None:
        return _heads(wanted, files)
    texts = [*files, *(_text_of(line) for line in history if _may_be_quoted(line, question))]
    found = [passage for asked in questions_of(question) for passage in rank(asked, texts)]
    return tuple(dict.fromkeys(found))[:MAX_QUOTES] or _heads(hinted_files(question, files), files)


def _heads(paths: Sequence[str], files: Sequence[SourceText]) -> tuple[Passage, ...]:
    by_path = {file.source.path: file for file in files if isinstance(file.source, FileSource)}
    return tuple(head_of(by_path[path]) for path in paths)


def _text_of(line: HistoryLine) -> SourceText:
    return SourceText(MessageSource(line.message_id, line.role), line.text)


def _may_be_quoted(line: HistoryLine, question: str) -> bool:
    if line.role is Role.USER:
        return len(line.text.split()) >= _MIN_WORDS and line.text.strip() != question.strip()
    return line.model != OFFLINE
