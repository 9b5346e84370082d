"""Shows messages of the conversation: `/read`, and the last ones when it goes on."""

from __future__ import annotations

from typing import Final

from palimpsest.terminal import texts
from palimpsest.terminal.errors import CommandFailed
from palimpsest.terminal.render import View, local_time, one_line
from palimpsest.terminal.session import Session
from palimpsest.wire.areas.conversations import (
    MessageInfo,
    MessageRole,
    MessageState,
    ReadConversationParams,
    ReadConversationResult,
)

_PAGE: Final = 20
"""Messages that are shown at once."""
_RECALLED: Final = 8
"""The most lines of an answer that are shown again."""
_LONGEST_LINE: Final = 400
"""Characters of a line that is shown again."""


async def read_messages(session: Session, view: View, argument: str) -> None:
    """Show one page: from the message with this number on, or, for an empty argument, the newest messages."""
    if argument and not (argument.isascii() and argument.isdigit()):
        raise CommandFailed(texts.READ_WRONG)
    if session.conversation_id is None:
        raise CommandFailed(texts.NO_CONVERSATION)
    if argument:
        start = int(argument)
    else:
        one = await _page(session, ReadConversationParams(session.conversation_id, 0, 1))
        start = max(0, one.conversation.message_count - _PAGE)
    page = await _page(session, ReadConversationParams(session.conversation_id, start, _PAGE))
    for message in page.messages:
        _show(view, message)
    if page.running is not None:
        view.note(texts.BEING_WRITTEN)
        view.say(page.running.text)
    if page.next is not None:
        view.note(texts.more_to_read(page.next))
    elif not page.messages:
        view.note(texts.no_message(start) if argument else texts.EMPTY)


async def recall(session: Session, view: View, *, is_running: bool) -> None:
    """Show the last question of the conversation, and the end of its answer unless that is still written: each in a few
    lines."""
    messages = [each for each in await session.newest_messages() if not (each.is_hidden or each.is_purged)]
    asked = next((each for each in reversed(messages) if each.role is MessageRole.USER), None)
    if asked is None:
        return
    said = [each.text for each in messages if each.id > asked.id and each.role is MessageRole.ASSISTANT]
    answer = "" if is_running else next((text.strip() for text in reversed(said) if text.strip()), "")
    question, *more = asked.text.strip().splitlines() or [""]
    shown = [f"> {_begin(question)}{' …' if more else ''}"]
    if answer:
        lines = answer.splitlines()
        shown += ["", *(["…"] if len(lines) > _RECALLED else []), *map(_begin, lines[-_RECALLED:])]
    view.recall("\n".join(shown))


def _begin(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"


async def _page(session: Session, params: ReadConversationParams) -> ReadConversationResult:
    return await session.connection.request("palimpsest/conversation/read", params, ReadConversationResult)


def _show(view: View, message: MessageInfo) -> None:
    state = "" if message.state is MessageState.COMPLETE else f", {message.state.value}"
    state += ", purged" if message.is_purged else ", hidden" if message.is_hidden else ""
    who = message.role.value if message.author is None else f"{message.role.value} ({one_line(message.author)})"
    view.note(f"[{message.id}] {who}, {local_time(message.created_at)}{state}")
    if message.text and message.role is not MessageRole.TOOL:
        view.say(message.text)
    for part in message.parts:
        if part.type == "tool_call":
            view.note(f"→ {one_line(part.name or 'tool')} {one_line(part.arguments or '')}".rstrip())
        elif part.type == "tool_result":
            first, _, rest = (part.text or "").partition("\n")
            view.note(f"← {one_line(part.name or 'tool')} {one_line(first)}{' …' if rest else ''}".rstrip())
        elif part.type == "attachment":
            view.note(f"+ {one_line(part.name or 'attachment')}")
