"""Our requests that the editor has not answered yet.

Each ends in one of three ways: with the typed result, with a JsonRpcException (the editor's error, or an unreadable
answer), or cancelled, by its caller or because the editor left.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

from pygls.exceptions import JsonRpcException, JsonRpcInternalError

from palimpsest.lsp.runtime.methods import Methods
from palimpsest.wire.codec.jsonrpc import IncomingReply, MessageId, is_message_id

log = logging.getLogger(__name__)


class Outgoing:
    """The open requests of one connection. A request may be opened in any thread; it is answered and removed on the
    loop."""

    def __init__(
        self,
        methods: Methods,
        futures: dict[MessageId, Future[Any]],
        on_loop: Callable[..., None],
        tell_cancelled: Callable[[MessageId], None],
    ) -> None:
        """`futures` is pygls' own table of them. `on_loop` schedules a function with arguments on the loop."""
        self._methods = methods
        self._futures = futures
        self._names: dict[MessageId, str] = {}
        self._on_loop = on_loop
        self._tell_cancelled = tell_cancelled
        self._ids = itertools.count(1)

    def new_id(self) -> int:
        """An id that no request of this connection has had."""
        return next(self._ids)

    def open(self, method: str, message_id: MessageId) -> Future[Any]:
        """The future of the answer to a new request."""
        future: Future[Any] = Future()
        self._futures[message_id] = future
        self._names[message_id] = method
        # Scheduled on the loop: a future may end in any thread, and while the table is being iterated.
        future.add_done_callback(functools.partial(self._on_loop, self._forget, message_id))
        return future

    def resume(self, reply: IncomingReply) -> None:
        """Gives a reply to the caller of its request, if it still waits."""
        future = self._futures.get(reply.id) if is_message_id(reply.id) else None
        if future is None or future.done():
            log.debug("A reply without a request was dropped.")
            return
        name = self._names[reply.id]
        try:
            if reply.error is not None:
                raise _error_from(reply.error, name)
            future.set_result(self._methods.read_result(self._methods.find(name), reply.result))
        except InvalidStateError:
            log.debug("A reply came when its request had been given up.")
        except Exception as error:
            future.set_exception(error)

    def cancel_all(self) -> None:
        """Cancels every request, because the editor will not answer any more."""
        for future in list(self._futures.values()):
            future.cancel()

    def _forget(self, message_id: MessageId, future: Future[Any]) -> None:
        self._futures.pop(message_id, None)
        self._names.pop(message_id, None)
        if future.cancelled():
            self._tell_cancelled(message_id)


def _error_from(error: Any, method: str) -> JsonRpcException:
    """The error object of a reply as an exception. An invalid error object gives an exception of its own."""
    code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
    if type(code) is not int or not isinstance(message, str):
        return JsonRpcInternalError(f"The answer to {method} is an error that cannot be read.")
    return JsonRpcException(message, code, error.get("data"))
