"""The offline provider shows what a search finds, says that it is one, and keeps the limit of its answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.clients.contexts import Answer, assistant, collect, context, user

from palimpsest.domain.context.prepared import PreparedContext, Segment
from palimpsest.domain.messages import ConversationId, TextPart, ToolCallPart, tool_result
from palimpsest.domain.models.provider import Finished, Provider, StopReason, TextDelta
from palimpsest.domain.offline.places import Found, Place
from palimpsest_clients.offline import OfflineProvider

QUOTE = Place("docs/ops.md:12", ("The server listens on port 9464.",), path="docs/ops.md")


class Finder:
    """Returns the given places and remembers what it was asked."""

    def __init__(self, *places: Place) -> None:
        self.found = Found(places, 3)
        self.asked: list[tuple[ConversationId, str]] = []

    async def __call__(self, conversation_id: ConversationId, question: str) -> Found:
        self.asked.append((conversation_id, question))
        return self.found


async def ask(question: str, *places: Place, max_output_tokens: int = 1000) -> Answer:
    prepared = replace(context(user(question)), max_output_tokens=max_output_tokens)
    answer = await collect(OfflineProvider(Finder(*places)).stream(prepared))
    assert answer.error is None
    return answer


async def test_it_streams_small_pieces_and_one_end() -> None:
    provider: Provider = OfflineProvider(Finder(QUOTE))
    assert provider.name == "offline"
    answer = await ask("Which port?", QUOTE)
    assert answer.text.startswith("This is a search, not the answer of a model. These places mention it:\n")
    assert "`docs/ops.md:12`" in answer.text
    assert answer.finished.stop_reason is StopReason.END
    *deltas, last = answer.events
    assert isinstance(last, Finished)
    assert len(deltas) == -(-len(answer.text) // 48)
    assert all(isinstance(delta, TextDelta) and 0 < len(delta.text) <= 48 for delta in deltas)


async def test_others_run_while_it_streams() -> None:
    places = [Place(f"{i}.md:1", ("word " * 40,)) for i in range(5)]
    n_turns = 0

    async def other() -> None:
        nonlocal n_turns
        while True:
            n_turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    answer = await ask("What pump?", *places)
    task.cancel()
    assert n_turns >= len(answer.events) - 1


async def test_nothing_is_looked_up_before_the_first_item_is_awaited() -> None:
    finder = Finder(QUOTE)
    stream = OfflineProvider(finder).stream(context(user("Which port?")))
    assert finder.asked == []
    await anext(stream)
    await stream.aclose()
    assert finder.asked == [(ConversationId("c-1"), "Which port?")]


async def test_usage_of_the_answer_is_bytes_by_four_and_of_the_request_nothing_is_claimed() -> None:
    answer = await ask("Wo läuft der Server?", QUOTE)
    usage = answer.finished.usage
    assert usage.output_tokens == -(-len(answer.text.encode()) // 4)
    assert usage.prompt_tokens == 0


@pytest.mark.parametrize("max_output_tokens", [1, 2, 10, 25])
@pytest.mark.parametrize("question", ["hello", "Which port?"])
async def test_no_limit_is_too_small(max_output_tokens: int, question: str) -> None:
    answer = await ask(question, replace(QUOTE, lines=("ééé " * 50,)), max_output_tokens=max_output_tokens)
    assert answer.finished.stop_reason is StopReason.OUTPUT_LIMIT
    assert 0 < len(answer.text.encode()) <= max_output_tokens * 4
    assert "é" not in answer.text


async def test_where_nothing_was_found_it_says_so_and_quotes_nothing() -> None:
    answer = await ask("What is the salary of the captain?")
    assert answer.text.startswith("This is a search, not the answer of a model. Nothing in this folder's files")
    assert ">" not in answer.text
    assert answer.finished.stop_reason is StopReason.END


@pytest.mark.parametrize("message", ["hello", "", "How are you?", "thanks"])
async def test_small_talk_gets_a_greeting_that_says_what_this_is(message: str) -> None:
    finder = Finder(QUOTE)
    answer = await collect(OfflineProvider(finder).stream(context(user(message))))
    assert answer.text.startswith("Hello. This is a search, not a model")
    assert finder.asked == []


def _question(*segments: Segment) -> PreparedContext:
    return replace(context(), segments=segments)


async def test_the_question_is_what_the_user_said_last_not_what_was_added_to_it() -> None:
    finder = Finder()
    call = ToolCallPart("1", "read_file", "{}")
    prepared = _question(
        Segment("summary", 1, "earlier", (user("[Earlier conversation summary] Which host?"),)),
        Segment("message", 1, "live", (user("Which cache?"), assistant(TextPart("None.")))),
        Segment("message", 1, "live", (user("Which port?"), assistant(call), tool_result(call, "9000"))),
        Segment("injection", 1, "facts", (user("A fact. Which colour?"),)),
    )
    await collect(OfflineProvider(finder).stream(prepared))
    assert [question for _, question in finder.asked] == ["Which port?"]
