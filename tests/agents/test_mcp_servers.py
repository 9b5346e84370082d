"""Servers that others wrote, as the programs that their users start: `make test-mcp` installs them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="`make test-agents` sets up what this needs")

from tests.agents.mcp_desk import connected, ignore, program, until

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.content import Answer, Link, Media, MediaKind, Text, to_text
from palimpsest.mcp_client.connection import connect
from palimpsest.services.mcp.connection import Connection, McpFailure
from palimpsest.services.mcp.server import McpServer, ServerState

INSTALLED = Path(os.environ.get("TEST_PALIMPSEST_MCP", "/nowhere"))
pytestmark = pytest.mark.skipif(not INSTALLED.is_dir(), reason="`make test-mcp` installs the servers that these ask")


def node(name: str, folder: Path, *arguments: str, **env: str) -> ServerConfig:
    command = INSTALLED / "node_modules" / ".bin" / f"mcp-server-{name}"
    return program(folder, str(command), *arguments, env=env)


def python(name: str, folder: Path, *arguments: str) -> ServerConfig:
    return program(folder, str(INSTALLED / "python" / "bin" / f"mcp-server-{name}"), *arguments)


@pytest.fixture
async def everything(tmp_path: Path) -> AsyncIterator[Connection]:
    async with connected(node("everything", tmp_path)) as one:
        yield one


def words(answer: Answer) -> str:
    assert not answer.is_error, answer
    return "\n".join(block.text for block in answer.blocks if isinstance(block, Text))


async def test_everything_lists_tools_resources_and_prompts_and_all_are_usable(everything: Connection) -> None:
    offer = await everything.offer()
    assert not offer.problems
    names = {each.schema.name for each in offer.tools}
    assert {"one__echo", "one__get-sum", "one__get-tiny-image", "one__trigger-long-running-operation"} <= names
    assert "hi" in words(await everything.call("echo", {"message": "hi"}, ignore))
    assert "5" in words(await everything.call("get-sum", {"a": 2, "b": 3}, ignore))
    read = await everything.read(offer.resources[0].uri)
    assert read[0].text if isinstance(read[0], Text) else read[0]
    assert {"simple-prompt", "args-prompt"} <= {each.name for each in offer.prompts}
    (said,) = await everything.prompt("args-prompt", {"city": "Paris"})
    assert isinstance(said.blocks[0], Text)
    assert "Paris" in said.blocks[0].text


async def test_everything_reports_progress_and_a_call_of_it_can_be_cancelled(everything: Connection) -> None:
    lines: list[str] = []
    done = await everything.call("trigger-long-running-operation", {"duration": 1, "steps": 2}, lines.append)
    assert "completed" in words(done).lower()
    assert [line.split()[:3] for line in lines] == [["1", "of", "2"], ["2", "of", "2"]]
    began: list[str] = []
    call = asyncio.create_task(
        everything.call("trigger-long-running-operation", {"duration": 600, "steps": 600}, began.append)
    )
    await until(lambda: bool(began))
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    assert "still" in words(await everything.call("echo", {"message": "still here"}, ignore))


async def test_everything_answers_with_an_image_links_and_a_structure(everything: Connection) -> None:
    image = await everything.call("get-tiny-image", {}, ignore)
    (media,) = [block for block in image.blocks if isinstance(block, Media)]
    assert (media.kind, media.mime_type, media.data[:4]) == (MediaKind.IMAGE, "image/png", b"\x89PNG")
    assert f"[An image of {len(media.data):,} bytes (image/png) came. It is not shown.]" in to_text("one", image.blocks)
    links = await everything.call("get-resource-links", {"count": 2}, ignore)
    assert len([block for block in links.blocks if isinstance(block, Link)]) == 2
    structured = await everything.call("get-structured-content", {"location": "New York"}, ignore)
    assert isinstance(json.loads(words(structured)), dict)


async def test_everything_refuses_wrong_arguments_and_goes_on(everything: Connection) -> None:
    async def is_refused() -> bool:
        try:
            return (await everything.call("get-sum", {"a": "two"}, ignore)).is_error
        except McpFailure as failure:
            return not failure.is_over

    assert await is_refused()
    assert words(await everything.call("echo", {"message": "on"}, ignore))


async def test_filesystem_reads_and_writes_below_its_folder_and_nowhere_else(tmp_path: Path) -> None:
    root = tmp_path / "inside"
    root.mkdir()
    async with connected(node("filesystem", root, str(root))) as one:
        offer = await one.offer()
        reading = {each.name for each in offer.tools if each.is_read_only}
        assert "read_text_file" in reading
        assert "write_file" not in reading
        words(await one.call("write_file", {"path": str(root / "a.txt"), "content": "hello"}, ignore))
        assert (root / "a.txt").read_text() == "hello"
        outside = await one.call("read_text_file", {"path": str(tmp_path / "b.txt")}, ignore)
        assert outside.is_error


async def test_memory_keeps_what_it_was_told(tmp_path: Path) -> None:
    file = str(tmp_path / "memory.json")
    entity = {"name": "pump", "entityType": "device", "observations": ["starts below 18 percent"]}
    async with connected(node("memory", tmp_path, MEMORY_FILE_PATH=file)) as one:
        words(await one.call("create_entities", {"entities": [entity]}, ignore))
    async with connected(node("memory", tmp_path, MEMORY_FILE_PATH=file)) as one:
        assert "18 percent" in words(await one.call("search_nodes", {"query": "pump"}, ignore))


async def test_time_tells_the_time_and_git_reads_a_repository(tmp_path: Path) -> None:
    async with connected(python("time", tmp_path, "--local-timezone", "UTC")) as one:
        assert "UTC" in words(await one.call("get_current_time", {"timezone": "UTC"}, ignore))
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new\n")
    async with connected(python("git", tmp_path, "--repository", str(tmp_path))) as one:
        assert "new.txt" in words(await one.call("git_status", {"repo_path": str(tmp_path)}, ignore))


async def test_a_real_server_that_is_killed_is_started_again(tmp_path: Path) -> None:
    import psutil

    server = McpServer(node("everything", tmp_path), lambda config: config, connect, lambda: None)
    await server.settled.wait()
    assert server.status.state is ServerState.READY, server.status.sentence
    (first,) = [each for each in psutil.Process().children(recursive=True) if "node" in each.name()]
    first.kill()
    await until(lambda: server.status.state is not ServerState.READY)
    await until(lambda: server.status.state is ServerState.READY)
    await server.stop()
    assert not [each for each in psutil.Process().children(recursive=True) if "node" in each.name()]
