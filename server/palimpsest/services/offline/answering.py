"""The search behind the offline provider: places in the folder's files, in the conversation and among the facts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Final

from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.facts.fact import StoredFact
from palimpsest.domain.facts.retrieval.scoring import Turn
from palimpsest.domain.facts.retrieval.words import Terms
from palimpsest.domain.facts.text import author_remark
from palimpsest.domain.messages import ConversationId, Role, TurnId
from palimpsest.domain.offline.places import Found, Place, quote
from palimpsest.domain.offline.question import search_terms, states_something
from palimpsest.machine import utc_now
from palimpsest.services.facts.retrieval import Question, Retriever
from palimpsest.services.offline.folder_index import FolderIndex
from palimpsest.storage.conversation import message_log
from palimpsest.storage.store import Store
from palimpsest.storage.text_index import marked_texts
from palimpsest.storage.turns import turn_records
from palimpsest_clients.offline import OFFLINE

_MOST_LOOKED_AT: Final = 30
"""Messages and facts that the retrieval finds."""
_MOST_SHOWN: Final = 3
"""Messages and facts together."""
_SPEAKERS: Final = {Role.USER: "you", Role.ASSISTANT: "the assistant"}


@dataclass(frozen=True, slots=True)
class Search:
    """The search of one folder. Nothing that it reads leaves the process."""

    store: Store
    index: FolderIndex
    has_facts: bool
    """Whether facts are searched."""

    async def find(self, conversation_id: ConversationId, question: str) -> Found:
        """The best places, files first. The question itself, messages in which the user only asked something, and
        answers of earlier searches are never among them. Raises NotFound for the conversation."""
        terms, is_given_up = search_terms(question), Event()
        try:
            in_files = await asyncio.to_thread(self.index.search, terms, is_given_up)
        finally:
            is_given_up.set()
        asked = Question(question, conversation_id, utc_now())
        ranked = await Retriever(self.store, count_bytes).search(asked, _MOST_LOOKED_AT)
        said = await self.store.search(self._said, asked, [each.found for each in ranked], terms)
        return replace(in_files, places=(*in_files.places, *said))

    def _said(self, asked: Question, found: Sequence[Turn | StoredFact], terms: Terms) -> list[Place]:
        """The best messages and facts that hold a word of the question themselves. The retrieval also finds messages by
        the words of their neighbors."""
        models = turn_records.models_of(asked.conversation_id)
        texts: list[tuple[Place, str]] = []
        for each in found:
            if isinstance(each, StoredFact):
                texts += [(_of_fact(each), each.fact.content)] if self.has_facts else []
            else:
                said = message_log.read_visible(asked.conversation_id, each.id, each.id + 1)
                texts += [(_of_message(one), one.content.text) for one in said if _answers(one, asked.text, models)]
        marked = marked_texts([text for _, text in texts], terms)
        return [replace(texts[number][0], lines=quote(marked[number])[1]) for number in sorted(marked)[:_MOST_SHOWN]]


def _answers(message: StoredMessage, question: str, models: Mapping[TurnId, str]) -> bool:
    match message.content.role:
        case Role.USER:
            return states_something(message.content.text, question)
        case Role.ASSISTANT:
            return message.turn_id is None or models.get(message.turn_id) != OFFLINE
        case _:
            return False


def _of_message(message: StoredMessage) -> Place:
    return Place(f"message {message.id}", (), f", from {_SPEAKERS[message.content.role]}")


def _of_fact(fact: StoredFact) -> Place:
    changed = f", may be out of date: {', '.join(fact.stale_sources)} changed since" if fact.is_stale else ""
    return Place(f"fact {fact.id}", (), author_remark(fact) + changed)
