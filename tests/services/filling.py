"""Fills a window: conversations of known size, messages of exactly so many tokens, a tokenizer that counts bytes."""

from __future__ import annotations

from typing import Final

from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, count_bytes
from palimpsest.domain.messages import user_message
from palimpsest.services.context.state import ContextState
from palimpsest.services.models.tokenizers import Tokenizer, Tokenizers

_MESSAGES: Final = 20
"""Messages into which a filling is cut."""


class ByteTokenizers(Tokenizers):
    """No vocabulary loads: bytes are counted for every model."""

    async def get(self, name: str) -> Tokenizer:
        return Tokenizer("bytes", count_bytes)


async def talk(bench: Opener, n_turns: int, window: int = 32_000) -> Bench:
    """A conversation of questions of about 120 tokens and answers of about 240."""
    b = await bench([says(f"Answer {n}. " * 60) for n in range(n_turns)], window=window)
    for number in range(n_turns):
        await b.ask(f"Question {number}. " * 30)
    return b


async def fill(b: Bench, share: float, *, left: int, question: str) -> None:
    """Appends messages until a request with that question takes `left` tokens less than that share of the budget, or
    hardly less."""
    engine = b.session.contexts
    async with engine.writing(b.conversation_id, "a test", lambda _: None) as context:
        state = context.state
        asked = state.tokenizer.count(question) + MESSAGE_OVERHEAD
        room = int(share * state.budget.budget) - left - asked - state.estimate.upper
        for n_messages in range(_MESSAGES, 0, -1):
            said = " dry" * (room // n_messages - MESSAGE_OVERHEAD)
            room -= state.tokenizer.count(said) + MESSAGE_OVERHEAD
            await engine.push_message(context, user_message(said))


async def question_for(b: Bench, request_tokens: int) -> str:
    """A message with which the next request is of exactly that many tokens."""
    state = await b.session.contexts.state(b.conversation_id)
    return words(state, request_tokens - state.raw_tokens - MESSAGE_OVERHEAD)


def words(state: ContextState, n_tokens: int) -> str:
    """A text of exactly that many tokens."""
    text = " a" * n_tokens
    assert state.tokenizer.count(text) == n_tokens
    return text
