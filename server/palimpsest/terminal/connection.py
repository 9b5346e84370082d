"""JSON-RPC with the server: typed requests with their progress, and an answer to every request of the server.

Every request ends: with its result, with the server's error, or with `ServerGone` when the server dies. A request whose
caller is cancelled is cancelled at the server too.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from palimpsest.terminal import texts
from palimpsest.terminal.calls import EDIT_TOOL, Call, Event, ServerNote
from palimpsest.terminal.edits import CAPABILITIES, Edits
from palimpsest.terminal.errors import INTERNAL_ERROR, BadAnswer, RequestFailed, ServerGone, TerminalError
from palimpsest.terminal.process import ServerProcess
from palimpsest.values import Mismatch
from palimpsest.wire.areas.lifecycle import ErrorData
from palimpsest.wire.areas.sharing import MovedApartParams, PresenceChangedParams
from palimpsest.wire.areas.tools import ApprovalAnswer, ApprovalRequestParams, ApprovalRequestResult
from palimpsest.wire.areas.usage import ContextEvent, ConversationChangedParams
from palimpsest.wire.codec.convert import from_json, to_json
from palimpsest.wire.codec.framing import FrameDecoder, FramingError, encode_frame
from palimpsest.wire.declare import Request, Wire
from palimpsest.wire.messages import MESSAGES
from palimpsest.wire.version import PROTOCOL_VERSION

_METHOD_NOT_FOUND = -32601
_NOT_ASKED = {"code": -32803, "message": "The user was not asked."}
_NOT_APPLIED = {"code": -32803, "message": "The edit was stopped, and it is unknown whether it was made."}
_SHUTDOWN_TIMEOUT_S = 5.0
_LOG_DELAY_S = 0.1
News = PresenceChangedParams | MovedApartParams | ConversationChangedParams
_NEWS: dict[str, type[PresenceChangedParams] | type[MovedApartParams] | type[ConversationChangedParams]] = {
    "palimpsest/didChangeConversation": ConversationChangedParams,
    "palimpsest/didChangePresence": PresenceChangedParams,
    "palimpsest/didMoveApart": MovedApartParams,
}
_REQUESTS = {message.method: message for message in MESSAGES if isinstance(message, Request)}

T = TypeVar("T")


class Connection:
    """The connection to one server: `start`, `initialize`, requests, `close`."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self.approve: Callable[[ApprovalRequestParams], Awaitable[ApprovalAnswer]] | None = None
        """Asks the user to approve a tool call. None: nobody can be asked, and the server learns that. It is cancelled
        when another editor has answered, or the server is gone."""
        self.accepts_edits = False
        """Whether the user has said that edits of files are approved without a question."""
        self._edits: Edits | None = None
        self.note: Callable[[str], None] | None = None
        """Shows a sentence of the server that comes while no call is followed. None: it is dropped."""
        self.hear_others: Callable[[News], None] | None = None
        """Hears what others do in shared conversations. None: nobody is told."""
        self._working: dict[Any, asyncio.Future[Any]] = {}
        """The server's requests that are being worked on, by their ids."""
        self._ids = itertools.count(1)
        self._calls: dict[int, Call[Any]] = {}
        self._streams: dict[str | int, Call[Any]] = {}
        self._folders: list[dict[str, str]] = []
        self._gone: ServerGone | None = None
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], log: BinaryIO | None = None) -> Connection:
        """Start the server, whose stderr is written to `log` as well. Raises ServerGone when the program cannot be
        started."""
        return cls(await ServerProcess.start(command, log))

    async def initialize(self, folder: Path) -> None:
        """Open one workspace folder, an absolute path without links.

        Raises BadAnswer when this is not a Palimpsest server, or one of another version.
        """
        uri = folder.as_uri()
        self._edits = Edits(folder)
        self._folders = [{"uri": uri, "name": folder.name or str(folder)}]
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "palimpsest chat"},
            "rootUri": uri,
            "workspaceFolders": self._folders,
            "capabilities": {
                "window": {"workDoneProgress": True},
                "workspace": {"workspaceFolders": True, **CAPABILITIES},
                "experimental": {"palimpsest": {"notifications": True, "digests": True}},
            },
        }
        answer = await self._open("initialize", params, Any).result()
        version = _dig(answer, "capabilities", "experimental", "palimpsest", "version")
        if version != PROTOCOL_VERSION:
            raise BadAnswer(texts.NO_SERVER if version is None else texts.other_version(version, PROTOCOL_VERSION))
        self.notify("initialized", {})

    async def request(self, method: str, params: Wire, result: type[T]) -> T:
        """Send a request and return its result. Raises RequestFailed, BadAnswer or ServerGone."""
        return await self.call(method, params, result).result()

    def call(self, method: str, params: Wire, result: type[T]) -> Call[T]:
        """Send a request and follow it. Progress on every token in `params` is among its events."""
        declared = _REQUESTS[method]
        assert isinstance(params, declared.params)
        assert result is declared.result
        call: Call[T] = self._open(method, to_json(params), result)
        for name in ("partial_result_token", "work_done_token"):
            if (token := getattr(params, name, None)) is not None:
                self._streams[token] = call
        return call

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    async def close(self) -> None:
        """Shut the server down and end its process, within bounded time. The server may be gone already."""
        try:
            if self._gone is None:
                with contextlib.suppress(TerminalError, TimeoutError):
                    async with asyncio.timeout(_SHUTDOWN_TIMEOUT_S):
                        await self._open("shutdown", None, Any).result()
                self.notify("exit", None)
        finally:
            if self._gone is None:
                self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
            await self._process.end()

    def _open(self, method: str, params: Any, result: Any) -> Call[Any]:
        request_id = next(self._ids)
        call: Call[Any] = Call(method, result, lambda: self.notify("$/cancelRequest", {"id": request_id}))
        if self._gone is not None:
            call.fail(self._gone)
            return call
        self._calls[request_id] = call
        self._send({"id": request_id, "method": method, "params": params})
        return call

    def _send(self, message: dict[str, Any]) -> None:
        if message.get("params", ...) is None:
            del message["params"]
        if self._gone is None:
            body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
            self._process.write(encode_frame(body.encode("utf-8", "replace")))

    # ------------------------------------------------------------------------------------------------- what comes in

    async def _read(self) -> None:
        try:
            fault = await self._receive_all()
        except BaseException:
            # However the reading ends, no call waits for an answer that cannot come.
            self._fail_all(ServerGone(texts.CLOSED))
            raise
        # Requests during the end of the process fail at once.
        self._gone = ServerGone(fault or texts.ENDED)
        status = await self._process.end()
        sentence = fault or texts.ended_unexpectedly(_describe_status(status))
        self._fail_all(ServerGone(sentence, self._process.last_words()))

    async def _receive_all(self) -> str:
        """The error in the stream, as a sentence; empty when the stream simply ended."""
        decoder = FrameDecoder()
        fault = ""
        while not fault and (data := await self._process.read()):
            try:
                bodies = decoder.feed(data)
            except FramingError as error:
                bodies, fault = error.bodies, texts.not_a_message(str(error))
            for message in map(_to_message, bodies):
                if message is None:
                    fault = texts.NOT_AN_OBJECT
                    break
                self._receive(message)
        return fault

    def _fail_all(self, error: ServerGone) -> None:
        self._gone = error
        for work in list(self._working.values()):
            work.cancel()
        calls, self._calls = list(self._calls.values()), {}
        for call in calls:
            call.fail(error)

    def _receive(self, message: dict[str, Any]) -> None:
        method, request_id = message.get("method"), message.get("id")
        if isinstance(method, str) and request_id is not None:
            self._answer(method, request_id, message.get("params"))
        elif isinstance(method, str):
            self._hear(method, message.get("params"))
        elif isinstance(request_id, int) and (call := self._calls.pop(request_id, None)) is not None:
            self._streams = {token: other for token, other in self._streams.items() if other is not call}
            if "error" in message:
                self._fail(call, _to_failure(message["error"]))
            else:
                call.succeed(message.get("result"))

    def _fail(self, call: Call[Any], failure: RequestFailed) -> None:
        if failure.code != INTERNAL_ERROR:
            call.fail(failure)
            return

        def fail_with_log() -> None:
            failure.stderr = self._process.last_words()
            call.fail(failure)

        # Its sentence only points to the log, and the log comes by another pipe.
        asyncio.get_running_loop().call_later(_LOG_DELAY_S, fail_with_log)

    def _answer(self, method: str, request_id: Any, params: Any) -> None:
        """Answer a request of the server. Each one gets an answer, or the server would wait for ever."""
        is_edit = method == "palimpsest/approval/request" and _dig(params, "tool") == EDIT_TOOL
        if is_edit and self.accepts_edits:
            self._send({"id": request_id, "result": to_json(ApprovalRequestResult(ApprovalAnswer.ONCE))})
            return
        if method == "palimpsest/approval/request" and self.approve is not None:
            try:
                asked = from_json(params, ApprovalRequestParams)
            except Mismatch:
                self._send({"id": request_id, "error": _NOT_ASKED})
                return
            self._work_on(request_id, self._approved(self.approve(asked)), _NOT_ASKED)
            return
        if method == "workspace/applyEdit" and self._edits is not None:
            self._work_on(request_id, self._edits.apply(params), _NOT_APPLIED)
            return
        reply: dict[str, Any] = {"id": request_id}
        if method == "window/workDoneProgress/create":
            reply["result"] = None
        elif method == "workspace/workspaceFolders":
            reply["result"] = self._folders
        elif method == "window/showMessageRequest":
            self._hear("window/showMessage", params)
            reply["result"] = None
        elif method == "palimpsest/approval/request":
            may_be_always = _dig(params, "mayBeAlways") is True
            self._tell(texts.not_approved(str(_dig(params, "title")), is_edit=is_edit, may_be_always=may_be_always))
            reply["error"] = _NOT_ASKED
        else:
            reply["error"] = {"code": _METHOD_NOT_FOUND, "message": f"This client does not answer {method}."}
        self._send(reply)

    @staticmethod
    async def _approved(answer: Awaitable[ApprovalAnswer]) -> Any:
        return to_json(ApprovalRequestResult(await answer))

    def _work_on(self, request_id: Any, work: Awaitable[Any], error: dict[str, Any]) -> None:
        """Answer a request with the result of the work, or with the error when there is none."""
        running = asyncio.ensure_future(work)
        self._working[request_id] = running

        def settle(_: asyncio.Future[Any]) -> None:
            del self._working[request_id]
            is_lost = running.cancelled() or running.exception() is not None
            self._send({"id": request_id, **({"error": error} if is_lost else {"result": running.result()})})

        running.add_done_callback(settle)

    def _hear(self, method: str, params: Any) -> None:
        if method == "$/progress":
            token = _dig(params, "token")
            if isinstance(token, (str, int)) and (call := self._streams.get(token)) is not None:
                call.add_progress(_dig(params, "value"))
            elif _dig(params, "value", "kind") == "begin":  # of what the server does by itself
                self._tell(texts.working(str(_dig(params, "value", "title"))))
        elif method == "$/cancelRequest":
            if (work := self._working.get(_dig(params, "id"))) is not None:
                work.cancel()
        elif method == "palimpsest/contextEvent":
            with contextlib.suppress(Mismatch):
                self._tell_all(from_json(params, ContextEvent))
        elif (news := _NEWS.get(method)) is not None and self.hear_others is not None:
            with contextlib.suppress(Mismatch):
                self.hear_others(from_json(params, news))
        elif method == "window/showMessage" and isinstance(text := _dig(params, "message"), str):
            self._tell(text)

    def _tell(self, sentence: str) -> None:
        """Show a sentence once: as an event of the followed call, or by `note`."""
        followed = next((call for call in self._calls.values() if call.is_followed), None)
        if followed is not None:
            followed.add(ServerNote(sentence))
        elif self.note is not None:
            self.note(sentence)

    def _tell_all(self, event: Event) -> None:
        for call in self._calls.values():
            call.add(event)


def _to_message(body: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _to_failure(error: Any) -> RequestFailed:
    code, message = _dig(error, "code"), _dig(error, "message")
    data: ErrorData | None = None
    with contextlib.suppress(Mismatch):
        data = cast(ErrorData, from_json(_dig(error, "data"), ErrorData))
    sentence = message if isinstance(message, str) and message else texts.NO_REASON
    return RequestFailed(code if isinstance(code, int) else 0, sentence, data)


def _dig(value: Any, *keys: str) -> Any:
    """The value under the keys; None when one of them is missing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _describe_status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"
