"""Messages and facts for the tests of extraction and admission."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.facts.extraction.exchange import Exchange
from palimpsest.domain.facts.fact import (
    Candidate,
    Evidence,
    Fact,
    FactId,
    FactState,
    FactType,
    Origin,
    Place,
    SourceState,
    StoredFact,
)
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)

CONVERSATION = ConversationId("c")


def assistant(text: str, *calls: ToolCallPart) -> Content:
    return Content(Role.ASSISTANT, (TextPart(text), *calls))


def call(name: str, number: int = 0, /, **arguments: object) -> ToolCallPart:
    return ToolCallPart(f"call-{number}", name, json.dumps(arguments))


def stored(contents: Sequence[Content], first_id: int = 0) -> list[StoredMessage]:
    return [
        StoredMessage(CONVERSATION, MessageId(first_id + index), content, "", None, Digest(""))
        for index, content in enumerate(contents)
    ]


def exchange(*contents: Content, before: Sequence[Content] = (), folder: str = "") -> Exchange:
    return Exchange.of(stored(contents, len(before)), before=stored(before), folder=folder)


def typed(text: str) -> Exchange:
    return exchange(user_message(text))


def edited(arguments: Mapping[str, object], name: str = "edit_file", result: str = "ok", text: str = "") -> Exchange:
    """A user's request, and a call that changes a file."""
    made = ToolCallPart("call-0", name, json.dumps(arguments))
    return exchange(user_message("go"), assistant(text, made), tool_result(made, result))


def candidate(
    fact_type: FactType,
    content: str,
    *,
    quote: str | None = None,
    origin: Origin = Origin.USER,
    message_id: int = 0,
    entities: tuple[str, ...] = (),
    places: tuple[Place, ...] = (),
) -> Candidate:
    evidence = Evidence(CONVERSATION, MessageId(message_id), content if quote is None else quote, origin)
    return Candidate(Fact(fact_type, content, entities), evidence, places)


def in_store(candidates: Sequence[Candidate], first_id: int = 1) -> list[StoredFact]:
    """The candidates as facts of a store."""
    return [
        StoredFact(
            FactId(first_id + index),
            each.fact,
            1,
            "",
            each.evidence,
            tuple(SourceState(place, FactState.FRESH) for place in each.places),
        )
        for index, each in enumerate(candidates)
    ]
