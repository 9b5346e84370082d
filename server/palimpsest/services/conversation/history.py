"""Changes of a conversation's history and summaries: roll back, expand, regenerate, undo, redo.

Each of them changes the cut. No message and no summary is deleted. The caller holds the lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from palimpsest.domain.context.cut import CutCause, MessagePiece, Piece, SummaryPiece, piece_starts, total_tokens
from palimpsest.domain.context.cut_history import Ranges, Standing
from palimpsest.domain.context.summaries.node import children_of
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import ErrorDetail, InvalidRequest, NotFound
from palimpsest.domain.messages import MessageId, Role, SummaryId
from palimpsest.machine import utc_now
from palimpsest.services.context.compaction_plan import pending_summarization
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.previews import with_previews
from palimpsest.services.context.state import ContextState, block, ensure_counts, live
from palimpsest.services.context.writable import WritableContext
from palimpsest.storage import leases
from palimpsest.storage.context import cuts, summary_tree, visibility
from palimpsest.storage.context.visibility import HidingEffect
from palimpsest.storage.conversation import conversations, message_log

_LONGEST_EXCHANGE: Final = 500
"""The messages that are searched for the beginning of an exchange. A batch of parallel calls is far smaller."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The messages [start, end) that a rollback hid."""

    start: MessageId
    end: MessageId
    draft: str
    """The text of the first hidden user message."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The result of a change of the summaries in the cut. Tokens are the model's."""

    tokens_before: int
    tokens_after: int
    start: MessageId
    end: MessageId
    """One more than the last affected message."""
    reason: str
    """The change, as a sentence for people."""


@dataclass(frozen=True, slots=True)
class HistoryEditor:
    """The changes that a user may make to the conversations of one folder."""

    engine: ContextEngine

    async def roll_back(self, context: WritableContext, to: MessageId) -> RolledBack:
        """Hide the messages from `to` on, widened to the beginning of its exchange. They stay readable.

        Raises InvalidRequest when there is no such message, or when it is hidden already.
        """
        state = context.state
        if not 0 <= to < state.n_messages:
            raise InvalidRequest(
                f"There is no message {to} to roll back to; this conversation has messages 0 to {state.n_messages - 1}."
            )
        start, end = await self._exchange_start(state, to), MessageId(state.n_messages)
        store = self.engine.store

        def hide() -> tuple[HidingEffect, str]:
            leases.check(context.lease)
            gone = message_log.read_visible(state.id, start)
            draft = next((message.content.text for message in gone if message.content.role is Role.USER), "")
            hid = visibility.hide(state.id, start, end, utc_now())
            conversations.set_draft(state.id, draft, utc_now())
            return hid, draft

        async with self.engine.background.paused([state.id], start):
            hid, draft = await store.commit(hide, lambda done: self.engine.hid(state, start, done[0]))
        await self.cut_without_hidden(context, hid)
        return RolledBack(start, end, draft)

    async def cut_without_hidden(self, context: WritableContext, hid: HidingEffect) -> None:
        """Choose the best cut for the messages that are left. The hidden ones are in no context already, so nothing is
        lost when this is cancelled."""
        await self.engine.read_again(context)
        state = context.state
        if hid.has_lost_summaries or state.cut.left_out:
            await self.engine.adopt_anew(context, CutCause.ROLLBACK)
        else:
            await self.engine.adoption.adopt(context, state.pieces, CutCause.ROLLBACK)

    async def roll_back_newest(self, context: WritableContext, last: MessageId) -> RolledBack:
        """Hide the user's newest message with everything after it; where no message of the user is visible, the newest
        message, widened to its exchange.

        Raises InvalidRequest when `last` is no longer the newest one, because somebody else has written.
        """
        state = context.state
        if not state.pieces or last != state.pieces[-1].end - 1:
            raise InvalidRequest(f"Message {last} is no longer the newest one. Read the conversation again.")
        asked = await self.engine.store.read(message_log.newest_of_user, state.id)
        return await self.roll_back(context, last if asked is None else asked)

    async def expand(self, context: WritableContext, summary_id: SummaryId) -> Compaction:
        """Replace a summary by its lower summaries, or, when it has none, by the original messages.

        Raises InvalidRequest, with the numbers, when these do not fit.
        """
        state = context.state
        index, old = self._find(state, summary_id)
        finer = await self._made_of(state, old)
        room = state.budget_raw
        needed = state.raw_tokens - old.tokens + total_tokens(finer)
        if needed > room:
            estimator = state.cut.estimator
            raise InvalidRequest(
                f"Expanded, the context would need {estimator.upper(needed)} tokens, but only "
                f"{state.budget.budget} fit. Expand a smaller summary, or switch to a model with a larger window.",
                ErrorDetail(limit_tokens=state.budget.budget, projected_tokens=estimator.upper(needed)),
            )
        pieces = [*state.pieces[:index], *finer, *state.pieces[index + 1 :]]
        shown = (old.start, old.end) if all(isinstance(piece, MessagePiece) for piece in finer) else None
        reason = f"Messages {old.start} to {old.end - 1} are in the context again, without a summary."
        if shown is None:
            reason = f"The summary of messages {old.start} to {old.end - 1} is replaced by the summaries below it."
        return await self._adopt(context, pieces, old.start, old.end, reason, expanded=shown)

    async def regenerate(self, context: WritableContext, summary_id: SummaryId) -> Compaction:
        """Write a summary again from the same messages and summaries. The old one stays stored."""
        state = context.state
        _, old = self._find(state, summary_id)
        made_of = await self._made_of(state, old)
        pending = pending_summarization(self.engine.settings, state, made_of, state.pieces)
        state.renew_estimator()
        before = state.estimate.mean
        new = await (await self.engine.compactor(context)).write_again(context, old, pending)
        if new is None:
            raise InvalidRequest(
                "A new summary would not be shorter than the messages that it covers, so the old one stays."
            )
        reason = f"The summary of messages {old.start} to {old.end - 1} was written again, as summary {new.summary.id}."
        return Compaction(before, state.estimate.mean, old.start, old.end, reason)

    async def undo(self, context: WritableContext) -> Compaction:
        """Undo the last change of summaries; each further call undoes the change before.

        Raises InvalidRequest when there is none, when messages were rolled back since, or when the cut would not fit.
        """
        state = context.state
        walked = await self.engine.store.read(cuts.cut_history, state.id)
        if len(walked.done) > 1:
            return await self._put_back(context, walked.done[-2], CutCause.UNDO)
        if walked.ends_at_roll_back:
            raise InvalidRequest(
                "Undo changes summaries only. It does not bring back hidden messages, which you can still read."
            )
        raise InvalidRequest("Nothing to undo: the context is as it was before any summary was written.")

    async def redo(self, context: WritableContext) -> Compaction:
        """Redo the change that was undone last.

        Raises InvalidRequest when there is none, when summaries changed since, or when the cut would not fit.
        """
        state = context.state
        walked = await self.engine.store.read(cuts.cut_history, state.id)
        if not walked.undone:
            raise InvalidRequest(
                "Nothing to redo: no change of summaries was undone, or the summaries have changed since."
            )
        return await self._put_back(context, walked.undone[-1], CutCause.REDO)

    async def _put_back(
        self, context: WritableContext, standing: Standing, cause: Literal[CutCause.UNDO, CutCause.REDO]
    ) -> Compaction:
        state = context.state
        summaries = await self.engine.store.read(summary_tree.read, state.id, standing.blocks)
        blocks = sorted((block(each, state.tokenizer) for each in summaries), key=lambda each: each.start)
        pieces: list[Piece] = []
        position = MessageId(0)
        for each in blocks:
            pieces += [*await self._originals(state, position, each.start), each]
            position = each.end
        pieces += await self._originals(state, position, MessageId(state.n_messages))
        left_out = standing.left_out
        pieces = [piece for piece in pieces if not any(start <= piece.start < end for start, end in left_out)]
        room = state.cut.estimator.raw_within(state.budget.wall) - state.fixed_tokens
        if total_tokens(pieces) > room:
            raise InvalidRequest(
                "The earlier context no longer fits with the messages that have come since, so the context stays as it "
                "is. Expand single summaries, or go on with a model that has a larger window."
            )
        before, sent_before = _blocks(state.pieces), state.cut.left_out
        gone = [each for key, each in before.items() if key not in _blocks(pieces)]
        back = [each for key, each in _blocks(pieces).items() if key not in before]
        verb = "Undone" if cause is CutCause.UNDO else "Redone"
        concerned = [*gone, *back]
        start = min((each.start for each in concerned), default=MessageId(0))
        end = max((each.end for each in concerned), default=MessageId(state.n_messages))
        reason = f"{verb}: {_difference(gone, back, sent_before, left_out)}."
        return await self._adopt(context, pieces, start, end, reason, cause=cause, left_out=left_out)

    async def _adopt(
        self,
        context: WritableContext,
        pieces: list[Piece],
        start: MessageId,
        end: MessageId,
        reason: str,
        *,
        cause: CutCause = CutCause.USER,
        left_out: Ranges | None = None,
        expanded: tuple[MessageId, MessageId] | None = None,
    ) -> Compaction:
        state = context.state
        adoption = self.engine.adoption
        operations = adoption.operations(state, state.budget.budget)
        await adoption.adopt(context, pieces, cause, left_out=left_out, operations=operations, expanded=expanded)
        return Compaction(operations.tokens_before, state.estimate.mean, start, end, reason)

    def _find(self, state: ContextState, summary_id: SummaryId) -> tuple[int, SummaryPiece]:
        for index, piece in enumerate(state.pieces):
            if isinstance(piece, SummaryPiece) and piece.summary.id == summary_id:
                return index, piece
        raise NotFound(
            f"There is no summary {summary_id} in this conversation's context. /context shows them with their numbers."
        )

    async def _made_of(self, state: ContextState, old: SummaryPiece) -> list[Piece]:
        """The lower summaries with the messages between them, or the original messages."""
        summaries = await self.engine.store.read(summary_tree.read, state.id, old.summary.children)
        children = children_of(old.summary, {each.id: each for each in summaries})
        pieces: list[Piece] = []
        position = old.start
        for child in children:
            pieces += [*await self._originals(state, position, child.start), block(child, state.tokenizer)]
            position = child.end
        return pieces + await self._originals(state, position, old.end)

    async def _originals(self, state: ContextState, start: MessageId, end: MessageId) -> list[Piece]:
        """The visible messages [start, end), verbatim; large ones as previews, as when they were accepted."""
        if start >= end:
            return []
        store = self.engine.store

        def read() -> tuple[list[StoredMessage], dict[MessageId, int]]:
            visible = message_log.read_visible(state.id, start, end)
            return visible, message_log.read_counts(state.id, state.tokenizer.name, start)

        messages, counts = await store.search(read)
        counts = await ensure_counts(store, state.id, messages, counts, state.tokenizer)
        known = {piece.message.id: piece for piece in state.pieces if isinstance(piece, MessagePiece)}
        fresh = [known.get(m.id) or live(m, counts[m.id], None, state.tokenizer) for m in messages]
        return list(with_previews(self.engine.settings, state, fresh))

    async def _exchange_start(self, state: ContextState, message_id: MessageId) -> MessageId:
        """The first message of the exchange that has `message_id`. Raises InvalidRequest for a hidden message."""
        before = MessageId(max(0, message_id - _LONGEST_EXCHANGE))
        pieces = await self._originals(state, before, MessageId(message_id + 1))
        if not pieces or pieces[-1].start != message_id:
            raise InvalidRequest(f"Message {message_id} is hidden or purged. Nothing was changed.")
        starts = [pieces[index].start for index in piece_starts(pieces)]
        return max((start for start in starts if start <= message_id), default=message_id)


def _blocks(pieces: Sequence[Piece]) -> dict[SummaryId, SummaryPiece]:
    return {piece.summary.id: piece for piece in pieces if isinstance(piece, SummaryPiece)}


def _difference(
    gone: Sequence[SummaryPiece], back: Sequence[SummaryPiece], sent_before: Ranges, sent_now: Ranges
) -> str:
    """The difference between two cuts, in words."""
    said = [f"a summary covers messages {each.start} to {each.end - 1}" for each in back]
    for each in gone:
        if not any(other.start <= each.start and each.end <= other.end for other in back):
            said.append(f"messages {each.start} to {each.end - 1} are in the context without their summary")
    said += [f"messages {start} to {end - 1} are sent" for start, end in sent_before if (start, end) not in sent_now]
    said += [
        f"messages {start} to {end - 1} are left out" for start, end in sent_now if (start, end) not in sent_before
    ]
    return ", ".join(said) or "the context is the same"
