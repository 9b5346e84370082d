"""`prepareContext`, `context/at`, `summarize`, `summary/list`, `usage`, `stats`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palimpsest.domain.context import recall_report
from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.prepared import Segment
from palimpsest.domain.context.tokens import Certainty, Estimator
from palimpsest.domain.errors import RecentMessagesTooLarge, SummarizationNeeded
from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.domain.tools import ToolSchema
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.progress import ContextProgress
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_context_status, to_sent_message, to_usage
from palimpsest.services.chat.commands.markdown import plain
from palimpsest.services.context import reports as context_reports
from palimpsest.services.context.excerpts import excerpts_of
from palimpsest.services.context.page import Reader, context_page, summary_text
from palimpsest.services.context.past_requests import past_request
from palimpsest.services.context.reports import Plan, explain, usage_before, usage_status
from palimpsest.wire.areas.context import (
    CompactionCount,
    ContextAtParams,
    ContextAtResult,
    ContextMoment,
    ContextSegment,
    LeftOutBecause,
    ListSummariesResult,
    PrepareContextParams,
    PrepareContextResult,
    RecallLeftOut,
    RecallReport,
    RecallTaken,
    SentTokens,
    SentTool,
    StatsResult,
    StrategyStats,
    SummarizeParams,
    SummarizeResult,
    SummaryCost,
    SummaryInfo,
)
from palimpsest.wire.areas.conversations import MessageRole
from palimpsest.wire.areas.places import ConversationParams, MessageRange
from palimpsest.wire.areas.usage import ContextUsage, Counting, UsageParams


async def prepare_context(ls: PalimpsestServer, params: PrepareContextParams) -> PrepareContextResult:
    session = await ls.session_of(params.conversation_id)
    recall = session.turns.services.requests.recall
    plan = await explain(session.contexts, ConversationId(params.conversation_id), params.text, recall)
    return _to_result(plan, context_page(plan.state, Reader(plain)) if params.with_page else None)


async def context_at(ls: PalimpsestServer, params: ContextAtParams) -> ContextAtResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id, turn_id = ConversationId(params.conversation_id), TurnId(params.turn_id)
    past = await past_request(session.contexts, conversation_id, turn_id, params.step)
    step, context = past.step, past.context
    return ContextAtResult(
        step=step.number,
        step_count=past.n_steps,
        sent_at=step.started_at,
        provider=step.provider,
        model=step.model,
        system=context.system,
        tools=[SentTool(**tool.to_json()) for tool in context.tools],
        tool_choice=context.tool_choice,
        messages=[to_sent_message(content) for content in context.messages],
        segments=_to_segments(context.system, context.tools, context.segments, past.certainty, {}),
        used_tokens=context.estimated_tokens,
        upper_tokens=context.upper_tokens,
        limit_tokens=context.limit_tokens,
        output_tokens=context.max_output_tokens,
        digest=past.digest,
        lines=list(context.lines()),
        is_same=past.is_same,
    )


async def summarize(ls: PalimpsestServer, params: SummarizeParams) -> SummarizeResult:
    session = await ls.session_of(params.conversation_id)
    wanted = None if params.range is None else (MessageId(params.range.start), MessageId(params.range.end))
    conversation_id = ConversationId(params.conversation_id)
    progress = ContextProgress(ls, params.work_done_token, params.conversation_id)
    unsubscribe = session.folder.listeners.add(progress.hear)
    try:
        done = await session.conversations.summarize(conversation_id, wanted, ls.part(OfferedModels).id)
    finally:
        unsubscribe()
        progress.end()
    report = await usage_status(session.contexts, conversation_id)
    return SummarizeResult(
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        usage=to_usage(report),
        reason=done.reason,
        summary_id=None if done.block is None else done.block.summary.id,
        covers=None if done.block is None else MessageRange(done.block.start, done.block.end),
    )


async def usage(ls: PalimpsestServer, params: UsageParams) -> ContextUsage:
    if params.conversation_id is None:
        session = await ls.session(params.folder_uri)
        return to_usage(await usage_before(session.contexts, session.conversations.blank()))
    session = await ls.session_of(params.conversation_id)
    return to_usage(await usage_status(session.contexts, ConversationId(params.conversation_id)))


async def stats(ls: PalimpsestServer, params: ConversationParams) -> StatsResult:
    session = await ls.session_of(params.conversation_id)
    found = await context_reports.stats(session.contexts, ConversationId(params.conversation_id))
    return StatsResult(
        strategies=[StrategyStats(each.name, each.n_fired, each.tokens_saved) for each in found.strategies],
        compactions=[CompactionCount(cause.value, count) for cause, count in found.compactions],
        duration_ms=found.duration_ms,
        summaries=[
            SummaryCost(each.kind, each.n_summaries, each.input_tokens, each.output_tokens, each.duration_ms)
            for each in found.summaries
        ],
        moments=[
            ContextMoment(
                each.at,
                each.tokens,
                None if each.cause is None else each.cause.value,
                each.tokens_before,
                each.cached_tokens,
                each.model,
            )
            for each in found.moments
        ],
        sent=None
        if found.sent.n_requests == 0
        else SentTokens(
            found.sent.n_requests, found.sent.input_tokens, found.sent.cached_tokens, found.sent.output_tokens
        ),
    )


def _to_result(plan: Plan, page: str | None) -> PrepareContextResult:
    frame = plan.state.frame
    needed = plan.problem if isinstance(plan.problem, SummarizationNeeded) else None
    too_large = plan.problem if isinstance(plan.problem, RecentMessagesTooLarge) else None
    return PrepareContextResult(
        status=to_context_status(plan.problem),
        model=plan.model,
        used_tokens=plan.used_tokens,
        upper_tokens=plan.upper_tokens,
        limit_tokens=plan.limit_tokens,
        segments=_to_segments(frame.system, frame.tools, plan.segments, plan.certainty, plan.original_tokens),
        would_summarize=[MessageRange(start, end) for start, end in plan.would_summarize],
        excess_tokens=None if needed is None else needed.excess_tokens,
        message_ids=None if needed is None else list(needed.messages_to_summarize),
        suggestion=needed.suggestion if needed is not None else None if too_large is None else str(too_large),
        required_tokens=None if too_large is None else too_large.required_tokens,
        message_count=None if too_large is None else too_large.message_count,
        recall=_to_report(plan.recall, plan.state.cut.estimator),
        step_note=_to_report(plan.note, plan.state.cut.estimator),
        summarize_at_tokens=plan.summarize_at_tokens,
        page=page,
    )


def _to_report(report: recall_report.RecallReport | None, estimator: Estimator) -> RecallReport | None:
    if report is None:
        return None
    return RecallReport(
        terms=list(report.terms),
        room_tokens=estimator.part(report.room_tokens),
        tokens=estimator.part(report.tokens),
        taken=[
            RecallTaken(found.score, estimator.part(each.tokens), found.message_id, found.fact_id)
            for each in report.taken
            for found in (each.found,)
        ],
        left_out=[
            RecallLeftOut(found.score, LeftOutBecause(each.because.value), found.message_id, found.fact_id)
            for each in report.left_out
            for found in (each.found,)
        ],
    )


def _to_segments(
    system: str,
    tools: Sequence[ToolSchema],
    segments: Sequence[Segment],
    certainty: Certainty,
    original_tokens: Mapping[MessageId, int],
) -> list[ContextSegment]:
    return [
        ContextSegment(
            type=segment.type,
            tokens=segment.tokens,
            reason=segment.reason,
            certainty=Counting(certainty.value),
            is_in_prefix=segment.is_in_prefix,
            messages=None if segment.message_ids is None else MessageRange(*segment.message_ids),
            summary_id=segment.summary_id,
            role=None if excerpt.role is None else MessageRole(excerpt.role.value),
            excerpt=excerpt.text or None,
            item_count=excerpt.n_items,
            original_tokens=_original(segment, original_tokens),
        )
        for segment, excerpt in zip(segments, excerpts_of(system, tools, segments), strict=True)
    ]


def _original(segment: Segment, original_tokens: Mapping[MessageId, int]) -> int | None:
    if segment.type not in ("summary", "preview") or segment.message_ids is None:
        return None
    return original_tokens.get(segment.message_ids[0])


async def list_summaries(ls: PalimpsestServer, params: ConversationParams) -> ListSummariesResult:
    session = await ls.session_of(params.conversation_id)
    state = await session.contexts.state(ConversationId(params.conversation_id))
    part = state.cut.estimator.part
    return ListSummariesResult(
        [
            SummaryInfo(
                summary.id,
                MessageRange(summary.start, summary.end),
                part(piece.tokens),
                part(summary.original_tokens),
                summary.kind,
                summary_text(summary, Reader(plain)),
                summary.created_at,
            )
            for piece in state.pieces
            if isinstance(piece, SummaryPiece)
            for summary in (piece.summary,)
        ]
    )
