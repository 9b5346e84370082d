"""A conversation as a text: whatever is said in it, the structure of the text is that of the conversation; and an
answer written as it comes is what is written of it afterwards."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.chat_documents.document import (
    BREAK,
    HEAD,
    MARKER,
    AnswerStream,
    EscapedStream,
    Shown,
    Unsendable,
    edit_of_view,
    escape,
    n_sent,
    parse,
    render,
    rescued,
    whole,
    without_sent,
)
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import ConversationId, Digest, MessageId, SummaryId, user_message
from palimpsest.domain.turns.journal import Ending, EventType, JournalEvent, to_messages

PIECES = (
    "## 3 · you",
    "### 1 · calls x",
    HEAD,
    MARKER,
    "\\",
    "\n",
    "\r",
    "\r\n",
    "\u2028",
    "\f",
    "#",
    " ",
    "7",
    "a",
    "🎉",
)
TEXT = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def stored(number: int, content: object) -> StoredMessage:
    return StoredMessage(ConversationId("c"), MessageId(number), content, "", None, Digest(""))  # type: ignore[arg-type]


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT, TEXT)
def test_what_is_said_is_never_structure(texts: list[str], title: str, summary: str) -> None:
    messages = [stored(number, user_message(text)) for number, text in enumerate(texts)]
    node = Summary(SummaryId(5), MessageId(0), MessageId(1), 1, "hybrid", summary, 10, "m", "")
    parsed = parse(whole(render(Shown(title, messages, [node])), ""))
    assert parsed.is_chat
    assert [each.what for each in parsed.sections if each.first_id == each.last_id and each.summary_id is None] == [
        "you" for _ in texts
    ]
    assert [each.summary_id for each in parsed.sections if each.summary_id is not None] == [5]
    assert parsed.problem is Unsendable.EMPTY


@given(st.lists(TEXT, max_size=6), st.integers(0, 60))
def test_text_in_pieces_is_escaped_like_the_whole(texts: list[str], cut: int) -> None:
    text = "".join(texts)
    cuts = sorted({0, len(text), *(at for at in (cut, cut // 2, cut + 1) if at < len(text))})
    stream = EscapedStream()
    pieces = [stream.feed(text[start:end]) for start, end in pairwise(cuts)]
    assert "".join(pieces) + stream.end() == escape(text)


@given(st.lists(TEXT, max_size=8), st.lists(st.sampled_from("ab"), max_size=2, unique=True))
def test_an_answer_as_it_comes_is_the_answer_as_it_is_kept(texts: list[str], calls: list[str]) -> None:
    events = [JournalEvent(EventType.TEXT, text) for text in texts]
    for name in calls:
        events.append(JournalEvent(EventType.TOOL_CALL, call_id=name, name=name))
        events.append(JournalEvent(EventType.TOOL_ARGUMENTS, '{"x":\n1}', call_id=name))
    events.append(JournalEvent(EventType.DONE, "{}"))
    events += [JournalEvent(EventType.TOOL_RESULT, f"## 1 · {name}\nfound", name, name) for name in calls]
    question = stored(0, user_message("Go."))
    kept = [stored(1 + at, content) for at, content in enumerate(to_messages(events, Ending.COMPLETE))]
    stream = AnswerStream(1)
    streamed = "".join(stream.feed(event) for event in events) + stream.end()
    base = render(Shown("t", [question]))
    if kept:
        assert base + streamed == render(Shown("t", [question, *kept]))


@given(TEXT, TEXT)
def test_bringing_a_view_up_to_date_leaves_the_input_alone(old: str, message: str) -> None:
    message = escape(message)
    text = whole(f"{HEAD}{BREAK}# {escape(old)}", message)
    view = render(Shown("A title", [stored(0, user_message(old))]))
    after = edit_of_view(text, view).apply(text)
    assert after == whole(view, message)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", Unsendable.EMPTY),
        (" \n \n", Unsendable.EMPTY),
        ("```\ncode\n```", Unsendable.ONLY_FENCED),
        ("~~~~\n```\nnever closed", Unsendable.ONLY_FENCED),
        ("```\ncode\n```\nWhat is this?", None),
        ("Why?", None),
    ],
)
def test_what_is_no_message_is_told_apart(message: str, problem: Unsendable | None) -> None:
    assert parse(whole(HEAD, message)).problem is problem


def test_a_document_without_an_input_gives_up_what_is_not_of_the_view() -> None:
    view = render(Shown("A title", [stored(0, user_message("One.\nTwo."))]))
    assert rescued(view.replace("Two.", "Mine.\nTwo."), view) == "Mine."
    assert rescued(f"{HEAD[:90]}Mine.\nToo.\n", view) == "Mine.\nToo."
    assert rescued(f"{HEAD[:60]}{HEAD[70:]}\nMine.", view) == "Mine."
    with pytest.raises(ValueError, match="no input"):
        edit_of_view("nothing", view)


@pytest.mark.parametrize("piece", ["\\", "#", " ", "<", "`", "\n", "## ", "<!-- palimpsest-"])
def test_a_stream_holds_back_no_more_than_structure_can_be(piece: str) -> None:
    stream, shown = EscapedStream(), ""
    for _ in range(1000):
        shown += stream.feed(piece)
        assert len(stream._held) < 200
    assert shown + stream.end() == escape(piece * 1000)


@pytest.mark.parametrize(
    ("n_seen", "message", "n_characters"),
    [
        (2, "Go on.", 6),
        (3, "Go on.", 0),
        (2, "Go on. Please.", 0),
        (1, "Go on.", 0),
        (2, "", 0),
        (2, "Go on.\nMore.", 6),
    ],
)
def test_a_message_was_sent_from_a_document_that_shows_all_before_it(
    n_seen: int, message: str, n_characters: int
) -> None:
    messages = [stored(number, user_message(text)) for number, text in enumerate(["Begin.", "Yes.", "Go on.", "What?"])]
    document = parse(whole(render(Shown("Pumps", messages[:n_seen])), message))
    assert n_sent(document, Shown("Pumps", messages)) == n_characters


@pytest.mark.parametrize(
    ("message", "sent", "left"),
    [
        ("Go on.", "Go on.\n", ""),
        ("Go on.\nAnd then?", "Go on.", "And then?"),
        ("Going on.", "Go", "Going on."),
        ("Go.", "Go.\nOn.", "Go."),
        ("Go.", "", "Go."),
        ("First.\nGo on.\nLast.", "Go on.", "First.\nLast."),
        ("First.\nGo on.", "Go on.", "First."),
        ("First. Go on.", "Go on.", "First. Go on."),
    ],
)
def test_only_whole_lines_that_were_sent_are_taken_for_sent(message: str, sent: str, left: str) -> None:
    assert without_sent(message, sent) == left
