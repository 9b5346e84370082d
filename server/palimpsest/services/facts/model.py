"""The model that works for the librarian of one folder: its tasks, and the tokens that a day may cost."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.facts.extraction import from_model, restatement
from palimpsest.domain.facts.extraction.exchange import Exchange
from palimpsest.domain.facts.extraction.restatement import Unusable
from palimpsest.domain.facts.fact import Candidate, Fact, StoredFact
from palimpsest.domain.facts.retrieval import reranking
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.models.provider import StopReason
from palimpsest.domain.models.redaction import redact
from palimpsest.machine import utc_now
from palimpsest.services.facts.retrieval import Question
from palimpsest.services.models.helper import Check, HelpingModel, Reply, unchecked
from palimpsest.storage.facts import facts
from palimpsest.storage.store import Store

log = logging.getLogger(__name__)

_FACTS, _RERANKING = "facts", "rerank"
"""Topics, as a helping model and the log name them."""
_LIMIT_S: Final = 60.0
_TURN_LIMIT_S: Final = 8.0
"""The limit where a turn waits for the answer."""
_PART_TOKENS: Final = 400
"""The longest part of one message in a transcript."""

ChooseModel = Callable[[ConversationId], Awaitable[HelpingModel | None]]
"""Chooses the model for questions about a conversation; None: no model."""


@dataclass(frozen=True, slots=True)
class LibrarianModel:
    """All tokens that it spends count towards the same day."""

    store: Store
    choose: ChooseModel
    daily_tokens: int

    async def propose(
        self, conversation_id: ConversationId, exchange: Exchange, check: Check
    ) -> Sequence[Candidate] | None:
        """The facts that the model finds in an exchange; None without an answer. `check`: see `_ask`."""
        request = functools.partial(from_model.transcript, exchange, _PART_TOKENS)
        reply = await self._ask(conversation_id, from_model.INSTRUCTIONS, request, _FACTS, _LIMIT_S, check)
        if reply is None:
            return None
        return await asyncio.to_thread(from_model.parse, reply.text, exchange)

    async def restate(self, known: StoredFact, texts: Sequence[str]) -> Fact | Unusable:
        """The fact as `texts`, which are its places now, have it; or why there is none."""
        if not texts:
            return Unusable("none of its places can be read")
        if known.evidence is None:
            return Unusable("you pinned it in your own words. Pin what holds now")
        request = functools.partial(restatement.to_request, known.fact, texts)
        conversation_id = known.evidence.conversation_id
        reply = await self._ask(conversation_id, restatement.INSTRUCTIONS, request, _FACTS, _LIMIT_S)
        if reply is None:
            return Unusable("no model answered")
        if reply.stop_reason is not StopReason.END:
            return Unusable("the model's answer broke off")
        fact = await asyncio.to_thread(restatement.read_restated, reply.text, known.fact, texts)
        if isinstance(fact, Fact) and redact(fact.content) != fact.content:
            return Unusable("the place holds a key, and a key is no fact")
        return fact

    async def order(self, asked: Question, excerpts: Sequence[str]) -> Sequence[int] | None:
        """The positions of the excerpts, counted from 0, the most helpful first; None without an answer."""
        request = functools.partial(reranking.to_request, asked.text, excerpts)
        conversation_id = asked.conversation_id
        reply = await self._ask(conversation_id, reranking.INSTRUCTIONS, request, _RERANKING, _TURN_LIMIT_S)
        return None if reply is None else reranking.read_order(reply.text, len(excerpts))

    async def _ask(
        self,
        conversation_id: ConversationId,
        instructions: str,
        request: Callable[[], str],
        topic: str,
        limit_s: float,
        check: Check = unchecked,
    ) -> Reply | None:
        """The model's answer. None when there is no model, when today's tokens are spent, when the model fails or takes
        longer than `limit_s`, and when `check`, which runs right before the request is sent, raises. `request` runs on
        a thread, and only when a model is asked."""
        today = utc_now()[:10]
        model = await self.choose(conversation_id)
        if model is None or await self.store.read(facts.tokens_used, today) >= self.daily_tokens:
            return None
        try:
            async with asyncio.timeout(limit_s):
                asked = await asyncio.to_thread(request)
                reply = await model.ask(instructions, asked, topic, check, conversation_id)
        except (PalimpsestError, TimeoutError) as error:
            log.info("the librarian does without a model (%s): %s", topic, type(error).__name__)
            return None
        spent = reply.usage.prompt_tokens + reply.usage.output_tokens
        await self.store.run(facts.use_tokens, today, spent or model.count(asked) + model.count(reply.text))
        return reply
