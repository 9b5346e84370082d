"""A conversation as it may leave this machine: what has to be taken out, and a copy without it."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.domain.conversation.chain import content_digest
from palimpsest.domain.conversation.titles import title_of, unforked
from palimpsest.domain.messages import ConversationId, MessageId, Role, TurnId
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.transfer.conversation import Transfer, as_copy
from palimpsest.machine import machine


def to_clean(transfer: Transfer, cleaner: Cleaner) -> list[MessageId]:
    """The conversation's own messages that hold something which may not leave."""
    own = [each for each in transfer.messages if each.conversation is None]
    return [each.id for each in own if each.content is not None and cleaner.content(each.content) != each.content]


def cannot_stay(transfer: Transfer, member: str) -> bool:
    """Whether no hub takes the conversation's own messages from that member as they are: another one wrote some, or
    some were said alone behind others that were shared."""
    authors = [each.author for each in transfer.messages if each.conversation is None]
    known = [each for each in authors if each is not None]
    return any(each != member for each in known) or authors[len(authors) - len(known) :] != known


def clean_copy(transfer: Transfer, cleaner: Cleaner) -> Transfer:
    """A copy without what may not leave, and without what was derived from the messages, which may quote it."""
    messages = []
    for each in transfer.messages:
        content = None if each.content is None else cleaner.content(each.content)
        if content is not None and content != each.content:
            each = replace(each, content=content, content_digest=content_digest(content))
        messages.append(each)
    header = replace(transfer.header, draft="", title=_clean_title(transfer, cleaner))
    cleaned = replace(
        transfer,
        header=header,
        messages=tuple(messages),
        summaries=(),
        cuts=(),
        previews=(),
        expansions=(),
        hidden=tuple(replace(each, n_summaries=0) for each in transfer.hidden),
    )
    ids = {each.turn: TurnId(machine.new_id()) for each in transfer.messages if each.turn is not None}
    ids |= {each.id: TurnId(machine.new_id()) for each in transfer.turns if each.id not in ids}
    return as_copy(cleaned, ConversationId(machine.new_id()), ids)


def _clean_title(transfer: Transfer, cleaner: Cleaner) -> str:
    """A title that was made of a message is made of the clean one: the old one may end within a secret, and a purge of
    the message has to know it."""
    title = transfer.header.title
    for each in transfer.messages:
        if each.content is not None and each.content.role is Role.USER:
            made = title_of(each.content.text)
            if made and unforked(title) == made:
                return title_of(cleaner.content(each.content).text) + title[len(made) :]
    return cleaner.text(title)
