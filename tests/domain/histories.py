"""Random conversations for property tests: legal ones, with parallel calls, long texts and large results."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.tokens import count_bytes, count_content
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)

_SEEDS = [
    "never use tabs",
    "src/app.py fails because load_file raised error: é",
    "the parser\nreads two lines. Then it stops",
    "ok",
]
TEXTS = st.builds(lambda text, times: f"{text}. " * times, st.sampled_from(_SEEDS), st.integers(1, 30))


@st.composite
def exchanges(draw: st.DrawFn) -> list[Content]:
    """One exchange: a user's message, or an assistant's with all results of its calls."""
    if draw(st.booleans()):
        return [user_message(draw(TEXTS))]
    n_calls = draw(st.integers(0, 3))
    calls = tuple(ToolCallPart(f"call-{i}", "read", '{"path": "a"}') for i in range(n_calls))
    text: tuple[Part, ...] = (TextPart(draw(TEXTS)),)
    results = [tool_result(call, draw(TEXTS) * 4) for call in calls]
    return [Content(Role.ASSISTANT, text + calls), *draw(st.permutations(results))]


histories = st.lists(exchanges(), min_size=1, max_size=15)
"""Conversations as exchanges."""


def as_lives(contents: Sequence[Content], first_id: int = 0) -> list[MessagePiece]:
    """The contents as live messages, counted in bytes."""
    return [
        MessagePiece(
            StoredMessage(ConversationId("c"), MessageId(first_id + index), content, "", None, Digest("")),
            count_content(content, count_bytes),
        )
        for index, content in enumerate(contents)
    ]
