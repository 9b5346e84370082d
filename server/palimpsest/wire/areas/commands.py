"""What a user types into a chat beside messages: mentions and slash commands."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class MentionKind(enum.StrEnum):
    """What an item stands for."""

    FILE = "file"
    """A file: it can be attached."""
    FOLDER = "folder"
    """A folder: completing goes on in it."""
    COMMAND = "command"
    """A slash command."""


@attrs.frozen(eq=False, repr=False)
class CompleteMentionsParams(Wire):
    """Complete what is being typed in a chat: a mention behind an `@`, a command behind a leading `/`."""

    text: str
    """The message as typed so far."""
    position: int
    """The cursor in it, in UTF-16 code units."""
    conversation_id: str | None = None
    """The conversation, whose workspace folder counts."""
    folder_uri: str | None = None
    """URI of the workspace folder, where no conversation is given. Absent: the only or first one."""


@attrs.frozen(eq=False, repr=False)
class MentionItem(Wire):
    """Something that may stand there."""

    kind: MentionKind
    """What it stands for."""
    label: str
    """How to show it: a file's name, or a command with its argument."""
    insert_text: str
    """What to put in the place of what was typed, from `start` to the cursor."""
    detail: str
    """More about it: the folder a file is in, or what a command does."""
    path: str | None = None
    """Of a file or folder: its path below the workspace folder, to attach it with."""


@attrs.frozen(eq=False, repr=False)
class CompleteMentionsResult(Wire):
    """What may stand at the cursor."""

    start: int
    """Where what was typed begins, in UTF-16 code units: at the `@` or `/`."""
    items: list[MentionItem]
    """Best first; empty where neither a mention nor a command is being typed."""
    is_incomplete: bool
    """Whether more would match: ask again when more was typed."""


@attrs.frozen(eq=False, repr=False)
class RunCommandParams(Wire):
    """Carry out a slash command that was typed into a chat. A text is one when it is a slash and a word of letters,
    alone or with white space behind it; any other is a message, for `chat`."""

    text: str
    """The command as typed, such as `/summarize 0-12`."""
    conversation_id: str | None = None
    """The conversation it was typed in. Absent: there is none yet."""
    folder_uri: str | None = None
    """URI of the workspace folder, where no conversation is given. Absent: the only or first one."""


@attrs.frozen(eq=False, repr=False)
class RunCommandResult(Wire):
    """What the command answered. It is no message: nothing of it is stored."""

    text: str
    """The answer, in Markdown."""
    conversation_id: str | None = None
    """The conversation in which the chat goes on, when that is another one."""
    turn_id: str | None = None
    """The turn that the command started (`/retry`, `/continue`): `turn/attach` follows its answer."""
    draft: str | None = None
    """What the user had typed, when the command made it the conversation's draft (`/rollback`)."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/mentions/complete",
        CompleteMentionsParams,
        CompleteMentionsResult,
        "Complete a mention of a file or a slash command in a chat.",
    ),
    Request(
        "palimpsest/command/run",
        RunCommandParams,
        RunCommandResult,
        "Carry out a slash command and answer it in Markdown; `/help` lists them. Each but `/purge` is also a command "
        "of `workspace/executeCommand`, `palimpsest.command.NAME`, with one argument "
        "`{argument, conversationId | uri | folderUri}`: given the `uri` of a chat document that is open, the answer "
        "stands in that.",
    ),
)
