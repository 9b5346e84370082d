"""Conversion of one JSON-RPC 2.0 message between bytes and values. No I/O and no state; both ends of the protocol use
it.

`parse` returns a request, a notification or a reply, or raises the error to answer with. An id is a string or an
integer and comes back exactly as it came, lone surrogates included. Messages with an unusable id, and bodies that are
no message, are answered with id null (JSON-RPC 2.0, section 5).

Outgoing text is UTF-8, which cannot hold lone surrogates; Python strings can (from a tool that split an emoji, or from
a file name). Two halves that belong together are joined, and a single half becomes U+FFFD. Writing `\\ud800` would be
legal JSON, but the parsers of several editors refuse the whole message for it.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

MessageId = int | str


@dataclass(frozen=True, slots=True)
class IncomingRequest:
    """A message that must be answered, exactly once, with its id."""

    id: MessageId
    method: str
    params: Any
    """None when absent or null."""


@dataclass(frozen=True, slots=True)
class IncomingNotification:
    """A message that must not be answered."""

    method: str
    params: Any
    """None when absent or null."""


@dataclass(frozen=True, slots=True)
class IncomingReply:
    """The answer to one of our requests; it is never answered itself, even if it is invalid."""

    id: Any
    """The id, unchecked; only an id that we assigned is of use."""
    result: Any
    error: Any
    """None for a result; else the value of `error`, which need not be an error object."""


class InvalidMessage(Exception):
    """A body that must be answered with an error, because it is no valid message."""

    def __init__(self, code: int, message: str, message_id: MessageId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message_id = message_id
        """The id of the answer. None means null: the id is unknown or unusable."""


def parse(body: bytes) -> IncomingRequest | IncomingNotification | IncomingReply:
    """The message in `body`. Raises InvalidMessage, which says how to answer."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise InvalidMessage(PARSE_ERROR, "The message is not UTF-8.") from None
    except RecursionError:
        raise InvalidMessage(PARSE_ERROR, "The message is nested too deeply.") from None
    except ValueError:
        raise InvalidMessage(PARSE_ERROR, "The message is not JSON.") from None
    if isinstance(message, list):
        raise InvalidMessage(INVALID_REQUEST, "Batches of messages are not supported.")
    if not isinstance(message, dict):
        raise InvalidMessage(INVALID_REQUEST, "A message is a JSON object.")
    if "method" not in message and "id" in message and ("result" in message or "error" in message):
        return IncomingReply(message["id"], message.get("result"), message.get("error"))
    message_id = _message_id(message)
    method = message.get("method")
    if message.get("jsonrpc") != "2.0":
        raise InvalidMessage(INVALID_REQUEST, 'A message says "jsonrpc": "2.0".', message_id)
    if not isinstance(method, str):
        raise InvalidMessage(INVALID_REQUEST, "A message names its method with a string.", message_id)
    if message_id is None:
        return IncomingNotification(method, message.get("params"))
    return IncomingRequest(message_id, method, message.get("params"))


def is_message_id(value: Any) -> bool:
    """Whether a value may be the id of a request: a string, or an integer that is not a boolean."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _message_id(message: dict[str, Any]) -> MessageId | None:
    if "id" not in message:
        return None
    message_id = message["id"]
    if not is_message_id(message_id):
        raise InvalidMessage(INVALID_REQUEST, "The id of a request is a string or an integer.")
    return message_id  # type: ignore[no-any-return]  # is_message_id has seen to it


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


Default = Callable[[Any], Any]
"""The function that `json.dumps` calls for values without a JSON form."""


def encode_call(method: str, params: Any, default: Default, message_id: MessageId | None = None) -> bytes:
    """A request, or a notification when `message_id` is None. Raises TypeError or ValueError when `params` have no JSON
    form."""
    head = "" if message_id is None else f'"id":{json.dumps(message_id)},'
    tail = "" if params is None else f',"params":{_dump(params, default)}'
    return _encode(f'{{"jsonrpc":"2.0",{head}"method":{json.dumps(method)}{tail}}}')


def encode_result(message_id: MessageId, result: Any, default: Default) -> bytes:
    """The answer to a request that succeeded. Raises TypeError or ValueError when the result has no JSON form."""
    return _encode(f'{{"jsonrpc":"2.0","id":{json.dumps(message_id)},"result":{_dump(result, default)}}}')


def encode_error(message_id: MessageId | None, code: int, message: str, data: Any, default: Default) -> bytes:
    """The answer to a request that failed; without `data` the error has none. Raises like `encode_result`."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return _encode(f'{{"jsonrpc":"2.0","id":{json.dumps(message_id)},"error":{_dump(error, default)}}}')


def _dump(value: Any, default: Default) -> str:
    try:
        return json.dumps(value, default=default, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError("The value is nested too deeply.") from None


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "palimpsest.surrogates")


def _mend_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    run = error.object[error.start : error.end]
    return run.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode("utf-8"), error.end


codecs.register_error("palimpsest.surrogates", _mend_surrogates)
