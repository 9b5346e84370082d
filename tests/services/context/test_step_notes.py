"""Step notes: told once, stored, kept until the next compaction, and never at the price of one."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest
from tests.services.scripted import Action, Bench, Opener, calls, says

from palimpsest.domain.context.cut import CutCause, MessagePiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.notebook.step_note import NOTE_HEAD, NOTES_SHARE, StepNote
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import MessageId, Role
from palimpsest.domain.tools import ToolSchema
from palimpsest.machine import utc_now
from palimpsest.services.context.notebooks import Notebooks
from palimpsest.services.context.state import ContextState
from palimpsest.services.events import ContextEvent
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage.context import visibility

PARTS = 24


async def look(arguments: str) -> ToolOutput:
    path = json.loads(arguments)["path"]
    if json.loads(arguments)["again"]:
        return ToolOutput("It is as it was.")
    stem = path.removesuffix(".py").replace("/", "_")
    lines = [f"def handle_{stem}_{n}(job): keeps the order of queue_{stem}_{n}" for n in range(12)]
    return ToolOutput("\n".join(lines))


LOOK = Tool(ToolSchema("look", "look", {"type": "object"}), look)


def looking(call_id: str, path: str, *, again: bool = False) -> list[Action]:
    return calls((call_id, "look", json.dumps({"path": path, "again": again})))


async def after_much_work(bench: Opener) -> Bench:
    """A long turn of reading files, and then a turn that takes the first of them up again."""
    b = await bench([], window=8_000, reserve=1_000, tools=(LOOK,), recalls=True)
    b.provider.replies = [*(looking(f"c{n}", f"src/part_{n}.py") for n in range(PARTS)), says("Read.")]
    assert await b.ask("Look at all parts.") == "committed"
    return b


async def take_up(b: Bench, *paths: str) -> list[PreparedContext]:
    """The requests of a turn that looks at the files again."""
    first = len(b.provider.seen)
    b.provider.replies = [*(looking(f"{n}", path, again=True) for n, path in enumerate(paths)), says("Done.")]
    assert await b.ask("Once more, please.", f"request {first}") == "committed"
    return b.provider.seen[first:]


def notes(context: PreparedContext) -> list[str]:
    return [message.text for message in context.messages if message.text.startswith(NOTE_HEAD)]


async def state_of(b: Bench) -> ContextState:
    return await b.session.contexts.state(b.conversation_id)


async def test_a_step_is_told_what_was_done_before_behind_its_newest_result(bench: Opener) -> None:
    b = await after_much_work(bench)
    _, second, third = await take_up(b, "src/part_1.py", "src/part_2.py")
    told = notes(second)
    assert any("part_1" in note for note in told)
    newest = [message.role for message in second.messages][-2:]
    assert newest == [Role.TOOL, Role.USER]
    assert second.messages[-1].text.startswith(NOTE_HEAD)
    assert third.messages[: len(second.messages)] == second.messages, "a note changes nothing that was sent"


async def test_a_note_is_the_same_after_a_restart_and_goes_with_the_next_compaction(bench: Opener) -> None:
    b = await after_much_work(bench)
    await take_up(b, "src/part_1.py", "src/part_2.py")
    before = await state_of(b)
    noted = [piece.note for piece in before.pieces if isinstance(piece, MessagePiece) and piece.note]
    assert noted
    engine = b.session.contexts
    engine.forget(b.conversation_id)
    again = await state_of(b)
    assert again is not before
    assert again.pieces == before.pieces
    assert again.raw_tokens == before.raw_tokens
    async with engine.writing(b.conversation_id, "a test", lambda _: None) as context:
        kept = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in again.pieces]
        await engine.adoption.adopt(context, kept, CutCause.USER)
    engine.forget(b.conversation_id)
    assert not any(isinstance(piece, MessagePiece) and piece.note for piece in (await state_of(b)).pieces)


async def test_a_restart_before_a_turn_changes_none_of_its_notes(bench: Opener) -> None:
    told: list[list[str]] = []
    for is_restarted in (False, True):
        b = await after_much_work(bench)
        await take_up(b, "src/part_1.py", "src/part_2.py", "src/part_3.py")
        if is_restarted:
            b.session.contexts.forget(b.conversation_id)
        told.append([note for context in await take_up(b, "src/part_4.py") for note in notes(context)])
    assert told[0]
    assert told[0] == told[1]


async def test_notes_add_up_keep_to_their_share_and_make_no_compaction_due(bench: Opener) -> None:
    b = await after_much_work(bench)
    paths = [f"src/part_{n % PARTS}.py" for n in range(60)]
    for context in await take_up(b, *paths):
        assert context.upper_tokens <= context.limit_tokens
        assert sum(segment.tokens for segment in context.segments) == context.estimated_tokens
    state = await state_of(b)
    assert NOTES_SHARE * state.budget_raw >= sum(
        piece.note_tokens for piece in state.pieces if isinstance(piece, MessagePiece)
    )
    for compaction in (e for e in b.events if isinstance(e, ContextEvent) and e.type is ContextEventType.COMPACTION):
        assert compaction.cause == CutCause.THRESHOLD


async def test_nothing_purged_is_told_in_a_note(bench: Opener) -> None:
    b = await after_much_work(bench)
    await b.session.purging.purge(b.conversation_id, (MessageId(0), MessageId(2 + 2 * PARTS)), is_confirmed=True)
    for context in await take_up(b, "src/part_1.py", "src/part_2.py"):
        assert notes(context) == []


async def test_where_everything_is_sent_there_is_no_note(bench: Opener) -> None:
    b = await bench([], window=200_000, tools=(LOOK,), recalls=True)
    for context in await take_up(b, "src/part_1.py", "src/part_2.py", "src/part_1.py"):
        assert notes(context) == []


Change = Callable[[ContextState, StepNote], Awaitable[StepNote]]


def with_notes(monkeypatch: pytest.MonkeyPatch, change: Change) -> list[StepNote]:
    """Each note is changed once it was chosen. Returns those that were chosen, as they come."""
    real, chosen = Notebooks.note, list[StepNote]()

    async def note(notebooks: Notebooks, state: ContextState, since: int, room_tokens: int) -> StepNote:
        chosen.append(await real(notebooks, state, since, room_tokens))
        return await change(state, chosen[-1])

    monkeypatch.setattr(Notebooks, "note", note)
    return chosen


async def test_what_is_hidden_while_a_note_is_chosen_is_not_told(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await after_much_work(bench)

    async def hide(state: ContextState, note: StepNote) -> StepNote:
        if note.text:
            await b.store.run(visibility.hide, state.id, MessageId(0), MessageId(2 + 2 * PARTS), utc_now())
        return note

    chosen = with_notes(monkeypatch, hide)
    contexts = await take_up(b, "src/part_1.py")
    assert any("part_1" in note.text for note in chosen)
    assert [notes(context) for context in contexts] == [[], []]


async def test_a_note_that_would_make_a_compaction_due_is_not_told(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its room is counted raw, and what a request takes is an estimate that may say more."""
    b = await after_much_work(bench)

    async def enlarge(state: ContextState, note: StepNote) -> StepNote:
        room = b.session.contexts.due_tokens(state) - state.estimate.upper
        return StepNote(f"{note.text}{' and so on' * room}" if note.text else "", note.report)

    chosen = with_notes(monkeypatch, enlarge)
    contexts = await take_up(b, "src/part_1.py")
    assert any("part_1" in note.text for note in chosen)
    assert [notes(context) for context in contexts] == [[], []]
    assert max(context.upper_tokens for context in contexts) <= b.session.contexts.due_tokens(await state_of(b))
