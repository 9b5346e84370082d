"""Every request ends, whatever the server does, and no server is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from tests.terminal.chats import Chats
from tests.waiting import WAIT_S

from palimpsest.terminal import connection as connection_module
from palimpsest.terminal import process as process_module
from palimpsest.terminal.calls import ServerNote, WorkDone
from palimpsest.terminal.connection import Connection
from palimpsest.terminal.errors import BadAnswer, RequestFailed, ServerGone, describe
from palimpsest.terminal.session import Session
from palimpsest.wire.areas.turns import ChatResult, TurnDelta, TurnStatus
from palimpsest.wire.areas.usage import ContextEvent, ContextUsage, UsageParams

TIMEOUT_S = WAIT_S


async def play(session: Session, text: str) -> tuple[list[Any], ChatResult]:
    turn = session.chat(text)
    async with asyncio.timeout(TIMEOUT_S):
        return [event async for event in turn.events()], await turn.result()


async def test_the_server_learns_who_asks_and_where(chats: Chats) -> None:
    async with chats.connected():
        pass
    (params,) = chats.received("initialize")
    assert params["processId"] > 0
    assert params["capabilities"]["window"]["workDoneProgress"] is True
    (folder,) = params["workspaceFolders"]
    parts = urlsplit(folder["uri"])
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("file", "", "", "")
    assert folder["uri"].isascii()
    assert "%20" in folder["uri"]
    assert "%23" in folder["uri"]
    assert Path(unquote(parts.path)) == chats.folder
    assert params["clientInfo"]["name"]
    assert chats.received("initialized") == [{}]


async def test_deltas_come_in_order_and_before_the_answer(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        events, result = await play(session, "hi")
    assert [event.seq for event in events if isinstance(event, TurnDelta)] == [1, 2, 3, 4]
    assert "".join(event.text or "" for event in events) == "You said in conversation-1: hi."
    assert result.status is TurnStatus.COMMITTED
    assert session.conversation_id == "conversation-1"


async def test_each_message_has_its_own_request_id(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        await play(session, "hi")
        await play(session, "hi")
    first, second = chats.received("palimpsest/chat")
    assert first["requestId"] != second["requestId"]
    assert first["folder"] == chats.folder.as_uri()
    assert "conversationId" not in first
    assert second["conversationId"] == "conversation-1"
    assert "folder" not in second


async def test_progress_of_a_summary_is_seen_with_the_turn_that_waits_for_it(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        events, _ = await play(session, "summary")
    assert [type(event) for event in events] == [
        TurnDelta, WorkDone, ContextEvent, ContextEvent, WorkDone, ContextEvent, WorkDone, TurnDelta,
    ]  # fmt: skip
    assert events[4] == WorkDone("Summarizing: half way", 50, False)


async def test_requests_of_the_server_are_answered_unknown_ones_with_an_error(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        events, _ = await play(session, "asked")
    said = "".join(event.text or "" for event in events)
    assert said == "workspace/inlayHint/refresh -32601\nwindow/workDoneProgress/create None\n"


async def test_an_error_carries_code_sentence_and_data(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        with pytest.raises(RequestFailed, match="overloaded; try again") as caught:
            await play(session, "fail")
    assert caught.value.code == -32803
    assert caught.value.data is not None
    assert (caught.value.data.kind, caught.value.data.retryable) == ("overloaded", True)
    assert caught.value.data.retry_after_ms == 2000


async def test_a_result_that_is_not_the_declared_one_is_refused(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        with pytest.raises(BadAnswer, match=r"palimpsest/chat.*conversationId"):
            await play(session, "malformed")
        assert (await play(session, "hi"))[1].status is TurnStatus.COMMITTED


async def test_a_delta_of_a_newer_server_does_not_cost_the_answer(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        events, result = await play(session, "newer")
    assert isinstance(events[1], ServerNote)
    assert events[2].text == "flat"
    assert result.status is TurnStatus.COMMITTED


@pytest.mark.parametrize("scene", ["die", "noise"])
async def test_when_the_server_dies_every_pending_request_ends_with_an_error(chats: Chats, scene: str) -> None:
    async with chats.connected() as (connection, session):
        turn = session.chat(scene)
        usage = connection.call("palimpsest/usage", UsageParams("conversation-1"), ContextUsage)
        for pending in (turn.result(), usage.result()):
            with pytest.raises(ServerGone) as caught:
                await asyncio.wait_for(pending, TIMEOUT_S)
        with pytest.raises(ServerGone):
            await asyncio.wait_for(session.conversations(), TIMEOUT_S)
    if scene == "die":
        assert "exit status 3" in str(caught.value)
        assert caught.value.stderr == ["one", "MemoryError: no more room"]
        assert "no more room" in describe(caught.value)
    else:
        assert "not a message" in str(caught.value)


async def test_a_caller_that_stops_waiting_cancels_at_the_server(chats: Chats) -> None:
    async with chats.connected() as (_, session):
        turn = session.chat("stuck")
        async with asyncio.timeout(TIMEOUT_S):
            async with contextlib.aclosing(turn.events()) as events:
                assert isinstance(await anext(events), TurnDelta)
            # The scripted server waits for that cancel before it reads on.
            assert await session.model_names() == ["scripted-1", "locked-2"]
            with pytest.raises(RequestFailed):
                await turn.result()
    (cancelled,) = chats.received("$/cancelRequest")
    assert cancelled == {"id": 2}


async def test_a_server_that_cannot_be_started_is_an_error_not_a_traceback(chats: Chats) -> None:
    with pytest.raises(ServerGone, match="could not be started"):
        await Connection.start([str(chats.folder / "nowhere")])


@pytest.mark.parametrize(("version", "sentence"), [("0", "not a Palimpsest server"), ("2", "speaks version 2")])
async def test_a_server_of_another_kind_or_version_is_refused(chats: Chats, version: str, sentence: str) -> None:
    with pytest.raises(BadAnswer, match=sentence):
        async with chats.connected("--version", version):
            pass


async def test_closing_says_shutdown_and_exit(chats: Chats) -> None:
    async with chats.connected():
        pass
    assert chats.received("shutdown") == [None]
    assert chats.received("exit") == [None]


async def test_a_server_that_does_not_leave_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "_END_TIMEOUT_S", 0.05)
    monkeypatch.setattr(process_module, "_KILL_TIMEOUT_S", 0.05)
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True)\n"
    stubborn += "while True: signal.pause()"
    child = await process_module.ServerProcess.start([sys.executable, "-c", stubborn])
    async with asyncio.timeout(TIMEOUT_S):
        assert (await child.read()).startswith(b"up")
        assert await child.end() == -9


async def test_closing_ends_what_a_mute_server_was_asked(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_SHUTDOWN_TIMEOUT_S", 0.05)
    mute = "import sys; sys.stdin.buffer.read()"
    connection = await Connection.start([sys.executable, "-c", mute])
    asked = asyncio.create_task(connection.initialize(chats.folder))
    async with asyncio.timeout(TIMEOUT_S):
        await asyncio.wait({asked}, timeout=0)
        await connection.close()
        with pytest.raises(ServerGone):
            await asked
