"""The model that works for the librarian of one folder, within what a day may cost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.machine import utc_now
from palimpsest.services.models.helper import Check, HelpingModel, Reply, unchecked
from palimpsest.storage.facts import facts
from palimpsest.storage.store import Store

log = logging.getLogger(__name__)

ChooseModel = Callable[[ConversationId], Awaitable[HelpingModel | None]]
"""The model that is asked about a conversation; None: no model."""


@dataclass(frozen=True, slots=True)
class LibrarianModel:
    """All that is asked counts towards the same day."""

    store: Store
    choose: ChooseModel
    daily_tokens: int

    async def ask(
        self,
        conversation_id: ConversationId,
        instructions: str,
        request: Callable[[], str],
        topic: str,
        limit_s: float,
        check: Check = unchecked,
    ) -> Reply | None:
        """What the model says. None where there is none, where today's tokens are spent, and where it fails or takes
        longer than `limit_s`; and where `check`, called right before the request is sent, raises. `request` is made on
        a thread, and only when it is asked for."""
        today = utc_now()[:10]
        model = await self.choose(conversation_id)
        if model is None or await self.store.read(facts.tokens_used, today) >= self.daily_tokens:
            return None
        try:
            async with asyncio.timeout(limit_s):
                asked = await asyncio.to_thread(request)
                reply = await model.ask(instructions, asked, topic, check)
        except (PalimpsestError, TimeoutError) as error:
            log.info("the librarian does without a model (%s): %s", topic, type(error).__name__)
            return None
        spent = reply.usage.prompt_tokens + reply.usage.output_tokens
        await self.store.run(facts.use_tokens, today, spent or model.count(asked) + model.count(reply.text))
        return reply
