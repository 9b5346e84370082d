"""In the layout `librarian` a request holds the newest messages and what was recalled; in the usual one everything."""

from __future__ import annotations

import pytest
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.recalled import HEAD
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import MessageId

SECRET = "The pump of the greenhouse is called Rosalind."


async def talk(bench: Opener) -> Bench:
    b = await bench([says(f"Answer {n}.") for n in range(12)], recalls=True)
    await b.ask(SECRET, "first")
    for number in range(8):
        await b.ask(f"Something else, number {number}, about tiles and paint.", f"other {number}")
    return b


def sent(b: Bench) -> str:
    return "\n".join(content.text for content in b.provider.seen[-1].messages)


async def test_a_conversation_that_is_sent_whole_is_told_nothing_twice(bench: Opener) -> None:
    b = await talk(bench)
    await b.ask("What is the pump called?", "asked")
    assert HEAD not in sent(b)
    assert sent(b).count(SECRET) == 1


async def test_the_librarians_layout_sends_the_newest_and_what_the_question_is_about(bench: Opener) -> None:
    b = await talk(bench)
    await b.session.conversations.set_layout(b.conversation_id, "librarian")
    await b.ask("What is the pump called?", "asked")
    assert "number 0" not in sent(b)
    assert "number 7" in sent(b)
    assert sent(b).index(HEAD) < sent(b).index("Rosalind")
    page = await b.session.conversations.read(b.conversation_id, None, 1000)
    assert page.messages[0].content.text == SECRET
    await b.session.conversations.set_layout(b.conversation_id, None)
    await b.ask("And the tiles?", "back")
    assert sent(b).startswith(SECRET)


async def test_what_was_rolled_back_is_not_recalled(bench: Opener) -> None:
    b = await talk(bench)
    await b.session.conversations.set_layout(b.conversation_id, "librarian")
    await b.session.conversations.roll_back(b.conversation_id, MessageId(0))
    await b.ask("What is the pump called?", "asked")
    assert "Rosalind" not in sent(b)


async def test_a_layout_that_does_not_exist_is_refused_with_those_that_do(bench: Opener) -> None:
    b = await bench([])
    with pytest.raises(InvalidRequest, match="log, librarian"):
        await b.session.conversations.set_layout(b.conversation_id, "mosaic")
