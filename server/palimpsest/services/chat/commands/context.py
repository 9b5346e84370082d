"""The commands about the context: what it holds, its summaries, its layout, and the model it is for."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Final

from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.model_switch import Expanding, Shrinking
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import MessageId, SummaryId
from palimpsest.domain.models.limits import LimitsSource
from palimpsest.services.chat.commands.costs import dollars
from palimpsest.services.chat.commands.markdown import minute, plain, seconds, table
from palimpsest.services.chat.commands.scope import Reply, Scope, message_range, summary
from palimpsest.services.context import reports
from palimpsest.services.context.page import Reader, context_page, recall_page, summary_page, summary_tokens
from palimpsest.services.context.words import BECAUSE, PARTS, SUMMARIZED, WRITTEN
from palimpsest.services.conversation.history import Compaction
from palimpsest.services.models.catalog import OFFLINE, by_hint
from palimpsest.services.models.offline_notice import offer_for
from palimpsest.wording import counted

_SOURCES: Final = {
    LimitsSource.OVERRIDE: "your settings",
    LimitsSource.PROVIDER: "your settings for the provider",
    LimitsSource.LIVE: "the service's list of models",
    LimitsSource.PREFIX: "the built-in table",
    LimitsSource.LEARNED: "an error of the service",
    LimitsSource.DEFAULT_FALLBACK: "a default, because the model is unknown",
}


_MOST_LINES: Final = 40
"""Of each summary, where all of them are shown."""
_MOST_MESSAGES: Final = 40


async def context(scope: Scope, argument: str) -> Reply:
    wanted = summary(argument, "/context") if argument else None
    plan = await reports.explain(scope.contexts, scope.conversation_id, None)
    if wanted is not None:
        return Reply(_one_summary(plan, wanted))
    reader = Reader(plain, _MOST_LINES, _MOST_MESSAGES)
    rows = [
        (
            PARTS.get(segment.type, segment.type) if segment.summary_id is None else f"summary {segment.summary_id}",
            "" if segment.message_ids is None else _span(*segment.message_ids),
            f"{segment.tokens:,}",
            "yes" if segment.is_in_prefix else "no",
            segment.reason,
        )
        for segment in plan.segments
    ]
    parts = [
        context_page(plan.state, reader),
        recall_page("Recalled for your newest message", plan.recall, reader),
        recall_page("Recalled for the newest request", plan.note, reader),
        "## Parts of the request",
        table(("Part", "Messages", "Tokens", "Sent before", "Why"), rows) if rows else "",
        f"{plan.used_tokens:,} of {plan.limit_tokens:,} tokens for {plain(plan.model)}",
        "" if plan.problem is None else plain(str(plan.problem)),
    ]
    return Reply("\n\n".join(part for part in parts if part))


def _one_summary(plan: reports.Plan, wanted: SummaryId) -> str:
    """Raises InvalidRequest when the context has no such summary."""
    for piece in plan.state.pieces:
        if isinstance(piece, SummaryPiece) and piece.summary.id == wanted:
            return summary_page(piece, summary_tokens(plan.segments)[wanted], Reader(plain))
    raise InvalidRequest(f"The context has no summary {wanted}. /context shows its summaries with their numbers.")


async def usage(scope: Scope, _: str) -> Reply:
    report = await reports.usage_status(scope.contexts, scope.conversation_id)
    model, used = report.model, report.usage
    lines = [
        plain(used.format_compact()),
        f"{plain(model.name)} ({plain(model.provider)}): window {model.limits.window:,} tokens, of which "
        f"{report.budget.reserve:,} are kept for the answer and {report.budget.margin:,} as a margin for the count",
        f"{counted(report.n_messages, 'message')}, {counted(used.summarized_segments, 'summary')} in the context",
        f"The limits come from {_SOURCES[model.source]}. The count of tokens is {report.certainty.value}.",
    ]
    if cap := scope.contexts.settings.max_tokens:
        lines.append(f"The setting `context.max_tokens` allows at most {counted(cap, 'token')} in a request.")
    paid = await scope.session.spending.conversation(scope.conversation_id)
    if paid.lines:
        lines.append(f"Models have cost {dollars(paid)} in this conversation. /cost says for what.")
    if report.last_summary_at is not None:
        lines.append(f"Last summary: {minute(report.last_summary_at)}")
    kinds = table(("Part", "Tokens"), [(PARTS.get(kind, kind), f"{tokens:,}") for kind, tokens in report.by_kind])
    return Reply("\n".join(f"- {line}" for line in lines) + f"\n\n{kinds}")


async def stats(scope: Scope, _: str) -> Reply:
    found = await reports.stats(scope.contexts, scope.conversation_id)
    paid = await scope.session.spending.conversation(scope.conversation_id)
    cost = f"Models have cost {dollars(paid)} in this conversation. /cost says for what." if paid.lines else ""
    if not found.compactions:
        return Reply(f"Nothing was summarized in this conversation yet. {cost}".rstrip())
    n_times = sum(count for _, count in found.compactions)
    causes = "; ".join(f"{_times(count)} because {BECAUSE[cause]}" for cause, count in found.compactions)
    saved = [
        (SUMMARIZED.get(each.name, each.name), f"{each.n_fired}", f"{each.tokens_saved:,}") for each in found.strategies
    ]
    costs = [
        (
            WRITTEN.get(each.kind, each.kind),
            f"{each.n_summaries}",
            f"{each.input_tokens:,}",
            f"{each.output_tokens:,}",
            seconds(each.duration_ms),
        )
        for each in found.summaries
    ]
    parts = [
        f"What the model sees was made smaller {_times(n_times)}, which took {seconds(found.duration_ms)}: {causes}.",
        table(("What", "Times", "Tokens saved"), saved) if saved else "",
        table(("Summaries written", "Number", "Tokens read", "Tokens written", "Time"), costs) if costs else "",
        cost,
    ]
    return Reply("\n\n".join(part for part in parts if part))


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


async def summarize(scope: Scope, argument: str) -> Reply:
    wanted = message_range(argument, "/summarize A-B")
    done = await scope.conversations.summarize(scope.conversation_id, wanted, scope.asked_by)
    if done.block is None:
        return Reply(plain(done.reason))
    return await _with_sizes(scope, done.reason, done.tokens_before, done.tokens_after)


async def expand(scope: Scope, argument: str) -> Reply:
    return await _compaction(scope, scope.conversations.expand(scope.conversation_id, summary(argument, "/expand")))


async def regenerate(scope: Scope, argument: str) -> Reply:
    summary_id = summary(argument, "/regenerate")
    return await _compaction(scope, scope.conversations.regenerate(scope.conversation_id, summary_id, scope.asked_by))


async def undo(scope: Scope, _: str) -> Reply:
    return await _compaction(scope, scope.conversations.undo(scope.conversation_id))


async def redo(scope: Scope, _: str) -> Reply:
    return await _compaction(scope, scope.conversations.redo(scope.conversation_id))


async def layout(scope: Scope, name: str) -> Reply:
    record = await scope.conversations.set_layout(scope.conversation_id, name or None)
    chosen = record.layout or f"{scope.session.settings.context.layout}, as the settings say"
    return Reply(f"From the next turn on, the layout is {chosen}.")


async def model(scope: Scope, name: str) -> Reply:
    return await _switch_model(scope, name) if name else Reply(_models(scope) + await _offer(scope))


async def _compaction(scope: Scope, change: Coroutine[None, None, Compaction]) -> Reply:
    done = await change
    return await _with_sizes(scope, done.reason, done.tokens_before, done.tokens_after)


async def _with_sizes(scope: Scope, reason: str, before: int, after: int) -> Reply:
    report = await reports.usage_status(scope.contexts, scope.conversation_id)
    return Reply(f"{plain(reason)}\n\n{before:,} → {after:,} tokens; {plain(report.usage.format_compact())}")


async def _offer(scope: Scope) -> str:
    """How a conversation that began without a model goes on with one, where there is one by now."""
    if scope.open_conversation is None or (await scope.contexts.state(scope.open_conversation)).record.model != OFFLINE:
        return ""
    offer = offer_for(scope.contexts.models)
    return "" if offer is None else f"\n\n{offer}"


async def _switch_model(scope: Scope, name: str) -> Reply:
    if scope.open_conversation is None:
        record = await scope.conversations.create(None, name)
        said = f"A new conversation with {plain(record.model)} begins with your next message."
        return Reply(said + _doubt(scope, name), record.id)
    done = await scope.conversations.switch_model(scope.open_conversation, name)
    said = f"The model is now {plain(done.model.name)}.{_doubt(scope, name)}"
    if isinstance(done.adaptation, Shrinking | Expanding):
        said += f" Budget: {done.adaptation.old_budget:,} → {done.adaptation.new_budget:,} tokens."
    if isinstance(done.adaptation, Shrinking) and done.adaptation.needs_summarization:
        said += " Older messages will be summarized before the next answer."
    if isinstance(done.adaptation, Expanding) and done.adaptation.can_restore:
        restored = counted(done.adaptation.can_restore, "summarized message")
        said += f" The originals of {restored} are in the context again."
    return Reply(said)


def _doubt(scope: Scope, name: str) -> str:
    doubt = scope.contexts.models.doubt(name)
    return "" if doubt is None else f" {plain(doubt)} `/model` lists those that are."


def _span(start: MessageId, end: MessageId) -> str:
    """The messages from `start` to the one before `end`: `3`, or `3-7`."""
    return f"{start}" if start == end - 1 else f"{start}-{end - 1}"


def _models(scope: Scope) -> str:
    choices = scope.contexts.models.choices()
    rows = [
        (
            f"{choice.model.name} (default)" if choice.is_default else choice.model.name,
            choice.model.provider,
            f"{choice.model.limits.window:,}",
        )
        for choice in choices
        if choice.is_available
    ]
    parts = [table(("Model", "Provider", "Window"), rows)]
    for hint, group in by_hint(choices):
        parts.append(f"To use these, {hint}:\n{', '.join(plain(each.model.name) for each in group)}")
    return "\n\n".join(parts)
