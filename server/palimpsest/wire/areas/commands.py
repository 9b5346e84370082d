"""Mentions and slash commands in a chat."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class MentionKind(enum.StrEnum):
    """The kind of a suggestion."""

    FILE = "file"
    """A file. It can be attached."""
    FOLDER = "folder"
    """A folder. Completion goes on inside it."""
    COMMAND = "command"
    """A slash command, or the prompt of an MCP server."""
    RESOURCE = "resource"
    """A resource of an MCP server, as `@SERVER:URI`. The server attaches it when the message is sent."""


@attrs.frozen(eq=False, repr=False)
class CompleteMentionsParams(Wire):
    """A text to complete: a mention behind an `@`, or a command behind a leading `/`."""

    text: str
    """The message so far."""
    position: int
    """The position of the cursor in the text, in UTF-16 code units."""
    conversation_id: str | None = None
    """The conversation, whose workspace folder is searched."""
    folder_uri: str | None = None
    """URI of the workspace folder, used when there is no `conversationId`. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class MentionItem(Wire):
    """A suggestion."""

    kind: MentionKind
    """The kind of the suggestion."""
    label: str
    """The text to show: a file's name, or a command with its argument."""
    insert_text: str
    """The text that replaces the typed text from `start` to the cursor."""
    detail: str
    """More about it: the folder of a file, or what a command does."""
    path: str | None = None
    """The path of a file or folder below the workspace folder, for an attachment."""


@attrs.frozen(eq=False, repr=False)
class CompleteMentionsResult(Wire):
    """The suggestions."""

    start: int
    """Where the mention or command begins, in UTF-16 code units: at the `@` or `/`."""
    items: list[MentionItem]
    """The suggestions, the best first. Empty when the cursor is in neither a mention nor a command."""
    is_incomplete: bool
    """Whether there are more suggestions. The editor should ask again when the user has typed more."""


@attrs.frozen(eq=False, repr=False)
class RunCommandParams(Wire):
    """A slash command that a user typed into a chat.

    A text is a command when it is a slash and a name (a letter first, then letters, digits, `-` and `_`), alone or
    followed by white space. So is the prompt of an MCP server: a slash, the server's name of that form, a colon, and
    the prompt's name without white space. Any other text is a message, for `chat`.
    """

    text: str
    """The command as the user typed it, such as `/summarize 0-12`."""
    conversation_id: str | None = None
    """The conversation of the chat. Absent: the chat has none yet."""
    folder_uri: str | None = None
    """URI of the workspace folder, used when there is no `conversationId`. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class RunCommandResult(Wire):
    """The answer of a command. It is not a message, and nothing of it is stored."""

    text: str
    """The answer, in Markdown."""
    conversation_id: str | None = None
    """The conversation in which the chat goes on. Absent: the same one."""
    turn_id: str | None = None
    """The turn that the command started (`/retry`, `/continue`). `turn/attach` follows its answer."""
    draft: str | None = None
    """The text that the command made the draft of the conversation: of `/rollback`, of commands of the user's own, and
    of prompts of MCP servers."""


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
        "Run a slash command and answer in Markdown; `/help` lists the commands. Each command except `/purge` is "
        "also a command of `workspace/executeCommand`, `palimpsest.command.NAME`, with one argument `{argument, "
        "conversationId | uri | folderUri}`. With the `uri` of an open chat document, the answer is written into "
        "that document.",
    ),
)
