"""A page that a message mentions is part of it for good, and whatever goes wrong, nothing is sent by halves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.clients.web_host import WebHost, leads_to, response, web_host
from tests.lsp.chat_desk import Desk, desk  # noqa: F401  # a fixture
from tests.lsp.real_server import Editor, editor
from tests.waiting import WAIT_S

from palimpsest.domain.errors import InvalidRequest
from palimpsest.lsp.errors import to_rpc
from palimpsest.machine.extras import Extra, missing

ASK = "window/showMessageRequest"
SECRET = b"zqxpagetext7731"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "greenhouse"
    root.mkdir()
    return root


def allowed(host: WebHost) -> dict[str, str]:
    return {"PALIMPSEST_WEB_ALLOW_PRIVATE": host.place}


def agrees(ed: Editor) -> list[str]:
    """The questions, each answered with Fetch."""
    questions: list[str] = []

    def answer(params: dict[str, Any]) -> dict[str, str]:
        questions.append(params["message"])
        return {"title": "Fetch"}

    ed.client.handlers[ASK] = answer
    return questions


def files_with(directory: Path, text: bytes) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file() and text in path.read_bytes()]


async def conversations(ed: Editor) -> list[str]:
    listed = await ed.client.result("palimpsest/conversation/list", {})
    return [each["conversationId"] for each in listed["conversations"]]


class Gate:
    """A host that answers once it may."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.is_asked = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.is_asked.set()
        gone = asyncio.create_task(reader.read())
        opened = asyncio.create_task(self.open.wait())
        await asyncio.wait([gone, opened], return_when=asyncio.FIRST_COMPLETED)
        for each in (gone, opened):
            each.cancel()
        writer.write(response(SECRET))


async def test_a_page_is_part_of_the_message_and_its_host_is_asked_about_once(tmp_path: Path, folder: Path) -> None:
    async with web_host(a=response(b"The pump starts at 40.")) as host, editor(tmp_path, folder, **allowed(host)) as ed:
        questions = agrees(ed)
        answer = await ed.chat(f"Read @{host.url('/a')}.")
        conversation_id = answer["result"]["conversationId"]
        assert questions == [f"Fetch from {host.place} what your message mentions? {host.url('/a')}"]
        host.answers["/a"] = response(b"changed")
        await ed.chat(f"And @{host.url('/a')}?", conversationId=conversation_id)
        assert len(questions) == 1
    async with editor(tmp_path, folder) as ed:  # the host is gone
        messages = (await ed.read(conversation_id))["messages"]
        parts = [part for each in messages for part in each["parts"] if part["type"] == "attachment"]
        assert [part["text"] for part in parts] == ["The pump starts at 40.", "changed"]
        assert all(part["name"].startswith(f"{host.url('/a')} (fetched 20") for part in parts)


async def test_without_an_editor_that_asks_nothing_is_fetched(tmp_path: Path, folder: Path) -> None:
    async with web_host(a=response(b"x")) as host, editor(tmp_path, folder, **allowed(host)) as ed:
        refused = await ed.chat(f"Read @{host.url('/a')}.")
        assert "because you did not agree" in refused["error"]["message"]
        assert refused["error"]["message"].endswith("Nothing was sent.")
        assert (host.asked, await conversations(ed)) == ([], [])


def test_an_editor_can_tell_from_a_refusal_which_extra_is_missing() -> None:
    refusals = [to_rpc(InvalidRequest(f"{what} Nothing was sent.")).data for what in (missing(Extra.WEB), "No.")]
    assert [each and each.get("missingExtra") for each in refusals] == ["web", None]


async def test_an_address_of_this_machine_is_refused_also_by_way_of_another(tmp_path: Path, folder: Path) -> None:
    async with web_host(a=response(SECRET)) as inner, web_host(a=leads_to(inner.url("/a"))) as outer:
        async with editor(tmp_path, folder, **allowed(outer)) as ed:
            agrees(ed)
            for host in (inner, outer):
                refused = await ed.chat(f"Read @{host.url('/a')}.")
                assert f"{inner.place} is an address of this machine" in refused["error"]["message"]
        assert inner.asked == []


async def test_a_cancelled_message_leaves_the_host_and_nothing_else(tmp_path: Path, folder: Path) -> None:
    gate = Gate()
    async with web_host(a=gate) as host, editor(tmp_path, folder, **allowed(host)) as ed:
        agrees(ed)
        asked = ed.client.start_request("palimpsest/chat", ed.chat_params(f"Read @{host.url('/a')}."))
        await asyncio.wait_for(gate.is_asked.wait(), WAIT_S)
        ed.client.notify("$/cancelRequest", {"id": asked.id})
        assert "error" in await asked.answer()
        await asyncio.wait_for(host.is_closed.wait(), WAIT_S)
        assert await conversations(ed) == []
        assert (await ed.chat("Go on."))["result"]["status"] == "committed"


async def test_a_conversation_that_is_purged_while_a_page_comes_begins_anew(tmp_path: Path, folder: Path) -> None:
    gate = Gate()
    async with web_host(a=gate) as host, editor(tmp_path, folder, **allowed(host)) as ed:
        agrees(ed)
        conversation_id = (await ed.chat("Begin."))["result"]["conversationId"]
        params = ed.chat_params(f"Read @{host.url('/a')}.", conversationId=conversation_id)
        asked = ed.client.start_request("palimpsest/chat", params)
        await asyncio.wait_for(gate.is_asked.wait(), WAIT_S)
        purge = {"conversationId": conversation_id, "confirm": True}
        await ed.client.result("palimpsest/conversation/purge", purge)
        gate.open.set()
        assert (await asked.answer())["result"]["status"] == "committed"
        texts = [part["text"] for each in (await ed.read(conversation_id))["messages"] for part in each["parts"]]
        assert SECRET.decode() in texts
        assert "Begin." not in texts
        await ed.client.result("palimpsest/conversation/purge", purge)
        assert files_with(tmp_path / "data", SECRET) == []


async def test_a_server_that_ends_while_it_fetches_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    gate = Gate()
    async with web_host(a=gate) as host:
        async with editor(tmp_path, folder, **allowed(host)) as ed:
            agrees(ed)
            ed.client.start_request("palimpsest/chat", ed.chat_params(f"Read @{host.url('/a')}."))
            await asyncio.wait_for(gate.is_asked.wait(), WAIT_S)
        await asyncio.wait_for(host.is_closed.wait(), WAIT_S)
    assert files_with(tmp_path / "data", SECRET) == []


async def test_in_a_chat_document_a_message_whose_page_is_missing_stays_in_the_input(desk: Desk) -> None:  # noqa: F811
    async with web_host(a=response(b"x")) as host:
        chat = await desk.chat()
        message = f"Read @{host.url('/a')}."
        chat.type(message)
        refused = await chat.command("send")
        assert "because you did not agree" in refused["error"]["message"]
        chat.client.handlers[ASK] = lambda _: {"title": "Fetch"}
        refused = await chat.command("send")
        assert "is an address of this machine" in refused["error"]["message"]
        assert chat.text.rstrip().endswith(message)
        assert host.asked == []
