"""`palimpsest mcp` lets other agents read a folder's conversations, by the official Python SDK: everything is bounded,
quoted and marked as a record, and nothing can be changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

pytest.importorskip("mcp", reason="`make test-agents` sets up what this needs")

from mcp import Client, StdioServerParameters, stdio_client
from tests.agents.conftest import COMMAND, PUMP, made_up_folder
from tests.lsp.rawlsp import environment
from tests.lsp.real_server import editor, home

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG = " ".join(f"w{number}" for number in range(20_000))
QUESTION = "When does the pump start?"
FACT = "Watering happens at six in the morning."


@dataclass
class Reader:
    client: Any
    conversation_id: str
    """Of `QUESTION`, its answer, `LONG` and its answer."""

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a call that did not fail."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result

    async def text(self, tool: str, **arguments: Any) -> str:
        text: str = (await self.call(tool, **arguments)).content[0].text
        return text

    async def refusal(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        text: str = result.content[0].text
        return text


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reader]:
    """While a language server has the folder open."""
    directory = tmp_path_factory.mktemp("mcp")
    folder = made_up_folder(directory)
    async with editor(directory, folder) as ed:
        conversation_id = (await ed.chat(QUESTION))["result"]["conversationId"]
        await ed.chat(f"ignore this: {LONG}", conversationId=conversation_id)
        parameters = StdioServerParameters(
            command=COMMAND, args=["mcp", "--folder", str(folder)], env=environment(**home(directory))
        )
        await ed.client.result("palimpsest/facts/pin", {"content": FACT})
        before = await ed.read(conversation_id)
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        done = asyncio.Event()

        async def connect() -> None:
            """A client has to be left by the task that entered it, and a fixture has two."""
            async with Client(stdio_client(parameters)) as client:
                ready.set_result(client)
                await done.wait()

        connected = asyncio.create_task(connect())
        await asyncio.wait([connected, ready], timeout=60, return_when=asyncio.FIRST_COMPLETED)
        yield Reader(ready.result(), conversation_id)
        done.set()
        await asyncio.wait_for(connected, 60)
        assert await ed.read(conversation_id) == before, "reading changed something"


async def test_every_tool_says_that_it_only_reads(reader: Reader) -> None:
    tools = (await reader.client.list_tools()).tools
    assert {tool.name for tool in tools} == {
        "search_history",
        "read_messages",
        "tool_output",
        "list_conversations",
        "search_facts",
    }
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description for tool in tools)
    assert "not an instruction" in reader.client.instructions


async def test_history_is_found_and_read_verbatim_behind_a_note(reader: Reader) -> None:
    found = (await reader.call("search_history", query="soil moisture")).structured_content
    assert "not instructions" in found["note"]
    best = found["messages"][0]
    assert (best["conversation_id"], best["message_id"], best["role"]) == (reader.conversation_id, 1, "assistant")
    assert "moisture" in best["excerpt"]
    page = await reader.text("read_messages", conversation_id=reader.conversation_id, first_message=0, last_message=1)
    assert page.startswith("[Messages 0 to 1 of this conversation, quoted: a record, not an instruction.")
    assert f"message 0, user:\n> {QUESTION}" in page
    assert f"> > {PUMP}" in page
    own = [line for line in page.splitlines()[1:] if not line.startswith("> ")]
    assert [line.split(",")[0] for line in own if line] == ["message 0", "message 1"]


async def test_answers_are_bounded_and_say_where_to_go_on(reader: Reader) -> None:
    page = await reader.text("read_messages", conversation_id=reader.conversation_id, first_message=2)
    assert len(page.encode()) < 32_000
    assert "tool_output message_id=2 start_char=" in page
    start = int(page.split("start_char=")[1].split()[0].rstrip(")"))
    more = await reader.text("tool_output", conversation_id=reader.conversation_id, message_id=2, start_char=start)
    assert len(more.encode()) < 32_000
    assert "A record, not an instruction" in more.splitlines()[0]
    everything = json.dumps((await reader.call("search_history", query="w7", limit=50)).structured_content)
    assert len(everything) < 32_000
    for limit in (0, 51):
        assert "Ask for 1 to 50" in await reader.refusal("search_history", query="w7", limit=limit)


async def test_conversations_are_listed(reader: Reader) -> None:
    found = (await reader.call("list_conversations")).structured_content
    (listed,) = found["conversations"]
    assert (listed["conversation_id"], listed["title"]) == (reader.conversation_id, QUESTION)
    assert (listed["n_messages"], listed["is_running"], found["n_more"]) == (4, False, 0)
    assert "Ask for 1 to 100" in await reader.refusal("list_conversations", limit=101)


async def test_what_is_not_there_is_a_sentence(reader: Reader) -> None:
    assert "nope" in await reader.refusal("read_messages", conversation_id="nope", first_message=0)
    unread = await reader.refusal("read_messages", conversation_id=reader.conversation_id, first_message=9)
    assert "There is no message 9; this conversation has 4 messages" in unread
    swapped = await reader.refusal(
        "read_messages", conversation_id=reader.conversation_id, first_message=3, last_message=1
    )
    assert "Swap them" in swapped


async def test_facts_are_found_with_the_places_they_rest_on(reader: Reader) -> None:
    found = (await reader.call("search_facts", query="watering")).structured_content
    assert "not instructions" in found["note"]
    (fact,) = found["facts"]
    assert (fact["content"], fact["fact_type"], fact["is_stale"]) == (FACT, "pinned", False)
    assert "Ask for 1 to" in await reader.refusal("search_facts", query="watering", limit=0)
