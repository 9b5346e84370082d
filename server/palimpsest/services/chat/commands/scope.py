"""What a slash command works on, what it answers, and how its argument is read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, MessageId, SummaryId, TurnId
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.editor_models import EditorId


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a command. It is not a message and is not stored."""

    text: str
    """Markdown."""
    conversation_id: ConversationId | None = None
    """The conversation in which the chat continues, when the command chose another one."""
    turn_id: TurnId | None = None
    """The turn that the command started. Its answer comes in the conversation."""
    draft: str = ""
    """The conversation's draft, when the command made it: what the user had typed."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The folder and the conversation that a command is about."""

    session: FolderSession
    open_conversation: ConversationId | None
    """The conversation in which the command was typed; None when there is none yet."""
    asked_by: EditorId | None = None
    """The editor in which it was typed; None for what is not an editor."""

    @property
    def conversation_id(self) -> ConversationId:
        """Raises InvalidRequest when there is no conversation yet."""
        if self.open_conversation is None:
            raise InvalidRequest("There is no conversation yet. Send a message first.")
        return self.open_conversation

    @property
    def conversations(self) -> Conversations:
        return self.session.conversations

    @property
    def contexts(self) -> ContextEngine:
        return self.session.contexts

    @property
    def facts(self) -> FactKeeper:
        return self.session.folder.facts.keeper


def number(argument: str, usage: str) -> int:
    """Raises InvalidRequest, which ends in `usage`, for anything but a number."""
    if not (argument.isascii() and argument.isdigit() and len(argument) < 10):
        raise InvalidRequest(f"{argument!r} is not a number. Type {usage}.")
    return int(argument)


def summary(argument: str, name: str) -> SummaryId:
    return SummaryId(number(argument, f"{name} N, with the number of a summary in /context"))


def message_range(argument: str, usage: str) -> tuple[MessageId, MessageId] | None:
    """`3-7`, both ends included, as [3, 8); None for an empty argument, which means the command's default."""
    if not argument:
        return None
    match = re.fullmatch(r"(\d{1,9})\s*-\s*(\d{1,9})", argument, re.ASCII)
    if match is None or int(match[1]) > int(match[2]):
        raise InvalidRequest(
            f"{argument!r} is not a range of messages. Type {usage}, with the numbers of the first and the last one."
        )
    return MessageId(int(match[1])), MessageId(int(match[2]) + 1)
