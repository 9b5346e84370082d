"""Admission: what a turn with a message would begin with, and whether that can be sent at all.

A dry run and the turn itself ask the same question here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.request_layout import Frame, FrameTokens
from palimpsest.domain.context.rules.standing import Commands, StandingRules
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import Content, Digest, MessageId
from palimpsest.services.context.compaction_plan import distilled
from palimpsest.services.context.continuation import Continuation, read_continuation
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.fitting import Fit, Fitting, fitting
from palimpsest.services.context.model_switch import as_with
from palimpsest.services.context.previews import Accepted
from palimpsest.services.context.rules import front_of, news_of, read_rules
from palimpsest.services.context.state import ContextState, live


@dataclass(frozen=True, slots=True)
class Beside:
    """What a turn was admitted beside: what comes after that comes with the next turn, where it must."""

    frame: Frame
    commands: Commands


@dataclass(frozen=True, slots=True)
class Trial:
    """What a turn would begin with."""

    state: ContextState
    """With the message, and the model that would answer it. Nobody else has it."""
    rules: StandingRules
    fitting: Fitting


@dataclass(frozen=True, slots=True)
class Admission:
    """To one folder's conversations."""

    contexts: ContextEngine

    async def check(self, state: ContextState, content: Content, frame: Frame) -> tuple[Accepted, Beside]:
        """The user's message, counted, and what it is admitted beside. `frame`: what stands before a conversation whose
        turn begins now. Raises RecentMessagesTooLarge when no compaction
        could make room for it, with no target of the user's: then nothing is stored, and the text stays with the
        editor."""
        accepted = await self.contexts.accept(state, [content])
        trial = await self.try_out(state, accepted.contents[0], frame)
        trial.fitting.check()
        return accepted, Beside(frame, trial.rules.basis.commands)

    async def try_out(self, state: ContextState, content: Content | None, frame: Frame) -> Trial:
        """What a turn with that message would begin with; None: without a new one. Changes nothing."""
        contexts = self.contexts
        rules, continuation = await read_rules(contexts, state), await read_continuation(contexts.store, state.id)
        news = news_of(state, rules)
        asked = [] if content is None else await _asked(state, content)
        if self.contexts.is_to_be_restored(state):
            pieces, gone = await self.contexts.chosen_anew(state, asked)
            cut = replace(state.cut, left_out=gone, estimator=state.model.estimator)
            state, asked = replace(state, pieces=pieces, cut=cut, n_sent=0), []
        found = first = self._tried(state, rules, continuation, news, asked, frame)
        if found.fitting.fit is not Fit.NEVER:
            return found
        for model in self.contexts.models.targets():
            if model.name == state.model.name or self.contexts.models.budget(model).budget <= state.budget.budget:
                continue
            with_model = await as_with(self.contexts, state, model)
            rules = await read_rules(contexts, with_model)
            if rules.pin_tokens <= rules.cap_tokens:
                asked = [] if content is None else await _asked(with_model, content)
                with_model.pieces, gone = await self.contexts.chosen_anew(with_model, asked)
                with_model.cut = replace(with_model.cut, left_out=gone)
                found = self._tried(with_model, rules, continuation, news, [], frame)
                if found.fitting.fit is not Fit.NEVER:
                    return found
        return first

    def _tried(
        self,
        state: ContextState,
        rules: StandingRules,
        continuation: Continuation,
        news: str,
        asked: Sequence[MessagePiece],
        frame: Frame,
    ) -> Trial:
        tried = framed(replace(state, pieces=[*state.pieces, *asked]), frame)
        if asked and self.contexts.is_distilled(tried):
            kept, gone = distilled(self.contexts.settings, tried)
            tried = replace(tried, pieces=kept, cut=replace(tried.cut, left_out=tuple(gone)))
            tried.front = front_of(tried, rules, gone)
        limit = tried.budget.budget - continuation.tokens(tried)
        news_tokens = tried.tokenizer.count(news) if news else 0
        return Trial(tried, rules, fitting(self.contexts.settings, tried, rules, limit, news_tokens))


async def _asked(state: ContextState, content: Content) -> list[MessagePiece]:
    """A message that is not stored, as it would stand behind the state's pieces."""
    (tokens,) = await state.tokenizer.count_contents([content])
    message = StoredMessage(state.id, MessageId(state.n_messages), content, "", None, Digest(""))
    return [live(message, tokens, None, state.tokenizer)]


def framed(state: ContextState, frame: Frame) -> ContextState:
    """The state with the frame that a turn takes up: another one makes a new cut."""
    if state.frame == frame and state.cut.frame_digest == frame.digest():
        return state
    count = state.tokenizer.count
    tokens = FrameTokens(frame.system_tokens(count), frame.tools_tokens(count))
    cut = state.cut
    if cut.frame_digest != frame.digest():
        cut = replace(cut, estimator=state.model.estimator)
    return replace(state, frame=frame, frame_tokens=tokens, n_sent=0, cut=cut)
