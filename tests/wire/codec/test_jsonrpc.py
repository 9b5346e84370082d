"""JSON-RPC messages: every body is sorted or refused, an id comes back as it came, and any text can be sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.wire.codec.jsonrpc import (
    INVALID_REQUEST,
    IncomingNotification,
    IncomingReply,
    IncomingRequest,
    InvalidMessage,
    encode_call,
    encode_error,
    encode_result,
    parse,
)

ANY_TEXT = st.text(st.characters(), max_size=10)
"""With lone surrogates, which hypothesis leaves out of its ordinary text."""
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=10,
)


def no_form(value: Any) -> Any:
    raise TypeError(type(value).__name__)


def sorted_out(body: bytes) -> IncomingRequest | IncomingNotification | IncomingReply | InvalidMessage:
    try:
        return parse(body)
    except InvalidMessage as error:
        return error


@given(
    st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), ANY_JSON | st.just("2.0")
    )
)
def test_any_object_is_one_kind_of_message_or_refused(message: dict[str, Any]) -> None:
    match sorted_out(json.dumps(message).encode()):
        case InvalidMessage() as refused:
            assert refused.code == INVALID_REQUEST
        case IncomingRequest() as found:
            assert (found.id, found.method) == (message["id"], message["method"])
            assert type(found.id) in (int, str)
        case IncomingNotification() as found:
            assert found.method == message["method"]
            assert "id" not in message
        case IncomingReply():
            assert "method" not in message


@given(st.integers() | ANY_TEXT)
def test_an_id_comes_back_exactly_as_it_came(message_id: int | str) -> None:
    request = parse(encode_call("m", None, no_form, message_id))
    assert request == IncomingRequest(message_id, "m", None)
    assert json.loads(encode_result(message_id, 1, no_form))["id"] == message_id
    assert json.loads(encode_error(message_id, 1, "x", None, no_form))["id"] == message_id


@given(ANY_JSON)
def test_any_value_can_be_sent_and_only_lone_surrogates_change(value: Any) -> None:
    body = encode_result(1, value, no_form)
    body.decode("utf-8")
    expected = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert json.loads(body) == {"jsonrpc": "2.0", "id": 1, "result": json.loads(expected)}


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("\U0001f600", "\U0001f600"),
        ("\ud83d" + "\ude00", "\U0001f600"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\u2028\x7f\x00", "\u2028\x7f\x00"),
    ],
)
def test_halves_of_a_character_are_joined_and_a_half_alone_is_replaced(text: str, sent: str) -> None:
    call = parse(encode_call("m", {text: text}, no_form))
    assert isinstance(call, IncomingNotification)
    assert call.params == {sent: sent}


def test_what_has_no_json_form_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ({1, 2}, b"x", float("nan"), float("inf"), circle, deep, {"a": object()}):
        with pytest.raises((TypeError, ValueError)):
            encode_result(1, value, no_form)


def test_params_and_data_are_left_out_when_there_are_none() -> None:
    assert encode_call("m", None, no_form) == b'{"jsonrpc":"2.0","method":"m"}'
    assert encode_call("m", {}, no_form, 0) == b'{"jsonrpc":"2.0","id":0,"method":"m","params":{}}'
    assert encode_result(0, None, no_form) == b'{"jsonrpc":"2.0","id":0,"result":null}'
    assert encode_error(None, 1, "x", None, no_form) == b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'
