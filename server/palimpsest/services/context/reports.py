"""Reports about a context: how full it is, the next request, and the effects of compactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.cut import CutCause, MessagePiece, SummaryPiece
from palimpsest.domain.context.prepared import Segment
from palimpsest.domain.context.recall_report import RecallReport
from palimpsest.domain.context.tokens import Certainty
from palimpsest.domain.context.usage import ContextUsage
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import ContextError, SummarizationNeeded
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.domain.models.limits import Budget, Model
from palimpsest.services.context.admission import Admission, Trial
from palimpsest.services.context.compaction_plan import leaving_out, would_summarize
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.fitting import Fit, foldable, least
from palimpsest.services.context.recall import Recall, share_of
from palimpsest.services.context.rules import are_rules_read, front_of
from palimpsest.services.context.state import ContextState
from palimpsest.services.models.tokenizers import Tokenizer
from palimpsest.storage.context import statistics
from palimpsest.storage.context.statistics import ContextMoment, SentTokens, SummaryCost

_MOST_MOMENTS: Final = 200
_KINDS: Final = {"summary": "summaries", "message": "messages", "preview": "previews", "injection": "injections"}
"""Under which kind a segment is counted, where that is not its own type."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """How full a context is, with everything a person may ask about it."""

    usage: ContextUsage
    problem: ContextError | None
    """The reason why the request could not be sent; None when it could. While the rules of a long conversation were
    never read, which takes long, it is taken to fit once it is summarized."""
    budget: Budget
    model: Model
    certainty: Certainty
    n_messages: int
    """That the context stands for: what was rolled back or left out is not among them."""
    by_kind: tuple[tuple[str, int], ...]
    """Kind and tokens, largest first, none empty; they add up to what is used."""
    last_summary_at: str | None
    """When the newest summary of the context was written."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A preview of the next request."""

    model: str
    used_tokens: int
    upper_tokens: int
    limit_tokens: int
    certainty: Certainty
    segments: tuple[Segment, ...]
    """In the request's order, also where it could not be sent; they add up to `used_tokens`."""
    summarize_at_tokens: int | None
    """The upper estimate above which a turn summarizes; None when it never does."""
    would_summarize: tuple[tuple[MessageId, MessageId], ...]
    """[start, end) of the messages that a turn would summarize first."""
    problem: ContextError | None
    """The reason why the request could not be sent; None when it could."""
    state: ContextState
    """The context that the request would be made of."""
    original_tokens: Mapping[MessageId, int]
    """The tokens of what each summary and each preview represents, by the first message of it."""
    recall: RecallReport | None
    """What the turn would be told of earlier messages and facts, as the context is now, or was told where there is no
    message; None where nothing is recalled. Its tokens are not among `used_tokens` of a dry run with a message."""
    note: RecallReport | None
    """How the newest step note was chosen; None where this process chose none, or it is gone."""


@dataclass(frozen=True, slots=True)
class StrategyStats:
    """What one strategy has brought. Tokens are the model's."""

    name: str
    n_fired: int
    tokens_saved: int


@dataclass(frozen=True, slots=True)
class ContextStats:
    """What compaction has done for a conversation, and what it cost."""

    strategies: tuple[StrategyStats, ...]
    """By name."""
    compactions: tuple[tuple[CutCause, int], ...]
    """How many for each cause, by cause."""
    duration_ms: int
    """Of all compactions."""
    summaries: tuple[SummaryCost, ...]
    """By kind."""
    moments: tuple[ContextMoment, ...]
    """The newest requests and compactions, oldest first."""
    sent: SentTokens
    """The tokens of all requests."""


async def usage_status(engine: ContextEngine, conversation_id: ConversationId) -> UsageReport:
    """Raises NotFound."""
    return await _usage(engine, await engine.state(conversation_id))


async def usage_before(engine: ContextEngine, record: ConversationRecord) -> UsageReport:
    """The usage of a conversation that is not stored yet. Raises NotFound for its model."""
    return await _usage(engine, await engine.begin(record, await engine.frame_now()))


async def _usage(engine: ContextEngine, state: ContextState) -> UsageReport:
    kinds: Counter[str] = Counter()
    for segment in state.segments:
        kinds[_KINDS.get(segment.type, segment.type)] += segment.tokens
    problem: ContextError | None = None
    if (above := state.estimate.upper - state.budget.budget) <= 0:
        pass
    elif await are_rules_read(engine, state):
        problem = await _problem(engine, await Admission(engine).try_out(state, None, await engine.frame_now()))
    elif engine.settings.infinity:  # whether summaries are enough is not worth waiting for the rules
        problem = _needs_summary(state, foldable(state.pieces), above, state.budget.budget)
    return UsageReport(
        ContextUsage(kinds.total(), state.budget.budget, state.n_blocks),
        problem,
        state.budget,
        state.model,
        certainty_of(state.model, state.tokenizer),
        sum(1 if isinstance(piece, MessagePiece) else piece.end - piece.start for piece in state.pieces),
        tuple((kind, tokens) for kind, tokens in kinds.most_common() if tokens),
        max((piece.summary.created_at for piece in state.pieces if isinstance(piece, SummaryPiece)), default=None),
    )


async def explain(
    engine: ContextEngine, conversation_id: ConversationId, text: str | None, recall: Recall | None = None
) -> Plan:
    """A dry run of the next request, with `text` as its message: nothing is stored or sent. What it says of the
    request's size is what admission and the turn decide by."""
    state = await engine.state(conversation_id)
    content = None if text is None else user_message(text)
    trial = await Admission(engine).try_out(state, content, await engine.frame_now())
    tried, limit = trial.state, trial.fitting.limit_tokens
    runs = await _runs(engine, tried) if engine.is_due(tried, limit) and trial.fitting.fit is not Fit.NEVER else []
    problem = await _problem(engine, trial)
    dry = await _without_what_is_left_out(engine, trial)
    return Plan(
        model=dry.model.name,
        used_tokens=dry.estimate.mean,
        upper_tokens=dry.estimate.upper,
        limit_tokens=limit,
        certainty=certainty_of(dry.model, dry.tokenizer),
        segments=dry.segments,
        summarize_at_tokens=engine.due_tokens(dry) if engine.settings.infinity else None,
        would_summarize=tuple((tried.pieces[i].start, tried.pieces[j - 1].end) for i, j in runs),
        problem=problem,
        state=dry,
        original_tokens=_original_tokens(dry),
        recall=state.report_of(state.recalled) if text is None else await _would_recall(engine, recall, tried),
        note=state.report_of(state.noted) if text is None else None,
    )


def _original_tokens(state: ContextState) -> dict[MessageId, int]:
    part = state.cut.estimator.part
    return {
        piece.start: part(piece.summary.original_tokens if isinstance(piece, SummaryPiece) else piece.original_tokens)
        for piece in state.pieces
        if isinstance(piece, SummaryPiece) or piece.preview is not None
    }


async def _would_recall(engine: ContextEngine, recall: Recall | None, tried: ContextState) -> RecallReport | None:
    asked = tried.pieces[-1] if tried.pieces else None
    if recall is None or not isinstance(asked, MessagePiece):
        return None
    share = share_of(tried, is_distilled=engine.is_distilled(tried))
    return (await recall.choose(tried, asked, share, is_dry_run=True)).report


async def stats(engine: ContextEngine, conversation_id: ConversationId) -> ContextStats:
    """How often which strategy fired, and tokens saved against cost. Raises NotFound."""
    await engine.state(conversation_id)
    compactions = await engine.store.read(statistics.compaction_reports, conversation_id)
    fired: dict[str, StrategyStats] = {}
    causes: dict[CutCause, int] = {}
    for cause, report in compactions:
        causes[cause] = causes.get(cause, 0) + 1
        for name, tokens in report.saved.items():
            known = fired.get(name, StrategyStats(name, 0, 0))
            fired[name] = StrategyStats(name, known.n_fired + 1, known.tokens_saved + tokens)
    return ContextStats(
        tuple(fired[name] for name in sorted(fired)),
        tuple(sorted(causes.items())),
        sum(report.duration_ms for _, report in compactions),
        tuple(await engine.store.read(statistics.summary_costs, conversation_id)),
        tuple(await engine.store.read(statistics.moments, conversation_id, _MOST_MOMENTS)),
        await engine.store.read(statistics.sent_tokens, conversation_id),
    )


def certainty_of(model: Model, tokenizer: Tokenizer) -> Certainty:
    """How the model's tokens are counted with that tokenizer."""
    if tokenizer.name != model.tokenizer:
        return Certainty.BYTES
    return Certainty.EXACT if model.is_exact else Certainty.ESTIMATED


async def _without_what_is_left_out(engine: ContextEngine, trial: Trial) -> ContextState:
    """As the next request would have it where nothing is summarized."""
    state, limit = trial.state, trial.fitting.limit_tokens
    if engine.settings.infinity or not engine.is_due(state, limit):
        return state
    _, kept, gone = leaving_out(engine.settings, state, trial.rules, limit)
    shown = replace(state, pieces=kept, front=front_of(state, trial.rules, gone))
    if shown.estimate.upper <= limit:
        return shown
    front, pieces, _ = least(engine.settings, state, trial.rules)
    return replace(state, pieces=pieces, front=front)


async def _runs(engine: ContextEngine, state: ContextState) -> list[tuple[int, int]]:
    """The stretches of pieces that a compaction now would make into summaries."""
    return would_summarize(engine.settings, state)


def _needs_summary(
    state: ContextState, runs: Sequence[tuple[int, int]], excess_tokens: int, limit_tokens: int
) -> SummarizationNeeded:
    ids = tuple(piece.start for first, after in runs for piece in state.pieces[first:after])
    return SummarizationNeeded(excess_tokens, ids, limit_tokens)


async def _problem(engine: ContextEngine, trial: Trial) -> ContextError | None:
    """Why a turn could not send the request as it stands; None as well where it would leave something out."""
    found, state = trial.fitting, trial.state
    match found.fit:
        case Fit.WHOLE:
            return None
        case Fit.NEVER:
            return found.problem()
        case Fit.COMPACTED if not engine.settings.infinity:
            return None
        case Fit.COMPACTED:
            runs = await _runs(engine, state) or foldable(state.pieces)
            return _needs_summary(state, runs, found.upper_tokens - found.limit_tokens, found.limit_tokens)
