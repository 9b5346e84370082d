"""The scripted models say what models of their kind say, about the transcript that a summarizer shows them."""

from __future__ import annotations

from benchmarks.sessions.scripted_models import SCRIPTED, Record, faithful, hallucinating, lazy, mistaken, records_of

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.summaries.by_model import originals_text, problem, transcript
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)

CALL = ToolCallPart("1", "Bash", '{"command": "pytest tests/test_rows.py"}')
SAID = (
    user_message("Please make load_rows faster.\nIt reads src/rows.py twice."),
    Content(Role.ASSISTANT, (TextPart("I look at src/rows.py first. Then I measure."), CALL)),
    tool_result(CALL, "collected 3 items\nE   ValueError: empty rows in src/rows.py\n" + "more " * 200),
)
PIECES = [
    MessagePiece(StoredMessage(ConversationId("c"), MessageId(i), said, "", None, Digest("")), 400)
    for i, said in enumerate(SAID)
]


def words(text: str) -> int:
    return len(text.split())


def records() -> list[Record]:
    return records_of(transcript(PIECES))


def is_accepted(text: str) -> bool:
    return problem(text, originals_text(PIECES), 1_000, words) is None


def test_a_transcript_is_read_as_it_is_written() -> None:
    found = records()

    assert [record.label for record in found] == ["user", "assistant", "call of Bash", "result of Bash"]
    assert found[0].text == SAID[0].text
    assert found[3].text.startswith("collected 3 items\nE   ValueError")


def test_the_faithful_model_tells_the_wish_the_failure_and_the_work_in_order_within_its_length() -> None:
    text = faithful(records(), 60)

    assert text.splitlines() == [
        "- The user said: Please make load_rows faster.",
        "- I look at src/rows.py first.",
        "- I used Bash on pytest tests/test_rows.py.",
        "- Bash came out with: E ValueError: empty rows in src/rows.py",
    ]
    assert is_accepted(text)
    assert faithful(records(), 8).splitlines() == ["- The user said: Please make load_rows faster."]


def test_the_lazy_model_names_nothing_and_is_accepted() -> None:
    assert lazy(records(), 500) == lazy([], 10)
    assert is_accepted(lazy(records(), 500))


def test_the_hallucinating_model_is_refused() -> None:
    text = hallucinating(records(), 60)

    assert "src/rows_helper.py" in text
    assert not is_accepted(text)


def test_the_mistaken_model_is_accepted_with_the_right_names_in_the_wrong_places() -> None:
    text = mistaken(records(), 60)

    assert is_accepted(text)
    assert "make load_rows faster" not in text
    assert "load_rows" in text


def test_each_scripted_model_is_of_its_name() -> None:
    assert {name: make().rule.__name__ for name, make in SCRIPTED.items()} == {name: name for name in SCRIPTED}
