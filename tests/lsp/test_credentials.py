"""A key counts as soon as it is set, wherever it comes from, and is in nothing that the server writes or says.

A real server runs with its log at DEBUG. Its services fail in every way they know, and quote the key as they do.
"""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.clients import fake_gemini
from tests.clients.fake_gemini import FakeGemini
from tests.clients.fake_ollama import FakeOllama
from tests.clients.fake_provider import KEY, Call, FakeProvider, Fault, Reply
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import started
from tests.lsp.real_server import COMMAND, STALL, Editor, home
from tests.slow import slow
from tests.waiting import WAIT_S

from palimpsest.app.stored_keys import StoredKeys
from palimpsest.services.models.keys import Key
from palimpsest_clients.fake.server import FakeModels
from palimpsest_clients.fake.service import as_json

SET, STATUS, LIST = "palimpsest/credentials/set", "palimpsest/model/status", "palimpsest/model/list"
MODELS: Final = {"anthropic": "claude-haiku-4-5", "openai": "gpt-4o", "gemini": "gemini-3.6-flash"}
KEYS: Final = {"anthropic": KEY, "openai": KEY, "gemini": fake_gemini.KEY}
WRONG: Final = "sk-planted-wrong-987654"
"""Services quote it when they refuse it."""
PLANTED: Final = (KEY, fake_gemini.KEY, WRONG)
ASKED: Final = "a question nobody else would put like this"
SAID: Final = f"the request with the key {KEY} was refused, {fake_gemini.KEY}: 250000 tokens > 150000 maximum"
ONCE: Final = {"x-should-retry": "false", "x-echo": KEY}
FAILURES: Final = {
    400: "bad_response",
    402: "quota",
    403: "auth",
    404: "bad_response",
    413: "context_too_long",
    429: "rate_limited",
    451: "filtered",
    500: "overloaded",
    529: "overloaded",
}
"""The kind of error of each status, as the user is told."""


def faults() -> Iterator[Fault]:
    """Each status with a body that quotes keys, and the ways in which a stream ends early."""
    for status in FAILURES:
        yield Fault(status, ONCE, {"error": {"message": SAID, "type": KEY, "code": KEY}})
    yield Fault(502, ONCE, f"<html>{SAID}</html>")
    yield Fault(302, {"location": f"http://127.0.0.1:9/{KEY}"}, f"<html>{SAID}</html>")
    yield Fault(then="drop", after=4)
    yield Fault(then="error", after=4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "greenhouse é"
    root.mkdir()
    return root


def environ(directory: Path, fake: FakeProvider, gemini: FakeGemini, **more: str) -> dict[str, str]:
    addresses = {
        "ANTHROPIC_BASE_URL": fake.url,
        "OPENAI_BASE_URL": f"{fake.url}/v1",
        "GEMINI_BASE_URL": gemini.url,
    }
    quiet = {
        "GEMINI_API_KEY": "",
        "GOOGLE_API_KEY": "",
        "PALIMPSEST_SUMMARIZATION_KIND": "extractive",
        "PALIMPSEST_LIBRARIAN_DAILY_TOKENS": "0",
        "PALIMPSEST_TOOLS_RUN_COMMAND": "1",
        "CONTEXT_DEBUG": "1",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    return home(directory, **(addresses | quiet | more))


def assert_holds_no_key(text: str, where: object) -> None:
    assert [key for key in PLANTED if key in text] == [], where


def assert_no_file_holds_a_key(directory: Path) -> None:
    """But the one that a key was stored in."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.parent.name != "keys"]
    assert any(path.suffix in (".db", ".sqlite", ".sqlite3") or "folders" in path.parts for path in files)
    for path in files:
        assert_holds_no_key(path.read_bytes().decode("latin-1"), path)


async def initialized(client: Any, folder: Path) -> Editor:
    answer = await client.initialize(
        workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name}],
        initializationOptions={"palimpsest": {"trust": True}},
    )
    assert "result" in answer, answer
    client.handlers["palimpsest/approval/request"] = lambda _: {"answer": "once"}
    return Editor(client)


async def conversation(ed: Editor, provider: str) -> str:
    created = await ed.client.result("palimpsest/conversation/create", {"model": MODELS[provider]})
    conversation_id: str = created["conversationId"]
    return conversation_id


# ---------------------------------------------------------------------------------------------------- no key anywhere


@pytest.mark.parametrize(
    ("in_environment", "set_by_editor", "stored"),
    [
        ("anthropic", "openai", "gemini"),
        slow("openai", "gemini", "anthropic"),
        slow("gemini", "anthropic", "openai"),
    ],
)
async def test_no_key_is_in_a_log_a_file_an_answer_an_export_or_a_childs_environment(
    tmp_path: Path, folder: Path, fake: FakeProvider, in_environment: str, set_by_editor: str, stored: str
) -> None:
    keys = StoredKeys(tmp_path / "data" / "palimpsest" / "keys", lambda: None)
    keys.write(stored, Key(KEYS[stored], None))
    variable = {f"{in_environment.upper()}_API_KEY": KEYS[in_environment]}
    async with (
        FakeGemini() as gemini,
        started([*COMMAND, "--log-level", "debug"], **environ(tmp_path, fake, gemini, **variable)) as client,
    ):
        ed = await initialized(client, folder)
        client.notify("$/setTrace", {"value": "verbose"})
        await client.result(SET, {"provider": set_by_editor, "key": KEYS[set_by_editor]})

        seen: set[str] = set()
        for provider in MODELS:
            conversation_id = await conversation(ed, provider)
            said = await ed.chat("hello", conversationId=conversation_id)
            assert "result" in said, said
            for fault in faults() if provider == set_by_editor else ():
                if provider == "gemini":
                    body = fake_gemini.error(fault.status, SAID)
                    gemini.script = [as_json(body, fault.status, fault.headers)] if fault.status != 200 else []
                else:
                    fake.script = [fault]
                failed = await ed.chat(ASKED, conversationId=conversation_id)
                if "error" in failed:
                    seen.add(failed["error"]["data"]["kind"])
            client_status = await client.result(STATUS, {"conversationId": conversation_id})
            assert client_status["model"]["name"] == MODELS[provider]
            await client.result("palimpsest/conversation/export", {"conversationId": conversation_id})
            export = {"conversationId": conversation_id, "path": str(tmp_path / f"{provider}.jsonl")}
            await client.result("palimpsest/conversation/export", export)
        told = {*FAILURES.values()} - {"context_too_long"}  # the request was cut smaller, and taken
        assert seen >= (told if set_by_editor == "gemini" else told | {"network"}), seen

        # a program that a model runs
        fake.script = [Reply(calls=(Call("c1", "run_command", json.dumps({"command": ["env"]})),)), Reply()]
        conversation_id = await conversation(ed, "openai")
        await ed.chat("run env", conversationId=conversation_id)
        (result,) = (m["content"] for m in fake.bodies[-1]["messages"] if m["role"] == "tool")
        assert "PATH=" in result

        # what is no key, or is in the wrong place
        nonsense: list[dict[str, Any]] = [
            {"provider": WRONG, "key": WRONG},
            {"provider": "openai", "key": f"{WRONG} {WRONG}"},
            {"provider": "openai", "key": {WRONG: WRONG}},
            {"provider": "openai", "key": WRONG, "store": WRONG},
            {"provider": "openai", WRONG: WRONG},
        ]
        for params in nonsense:
            assert "error" in await client.request(SET, params)
        # and one that the service refuses, quoting it
        await client.result(SET, {"provider": set_by_editor, "key": WRONG})
        refused = await ed.chat("hello", conversationId=await conversation(ed, set_by_editor))
        assert refused["error"]["data"]["kind"] == "auth"

        await client.request("shutdown")
        client.notify("exit")
        assert await client.exit_code() == 0
    assert b"DEBUG" in client.stderr
    assert_holds_no_key(client.stderr.decode(), "stderr")
    assert ASKED.encode() not in client.stderr
    for message in client.inbox:
        assert_holds_no_key(json.dumps(message), message)
    assert_no_file_holds_a_key(tmp_path)


# ---------------------------------------------------------------------------------------------- what counts, and when


@pytest.fixture
async def gemini() -> AsyncIterator[FakeGemini]:
    async with FakeGemini() as service:
        yield service


async def test_a_key_that_is_set_makes_its_models_available_at_once_and_a_running_turn_keeps_the_one_it_has(
    tmp_path: Path, folder: Path, fake: FakeProvider, gemini: FakeGemini
) -> None:
    async def available() -> set[str]:
        models = (await client.result(LIST, {}))["models"]
        return {model["provider"] for model in models if model["isAvailable"]} - {"offline"}

    async with connected_here(**environ(tmp_path, fake, gemini)) as client:
        ed = await initialized(client, folder)
        assert await available() == set()
        before = await client.result(STATUS, {})
        assert before["model"]["name"] == "offline"
        answer = await client.result(SET, {"provider": "openai", "key": KEY})
        assert answer["source"] == "editor"
        assert await available() == {"openai"}

        fake.script = [STALL]
        conversation_id = await conversation(ed, "openai")
        running = client.start_request("palimpsest/chat", ed.chat_params("hello", conversationId=conversation_id))
        await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
        await client.result(SET, {"provider": "openai", "key": WRONG})
        refused = await ed.chat("with the wrong key", conversationId=await conversation(ed, "openai"))
        assert refused["error"]["data"]["kind"] == "auth"
        status = await client.result(STATUS, {"conversationId": conversation_id})
        assert (status["lastError"], status["model"]["isAvailable"]) == ("auth", True)
        assert not running.is_answered

        gone = await client.result(SET, {"provider": "openai", "key": None})
        assert gone["source"] is None
        assert await available() == set()
        assert not running.is_answered
        status = await client.result(STATUS, {"conversationId": conversation_id})
        assert "OPENAI_API_KEY" in status["model"]["hint"]
        assert status["calibration"]["factor"] > 0

        kept = await client.result(SET, {"provider": "gemini", "key": fake_gemini.KEY, "store": True})
        (path,) = (tmp_path / "data" / "palimpsest" / "keys").iterdir()
        assert (kept["source"], stat.S_IMODE(path.stat().st_mode)) == ("stored", 0o600)
        assert str(path) in kept["message"]
    async with FakeGemini() as other, connected_here(**environ(tmp_path, fake, other)) as client:
        await initialized(client, folder)
        assert await available() == set(), "the key was given for another address"
        hints = [each.get("hint", "") for each in (await client.result(LIST, {}))["models"]]
        assert any(f"its key was given for {gemini.url}" in hint for hint in hints)
        assert other.asked == []
    async with connected_here(**environ(tmp_path, fake, gemini)) as client:
        await initialized(client, folder)
        assert await available() == {"gemini"}, "a later server has what was stored"
        removed = await client.result(SET, {"provider": "gemini", "key": None, "store": True})
        assert removed["source"] is None
        assert await available() == set()
        assert not path.exists()


# --------------------------------------------------------------------------------- a key is tried before it is kept


CHECK, SERVICES = "palimpsest/credentials/check", "palimpsest/credentials/list"


async def test_a_key_is_tried_at_its_service_and_kept_nowhere(tmp_path: Path, folder: Path, fake: FakeProvider) -> None:
    async with FakeGemini() as gemini, connected_here(**environ(tmp_path, fake, gemini)) as client:
        await initialized(client, folder)

        async def ready() -> set[str]:
            services = (await client.result(SERVICES, {}))["services"]
            return {each["provider"] for each in services if each["isReady"]}

        async with FakeModels() as models:
            for provider, key in KEYS.items():
                address = f"{models.url}/v1" if provider == "openai" else models.url
                taken = await client.result(CHECK, {"provider": provider, "key": key, "address": address})
                assert (taken["verdict"], taken["message"]) == ("accepted", ""), provider
                assert taken["models"], provider
        refused = await client.result(CHECK, {"provider": "gemini", "key": WRONG})
        assert (refused["verdict"], refused["models"]) == ("refused", [])
        assert refused["message"]
        assert await ready() == set(), "nothing was kept"

        away = {"provider": "openai", "key": KEY, "address": "http://127.0.0.1:9/v1"}
        assert (await client.result(CHECK, away))["verdict"] == "unreachable"
        elsewhere = {"provider": "openai", "key": KEY, "address": f"{fake.url}/nothing/here"}
        assert (await client.result(CHECK, elsewhere))["verdict"] == "unclear"
        for params in ({"provider": "openai"}, {"provider": WRONG, "key": WRONG}, {"provider": "openai", "key": " "}):
            assert "error" in await client.request(CHECK, params)

        await client.result(SET, {"provider": "gemini", "key": WRONG})
        assert (await client.result(CHECK, {"provider": "gemini"}))["verdict"] == "refused", "the key that is used now"
        assert await ready() == {"gemini"}
        n_asked = len(fake.requests)
        stolen = await client.request(CHECK, {"provider": "gemini", "address": fake.url})
        assert "Give the key with the address" in stolen["error"]["message"]
        assert len(fake.requests) == n_asked, "a key that is kept goes to no other address"
    for message in client.inbox:
        assert_holds_no_key(json.dumps(message), message)
    assert_no_file_holds_a_key(tmp_path)


async def test_a_service_on_this_computer_is_tried_by_its_address(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with (
        FakeOllama() as ollama,
        FakeGemini() as gemini,
        connected_here(**environ(tmp_path, fake, gemini, OPENAI_BASE_URL="http://ann:secret@127.0.0.1:9/v1")) as client,
    ):
        await initialized(client, folder)
        found = await client.result(CHECK, {"provider": "ollama", "address": ollama.url})
        assert (found["verdict"], found["models"]) == ("accepted", [*ollama.shown])
        away = await client.result(CHECK, {"provider": "ollama", "address": "http://127.0.0.1:9"})
        assert away["verdict"] == "unreachable"
        services = {each["provider"]: each for each in (await client.result(SERVICES, {}))["services"]}
        assert not services["ollama"]["takesKey"]
        assert services["openai"]["address"] == "http://127.0.0.1:9/v1", "without the user and the password"
        assert [services[name]["isUsualAddress"] for name in ("openai", "ollama")] == [False, True]
