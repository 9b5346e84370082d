"""Values of the services as messages of the protocol. Loaded after `initialize` is answered."""

from __future__ import annotations

import attrs

from palimpsest.domain.context.events import ContextEventFields
from palimpsest.domain.context.usage import Severity as UsageSeverity
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.record import ConversationRecord, SharedMark
from palimpsest.domain.errors import ContextError, SummarizationNeeded
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ImagePart,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    TurnId,
)
from palimpsest.domain.sharing.status import Writing
from palimpsest.domain.turns.journal import EventType, Numbered, ToldPause
from palimpsest.domain.turns.states import TurnState
from palimpsest.services.context.reports import UsageReport
from palimpsest.services.events import ContextEvent as ServiceEvent
from palimpsest.services.folder.session import OpenFolder
from palimpsest.wire.areas.context import SentMessage
from palimpsest.wire.areas.conversations import (
    ContextLayout,
    ConversationInfo,
    MessageInfo,
    MessagePart,
    MessageRole,
    MessageState,
    SharedInfo,
    SharingState,
    WriterInfo,
)
from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.turns import DeltaType, TurnDelta, TurnStatus
from palimpsest.wire.areas.usage import (
    ContextEvent,
    ContextStatus,
    ContextUsage,
    Counting,
    LimitsSource,
    Severity,
    TokensByKind,
)

_SEVERITIES = {
    UsageSeverity.GREEN: Severity.GREEN,
    UsageSeverity.YELLOW: Severity.YELLOW,
    UsageSeverity.RED: Severity.RED,
}
_DELTAS = {
    EventType.PAUSE: DeltaType.PAUSE,
    EventType.TEXT: DeltaType.TEXT,
    EventType.THINKING: DeltaType.THINKING,
    EventType.TOOL_CALL: DeltaType.TOOL_CALL,
    EventType.TOOL_ARGUMENTS: DeltaType.TOOL_ARGUMENTS,
    EventType.TOOL_START: DeltaType.TOOL_START,
    EventType.TOOL_OUTPUT: DeltaType.TOOL_OUTPUT,
    EventType.TOOL_RESULT: DeltaType.TOOL_RESULT,
    EventType.DONE: DeltaType.DONE,
    EventType.ERROR: DeltaType.ERROR,
}
"""The types of events that editors are sent. `opaque` is missing: it means nothing to an editor."""


def to_usage(report: UsageReport) -> ContextUsage:
    usage, budget = report.usage, report.budget
    return ContextUsage(
        used_tokens=usage.used_tokens,
        budget_tokens=usage.budget_tokens,
        wall_tokens=budget.wall,
        percentage=round(usage.percentage, 1),
        severity=_SEVERITIES[usage.severity],
        compact=usage.format_compact(),
        model=report.model.name,
        provider=report.model.provider,
        window_tokens=budget.window,
        reserve_tokens=budget.reserve,
        limits_source=LimitsSource(report.model.source.value),
        counting=Counting(report.certainty.value),
        message_count=report.n_messages,
        summary_count=usage.summarized_segments,
        by_kind=[TokensByKind(kind, tokens) for kind, tokens in report.by_kind],
        status=to_context_status(report.problem),
        last_summary_at=report.last_summary_at,
    )


def to_context_status(problem: ContextError | None) -> ContextStatus:
    if problem is None:
        return ContextStatus.READY
    needs_summary = isinstance(problem, SummarizationNeeded)
    return ContextStatus.NEEDS_SUMMARIZATION if needs_summary else ContextStatus.RECENT_MESSAGES_TOO_LARGE


def to_context_event(event: ServiceEvent) -> ContextEvent:
    shared = {field.name: getattr(event, field.name) for field in attrs.fields(ContextEventFields)}
    left_out = None if event.left_out is None else [MessageRange(start, end) for start, end in event.left_out]
    return ContextEvent(**shared, left_out=left_out)


def to_delta(numbered: Numbered) -> TurnDelta | None:
    """The delta for a durable event; None for an event that editors are not sent."""
    event = numbered.event
    delta_type = _DELTAS.get(event.type)
    if delta_type is None:
        return None
    if event.type is EventType.PAUSE:
        pause = ToldPause.of(event)
        return TurnDelta(numbered.seq, delta_type, pause.reason, retry_after_ms=pause.ms, n_failed=pause.n_failed)
    is_error = True if event.is_error else None
    return TurnDelta(numbered.seq, delta_type, event.text or None, event.call_id, event.name, is_error=is_error)


def to_status(state: TurnState) -> TurnStatus:
    return TurnStatus(state.value) if state.is_final else TurnStatus.RUNNING


def to_conversation(record: ConversationRecord, folder: OpenFolder, running: TurnId | None) -> ConversationInfo:
    remote = folder.sharing.turn_in(record.id)
    return ConversationInfo(
        conversation_id=record.id,
        title=record.title,
        model=record.model,
        message_count=record.n_messages,
        created_at=record.created_at,
        updated_at=record.updated_at,
        folder=folder.root.as_uri(),
        is_archived=record.is_archived,
        draft=record.draft,
        running_turn_id=running if running is not None or remote is None else remote.id,
        parent_id=record.parent,
        layout=None if record.layout is None else ContextLayout(record.layout),
        shared=None if record.shared is None else _to_shared(record, record.shared, folder),
    )


def _to_shared(record: ConversationRecord, mark: SharedMark, folder: OpenFolder) -> SharedInfo:
    watch = folder.sharing.watch
    team = None if watch is None else watch.teams.get(mark.team)
    state = SharingState.CURRENT
    if mark.is_detached:
        state = SharingState.DETACHED
    elif watch is not None and record.id in watch.behind:
        state = SharingState.BEHIND
    elif mark.has_unsent and not (folder.sharing.is_pushing(record.id) or folder.sharing.is_connected):
        state = SharingState.APART
    writing = folder.sharing.writing(record.id)
    return SharedInfo(
        mark.team,
        state,
        None if team is None else team.name,
        None if team is None else team.role,
        None if writing is None else to_writer(writing),
    )


def to_writer(writing: Writing) -> WriterInfo:
    return WriterInfo(writing.name, writing.is_self, writing.work, writing.turn_id)


def to_message(message: StoredMessage, *, is_hidden: bool, author: str | None = None) -> MessageInfo:
    content = message.content
    return MessageInfo(
        id=message.id,
        role=MessageRole(content.role.value),
        text=content.text,
        parts=[part for each in content.parts if (part := _to_part(each)) is not None],
        state=MessageState(content.status.value),
        created_at=message.created_at,
        digest=message.digest,
        notes=list(content.notes),
        is_hidden=is_hidden,
        turn_id=message.turn_id,
        is_purged=None if message.purged is None else True,
        author=author,
    )


def to_sent_message(content: Content) -> SentMessage:
    parts = [
        MessagePart(part.type, part.data) if isinstance(part, OpaquePart) else _to_part(part) for part in content.parts
    ]
    return SentMessage(
        MessageRole(content.role.value),
        [part for part in parts if part is not None],
        MessageState(content.status.value),
    )


def _to_part(part: Part) -> MessagePart | None:
    match part:
        case TextPart() | ReasoningPart():
            return MessagePart(part.type, part.text)
        case ToolCallPart():
            return MessagePart(part.type, call_id=part.call_id, name=part.name, arguments=part.arguments)
        case ToolResultPart():
            return MessagePart(part.type, part.text, part.call_id, part.name, is_error=part.is_error)
        case AttachmentPart():
            return MessagePart(part.type, part.text, name=part.label)
        case ImagePart():
            return MessagePart(part.type, part.line(), name=part.label, digest=part.digest)
        case OpaquePart():
            return None
