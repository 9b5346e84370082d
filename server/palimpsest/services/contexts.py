"""The context engine: from a conversation to a prepared context, and everything people ask about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.cut import (
    Block,
    CutCause,
    Live,
    Piece,
    choose,
    keep_from,
    running_request,
    runs_to_summarize,
    total_tokens,
    widen,
)
from palimpsest.domain.errors import (
    ContextError,
    InvalidRequest,
    RecentMessagesTooLarge,
    SummarizationNeeded,
)
from palimpsest.domain.layout import Frame, FrameTokens, lay_out
from palimpsest.domain.limits import Budget, Model
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role, user_message
from palimpsest.domain.prepared import PreparedContext, Segment, ToolChoice
from palimpsest.domain.previews import with_preview
from palimpsest.domain.settings import ContextSettings
from palimpsest.domain.tokens import Certainty, CountText, count_content
from palimpsest.domain.usage import ContextUsage
from palimpsest.services.compaction import ISOLATED_SHARE, KEEP_SHARE, Compactor
from palimpsest.services.context_state import ContextState, block, load_everything, load_state, with_record
from palimpsest.services.events import EventSink
from palimpsest.services.models import Models
from palimpsest.services.tokenizers import Tokenizers
from palimpsest.storage import contexts, conversations
from palimpsest.storage.conversations import Counts
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store

_LARGE_PART_SHARE = 0.25
"""Of the budget: a message above it is shown as a preview from the first request on, whatever its bytes."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """How full a context is, with everything a person may ask about it."""

    usage: ContextUsage
    budget: Budget
    model: Model
    certainty: Certainty
    n_messages: int
    by_kind: tuple[tuple[str, int], ...]
    """Kind and tokens, largest first, none empty."""
    last_summary_at: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What the next request would be."""

    model: str
    used_tokens: int
    upper_tokens: int
    limit_tokens: int
    certainty: Certainty
    segments: tuple[Segment, ...]
    would_summarize: tuple[tuple[MessageId, MessageId], ...]
    """[start, end) of what a turn would summarise first."""
    problem: ContextError | None
    """Why it could not be sent as it stands; None when it could."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What a model switch did."""

    model: Model
    old_budget: int
    new_budget: int
    needs_summarization: bool
    can_restore: int
    """Summarised messages that stand as originals again."""


@dataclass(frozen=True, slots=True)
class Summarized:
    """What a summary on request did. Tokens are the model's."""

    tokens_before: int
    tokens_after: int
    block: Block | None
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """Messages ready to be stored: counted, and with previews decided (once, which keeps the prefix)."""

    contents: tuple[Content, ...]
    tokens: tuple[int, ...]
    previews: dict[int, Content]
    """By index into `contents`."""
    shown_tokens: tuple[int, ...]
    """Raw tokens each takes in the context."""
    tokenizer: str

    @property
    def counts(self) -> Counts:
        return Counts(self.tokenizer, self.tokens)


@dataclass(slots=True)
class ContextEngine:
    """The contexts of one store's conversations."""

    store: Store
    models: Models
    tokenizers: Tokenizers
    settings: ContextSettings
    frame: Frame
    emit: EventSink
    _states: dict[ConversationId, ContextState] = field(default_factory=dict)

    @property
    def _compactor(self) -> Compactor:
        return Compactor(self.store, self.settings, self.emit)

    async def state(self, conversation_id: ConversationId) -> ContextState:
        """The conversation's state, in step with the store. Raises NotFound."""
        known = self._states.get(conversation_id)

        def read() -> tuple[conversations.ConversationRecord, int]:
            cut = contexts.latest_cut(conversation_id)
            return conversations.get(conversation_id), 0 if cut is None else cut.version

        record, version = await self.store.read(read)
        if known is not None and (known.n_messages, known.record.model, known.cut.version) == (
            record.n_messages,
            record.model,
            version,
        ):
            known.record = record
            return known
        model = self.models.assume(record.model)
        budget = self.models.budget(model)
        tokenizer = await self.tokenizers.get(model.tokenizer)
        state = await load_state(self.store, conversation_id, model, budget, tokenizer, self.frame)
        self._states[conversation_id] = state
        return state

    def forget(self, conversation_id: ConversationId) -> None:
        """Drops what is held in memory; the next `state` reads the store."""
        self._states.pop(conversation_id, None)

    async def accept(self, state: ContextState, contents: Sequence[Content]) -> Accepted:
        """Counts messages that are about to be stored and decides which of them are too large to be sent whole."""
        tokens = await state.tokenizer.count_contents(contents)
        budget_raw = state.cut.estimator.raw_within(state.budget.budget)
        previews: dict[int, Content] = {}
        shown = list(tokens)
        for index, content in enumerate(contents):
            cap = self._preview_cap(content, tokens[index], budget_raw)
            if cap is not None:
                message = StoredMessage(state.id, MessageId(state.n_messages + index), content, "", None, Digest(""))
                preview = await asyncio.to_thread(
                    with_preview, Live(message, tokens[index]), cap, state.tokenizer.count
                )
                if preview.preview is not None:
                    previews[index], shown[index] = preview.preview, preview.preview_tokens
        return Accepted(tuple(contents), tuple(tokens), previews, tuple(shown), state.tokenizer.name)

    def _preview_cap(self, content: Content, tokens: int, budget_raw: int) -> int | None:
        """The raw tokens a message may take in the context; None when it may stay whole. What the user says stays."""
        if content.role is Role.USER:
            return None
        share = int(_LARGE_PART_SHARE * budget_raw)
        n_bytes = max((len(result.text.encode()) for result in content.results), default=0)
        if n_bytes > self.settings.response_max_bytes:
            return min(share, self.settings.response_max_bytes // 16)
        return share if tokens > share else None

    def appended(self, state: ContextState, stored: Sequence[StoredMessage], accepted: Accepted) -> None:
        """Tells the state what was stored, after the transaction."""
        previews = {stored[index].id: preview for index, preview in accepted.previews.items()}
        state.append(stored, accepted.tokens, previews)
        with_record(state, n_messages=state.n_messages)

    async def prepare(
        self, state: ContextState, lease: HeldLease, limit_tokens: int, tool_choice: ToolChoice = "auto"
    ) -> PreparedContext:
        """The next request, compacted first where that is due. The only way to a prepared context (invariant 4).

        Raises RecentMessagesTooLarge when what must be sent verbatim does not fit.
        """
        if state.cut.frame_digest != self.frame.digest():
            count = state.tokenizer.count
            state.frame_tokens = FrameTokens(self.frame.system_tokens(count), self.frame.tools_tokens(count))
            state.n_sent = 0
            await self._compactor.adopt(state, lease, state.pieces, CutCause.FRAME, self.frame.digest())
        if self._is_due(state, limit_tokens):
            await self._compactor.by_threshold(state, lease, limit_tokens)
        prepared = self._lay_out(state, limit_tokens, tool_choice)
        state.n_sent = len(state.pieces)
        return prepared

    def _is_due(self, state: ContextState, limit_tokens: int) -> bool:
        upper = state.cut.estimator.upper(state.raw_tokens)
        if upper > limit_tokens:
            return True
        return upper > self.settings.threshold * state.budget.budget and state.raw_tokens >= state.futile_above

    def _lay_out(self, state: ContextState, limit_tokens: int, tool_choice: ToolChoice) -> PreparedContext:
        return lay_out(
            state.id,
            state.model.service_name,
            self.frame,
            state.frame_tokens,
            state.pieces,
            state.cut.estimator,
            limit_tokens=limit_tokens,
            max_output_tokens=state.budget.reserve,
            n_known_pieces=state.n_sent,
            tool_choice=tool_choice,
        )

    async def check_admission(self, state: ContextState, content: Content) -> Accepted:
        """The user's message, counted. Raises RecentMessagesTooLarge when no compaction could make room for it:
        then nothing is stored, and the text stays with the editor."""
        accepted = await self.accept(state, [content])
        needed = state.cut.estimator.upper(state.frame_tokens.total + accepted.tokens[0])
        if needed > state.budget.budget:
            raise RecentMessagesTooLarge(needed, state.budget.budget, 1)
        return accepted

    async def usage(self, conversation_id: ConversationId) -> UsageReport:
        state = await self.state(conversation_id)
        estimator = state.cut.estimator
        kinds = {"system": state.frame_tokens.system, "tools": state.frame_tokens.tools}
        for piece in state.pieces:
            kind = "summaries" if isinstance(piece, Block) else "previews" if piece.preview else "messages"
            kinds[kind] = kinds.get(kind, 0) + piece.tokens
        by_kind = sorted(((kind, estimator.mean(raw)) for kind, raw in kinds.items() if raw), key=lambda item: -item[1])
        used = ContextUsage(estimator.mean(state.raw_tokens), state.budget.budget, state.n_blocks)
        last_summary_at = await self.store.read(contexts.last_summary_at, conversation_id)
        return UsageReport(
            used, state.budget, state.model, certainty(state), state.n_messages, tuple(by_kind), last_summary_at
        )

    async def explain(self, conversation_id: ConversationId, text: str | None) -> Plan:
        """A dry run of the next request, with `text` as its message: nothing is stored or sent."""
        state = await self.state(conversation_id)
        pieces: list[Piece] = list(state.pieces)
        if text is not None:
            content = user_message(text)
            message = StoredMessage(state.id, MessageId(state.n_messages), content, "", None, Digest(""))
            pieces.append(Live(message, count_content(content, state.tokenizer.count)))
        dry = replace(state, pieces=pieces)
        estimator, budget = dry.cut.estimator, dry.budget.budget
        budget_raw = estimator.raw_within(budget)
        boundary = keep_from(pieces, int(KEEP_SHARE * budget_raw), self.settings.preserve_recent)
        runs = runs_to_summarize(pieces, boundary, running_request(pieces), int(ISOLATED_SHARE * budget_raw))
        upper = estimator.upper(dry.raw_tokens)
        problem: ContextError | None = None
        if upper > budget:
            ids = tuple(piece.start for first, after in runs for piece in pieces[first:after])
            n_kept = total_tokens(pieces[boundary:])
            problem = (
                SummarizationNeeded(upper - budget, ids, budget)
                if ids
                else RecentMessagesTooLarge(estimator.upper(dry.frame_tokens.total + n_kept), budget, len(pieces))
            )
        segments = () if problem is not None else self._lay_out(dry, budget, "auto").segments
        due = self._is_due(dry, budget)
        return Plan(
            model=dry.model.name,
            used_tokens=estimator.mean(dry.raw_tokens),
            upper_tokens=upper,
            limit_tokens=budget,
            certainty=certainty(dry),
            segments=segments,
            would_summarize=tuple((pieces[i].start, pieces[j - 1].end) for i, j in runs) if due else (),
            problem=problem,
        )

    async def summarize(
        self, state: ContextState, lease: HeldLease, wanted: tuple[MessageId, MessageId] | None
    ) -> Summarized:
        """Summarises `wanted` ([start, end), widened), or everything but the newest exchanges."""
        pieces = state.pieces
        recent = keep_from(pieces, 0, self.settings.preserve_recent)
        if wanted is None:
            last_block = max((i for i, piece in enumerate(pieces) if isinstance(piece, Block)), default=-1)
            first, after = last_block + 1, recent
        else:
            start, end = wanted
            if not 0 <= start < end <= state.n_messages:
                raise InvalidRequest(
                    f"Messages {start} to {end - 1} are not a range of this conversation, "
                    f"which has {state.n_messages} messages."
                )
            first, after = widen(pieces, start, end)
            after = min(after, recent)
        protected = running_request(pieces)
        first, after = _without_protected(pieces, first, after, protected)
        before = state.cut.estimator.mean(state.raw_tokens)
        if after <= first or not any(isinstance(piece, Live) for piece in pieces[first:after]):
            reason = (
                f"Nothing to summarise: the newest {self.settings.preserve_recent} messages always stay as they are."
            )
            return Summarized(before, before, None, reason)
        new, _ = await self._compactor.on_request(state, lease, first, after)
        if new is None:
            return Summarized(before, before, None, "A summary would not be shorter than what it stands for.")
        after_tokens = state.cut.estimator.mean(state.raw_tokens)
        return Summarized(
            before, after_tokens, new, f"Summarised messages {new.start} to {new.end - 1} into one block."
        )

    async def switch_model(self, state: ContextState, lease: HeldLease, model: Model) -> Switch:
        """Goes on with `model`: the cut is chosen anew for its budget, originals first, in one transaction."""
        budget = self.models.budget(model)
        old_budget = state.budget.budget
        tokenizer = await self.tokenizers.get(model.tokenizer)
        messages, summaries = await load_everything(self.store, state, tokenizer)
        count = tokenizer.count
        new = replace(
            state,
            model=model,
            budget=budget,
            tokenizer=tokenizer,
            frame_tokens=FrameTokens(self.frame.system_tokens(count), self.frame.tools_tokens(count)),
            n_sent=0,
            cut=replace(state.cut, estimator=model.estimator),
        )
        budget_raw = model.estimator.raw_within(budget.budget)
        shown = await asyncio.to_thread(self._with_previews, messages, budget_raw, count)
        target = model.estimator.raw_within(int(self.settings.switch_target * budget.budget)) - new.frame_tokens.total
        covered = {i for piece in state.pieces if isinstance(piece, Block) for i in range(piece.start, piece.end)}
        new.pieces = choose(
            shown,
            summaries,
            lambda summary: block(summary, tokenizer).tokens,
            target,
            self.settings.preserve_recent,
            running_request(shown),
        )

        await self._compactor.adopt(new, lease, new.pieces, CutCause.MODEL, self.frame.digest())
        with_record(new, model=model.name)
        self._states[state.id] = new
        restored = sum(isinstance(piece, Live) and piece.message.id in covered for piece in new.pieces)
        needs = model.estimator.upper(new.raw_tokens) > budget.budget
        return Switch(model, old_budget, budget.budget, needs, restored)

    def _with_previews(self, messages: Sequence[Live], budget_raw: int, count: CountText) -> list[Live]:
        shown: list[Live] = []
        for each in messages:
            cap = self._preview_cap(each.message.content, each.original_tokens, budget_raw)
            shown.append(each if cap is None else with_preview(each, cap, count))
        return shown


def certainty(state: ContextState) -> Certainty:
    """How the state's tokens were counted."""
    if state.tokenizer.name != state.model.tokenizer:
        return Certainty.BYTES
    return Certainty.EXACT if state.model.is_exact else Certainty.ESTIMATED


def _without_protected(
    pieces: Sequence[Piece], first: int, after: int, protected: frozenset[MessageId]
) -> tuple[int, int]:
    """The longer part of [first, after) on one side of what must stay."""
    for index in range(first, after):
        piece = pieces[index]
        if isinstance(piece, Live) and piece.message.id in protected:
            return (first, index) if index - first >= after - index - 1 else (index + 1, after)
    return first, after
