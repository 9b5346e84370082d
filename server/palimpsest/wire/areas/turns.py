"""A message and its answer."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.attachments import Attachment
from palimpsest.wire.areas.usage import ContextUsage
from palimpsest.wire.declare import Notification, Request, Wire


class TurnStatus(enum.StrEnum):
    """How a turn stands."""

    RUNNING = "running"
    """Its answer is still coming."""
    COMMITTED = "committed"
    """Its answer is complete."""
    CANCELLED = "cancelled"
    """The user stopped it; what had come is kept."""
    ERRORED = "errored"
    """It failed; what had come is kept."""
    INTERRUPTED = "interrupted"
    """Its server died, ended, or lost its editor; what had been shown is kept, and it can be continued."""


class DeltaType(enum.StrEnum):
    """What a delta holds."""

    TURN = "turn"
    """The turn was admitted: `turnId`, `conversationId`, `userMessageId`. Always the first."""
    TEXT = "text"
    """The next piece of the answer."""
    THINKING = "thinking"
    """The next piece of the model's visible reasoning."""
    TOOL_CALL = "toolCall"
    """The model calls a tool: `callId`, `name`."""
    TOOL_ARGUMENTS = "toolArguments"
    """The next piece of a call's JSON arguments: `callId`, `text`."""
    TOOL_START = "toolStart"
    """A tool begins to run: `callId`, `name`."""
    TOOL_RESULT = "toolResult"
    """A tool's result: `callId`, `name`, `text`."""
    DONE = "done"
    """One model call is complete. Another may follow when tools were called."""
    ERROR = "error"
    """The model call failed: `text` says how."""


@attrs.frozen(eq=False, repr=False)
class TurnDelta(Wire):
    """A piece of a running turn. It is durable before it is sent."""

    seq: int
    """Grows within a turn. A repeat can be told by it, and `turn/attach` can start after it."""
    type: DeltaType
    """What this delta holds."""
    text: str | None = None
    """The piece."""
    call_id: str | None = None
    """The tool call it belongs to."""
    name: str | None = None
    """The tool's name."""
    turn_id: str | None = None
    """Of `turn`: the turn, for `turn/cancel` and `turn/attach`."""
    conversation_id: str | None = None
    """Of `turn`: the conversation."""
    user_message_id: int | None = None
    """Of `turn`: the id of the user's message."""


@attrs.frozen(eq=False, repr=False)
class ChatParams(Wire):
    """A user's message."""

    request_id: str
    """Made by the editor, unique for this message. A repeat answers with the turn that exists."""
    text: str
    """What the user wrote, as typed."""
    conversation_id: str | None = None
    """Where to. Absent: a new conversation in `folder`."""
    folder: str | None = None
    """URI of the workspace folder for a new conversation. Absent: the only or first folder."""
    attachments: list[Attachment] | None = None
    """What is sent with it, as it is now. One that cannot be attached refuses the whole message."""
    partial_result_token: int | str | None = None
    """Names the stream: `$/progress` on it carries `TurnDelta` values, all before the answer."""
    work_done_token: int | str | None = None
    """Names a standard work-done progress, shown while a summary is written."""


@attrs.frozen(eq=False, repr=False)
class ChatResult(Wire):
    """How the turn ended. An errored turn answers with an error instead."""

    conversation_id: str
    """The conversation, new or as asked."""
    turn_id: str
    """The turn."""
    status: TurnStatus
    """How it ended."""
    message_ids: list[int]
    """The messages of the turn, the user's first. Of a turn that goes on from another, the user's is the other's."""
    usage: ContextUsage
    """How full the context is now."""
    text: str | None = None
    """The whole answer, when no `partialResultToken` was given."""
    stop_reason: str | None = None
    """Why the model stopped: `end`, `output_limit`, `filtered`, `tool_rounds`."""


@attrs.frozen(eq=False, repr=False)
class AttachParams(Wire):
    """Follow a turn."""

    turn_id: str
    """The turn."""
    after_seq: int | None = None
    """The last delta already seen. Absent: from the start. In a step of another server that is committed already, its
    whole text comes again."""
    partial_result_token: int | str | None = None
    """Names the stream, as in `chat`. What was already committed comes as one delta."""


@attrs.frozen(eq=False, repr=False)
class CancelParams(Wire):
    """Stop a turn."""

    turn_id: str
    """The turn."""


@attrs.frozen(eq=False, repr=False)
class CancelResult(Wire):
    """How the turn stands after the cancel was accepted."""

    status: TurnStatus
    """`cancelled`, or how it had ended before."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/chat", ChatParams, ChatResult, "Send a message and stream the answer: one turn."),
    Request(
        "palimpsest/turn/attach",
        AttachParams,
        ChatResult,
        "Follow a running turn from any editor, or read how an ended one ended.",
    ),
    Request(
        "palimpsest/turn/cancel",
        CancelParams,
        CancelResult,
        "Stop a turn from any editor. Its `chat` then succeeds with status `cancelled`.",
    ),
)
