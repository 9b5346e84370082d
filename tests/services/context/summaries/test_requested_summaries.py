"""A summary may be asked for, written by somebody else, and put in place later."""

from __future__ import annotations

import pytest
from tests.services.filling import talk
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import MessageId
from palimpsest.machine import utc_now
from palimpsest.services.context.summaries.requested import RequestedSummaries
from palimpsest.storage import leases
from palimpsest.storage.leases import HeldLease


async def leased_talk(bench: Opener) -> tuple[Bench, HeldLease]:
    b = await talk(bench, 6)
    return b, await b.store.run(leases.acquire, b.store.writer(utc_now()), b.conversation_id, "a test")


async def test_what_is_asked_for_is_the_first_run_of_the_ids_with_its_numbers(bench: Opener) -> None:
    b, _ = await leased_talk(bench)
    state = await b.session.contexts.state(b.conversation_id)
    ids = [MessageId(each) for each in (4, 2, 3, 2, 7)]
    pending = RequestedSummaries(b.session.contexts).prepare_summarization(state, ids)
    assert pending is not None
    assert (pending.scope.ids, pending.scope.range) == ((2, 3, 4), (2, 5))
    assert [message_id for message_id, _ in pending.messages] == [2, 3, 4]
    assert pending.original_tokens == sum(piece.tokens for piece in state.pieces[2:5])
    assert pending.target_tokens == int(pending.original_tokens * b.session.contexts.settings.target_ratio)


async def test_the_newest_and_nothing_are_not_summarized_and_unknown_ids_are_refused(bench: Opener) -> None:
    b, _ = await leased_talk(bench)
    state = await b.session.contexts.state(b.conversation_id)
    asked = RequestedSummaries(b.session.contexts)
    assert asked.prepare_summarization(state, []) is None
    assert asked.prepare_summarization(state, [MessageId(10), MessageId(11)]) is None
    with pytest.raises(InvalidRequest, match="not a range"):
        asked.prepare_summarization(state, [MessageId(99)])


async def test_a_text_written_elsewhere_stands_for_its_messages_under_its_authors_name(bench: Opener) -> None:
    b, lease = await leased_talk(bench)
    context = await b.session.contexts.hold(lease)
    state = context.state
    asked = RequestedSummaries(b.session.contexts)
    pending = asked.prepare_summarization(state, [MessageId(0), MessageId(1)])
    assert pending is not None
    new = await asked.complete_summarization(context, pending, "They greeted each other.", "claude-haiku-4-5")
    assert isinstance(state.pieces[0], SummaryPiece)
    assert new == state.pieces[0]
    assert (new.start, new.end, new.summary.author) == (0, 2, "claude-haiku-4-5")
    with pytest.raises(InvalidRequest, match="not in the context any more"):
        await asked.complete_summarization(context, pending, "Again.", "claude-haiku-4-5")
    other = asked.prepare_summarization(state, [MessageId(2)])
    assert other is not None
    assert await asked.complete_summarization(context, other, "long " * 5_000, "claude-haiku-4-5") is None


async def test_without_a_range_an_older_message_between_two_summaries_is_summarized(bench: Opener) -> None:
    b = await bench([says(f"Answer {n}. " * 60) for n in range(6)], window=32_000)
    for number in range(6):
        await b.ask(f"Question {number}. " * 30)
    conversations = b.session.conversations
    for start, end in ((0, 2), (4, 8)):
        await conversations.summarize(b.conversation_id, (MessageId(start), MessageId(end)))
    done = await conversations.summarize(b.conversation_id, None)
    assert done.block is not None
    assert (done.block.start, done.block.end) == (2, 4)
    done = await conversations.summarize(b.conversation_id, None)
    assert (done.block, done.reason) == (None, "Nothing to summarize: the newest messages (4) always stay as they are.")


async def test_without_a_range_a_short_message_is_summarized_with_the_summary_behind_it(bench: Opener) -> None:
    replies = ["Answer. " * 60, "Yes.", *["Answer. " * 60] * 4]
    b = await bench([says(each) for each in replies], window=32_000)
    for number in range(6):
        await b.ask("And?" if number == 1 else f"Question {number}. " * 30)
    conversations = b.session.conversations
    for start, end in ((0, 2), (4, 8)):
        await conversations.summarize(b.conversation_id, (MessageId(start), MessageId(end)))
    done = await conversations.summarize(b.conversation_id, None)
    assert done.block is not None
    assert (done.block.start, done.block.end) == (2, 8)


async def test_where_older_messages_are_not_sent_a_summary_is_refused_and_nothing_changes(bench: Opener) -> None:
    b = await bench([says(f"Answer {n}. " * 60) for n in range(6)], window=32_000, context={"layout": "librarian"})
    for number in range(6):
        await b.ask(f"Question {number}. " * 30, str(number))
    before = await b.session.contexts.state(b.conversation_id)
    pieces, version = list(before.pieces), before.cut.version
    with pytest.raises(InvalidRequest, match="/layout log"):
        await b.session.conversations.summarize(b.conversation_id, None)
    after = await b.session.contexts.state(b.conversation_id)
    assert (after.pieces, after.cut.version) == (pieces, version)
