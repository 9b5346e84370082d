"""The base: every request gets one answer, typed and strict, and no answer tells what it should not."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, client_capabilities
from tests.lsp.demo_server import DEMO, MESSAGES, ChatParams, ChatResult, build
from tests.lsp.in_process import served
from tests.lsp.rawlsp import ABSENT, RawClient, encode, environment, started
from tests.lsp.typed_client import TypedClient

URI = "file:///tmp/demo%20x/a.py"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def raw() -> AsyncIterator[RawClient]:
    """A demo server of the test's own, initialized."""
    async with served(build()) as client:
        await client.initialize()
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[RawClient]:
    """One demo server for all tests that leave nothing behind; starting one takes longer than such a test."""
    async with served(build()) as client:
        await client.initialize()
        yield client


def open_document(client: RawClient, text: str) -> None:
    document = {"uri": URI, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})


async def hovered(client: RawClient, line: int, character: int) -> str:
    position = {"line": line, "character": character}
    result = await client.result("textDocument/hover", {"textDocument": {"uri": URI}, "position": position})
    return str(result["contents"]["value"])


# ------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("method", "params", "code", "says"),
    [
        (
            "demo/chat",
            {"conversationId": 5, "text": "x"},
            -32602,
            "params.conversationId: expected a string, got an integer",
        ),
        (
            "demo/chat",
            {"conversationId": None, "text": "x"},
            -32602,
            "params.conversationId: expected a string, got null",
        ),
        ("demo/chat", {}, -32602, "params.conversationId: is missing"),
        ("demo/chat", ABSENT, -32602, "params.conversationId: is missing"),
        ("demo/chat", None, -32602, "params.conversationId: is missing"),
        ("demo/chat", [1], -32602, "params: expected an object, got an array"),
        ("demo/chat", "x", -32602, "params: expected an object, got a string"),
        ("demo/prepare", {"conversationId": "a", "maxTokens": True}, -32602, "params.maxTokens"),
        ("demo/prepare", {"conversationId": "a", "maxTokens": 1.5}, -32602, "params.maxTokens"),
        ("demo/prepare", {"conversationId": "a", "maxTokens": 3}, 4001, "The limit is too small."),
        ("textDocument/hover", {"position": 3}, -32602, "params.textDocument: is missing"),
        ("textDocument/hover", ABSENT, -32602, "params.textDocument: is missing"),
        ("textDocument/hover", 5, -32602, "params: expected an object"),
        ("textDocument/definition", {}, -32601, "textDocument/definition"),
        ("demo/unknown", {}, -32601, "demo/unknown"),
        ("undeclared/echo", {}, -32601, "undeclared/echo"),
        ("$/unknown", {}, -32601, "$/unknown"),
        ("demo/poke", {}, -32600, "notification"),
        ("textDocument/didOpen", {}, -32600, "notification"),
        ("exit", {}, -32600, "notification"),
        ("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, -32600, "only once"),
        ("demo/bad", {"value": "raise"}, -32603, "log"),
        ("demo/bad", {"value": "raise data"}, -32603, "log"),
        ("demo/bad", {"value": "set"}, -32603, "log"),
        ("demo/bad", {"value": "nan"}, -32603, "log"),
        ("demo/bad", {"value": "circle"}, -32603, "log"),
        ("demo/bad", {"value": "notify"}, -32603, "log"),
        ("demo/wrongType", {}, -32603, "log"),
        ("workspace/executeCommand", {"command": "nope"}, -32602, "'nope'"),
        ("workspace/executeCommand", {"command": "demo.recheck"}, -32602, "Expected 1 arguments, got 0"),
        ("workspace/executeCommand", {"command": "demo.recheck", "arguments": [{"name": "x"}, 2]}, -32602, "got 2"),
        ("workspace/executeCommand", {"command": "demo.recheck", "arguments": [{"name": 1}]}, -32602, "argument.name"),
        ("workspace/executeCommand", {"command": "demo.recheck", "arguments": 5}, -32602, "params.arguments"),
    ],
)
async def test_a_request_that_fails_gets_one_error_without_internals(
    shared: RawClient, method: str, params: Any, code: int, says: str
) -> None:
    request = shared.start_request(method, params)
    answer = await request.answer()
    await shared.result("demo/echo", {})
    assert shared.answers(request.id) == [answer]
    assert answer["error"]["code"] == code
    assert says in json.dumps(answer["error"])
    for internal in ("secret", "Traceback", "File ", ".py", "/home/"):
        assert internal not in json.dumps(answer).replace(URI, "")


async def test_errors_are_readable_by_programs(shared: RawClient) -> None:
    error = (await shared.request("demo/chat", {"text": 5}))["error"]
    assert error["data"] == {
        "kind": "invalid_params",
        "retryable": False,
        "errors": ["params.conversationId: is missing", "params.text: expected a string, got an integer"],
    }
    error = (await shared.request("demo/prepare", {"conversationId": "a", "maxTokens": 3}))["error"]
    assert error == {
        "code": 4001,
        "message": "The limit is too small.",
        "data": {"excessTokens": 7, "messageIds": [0, 1]},
    }


async def test_what_handlers_raise_is_logged_without_its_text(raw: RawClient) -> None:
    await raw.request("demo/bad", {"value": "raise"})
    raw.notify("demo/poke", {"value": "raise"})
    raw.notify("demo/chat", {"conversationId": "secret"})
    raw.notify("exit")
    await raw.exit_code()
    stderr = raw.stderr.decode()
    assert stderr.splitlines().count("ValueError") == 2
    assert "demo_server.py" in stderr
    assert "/home/me" not in stderr


async def test_nothing_of_a_message_is_in_any_log() -> None:
    """With every logger wide open, as a user would have it who reports a fault."""
    code = f"import logging, runpy; logging.basicConfig(level=0); runpy.run_path({DEMO[1]!r}, run_name='__main__')"
    async with started([sys.executable, "-c", code]) as client:
        await client.initialize(initializationOptions={"key": "sk-hidden"})
        open_document(client, "hidden text")
        await client.result("demo/echo", {"value": "hidden value"})
        await client.request("demo/chat", {"conversationId": "hidden", "text": 5})
        await client.request("textDocument/hover", {"position": "hidden"})
        await client.request("workspace/executeCommand", {"command": "demo.recheck", "arguments": ["hidden"]})
        client.notify("textDocument/didChange", {"textDocument": "hidden"})
        client.send({"jsonrpc": "2.0", "id": 99, "result": "hidden"})
        client.send({"jsonrpc": "2.0", "id": {"hidden": 1}, "method": "hidden"})
        client.notify("exit")
        assert await client.exit_code() == 1
        assert "hidden" not in client.stderr.decode()


async def test_parameters_with_a_nested_jsonrpc_are_data(shared: RawClient) -> None:
    nested = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "textDocument/hover",
        "params": {"type_name": "x", "class": 1, "a-b": 2},
    }
    value = {"body": nested, "list": [nested]}
    assert await shared.result("demo/echo", {"value": value}) == {"value": value}


async def test_an_empty_lua_table_is_an_empty_object(shared: RawClient) -> None:
    assert await shared.result("demo/echo", []) == {}


async def test_falsy_results_stay_on_the_wire(shared: RawClient) -> None:
    result = await shared.result("demo/chat", {"conversationId": "", "text": ""})
    assert result == {"text": "", "isTruncated": False}
    values: list[Any] = [0, "", False, [], {}]
    for value in values:
        assert await shared.result("demo/echo", {"value": value}) == {"value": value}


async def test_half_an_emoji_does_not_break_an_answer(shared: RawClient) -> None:
    assert await shared.result("demo/bad", {"value": "surrogates"}) == {"halves": "\U0001f600", "alone": "a\ufffdb"}
    shared.send_bytes(frame(b'{"jsonrpc":"2.0","id":"\\udc00","method":"demo/echo","params":{"value":"\\ud800"}}'))
    await shared.result("demo/echo", {})
    (answer,) = shared.answers("\udc00")
    assert "params.value: expected whole characters" in answer["error"]["message"]


# ------------------------------------------------------------------------------------------------- what is no message


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize(
    ("body", "code", "answer_id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"nonsense", -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"demo/echo","params":{"value":NaN}}', -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', -32700, None),
        ('{"jsonrpc":"2.0","id":7,"method":"demo/echo"}'.encode("utf-16"), -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"id":' + b"1" * 10_000 + b"}", -32700, None),
        (b"5", -32600, None),
        (b'"x"', -32600, None),
        (b"null", -32600, None),
        (b"true", -32600, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":7,"method":"demo/echo"}]', -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"2.0"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"demo/echo"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"demo/echo"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"demo/echo"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"demo/echo"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"demo/echo"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7),
        (b'{"jsonrpc":"1.0","id":7,"method":"demo/echo"}', -32600, 7),
        (b'{"id":"x","method":"demo/echo"}', -32600, "x"),
        (b'{"jsonrpc":"2.0","method":5}', -32600, None),
    ],
)
async def test_what_is_no_message_gets_one_error(shared: RawClient, body: bytes, code: int, answer_id: Any) -> None:
    before = len(shared.inbox)
    shared.send_bytes(frame(body))
    await shared.result("demo/echo", {})
    answers = shared.inbox[before:-1]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(answer_id, code)]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 7, "result": None},
        {"jsonrpc": "2.0", "id": "never asked", "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": {"a": 1}, "result": 5},
        {"jsonrpc": "2.0", "id": None, "error": "x"},
        {"jsonrpc": "2.0", "method": "no/such"},
        {"jsonrpc": "2.0", "method": "$/no/such", "params": 5},
        {"jsonrpc": "2.0", "method": "demo/echo", "params": {}},
        {"jsonrpc": "2.0", "method": "demo/poke", "params": 5},
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 5}},
        {"jsonrpc": "2.0", "method": "textDocument/didChange"},
        {"jsonrpc": "2.0", "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "unknown"}},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": {}}},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": [1]},
        {"jsonrpc": "2.0", "method": "window/workDoneProgress/cancel", "params": {"token": "unknown"}},
    ],
)
async def test_replies_and_notifications_are_never_answered(shared: RawClient, message: Any) -> None:
    before = len(shared.inbox)
    shared.send(message)
    answer = await shared.request("demo/echo", {"value": 1})
    assert shared.inbox[before:] == [answer]
    assert answer["result"] == {"value": 1}


async def test_messages_may_come_in_any_pieces(shared: RawClient) -> None:
    stream = b"".join(
        encode({"jsonrpc": "2.0", "id": f"p{at}", "method": "demo/echo", "params": {"value": "é" * at}})
        for at in range(20)
    )
    for at in range(0, len(stream), 7):
        shared.send_bytes(stream[at : at + 7])
        await asyncio.sleep(0)
    await shared.result("demo/echo", {})
    assert [shared.answers(f"p{at}")[0]["result"]["value"] for at in range(20)] == ["é" * at for at in range(20)]


async def test_headers_are_read_without_case_and_extra_ones_skipped(shared: RawClient) -> None:
    body = b'{"jsonrpc":"2.0","id":"h","method":"demo/echo"}'
    shared.send_bytes(b"content-type: x; charset=utf8\r\ncontent-length: %d\r\nX-More: 1\r\n\r\n%b" % (len(body), body))
    await shared.result("demo/echo", {})
    assert shared.answers("h")[0]["result"] == {}


# -------------------------------------------------------------------------------------------------------- cancelling


async def held_chat(client: RawClient, **more: Any) -> Any:
    """A chat that has streamed one word and waits."""
    params = {"conversationId": "a", "text": "one two", "hold": True, "partialResultToken": "held"}
    request = client.start_request("demo/chat", params | more)
    while (await client.notification("$/progress"))["token"] != "held":
        pass
    return request


async def test_a_cancel_reaches_the_handler_and_is_answered_after_it_saved(raw: RawClient) -> None:
    request = await held_chat(raw)
    for _ in range(3):  # the second must not cut short what the first set going
        raw.notify("$/cancelRequest", {"id": request.id})
    answer = await request.answer()
    assert answer["error"]["code"] == -32800
    assert [entry["message"] for entry in raw.received("window/logMessage")] == ["saved 1 words"]
    assert raw.inbox.index(answer) == len(raw.inbox) - 1


async def test_a_cancel_reaches_the_coroutine_of_a_command(raw: RawClient) -> None:
    arguments = [{"name": "x", "hold": True}]
    request = raw.start_request("workspace/executeCommand", {"command": "demo.recheck", "arguments": arguments})
    assert (await raw.notification("window/logMessage"))["message"] == "holding"
    raw.notify("$/cancelRequest", {"id": request.id})
    assert (await request.answer())["error"]["code"] == -32800
    assert (await raw.notification("window/logMessage"))["message"] == "recheck cancelled"
    result = await raw.result("workspace/executeCommand", {"command": "demo.recheck", "arguments": [{"name": "y"}]})
    assert result == {"rechecked": "y"}


async def test_a_cancelled_thread_is_answered_at_once_and_not_again(raw: RawClient) -> None:
    request = raw.start_request("demo/slowThread", {"value": 0.5})
    assert (await raw.notification("window/logMessage"))["message"] == "the thread began"
    raw.notify("$/cancelRequest", {"id": request.id})
    assert (await request.answer())["error"]["code"] == -32800
    assert await raw.result("demo/slowThread", {"value": 0.8}) == "late"  # the first one has long ended by now
    assert len(raw.answers(request.id)) == 1


async def test_a_second_request_with_an_id_in_flight_is_refused_and_the_first_goes_on(raw: RawClient) -> None:
    request = await held_chat(raw, workDoneToken=8)
    raw.send({"jsonrpc": "2.0", "id": request.id, "method": "demo/echo", "params": {}})
    assert (await request.answer())["error"]["code"] == -32600
    raw.notify("window/workDoneProgress/cancel", {"token": 8})
    while len(raw.answers(request.id)) < 2:
        await raw.result("demo/echo", {})
    assert raw.answers(request.id)[1]["result"] == {"text": "one", "isTruncated": True, "stopReason": "cancelled"}
    assert await raw.result("demo/inFlight", {}) == [0, 0, 0]
    again = {"jsonrpc": "2.0", "id": request.id, "method": "demo/echo", "params": {"value": "the id is free again"}}
    raw.send(again)
    await raw.result("demo/echo", {})
    assert raw.answers(request.id)[2]["result"] == again["params"]


async def test_ids_that_look_alike_are_told_apart(raw: RawClient) -> None:
    first = await held_chat(raw)
    text_id = str(first.id)
    raw.send({"jsonrpc": "2.0", "id": text_id, "method": "demo/echo", "params": {}})
    await raw.result("demo/echo", {})
    assert raw.answers(text_id)[0]["result"] == {}
    assert not first.is_answered


# ---------------------------------------------------------------------------------------------------------- streaming


async def test_every_partial_result_comes_before_the_answer(raw: RawClient) -> None:
    params = {"conversationId": "a", "text": "a b c", "partialResultToken": "p1", "workDoneToken": 7}
    answer = await raw.request("demo/chat", params)
    assert answer["result"] == {"text": "a b c", "isTruncated": False}
    progress = raw.received("$/progress")
    assert [p["value"] for p in progress if p["token"] == "p1"] == [
        {"seq": seq, "type": "text", "text": word} for seq, word in enumerate("abc")
    ]
    assert [p["value"]["kind"] for p in progress if p["token"] == 7] == ["begin", "end"]
    assert raw.inbox[-1] == answer


async def test_results_of_threads_do_not_tear_each_other(raw: RawClient) -> None:
    slow = [raw.start_request("demo/blocking", {}) for _ in range(40)]
    quick = [raw.start_request("demo/echo", {"value": at}) for at in range(200)]
    for request in slow:
        assert len((await request.answer())["result"]) == 300_000
    assert [(await request.answer())["result"]["value"] for request in quick] == list(range(200))


async def test_nothing_is_kept_of_what_is_done(raw: RawClient) -> None:
    open_document(raw, "a")
    for at in range(200):
        change = {"textDocument": {"uri": URI, "version": at + 2}, "contentChanges": [{"text": f"{at}"}]}
        raw.notify("textDocument/didChange", change)
        raw.notify("demo/poke", {"value": at})
    await asyncio.gather(*(raw.request("demo/chat", {"conversationId": "a", "text": "x"}) for _ in range(50)))
    while len(raw.received("demo/poked")) < 200:
        await raw.notification("demo/poked")
    assert await raw.result("demo/inFlight", {}) == [0, 0, 0]


# ---------------------------------------------------------------------------------------------- requests to the editor


async def test_the_server_can_ask_the_editor(raw: RawClient) -> None:
    raw.handlers["workspace/configuration"] = lambda p: [{"scope": item.get("scopeUri")} for item in p["items"]]
    raw.handlers["window/showMessageRequest"] = lambda p: p["actions"][0]
    raw.handlers["workspace/applyEdit"] = lambda p: {"applied": False, "failureReason": "version"}
    raw.handlers["window/workDoneProgress/create"] = lambda p: None
    raw.handlers["demo/editorPick"] = lambda p: {"name": p["value"][1]}
    open_document(raw, "a")
    assert await raw.result("demo/config", {"value": URI}) == [{"scope": None}, {"scope": URI}]
    assert await raw.result("demo/ask", {}) == "Now"
    assert await raw.result("demo/edit", {"value": URI}) == {"applied": False, "why": "version"}
    assert await raw.result("demo/progress", {}) == "ok"
    assert await raw.result("demo/pick", {}) == {"type": "Picked", "name": "b"}
    assert await raw.result("demo/inFlight", {}) == [0, 0, 0]


async def test_the_server_registers_once_it_is_initialized() -> None:
    async with served(build()) as client:
        client.handlers["client/registerCapability"] = lambda _: None
        await client.initialize({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}})
        assert (await client.notification("window/logMessage"))["message"] == "registered"
        (registered,) = client.received("client/registerCapability")
        assert registered["registrations"][0]["registerOptions"] == {"watchers": [{"globPattern": "**/*.py"}]}


@pytest.mark.parametrize(
    "reply",
    [
        {"result": {"wrong": 1}},
        {"result": "x"},
        {"result": {"name": None}},
        {"error": "x"},
        {"error": {"code": "x", "message": "y"}},
        {"error": {"code": 1}},
        {"error": []},
        {"error": {"code": -32601, "message": "no"}},
    ],
)
async def test_an_editor_that_replies_with_rubbish_hangs_nobody(shared: RawClient, reply: Any) -> None:
    shared.raw_replies["demo/editorPick"] = lambda _: reply
    shared.raw_replies["window/showMessageRequest"] = lambda _: reply
    assert "error" in await shared.request("demo/pick", {})
    if reply != {"result": {"name": None}}:
        assert "error" in await shared.request("demo/ask", {})
    assert await shared.result("demo/inFlight", {}) == [0, 0, 0]


async def test_the_errors_of_an_editor_keep_their_code(raw: RawClient) -> None:
    assert (await raw.request("demo/config", {}))["error"]["code"] == -32601


async def test_a_cancelled_request_stops_asking_the_editor(raw: RawClient) -> None:
    asked: list[Any] = []
    raw.silent_for = asked.append  # an editor that takes its time
    request = raw.start_request("demo/pick", {})
    while not asked:
        await raw.result("demo/echo", {})
    raw.notify("$/cancelRequest", {"id": request.id})
    assert (await request.answer())["error"]["code"] == -32800
    assert await raw.notification("$/cancelRequest") == {"id": asked[0]["id"]}
    raw.send({"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"name": "late"}})
    assert await raw.result("demo/inFlight", {}) == [0, 0, 0]


# ------------------------------------------------------------------------------------------------------------ documents


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 5), ("utf-16", 3), ("utf-32", 2), (None, 3)])
async def test_positions_count_in_the_encoding_the_editor_chose(encoding: str | None, character: int) -> None:
    async with served(build()) as client:
        answer = await client.initialize({"general": {"positionEncodings": [encoding]}} if encoding else {})
        assert answer["result"]["capabilities"]["positionEncoding"] == (encoding or "utf-16")
        open_document(client, "\U0001f389 abc\n")  # 4 UTF-8 bytes, 2 UTF-16 units or 1 code point, then a blank
        assert await hovered(client, 0, character) == "`abc`"


async def test_lines_end_where_the_protocol_says(raw: RawClient) -> None:
    open_document(raw, "a\x0cb\u2028c\x85d\x1ce\nd\r\ne\rf")

    def edit(line: int, start: int, end: int, text: str) -> dict[str, Any]:
        place = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
        return {"range": place, "text": text}

    changes = [edit(1, 0, 1, "D"), edit(2, 0, 1, "E"), edit(3, 0, 1, "Foo"), edit(3, 3, 3, "\n")]
    raw.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": changes})
    assert [await hovered(raw, line, 0) for line in (1, 2, 3)] == ["`D`", "`E`", "`Foo`"]


async def test_workspace_folders_come_and_go() -> None:
    async with served(build()) as client:
        await client.initialize(workspaceFolders=[{"uri": "file:///w/one", "name": "one"}])
        event = {
            "added": [{"uri": "file:///w/tw%20o", "name": "two"}],
            "removed": [{"uri": "file:///w/one", "name": "one"}],
        }
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert (await client.notification("window/logMessage"))["message"] == "folders /w/tw o"


async def test_capabilities_tell_what_there_is() -> None:
    async with served(build()) as client:
        capabilities = (await client.initialize())["result"]["capabilities"]
        assert capabilities["executeCommandProvider"] == {"commands": ["demo.recheck"]}
        assert capabilities["experimental"] == {"demo": {"version": 1}}
        assert capabilities["textDocumentSync"]["change"] == lsp.TextDocumentSyncKind.Incremental
        assert "completionProvider" not in capabilities


# -------------------------------------------------------------------------------------------------------- typed clients


@pytest_lsp.fixture(  # type: ignore[untyped-decorator]
    config=ClientServerConfig(
        server_command=DEMO, client_factory=lambda: TypedClient(MESSAGES), server_env=environment()
    ),
    params=["neovim", "visual_studio_code", "emacs"],
)
async def typed(request: pytest.FixtureRequest, lsp_client: TypedClient) -> AsyncIterator[None]:
    """A client with an editor's capabilities, which complains when the server uses others."""
    await lsp_client.initialize_session(lsp.InitializeParams(capabilities=client_capabilities(request.param)))
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio(loop_scope="function")
async def test_messages_are_typed_at_both_ends(typed: TypedClient) -> None:
    params = ChatParams(conversation_id="a", text="x y", partial_result_token="p")
    result = await typed.protocol.send_request_async("demo/chat", params)  # type: ignore[no-untyped-call]
    assert result == ChatResult(text="x y", is_truncated=False)
    assert [partial.value for partial in typed.partials] == [
        {"seq": seq, "type": "text", "text": word} for seq, word in enumerate("xy")
    ]
