"""Answers that broke off, and what the user can do with them."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.turns import ChatResult
from palimpsest.wire.declare import Notification, Request, Wire


class AnswerBreak(enum.StrEnum):
    """How an answer broke off."""

    COMPLETE = "complete"
    """The model's message was complete, but results of its tool calls were missing."""
    ERRORED = "errored"
    """An error ended it."""
    INCOMPLETE = "incomplete"
    """The server ended while it was written."""


class RecoveryAction(enum.StrEnum):
    """What to do with an answer that broke off."""

    CONTINUE = "continue"
    """Continue it where it stopped."""
    KEEP = "keep"
    """Keep it as it is."""
    DISCARD = "discard"
    """Hide it. It stays readable."""
    RETRY = "retry"
    """Hide it, and answer the same message again."""


class CallFate(enum.StrEnum):
    """What is known about a tool call."""

    FINISHED = "finished"
    """The call has its result."""
    NOT_RUN = "notRun"
    """The call was never started."""
    UNKNOWN = "unknown"
    """The call was started, and it is unknown whether it took effect."""


@attrs.frozen(eq=False, repr=False)
class OpenToolCall(Wire):
    """A tool call of the batch in which an answer broke off."""

    call_id: str
    """Its id in the answer."""
    name: str
    """The name of the tool."""
    arguments: str
    """The beginning of its JSON arguments, at most 2,000 characters."""
    fate: CallFate
    """What is known about it. The server never runs it again by itself."""
    result: str | None = None
    """For a finished call: the beginning of its result, at most 2,000 characters."""


@attrs.frozen(eq=False, repr=False)
class BrokenAnswer(Wire):
    """An answer that broke off and for which the user has not chosen anything yet."""

    conversation_id: str
    """The conversation. The answer is its last one."""
    title: str
    """The conversation's title."""
    turn_id: str
    """The turn, for `recovery/resolve`."""
    user_message_id: int
    """The id of the user's message."""
    class_: AnswerBreak
    """How it broke off."""
    text: str
    """The end of the text so far, at most 2,000 characters."""
    text_length: int
    """How many characters the text so far has."""
    last_seq: int
    """The number of the last delta that was stored."""
    model: str
    """The model."""
    ended_at: str
    """When it ended, or when the server noticed."""
    error_kind: str | None = None
    """For an error: its kind, as in `ErrorData.kind`."""
    error_message: str | None = None
    """A sentence that says why it broke off."""
    tool_batch: list[OpenToolCall] | None = None
    """The tool calls of the batch in which it broke off, with the results so far. Absent: it broke off in its text."""


@attrs.frozen(eq=False, repr=False)
class ListRecoveryParams(Wire):
    """Which folders to look at."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: every open folder."""


@attrs.frozen(eq=False, repr=False)
class ListRecoveryResult(Wire):
    """The answers that broke off and that no later message follows."""

    turns: list[BrokenAnswer]
    """Folder by folder; within a folder, the newest last."""


@attrs.frozen(eq=False, repr=False)
class ResolveParams(Wire):
    """Choose what to do with an answer that broke off, as long as it is the last one of its conversation."""

    turn_id: str
    """The turn."""
    action: RecoveryAction
    """What to do."""
    as_draft: bool | None = None
    """With `discard`: whether to hide the user's message too and make it the draft of the conversation."""
    partial_result_token: int | str | None = None
    """With `continue` and `retry`: the token of the stream, as in `chat`."""
    work_done_token: int | str | None = None
    """With `continue` and `retry`: the token of a work-done progress, as in `chat`."""
    take_back_changes: bool | None = None
    """With `retry` and `discard`: whether to take back the accepted edits of the answer that it hides, as
    `turn/undoChanges` does, with `retry` before it is answered again."""


@attrs.frozen(eq=False, repr=False)
class GoOnParams(Wire):
    """Continue or retry the last turn of a conversation. A new turn for the same message does it."""

    turn_id: str | None = None
    """The turn. A repeat of the same request is answered with the turn that the first one started."""
    conversation_id: str | None = None
    """The conversation whose last turn is meant, when there is no `turnId`. A repeat of the same request means the turn
    that the first one started."""
    partial_result_token: int | str | None = None
    """The token of the stream, as in `chat`."""
    work_done_token: int | str | None = None
    """The token of a work-done progress, as in `chat`."""
    take_back_changes: bool | None = None
    """With `turn/retry`: whether to take back the accepted edits of the answer that it hides, as `turn/undoChanges`
    does, before the message is answered again."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/turn/continue",
        GoOnParams,
        ChatResult,
        "Continue an answer that was cancelled, failed, was interrupted or reached a limit. The answer so far stays.",
    ),
    Request(
        "palimpsest/turn/retry",
        GoOnParams,
        ChatResult,
        "Answer the last message again, however its turn ended. The answer so far is hidden and stays readable.",
    ),
    Request(
        "palimpsest/recovery/list",
        ListRecoveryParams,
        ListRecoveryResult,
        "List the answers that broke off because of an error or the end of a server, and that wait for a choice.",
    ),
    Request(
        "palimpsest/recovery/resolve",
        ResolveParams,
        ChatResult,
        "Continue, keep, discard or retry an answer that broke off. The result of `keep` and `discard` tells how "
        "its turn ended.",
    ),
)
