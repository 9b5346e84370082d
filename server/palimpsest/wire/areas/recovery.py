"""Answers that broke off, and what to do about them."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.turns import ChatResult
from palimpsest.wire.declare import Notification, Request, Wire


class AnswerBreak(enum.StrEnum):
    """How an answer broke off."""

    COMPLETE = "complete"
    """The model's message was whole, but results of its tool calls were missing."""
    ERRORED = "errored"
    """It failed."""
    INCOMPLETE = "incomplete"
    """Its server ended in the middle of it."""


class RecoveryAction(enum.StrEnum):
    """What to do about an answer that broke off."""

    CONTINUE = "continue"
    """Go on from where it stopped."""
    KEEP = "keep"
    """Leave it as it is."""
    DISCARD = "discard"
    """Hide it. It can still be read."""
    RETRY = "retry"
    """Hide it, and answer the same message again."""


class CallFate(enum.StrEnum):
    """What is known of a tool call."""

    FINISHED = "finished"
    """It has its result."""
    NOT_RUN = "notRun"
    """It was never begun."""
    UNKNOWN = "unknown"
    """It was begun, and it is unknown whether it took effect."""


@attrs.frozen(eq=False, repr=False)
class OpenToolCall(Wire):
    """A tool call of the batch an answer broke off in."""

    call_id: str
    """Its id in the answer."""
    name: str
    """The tool."""
    arguments: str
    """The beginning of its JSON arguments, at most 2,000 characters."""
    fate: CallFate
    """What became of it. Nothing runs it again by itself."""
    result: str | None = None
    """Of a finished one: the beginning of its result, at most 2,000 characters."""


@attrs.frozen(eq=False, repr=False)
class BrokenAnswer(Wire):
    """An answer that broke off, about which nothing was chosen yet."""

    conversation_id: str
    """The conversation, whose last answer it is."""
    title: str
    """The conversation's title."""
    turn_id: str
    """The turn, for `recovery/resolve`."""
    user_message_id: int
    """The message that it answers."""
    class_: AnswerBreak
    """How it broke off."""
    text: str
    """What stands of it: its end, at most 2,000 characters."""
    text_length: int
    """Characters of all that stands of it."""
    last_seq: int
    """The last delta that was durable."""
    model: str
    """The model it was asked of."""
    ended_at: str
    """When it ended, or was found to have."""
    error_kind: str | None = None
    """Of an errored one: as in `ErrorData.kind`."""
    error_message: str | None = None
    """Why it broke off, in a sentence."""
    tool_batch: list[OpenToolCall] | None = None
    """The tool calls it broke off in, with results so far. Absent: it broke off in words."""


@attrs.frozen(eq=False, repr=False)
class ListRecoveryParams(Wire):
    """Where to look."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: every open folder."""


@attrs.frozen(eq=False, repr=False)
class ListRecoveryResult(Wire):
    """Answers that broke off and that nothing was said behind."""

    turns: list[BrokenAnswer]
    """Folder by folder, the last that broke off last."""


@attrs.frozen(eq=False, repr=False)
class ResolveParams(Wire):
    """Do something about an answer that broke off, as long as it is the conversation's last one."""

    turn_id: str
    """The turn."""
    action: RecoveryAction
    """What to do."""
    as_draft: bool | None = None
    """Of `discard`: hide the user's message too, and make it the conversation's draft."""
    partial_result_token: int | str | None = None
    """Of `continue` and `retry`: names the stream, as in `chat`."""
    work_done_token: int | str | None = None
    """Of `continue` and `retry`: names a work-done progress, as in `chat`."""


@attrs.frozen(eq=False, repr=False)
class GoOnParams(Wire):
    """Go on from an ended turn, the conversation's last one, by another turn for the same message."""

    turn_id: str | None = None
    """The turn. The same request again answers with the turn that it made."""
    conversation_id: str | None = None
    """Without `turnId`: the conversation whose last turn is meant. The same request again means the turn that the
    first one made."""
    partial_result_token: int | str | None = None
    """Names the stream, as in `chat`."""
    work_done_token: int | str | None = None
    """Names a work-done progress, as in `chat`."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/turn/continue",
        GoOnParams,
        ChatResult,
        "Continue an answer that was cancelled, failed, was interrupted or ran into a limit. What came stays.",
    ),
    Request(
        "palimpsest/turn/retry",
        GoOnParams,
        ChatResult,
        "Answer the last message again, however its turn ended. The answer so far is hidden and can still be read.",
    ),
    Request(
        "palimpsest/recovery/list",
        ListRecoveryParams,
        ListRecoveryResult,
        "List the answers that broke off, by an error or because the server ended, and that nothing was done about.",
    ),
    Request(
        "palimpsest/recovery/resolve",
        ResolveParams,
        ChatResult,
        "Continue, keep, discard or retry an answer that broke off. `keep` and `discard` answer how its turn ended.",
    ),
)
