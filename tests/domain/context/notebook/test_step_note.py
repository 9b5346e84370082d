"""Step notes: what they tell of earlier work, and what they leave alone."""

from __future__ import annotations

import json
import re

from tests.domain.histories import as_lives
from tests.domain.pages import notebook_of

from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.step_note import NOTE_HEAD, step_note
from palimpsest.domain.context.recall_report import LeftOutBecause
from palimpsest.domain.messages import Content, MessageId, Role, ToolCallPart, tool_result

BUDGET = 16_000


def called(name: str, result: str, **arguments: object) -> list[Content]:
    call = ToolCallPart("1", name, json.dumps(arguments))
    return [Content(Role.ASSISTANT, (call,)), tool_result(call, result)]


def book_of_work() -> tuple[Notebook, int]:
    """Work on `src/reader.py`, much other work, and the reader again; and the message that takes it up again."""
    steps = called(
        "edit", "edited", path="src/reader.py", text="def read_block(source): calls skip_blank and next_open"
    )
    for n in range(20):
        steps += called("edit", "edited", path=f"src/part_{n}.py", text=f"def work_{n}(job): counts the jobs")
    again = len(steps)
    steps += called("read", "", path="src/reader.py")
    return notebook_of(as_lives(steps)), again


def test_a_file_that_is_taken_up_again_brings_what_was_done_to_it() -> None:
    book, again = book_of_work()
    note = step_note(book, again, {}, frozenset(), BUDGET, BUDGET).text
    assert note.startswith(NOTE_HEAD)
    assert "read_block" in note
    assert "skip_blank" in note
    assert "work_7" not in note


def test_what_the_context_tells_is_not_told_again() -> None:
    book, again = book_of_work()
    told = {name: 1.0 for entry in book.entries.values() for name in entry.names}
    assert step_note(book, again, told, frozenset(), BUDGET, BUDGET).text == ""


def test_live_messages_and_a_step_that_names_nothing_known_bring_no_note() -> None:
    book, again = book_of_work()
    live = frozenset(MessageId(each) for each in range(again))
    assert step_note(book, again, {}, live, BUDGET, BUDGET).text == ""
    assert step_note(book, book.n_read, {}, frozenset(), BUDGET, BUDGET).text == ""


def test_the_report_names_what_was_looked_for_and_every_message_of_the_note() -> None:
    book, again = book_of_work()
    note = step_note(book, again, {}, frozenset(), BUDGET, BUDGET)
    report = note.report
    assert report.terms == ("src/reader.py",)
    assert report.taken[0].found.message_id == 0
    assert [each.found.message_id for each in report.taken] == [int(id) for id in re.findall(r"\[(\d+)\]", note.text)]
    assert sum(each.tokens for each in report.taken) <= report.tokens <= report.room_tokens
    live = step_note(book, again, {}, frozenset((MessageId(0),)), BUDGET, BUDGET).report
    assert 0 not in {each.found.message_id for each in live.taken}
    assert {each.because for each in live.left_out if each.found.message_id == 0} == {LeftOutBecause.TOLD}
    told = {name: 1.0 for entry in book.entries.values() for name in entry.names}
    all_told = step_note(book, again, told, frozenset(), BUDGET, BUDGET).report
    assert (all_told.taken, all_told.tokens) == ((), 0)
    assert {each.found.message_id for each in all_told.left_out} >= {0}


def test_no_line_of_an_earlier_note_is_told_again() -> None:
    book, again = book_of_work()
    first = step_note(book, again, {}, frozenset(), BUDGET, BUDGET).text
    lines = first.splitlines()[1:]
    assert len(lines) > 1
    half = step_note(book, again, {}, frozenset(), BUDGET, BUDGET, lines[:1]).text.splitlines()[1:]
    assert half == [line for line in lines if line not in lines[:1] or lines[1].startswith("  → ")]
    assert step_note(book, again, {}, frozenset(), BUDGET, BUDGET, lines).text == ""


def test_no_line_of_a_note_ends_in_a_long_list_of_names() -> None:
    lines = [
        f"here the reader counts row_{n} before the blocks behind it are read and written again" for n in range(40)
    ]
    steps = called("edit", "edited", path="src/reader.py", text="\n".join(lines))
    for n in range(20):
        steps += called("edit", "edited", path=f"src/part_{n}.py", text=f"def work_{n}(job): counts the jobs")
    again = len(steps)
    steps += called("read", "", path="src/reader.py")
    note = step_note(notebook_of(as_lives(steps)), again, {}, frozenset(), BUDGET, BUDGET).text
    lists = [listed.split(", ") for listed in re.findall(r"(?:also|names) (.*)", note)]
    assert lists
    assert max(map(len, lists)) <= 8


def test_a_note_keeps_to_its_room() -> None:
    book, again = book_of_work()
    for room in (0, 40, 60, 90, 400):
        note = step_note(book, again, {}, frozenset(), BUDGET, room).text
        assert book.count(note) <= max(room, 1)
