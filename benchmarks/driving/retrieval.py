"""Retrieval over a conversation in the real store.

A conversation becomes messages, appended as a turn appends them. Speakers other than the user and the assistant stand
before their words, as in a chat that is pasted: "Ada: hello". A turn's date is when it was said.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from palimpsest.domain.messages import Content, ConversationId, Role, TextPart, clean_text
from palimpsest.services.facts.retrieval import Question, Retriever
from palimpsest.services.models.tokenizers import load_tokenizer
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.store import Store, open_store

_CONVERSATION: Final = ConversationId("benchmark")
_FORMATS: Final = ("%Y/%m/%d %H:%M", "%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%Y-%m-%d")


class RetrievalSystem:
    """One conversation at a time, each in a store of its own."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="palimpsest-benchmark-")
        self._count = load_tokenizer("cl100k_base", Path(self._directory.name) / "vocabularies").count
        self._runner = asyncio.Runner()
        self._store: Store | None = None
        self._n_stores = 0
        self._ids: list[str] = []

    def index(self, turns: Sequence[Mapping[str, str]]) -> None:
        self._runner.run(self._index(turns))

    async def _index(self, turns: Sequence[Mapping[str, str]]) -> None:
        if self._store is not None:
            await self._store.close()
        self._n_stores += 1
        store = self._store = await open_store(Path(self._directory.name) / f"store-{self._n_stores}")
        self._ids = [turn["id"] for turn in turns]

        def fill() -> None:
            conversations.create(_CONVERSATION, "benchmark", "offline", "")
            for turn in turns:
                message_log.append(_CONVERSATION, [_content(turn)], _time(turn["date"]))

        await store.run(fill)

    def search(self, query: str, k: int, now: str) -> list[str]:
        found = self._runner.run(self._retriever().search(self._question(query, now), k))
        return [self._ids[each.found.id] for each in found]

    def context(self, query: str, budget: int, now: str) -> tuple[str, list[str]]:
        found = self._runner.run(self._retriever().retrieve(self._question(query, now), budget))
        return found.text, [self._ids[each.found.id] for each in found.items]

    def close(self) -> None:
        if self._store is not None:
            self._runner.run(self._store.close())
        self._runner.close()
        self._directory.cleanup()

    def _retriever(self) -> Retriever:
        assert self._store is not None, "index a conversation first"
        return Retriever(self._store, self._count)

    def _question(self, query: str, now: str) -> Question:
        return Question(query, _CONVERSATION, _time(now))


def _content(turn: Mapping[str, str]) -> Content:
    text, notes = clean_text(turn["text"])
    said = text if turn["speaker"] in ("user", "assistant") else f"{turn['speaker']}: {text}"
    return Content(Role(turn["role"]), (TextPart(said),), notes=notes)


def _time(date: str) -> str:
    """ISO 8601; empty for a date in no form that is known."""
    plain = re.sub(r" \(\w+\)", "", date)
    for form in _FORMATS:
        try:
            return datetime.strptime(plain, form).strftime("%Y-%m-%dT%H:%M:00.000Z")
        except ValueError:
            continue
    return ""
