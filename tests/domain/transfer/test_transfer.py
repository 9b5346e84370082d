"""The file of a conversation says everything once, and an unsound one is refused with the line that is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, seed
from tests.domain.exported import (
    ATTACHED,
    CONTENTS,
    ODD,
    SECRET,
    SOUND,
    TURN,
    TURNS,
    C,
    chained,
    header,
    summary,
    transfers,
)
from tests.properties import examples

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, MessageId, Role, TurnId
from palimpsest.domain.transfer.conversation import MessageLine, Transfer, as_copy
from palimpsest.domain.transfer.file_format import decode, encode, is_export
from palimpsest.domain.turns.states import TurnState


def refusal(text: str) -> str:
    with pytest.raises(InvalidRequest) as caught:
        decode(text)
    sentence = str(caught.value)
    assert sentence.endswith("Nothing was imported.")
    assert SECRET not in sentence
    return sentence


@seed(20260731)
@examples(40)
@given(transfers())
def test_what_is_encoded_is_decoded_and_encoded_again_byte_for_byte(transfer: Transfer) -> None:
    text = encode(transfer)
    assert decode(text) == transfer
    assert encode(decode(text)) == text
    assert is_export(text)
    assert text.count("\n") == 1 + sum(len(getattr(transfer, name)) for name in transfer.__slots__[1:])


def test_every_part_of_a_conversation_is_in_the_file() -> None:
    text = encode(SOUND)
    head, *lines = (json.loads(line) for line in text.splitlines())
    assert list(head)[:2] == ["palimpsest", "version"]
    assert (head["palimpsest"], head["version"], head["id"], head["n_messages"]) == ("conversation", 1, "c", 6)
    assert {line["type"] for line in lines} == {
        *("message", "turn", "summary", "hidden", "expansion", "withdrawal", "cut", "preview")
    }
    assert decode(text) == SOUND


def test_windows_line_ends_blank_lines_and_a_byte_order_mark_change_nothing() -> None:
    assert decode("\ufeff\r\n" + encode(SOUND).replace("\n", "\r\n\r\n")) == SOUND


def _messages(change: Callable[[tuple[MessageLine, ...]], tuple[MessageLine, ...]]) -> Transfer:
    return replace(SOUND, messages=change(SOUND.messages))


def _nth(lines: tuple[Any, ...], number: int, **changes: Any) -> tuple[Any, ...]:
    return (*lines[:number], replace(lines[number], **changes), *lines[number + 1 :])


def _with(name: str, number: int, **changes: Any) -> Transfer:
    return replace(SOUND, **{name: _nth(getattr(SOUND, name), number, **changes)})  # type: ignore[arg-type]


BROKEN = {
    "message ids are sequential": (_with("messages", 2, id=MessageId(3)), 4, "message ids count 0, 1, 2"),
    "message ids begin at 0": (_messages(lambda lines: lines[1:]), 2, "this one must be 0"),
    "no message is missing": (_messages(lambda lines: (*lines[:2], *lines[3:])), 4, "this one must be 2"),
    "contents match their digests": (_with("messages", 3, content=ODD), 5, "content does not match"),
    "digests follow from what is before": (_with("messages", 1, digest="0" * 64), 3, "does not follow"),
    "the time of a message participates": (_with("messages", 1, created_at="2027-01-01T00:00:00Z"), 3, "not follow"),
    "the turn of a message participates": (_with("messages", 1, turn=None), 3, "does not follow"),
    "the id of the conversation participates": (replace(SOUND, header=header(ConversationId("d"), 6)), 2, "not follow"),
    "the number of messages is the header's": (replace(SOUND, header=header(C, 7)), 1, "announces 7"),
    "turns begin at messages": (_with("turns", 0, user_message=MessageId(6)), 8, "refers to a message that is not"),
    "turns have ended": (_with("turns", 0, state=TurnState.TOOLS), 8, "has not ended"),
    "turns stand there once": (replace(SOUND, turns=(TURN, TURN)), 9, "out of order or repeated"),
    "summary ids are sequential": (_with("summaries", 1, id=2), 10, "summary ids count 0, 1, 2"),
    "summary ranges reference valid messages": (_with("summaries", 2, end=MessageId(7)), 11, "messages that are not"),
    "summary ranges are not empty": (_with("summaries", 0, end=MessageId(0)), 9, "messages that are not"),
    "summary ranges begin at 0 or later": (_with("summaries", 0, start=MessageId(-1)), 9, "messages that are not"),
    "summaries are made of earlier ones": (_with("summaries", 1, children=(2,)), 10, "does not come before it"),
    "summaries hold what they are made of": (_with("summaries", 2, end=MessageId(2)), 11, "reaches beyond"),
    "summaries stand above what they are made of": (_with("summaries", 2, level=1), 11, "level is not lower"),
    "hidden ranges reference valid messages": (_with("hidden", 0, end=MessageId(9)), 12, "messages that are not"),
    "hidden ranges are in order": (
        replace(SOUND, hidden=(*SOUND.hidden, replace(SOUND.hidden[0], start=MessageId(1)))),
        13,
        "not in order",
    ),
    "what is there is not purged": (_with("messages", 3, purged_role=Role.TOOL), 5, "marked as purged"),
    "hidden ranges count valid summaries": (_with("hidden", 0, n_summaries=4), 12, "counts summaries"),
    "expansions reference valid messages": (_with("expansions", 0, end=MessageId(9)), 13, "messages that are not"),
    "withdrawals reference valid messages": (_with("withdrawals", 0, message=MessageId(9)), 14, "message that is not"),
    "summarized messages reference valid summaries": (_with("cuts", 1, blocks=(3,)), 16, "a summary that is not in"),
    "the summaries of a cut do not overlap": (_with("cuts", 1, blocks=(0, 2)), 16, "overlap"),
    "cuts end at messages": (_with("cuts", 1, end=MessageId(7)), 16, "behind the last message"),
    "cuts are in order": (_with("cuts", 1, version=1), 16, "out of order"),
    "estimators are positive": (_with("cuts", 0, factor=0.0), 15, "out of its range"),
    "estimators are numbers that count": (_with("cuts", 0, sigma=1e308), 15, "out of its range"),
    "what is left out is there": (_with("cuts", 0, left_out=((0, 9),)), 15, "a range that is left out"),
    "calls stay with their results": (
        replace(_with("cuts", 1, blocks=(2,)), summaries=(*SOUND.summaries[:2], summary(2, 0, 2))),
        16,
        "separates a tool call from its result",
    ),
    "previews reference valid messages": (_with("previews", 0, message=MessageId(9)), 17, "a message that is not"),
    "previews keep the calls": (_with("previews", 0, content=ODD), 17, "other tool calls"),
}


@pytest.mark.parametrize(("broken", "line", "what"), BROKEN.values(), ids=BROKEN)
def test_an_unsound_file_is_refused_with_its_line(broken: Transfer, line: int, what: str) -> None:
    sentence = refusal(encode(broken))
    assert sentence.startswith(f"Line {line}: ")
    assert what in sentence


def test_a_cut_short_file_is_refused_wherever_it_ends() -> None:
    text = encode(SOUND)
    ends = {
        *range(0, len(text) - 1, 97),
        *(at + more for at, char in enumerate(text[:-1]) if char == "\n" for more in (0, 1)),
    }
    for end in ends:
        assert refusal(text[:end]).startswith("Line ")


def test_a_changed_character_is_noticed_behind_the_header() -> None:
    text = encode(SOUND)
    start = text.index("\n") + 1
    for at in range(start, len(text) - 1, 53):
        if text[at] != "\n":
            assert refusal(f"{text[:at]}{'#' if text[at] != '#' else '+'}{text[at + 1 :]}").startswith("Line ")


def edited(line: int, change: Callable[[dict[str, Any]], None]) -> str:
    """The sound file with one line changed."""
    lines = encode(SOUND).splitlines()
    value = json.loads(lines[line - 1])
    change(value)
    lines[line - 1] = json.dumps(value)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("line", "change", "what"),
    [
        (1, lambda head: head.update(version=2), "a newer Palimpsest wrote this"),
        (1, lambda head: head.update(version=True), "no version"),
        (1, lambda head: head.update(palimpsest="other"), "not an exported conversation"),
        (1, lambda head: head.pop("title"), "field title is missing"),
        (1, lambda head: head.update(is_archived=0), "field is_archived"),
        (1, lambda head: head.update(created_at="yesterday"), "field created_at"),
        (2, lambda message: message.update(more=1), "a field that version 1"),
        (2, lambda message: message.update(type="robot"), "type is none of"),
        (2, lambda message: message.update(type=[SECRET]), "type is none of"),
        (2, lambda message: message.update(id=True), "field id"),
        (2, lambda message: message.update(id=10**30), "field id"),
        (2, lambda message: message.update(digest="F" * 64), "field digest"),
        (2, lambda message: message.update(turn="a\0"), "field turn"),
        (2, lambda message: message.update(turn="\ud800"), "field turn"),
        (2, lambda message: message["content"].update(role="system"), "content is not a message"),
        (2, lambda message: message["content"]["parts"][0].update(text=5), "content is not a message"),
        (2, lambda message: message["content"]["parts"][0].update(text="\0"), "content is not a message"),
        (2, lambda message: message.update(content=[]), "content is not a message"),
        (9, lambda line: line.update(children={}), "field children"),
        (15, lambda line: line.update(left_out=[[0]]), "field left_out"),
        (15, lambda line: line.update(sigma=float("nan")), "field sigma"),
        (15, lambda line: line.update(cause=SECRET), "field cause"),
    ],
)
def test_what_version_1_does_not_say_is_refused(line: int, change: Callable[[dict[str, Any]], None], what: str) -> None:
    sentence = refusal(edited(line, change))
    assert sentence.startswith(f"Line {line}: ")
    assert what in sentence


@pytest.mark.parametrize("text", ["", "\n\n", "[]", "nonsense", "[" * 100_000, '{"role": "user"}', "9" * 5000])
def test_what_is_no_export_is_refused(text: str) -> None:
    assert refusal(text).startswith("Line 1: ")
    assert not is_export(text)


def test_lines_stand_in_their_order() -> None:
    lines = encode(SOUND).splitlines()
    assert "comes after lines that must follow it" in refusal("\n".join([*lines, lines[1]]))


def test_a_fork_names_whose_messages_it_has() -> None:
    parents = [ConversationId("a"), ConversationId("a"), ConversationId("a"), ConversationId("b")]
    head = replace(SOUND.header, parent=ConversationId("b"), fork_start=MessageId(4))
    fork = replace(SOUND, header=head, messages=chained(C, CONTENTS, TURNS, parents))
    assert decode(encode(fork)) == fork
    nameless = replace(fork, messages=SOUND.messages)
    assert "name the conversation that they belong to" in refusal(encode(nameless))
    orphan = replace(fork, header=replace(head, parent=None))
    assert "does not name the fork's first message" in refusal(encode(orphan))


def test_a_copy_verifies_under_its_own_id_and_says_of_what_it_is_one() -> None:
    purged = replace(SOUND.messages[1], content=None)
    source = replace(SOUND, messages=(SOUND.messages[0], purged, *SOUND.messages[2:]))
    copy = as_copy(source, ConversationId("new"), {TurnId("t"): TurnId("t2"), TurnId("u"): TurnId("u2")})
    assert decode(encode(copy)) == copy
    assert copy.header.origin is not None
    assert (copy.header.origin.id, copy.header.origin.digest) == ("c", SOUND.messages[-1].digest)
    assert [m.content for m in copy.messages] == [m.content for m in source.messages]
    assert not {m.digest for m in copy.messages} & {m.digest for m in source.messages}
    assert [turn.id for turn in copy.turns] == ["t2"]


def test_a_recording_that_speaks_of_palimpsest_is_no_export() -> None:
    text = (
        json.dumps({"meta": {"source": "palimpsest"}}) + "\n" + json.dumps({"role": "user", "content": ATTACHED.text})
    )
    assert not is_export(text)
