"""The methods of a connection and the types of their params and results, both the standard's and our own.

Our own messages are read by `palimpsest.wire.codec.convert`, strictly. Standard messages are read by lsprotocol's
lenient converter, because existing editors depend on that. A value that does not fit becomes an error that names its
place but never the value.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import attrs
from cattrs import Converter
from cattrs.errors import AttributeValidationNote, ClassValidationError, IterableValidationError, IterableValidationNote
from lsprotocol import converters
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInternalError, JsonRpcInvalidParams

from palimpsest.values import MAX_PROBLEMS, Mismatch
from palimpsest.wire.codec.convert import from_json, teach
from palimpsest.wire.declare import Notification, Request, Wire, camel


@functools.cache
def make_converter() -> Converter:
    """lsprotocol's converter, extended by our `Wire` classes. All connections share it, because it compiles as it
    goes."""
    converter = converters.get_converter()
    teach(converter)
    return converter


class Undeclared(TypeError):
    """A handler returned or sent a value that the table of messages does not declare. The text names types only."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method."""

    name: str
    is_request: bool
    params: Any
    """The type annotation of the params; None when the method has none."""
    result: Any
    """The type annotation of the result; None when the method has none, and for notifications."""
    is_declared: bool
    """True for our own messages, False for the standard's."""


class Methods:
    """The methods that a connection knows. Any other method does not exist, even if a handler is registered for it."""

    def __init__(self, load_messages: Callable[[], tuple[Request | Notification, ...]]) -> None:
        """`load_messages` imports our own messages. It is called when the first method is looked up that is not the
        standard's, so not before `initialize` is answered, and by whichever thread does so."""
        self._load_messages = load_messages

    @functools.cached_property
    def _declared(self) -> dict[str, Method]:
        return {
            message.method: Method(
                message.method,
                isinstance(message, Request),
                message.params,
                message.result if isinstance(message, Request) else None,
                is_declared=True,
            )
            for message in self._load_messages()
        }

    def find(self, name: str) -> Method | None:
        """The method, or None."""
        return _standard(name) or self._declared.get(name)

    def read_params(self, method: Method, params: Any) -> Any:
        """The params as the method's type. JsonRpcInvalidParams names the places that do not fit. Absent params are
        `{}`."""
        if method.params is None:
            return None
        try:
            if params is None or params == []:
                params = {}
            if not isinstance(params, dict):
                from_json(params, dict)
            if method.is_declared:
                return from_json(params, method.params)
            return make_converter().structure(_whole(params), method.params)
        except Exception as error:
            problems = sentences(error, "params")
            raise JsonRpcInvalidParams(
                f"The params of {method.name} are not valid: {problems[0]}.",
                data={"kind": "invalid_params", "retryable": False, "errors": problems},
            ) from None

    def read_result(self, method: Method | None, result: Any) -> Any:
        """A peer's answer as the method's type, or as plain JSON for an unknown method.

        JsonRpcInternalError when it does not fit: the peer is at fault, but the waiting caller must get an answer.
        """
        if method is None:
            return result
        try:
            if method.is_declared:
                return from_json(result, method.result)
            return result if method.result is None else make_converter().structure(_whole(result), method.result)
        except Exception as error:
            problems = sentences(error, "result")
            raise JsonRpcInternalError(f"The answer to {method.name} is not valid: {problems[0]}.") from None

    def check_params(self, name: str, params: Any) -> None:
        """Undeclared when we would send a method that does not exist, or one of ours with other params."""
        known = self.find(name)
        if known is None:
            raise Undeclared(f"There is no method {name!r}.")
        if known.is_declared:
            _check_type(params, known.params)

    def check_result(self, name: str, result: Any) -> None:
        """Undeclared when a request of ours would be answered with another type than its result."""
        known = self.find(name)
        if known is not None and isinstance(known.result, type) and issubclass(known.result, Wire):
            _check_type(result, known.result)


def _check_type(value: Any, expected: type) -> None:
    if not isinstance(value, expected):
        raise Undeclared(f"A {expected.__name__} was declared, but a {type(value).__name__} was given.")


def _whole(value: Any) -> Any:
    """A value of a standard message whose lone surrogates, which an editor can escape, are replaced by U+FFFD. Both
    take one UTF-16 unit, so positions stay valid."""
    match value:
        case str():
            return (
                value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            )
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {_whole(key): _whole(item) for key, item in value.items()}
        case _:
            return value


@functools.cache
def _standard(name: str) -> Method | None:
    if name not in lsp.METHOD_TO_TYPES:
        return None
    _, response, params, _ = lsp.METHOD_TO_TYPES[name]
    result = None if response is None else attrs.fields_dict(response)["result"].type
    return Method(name, response is not None, params, result, is_declared=False)


def sentences(error: Exception, root: str) -> list[str]:
    """A converter's findings, one sentence a place, at least one and at most `MAX_PROBLEMS`; no value is quoted."""
    if isinstance(error, Mismatch):
        return error.sentences(root)
    return [f"{place}: {what}" for place, what in itertools.islice(_problems(error, root), MAX_PROBLEMS)]


def argument_problems(error: Exception) -> list[str]:
    """The reasons why pygls could not read a command's arguments, at least one; none quotes a value."""
    # pygls says "Expected 1 arguments, got 3" when the count is wrong; any other text may quote a value.
    is_count = isinstance(error, TypeError) and str(error).startswith("Expected ")
    return [str(error)] if is_count else sentences(error, "argument")


def _problems(error: BaseException, place: str) -> Iterator[tuple[str, str]]:
    if not isinstance(error, (ClassValidationError, IterableValidationError)):
        yield place, "is missing" if isinstance(error, KeyError) else "is not valid"
        return
    for part in error.exceptions:
        deeper = place
        for note in getattr(part, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                deeper = f"{place}.{camel(note.name)}"
            elif isinstance(note, IterableValidationNote):
                deeper = f"{place}[{note.index}]" if isinstance(note.index, int) else f"{place}.*"
        yield from _problems(part, deeper)
