"""A small server on the base, with messages of its own: what the tests of the base talk to.

Run as `demo_server.py` for stdio, or `demo_server.py TOKEN_FILE` for TCP. `DEMO_STOP` makes `on_stop` misbehave.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, Literal

import attrs
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.lsp.runtime.greeting import protect_stdio
from palimpsest.lsp.runtime.protocol import Protocol
from palimpsest.lsp.runtime.stdio import run_stdio
from palimpsest.lsp.runtime.tcp import run_tcp
from palimpsest.wire.declare import Direction, Notification, Request, Wire

DEMO = [sys.executable, __file__]
"""The command that runs this file as a server of its own."""
TOO_SMALL = 4001
SECRET = "secret /home/me/.key"


@attrs.frozen
class ChatParams(Wire):
    """A text to stream back, word by word."""

    conversation_id: str
    """Any name."""
    text: str
    """The words."""
    hold: bool | None = None
    """Stop after the first word, until cancelled."""
    partial_result_token: int | str | None = None
    """Names the stream."""
    work_done_token: int | str | None = None
    """Names a progress."""


@attrs.frozen
class ChatDelta(Wire):
    """A word."""

    seq: int
    """0 for the first."""
    type: Literal["text"]
    """Only this one."""
    text: str
    """The word."""


@attrs.frozen
class ChatResult(Wire):
    """The text that was streamed."""

    text: str
    """All of it."""
    is_truncated: bool
    """Whether the user stopped it."""
    stop_reason: str | None = None
    """Why, if so."""


@attrs.frozen
class PrepareParams(Wire):
    """A limit to check."""

    conversation_id: str
    """Any name."""
    max_tokens: int | None = None
    """At least 10."""


@attrs.frozen
class AnyParams(Wire):
    """Any JSON."""

    value: Any | None = None
    """It."""


@attrs.frozen
class Picked(Wire):
    """The choice of the editor."""

    name: str
    """The name of it."""


@attrs.frozen
class Item(Wire):
    """An argument of a command."""

    name: str
    """Its name."""
    hold: bool | None = None
    """Wait until cancelled."""


def _any(method: str) -> Request:
    return Request(method, AnyParams, Any, "For tests.")


MESSAGES: tuple[Request | Notification, ...] = (
    Request("demo/chat", ChatParams, ChatResult, "Stream a text."),
    Request("demo/prepare", PrepareParams, AnyParams, "Check a limit."),
    Request("demo/echo", AnyParams, AnyParams, "Answer with the params."),
    *map(_any, ("demo/blocking", "demo/slowThread", "demo/stuck", "demo/bad", "demo/inFlight", "demo/threads")),
    *map(_any, ("demo/config", "demo/ask", "demo/edit", "demo/progress", "demo/pick")),
    Request("demo/wrongType", AnyParams, Picked, "Answers with something else than declared."),
    Request("demo/editorPick", AnyParams, Picked, "Let the editor choose.", Direction.SERVER_TO_CLIENT),
    Notification("demo/poke", AnyParams, "Nobody answers.", Direction.CLIENT_TO_SERVER),
    Notification("demo/poked", AnyParams, "It was heard."),
)


class DemoProtocol(Protocol):
    """The base with the messages above."""

    @staticmethod
    def load_messages() -> tuple[Request | Notification, ...]:
        return MESSAGES


class DemoServer(BaseServer):
    """The base with an `on_stop` that can be told to misbehave."""

    def __init__(self) -> None:
        super().__init__("demo", "0.1", protocol_cls=DemoProtocol)
        self.grace_s = 4.0

    def complete(self, capabilities: lsp.ServerCapabilities) -> None:
        capabilities.experimental = {"demo": {"version": 1}}

    async def on_stop(self) -> None:
        how = os.environ.get("DEMO_STOP", "")
        if how == "fail":
            raise OSError(SECRET)
        if how == "hang":
            await asyncio.Event().wait()
        if how == "block":
            time.sleep(60)  # noqa: ASYNC251  # what a bad handler does
        self.log("on_stop ran")
        sys.stderr.write("on_stop ran\n")

    def log(self, message: str) -> None:
        self.window_log_message(lsp.LogMessageParams(type=lsp.MessageType.Info, message=message))


async def chat(ls: DemoServer, params: ChatParams) -> ChatResult:
    progress = ls.work_done_progress
    token = params.work_done_token
    if token is not None:
        progress.begin(token, lsp.WorkDoneProgressBegin(title="chat", cancellable=True, percentage=0))
    words: list[str] = []
    try:
        for seq, word in enumerate(params.text.split()):
            await asyncio.sleep(0)
            words.append(word)
            if params.partial_result_token is not None:
                delta = ChatDelta(seq, "text", word)
                ls.progress(lsp.ProgressParams(token=params.partial_result_token, value=delta))
            while params.hold:
                await asyncio.sleep(0.01)
                if token is not None and progress.tokens[token].cancelled():
                    return ChatResult(" ".join(words), is_truncated=True, stop_reason="cancelled")
        return ChatResult(" ".join(words), is_truncated=False)
    except asyncio.CancelledError:
        await asyncio.sleep(0.01)  # saving takes a moment, and must not be cut short by a second cancel
        ls.log(f"saved {len(words)} words")
        raise
    finally:
        if token is not None:
            progress.end(token, lsp.WorkDoneProgressEnd(message="done"))
            progress.tokens.pop(token, None)


def prepare(ls: DemoServer, params: PrepareParams) -> AnyParams:
    if params.max_tokens is not None and params.max_tokens < 10:
        data = {"excessTokens": 10 - params.max_tokens, "messageIds": [0, 1]}
        raise JsonRpcException("The limit is too small.", code=TOO_SMALL, data=data)
    return AnyParams(value="ok")


def echo(ls: DemoServer, params: AnyParams) -> AnyParams:
    return params


def bad(ls: DemoServer, params: AnyParams) -> Any:
    match params.value:
        case "raise":
            raise ValueError(SECRET)
        case "raise data":
            raise JsonRpcException("Its data have no form.", code=TOO_SMALL, data={"set": {1, 2}})
        case "set":
            return {"set": {1, 2}}
        case "nan":
            return float("nan")
        case "circle":
            circle: list[Any] = []
            circle.append(circle)
            return circle
        case "notify":
            ls.protocol.notify("demo/undeclared", params)
        case "surrogates":
            return {"halves": "\ud83d" + "\ude00", "alone": "a\udc80b"}
    return "unknown"


def wrong_type(ls: DemoServer, params: AnyParams) -> Any:
    return AnyParams(value="secret")


async def in_flight(ls: DemoServer, params: AnyParams) -> Any:
    """How much the protocol holds: requests of the editor but this one, tasks of notifications, requests of ours."""
    protocol = ls.protocol
    return [len(protocol._running) - 1, len(protocol._background), len(protocol._request_futures)]


def threads(ls: DemoServer, params: AnyParams) -> Any:
    """The threads that watch an editor."""
    return [thread.name for thread in threading.enumerate() if thread.name == "parent-watch"]


async def poke(ls: DemoServer, params: AnyParams) -> None:
    await asyncio.sleep(0)
    if params.value == "raise":
        raise ValueError(SECRET)
    ls.protocol.notify("demo/poked", params)


def slow_thread(ls: DemoServer, params: AnyParams) -> str:
    ls.log("the thread began")
    time.sleep(float(params.value or 0))
    return "late"


def blocking(ls: DemoServer, params: AnyParams) -> str:
    time.sleep(0.01)
    return "z" * 300_000


def stuck(ls: DemoServer, params: AnyParams) -> None:
    ls.log("stuck")
    time.sleep(60)


async def initialize(ls: DemoServer, params: lsp.InitializeParams) -> None:
    """Slow, and failing, when asked to be."""
    options = params.initialization_options
    if isinstance(options, dict) and options.get("slow"):
        ls.log("initializing")
        await asyncio.sleep(0.3)
    if isinstance(options, dict) and options.get("fail"):
        raise ValueError(SECRET)


async def initialized(ls: DemoServer, params: lsp.InitializedParams) -> None:
    workspace = ls.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched and watched.dynamic_registration:
        options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers=[lsp.FileSystemWatcher(glob_pattern="**/*.py")])
        registration = lsp.Registration("watch", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await ls.client_register_capability_async(lsp.RegistrationParams([registration]))
        ls.log("registered")


async def config(ls: DemoServer, params: AnyParams) -> Any:
    items = [lsp.ConfigurationItem(section="demo"), lsp.ConfigurationItem(section="demo", scope_uri=params.value)]
    return await ls.workspace_configuration_async(lsp.ConfigurationParams(items=items))


async def ask(ls: DemoServer, params: AnyParams) -> Any:
    actions = [lsp.MessageActionItem("Now"), lsp.MessageActionItem("Later")]
    question = lsp.ShowMessageRequestParams(type=lsp.MessageType.Warning, message="Now?", actions=actions)
    answer = await ls.window_show_message_request_async(question)
    return None if answer is None else answer.title


async def edit(ls: DemoServer, params: AnyParams) -> Any:
    document = ls.workspace.get_text_document(str(params.value))
    start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    target = lsp.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    change = lsp.TextDocumentEdit(text_document=target, edits=[lsp.TextEdit(start, "# hi\n")])
    wanted = lsp.ApplyWorkspaceEditParams(edit=lsp.WorkspaceEdit(document_changes=[change]), label="Insert")
    answer = await ls.workspace_apply_edit_async(wanted)
    return {"applied": answer.applied, "why": answer.failure_reason}


async def show_progress(ls: DemoServer, params: AnyParams) -> Any:
    token = "job-1"
    await ls.work_done_progress.create_async(token)
    ls.work_done_progress.begin(token, lsp.WorkDoneProgressBegin(title="Working", percentage=0, cancellable=True))
    ls.work_done_progress.report(token, lsp.WorkDoneProgressReport(message="2 of 5", percentage=40))
    ls.work_done_progress.end(token, lsp.WorkDoneProgressEnd(message="done"))
    ls.work_done_progress.tokens.pop(token, None)
    return "ok"


async def pick(ls: DemoServer, params: AnyParams) -> Any:
    picked = await ls.protocol.send_request_async("demo/editorPick", AnyParams(value=["a", "b"]))
    return {"type": type(picked).__name__, "name": picked.name}


def hover(ls: DemoServer, params: lsp.HoverParams) -> lsp.Hover | None:
    document = ls.workspace.get_text_document(params.text_document.uri)
    word = document.word_at_position(params.position)
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, f"`{word}`")) if word else None


def folders(ls: DemoServer, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    names = sorted(str(to_fs_path(folder.uri)) for folder in ls.workspace.folders.values())
    ls.log("folders " + ",".join(names))


async def recheck(ls: DemoServer, item: Item) -> Any:
    try:
        if item.hold:
            ls.log("holding")
            await asyncio.Event().wait()
        return {"rechecked": item.name}
    except asyncio.CancelledError:
        ls.log("recheck cancelled")
        raise


def build() -> DemoServer:
    """A server with every handler."""
    server = DemoServer()
    server.feature(lsp.INITIALIZE)(initialize)
    server.feature(lsp.INITIALIZED)(initialized)
    server.feature("demo/chat")(chat)
    server.feature("demo/prepare")(prepare)
    server.feature("demo/echo")(echo)
    server.feature("demo/bad")(bad)
    server.feature("demo/wrongType")(wrong_type)
    server.feature("demo/inFlight")(in_flight)
    server.feature("demo/threads")(threads)
    server.feature("demo/poke")(poke)
    server.feature("demo/blocking")(blocking)
    server.feature("demo/slowThread")(slow_thread)
    for handler in (blocking, slow_thread):
        server.thread()(handler)  # after `feature`: pygls marks the function itself, and there are many servers
    server.feature("demo/stuck")(stuck)
    server.feature("demo/config")(config)
    server.feature("demo/ask")(ask)
    server.feature("demo/edit")(edit)
    server.feature("demo/progress")(show_progress)
    server.feature("demo/pick")(pick)
    server.feature("undeclared/echo")(echo)
    server.feature(lsp.TEXT_DOCUMENT_HOVER)(hover)
    server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(folders)
    server.command("demo.recheck")(recheck)
    return server


async def close_shared() -> None:
    sys.stderr.write("shared closed\n")


def main() -> int:
    if len(sys.argv) > 1:
        return run_tcp(build, token_file=Path(sys.argv[1]), port=0, on_stop=close_shared)
    return run_stdio(build(), *protect_stdio())


if __name__ == "__main__":
    raise SystemExit(main())
