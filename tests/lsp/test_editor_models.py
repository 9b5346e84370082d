"""Models that an editor offers are listed as long as they are, asked only where a user chose one, and answer like any
other: streamed in order, stored, cancelled, and with an error that says what to do. What was shown is kept."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.lsp.in_process import in_environment, served
from tests.lsp.rawlsp import Message
from tests.lsp.real_server import Editor, editor, home
from tests.waiting import WAIT_S

from palimpsest.app.compose import load_folders
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.server import build_server
from palimpsest.services.folder.folders import Folders

OFFER, COMPLETE, DELTA = (
    "palimpsest/didChangeEditorModels",
    "palimpsest/editorModel/complete",
    "palimpsest/editorModel/delta",
)
MODEL = {
    "id": "copilot/gpt-4o",
    "name": "GPT-4o",
    "family": "gpt-4o",
    "maxInputTokens": 64_000,
    "maxOutputTokens": 4_000,
}
NAME = "editor/copilot/gpt-4o"
WHOLE: Message = {"result": {"stopReason": "end"}}


def text(piece: str) -> dict[str, Any]:
    return {"type": "text", "text": piece}


@dataclass
class Answer:
    deltas: list[dict[str, Any]]
    reply: Message | None = field(default_factory=lambda: WHOLE)
    """None: it never comes."""


class Offering:
    """An editor with models of its own, which answer from a script."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.client = editor.client
        self.script: list[Answer] = []
        self.asked: list[dict[str, Any]] = []
        self.held: asyncio.Queue[Message] = asyncio.Queue()
        """Calls that are not replied to."""
        self.client.silent_for = self._hear

    def offer(self, *models: dict[str, Any]) -> None:
        self.client.notify(OFFER, {"models": list(models)})

    def say(self, request_id: str, *deltas: dict[str, Any]) -> None:
        for delta in deltas:
            self.client.notify(DELTA, {"requestId": request_id} | delta)

    async def begin(self, name: str = NAME) -> str:
        created = await self.client.result("palimpsest/conversation/create", {"model": name})
        conversation_id: str = created["conversationId"]
        return conversation_id

    async def models(self) -> dict[str, dict[str, Any]]:
        listed = await self.client.result("palimpsest/model/list", {})
        return {each["name"]: each for each in listed["models"]}

    async def said(self, conversation_id: str) -> list[tuple[str, str, str]]:
        """Role, text and state of every stored message."""
        messages = (await self.editor.read(conversation_id))["messages"]
        return [(each["role"], each["text"], each["state"]) for each in messages]

    def _hear(self, message: Message) -> None:
        head, params = {"jsonrpc": "2.0", "id": message["id"]}, message["params"]
        if message["method"] != COMPLETE:
            self.client.send(head | {"error": {"code": -32601, "message": "no such method"}})
            return
        self.asked.append(params)
        answer = self.script.pop(0) if self.script else Answer([text("Yes.")])
        self.say(params["requestId"], *answer.deltas)
        if answer.reply is None:
            self.held.put_nowait(message)
        else:
            self.client.send(head | answer.reply)


class Desk:
    """One server on one folder, and the editors on it."""

    def __init__(self, root: Path, folders: Folders) -> None:
        self.root = root
        self._folders = folders
        self._stack = contextlib.AsyncExitStack()

    async def connect(self, *models: dict[str, Any]) -> Offering:
        server = build_server(lambda: self._folders, owns_folders=False)
        client = await self._stack.enter_async_context(served(server))
        answer = await client.initialize(workspaceFolders=[{"uri": self.root.as_uri(), "name": "folder"}])
        assert "result" in answer, answer
        offering = Offering(Editor(client))
        if models:
            offering.offer(*models)
        await client.result("palimpsest/conversation/list", {})
        return offering

    async def close(self) -> None:
        await self._stack.aclose()
        await self._folders.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    root = tmp_path / "folder"
    root.mkdir()
    (root / "notes.txt").write_text("The heron stands in the reeds.\n")
    with in_environment(**home(tmp_path, PATH="/usr/bin:/bin")) as environ:
        desk = Desk(root, load_folders(environ))
        yield desk
        await desk.close()


# ------------------------------------------------------------------------------------------------------- what is listed


async def test_what_is_offered_is_listed_with_its_limits_and_what_cannot_be_used_is_not(desk: Desk) -> None:
    small, nameless = MODEL | {"id": "small", "maxInputTokens": 2_047}, MODEL | {"id": ""}
    greedy = MODEL | {"id": "greedy", "maxInputTokens": 8_000, "maxOutputTokens": 8_000}
    one = await desk.connect(MODEL, small, nameless, greedy, MODEL | {"maxInputTokens": 5_000})
    listed = await one.models()
    assert sorted(name for name in listed if name.startswith("editor/")) == [NAME, "editor/greedy"]
    found = listed[NAME]
    assert (found["provider"], found["windowTokens"], found["maxOutputTokens"]) == ("editor", 64_000, 4_000)
    assert (found["isAvailable"], found["isDefault"], found["limitsSource"]) == (True, False, "live")
    assert listed["editor/greedy"]["budgetTokens"] > 0


async def test_none_is_asked_that_nobody_chose(desk: Desk) -> None:
    one = await desk.connect(MODEL)
    answer = await one.editor.chat("Where does the heron stand?")
    assert answer["result"]["usage"]["model"] == "offline"
    assert one.asked == []


async def test_one_that_was_never_offered_is_refused_with_what_to_do(desk: Desk) -> None:
    one = await desk.connect()
    refused = (await one.client.request("palimpsest/conversation/create", {"model": NAME}))["error"]
    assert refused["data"]["kind"] == "not_found"
    assert "palimpsest.editorModels" in refused["message"]
    assert [name for name in await one.models() if name.startswith("editor/")] == []


async def test_a_withdrawn_model_is_refused_and_its_conversation_kept_until_it_comes_back(desk: Desk) -> None:
    one = await desk.connect(MODEL)
    conversation_id = await one.begin()
    usage = (await one.editor.chat("One?", conversationId=conversation_id))["result"]["usage"]
    one.offer()
    refused = (await one.editor.chat("Two?", conversationId=conversation_id))["error"]
    assert refused["data"]["kind"] == "not_found"
    assert refused["message"].startswith(f"The model {NAME} cannot be used yet: no connected editor offers it.")
    assert NAME not in await one.models()
    params = {"conversationId": conversation_id}
    assert (await one.client.result("palimpsest/usage", params))["budgetTokens"] == usage["budgetTokens"]
    one.offer(MODEL)
    assert (await one.editor.chat("Three?", conversationId=conversation_id))["result"]["status"] == "committed"
    assert [text for _, text, _ in await one.said(conversation_id)] == ["One?", "Yes.", "Three?", "Yes."]


# ------------------------------------------------------------------------------------------------------------- a turn


async def test_an_answer_is_streamed_in_order_with_its_tool_calls_and_stored(desk: Desk) -> None:
    one = await desk.connect(MODEL)
    call = {"type": "toolCall", "callId": "c1", "name": "read_file", "arguments": {"path": "notes.txt"}}
    pieces = [text(f"{number} ") for number in range(50)]
    one.script = [Answer([text("I look."), call], {"result": {"stopReason": "toolCalls"}}), Answer(pieces)]
    conversation_id = await one.begin()
    one.say("of no call", text("stray"))
    answer = await one.editor.chat("What stands there?", conversationId=conversation_id, partialResultToken="p")
    said = "".join(piece["text"] for piece in pieces)
    assert answer["result"]["status"] == "committed"
    assert one.editor.shown_text("p") == f"I look.{said}"

    first, second = one.asked
    assert (first["model"], first["maxOutputTokens"]) == ("copilot/gpt-4o", 4_000)
    assert "read_file" in [tool["name"] for tool in first["tools"]]
    assert first["system"] == second["system"] != ""
    assert first["messages"] == [{"role": "user", "parts": [text("What stands there?")]}]
    asked, called, result = second["messages"]
    assert asked == first["messages"][0]
    assert called == {"role": "assistant", "parts": [text("I look."), call]}
    assert (result["role"], result["parts"][0]["type"], result["parts"][0]["callId"]) == ("tool", "toolResult", "c1")
    assert "The heron stands in the reeds." in result["parts"][0]["text"]

    stored = await one.said(conversation_id)
    assert [role for role, _, _ in stored] == ["user", "assistant", "tool", "assistant"]
    assert stored[-1] == ("assistant", said, "complete")


async def test_usage_that_an_editor_reports_teaches_and_none_teaches_nothing(desk: Desk) -> None:
    one = await desk.connect(MODEL)
    conversation_id = await one.begin()
    params = {"conversationId": conversation_id}

    async def learned() -> dict[str, Any]:
        found: dict[str, Any] = (await one.client.result("palimpsest/model/status", params))["calibration"]
        return found

    before = await learned()
    await one.editor.chat("One?", **params)
    assert await learned() == before
    counted = {"stopReason": "end", "usage": {"inputTokens": 50_000, "outputTokens": 3}}
    one.script = [Answer([text("Yes.")], {"result": counted})]
    await one.editor.chat("Two?", **params)
    assert (await learned())["overheadTokens"] != before["overheadTokens"]


async def test_what_the_editor_is_given_holds_no_secret_and_no_tools_where_it_takes_none(desk: Desk) -> None:
    one = await desk.connect(MODEL | {"supportsTools": False})
    key = "AKIA" + "Q7Z3M5N2P4R6S5T2"
    await one.editor.chat(f"Why is {key} refused?", conversationId=await one.begin())
    (asked,) = one.asked
    assert "tools" not in asked
    assert key not in str(asked)
    assert "refused?" in str(asked)


async def test_a_cancelled_turn_cancels_the_call_and_what_comes_later_is_dropped(desk: Desk) -> None:
    one = await desk.connect(MODEL)
    one.script = [Answer([text("Once upon")], None)]
    conversation_id = await one.begin()
    params = Editor.chat_params("Tell.", conversationId=conversation_id, partialResultToken="p")
    turn = one.client.start_request("palimpsest/chat", params)
    held = await asyncio.wait_for(one.held.get(), WAIT_S)
    await one.editor.until_shown("p", "Once upon")
    await one.client.result("palimpsest/turn/cancel", {"turnId": one.editor.shown("p")[0]["turnId"]})
    while (await one.client.notification("$/cancelRequest"))["id"] != held["id"]:
        pass
    assert (await turn.answer())["result"]["status"] == "cancelled"
    one.say(held["params"]["requestId"], text(" a time"))
    one.client.send({"jsonrpc": "2.0", "id": held["id"]} | WHOLE)
    assert (await one.editor.chat("Again.", conversationId=conversation_id))["result"]["status"] == "committed"
    assert ("assistant", "Once upon", "cancelled") in await one.said(conversation_id)


@pytest.mark.parametrize(
    ("reply", "kind", "told"),
    [
        ({"kind": "noPermission"}, "auth", "Allow it in the editor"),
        ({"kind": "blocked"}, "rate_limited", "for now"),
        ({"kind": "notFound"}, "not_found", "Choose another model"),
        ({"kind": "quota"}, "quota", "used up"),
        ({"kind": "tooLong"}, "context_too_long", "too long"),
        ({"kind": "other"}, "bad_response", "could not get an answer"),
        ({"kind": "no such kind"}, "bad_response", "could not get an answer"),
        (None, "bad_response", "could not get an answer"),
    ],
)
async def test_what_fails_in_the_editor_is_told_with_what_to_do(desk: Desk, reply: Any, kind: str, told: str) -> None:
    one = await desk.connect(MODEL)
    error = {"code": -32803, "message": "PLANTED words of a service"} | ({} if reply is None else {"data": reply})
    one.script = [Answer([text("Half")], {"error": error})]
    conversation_id = await one.begin()
    failed = (await one.editor.chat("Tell.", conversationId=conversation_id))["error"]
    assert failed["data"]["kind"] == kind
    assert told in failed["message"]
    assert "PLANTED" not in failed["message"]
    assert (await one.said(conversation_id))[-1] == ("assistant", "Half", "errored")


@pytest.mark.parametrize(
    ("deltas", "reply"),
    [
        ([], {"result": {"stopReason": "tired"}}),
        ([], {"result": None}),
        ([{"type": "toolCall", "callId": "c1"}], WHOLE),
    ],
)
async def test_an_answer_that_is_none_ends_the_turn(desk: Desk, deltas: list[dict[str, Any]], reply: Message) -> None:
    one = await desk.connect(MODEL)
    one.script = [Answer([text("Half"), *deltas], reply)]
    conversation_id = await one.begin()
    failed = (await one.editor.chat("Tell.", conversationId=conversation_id))["error"]
    assert failed["data"]["kind"] == "bad_response"
    assert (await one.said(conversation_id))[-1] == ("assistant", "Half", "errored")


async def test_an_answer_that_stops_coming_ends_the_turn_and_is_cancelled(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OfferedModels, "silence_s", 0.05)
    one = await desk.connect(MODEL)
    one.script = [Answer([text("Half")], None)]
    conversation_id = await one.begin()
    failed = (await one.editor.chat("Tell.", conversationId=conversation_id))["error"]
    assert (failed["data"]["kind"], failed["data"]["retryable"]) == ("network", True)
    held = await asyncio.wait_for(one.held.get(), WAIT_S)
    while (await one.client.notification("$/cancelRequest"))["id"] != held["id"]:
        pass
    assert (await one.said(conversation_id))[-1] == ("assistant", "Half", "errored")


# ---------------------------------------------------------------------------------------------------- several editors


async def test_a_turn_asks_the_editor_it_was_begun_in_and_another_where_that_offers_none(desk: Desk) -> None:
    one, two, bare = await desk.connect(MODEL), await desk.connect(MODEL), await desk.connect()
    conversation_id = await one.begin()
    for each in (two, one, two):
        await each.editor.chat("Tell.", conversationId=conversation_id)
    assert (len(one.asked), len(two.asked)) == (1, 2)
    await bare.editor.chat("Tell.", conversationId=conversation_id)
    assert (len(one.asked), len(two.asked)) == (2, 2)
    one.offer()
    await one.client.result("palimpsest/model/list", {})
    await bare.editor.chat("Tell.", conversationId=conversation_id)
    assert (len(one.asked), len(two.asked)) == (2, 3)


async def test_an_editor_that_leaves_in_the_middle_of_an_answer_takes_its_models_and_not_the_text(desk: Desk) -> None:
    one, two = await desk.connect(MODEL), await desk.connect()
    one.script = [Answer([text("Once upon")], None)]
    conversation_id = await two.begin()
    params = Editor.chat_params("Tell.", conversationId=conversation_id, partialResultToken="p")
    turn = two.client.start_request("palimpsest/chat", params)
    await two.editor.until_shown("p", "Once upon")
    one.client.writer.close()
    failed = (await turn.answer())["error"]
    assert (failed["data"]["kind"], failed["data"]["retryable"]) == ("network", True)
    assert (await two.said(conversation_id))[-1] == ("assistant", "Once upon", "errored")
    assert NAME not in await two.models()


async def test_a_process_that_ends_with_its_editor_keeps_the_answer_and_the_next_one_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with editor(tmp_path, folder) as ed:
        one = Offering(ed)
        one.offer(MODEL)
        one.script = [Answer([text("Once upon")], None)]
        conversation_id = await one.begin()
        params = Editor.chat_params("Tell.", conversationId=conversation_id, partialResultToken="p")
        one.client.start_request("palimpsest/chat", params)
        await ed.until_shown("p", "Once upon")
        one.client.writer.close()
        await one.client.exit_code()
    async with editor(tmp_path, folder) as ed:
        one = Offering(ed)
        params = {"conversationId": conversation_id}
        before = await ed.client.result("palimpsest/usage", params)
        one.offer(MODEL)
        answer = (await ed.chat("Go on.", **params))["result"]
        assert before["windowTokens"] < answer["usage"]["windowTokens"] == 64_000
        assert [text for _, text, _ in await one.said(conversation_id)] == ["Tell.", "Once upon", "Go on.", "Yes."]
