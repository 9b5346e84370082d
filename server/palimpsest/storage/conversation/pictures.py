"""Finding the bytes of a picture by a conversation that shows it."""

from __future__ import annotations

import json

from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import Content, ConversationId, Digest, ImagePart
from palimpsest.storage import contents
from palimpsest.storage.conversation import conversations, pending_work
from palimpsest.storage.sql import execute


def read(conversation_id: ConversationId, digest: Digest) -> tuple[ImagePart, bytes]:
    """The picture, as a message of the conversation that is not purged names it. Raises NotFound."""
    for owner, first, after in conversations.lineage(conversation_id):
        found = execute(
            """SELECT message_id, message.content FROM message
            JOIN message_content ON message_content.message = message.id
            WHERE conversation = ? AND message_id >= ? AND message_id < ? AND message_content.digest = ?
            AND message.content IS NOT NULL ORDER BY message_id""",
            *(owner, first, after, digest),
        ).fetchall()
        going = pending_work.being_purged(owner)
        for message_id, text in found:
            if any(start <= message_id < end for start, end in going):
                continue
            images = Content.from_json(json.loads(text)).images
            data = contents.read(digest)
            if data is not None:
                return next(image for image in images if image.digest == digest), data
    raise NotFound("This picture is not on this machine: it was deleted, or only its name was shared.")
