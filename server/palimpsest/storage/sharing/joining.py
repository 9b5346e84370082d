"""Taking part in a conversation that the hub has."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.domain.sharing.log import SharedConversation
from palimpsest.storage import leases
from palimpsest.storage.conversation import conversations
from palimpsest.storage.leases import Writer
from palimpsest.storage.sharing import apart, shared
from palimpsest.storage.sharing.shared import Terms
from palimpsest.storage.turns import turns

_NEVER: Final = "which you have not shared with this team."


def join(writer: Writer, found: SharedConversation, terms: Terms) -> tuple[ConversationId, MessageId] | None:
    """From now on the conversation is shared here. What was said alone, after its sharing had ended here, moves into a
    fork first: the answer is that fork, and the first message that moved; None when there was nothing.

    Raises InvalidRequest when this store has a conversation of that id, or of its parent's, that was never shared with
    the team: an id is no proof, and what is here is nobody else's to read or to purge. Raises Unsound for a fork of
    messages that are not here, and ConversationBusy.
    """
    conversation_id = ConversationId(found.id)
    if (standing := shared.standing(conversation_id)) is not None:
        if (standing.hub, standing.team) != (found.hub, found.team):
            raise InvalidRequest("This conversation is shared with another team already.")
        return None
    moved = None
    if conversations.holds(conversation_id):
        was = shared.former(conversation_id)
        if was is None or (was.hub, was.team, was.member) != (found.hub, found.team, found.me):
            raise InvalidRequest(f"There is a conversation with the same id here, {_NEVER} To share it, share a fork.")
        alone = MessageId(was.n_messages)
        if conversations.get(conversation_id).n_messages > alone:
            lease, _ = turns.take(writer, conversation_id, "moving messages apart")
            moved = apart.move_apart(lease, alone, writer.now), alone
            leases.release(lease)
    elif found.parent is not None and not _was_shared(ConversationId(found.parent), found):
        raise InvalidRequest(f"This is a fork of a conversation whose id one here has, {_NEVER}")
    shared.attach(found, terms)
    return moved


def _was_shared(conversation_id: ConversationId, found: SharedConversation) -> bool:
    """Whether the conversation, if it is here, is or was shared with that team: then its messages are the team's
    too."""
    known = shared.standing(conversation_id) or shared.former(conversation_id)
    if known is None:
        return not conversations.holds(conversation_id)
    return (known.hub, known.team) == (found.hub, found.team)
