"""A question to a model outside a conversation: for a summary, or for facts. Nothing is stored here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.apportionment import apportion
from palimpsest.domain.context.prepared import PreparedContext, Segment
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.tokens import CountText, count_content
from palimpsest.domain.errors import ProviderError
from palimpsest.domain.messages import ConversationId, clean_text, user_message
from palimpsest.domain.models.limits import Budget, Model
from palimpsest.domain.models.prices import Price
from palimpsest.domain.models.provider import Counted, Finished, Pause, Provider, StopReason, TextDelta, TokenUsage
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.storage.model_calls import ModelCall

MAX_OUTPUT_TOKENS: Final = 8_192
"""The most tokens of one answer, far above the wanted length, because some models think aloud in it."""
MAX_CHARS: Final = 40_000
"""The most characters of an answer that are read."""

Check = Callable[[], Awaitable[None]]
"""Raises PalimpsestError when the request must not be sent any more."""


async def unchecked() -> None:
    """The check of a request that may always be sent."""


Keep = Callable[[ModelCall, ConversationId | None], Awaitable[None]]
"""Writes a call into the account of costs."""


async def uncounted(_call: ModelCall, _about: ConversationId | None) -> None:
    """The account of whoever keeps none."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came."""

    text: str
    stop_reason: StopReason | None
    """None when the answer broke off, or was not read to its end."""
    usage: TokenUsage = field(default_factory=TokenUsage)


@dataclass(frozen=True, slots=True)
class HelpingModel:
    """A model that helps, and its provider."""

    provider: Provider
    model: Model
    budget: Budget
    count: CountText
    """Counts with the model's vocabulary."""
    price: Price | None = None
    """None when it is not known."""
    keep: Keep = uncounted

    async def ask(
        self,
        instructions: str,
        request: str,
        topic: str,
        check: Check = unchecked,
        about: ConversationId | None = None,
    ) -> Reply:
        """Ask the model. `topic`: questions with the same topic share their instructions, so that a provider can cache
        them, and are one purpose in the account of costs; `about` is the conversation that pays. `check` runs last
        before the request is sent; its error is raised, and nothing is sent then.

        Raises ProviderError when it fails, OverLimit when the request does not fit its window.
        """
        context = await asyncio.to_thread(self._prepare, instructions, request, topic)
        await check()
        text, sent, finished, has_begun, is_paid = "", TokenUsage(), None, False, False
        try:
            async with aclosing(self.provider.stream(context)) as events:
                async for event in events:
                    has_begun = has_begun or not isinstance(event, Pause)
                    is_paid = is_paid or not isinstance(event, Pause | Counted)
                    match event:
                        case Counted():
                            sent = event.usage
                            is_paid = is_paid or bool(sent.prompt_tokens)
                        case TextDelta():
                            text += event.text
                            if len(text) > MAX_CHARS:
                                break
                        case Finished():
                            finished = event
        except ProviderError:  # what fails before anything was counted or said was refused
            has_begun = is_paid
            raise
        finally:
            if has_begun:  # also when it was cancelled or broke: the service charges for what it did
                await self.keep(self._call(topic, context, text, sent, finished), about)
        text = clean_text(text)[0].strip()
        return Reply(text, None) if finished is None else Reply(text, finished.stop_reason, finished.usage)

    def _call(
        self, topic: str, context: PreparedContext, text: str, sent: TokenUsage, finished: Finished | None
    ) -> ModelCall:
        usage = TokenUsage() if finished is None else finished.usage
        is_counted = bool(usage.prompt_tokens + usage.output_tokens)
        if not is_counted:
            known = sent if sent.prompt_tokens else TokenUsage(context.estimated_tokens)
            usage = replace(known, output_tokens=self.count(text))
        cost = self.price.of(usage) if self.price is not None else None
        return ModelCall(topic, self.provider.name, self.model.name, usage, not is_counted, cost)

    def _prepare(self, instructions: str, request: str, topic: str) -> PreparedContext:
        """The request, which is checked to fit."""
        content = user_message(request)
        frame = Frame(instructions, ())
        estimator = self.model.estimator
        system, message = frame.system_tokens(self.count), count_content(content, self.count)
        whole = estimator.mean(system + message)
        weights = [estimator.factor * system, estimator.factor * message, float(estimator.overhead)]
        sizes = apportion(whole, weights)
        return PreparedContext(
            conversation_id=ConversationId(topic),
            model=self.model.service_name,
            system=frame.system,
            tools=frame.tools,
            segments=(
                Segment("system", sizes[0], "what to do", ()),
                Segment("message", sizes[1], "what it is about", (content,)),
                Segment("overhead", sizes[2], "added by the model's service", ()),
            ),
            max_output_tokens=min(self.budget.reserve, MAX_OUTPUT_TOKENS),
            estimated_tokens=whole,
            upper_tokens=estimator.upper(system + message),
            limit_tokens=self.budget.budget,
            tool_choice="none",
        )


@dataclass(frozen=True, slots=True)
class Helpers:
    """Chooses the model that helps with a conversation."""

    models: Models
    tokenizers: Tokenizers
    moved: Collection[str] = ()
    """Providers at an address of the user: they may not have the usual models."""
    keep: Keep = uncounted
    require: Callable[[], Awaitable[None]] = unchecked
    """Raises BudgetSpent when this month's budget is spent: then no model helps."""

    async def helper(
        self, model: Model, named: str | None, usual: str | None, asked_by: EditorId | None
    ) -> HelpingModel:
        """The helper for a conversation with `model`: the one of the settings, else the usual one of its provider, else
        `model` itself. `asked_by`: the editor that asked for the work.

        Raises PalimpsestError when it is not available."""
        await self.require()
        if named is not None:
            helping = self.models.get(named)
        elif usual is None or model.provider in self.moved:
            helping = model
        else:
            helping = self.models.get(usual)
        provider, budget = self.models.provider(helping, asked_by), self.models.budget(helping)
        tokenizer = await self.tokenizers.get(helping.tokenizer)
        return HelpingModel(provider, helping, budget, tokenizer.count, self.models.price(helping), self.keep)
