"""Every request that was sent can be shown again, byte for byte, whatever became of its conversation since. A request
whose words were purged says so."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.services.context.test_recalling import QUESTION, with_something_to_recall
from tests.services.scripted import Bench, Opener, calls, says
from tests.services.turns.test_recovery import chosen, failed

from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.sent_request import ChangedEntry, MessagesEntry, Outline, SummaryEntry
from palimpsest.domain.errors import ErrorKind, InvalidRequest, NotFound, ProviderError
from palimpsest.domain.messages import ConversationId, MessageId, SummaryId, TurnId
from palimpsest.domain.models.provider import TextDelta
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.recovery import GO_ON, Resolution
from palimpsest.services.context.past_requests import PastRequest, check_requests, past_request, request_about
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage.context import injections
from palimpsest.storage.sql import execute
from palimpsest.storage.turns import sent_requests
from palimpsest.storage.turns.sent_requests import StepRecord


async def _steps(b: Bench, conversation_id: ConversationId | None = None) -> list[StepRecord]:
    return await b.store.read(sent_requests.steps_in, conversation_id or b.conversation_id)


async def _past(b: Bench, turn_id: TurnId, number: int | None = None) -> PastRequest:
    return await past_request(b.session.contexts, b.conversation_id, turn_id, number)


async def _all_again(b: Bench) -> None:
    """Each request that the service got comes out the same: its words, limits and segments."""
    steps = await _steps(b)
    assert len(steps) == len(b.provider.seen) > 0
    for step, sent in zip(steps, b.provider.seen, strict=True):
        past = await _past(b, step.turn_id, step.number)
        assert past.context.lines() == sent.lines()
        assert past.is_same
        assert past.digest == sent.digest()
        for name in ("tool_choice", "limit_tokens", "upper_tokens", "estimated_tokens", "max_output_tokens"):
            assert getattr(past.context, name) == getattr(sent, name), name
        shown = [(s.type, s.message_ids, s.summary_id, s.is_in_prefix, s.reason) for s in past.context.segments]
        assert shown == [(s.type, s.message_ids, s.summary_id, s.is_in_prefix, s.reason) for s in sent.segments]
        assert sum(segment.tokens for segment in past.context.segments) == sent.estimated_tokens
    checked = await check_requests(b.session.contexts, b.conversation_id)
    assert (checked.n_equal, checked.n_requests) == (len(steps), len(steps))


async def _ask(b: Bench, text: str) -> None:
    b.provider.replies = [says("Yes. " * 40)]
    assert await b.ask(text, f"request {len(b.provider.seen)}") == "committed"


def test_an_outline_comes_back_from_its_text() -> None:
    outline = Outline(
        True,
        (
            SummaryEntry(SummaryId(3)),
            MessagesEntry(MessageId(4), MessageId(9)),
            ChangedEntry(MessageId(9), True, (1, 4), None),
            ChangedEntry(MessageId(10), False, (), 7),
        ),
        (MessageId(8),),
    )
    assert Outline.from_text(outline.to_text()) == outline


async def test_summaries_previews_and_tool_work(bench: Opener) -> None:
    async def read(arguments: str) -> ToolOutput:
        return ToolOutput("a line of the file\n" * int(json.loads(arguments)["n"]))

    b = await bench([], window=8_000, reserve=1_000, tools=(Tool(ToolSchema("read", "reads", {}), read),))
    for number in range(20):
        b.provider.replies = [
            calls((f"c{number}", "read", json.dumps({"n": 2_000 if number % 5 == 1 else 30}))),
            says(f"Answer {number}. " * 60),
        ]
        assert await b.ask(f"Question {number}. " * 60) == "committed"
    sent = {segment.type for context in b.provider.seen for segment in context.segments}
    assert {"summary", "preview", "message"} <= sent
    await _all_again(b)


async def test_what_was_recalled_and_ruled_by_command(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    # The same as it changed in memory.
    await b.store.run(lambda: execute("UPDATE summary SET text = 'They talked.'"))
    await RuleCommands(b.session.contexts).pin(b.conversation_id, "The schema is frozen.")
    await _ask(b, QUESTION)
    await _ask(b, "And what else?")
    told = [each for each in b.provider.seen[-1].segments if each.type == "injection"]
    await b.session.conversations.summarize(b.conversation_id, None)
    await _ask(b, f"{QUESTION} Again.")
    assert told
    assert any(segment.type == "pins" for segment in b.provider.seen[-1].segments)
    await _all_again(b)


async def test_what_is_told_no_more_stands_in_the_requests_that_told_it(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    await b.store.run(lambda: execute("UPDATE summary SET text = 'They talked.'"))
    await _ask(b, QUESTION)
    await b.store.run(injections.end_recall, b.conversation_id)  # as a roll back elsewhere does
    await _ask(b, "And what else?")
    told = [any("Rosalind" in content.text for content in context.messages) for context in b.provider.seen[-2:]]
    assert told == [True, False]
    await _all_again(b)


async def test_a_request_is_shown_as_it_was_however_the_conversation_went_on(bench: Opener) -> None:
    b = await bench([], window=32_000)
    for number in range(6):
        await _ask(b, f"Question {number}. " * 20)
    conversations = b.session.conversations
    await conversations.roll_back(b.conversation_id, MessageId(8))
    await _ask(b, "Another way")
    await conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    await _ask(b, "And then?")
    b.frame = Frame("Be brief.", b.frame.tools)
    await _ask(b, "And now?")
    await _all_again(b)


async def test_a_continued_answer(bench: Opener) -> None:
    b = await bench([[TextDelta("Half of it"), ProviderError(ErrorKind.NETWORK, "Gone.")]])
    ended = await failed(b)
    b.provider.replies = [says(" and more.")]
    await chosen(b, ended, Resolution.CONTINUE)
    await _ask(b, "Thanks")
    assert GO_ON in b.provider.seen[-1].messages
    await _all_again(b)


async def test_an_answer_that_was_given_again(bench: Opener) -> None:
    b = await bench([])
    ended = await failed(b)
    b.provider.replies = [says("Once more.")]
    await chosen(b, ended, Resolution.RETRY)
    await _ask(b, "Thanks")
    await _all_again(b)


async def test_secrets_that_were_not_sent_are_not_shown(bench: Opener) -> None:
    b = await bench([])
    key = "AKIA" + "Q" * 16
    contexts = b.session.contexts
    contexts.models = replace(contexts.models, providers={"offline": b.provider})
    b.provider.name = "elsewhere"
    await _ask(b, f"The key is {key}.")
    assert key not in "".join(b.provider.seen[-1].lines())
    await _all_again(b)


async def test_the_request_that_a_message_came_of_is_found(bench: Opener) -> None:
    async def read(_: str) -> ToolOutput:
        return ToolOutput("a line")

    b = await bench([], tools=(Tool(ToolSchema("read", "reads", {}), read),))
    for number in range(2):
        b.provider.replies = [calls((f"c{number}", "read", "{}")), says("Done.")]
        assert await b.ask(f"Question {number}") == "committed"
    fork = await b.session.conversations.fork(b.conversation_id, MessageId(6), None)
    messages = {0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 2}
    for message, request in messages.items():
        for conversation in (b.conversation_id, fork.id):
            past = await request_about(b.session.contexts, conversation, MessageId(message))
            assert past.context.lines() == b.provider.seen[request].lines(), message
    with pytest.raises(NotFound, match="message 99"):
        await request_about(b.session.contexts, b.conversation_id, MessageId(99))


async def test_in_a_fork_the_turns_of_its_parent_can_be_asked_about(bench: Opener) -> None:
    b = await bench([])
    await _ask(b, "First")
    await _ask(b, "Second")
    first, second = [step.turn_id for step in await _steps(b)]
    fork = await b.session.conversations.fork(b.conversation_id, MessageId(1), None)
    contexts, seen = b.session.contexts, b.provider.seen
    assert (await past_request(contexts, fork.id, first, None)).context.lines() == seen[0].lines()
    with pytest.raises(NotFound, match="another conversation"):
        await past_request(contexts, fork.id, second, None)


async def test_a_request_whose_words_were_purged_says_so(bench: Opener) -> None:
    b = await bench([])
    await _ask(b, "First")
    await _ask(b, "Second")
    first, second = [step.turn_id for step in await _steps(b)]
    await b.session.purging.purge(b.conversation_id, (MessageId(2), MessageId(4)), is_confirmed=True)
    assert (await _past(b, first)).is_same
    with pytest.raises(InvalidRequest, match="message 2 was purged"):
        await _past(b, second)
    checked = await check_requests(b.session.contexts, b.conversation_id)
    assert (checked.n_equal, [clause for _, clause in checked.gone]) == (1, ["message 2 was purged"])


async def test_an_unknown_turn_or_step_and_an_older_request(bench: Opener) -> None:
    b = await bench([])
    await _ask(b, "First")
    (step,) = await _steps(b)
    with pytest.raises(NotFound, match="no turn"):
        await _past(b, TurnId("nothing"))
    with pytest.raises(NotFound, match="its last step is 0"):
        await _past(b, step.turn_id, 1)
    await b.store.run(lambda: execute("DELETE FROM sent_request"))
    with pytest.raises(InvalidRequest, match="earlier version"):
        await _past(b, step.turn_id)
    assert (await check_requests(b.session.contexts, b.conversation_id)).n_unknown == 1


async def test_a_request_that_comes_out_otherwise_is_told_apart(bench: Opener) -> None:
    b = await bench([])
    await _ask(b, "First")
    (step,) = await _steps(b)
    await b.store.run(lambda: execute("UPDATE message SET content = REPLACE(content, 'First', 'Fifth')"))
    assert not (await _past(b, step.turn_id)).is_same
    assert (await check_requests(b.session.contexts, b.conversation_id)).differing == [step]


async def test_a_frame_is_stored_once(bench: Opener) -> None:
    b = await bench([])
    for number in range(3):
        await _ask(b, f"Question {number}")
    b.frame = Frame("Be brief.", ())
    await _ask(b, "And now?")
    assert await b.store.read(lambda: execute("SELECT COUNT(*) FROM frame").fetchone()) == (2,)
