"""A conversation as it may leave this machine: what has to be taken out, and a copy without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from palimpsest.domain.conversation.chain import content_digest
from palimpsest.domain.conversation.titles import title_of, unforked
from palimpsest.domain.messages import ConversationId, MessageId, Role, TurnId
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.transfer.conversation import MessageLine, Transfer, as_copy
from palimpsest.machine import machine


def own_messages(transfer: Transfer) -> list[MessageLine]:
    """The messages that a fork was not forked with."""
    return [each for each in transfer.messages if each.conversation is None]


def to_clean(messages: Iterable[MessageLine], cleaner: Cleaner) -> list[MessageId]:
    """The messages that hold something which may not leave."""
    return [each.id for each in messages if each.content is not None and cleaner.content(each.content) != each.content]


def cannot_stay(transfer: Transfer) -> bool:
    """Whether no hub takes the conversation's own messages as they are: some were said alone behind others that were
    shared."""
    authors = [each.author for each in own_messages(transfer)]
    known = [each for each in authors if each is not None]
    return authors[len(authors) - len(known) :] != known


def clean_copy(transfer: Transfer, cleaner: Cleaner, conversation_id: ConversationId) -> Transfer:
    """A copy with that id, without what may not leave, and without what was derived from the messages, which may quote
    it. What stood for content that was never here is the content of the copy."""
    messages = []
    for each in transfer.messages:
        found = each.content or each.stand_in
        content = None if found is None else cleaner.content(found)
        if content is not None and content != each.content:
            each = replace(
                each, content=content, content_digest=content_digest(content), purged_role=None, stand_in=None
            )
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
    return as_copy(cleaned, conversation_id, ids)


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
