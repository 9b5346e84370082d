"""Messages of the user and their answers."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.attachments import Attachment
from palimpsest.wire.areas.file_changes import UndoneFile
from palimpsest.wire.areas.usage import ContextUsage
from palimpsest.wire.declare import Notification, Request, Wire


class TurnStatus(enum.StrEnum):
    """The status of a turn."""

    RUNNING = "running"
    """The answer is still coming."""
    COMMITTED = "committed"
    """The answer is complete."""
    CANCELLED = "cancelled"
    """The user stopped it. The answer so far is kept."""
    ERRORED = "errored"
    """An error ended it. The answer so far is kept."""
    INTERRUPTED = "interrupted"
    """The server ended, or it lost its editor. The answer so far is kept, and it can be continued."""


class DeltaType(enum.StrEnum):
    """The kind of a delta."""

    TURN = "turn"
    """The turn was admitted: `turnId`, `conversationId`, `userMessageId`. It is always the first delta."""
    PAUSE = "pause"
    """The model's service could not answer for now, and is asked again by itself: `text` is a sentence that says why,
    `retryAfterMs`, `nFailed`. `turn/retryNow` does not wait for it. Any later delta ends it."""
    TEXT = "text"
    """The next piece of the answer: `text`."""
    THINKING = "thinking"
    """The next piece of the model's visible reasoning: `text`."""
    TOOL_CALL = "toolCall"
    """The model calls a tool: `callId`, `name`."""
    TOOL_ARGUMENTS = "toolArguments"
    """The next piece of a call's JSON arguments: `callId`, `text`."""
    TOOL_START = "toolStart"
    """A tool starts to run: `callId`, `name`."""
    TOOL_OUTPUT = "toolOutput"
    """The next piece of what a running tool writes, for the user to watch: `callId`, `name`, `text`. It is no part of
    the result that follows, and not all tools send it."""
    TOOL_RESULT = "toolResult"
    """The result of a tool: `callId`, `name`, `text`, and `isError` when it failed or was refused."""
    DONE = "done"
    """One model call is complete. Another may follow when the model called tools."""
    ERROR = "error"
    """The model call failed. `text` is a sentence that says why."""


@attrs.frozen(eq=False, repr=False)
class TurnDelta(Wire):
    """A piece of a running turn. The server stores it before it sends it."""

    seq: int
    """A number that grows within a turn. An editor can recognize a repeat by it, and `turn/attach` can start after
    it."""
    type: DeltaType
    """The kind of the delta."""
    text: str | None = None
    """The piece of text."""
    call_id: str | None = None
    """The id of the tool call."""
    name: str | None = None
    """The name of the tool."""
    turn_id: str | None = None
    """For `turn`: the turn, for `turn/cancel` and `turn/attach`."""
    conversation_id: str | None = None
    """For `turn`: the conversation."""
    user_message_id: int | None = None
    """For `turn`: the id of the user's message."""
    is_error: bool | None = None
    """For `toolResult`: true when the call failed or was refused. Absent otherwise."""
    retry_after_ms: int | None = None
    """For `pause`: how long it lasts, counted from this delta."""
    n_failed: int | None = None
    """For `pause`: the number of attempts that failed."""


@attrs.frozen(eq=False, repr=False)
class ChatParams(Wire):
    """A message of the user."""

    request_id: str
    """An id that the editor makes for this message. A repeat is answered with the turn that exists."""
    text: str
    """The text as the user typed it. Empty for a picture alone."""
    conversation_id: str | None = None
    """The conversation. Absent: a new conversation in `folder`."""
    folder: str | None = None
    """URI of the workspace folder for a new conversation. Absent: the only or first folder."""
    attachments: list[Attachment] | None = None
    """What is sent with the message, as it is now. If one cannot be attached, the whole message is refused."""
    partial_result_token: int | str | None = None
    """The token of the stream: `$/progress` on it carries `TurnDelta` values, all of them before the result."""
    work_done_token: int | str | None = None
    """The token of a standard work-done progress, which is shown while a summary is written."""


@attrs.frozen(eq=False, repr=False)
class ChatResult(Wire):
    """The end of a turn. A turn that failed is answered with an error instead."""

    conversation_id: str
    """The conversation."""
    turn_id: str
    """The turn."""
    status: TurnStatus
    """How it ended."""
    message_ids: list[int]
    """The ids of the turn's messages, the user's first. A turn that continues another one has the user's message of
    that one."""
    usage: ContextUsage
    """How full the context is now."""
    text: str | None = None
    """The whole answer, when there was no `partialResultToken`."""
    stop_reason: str | None = None
    """Why the model stopped: `end`, `output_limit`, `filtered`, `tool_rounds`."""
    files: list[UndoneFile] | None = None
    """With `takeBackChanges`: what became of each file that the hidden answer had edited."""


@attrs.frozen(eq=False, repr=False)
class AttachParams(Wire):
    """A turn to follow."""

    turn_id: str
    """The turn."""
    after_seq: int | None = None
    """The number of the last delta that the editor has seen. Absent: follow from the start. When another server has
    already committed that step, its whole text comes again."""
    partial_result_token: int | str | None = None
    """The token of the stream, as in `chat`. The text that is already committed comes as one delta."""


@attrs.frozen(eq=False, repr=False)
class CancelParams(Wire):
    """A turn to stop."""

    turn_id: str
    """The turn."""


@attrs.frozen(eq=False, repr=False)
class CancelResult(Wire):
    """The status of the turn after the cancel."""

    status: TurnStatus
    """`cancelled`, or the status with which it had ended before."""


@attrs.frozen(eq=False, repr=False)
class RetryNowParams(Wire):
    """A turn that pauses before its model is asked again."""

    turn_id: str
    """The turn."""


@attrs.frozen(eq=False, repr=False)
class RetryNowResult(Wire):
    """What came of it."""

    was_waiting: bool
    """Whether the turn waited, and this server runs it."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/chat", ChatParams, ChatResult, "Send a message and stream the answer. This is one turn."),
    Request(
        "palimpsest/turn/attach",
        AttachParams,
        ChatResult,
        "Follow a running turn from any editor, or read the status of a turn that has ended.",
    ),
    Request(
        "palimpsest/turn/cancel",
        CancelParams,
        CancelResult,
        "Stop a turn from any editor. Its `chat` then ends with the status `cancelled`.",
    ),
    Request(
        "palimpsest/turn/retryNow",
        RetryNowParams,
        RetryNowResult,
        "Ask the model of a turn again at once, instead of after the pause that a `pause` delta told.",
    ),
)
