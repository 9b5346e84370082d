"""The page of a context: what the user said comes first, each rule once, every line with the number of its message."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.cut import CutCause, MessagePiece, SummaryPiece
from palimpsest.domain.context.notebook.step_note import NOTE_HEAD
from palimpsest.domain.context.prepared import SegmentType
from palimpsest.domain.context.recall_report import Found, LeftOut, LeftOutBecause, RecallReport
from palimpsest.domain.context.request_layout import Front
from palimpsest.domain.context.rules.standing import TAKEN_BACK, front_text
from palimpsest.domain.context.strategies import EVERY_NAME
from palimpsest.domain.context.summaries.node import EXTRACTIVE, HYBRID, LLM
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.messages import MessageId, TextPart, ToolCallPart
from palimpsest.services.chat.commands.markdown import plain
from palimpsest.services.context import words
from palimpsest.services.context.page import Reader, context_page, recall_page, summary_page
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.context.state import ContextState

RULE = "Never use tabs."


async def with_two_summaries(bench: Opener) -> Bench:
    b = await bench([says(f"I changed src/part_{n}.py, and pump_{n} works. " * 40) for n in range(9)])
    for number in range(9):
        await b.ask(
            f"{RULE if number in (0, 4) else ''} Look at src/part_{number}.py and repair its pump_{number} now."
        )
    for first, after in ((0, 8), (8, 14)):
        done = await b.session.conversations.summarize(b.conversation_id, (MessageId(first), MessageId(after)))
        assert done.block is not None
    return b


async def state_of(b: Bench) -> ContextState:
    return await b.session.contexts.state(b.conversation_id)


def below(page: str, heading: str) -> str:
    return page.partition(heading)[2].partition("\n## ")[0]


async def test_the_rules_come_first_and_once_then_the_summaries_and_the_live_messages(bench: Opener) -> None:
    state = await state_of(await with_two_summaries(bench))
    state.front = Front(front_text([f"- {RULE}", "- Answer in English."]), 10)
    page = context_page(state, Reader())
    headings = re.findall(r"(?m)^## (.*?)(?: \(.*)?$", page)
    assert headings == [
        "Standing rules",
        "Summary 1: messages 0 to 7",
        "Summary 2: messages 8 to 13",
        "Messages as they were said",
    ]
    assert below(page, "## Standing rules").split("\n") == [
        "",
        "",
        "- [8.0] Never use tabs.",
        "- Answer in English.",
        "",
    ]
    assert page.count("Standing rules") == 1
    assert page.startswith(f"{state.estimate.mean:,} tokens (at most {state.estimate.upper:,})")


async def test_a_rule_or_a_pin_that_was_taken_back_since_says_so(bench: Opener) -> None:
    b = await with_two_summaries(bench)
    commands = RuleCommands(b.session.contexts)
    rules = await commands.pin(b.conversation_id, "Answer in English.")
    pin = next(str(entry.id) for entry in rules.whole.open_entries() if entry.is_pin)
    state = await state_of(b)
    state.front = Front(front_text(["- Answer in English.", f"- {TAKEN_BACK}Use no loops."]), 10)
    for id in (pin, "8.0"):
        await commands.withdraw(b.conversation_id, id)
    assert below(context_page(state, Reader()), "## Standing rules").strip().split("\n") == [
        "- [8.0] Never use tabs. (no longer in force)",
        "- Answer in English. (no longer in force)",
        "- Use no loops. (no longer in force)",
    ]


async def test_a_summary_is_said_to_take_as_many_tokens_as_its_part_of_the_request(bench: Opener) -> None:
    b = await with_two_summaries(bench)
    state = await state_of(b)
    state.cut = replace(state.cut, estimator=Estimator(1.5, 0.01))
    said = re.findall(r"(?m)^## Summary (\d+): .* (\d+) tokens\)$", context_page(state, Reader()))
    parts = [(str(each.summary_id), str(each.tokens)) for each in state.segments if each.summary_id is not None]
    assert said == parts
    assert len(parts) == 2


async def test_a_summary_begins_with_the_users_words_and_each_line_names_its_message(bench: Opener) -> None:
    state = await state_of(await with_two_summaries(bench))
    first = state.pieces[0]
    assert isinstance(first, SummaryPiece)
    sections = re.findall(r"(?m)^### (.*)$", summary_page(first, 10, Reader()))
    assert sections[:2] == ["Said by the user", "Done"]
    said, _, rest = summary_page(first, 10, Reader()).partition("### Done")
    lines = [line for line in f"{said}{rest.partition('###')[0]}".split("\n")[1:] if line and line[0] != "#"]
    assert lines
    assert all(re.match(r"- \[[0-7]\] |  - → ", line) for line in lines)
    assert "- [0] Never use tabs. Look at src/part_0.py and repair its pump_0 now." in said


async def test_what_was_added_behind_a_message_is_shown_before_the_live_messages(bench: Opener) -> None:
    state = await state_of(await with_two_summaries(bench))
    newest = state.pieces[-1]
    assert isinstance(newest, MessagePiece)
    state.pieces[-1] = replace(newest, note=f"{NOTE_HEAD}\n- [3] Edit a.py\n  → [4] done")
    page = context_page(state, Reader())
    assert below(page, "## Added behind message 17").strip().split("\n") == [
        "- [3] Edit a.py",
        "  - → [4] done",
    ]
    assert page.index("## Added behind") < page.index("## Messages as")


async def test_live_messages_are_one_line_each_with_number_and_role(bench: Opener) -> None:
    state = await state_of(await with_two_summaries(bench))
    lines = below(context_page(state, Reader()), "## Messages as they were said").strip().split("\n")
    assert [re.match(r"- \[(\d+)\] (\w+): ", line).groups() for line in lines] == [  # type: ignore[union-attr]
        ("14", "user"),
        ("15", "assistant"),
        ("16", "user"),
        ("17", "assistant"),
    ]
    assert all(len(line) < 230 for line in lines)
    assert lines[1].endswith("…")


async def test_the_lines_and_names_of_each_message_are_an_item_of_their_own(bench: Opener) -> None:
    state = await state_of(await with_two_summaries(bench))
    first = state.pieces[0]
    assert isinstance(first, SummaryPiece)
    text = "## Lines and names, by message\n\n[1] a = 1\n[3] b = 2\n\n## Also named\n\npump_1, pump_2"
    piece = replace(first, summary=replace(first.summary, text=text))
    assert summary_page(piece, 10, Reader(plain)).split("\n")[2:] == [
        "### Lines and names, by message",
        "",
        "",
        f"- {plain('[1] a = 1')}",
        f"- {plain('[3] b = 2')}",
        "",
        "",
        "### Also named",
        "",
        "",
        plain("pump_1, pump_2"),
    ]


async def test_no_text_becomes_markdown_and_what_is_left_out_is_counted(bench: Opener) -> None:
    b = await bench([says("![x](http://host/x.png) <b>bold</b> | cell"), says("# No heading")])
    for text in ("[click](command:x) *now*", "and then?"):
        await b.ask(text)
    page = context_page(await state_of(b), Reader(plain, most_messages=3))
    assert "- … 1 earlier message" in page
    assert plain("![x](http://host/x.png) <b>bold</b> | cell") in page
    assert "command:x" not in page
    first = (await state_of(await with_two_summaries(bench))).pieces[0]
    assert isinstance(first, SummaryPiece)
    whole = summary_page(first, 10, Reader()).count("\n")
    short = summary_page(first, 10, Reader(most_lines=3))
    assert re.search(r"… \d+ more lines$", short)
    assert short.count("\n") < whole


async def test_what_a_message_says_and_what_it_calls_are_two_sentences(bench: Opener) -> None:
    b = await bench([says("Fine.")])
    await b.ask("Go on.")
    state = await state_of(b)
    piece = state.pieces[-1]
    assert isinstance(piece, MessagePiece)

    def shown(text: str) -> str:
        content = replace(piece.message.content, parts=(TextPart(text), ToolCallPart("1", "read_file", "{}")))
        state.pieces[-1] = replace(piece, message=replace(piece.message, content=content))
        return context_page(state, Reader()).rpartition("assistant: ")[2]

    assert shown("Let me look.\n") == "Let me look. calls read_file {}"
    assert shown("Let me look:") == "Let me look: calls read_file {}"
    assert shown("Looking") == "Looking; calls read_file {}"


def test_the_best_of_what_was_left_out_is_shown_and_the_rest_counted() -> None:
    left = tuple(LeftOut(Found(MessageId(n), None, 9.0 - n), LeftOutBecause.TOLD) for n in range(9))
    page = recall_page("Recalled", RecallReport(("pump_1",), 1_200, 0, (), left), Reader())
    lines = [line for line in page.split("\n") if "left out" in line]
    assert lines[0].startswith("- left out: message 0, ")
    assert lines[4:] == ["- left out: message 4, it is there already", "- left out: 4 more"]
    assert "of 1,200 tokens" in page


def test_there_are_words_for_everything_that_a_report_names() -> None:
    assert set(words.BECAUSE) == set(CutCause)
    assert set(words.NOT_RECALLED) == set(LeftOutBecause)
    assert set(words.SUMMARIZED) == EVERY_NAME
    assert set(words.WRITTEN) == {EXTRACTIVE, HYBRID, LLM}
    assert set(words.PARTS) >= set(get_args(SegmentType)) - {"message", "summary", "tools"}
