"""What an editor sees of MCP servers: nothing runs before the user's word, each change is told, and the user hears of
what needs them once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import FakeProvider
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import RawClient
from tests.lsp.real_server import home, on_fake
from tests.services.mcp.scripted_server import ScriptedServer

from palimpsest.app import compose
from palimpsest.domain.mcp.offered import OfferedPrompt, OfferedResource
from palimpsest.machine.extras import Extra, missing
from palimpsest.services.mcp.connection import McpFailure

NEWS, SHOWN = "palimpsest/didChangeMcpServers", "window/showMessage"
HEARS = {"experimental": {"palimpsest": {"notifications": True}}}
INSTALLS = {"experimental": {"palimpsest": {"notifications": True, "extras": True}}}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    server = ScriptedServer(
        resources=[OfferedResource("memo://one", "", "")], prompts=[OfferedPrompt("hello", "")], texts={"hello": "Hi."}
    )
    server.texts["memo://one"] = "remember the milk"
    monkeypatch.setattr(compose, "connect", server.connect)
    return server


@pytest.fixture
async def client(
    tmp_path: Path, fake: FakeProvider, script: ScriptedServer, request: pytest.FixtureRequest
) -> AsyncIterator[RawClient]:
    root = tmp_path / "folder"
    root.mkdir()
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "run", "args": ["it"]}}}))
    async with connected_here(**home(tmp_path, **on_fake(fake.url))) as client:
        answer = await client.initialize(
            getattr(request, "param", HEARS),
            workspaceFolders=[{"uri": root.as_uri(), "name": "folder"}],
            initializationOptions={"palimpsest": {"trust": True}},
        )
        assert "result" in answer, answer
        yield client


async def ready(client: RawClient) -> dict[str, Any]:
    """The servers, as soon as all of them are ready."""
    while True:
        news: dict[str, Any] = await client.notification(NEWS)
        if all(each["state"] == "ready" for each in news["servers"]):
            return news


async def test_a_server_of_a_file_is_shown_approved_and_told_of(client: RawClient, script: ScriptedServer) -> None:
    (one,) = (await client.result("palimpsest/mcp/servers", {}))["servers"]
    assert (one["name"], one["state"], one["origin"], one["shown"]) == ("theirs", "unapproved", ".mcp.json", "run it")
    assert not script.configs
    shown = await client.notification(SHOWN)
    assert "asks for the MCP server theirs. Nothing was started." in shown["message"]
    wrong = await client.request("palimpsest/mcp/approve", {"name": "theirs", "fingerprint": "0", "isApproved": True})
    assert wrong["error"]["data"]["kind"] == "invalid_request"
    answer = {"name": "theirs", "fingerprint": one["fingerprint"], "isApproved": True}
    await client.result("palimpsest/mcp/approve", answer)
    (one,) = (await ready(client))["servers"]
    assert one["tools"] == ["theirs__echo"]
    assert (one["resources"], one["prompts"]) == (["theirs:memo://one"], ["/theirs:hello"])
    await client.result("palimpsest/mcp/restart", {"name": "theirs"})
    await ready(client)
    assert len(script.configs) == 2
    (rule,) = (await client.result("palimpsest/approval/list", {}))["rules"]
    assert "exactly as it is configured" in rule["covers"]
    await client.result("palimpsest/approval/revoke", {"id": rule["id"]})
    (one,) = (await client.result("palimpsest/mcp/servers", {}))["servers"]
    assert one["state"] == "unapproved"
    assert len(client.received(SHOWN)) == 1, "the user is told once"


async def test_a_mentioned_resource_is_sent_with_the_message_and_a_prompt_is_a_command(
    client: RawClient, fake: FakeProvider
) -> None:
    (one,) = (await client.result("palimpsest/mcp/servers", {}))["servers"]
    answer = {"name": "theirs", "fingerprint": one["fingerprint"], "isApproved": True}
    await client.result("palimpsest/mcp/approve", answer)
    await ready(client)
    chat = {"requestId": "r", "text": "What is in @theirs:memo://one?"}
    done = await client.result("palimpsest/chat", chat)
    assert done["status"] == "committed"
    assert "remember the milk" in json.dumps(fake.requests[0].body)
    reply = await client.result("palimpsest/command/run", {"text": "/theirs:hello"})
    assert reply["draft"] == "Hi."
    found = await client.result("palimpsest/mentions/complete", {"text": "@theirs:", "position": 8})
    assert [each["kind"] for each in found["items"]] == ["resource"]


async def test_a_server_that_is_given_up_is_told_with_its_reason(client: RawClient, script: ScriptedServer) -> None:
    (one,) = (await client.result("palimpsest/mcp/servers", {}))["servers"]
    await client.notification(SHOWN)
    script.refusals = [McpFailure("There is no such program.", is_final=True)]
    answer = {"name": "theirs", "fingerprint": one["fingerprint"], "isApproved": True}
    await client.result("palimpsest/mcp/approve", answer)
    shown = await client.notification(SHOWN)
    assert shown["message"] == "The MCP server theirs does not run. There is no such program."


@pytest.mark.parametrize("client", [INSTALLS], indirect=True)
async def test_an_editor_that_installs_extras_is_told_that_one_is_missing(
    client: RawClient, script: ScriptedServer
) -> None:
    (one,) = (await client.result("palimpsest/mcp/servers", {}))["servers"]
    await client.notification(SHOWN)
    script.refusals = [McpFailure(missing(Extra.MCP), is_final=True)]
    answer = {"name": "theirs", "fingerprint": one["fingerprint"], "isApproved": True}
    await client.result("palimpsest/mcp/approve", answer)
    lack = await client.notification("palimpsest/extraMissing")
    assert lack["extra"] == "mcp"
    assert lack["sentence"] == f"The MCP server theirs does not run. {missing(Extra.MCP)}"
    assert len(client.received(SHOWN)) == 1, "it is not told in a message as well"
