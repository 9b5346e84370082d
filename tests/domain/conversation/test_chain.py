"""The digest chain: a message's digest covers its content, its header and everything before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from palimpsest.domain.conversation.chain import StoredMessage, content_digest, first_broken, message_digest
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ConversationId,
    Digest,
    MessageId,
    MessageStatus,
    OpaquePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    TurnId,
    clean_text,
    tool_result,
    user_message,
)

CONVERSATION = ConversationId("c")


def chain(*texts: str) -> list[StoredMessage]:
    stored: list[StoredMessage] = []
    predecessor: Digest | None = None
    for index, text in enumerate(texts):
        content = user_message(text)
        own = content_digest(content)
        predecessor = message_digest(predecessor, CONVERSATION, MessageId(index), "now", TurnId("t"), own)
        stored.append(StoredMessage(CONVERSATION, MessageId(index), content, "now", TurnId("t"), predecessor))
    return stored


def test_an_untouched_chain_verifies() -> None:
    assert first_broken(chain("a", "b", "c")) is None


@pytest.mark.parametrize(
    "change",
    [
        {"content": user_message("x")},
        {"created_at": "later"},
        {"turn_id": TurnId("u")},
        {"id": MessageId(7)},
        {"conversation_id": ConversationId("d")},
        {"digest": Digest("0" * 64)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_field_participates(change: dict[str, object]) -> None:
    stored = chain("a", "b", "c")
    stored[1] = replace(stored[1], **change)  # type: ignore[arg-type]
    assert first_broken(stored) == stored[1].id


def test_the_predecessor_participates() -> None:
    assert chain("a", "b")[1].digest != chain("x", "b")[1].digest


def test_the_author_participates_where_there_is_one() -> None:
    given = (None, CONVERSATION, MessageId(0), "now", TurnId("t"), content_digest(user_message("a")))
    digests = {message_digest(*given, author) for author in (None, "", "ann", "bob")}
    assert len(digests) == 4
    assert message_digest(*given) == chain("a")[0].digest


def test_a_missing_message_is_found() -> None:
    stored = chain("a", "b", "c")
    assert first_broken([stored[0], stored[2]]) == 2


def test_content_survives_its_json() -> None:
    call = ToolCallPart("1", "read", '{"a": 1}')
    contents = [
        Content(Role.ASSISTANT, (ReasoningPart("hm"), TextPart("é\u2028"), call, OpaquePart("p", "m", "{}"))),
        tool_result(call, "out", is_error=True),
        Content(Role.USER, (TextPart("a"), AttachmentPart("f:1", "x")), MessageStatus.COMPLETE, ("note",)),
    ]
    assert [Content.from_json(content.to_json()) for content in contents] == contents


def test_nul_and_lone_surrogates_are_cleaned_and_noted() -> None:
    text, notes = clean_text("a\0b\ud800c\U0001f389")
    assert text == "ab\ufffdc\U0001f389"
    assert notes == ("removed 1 NUL character", "replaced 1 lone surrogate by U+FFFD")
    assert clean_text("plain é") == ("plain é", ())
