"""No text of a model, a file or a tool drives the terminal, and none of it is lost unseen."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.terminal.scripted_server import USAGE

from palimpsest.domain.messages import ConversationId
from palimpsest.printing import sanitise
from palimpsest.terminal.render import clean, ending, first_sentence, lasting, local_time, one_line, passing
from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.turns import ChatResult
from palimpsest.wire.areas.usage import ContextEvent, ContextEventType
from palimpsest.wire.codec.convert import from_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\x08b\x7f\x00", "a\\x08b\\x7f\\x00"),
        ("user\u202enimda\u2066", "user\\u202enimda\\u2066"),
        ("half \ud800", "half \\ud800"),
        ("tab\tand\nlines\r\n", "tab\tand\nlines\n"),
        ("hidden\rshown", "hiddenshown"),
        ("ünïcödé 👩‍👧 עברית", "ünïcödé 👩‍👧 עברית"),
    ],
)
def test_control_characters_become_escapes_that_can_be_read(text: str, shown: str) -> None:
    assert sanitise(text) == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("The user said no. Do not try it in another way.", "The user said no."),
        ("The editor did not apply it: a.py is locked. Go on.\nmore", "The editor did not apply it: a.py is locked."),
        ("'v1.2 of a.py' is no folder", "'v1.2 of a.py' is no folder"),
        ("", ""),
    ],
)
def test_of_an_error_only_what_happened_is_shown_and_not_what_the_model_is_told_to_do(said: str, shown: str) -> None:
    assert first_sentence(said) == shown


@given(st.text())
def test_what_is_shown_can_be_encoded_and_holds_no_control(text: str) -> None:
    shown = sanitise(text)
    shown.encode("utf-8")
    assert not any(ord(char) < 0x20 and char not in "\n\t" for char in shown)
    assert not any(0x7F <= ord(char) <= 0x9F for char in shown)
    assert sanitise(shown) == shown


@given(st.text())
def test_pieces_of_a_text_are_shown_as_the_whole_is(text: str) -> None:
    assert "".join(map(sanitise, text)) == sanitise(text)


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_bytes_that_were_no_utf8_do_not_reach_the_protocol() -> None:
    assert clean(b"caf\xe9 ol\xc3\xa9".decode("utf-8", "surrogateescape")) == "caf\ufffd olé"


@pytest.mark.parametrize(
    ("status", "stop_reason", "word"),
    [
        ("committed", "end", None),
        ("committed", None, None),
        ("committed", "output_limit", "output limit"),
        ("committed", "bored", "bored"),
        ("cancelled", None, "cancelled"),
        ("interrupted", None, "interrupted"),
        ("running", None, "still"),
    ],
)
def test_an_answer_that_is_not_whole_is_told(status: str, stop_reason: str | None, word: str | None) -> None:
    json = {"conversationId": "c", "turnId": "t", "status": status, "messageIds": [], "usage": USAGE}
    sentence = ending(from_json({**json, "stopReason": stop_reason}, ChatResult))
    assert sentence is None if word is None else word in (sentence or "")


def test_every_type_of_event_can_be_shown() -> None:
    told = set()
    for kind in ContextEventType:
        event = ContextEvent(
            ConversationId("c"),
            kind,
            "2026-11-21T10:00:00Z",
            strategy="threshold",
            outcome="forced_final",
            error="Most of it is spent." if kind is ContextEventType.BUDGET else None,
            left_out=[MessageRange(0, 4)],
        )
        told |= {kind} if passing(event) or lasting(event) else set()
    assert told == set(ContextEventType) - {ContextEventType.COMPACTION}


def test_a_time_is_shown_in_the_users_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_time("2026-11-21T10:00:00+00:00") == local_time("2026-11-21T11:00:00+01:00")
    assert local_time("yesterday") == "yesterday"


def test_why_a_summary_that_was_asked_for_was_not_written_is_said_by_its_answer_alone() -> None:
    given_up = ContextEvent(
        ConversationId("c"), ContextEventType.SUMMARIZATION_ERROR, "2026-11-21T10:00:00Z", error="It gains nothing."
    )
    assert lasting(attrs.evolve(given_up, strategy="manual")) is None
    assert lasting(attrs.evolve(given_up, strategy="threshold")) == "It gains nothing."
