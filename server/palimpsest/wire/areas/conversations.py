"""Conversations and their messages."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.usage import ContextUsage
from palimpsest.wire.declare import Notification, Request, Wire


class ContextLayout(enum.StrEnum):
    """How requests of a conversation are laid out."""

    LOG = "log"
    """The history, appended to, so that providers can cache it."""
    LIBRARIAN = "librarian"
    """Only pins, what was recalled for the question, and the newest messages: cheap, and nothing can be cached."""


@attrs.frozen(eq=False, repr=False)
class ConversationInfo(Wire):
    """A conversation in a list."""

    conversation_id: str
    """Its id, for ever."""
    title: str
    """The first line of the first message, or the user's name for it; empty when neither is there yet."""
    model: str
    """Its current model."""
    message_count: int
    """How many messages it holds."""
    created_at: str
    """When it began."""
    updated_at: str
    """When it last changed."""
    folder: str
    """URI of its workspace folder."""
    is_archived: bool
    """Whether the user has put it away."""
    draft: str
    """What the user had typed and not sent, or rolled back; empty for nothing."""
    running_turn_id: str | None = None
    """The turn that is running now."""
    parent_id: str | None = None
    """The conversation it was forked from."""
    layout: ContextLayout | None = None
    """How its requests are laid out. Absent: as the settings say."""


@attrs.frozen(eq=False, repr=False)
class CreateConversationParams(Wire):
    """Begin a conversation."""

    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first one."""
    title: str | None = None
    """A name for it. Absent: its first line will be its title."""
    model: str | None = None
    """The model. Absent: the default one."""


@attrs.frozen(eq=False, repr=False)
class ListConversationsParams(Wire):
    """List conversations, the last changed first."""

    folder: str | None = None
    """URI of a workspace folder. Absent: of every open folder."""


@attrs.frozen(eq=False, repr=False)
class ListConversationsResult(Wire):
    """Conversations."""

    conversations: list[ConversationInfo]
    """The last changed first."""


@attrs.frozen(eq=False, repr=False)
class ReadConversationParams(Wire):
    """Read messages, oldest first."""

    conversation_id: str
    """The conversation."""
    start: int | None = None
    """The first message id wanted. Absent: 0."""
    limit: int | None = None
    """How many messages at most, 1 to 1000. Absent: 200."""


class MessageRole(enum.StrEnum):
    """Who said it."""

    USER = "user"
    """The person."""
    ASSISTANT = "assistant"
    """The model."""
    TOOL = "tool"
    """A tool, to the model."""


class MessageState(enum.StrEnum):
    """Whether a message is all that was to come."""

    COMPLETE = "complete"
    """It is."""
    CANCELLED = "cancelled"
    """It was cancelled on the way."""
    ERRORED = "errored"
    """It failed on the way."""
    INTERRUPTED = "interrupted"
    """The server died on the way."""


@attrs.frozen(eq=False, repr=False)
class MessagePart(Wire):
    """A part of a message. Which fields are present depends on `type`."""

    type: str
    """`text`, `reasoning`, `tool_call`, `tool_result` or `attachment`."""
    text: str | None = None
    """The text, or a tool result's."""
    call_id: str | None = None
    """The tool call."""
    name: str | None = None
    """The tool's name, or what an attachment is called."""
    arguments: str | None = None
    """A tool call's JSON arguments as the model wrote them."""
    is_error: bool | None = None
    """Whether a tool result is a failure."""


@attrs.frozen(eq=False, repr=False)
class MessageInfo(Wire):
    """A stored message."""

    id: int
    """Its id in the conversation."""
    role: MessageRole
    """Who said it."""
    text: str
    """Its text, without tool calls and results."""
    parts: list[MessagePart]
    """All its parts, in order."""
    state: MessageState
    """Whether it is all that was to come."""
    created_at: str
    """When it was stored."""
    digest: str
    """Covers the message and everything before it: 64 hex digits of SHA-256."""
    notes: list[str]
    """What was changed on entry, such as removed NUL characters."""
    is_hidden: bool
    """Whether it was rolled back: it can be read, and no model sees it."""
    turn_id: str | None = None
    """The turn it belongs to."""
    is_purged: bool | None = None
    """True when the user purged it: only its role, time and digest are left. Absent otherwise."""


@attrs.frozen(eq=False, repr=False)
class RunningTurn(Wire):
    """A turn whose answer is still coming."""

    turn_id: str
    """The turn, for `turn/attach`."""
    seq: int
    """The last delta that is durable."""
    text: str
    """The text of the answer so far that is not yet among the messages."""


@attrs.frozen(eq=False, repr=False)
class ReadConversationResult(Wire):
    """Messages of a conversation."""

    conversation: ConversationInfo
    """The conversation."""
    messages: list[MessageInfo]
    """Oldest first."""
    next: int | None = None
    """Where to go on reading. Absent: this was the end."""
    running: RunningTurn | None = None
    """The turn that is running now."""


@attrs.frozen(eq=False, repr=False)
class RenameParams(Wire):
    """Name a conversation."""

    conversation_id: str
    """The conversation."""
    title: str
    """Its name from now on; what is over 60 characters is cut off."""


@attrs.frozen(eq=False, repr=False)
class ArchiveParams(Wire):
    """Put a conversation away, or take it out again."""

    conversation_id: str
    """The conversation."""
    is_archived: bool
    """Whether it is put away."""


@attrs.frozen(eq=False, repr=False)
class SetLayoutParams(Wire):
    """Lay a conversation out otherwise, from its next turn on."""

    conversation_id: str
    """The conversation."""
    layout: ContextLayout | None = None
    """How. Absent: as the settings say."""


@attrs.frozen(eq=False, repr=False)
class SetDraftParams(Wire):
    """Keep what is typed and not sent yet."""

    conversation_id: str
    """The conversation."""
    text: str
    """The draft; empty for none."""


@attrs.frozen(eq=False, repr=False)
class ForkParams(Wire):
    """Go on from an earlier point in a new conversation. The old one stays as it is."""

    conversation_id: str
    """The conversation to fork."""
    message_id: int | None = None
    """The last message of the fork, widened to its whole exchange. Absent: the newest."""
    title: str | None = None
    """A name for the fork. Absent: the old one's."""


@attrs.frozen(eq=False, repr=False)
class RollbackParams(Wire):
    """Take back the end of a conversation."""

    conversation_id: str
    """The conversation."""
    message_id: int | None = None
    """The first message to take back, widened to the beginning of its exchange; absent: the newest."""


@attrs.frozen(eq=False, repr=False)
class RollbackResult(Wire):
    """What was taken back. It can still be read; ids are not used again."""

    hidden: MessageRange
    """The messages."""
    draft: str
    """The user's first message among them, to be sent again."""
    usage: ContextUsage
    """How full the context is now."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/conversation/create", CreateConversationParams, ConversationInfo, "Begin a conversation."),
    Request(
        "palimpsest/conversation/list", ListConversationsParams, ListConversationsResult, "List the conversations."
    ),
    Request(
        "palimpsest/conversation/read",
        ReadConversationParams,
        ReadConversationResult,
        "Read a conversation's messages, and what a running turn has said so far.",
    ),
    Request("palimpsest/conversation/rename", RenameParams, ConversationInfo, "Name a conversation."),
    Request(
        "palimpsest/conversation/layout",
        SetLayoutParams,
        ConversationInfo,
        "Lay a conversation out as a log or as the librarian does.",
    ),
    Request(
        "palimpsest/conversation/archive", ArchiveParams, ConversationInfo, "Put a conversation away, or take it out."
    ),
    Request(
        "palimpsest/conversation/fork",
        ForkParams,
        ConversationInfo,
        "Go on from an earlier point in another conversation.",
    ),
    Request(
        "palimpsest/conversation/rollback",
        RollbackParams,
        RollbackResult,
        "Take back the end of a conversation. It stays readable.",
    ),
    Request("palimpsest/draft/set", SetDraftParams, ConversationInfo, "Keep what is typed and not sent yet."),
)
