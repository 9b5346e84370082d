"""JSON-RPC over pygls, with one promise: every request gets exactly one answer, and no other message gets any.

The structure of this module keeps the promise, not the handlers. `_answer` starts a request, and its outcome - a value,
an error, a cancellation - goes through `_send_result` or `_send_failure`, each of which writes one message. A waiting
request is a task in `_running`; only its done callback removes it. pygls' own ways of running handlers and answering
are replaced entirely (see also `handlers` and `outgoing`); its built-in features and its registry of handlers are used.

Failures: an editor gets the message and data of a JsonRpcException, which was written for it. For any other exception
it learns only that the log says more. No traceback, path or text of an exception leaves the process.

Order: messages are taken one after another. A synchronous handler is done before the next message is read; an
asynchronous one has been scheduled. Handlers that run in a thread do not block the loop; cancelling one answers at once
and drops its late result.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs
from lsprotocol import types as lsp
from pygls.exceptions import (
    FeatureNotificationError,
    FeatureRequestError,
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcRequestCancelled,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.language_server import _prepare_command_arguments

from palimpsest.domain.errors import NO_HANDLES, StoreError, is_out_of_handles
from palimpsest.lsp.runtime.handlers import Failure, call
from palimpsest.lsp.runtime.methods import Methods, argument_problems
from palimpsest.lsp.runtime.outgoing import Outgoing
from palimpsest.lsp.runtime.phase import Phase
from palimpsest.lsp.runtime.refusals import internal_error, refusal
from palimpsest.wire.codec.framing import encode_frame
from palimpsest.wire.codec.jsonrpc import (
    IncomingNotification,
    IncomingReply,
    IncomingRequest,
    InvalidMessage,
    MessageId,
    encode_call,
    encode_error,
    encode_result,
    is_message_id,
    parse,
)

if TYPE_CHECKING:
    from palimpsest.lsp.runtime.base import BaseServer
    from palimpsest.wire.declare import Notification, Request

log = logging.getLogger(__name__)


class Protocol(LanguageServerProtocol):
    """The messages of one connection. A subclass may load other custom messages than the product's."""

    _server: BaseServer

    def __init__(self, server: BaseServer, converter: Any) -> None:
        super().__init__(server, converter)
        self.phase = Phase.NEW
        self.greeted: MessageId | None = None
        """The id of an `initialize` that was answered before this server was loaded; None once that request is handled
        here, and where there is none."""
        self.methods = Methods(self.load_messages)
        self._running: dict[MessageId, asyncio.Future[Any]] = {}
        """The editor's requests that are being worked on."""
        self._background: dict[asyncio.Future[Any], None] = {}
        """Running handlers of notifications; asyncio alone would drop them."""
        self._outgoing = Outgoing(self.methods, self._request_futures, self._on_loop, self._tell_cancelled)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0

    @staticmethod
    def load_messages() -> tuple[Request | Notification, ...]:
        """Imports our own messages, which takes long and which `initialize` does not need. Raises StoreError when no
        file handle is left to read them; a later call may succeed."""
        try:
            from palimpsest.wire.messages import MESSAGES
        except OSError as error:
            if is_out_of_handles(error):
                raise StoreError(NO_HANDLES) from error
            raise
        return MESSAGES

    # ------------------------------------------------------------------------------------------------------- reading

    def receive(self, body: bytes) -> None:
        """Takes one message from the editor. Never raises, whatever the bytes are."""
        try:
            message = parse(body)
        except InvalidMessage as error:
            data = {"kind": "invalid_request", "retryable": False}
            self._send_error(error.message_id, JsonRpcException(str(error), error.code, data))
            return
        context = contextvars.copy_context()
        try:
            match message:
                case IncomingRequest():
                    context.run(self._answer, message)
                case IncomingNotification():
                    context.run(self._take, message)
                case IncomingReply():
                    self._outgoing.resume(message)
        except Exception as error:  # a defect of this module; it must not affect the next message
            self._report(error, FeatureRequestError)

    # ------------------------------------------------------------------------------------------------------ requests

    def _answer(self, request: IncomingRequest) -> None:
        if request.id in self._running:
            message = "A request with this id is still being answered."
            self._send_error(request.id, refusal(JsonRpcInvalidRequest, "invalid_request", message))
            return
        try:
            outcome = self._begin(request)
        except Failure as error:
            self._send_failure(request, error)
            return
        if not inspect.isawaitable(outcome):
            self._send_result(request, outcome)
            return
        task = asyncio.ensure_future(outcome)
        self._running[request.id] = task
        task.add_done_callback(functools.partial(self._finish, request))

    def _begin(self, request: IncomingRequest) -> Any:
        self.phase.check(request.method)
        try:
            method = self.methods.find(request.method)
        except StoreError as error:
            raise refusal(JsonRpcInternalError, error.kind.value, str(error), retryable=error.is_retryable) from error
        if method is not None and not method.is_request:
            message = f"{method.name} is a notification, not a request."
            raise refusal(JsonRpcInvalidRequest, "invalid_request", message)
        if method is None or not self._has_handler(method.name):
            raise refusal(JsonRpcMethodNotFound, "method_not_found", f"There is no method {request.method[:100]!r}.")
        return self._handle_request(request.id, method.name, self.methods.read_params(method, request.params))

    def _handle_request(self, msg_id: MessageId, method_name: str, params: Any) -> Any:
        self._ctx_msg_id.set(msg_id)
        return call(self._get_handler(method_name), (params,), {}, self._server)

    def _finish(self, request: IncomingRequest, task: asyncio.Future[Any]) -> None:
        del self._running[request.id]
        try:
            result = task.result()
        except Failure as error:
            self._send_failure(request, error)
        else:
            self._send_result(request, result)

    def _handle_cancel_notification(self, msg_id: MessageId) -> None:
        task = self._running.get(msg_id)
        if task is not None:
            _cancel_once(task)

    # ------------------------------------------------------------------------------------------------- notifications

    def _take(self, notification: IncomingNotification) -> None:
        if notification.method == lsp.CANCEL_REQUEST:
            message_id = notification.params.get("id") if isinstance(notification.params, dict) else None
            if is_message_id(message_id):
                self._handle_cancel_notification(message_id)  # type: ignore[arg-type]  # just checked
            return
        method = self.methods.find(notification.method)
        if method is None or method.is_request or not self._has_handler(method.name):
            log.debug("A notification without a handler was dropped.")
            return
        try:
            self.phase.check(method.name)
            params = self.methods.read_params(method, notification.params)
        except JsonRpcException as error:
            log.warning("The notification %s was dropped: %s", method.name, error.message)
            return
        try:
            outcome = self._handle_notification(method.name, params)
        except Failure as error:
            self._report(error, FeatureNotificationError)
            return
        if inspect.isawaitable(outcome):
            task = asyncio.ensure_future(outcome)
            self._background[task] = None
            task.add_done_callback(self._end_background)

    def _handle_notification(self, method_name: str, params: Any) -> Any:
        return call(self._get_handler(method_name), (params,), {}, self._server)

    def _end_background(self, task: asyncio.Future[Any]) -> None:
        del self._background[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(error, FeatureNotificationError)

    def _has_handler(self, method: str) -> bool:
        return method in self.fm.builtin_features or method in self.fm.features

    # ------------------------------------------------------------------------------------------------------- answers

    def _send_result(self, request: IncomingRequest, result: Any) -> None:
        if self._was_greeted(request):
            return
        try:
            self.methods.check_result(request.method, result)
            body = encode_result(request.id, result, self._to_json)
        except Exception as error:
            self._send_failure(request, error)
        else:
            self._write(body)

    def _was_greeted(self, request: IncomingRequest) -> bool:
        """Whether the request was answered before; it is asked once."""
        is_answered = self.greeted is not None and request.method == lsp.INITIALIZE
        self.greeted = None if is_answered else self.greeted
        return is_answered

    def _send_failure(self, request: IncomingRequest, error: BaseException) -> None:
        if self._was_greeted(request):  # with a result: the editor goes on to a server that cannot
            log.error("The editor's `initialize` cannot be read, so the connection is closed.")
            self._report(error, FeatureRequestError)
            self._server.request_stop(1)
            return
        match error:
            case asyncio.CancelledError():
                told = refusal(JsonRpcRequestCancelled, "cancelled", "The request was cancelled.")
            case JsonRpcException():
                told = error
            case _:
                self._report(error, FeatureRequestError)
                told = internal_error()
        self._send_error(request.id, told)

    def _send_error(self, message_id: MessageId | None, error: JsonRpcException) -> None:
        try:
            body = encode_error(message_id, error.code, error.message, error.data, self._to_json)
        except Exception as unencodable:
            self._report(unencodable, FeatureRequestError)
            told = internal_error()
            body = encode_error(message_id, told.code, told.message, told.data, self._to_json)
        self._write(body)

    def _report(self, error: BaseException, source: type[Exception]) -> None:
        self._server._report_server_error(error, source)  # type: ignore[arg-type]  # pygls means any exception

    def _to_json(self, value: Any) -> Any:
        if attrs.has(type(value)):
            return self._converter.unstructure(value)
        if isinstance(value, Enum):
            return value.value
        raise TypeError(f"{type(value).__name__} cannot be sent.")

    # --------------------------------------------------------------------------------------------- to the editor

    def notify(self, method: str, params: Any | None = None) -> None:
        """Sends a notification. Raises Undeclared when there is no such method or its params have another type;
        TypeError or ValueError when the params have no form on the wire."""
        self.methods.check_params(method, params)
        self._write(encode_call(method, params, self._to_json))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MessageId | None = None,
    ) -> Future[Any]:
        """Sends a request to the editor. The future gets the typed result or a JsonRpcException, and is cancelled when
        the editor leaves. Cancelling the future, or a coroutine that awaits it, notifies the editor. `callback` gets
        results only."""
        self.methods.check_params(method, params)
        message_id = self._outgoing.new_id() if msg_id is None else msg_id
        body = encode_call(method, params, self._to_json, message_id)
        future = self._outgoing.open(method, message_id)
        if callback is not None:
            future.add_done_callback(functools.partial(_tell_result, callback))
        if self.writer is None:
            future.cancel()
        self._write(body)
        return future

    def set_writer(self, writer: Any, include_headers: bool = True) -> None:
        """Sets the writer of frames: `writer.write` is called on the running loop only, with one whole frame at a
        time."""
        super().set_writer(writer, include_headers)
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()

    def _write(self, body: bytes) -> None:
        frame = encode_frame(body)
        if threading.get_ident() == self._loop_thread:
            self._write_frame(frame)
        else:
            self._on_loop(self._write_frame, frame)

    def _on_loop(self, function: Callable[..., None], *args: Any) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)

    def _tell_cancelled(self, message_id: MessageId) -> None:
        self._write(encode_call(lsp.CANCEL_REQUEST, {"id": message_id}, self._to_json))

    def _write_frame(self, frame: bytes) -> None:
        if self.writer is not None:
            self.writer.write(frame)

    # --------------------------------------------------------------------------------------------------------- ending

    async def wind_down(self, timeout_s: float) -> None:
        """Cancels every handler once, and waits at most `timeout_s` until all have cleaned up and answered."""
        tasks = [*self._running.values(), *self._background]
        for task in tasks:
            _cancel_once(task)
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)

    def disconnect(self) -> None:
        """Stops all writing, and cancels everything that waits for the editor."""
        self.writer = None
        self._outgoing.cancel_all()

    # ----------------------------------------------------------------------------------------------- built-in features

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        """Refuses a wrong token. After a failed `initialize` the server is new, so that the editor can try again."""
        self._check_token(params)
        self.phase = Phase.INITIALIZING
        try:
            result = yield from super().lsp_initialize(params)
        except BaseException:
            self.phase = Phase.NEW
            self._workspace = None
            raise
        self.phase = Phase.RUNNING
        self._server.complete(result.capabilities)
        if params.process_id is not None:
            self._server.watch_parent(params.process_id)
        return result

    def _check_token(self, params: lsp.InitializeParams) -> None:
        if self._server.token is None:
            return
        import hmac  # with OpenSSL, which a server on stdin and stdout does not need

        options = params.initialization_options
        # Removed, so that no handler can log or keep it.
        given = options.pop("token", None) if isinstance(options, dict) else None
        expected = self._server.token.encode()
        if not isinstance(given, str) or not hmac.compare_digest(given.encode("utf-8", "replace"), expected):
            self._server.request_stop(1)
            raise refusal(JsonRpcInvalidRequest, "auth", "The token in initializationOptions is missing or wrong.")

    @lsp_method(lsp.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """Cancels every other request; each is still answered, before or after this one."""
        if (user_handler := self.fm.features.get(lsp.SHUTDOWN)) is not None:
            yield user_handler, args, None
        self.phase = Phase.SHUT_DOWN
        own_id = self.msg_id
        for message_id, task in list(self._running.items()):
            if message_id != own_id:
                _cancel_once(task)
        self._outgoing.cancel_all()

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]  # pygls' is a generator that calls sys.exit
        """Requests the end of the transport; this method does not end the process."""
        self._server.request_stop(0 if self.phase is Phase.SHUT_DOWN else 1)

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(self, params: lsp.ExecuteCommandParams) -> Generator[Any, Any, Any]:
        """Like pygls' own, with errors that an editor can show. Cancelling the request cancels the command's
        coroutine."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            message = f"There is no command {params.command[:100]!r}."
            raise refusal(JsonRpcInvalidParams, "invalid_params", message)
        params.arguments = params.arguments or []
        try:
            args, kwargs = _prepare_command_arguments(handler, params, self._converter)
        except Exception as error:
            problems = argument_problems(error)
            message = f"The arguments of {params.command} are not valid: {problems[0]}."
            raise refusal(JsonRpcInvalidParams, "invalid_params", message, errors=problems) from None
        return (yield handler, args, kwargs)


def _cancel_once(task: asyncio.Future[Any]) -> None:
    """Cancels a task unless that was done before: a second cancellation would interrupt the cleanup of the first."""
    if not isinstance(task, asyncio.Task) or not task.cancelling():
        task.cancel()


def _tell_result(callback: Callable[[Any], None], future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        callback(future.result())
