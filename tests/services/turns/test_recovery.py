"""An answer that broke off is offered until something is chosen; each choice does what it says, loses nothing, asks the
model with the user's one message, and frees the conversation. A turn can be stopped in whatever it is doing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.sent import NOTHING
from tests.services.scripted import Bench, Opener, calls, says
from tests.services.scripted_editor import SCOPE, ScriptedEditor
from tests.waiting import WAIT_S

from palimpsest.domain.approvals import edit_request
from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.errors import ConversationBusy, ErrorKind, InvalidRequest, ProviderError, RecentMessagesTooLarge
from palimpsest.domain.messages import MessageId, TurnId, user_message
from palimpsest.domain.models.limits import Model
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.journal import Ending, EventType, JournalEvent, Numbered, to_messages
from palimpsest.domain.turns.recovery import GO_ON, Break, CallFate, Rerun, Resolution, last_batch
from palimpsest.machine import utc_now
from palimpsest.services.context.engine import quoting
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.context.summaries.summarizers import SummaryTask, Written
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.editors import Editors
from palimpsest.services.tools.toolbox import Tool, ToolOutput, TurnScope
from palimpsest.services.turns.recovery import BrokenAnswer, Recovery
from palimpsest.services.turns.running import RunningTurn
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.conversation.message_log import Counts
from palimpsest.storage.leases import Writer, holder_of
from palimpsest.storage.turns import recovery as recovering
from palimpsest.storage.turns import stream_journal
from palimpsest.storage.turns import turns as stored
from palimpsest.storage.turns.turns import NewStep, TurnRequest

OVERLOADED = ProviderError(ErrorKind.OVERLOADED, "The model is overloaded.", is_retryable=True)
TEXT = JournalEvent(EventType.TEXT, "half an ans")
DONE = JournalEvent(EventType.DONE)
CALLS = [
    JournalEvent(EventType.TOOL_CALL, "", "1", "read"),
    JournalEvent(EventType.TOOL_CALL, "", "2", "write"),
    JournalEvent(EventType.TOOL_CALL, "", "3", "write"),
    DONE,
    JournalEvent(EventType.TOOL_START, "", "1", "read"),
    JournalEvent(EventType.TOOL_RESULT, "its text", "1", "read"),
    JournalEvent(EventType.TOOL_START, "", "2", "write"),
]


def recovery(b: Bench) -> Recovery:
    return Recovery(b.session.turns)


async def died(b: Bench, *events: JournalEvent, text: str = "question") -> TurnId:
    """A turn whose server ended after those events, as the next one finds it."""
    store, turn_id = b.store, TurnId(f"turn of {text}")
    counts = Counts("o200k_base", [1])
    writer, request = Writer("dead", store.is_alive, utc_now()), TurnRequest(text, user_message(text), counts)
    admission = await store.run(stored.admit, writer, turn_id, b.conversation_id, request)
    lease = admission.lease
    assert lease is not None
    step = await store.run(stored.begin_step, lease, turn_id, NewStep(0, "offline", "offline", 10, NOTHING), utc_now())
    if events:
        await store.run(stream_journal.append, lease, turn_id, step, events, utc_now())
    assert await store.run(stored.recover, store.writer(utc_now())) == [turn_id]
    return turn_id


async def failed(b: Bench, text: str = "question") -> TurnId:
    """A turn that has just ended in an error."""
    assert await b.ask(text) == "errored"
    return (await recovery(b).unresolved())[-1].turn.id


async def chosen(b: Bench, turn_id: TurnId, choice: Resolution) -> TurnId:
    """Makes the choice; the id of the turn that it began, when that has ended."""
    turn = await recovery(b).resolve(turn_id, choice)
    assert isinstance(turn, RunningTurn)
    await asyncio.wait_for(turn.wait(), WAIT_S)
    return turn.id


async def visible(b: Bench) -> list[tuple[str, str, str]]:
    page = await b.session.conversations.read(b.conversation_id, None, 1000)
    texts = await b.said()
    return [each for each, message in zip(texts, page.messages, strict=True) if message.id not in page.hidden]


def sent(b: Bench) -> list[tuple[str, str]]:
    """The last request: role and text of each message; a result's text for tool messages."""
    return [(c.role.value, c.text or "".join(r.text for r in c.results)) for c in b.provider.seen[-1].messages]


async def is_free(b: Bench) -> bool:
    return await b.store.read(holder_of, b.conversation_id) is None


# ---------------------------------------------------------------------------------------------------- what is offered


async def test_what_a_dead_server_left_is_listed_with_all_that_is_known(bench: Opener) -> None:
    b = await bench([])
    turn_id = await died(b, TEXT)
    (found,) = await recovery(b).unresolved()
    assert found == BrokenAnswer(found.turn, "bench", Break.INCOMPLETE, TEXT.text, 11, (), found.ended_at)
    assert (found.turn.id, found.turn.last_seq, found.turn.model) == (turn_id, 1, "offline")
    assert "server ended" in (found.turn.error_message or "")
    assert await recovery(b).recent() == [found]


async def test_the_end_of_a_long_answer_is_listed_with_the_length_of_all(bench: Opener) -> None:
    b = await bench([[TextDelta("x" * 5_000 + "the end"), OVERLOADED]])
    await failed(b)
    (found,) = await recovery(b).unresolved()
    assert (found.how, found.turn.error_kind, found.n_characters) == (Break.ERRORED, ErrorKind.OVERLOADED, 5_007)
    assert found.text == "x" * 1_993 + "the end"


async def test_what_failed_before_a_word_came_is_listed_and_not_offered_unasked(bench: Opener) -> None:
    b = await bench([[OVERLOADED], [TextDelta("half"), OVERLOADED]])
    await failed(b)
    assert len(await recovery(b).unresolved()) == 1
    assert await recovery(b).recent() == []
    turn_id = await failed(b, "and this?")
    assert [each.turn.id for each in await recovery(b).recent()] == [turn_id]


async def test_an_open_tool_batch_is_closed_honestly_and_listed_with_its_results(bench: Opener) -> None:
    b = await bench([])
    await died(b, TEXT, *CALLS)
    (found,) = await recovery(b).unresolved()
    assert found.how is Break.COMPLETE
    assert [(each.call.name, each.fate) for each in found.batch] == [
        ("read", CallFate.FINISHED),
        ("write", CallFate.UNKNOWN),
        ("write", CallFate.NOT_RUN),
    ]
    _, finished, unknown, not_run = (text for _, text, _ in (await b.said())[1:])
    assert finished == "its text"
    assert "interrupted; it is unknown whether it took effect" in unknown
    assert "was not run" in not_run


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.ERRORED, Ending.INTERRUPTED])
def test_a_tool_that_was_begun_is_never_said_not_to_have_run(ending: Ending) -> None:
    batch = last_batch(to_messages([TEXT, *CALLS], ending))
    assert [each.fate for each in batch] == [CallFate.FINISHED, CallFate.UNKNOWN, CallFate.NOT_RUN]
    assert "unknown whether it took effect" in batch[1].result.text


async def test_a_turn_that_ended_well_or_was_cancelled_is_not_listed(bench: Opener) -> None:
    b = await bench([says("all"), [TextDelta("half"), asyncio.Event()]])
    await b.ask("one")
    await stopped_when(b, "two", shows("half"))
    assert await recovery(b).unresolved() == []


async def test_whoever_goes_on_talking_has_kept_the_answer(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), OVERLOADED], says("next")])
    turn_id = await failed(b)
    await b.ask("never mind")
    assert await recovery(b).unresolved() == []
    for choice in (Resolution.CONTINUE, Resolution.RETRY, Resolution.DISCARD):
        with pytest.raises(InvalidRequest, match="not the conversation's last one"):
            await recovery(b).resolve(turn_id, choice)
    assert await is_free(b)


# ------------------------------------------------------------------------------------------------------- each choice


async def test_a_continued_answer_goes_on_from_what_was_kept(bench: Opener) -> None:
    b = await bench([says("wer"), says("more")])
    turn_id = await died(b, TEXT)
    new = await chosen(b, turn_id, Resolution.CONTINUE)
    assert sent(b) == [("user", "question"), ("assistant", TEXT.text), ("user", GO_ON.text)]
    assert await b.said() == [
        ("user", "question", "complete"),
        ("assistant", TEXT.text, "interrupted"),
        ("assistant", "wer", "complete"),
    ]
    outcome = await b.session.conversations.outcome(new)
    assert (outcome.message_ids, outcome.text, outcome.turn.user_message_id) == ((0, 2), "wer", 0)
    assert await recovery(b).unresolved() == []
    assert await is_free(b)
    await b.ask("and?")
    first, second = b.provider.seen
    assert second.lines()[: len(first.lines())] == first.lines(), "the prefix broke"
    assert second.messages.count(GO_ON) == 1


async def test_the_request_to_go_on_is_counted(bench: Opener) -> None:
    b = await bench([says("wer")])
    await chosen(b, await died(b, TEXT), Resolution.CONTINUE)
    (context,) = b.provider.seen
    state = await b.session.contexts.state(b.conversation_id)
    assert sum(segment.tokens for segment in context.segments) == context.estimated_tokens
    assert context.estimated_tokens <= context.upper_tokens <= context.limit_tokens == state.budget.wall


async def test_a_broken_tool_batch_is_continued_with_its_results_and_nothing_is_run_again(bench: Opener) -> None:
    ran: list[str] = []

    async def run(arguments: str) -> ToolOutput:
        ran.append(arguments)
        return ToolOutput("ran")

    tools = tuple(Tool(ToolSchema(name, name, {}), run, name == "read") for name in ("read", "write"))
    b = await bench([says("I see")], tools=tools)
    await chosen(b, await died(b, *CALLS), Resolution.CONTINUE)
    assert ran == []
    assert [role for role, _ in sent(b)] == ["user", "assistant", "tool", "tool", "tool"]
    assert "unknown whether it took effect" in sent(b)[3][1]


async def test_a_retry_hides_the_answer_and_asks_the_same_message_once(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), OVERLOADED], says("whole"), says("next")])
    await b.session.conversations.set_draft(b.conversation_id, "typed meanwhile")
    turn_id = await failed(b)
    await b.session.conversations.set_draft(b.conversation_id, "typed meanwhile")
    await chosen(b, turn_id, Resolution.RETRY)
    assert sent(b) == [("user", "question")]
    assert await visible(b) == [("user", "question", "complete"), ("assistant", "whole", "complete")]
    assert ("assistant", "half", "errored") in await b.said(), "the hidden answer cannot be read"
    state = await b.session.contexts.state(b.conversation_id)
    assert state.cut.cause is CutCause.ROLLBACK
    assert state.record.draft == "typed meanwhile"
    await b.ask("and?")
    assert sent(b) == [("user", "question"), ("assistant", "whole"), ("user", "and?")]
    b.session.contexts.forget(b.conversation_id)
    again = await b.session.contexts.state(b.conversation_id)
    assert [piece.start for piece in again.pieces] == [0, 2, 3, 4]


@pytest.mark.parametrize("how", [Resolution.RETRY, Resolution.CONTINUE])
async def test_what_could_not_be_sent_any_more_leaves_the_answer_where_it_is(bench: Opener, how: Rerun) -> None:
    b = await bench([[TextDelta("half"), OVERLOADED]], window=8_000, reserve=1_000)
    assert await b.ask("Mind the pump. " * 1_000) == "errored"
    turn_id = TurnId((await b.store.read(recovering.unresolved))[0].turn.id)
    before, contexts = await visible(b), b.session.contexts
    contexts.models.learn((await contexts.state(b.conversation_id)).model, 4_000)
    with pytest.raises(RecentMessagesTooLarge):
        await b.session.turns.go_on(turn_id, how)
    assert await visible(b) == before
    assert not b.session.contexts.leases.is_held


async def test_a_good_last_answer_can_be_given_again(bench: Opener) -> None:
    b = await bench([[*calls(("1", "no", "{}"))], says("dull"), says("bright")])
    running = await b.session.turns.start(b.conversation_id, "r", user_message("q"))
    assert isinstance(running, RunningTurn)
    await running.wait()
    with pytest.raises(InvalidRequest, match="complete"):
        await b.session.turns.go_on(running.id, Resolution.CONTINUE)
    second = await chosen(b, running.id, Resolution.RETRY)
    assert await visible(b) == [("user", "q", "complete"), ("assistant", "bright", "complete")]
    b.provider.replies = [says("brighter")]
    await chosen(b, second, Resolution.RETRY)
    assert (await visible(b))[1][1] == "brighter"


async def test_an_answer_that_ran_into_its_limit_can_be_continued(bench: Opener) -> None:
    b = await bench([[TextDelta("one, "), Finished(StopReason.OUTPUT_LIMIT, TokenUsage())], says("two")])
    running = await b.session.turns.start(b.conversation_id, "r", user_message("count"))
    assert isinstance(running, RunningTurn)
    await running.wait()
    await chosen(b, running.id, Resolution.CONTINUE)
    assert sent(b)[1:] == [("assistant", "one, "), ("user", GO_ON.text)]


async def test_a_turn_without_a_word_is_continued_by_asking_again(bench: Opener) -> None:
    b = await bench([[OVERLOADED], says("answer")])
    await chosen(b, await failed(b), Resolution.CONTINUE)
    assert sent(b) == [("user", "question")]
    assert await b.said() == [("user", "question", "complete"), ("assistant", "answer", "complete")]


async def test_what_breaks_off_again_can_be_continued_again(bench: Opener) -> None:
    b = await bench([[TextDelta("one, "), OVERLOADED], [OVERLOADED], [TextDelta("two, "), OVERLOADED], says("three")])
    turn_id = await failed(b, "count")
    for _ in range(3):
        turn_id = await chosen(b, turn_id, Resolution.CONTINUE)
        found = await recovery(b).unresolved()
        assert [each.turn.id for each in found] in ([turn_id], [])
    assert found == []
    go_on = ("user", GO_ON.text)
    assert sent(b) == [("user", "count"), ("assistant", "one, "), go_on, ("assistant", "two, "), go_on]
    b.provider.replies.append(says("1, 2, 3"))
    turn_id = await chosen(b, turn_id, Resolution.RETRY)
    assert await visible(b) == [("user", "count", "complete"), ("assistant", "1, 2, 3", "complete")]


async def test_the_same_choice_twice_is_one_turn_and_another_one_is_refused(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), OVERLOADED], says("whole")])
    turn_id = await failed(b)
    new = await chosen(b, turn_id, Resolution.RETRY)
    assert await recovery(b).resolve(turn_id, Resolution.RETRY) == new
    for other in (Resolution.CONTINUE, Resolution.KEEP, Resolution.DISCARD):
        with pytest.raises(InvalidRequest, match="run again already"):
            await recovery(b).resolve(turn_id, other)
    assert len(b.provider.seen) == 2
    assert await is_free(b)


async def test_a_kept_answer_is_not_offered_again_and_stays(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), OVERLOADED]])
    turn_id = await failed(b)
    before = await visible(b)
    for _ in range(2):
        assert await recovery(b).resolve(turn_id, Resolution.KEEP) is None
    assert await recovery(b).unresolved() == []
    assert await visible(b) == before


async def test_a_discarded_answer_is_hidden_and_its_message_stays(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), OVERLOADED], says("next")])
    turn_id = await failed(b)
    for _ in range(2):
        await recovery(b).resolve(turn_id, Resolution.DISCARD)
    assert await recovery(b).unresolved() == []
    assert await visible(b) == [("user", "question", "complete")]
    assert (await b.session.conversations.read(b.conversation_id, None, None)).record.draft == ""
    assert await is_free(b)
    await b.ask("and?")
    assert sent(b) == [("user", "question"), ("user", "and?")]


async def test_a_discarded_turn_becomes_the_draft_when_asked(bench: Opener) -> None:
    b = await bench([says("a"), [TextDelta("half"), OVERLOADED]])
    await b.ask("one")
    turn_id = await failed(b, "two")
    await recovery(b).resolve(turn_id, Resolution.DISCARD, "turn")
    assert [text for _, text, _ in await visible(b)] == ["one", "a"]
    assert (await b.session.conversations.read(b.conversation_id, None, None)).record.draft == "two"
    with pytest.raises(InvalidRequest, match="message is hidden"):
        await b.session.turns.go_on(turn_id, Resolution.RETRY)


async def test_a_rule_that_was_pinned_meanwhile_stands_in_the_continued_request(bench: Opener) -> None:
    b = await bench([says("first"), says("wer")])
    await RuleCommands(b.session.contexts).pin(b.conversation_id, "never use tabs")
    await b.ask("before")
    turn_id = await died(b, TEXT)
    await RuleCommands(b.session.contexts).pin(b.conversation_id, "always answer in verse")
    await chosen(b, turn_id, Resolution.CONTINUE)
    request = "\n".join(b.provider.seen[-1].lines())
    assert request.count("never use tabs") == request.count("always answer in verse") == 1


async def test_a_running_turn_cannot_be_resolved(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), asyncio.Event()]])
    running = await b.session.turns.start(b.conversation_id, "r", user_message("q"))
    assert isinstance(running, RunningTurn)
    with pytest.raises(ConversationBusy):
        await recovery(b).resolve(running.id, Resolution.RETRY)
    for choice in (Resolution.KEEP, Resolution.DISCARD):
        with pytest.raises(InvalidRequest, match="still running"):
            await recovery(b).resolve(running.id, choice)
    running.cancel()
    await running.wait()


async def test_a_retry_whose_server_dies_at_once_is_offered_in_its_turn(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), OVERLOADED], says("whole")])
    turn_id = await failed(b)
    store, new = b.store, TurnId("new")
    await store.run(
        recovering.reopen, Writer("dead", store.is_alive, utc_now()), new, turn_id, Resolution.RETRY, b.conversation_id
    )
    assert await store.run(stored.recover, store.writer(utc_now())) == [new]
    (found,) = await recovery(b).unresolved()
    assert (found.turn.id, found.text, found.how) == (new, "", Break.INCOMPLETE)
    b.session.contexts.forget(b.conversation_id)
    await chosen(b, new, Resolution.CONTINUE)
    assert sent(b) == [("user", "question")]


# ------------------------------------------------------------------------------------------------------- being stopped


def shows(text: str) -> Callable[[Numbered], bool]:
    return lambda numbered: numbered.event.text == text


async def stopped_when(b: Bench, text: str, is_time: Callable[[Numbered], bool]) -> str:
    """The state of a turn that is cancelled at the first event of that kind."""
    running = await b.session.turns.start(b.conversation_id, text, user_message(text))
    assert isinstance(running, RunningTurn)
    reached = asyncio.Event()
    running.follow(lambda numbered: reached.set() if is_time(numbered) else None, 0)
    return await stopped_at(running, reached)


async def stopped_at(running: RunningTurn, reached: asyncio.Event) -> str:
    await asyncio.wait_for(reached.wait(), WAIT_S)
    running.cancel()
    return (await asyncio.wait_for(running.wait(), WAIT_S)).state.value


async def begun(b: Bench, text: str = "q") -> RunningTurn:
    running = await b.session.turns.start(b.conversation_id, text, user_message(text))
    assert isinstance(running, RunningTurn)
    return running


async def goes_on(b: Bench) -> bool:
    """Whether the conversation is free, and a turn can run in it."""
    free = await is_free(b)
    b.provider.replies = [says("next")]
    return free and await b.ask("again") == "committed"


async def test_a_turn_stopped_when_it_was_just_admitted_keeps_the_message(bench: Opener) -> None:
    b = await bench([])
    running = await begun(b)
    running.cancel()
    await asyncio.wait([running.task] if running.task is not None else [], timeout=10)
    assert await b.said() == [("user", "q", "complete")]
    assert await goes_on(b)


async def test_a_turn_stopped_while_it_prepares_keeps_the_message(bench: Opener) -> None:
    b = await bench([])
    reached = asyncio.Event()

    usual, n_left = b.frame_now, 2

    async def once() -> Frame:
        nonlocal n_left
        n_left -= 1
        if n_left >= 0:
            return b.frame  # what the message has to fit beside, and what it is counted with
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    b.frame_now = once
    assert await stopped_at(await begun(b), reached) == "cancelled"
    b.frame_now = usual
    assert await b.said() == [("user", "q", "complete")]
    assert await goes_on(b)


async def test_a_turn_stopped_while_older_messages_are_summarized_keeps_everything(bench: Opener) -> None:
    b = await bench([says("word " * 700) for _ in range(5)], window=10_000, reserve=1_000)
    reached = asyncio.Event()

    class Slow:
        async def write(self, task: SummaryTask) -> Written:
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

    async def slow(_: Model, __: EditorId | None) -> Slow:
        return Slow()

    for number in range(5):
        assert await b.ask(f"q{number}") == "committed"
    before = await b.said()
    b.session.contexts.choose_summarizer = slow
    long = "word " * 3_500
    assert await stopped_at(await begun(b, long), reached) == "cancelled"
    assert await b.said() == [*before, ("user", long, "complete")]
    b.session.contexts.choose_summarizer = quoting
    assert await goes_on(b)


async def test_a_turn_stopped_while_it_streams_keeps_what_was_shown(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), asyncio.Event()]])
    assert await stopped_when(b, "q", shows("half")) == "cancelled"
    assert (await b.said())[1:] == [("assistant", "half", "cancelled")]
    assert await goes_on(b)


def waiting_tool(reached: asyncio.Event) -> Tool:
    async def run(_: str) -> ToolOutput:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    return Tool(ToolSchema("wait", "", {}), run, is_read_only=False)


async def test_a_turn_stopped_in_a_tool_says_that_its_effect_is_unknown(bench: Opener) -> None:
    reached = asyncio.Event()
    b = await bench([[TextDelta("I will. "), *calls(("1", "wait", "{}"))]], tools=(waiting_tool(reached),))
    assert await stopped_at(await begun(b), reached) == "cancelled"
    _, said, result = await b.said()
    assert said[1:] == ("I will. ", "complete")
    assert "unknown whether it took effect" in result[1]
    assert await goes_on(b)


async def test_a_turn_stopped_while_the_user_is_asked_takes_the_question_back(bench: Opener) -> None:
    editor, editors = ScriptedEditor(gate=asyncio.Event()), Editors()
    editors.attach(editor)

    def make(scope: TurnScope) -> Sequence[Tool]:
        async def run(_: str) -> ToolOutput:
            approvals = Approvals(b.store, editors, FolderTrust(True))
            await approvals.require(replace(SCOPE, wait=scope.wait), edit_request("a.py", "a diff"))
            raise AssertionError

        return [Tool(ToolSchema("edit", "", {}), run, is_read_only=False)]

    b = await bench([calls(("1", "edit", "{}"))], tools=tuple(make(SCOPE)))
    b.session.turns.services.toolbox.makers = (make,)
    assert await stopped_at(await begun(b), editor.is_asked) == "cancelled"
    assert (len(editor.asked), editor.n_withdrawn) == (1, 1)
    assert "nothing was done" in (await b.said())[2][1]
    assert await goes_on(b)


async def test_a_turn_stopped_while_it_commits_is_committed(bench: Opener) -> None:
    b = await bench([says("all of it")])
    gate, done = threading.Event(), asyncio.Event()
    running = await begun(b)
    running.follow(lambda numbered: done.set() if numbered.event.type is EventType.DONE else None, 0)
    await asyncio.wait_for(done.wait(), WAIT_S)
    blocked = asyncio.ensure_future(b.store.run(gate.wait, 10))  # the commit waits for the writer
    for _ in range(200):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await blocked
    state = (await asyncio.wait_for(running.wait(), WAIT_S)).state.value
    assert state == "committed"
    assert (await b.said())[1:] == [("assistant", "all of it", "complete")]
    assert await goes_on(b)


async def test_the_last_turn_is_the_one_no_other_took_the_place_of(bench: Opener) -> None:
    b = await bench([says("one"), [TextDelta("half"), OVERLOADED], says("again")])
    with pytest.raises(InvalidRequest, match="Nothing was asked"):
        await recovery(b).last_turn(b.conversation_id)
    await b.ask("first")
    first = await recovery(b).last_turn(b.conversation_id)
    broken = await failed(b, "second")
    assert await recovery(b).last_turn(b.conversation_id) == broken != first
    retried = await chosen(b, broken, Resolution.RETRY)
    assert await recovery(b).last_turn(b.conversation_id) == retried
    await b.session.conversations.roll_back(b.conversation_id, MessageId(2))
    assert await recovery(b).last_turn(b.conversation_id) == first
