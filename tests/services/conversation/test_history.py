"""Rolling back, forking, expanding, regenerating and undoing change the cut and nothing else."""

from __future__ import annotations

import pytest
from tests.services.filling import talk
from tests.services.scripted import Bench, Opener, calls, says

from palimpsest.domain.context.cut import MessagePiece, SummaryPiece, is_partition
from palimpsest.domain.conversation.chain import first_broken
from palimpsest.domain.errors import ConversationBusy, InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, MessageId, SummaryId
from palimpsest.domain.tools import ToolSchema
from palimpsest.machine import utc_now
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.conversation.history import HistoryEditor
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage import leases
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import hidden_ranges


async def state_of(b: Bench) -> ContextState:
    """The state as a restart would load it, which must be the one in memory."""
    state = await b.session.contexts.state(b.conversation_id)
    pieces = state.pieces
    b.session.contexts.forget(b.conversation_id)
    loaded = await b.session.contexts.state(b.conversation_id)
    assert loaded.pieces == pieces
    hidden = await b.store.read(hidden_ranges.read, b.conversation_id)
    ids = {MessageId(each) for h in hidden for each in range(h.start, h.end)}
    assert is_partition(loaded.pieces, loaded.n_messages, ids)
    assert pairs_are_whole(tuple(piece.content for piece in loaded.pieces))
    return loaded


def summary_ids(state: ContextState) -> list[SummaryId]:
    return [piece.summary.id for piece in state.pieces if isinstance(piece, SummaryPiece)]


async def test_a_roll_back_hides_a_suffix_and_offers_it_as_a_draft(bench: Opener) -> None:
    b = await talk(bench, 8)
    done = await b.session.conversations.roll_back(b.conversation_id, MessageId(12))
    assert (done.start, done.end, done.draft) == (12, 16, "Question 6. " * 30)
    assert (await state_of(b)).pieces[-1].end == 12
    page = await b.session.conversations.read(b.conversation_id, None, None)
    assert len(page.messages) == 16
    assert page.hidden == {12, 13, 14, 15}
    assert page.record.draft == done.draft
    b.provider.replies = [says("again")]
    await b.ask("Another way")
    page = await b.session.conversations.read(b.conversation_id, None, None)
    assert [m.id for m in page.messages][-2:] == [16, 17], "an id was used again"
    assert page.record.draft == "", "the draft outlived the message that was sent"
    assert first_broken(page.messages) is None
    assert not any("Question 6" in m.text for m in b.provider.seen[-1].messages)
    assert b.provider.seen[-1].messages[:12] == b.provider.seen[-2].messages[:12]


async def test_a_roll_back_is_widened_to_its_exchange(bench: Opener) -> None:
    async def echo(arguments: str) -> ToolOutput:
        return ToolOutput(arguments)

    tool = Tool(ToolSchema("echo", "echo", {"type": "object"}), echo)
    b = await bench([calls(("1", "echo", "{}"), ("2", "echo", "{}")), says("done")], tools=(tool,))
    await b.ask("q")
    done = await b.session.conversations.roll_back(b.conversation_id, MessageId(3))
    assert (done.start, done.end, done.draft) == (1, 5, "")
    await state_of(b)


async def test_a_roll_back_into_a_summary_brings_the_originals_before_it_back(bench: Opener) -> None:
    b = await talk(bench, 8)
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(8)))
    await b.session.conversations.roll_back(b.conversation_id, MessageId(4))
    state = await state_of(b)
    assert [piece.start for piece in state.pieces] == [0, 1, 2, 3]
    assert all(isinstance(piece, MessagePiece) for piece in state.pieces), "a summary speaks of what is hidden"


async def test_a_summary_may_later_reach_over_what_is_hidden(bench: Opener) -> None:
    b = await talk(bench, 8)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(14))
    b.provider.replies = [says(f"Reply {n}. " * 40) for n in range(4)]
    for number in range(4):
        await b.ask(f"Later {number}. " * 30)
    done = await b.session.conversations.summarize(b.conversation_id, (MessageId(10), MessageId(18)))
    assert done.block is not None
    assert "Question 7" not in done.block.summary.text
    await state_of(b)


async def test_a_fork_has_the_past_and_a_future_of_its_own(bench: Opener) -> None:
    b = await talk(bench, 8)
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    before = await b.said()
    fork = await b.session.conversations.fork(b.conversation_id, MessageId(8), "fork")
    assert (fork.n_messages, fork.parent, fork.fork_at) == (9, b.conversation_id, 9)
    original, b.conversation_id = b.conversation_id, fork.id
    state = await state_of(b)
    assert (state.pieces[0].start, state.pieces[0].end) == (0, 6), "the summary was not inherited"
    b.provider.replies = [says("elsewhere")]
    await b.ask("what if")
    page = await b.session.conversations.read(fork.id, None, None)
    assert [m.id for m in page.messages] == list(range(11))
    assert first_broken(page.messages) is None
    b.conversation_id = original
    assert await b.said() == before
    twice = await b.session.conversations.fork(fork.id, None, None)
    assert (twice.n_messages, twice.title) == (11, "fork (fork)")
    assert (await b.session.conversations.fork(twice.id, None, None)).title == "fork (fork 2)"
    page = await b.session.conversations.read(twice.id, None, None)
    assert first_broken(page.messages) is None
    assert page.messages[-1].content.text == "elsewhere"


async def test_forking_does_not_wait_for_a_turn(bench: Opener) -> None:
    b = await talk(bench, 2)
    async with b.session.conversations._writing(b.conversation_id, "a turn"):
        assert (await b.session.conversations.fork(b.conversation_id, None, None)).n_messages == 4
        with pytest.raises(ConversationBusy):
            await b.session.conversations.roll_back(b.conversation_id, MessageId(0))


async def test_expanding_goes_down_a_level_at_a_time_and_stays(bench: Opener) -> None:
    b = await talk(bench, 10)
    first = await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(12)))
    state = await state_of(b)
    (top,) = summary_ids(state)
    done = await b.session.conversations.expand(b.conversation_id, top)
    assert (done.start, done.end) == (0, 12)
    assert done.tokens_after > done.tokens_before
    state = await state_of(b)
    assert first.block is not None
    assert summary_ids(state) == [first.block.summary.id]
    await b.session.conversations.expand(b.conversation_id, first.block.summary.id)
    state = await state_of(b)
    assert summary_ids(state) == []
    assert state.expansions == ((0, 6),)
    with pytest.raises(NotFound, match="no summary"):
        await b.session.conversations.expand(b.conversation_id, top)
    assert len(await b.store.read(summary_tree.read, b.conversation_id)) == 2


async def test_what_does_not_fit_is_not_expanded_and_the_numbers_say_why(bench: Opener) -> None:
    b = await bench([says("Answer. " * 200) for _ in range(12)], window=4_000, reserve=500)
    for number in range(12):
        await b.ask(f"Question {number}. " * 10)
    state = await state_of(b)
    with pytest.raises(InvalidRequest, match="would need") as caught:
        await b.session.conversations.expand(b.conversation_id, summary_ids(state)[0])
    assert (caught.value.detail.projected_tokens or 0) > (caught.value.detail.limit_tokens or 0) > 0
    assert summary_ids(await state_of(b)) == summary_ids(state)


async def test_what_was_expanded_gives_way_when_a_request_would_not_fit(bench: Opener) -> None:
    b = await talk(bench, 8, window=8_000)
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(8)))
    state = await state_of(b)
    await b.session.conversations.expand(b.conversation_id, summary_ids(state)[0])
    b.provider.replies = [says("Reply. " * 300) for _ in range(6)]
    for number in range(6):
        assert await b.ask(f"More {number}. " * 60) == "committed"
    assert all(c.upper_tokens <= c.limit_tokens for c in b.provider.seen)


async def test_undo_walks_back_through_every_change_and_redo_comes_forward_again(bench: Opener) -> None:
    b = await talk(bench, 8)
    undo, redo = b.session.conversations.undo, b.session.conversations.redo
    with pytest.raises(InvalidRequest, match="Nothing to undo"):
        await undo(b.conversation_id)
    stood = [summary_ids(await state_of(b))]
    for start, end in ((0, 4), (4, 8), (8, 10)):
        await b.session.conversations.summarize(b.conversation_id, (MessageId(start), MessageId(end)))
        stood.append(summary_ids(await state_of(b)))
    assert [len(each) for each in stood] == [0, 1, 2, 3]
    for wanted in reversed(stood[:-1]):
        done = await undo(b.conversation_id)
        assert summary_ids(await state_of(b)) == wanted
    assert (done.start, done.end, done.reason) == (
        0,
        4,
        "Undone: messages 0 to 3 are in the context without their summary.",
    )
    with pytest.raises(InvalidRequest, match="Nothing to undo"):
        await undo(b.conversation_id)
    for wanted in stood[1:]:
        done = await redo(b.conversation_id)
        assert summary_ids(await state_of(b)) == wanted
    assert done.reason == "Redone: a summary covers messages 8 to 9."
    with pytest.raises(InvalidRequest, match="Nothing to redo"):
        await redo(b.conversation_id)
    assert len(await b.said()) == 16


async def test_a_change_behind_an_undo_ends_what_could_be_redone_and_is_undone_first(bench: Opener) -> None:
    b = await talk(bench, 8)
    for start, end in ((0, 4), (4, 8)):
        await b.session.conversations.summarize(b.conversation_id, (MessageId(start), MessageId(end)))
    first, _ = summary_ids(await state_of(b))
    await b.session.conversations.undo(b.conversation_id)
    await b.session.conversations.expand(b.conversation_id, first)
    with pytest.raises(InvalidRequest, match="Nothing to redo"):
        await b.session.conversations.redo(b.conversation_id)
    await b.session.conversations.undo(b.conversation_id)
    assert summary_ids(await state_of(b)) == [first]
    await b.session.conversations.undo(b.conversation_id)
    assert summary_ids(await state_of(b)) == []


async def test_undo_ends_at_a_roll_back(bench: Opener) -> None:
    b = await talk(bench, 8)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(14))
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(4)))
    await b.session.conversations.undo(b.conversation_id)
    with pytest.raises(InvalidRequest, match="does not bring back hidden messages"):
        await b.session.conversations.undo(b.conversation_id)


async def test_regenerating_keeps_the_old_summary_in_the_forest(bench: Opener) -> None:
    b = await talk(bench, 8)
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    (old,) = summary_ids(await state_of(b))
    done = await b.session.conversations.regenerate(b.conversation_id, old)
    assert (done.start, done.end) == (0, 6)
    (new,) = summary_ids(await state_of(b))
    assert new != old
    summaries = await b.store.read(summary_tree.read, b.conversation_id)
    assert {each.id for each in summaries} == {old, new}


async def test_names_drafts_and_archiving_are_kept(bench: Opener) -> None:
    b = await talk(bench, 1)
    conversations, conversation_id = b.session.conversations, b.conversation_id
    await conversations.rename(conversation_id, "  The pump\nand more ")
    await conversations.set_draft(conversation_id, "half a thought\0")
    record = await conversations.archive(conversation_id, is_archived=True)
    assert (record.title, record.draft, record.is_archived) == ("The pump", "half a thought", True)
    with pytest.raises(InvalidRequest, match="at least one character"):
        await conversations.rename(conversation_id, " \n")
    with pytest.raises(NotFound):
        await conversations.rename(ConversationId("nope"), "x")


@pytest.mark.parametrize("to", [-1, 16, 99])
async def test_there_is_nothing_to_roll_back_or_fork_beyond_the_end(bench: Opener, to: int) -> None:
    b = await talk(bench, 8)
    with pytest.raises(InvalidRequest, match="no message"):
        await b.session.conversations.roll_back(b.conversation_id, MessageId(to))
    with pytest.raises(InvalidRequest, match="no message"):
        await b.session.conversations.fork(b.conversation_id, MessageId(to), None)


async def test_without_a_number_the_newest_question_is_rolled_back_with_its_answer(bench: Opener) -> None:
    b = await talk(bench, 3)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(5))  # an answer, which leaves its question
    for start, end in ((4, 6), (2, 6), (0, 6)):
        done = await b.session.conversations.roll_back(b.conversation_id, None)
        assert (done.start, done.end, done.draft) == (start, end, f"Question {start // 2}. " * 30)
        assert [piece.start for piece in (await state_of(b)).pieces] == list(range(start))
    with pytest.raises(InvalidRequest, match="nothing to roll back"):
        await b.session.conversations.roll_back(b.conversation_id, None)


async def test_a_question_that_only_a_summary_tells_of_is_rolled_back_too(bench: Opener) -> None:
    async def look(arguments: str) -> ToolOutput:
        return ToolOutput("seen " * 300)

    tool = Tool(ToolSchema("look", "look", {"type": "object"}), look)
    b = await bench([*(calls((f"{n}", "look", "{}")) for n in range(9)), says("Done.")], tools=(tool,))
    await b.ask("Look nine times.")
    done = await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(7)))
    assert done.block is not None
    hidden = await b.session.conversations.roll_back(b.conversation_id, None)
    assert (hidden.start, hidden.draft) == (0, "Look nine times.")
    assert (await state_of(b)).pieces == []


async def test_the_newest_message_is_rolled_back_if_it_is_still_the_newest(bench: Opener) -> None:
    b = await talk(bench, 2)
    state = await state_of(b)
    editor = HistoryEditor(b.session.contexts)
    lease = await b.store.run(
        leases.acquire,
        b.store.writer(utc_now()),
        b.conversation_id,
        "a test",
    )
    with pytest.raises(InvalidRequest, match="no longer the newest one"):
        await editor.roll_back_newest(WritableContext(state, lease), MessageId(2))
    await b.store.run(leases.release, lease)
