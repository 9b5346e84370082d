"""The context engine: from a conversation to a prepared context, and everything people ask about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
from palimpsest.domain.provider import TokenUsage
from palimpsest.domain.settings import ContextSettings
from palimpsest.domain.tokens import Certainty, count_content
from palimpsest.domain.usage import ContextUsage
from palimpsest.services import context_debug
from palimpsest.services.calibrating import calibrated, key_of, observe
from palimpsest.services.compaction import Compactor
from palimpsest.services.context_state import ContextState, block, load_everything, load_state
from palimpsest.services.events import EventSink
from palimpsest.services.models import Models
from palimpsest.services.summarizers import ExtractiveSummarizer, Summarizer
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


async def quoting(_: Model) -> Summarizer:
    """The summarizer that needs no model."""
    return ExtractiveSummarizer()


@dataclass(slots=True)
class ContextEngine:
    """The contexts of one store's conversations."""

    store: Store
    models: Models
    tokenizers: Tokenizers
    settings: ContextSettings
    frame: Frame
    emit: EventSink
    choose_summarizer: Callable[[Model], Awaitable[Summarizer]] = quoting
    """Who writes the summaries of a conversation with that model."""
    _states: dict[ConversationId, ContextState] = field(default_factory=dict)

    async def compactor(self, state: ContextState) -> Compactor:
        """What carries out re-cuts of the state's conversation."""
        return Compactor(self.store, self.settings, await self.choose_summarizer(state.model), self.emit)

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
        family = self.models.assume(record.model)
        budget = self.models.budget(family)
        tokenizer = await self.tokenizers.get(family.tokenizer)
        model = await calibrated(self.store, family, tokenizer.name)
        state = await load_state(self.store, conversation_id, model, budget, tokenizer, self.frame)
        self._states[conversation_id] = state
        context_debug.init_counters(
            n_messages=state.n_messages,
            current_tokens=state.raw_tokens,
            window=budget.window,
            buffer=budget.margin,
            tokenizer=tokenizer.name,
        )
        return state

    async def observe(self, state: ContextState, raw_tokens: int, usage: TokenUsage) -> None:
        """Learns from what a provider says a request of `raw_tokens` took. The cut keeps its estimator until the
        next re-cut. A provider that says nothing teaches nothing."""
        context_debug.request_metrics(
            raw_tokens=raw_tokens,
            mean_tokens=state.cut.estimator.mean(raw_tokens),
            upper_tokens=state.cut.estimator.upper(raw_tokens),
            real_tokens=usage.prompt_tokens,
        )
        if usage.prompt_tokens > 0:
            family = self.models.assume(state.record.model).estimator
            key = key_of(state.model, state.tokenizer.name)
            estimator = await observe(self.store, key, family, raw_tokens, usage.prompt_tokens)
            state.model = replace(state.model, estimator=estimator)

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
            await (await self.compactor(state)).adopt(state, lease, state.pieces, CutCause.FRAME, self.frame.digest())
        if state.model.estimator.upper(state.raw_tokens) > limit_tokens:
            # By what was learned meanwhile the request would not fit: then the cut's estimator counts no longer.
            state.cut = replace(state.cut, estimator=state.model.estimator)
        if self._is_due(state, limit_tokens):
            await (await self.compactor(state)).by_threshold(state, lease, limit_tokens)
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
        runs = (await self.compactor(dry)).would_summarize(dry)
        upper = estimator.upper(dry.raw_tokens)
        problem: ContextError | None = None
        if upper > budget:
            ids = tuple(piece.start for first, after in runs for piece in pieces[first:after])
            n_kept = total_tokens(pieces[keep_from(pieces, 0, self.settings.preserve_recent) :])
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
        new = await (await self.compactor(state)).on_request(state, lease, first, after)
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
        model = await calibrated(self.store, model, tokenizer.name)
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
        covered = {i for piece in state.pieces if isinstance(piece, Block) for i in range(piece.start, piece.end)}
        new.pieces = await self.choose_anew(new)
        await (await self.compactor(new)).adopt(new, lease, new.pieces, CutCause.MODEL, self.frame.digest())
        new.record = replace(new.record, model=model.name)
        self._states[state.id] = new
        restored = sum(isinstance(piece, Live) and piece.message.id in covered for piece in new.pieces)
        needs = model.estimator.upper(new.raw_tokens) > budget.budget
        return Switch(model, old_budget, budget.budget, needs, restored)

    async def choose_anew(self, state: ContextState) -> list[Piece]:
        """The pieces of a cut chosen over everything visible, originals first, for the state's model and budget."""
        messages, summaries = await load_everything(self.store, state, state.tokenizer)
        estimator, budget = state.model.estimator, state.budget.budget
        shown = await asyncio.to_thread(self.with_previews, state, messages)
        target = estimator.raw_within(int(self.settings.switch_target * budget)) - state.frame_tokens.total
        return choose(
            shown,
            summaries,
            lambda summary: block(summary, state.tokenizer).tokens,
            target,
            self.settings.preserve_recent,
            running_request(shown),
        )

    def with_previews(self, state: ContextState, messages: Sequence[Live]) -> list[Live]:
        """The messages, those that are too large for the state's budget as previews."""
        budget_raw = state.model.estimator.raw_within(state.budget.budget)
        shown: list[Live] = []
        for each in messages:
            cap = self._preview_cap(each.message.content, each.original_tokens, budget_raw)
            is_whole = cap is None or each.preview is not None
            shown.append(each if is_whole else with_preview(each, cap or 0, state.tokenizer.count))
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
