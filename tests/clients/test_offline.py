"""The offline provider quotes exactly and with the place, declines plainly, and says nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.clients.contexts import Answer, assistant, collect, context, user

from palimpsest.domain.context.prepared import PreparedContext, Segment
from palimpsest.domain.messages import ConversationId, MessageId, Role, TextPart, ToolCallPart, tool_result
from palimpsest.domain.models.provider import Finished, Provider, StopReason, TextDelta
from palimpsest.domain.offline.passages import FileSource, MessageSource, Passage
from palimpsest_clients.offline import OfflineProvider

QUOTE = Passage(FileSource("docs/ops.md"), 12, "The server listens on port 9464.", 1.0)


class Finder:
    """Returns the given passages and remembers what it was asked."""

    def __init__(self, *passages: Passage) -> None:
        self.passages = passages
        self.asked: list[tuple[ConversationId, str]] = []

    async def __call__(self, conversation_id: ConversationId, question: str) -> Sequence[Passage]:
        self.asked.append((conversation_id, question))
        return self.passages


async def ask(question: str, *passages: Passage, max_output_tokens: int = 1000) -> Answer:
    prepared = replace(context(user(question)), max_output_tokens=max_output_tokens)
    answer = await collect(OfflineProvider(Finder(*passages)).stream(prepared))
    assert answer.error is None
    return answer


async def test_an_answer_is_its_quotes_each_under_its_place() -> None:
    answer = await ask("Which port?", QUOTE)
    assert answer.text == "I found this:\n\n`docs/ops.md:12`\n\n> The server listens on port 9464.\n"
    assert answer.finished.stop_reason is StopReason.END


async def test_it_streams_small_pieces_and_one_end() -> None:
    provider: Provider = OfflineProvider(Finder(QUOTE))
    assert provider.name == "offline"
    answer = await ask("Which port?", QUOTE)
    *deltas, last = answer.events
    assert isinstance(last, Finished)
    assert len(deltas) == -(-len(answer.text) // 48)
    assert all(isinstance(delta, TextDelta) and 0 < len(delta.text) <= 48 for delta in deltas)


async def test_others_run_while_it_streams() -> None:
    passages = [Passage(FileSource(f"{i}.md"), 1, "word " * 50, 1.0) for i in range(5)]
    n_turns = 0

    async def other() -> None:
        nonlocal n_turns
        while True:
            n_turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    answer = await ask("What?", *passages)
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


async def test_quotes_of_one_source_stand_together_in_the_order_of_their_lines() -> None:
    answer = await ask(
        "What?",
        Passage(FileSource("b.md"), 9, "nine", 1.0),
        Passage(FileSource("a.md"), 3, "three", 0.9),
        Passage(FileSource("b.md"), 2, "two", 0.8),
    )
    assert [answer.text.index(f"`{place}`") for place in ("b.md:2", "b.md:9", "a.md:3")] == sorted(
        answer.text.index(f"`{place}`") for place in ("b.md:2", "b.md:9", "a.md:3")
    )


async def test_a_message_is_named_by_its_number_and_who_said_it() -> None:
    said = Passage(MessageSource(MessageId(12), Role.USER), 1, "We use port 9000.\nAlways.", 1.0)
    answer = await ask("Which port?", said)
    assert "\n`message 12`, from you\n\n> We use port 9000.\n> Always.\n" in answer.text


async def test_code_is_fenced_so_that_markdown_leaves_it_alone() -> None:
    code = Passage(FileSource("a.py"), 7, "# __init__ of ```x```\n\n    a*b*c", 1.0)
    answer = await ask("What?", code)
    assert "\n`a.py:7-9`\n\n> ````\n> # __init__ of ```x```\n>\n>     a*b*c\n> ````\n" in answer.text


async def test_windows_line_ends_do_not_get_into_the_answer() -> None:
    answer = await ask("What?", Passage(FileSource("a.md"), 1, "one\r\ntwo", 1.0))
    assert "> one\n> two\n" in answer.text


async def test_a_file_is_shown_with_line_numbers_and_says_how_much_is_missing() -> None:
    lines = [f"line {i}" for i in range(1, 13)]
    head = Passage(FileSource("a.toml"), 1, "\n".join(lines[:10]), 1.0, n_source_lines=12)
    answer = await ask("what is in a.toml?", head)
    assert "\n`a.toml:1-10`, 10 of 12 lines\n\n> ```\n>  1  line 1\n" in answer.text
    assert "> 10  line 10\n> ```\n" in answer.text
    assert answer.finished.stop_reason is StopReason.END


@pytest.mark.parametrize("max_output_tokens", [60, 100, 200])
async def test_an_answer_that_must_be_cut_says_so_and_keeps_whole_lines(max_output_tokens: int) -> None:
    head = Passage(FileSource("a.toml"), 1, "\n".join(f"line-{i};" for i in range(1, 200)), 1.0, n_source_lines=199)
    answer = await ask("what is in a.toml?", head, max_output_tokens=max_output_tokens)
    assert answer.finished.stop_reason is StopReason.OUTPUT_LIMIT
    assert answer.finished.usage.output_tokens <= max_output_tokens
    assert answer.text.endswith("> ```\n")
    shown = [line for line in answer.text.splitlines() if "line-" in line]
    assert all(line.endswith(";") for line in shown)
    assert f"`a.toml:1-{len(shown)}`, {len(shown)} of 199 lines" in answer.text


@pytest.mark.parametrize("max_output_tokens", [1, 2, 10, 25])
@pytest.mark.parametrize("question", ["hello", "Which port?"])
async def test_no_limit_is_too_small(max_output_tokens: int, question: str) -> None:
    answer = await ask(question, replace(QUOTE, text="ééé " * 100), max_output_tokens=max_output_tokens)
    assert answer.finished.stop_reason is StopReason.OUTPUT_LIMIT
    assert 0 < len(answer.text.encode()) <= max_output_tokens * 4
    assert "é" not in answer.text


async def test_it_declines_what_it_cannot_find_and_quotes_nothing() -> None:
    answer = await ask("What is the salary of the captain?")
    assert answer.text.startswith("I found nothing in this folder's files or in this conversation")
    assert ">" not in answer.text
    assert answer.finished.stop_reason is StopReason.END


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        "Hi there!",
        "Good morning",
        "hey :)",
        "",
        "???",
        "How are you?",
        "who are you?",
        "What can you do?",
        "help",
    ],
)
async def test_small_talk_gets_a_greeting_that_says_what_can_be_asked(message: str) -> None:
    finder = Finder(QUOTE)
    answer = await collect(OfflineProvider(finder).stream(context(user(message))))
    assert answer.text.startswith("Hello.")
    assert finder.asked == []


@pytest.mark.parametrize("message", ["thanks", "Thank you very much!", "ok, thanks", "Great, thanks"])
async def test_thanks_are_answered(message: str) -> None:
    answer = await ask(message, QUOTE)
    assert answer.text.startswith("You are welcome.")


@pytest.mark.parametrize("message", ["hello.py", "Where is the test?", "hi, which port is it?", "what does hello do?"])
async def test_a_question_that_begins_like_small_talk_is_a_question(message: str) -> None:
    finder = Finder()
    await collect(OfflineProvider(finder).stream(context(user(message))))
    assert finder.asked == [(ConversationId("c-1"), message)]


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
