"""Conversations and their messages."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.file_changes import UndoneFile
from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.usage import ContextUsage
from palimpsest.wire.declare import Notification, Request, Wire


class ContextLayout(enum.StrEnum):
    """How the requests of a conversation are laid out."""

    LOG = "log"
    """A log that only grows at its end, so that providers can cache it."""
    LIBRARIAN = "librarian"
    """Only pins, text that the search found for the question, and the newest messages. Such a request is small, and
    nothing of it can be cached."""


class SharingState(enum.StrEnum):
    """How a shared conversation is in step with the hub."""

    CURRENT = "current"
    """This store has what the hub has."""
    BEHIND = "behind"
    """The hub has more, which could not be taken in yet."""
    APART = "apart"
    """Messages were written here while the hub was away. They are sent when it is back, or move into a fork when
    somebody else has written meanwhile."""
    DETACHED = "detached"
    """It was shared once and is this store's alone now."""


@attrs.frozen(eq=False, repr=False)
class WriterInfo(Wire):
    """Somebody who writes a shared conversation on another machine."""

    name: str
    """The name of the member."""
    is_self: bool
    """Whether it is the user, on another machine."""
    work: str
    """What they do, to be read after `ann is`: `writing`, `purging messages`."""
    turn_id: str | None = None
    """The turn, for `turn/attach`, once it has shown something."""


@attrs.frozen(eq=False, repr=False)
class SharedInfo(Wire):
    """The sharing of a conversation."""

    team_id: str
    """The id of the team with which it is shared."""
    state: SharingState
    """How it is in step with the hub."""
    team: str | None = None
    """The team's name, when it is known."""
    role: str | None = None
    """The user's role in the team, when it is known: `reader`, `writer` or `admin`."""
    writer: WriterInfo | None = None
    """Who writes it on another machine now."""


@attrs.frozen(eq=False, repr=False)
class ConversationInfo(Wire):
    """A conversation in a list."""

    conversation_id: str
    """Its id, which never changes."""
    title: str
    """The user's name for it, or else the first line of its first message; empty when there is neither."""
    model: str
    """Its current model."""
    message_count: int
    """How many messages it has."""
    created_at: str
    """When it began."""
    updated_at: str
    """When it last changed."""
    folder: str
    """URI of its workspace folder."""
    is_archived: bool
    """Whether the user has archived it."""
    draft: str
    """Text that the user typed and did not send, or that was hidden; empty when there is none."""
    running_turn_id: str | None = None
    """The turn that is running now."""
    parent_id: str | None = None
    """The conversation it was forked from."""
    layout: ContextLayout | None = None
    """How its requests are laid out. Absent: the settings decide."""
    shared: SharedInfo | None = None
    """Its sharing through a hub. Absent: it was never shared."""


@attrs.frozen(eq=False, repr=False)
class CreateConversationParams(Wire):
    """A new conversation."""

    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""
    title: str | None = None
    """Its name. Absent: the first line of its first message becomes its title."""
    model: str | None = None
    """Its model. Absent: the default model."""


@attrs.frozen(eq=False, repr=False)
class ListConversationsParams(Wire):
    """Which conversations to list."""

    folder: str | None = None
    """URI of a workspace folder. Absent: all open folders."""


@attrs.frozen(eq=False, repr=False)
class ListConversationsResult(Wire):
    """Conversations."""

    conversations: list[ConversationInfo]
    """The last changed first."""


@attrs.frozen(eq=False, repr=False)
class ReadConversationParams(Wire):
    """Which messages to read."""

    conversation_id: str
    """The conversation."""
    start: int | None = None
    """The id of the first message. Absent: 0."""
    limit: int | None = None
    """The largest number of messages, 1 to 1000. Absent: 200."""


class MessageRole(enum.StrEnum):
    """Who wrote a message."""

    USER = "user"
    """The user."""
    ASSISTANT = "assistant"
    """The model."""
    TOOL = "tool"
    """A tool, for the model."""


class MessageState(enum.StrEnum):
    """Whether a message is complete."""

    COMPLETE = "complete"
    """It is complete."""
    CANCELLED = "cancelled"
    """The user cancelled it while it was written."""
    ERRORED = "errored"
    """An error ended it while it was written."""
    INTERRUPTED = "interrupted"
    """The server ended while it was written."""


@attrs.frozen(eq=False, repr=False)
class MessagePart(Wire):
    """A part of a message. Which fields are present depends on `type`."""

    type: str
    """`text`, `reasoning`, `tool_call`, `tool_result`, `attachment` or `image`."""
    text: str | None = None
    """The text, the text of a tool result, or the line that stands for a picture."""
    call_id: str | None = None
    """The id of the tool call."""
    name: str | None = None
    """The name of the tool, of the attachment, or of the picture."""
    arguments: str | None = None
    """The JSON arguments of a tool call, as the model wrote them."""
    is_error: bool | None = None
    """Whether a tool result is a failure."""
    digest: str | None = None
    """Of a picture: its name for `conversation/picture`."""


@attrs.frozen(eq=False, repr=False)
class ReadPictureParams(Wire):
    """A picture of a conversation."""

    conversation_id: str
    """The conversation."""
    digest: str
    """The `digest` of the picture's part."""


@attrs.frozen(eq=False, repr=False)
class ReadPictureResult(Wire):
    """A picture."""

    media_type: str
    """Its format: `image/png` or `image/jpeg`."""
    data: str
    """Its bytes in base64; at most 3.5 MB of bytes."""
    name: str
    """Its name for people."""
    width: int
    """In pixels."""
    height: int
    """In pixels."""


@attrs.frozen(eq=False, repr=False)
class MessageInfo(Wire):
    """A stored message."""

    id: int
    """Its id in the conversation."""
    role: MessageRole
    """Who wrote it."""
    text: str
    """Its text, without tool calls and results."""
    parts: list[MessagePart]
    """All its parts, in order."""
    state: MessageState
    """Whether it is complete."""
    created_at: str
    """When it was stored."""
    digest: str
    """A digest of the message and of all messages before it: SHA-256 in 64 hexadecimal digits."""
    notes: list[str]
    """What was changed when the message was stored, such as NUL characters that were removed."""
    is_hidden: bool
    """Whether it is hidden. It can be read, and it is sent to no model."""
    turn_id: str | None = None
    """The turn it belongs to."""
    is_purged: bool | None = None
    """True when the user purged it: only its role, time and digest are left. Absent otherwise."""
    author: str | None = None
    """For a message of a shared conversation that somebody else wrote, or whose turn they asked for: their name."""


@attrs.frozen(eq=False, repr=False)
class RunningTurn(Wire):
    """A turn that is running."""

    turn_id: str
    """The turn, for `turn/attach`."""
    seq: int
    """The number of the last delta that is stored."""
    text: str
    """The part of the answer that is not among the messages yet."""


@attrs.frozen(eq=False, repr=False)
class ReadConversationResult(Wire):
    """Messages of a conversation."""

    conversation: ConversationInfo
    """The conversation."""
    messages: list[MessageInfo]
    """Oldest first."""
    next: int | None = None
    """The `start` of the next page. Absent: there are no more messages."""
    running: RunningTurn | None = None
    """The turn that is running now."""


@attrs.frozen(eq=False, repr=False)
class RenameParams(Wire):
    """A new name for a conversation."""

    conversation_id: str
    """The conversation."""
    title: str
    """The name. It is cut off after 60 characters."""


@attrs.frozen(eq=False, repr=False)
class ArchiveParams(Wire):
    """Archive a conversation, or take it out of the archive."""

    conversation_id: str
    """The conversation."""
    is_archived: bool
    """Whether the conversation is archived from now on."""


@attrs.frozen(eq=False, repr=False)
class SetLayoutParams(Wire):
    """A layout for the next turns of a conversation."""

    conversation_id: str
    """The conversation."""
    layout: ContextLayout | None = None
    """The layout. Absent: the settings decide."""


@attrs.frozen(eq=False, repr=False)
class SetDraftParams(Wire):
    """A draft to keep."""

    conversation_id: str
    """The conversation."""
    text: str
    """The draft; empty to remove it."""


@attrs.frozen(eq=False, repr=False)
class ForkParams(Wire):
    """Fork a conversation at an earlier point. The original stays as it is."""

    conversation_id: str
    """The conversation to fork."""
    message_id: int | None = None
    """The last message of the fork, widened to its whole exchange. Absent: the newest message, without a question
    that is being answered on another machine."""
    title: str | None = None
    """A name for the fork. Absent: the name of the original with `(fork)` behind it, or `(fork 2)` and so on."""


@attrs.frozen(eq=False, repr=False)
class RollbackParams(Wire):
    """Hide the end of a conversation."""

    conversation_id: str
    """The conversation."""
    message_id: int | None = None
    """The first message to hide, widened to the beginning of its exchange. Absent: the user's newest message,
    which goes with its answer."""
    take_back_changes: bool | None = None
    """Whether to take back the accepted edits of the hidden messages as well, as `turn/undoChanges` does."""


@attrs.frozen(eq=False, repr=False)
class RollbackResult(Wire):
    """The effect of hiding messages. The messages can still be read, and their ids are never used again."""

    hidden: MessageRange
    """The messages that are hidden now."""
    draft: str
    """The user's first message among them, so that the user can send it again."""
    usage: ContextUsage
    """How full the context is now."""
    files: list[UndoneFile] | None = None
    """With `takeBackChanges`: what became of each file that was edited there."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/conversation/create", CreateConversationParams, ConversationInfo, "Begin a conversation."),
    Request("palimpsest/conversation/list", ListConversationsParams, ListConversationsResult, "List conversations."),
    Request(
        "palimpsest/conversation/picture",
        ReadPictureParams,
        ReadPictureResult,
        "Read the bytes of a picture in a message. One that was purged, or of which only the name was shared, is not "
        "found.",
    ),
    Request(
        "palimpsest/conversation/read",
        ReadConversationParams,
        ReadConversationResult,
        "Read the messages of a conversation, and the answer of a running turn so far.",
    ),
    Request("palimpsest/conversation/rename", RenameParams, ConversationInfo, "Name a conversation."),
    Request(
        "palimpsest/conversation/layout",
        SetLayoutParams,
        ConversationInfo,
        "Choose how the requests of a conversation are laid out.",
    ),
    Request(
        "palimpsest/conversation/archive",
        ArchiveParams,
        ConversationInfo,
        "Archive a conversation, or take it out of the archive.",
    ),
    Request(
        "palimpsest/conversation/fork",
        ForkParams,
        ConversationInfo,
        "Begin a conversation from an earlier point of another one.",
    ),
    Request(
        "palimpsest/conversation/rollback",
        RollbackParams,
        RollbackResult,
        "Hide the end of a conversation. It stays readable.",
    ),
    Request(
        "palimpsest/draft/set", SetDraftParams, ConversationInfo, "Keep text that the user has typed and not sent."
    ),
)
