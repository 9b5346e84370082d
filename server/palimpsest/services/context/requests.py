"""Requests: from a conversation's context to what a provider may be sent, compacted first where that is due."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.cut import CutCause, MessagePiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.notebook.step_note import NOTES_SHARE
from palimpsest.domain.context.prepared import PreparedContext, ToolChoice
from palimpsest.domain.context.recall_report import LeftOutBecause
from palimpsest.domain.context.recalled import HEAD
from palimpsest.domain.context.request_layout import Frame, FrameTokens, lay_out
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD
from palimpsest.domain.errors import RecentMessagesTooLarge
from palimpsest.domain.messages import MessageId, Role, TurnId
from palimpsest.machine import utc_now
from palimpsest.services.context.admission import Beside, framed
from palimpsest.services.context.counting import counted, is_near
from palimpsest.services.context.edits_taken_back import news_of_edits
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.fitting import Fit, as_planned, fitting, for_next_request
from palimpsest.services.context.pictures import with_pictures
from palimpsest.services.context.recall import Recall, Recalled, share_of
from palimpsest.services.context.rules import news_of, read_rules_of_turn
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.events import ContextEvent
from palimpsest.storage.context import injections, knowledge
from palimpsest.storage.conversation import hidden_ranges

_PLANS: Final = 3
"""Compactions that are tried for one request before it counts as too large."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first request of a turn."""

    turn_id: TurnId
    """Of the turn that stored the user's message."""
    frame: Frame
    """What stands before a conversation whose turn begins now."""
    beside: Beside | None = None
    """What the turn was admitted beside."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Prepares the requests of one folder's conversations."""

    contexts: ContextEngine
    recall: Recall | None = None
    """What tells a turn of what its context does not hold; None: nothing does."""

    async def prepare(
        self,
        context: WritableContext,
        limit_tokens: int,
        tool_choice: ToolChoice = "auto",
        beginning: Beginning | None = None,
    ) -> PreparedContext:
        """The next request, compacted first where that is due. The only way to a prepared context.

        `beginning`: None for the later requests of a turn. What the user rules by command after the turn was admitted
        is told to the next turn. Raises RecentMessagesTooLarge when what must be sent verbatim does not fit.
        """
        admitted = None if beginning is None else beginning.beside
        with context.state.ruled_by(None if admitted is None else admitted.commands):
            return await self._prepare(context, limit_tokens, tool_choice, beginning)

    async def _prepare(
        self, context: WritableContext, limit_tokens: int, tool_choice: ToolChoice, beginning: Beginning | None
    ) -> PreparedContext:
        state = context.state
        turn_id = None if beginning is None else beginning.turn_id
        if beginning is not None:
            await self._take_up_frame(context, await self._frame_of(state, limit_tokens, beginning))
        is_distilled = self.contexts.is_distilled(state)
        if self.contexts.is_to_be_restored(state):
            await self.contexts.adopt_anew(context, CutCause.USER)
        if is_distilled and turn_id is not None:
            await (await self.contexts.compactor(context)).distil(context)
        state.cut = for_next_request(state, limit_tokens).cut
        news = ""
        if turn_id is not None:
            news = news_of(state, await read_rules_of_turn(self.contexts, state))
        if not news and (as_counted := await self._as_counted(context, limit_tokens, tool_choice)) is not None:
            return as_counted
        news_tokens = state.tokenizer.count(news) if news else 0
        if self.contexts.is_due(state, limit_tokens, news_tokens):
            if turn_id is not None:
                rules = await read_rules_of_turn(self.contexts, state)
                fitting(self.contexts.settings, state, rules, limit_tokens, news_tokens).check()
            await self._compact(context, limit_tokens, news_tokens)
            news = news_of(state, await read_rules_of_turn(self.contexts, state)) if news else ""
        if news and turn_id is not None:
            await self._inject(context, turn_id, "rules", news)
        if turn_id is not None:
            await self._tell_of_edits(context, turn_id, limit_tokens)
        if turn_id is not None and self.recall is not None:
            await self._recall(self.recall, context, turn_id, limit_tokens)
        if self.recall is not None and not is_distilled:
            await self._note(context, limit_tokens)
        prepared = _lay_out(state, limit_tokens, tool_choice)
        state.n_sent = len(state.pieces)
        return prepared

    async def _compact(self, context: WritableContext, limit_tokens: int, more_tokens: int) -> None:
        """A compaction, planned by the estimator and held against what was measured; planned smaller where that says
        more, and as small as can be where nothing else makes room. `more_tokens` (raw) are told beside the request
        unless a new cut puts them to its front.

        Raises RecentMessagesTooLarge when what must stay does not fit by what was measured.
        """
        state = context.state
        compactor = await self.contexts.compactor(context)
        version = state.cut.version

        def fits() -> bool:
            left = more_tokens if state.cut.version == version else 0
            return state.with_more(left).estimate.upper <= limit_tokens

        for _ in range(_PLANS):
            try:
                await compactor.by_threshold(context, as_planned(state, limit_tokens), more_tokens)
            except RecentMessagesTooLarge:
                break
            if fits():
                return
        if not fits():
            await compactor.to_the_least(context, limit_tokens)

    async def _as_counted(
        self, context: WritableContext, limit_tokens: int, tool_choice: ToolChoice
    ) -> PreparedContext | None:
        """The request as it stands, where only the spread of the estimate speaks against it, the provider counts it as
        fitting, and a compaction was found to gain too little."""
        state = context.state
        mean, upper = state.estimate
        if upper <= limit_tokens or state.raw_tokens >= state.futile_above or not is_near(mean, upper, limit_tokens):
            return None
        # For the question only: what is sent carries the limit it was proven to fit.
        asked = _lay_out(state, upper, tool_choice)
        whole = await with_pictures(self.contexts.store, asked, state.model)
        tokens = await counted(self.contexts.models.provider(state.model, context.asked_by), whole)
        if tokens is None or tokens > limit_tokens:
            return None
        state.n_sent = len(state.pieces)
        return asked.counted_as(tokens, limit_tokens)

    async def _frame_of(self, state: ContextState, limit_tokens: int, beginning: Beginning) -> Frame:
        """The frame of now; that of the admission where the message fits no longer for what came to it since. Then that
        comes with the next turn. A tool that was taken away is in none."""
        now, admitted = beginning.frame, beginning.beside
        if admitted is None or admitted.frame == now or any(tool not in now.tools for tool in admitted.frame.tools):
            return now
        rules = await read_rules_of_turn(self.contexts, state)
        fits = fitting(self.contexts.settings, framed(state, now), rules, limit_tokens).fit is not Fit.NEVER
        return now if fits else admitted.frame

    async def _take_up_frame(self, context: WritableContext, frame: Frame) -> None:
        """Where the system prompt, the instructions or the tools have changed, the turn that begins is the first to see
        it. Where it is the conversation's first, nobody has seen others, and nothing is compacted."""
        state, digest = context.state, frame.digest()
        if state.frame != frame:
            count = state.tokenizer.count
            state.frame = frame
            state.frame_tokens = FrameTokens(frame.system_tokens(count), frame.tools_tokens(count))
            state.n_sent = 0
        if state.cut.frame_digest == digest:
            return
        if state.cut.version == 0 and len(state.pieces) == 1:
            state.cut = replace(state.cut, frame_digest=digest)
            return
        await self.contexts.adoption.adopt(context, state.pieces, CutCause.FRAME, frame_digest=digest)

    async def _tell_of_edits(self, context: WritableContext, turn_id: TurnId, limit_tokens: int) -> None:
        """Tells the turn which edits were taken back. It takes what room there is: without any, the next turn is
        told."""
        state = context.state
        text = await news_of_edits(self.contexts.store, state)
        if text and state.with_injection(turn_id, text).estimate.upper <= limit_tokens:
            await self._inject(context, turn_id, "edits", text)

    async def _recall(self, recall: Recall, context: WritableContext, turn_id: TurnId, limit_tokens: int) -> None:
        """Tells the turn what its context does not hold, once; chosen anew where the folder knows something else when
        it is stored: what is hidden, purged or forgotten meanwhile is not told.

        What is told is part of the request, so where a compaction is due with it, it comes first; where that would free
        too little, the rest of the limit is there for it. When not even that is enough, the editor is told.
        """
        state = context.state
        if HEAD in state.asked_in(turn_id).injection:
            return
        for _ in range(_PLANS):
            known = await self.contexts.store.read(knowledge.version)
            chosen = await self._chosen_to_tell(recall, context, turn_id, limit_tokens)
            with contextlib.suppress(knowledge.Changed):
                if chosen.text:
                    await self._inject(context, turn_id, "recall", chosen.text, known)
                state.recalled = (state.asked_in(turn_id).message.id, chosen.report)
                return

    async def _chosen_to_tell(
        self, recall: Recall, context: WritableContext, turn_id: TurnId, limit_tokens: int
    ) -> Recalled:
        """What the turn is told. A compaction that is due with it comes first, where it frees enough; where it does
        not, what is told takes the room that is left and makes no other one due."""
        state = context.state
        share = share_of(state, is_distilled=self.contexts.is_distilled(state))
        chosen = await recall.choose(state, state.asked_in(turn_id), share)
        is_futile = state.raw_tokens < state.futile_above or self.contexts.is_distilled(state)
        if chosen.text and not is_futile and self._is_due_with(state, turn_id, chosen.text, limit_tokens):
            with contextlib.suppress(RecentMessagesTooLarge):
                await self._compact(context, limit_tokens, 0)
            chosen = await recall.choose(state, state.asked_in(turn_id), share)  # the context holds less now
        needed, report = 0, chosen.report
        while chosen.text and self._is_due_with(state, turn_id, chosen.text, limit_tokens):
            needed = needed or state.with_injection(turn_id, chosen.text).estimate.upper
            room = self._room(state, limit_tokens)
            share = room if room < share else share // 2
            chosen = await recall.choose(state, state.asked_in(turn_id), share)
        if needed and not chosen.text:
            self._tell_no_room(state, needed, limit_tokens)
            return Recalled("", replace(report.with_nothing(LeftOutBecause.NO_ROOM), room_tokens=max(share, 0)))
        return chosen

    def _is_due_with(self, state: ContextState, turn_id: TurnId, text: str, limit_tokens: int) -> bool:
        """Whether the text behind the turn's own message would make a compaction due, or is too large for the limit."""
        told = state.with_injection(turn_id, text)
        if self.contexts.is_distilled(state):
            return told.estimate.upper > limit_tokens
        return self.contexts.is_due(told, limit_tokens)

    def _room(self, state: ContextState, limit_tokens: int) -> int:
        """Raw tokens that can be added before a compaction is due, by what the cut's estimator says."""
        raw_within = state.cut.estimator.raw_within
        if self.contexts.is_distilled(state):
            return raw_within(limit_tokens) - state.raw_tokens
        due = max(raw_within(self.contexts.due_tokens(state)), state.futile_above - 1)
        return min(raw_within(limit_tokens), due) - state.raw_tokens

    def _tell_no_room(self, state: ContextState, needed_tokens: int, limit_tokens: int) -> None:
        self.contexts.emit(
            ContextEvent(
                state.id,
                ContextEventType.NOT_RECALLED,
                utc_now(),
                projected_tokens=needed_tokens,
                limit_tokens=limit_tokens,
                remaining_tokens=limit_tokens - needed_tokens,
            )
        )

    async def _inject(
        self,
        context: WritableContext,
        turn_id: TurnId,
        kind: str,
        text: str,
        known: knowledge.Version | None = None,
    ) -> None:
        """Adds the text behind the turn's own message, until the next compaction. `known`: what it was chosen from;
        raises knowledge.Changed when that is another by now, and nothing is added."""
        state = context.state
        index, version = state.asked_at(turn_id), state.cut.version
        added = state.with_injection(turn_id, text).asked_in(turn_id)

        def follow(written: tuple[int, int, int]) -> None:
            before, last_injection, injection_id = written
            state.pieces[index] = replace(added, injection_ids=(*added.injection_ids, injection_id))
            if state.last_injection == before:  # else something was taken away, and the next turn reads all anew
                state.last_injection = last_injection
            state.n_sent = min(state.n_sent, index)

        def write() -> tuple[int, int, int]:
            if known is not None:
                knowledge.require(known)
            before = injections.last_injection(state.id)
            written = injections.write(context.lease, turn_id, version, kind, text, utc_now())
            return before, injections.last_injection(state.id), written

        await self.contexts.store.commit(write, follow)

    async def _note(self, context: WritableContext, limit_tokens: int) -> None:
        """Tells the step what its context lacks about what its newest messages name: a message behind them, until the
        next compaction. It takes what room there is, and never makes a compaction due."""
        state = context.state
        newest = state.pieces[-1] if state.pieces else None
        if not isinstance(newest, MessagePiece) or newest.note or newest.message.turn_id is None or not state.n_blocks:
            return
        if newest.message.content.role is Role.ASSISTANT:  # it is to be continued
            return
        most = min(limit_tokens, self.contexts.due_tokens(state))
        given = sum(piece.note_tokens for piece in state.pieces if isinstance(piece, MessagePiece))
        room = min(state.cut.estimator.raw_within(most) - state.raw_tokens, int(NOTES_SHARE * state.budget_raw) - given)
        chosen = await self.contexts.notebooks.note(state, _newest_answer(state), room - MESSAGE_OVERHEAD)
        state.noted = (newest.message.id, chosen.report.with_nothing(LeftOutBecause.NO_ROOM))
        if not (text := chosen.text) or (with_note := state.with_note(text)).estimate.upper > most:
            return
        noted = with_note.pieces[-1]
        assert isinstance(noted, MessagePiece)
        turn_id, version, last_hidden = newest.message.turn_id, state.cut.version, state.last_hidden

        def write() -> tuple[int, int, int | None]:
            before = injections.last_injection(state.id)
            if hidden_ranges.last_hidden(state.id) != last_hidden:
                return before, before, None  # it may quote what was hidden or purged meanwhile
            written = injections.write_note(context.lease, turn_id, version, newest.message.id, text, utc_now())
            return before, injections.last_injection(state.id), written

        def follow(written: tuple[int, int, int | None]) -> None:
            before, last_injection, note_id = written
            if note_id is not None:
                state.pieces[-1] = replace(noted, note_id=note_id)
                state.noted = (newest.message.id, chosen.report)
                if state.last_injection == before:
                    state.last_injection = last_injection

        await self.contexts.store.commit(write, follow)


def _newest_answer(state: ContextState) -> MessageId:
    """Where the newest messages begin that no request held before: at the assistant's newest one, or where none is
    sent, at the first that is. It follows from what is stored, so a restart changes no note."""
    since = MessageId(state.n_messages)
    for piece in reversed(state.pieces):
        if not isinstance(piece, MessagePiece):
            break
        since = piece.message.id
        if piece.message.content.role is Role.ASSISTANT:
            break
    return since


def _lay_out(state: ContextState, limit_tokens: int, tool_choice: ToolChoice) -> PreparedContext:
    """The state's pieces as a request. Raises OverLimit when they do not fit."""
    return lay_out(
        state.id,
        state.model.service_name,
        state.frame,
        state.segments,
        state.estimate,
        limit_tokens=limit_tokens,
        max_output_tokens=state.budget.reserve,
        window_tokens=state.budget.window,
        tool_choice=tool_choice,
    )
