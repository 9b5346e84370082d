"""`palimpsest acp` serves the conversations of a folder to the official Python SDK: what is streamed is what is stored,
each failure is a sentence, nothing shown is lost, and a language server on the same folder sees the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

pytest.importorskip("acp", reason="`make test-agents` sets up what this needs")

from acp import RequestError, schema
from acp.helpers import image_block, resource_block, resource_link_block, text_block
from tests.agents.acp_client import WAIT_S, Connection, agent
from tests.agents.conftest import COMMAND, PUMP, made_up_folder
from tests.clients.fake_provider import KEY, Call, FakeProvider, Fault, Reply
from tests.clients.web_host import response, web_host
from tests.lsp.rawlsp import environment
from tests.lsp.real_server import STALL, STALLED_TEXT, editor, home
from tests.lsp.real_server import on_fake as on_openai

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, fake: FakeProvider) -> AsyncIterator[Connection]:
    """Started once, because that takes long. Each test has sessions of its own."""
    directory = tmp_path_factory.mktemp("shared")
    folder = made_up_folder(directory)
    trust = await asyncio.create_subprocess_exec(COMMAND, "trust", str(folder), env=environment(**home(directory)))
    assert await asyncio.wait_for(trust.wait(), WAIT_S) == 0
    more = {**on_fake(fake.url), "PALIMPSEST_TOOLS_RUN_COMMAND": "true"}
    async with agent(directory, folder, **more) as connection:
        yield connection


@pytest.fixture
def one(shared: Connection, fake: FakeProvider) -> Connection:
    """The shared agent, with nothing shown yet."""
    shared.client.updates.clear()
    fake.script.clear()
    fake.requests.clear()
    return shared


def on_fake(url: str) -> dict[str, str]:
    """Its replies are a script for the conversation, so nobody else may ask it."""
    return {**on_openai(url), "PALIMPSEST_LIBRARIAN_ENABLED": "false"}


def on_claude(url: str) -> dict[str, str]:
    """Configures the Messages client, whose answers have thoughts, for the fake provider."""
    return {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "PALIMPSEST_MODEL": "claude-sonnet-4-5",
        "PALIMPSEST_SUMMARIZATION_KIND": "extractive",
        "PALIMPSEST_LIBRARIAN_ENABLED": "false",
    }


def shown(updates: list[Any]) -> list[str]:
    return [update.session_update for update in updates]


# ------------------------------------------------------------------------------------------------------- conversations


async def test_an_answer_is_streamed_and_a_later_process_replays_it(tmp_path: Path, folder: Path) -> None:
    async with agent(tmp_path, folder) as one:
        session_id = await one.new()
        assert await one.ask(session_id, "When does the pump start?") == "end_turn"
        said = one.client.text()
        assert PUMP in said
        assert "README.md:3" in said
        (usage,) = one.client.of("usage_update")
        assert 0 < usage.used < usage.size
        (info,) = one.client.of("session_info_update")
        assert info.title == "When does the pump start?"
        (commands,) = one.client.of("available_commands_update")
        assert {"usage", "summarize", "model"} <= {each.name for each in commands.available_commands}
    assert one.process.returncode == 0
    async with agent(tmp_path, folder) as two:
        (listed,) = (await two.agent.list_sessions(cwd=str(folder))).sessions
        assert (listed.session_id, listed.title) == (session_id, "When does the pump start?")
        assert listed.cwd == str(folder)
        await two.load(session_id)
        assert shown(two.client.updates)[:2] == ["user_message_chunk", "agent_message_chunk"]
        assert two.client.text("user_message_chunk") == "When does the pump start?"
        answer, notice = two.client.text(), said.removeprefix(two.client.text())
        # What the conversation is told about once is part of no message.
        assert PUMP in answer
        assert notice.strip().startswith("*Palimpsest: No model is set up")
        two.client.updates.clear()
        assert await two.ask(session_id, "thanks") == "end_turn"
        assert "No model is set up" not in two.client.text()


async def test_a_session_in_which_nothing_was_said_is_not_kept(one: Connection) -> None:
    folder = one.folder
    session_id = await one.new()
    await one.client.until(lambda: bool(one.client.of("available_commands_update")))
    listed = await one.agent.list_sessions(cwd=str(folder))
    assert session_id not in [each.session_id for each in listed.sessions]
    with pytest.raises(RequestError, match="List them and choose one"):
        await one.load(session_id)


@pytest.mark.parametrize("cwd", ["relative/folder", "/there/is/no/such folder", "a\0b"])
async def test_the_folder_of_a_session_is_absolute_and_there(one: Connection, cwd: str) -> None:
    with pytest.raises(RequestError, match=r"absolute path|does not exist") as refused:
        await one.agent.new_session(cwd=cwd, mcp_servers=[])
    assert refused.value.data["kind"] in ("invalid_request", "not_found")


async def test_a_session_that_is_not_open_is_refused_by_name(one: Connection) -> None:
    with pytest.raises(RequestError, match="'nope' is not open"):
        await one.ask("nope", "hello")


async def test_a_slash_command_is_carried_out_and_not_said_to_the_model(one: Connection, fake: FakeProvider) -> None:
    session_id = await one.new()
    with pytest.raises(RequestError, match="Send a message first"):
        await one.ask(session_id, "/usage")
    await one.ask(session_id, "hello")
    one.client.updates.clear()
    assert await one.ask(session_id, "/usage") == "end_turn"
    assert "2 messages" in one.client.text()
    with pytest.raises(RequestError, match="Did you mean /usage"):
        await one.ask(session_id, "/usag")
    with pytest.raises(RequestError, match="another session in your client"):
        await one.ask(session_id, "/new")
    assert len(fake.requests) == 1


async def test_the_model_is_chosen_before_the_first_message_and_later(one: Connection, fake: FakeProvider) -> None:
    folder = one.folder
    opened = await one.agent.new_session(cwd=str(folder), mcp_servers=[])
    (option,) = opened.config_options
    names = [each.value for each in option.options]
    assert (option.category, option.current_value) == ("model", "gpt-4o")
    assert "offline" in names
    set_to = await one.agent.set_config_option(config_id="model", session_id=opened.session_id, value="gpt-4o-mini")
    assert set_to.config_options[0].current_value == "gpt-4o-mini"
    await one.ask(opened.session_id, "hello")
    assert fake.requests[-1].body["model"] == "gpt-4o-mini"
    await one.ask(opened.session_id, "/model gpt-4o")
    (told,) = one.client.of("config_option_update")
    assert told.config_options[0].current_value == "gpt-4o"
    await one.ask(opened.session_id, "again")
    assert fake.requests[-1].body["model"] == "gpt-4o"
    with pytest.raises(RequestError, match="no model 'nope'"):
        await one.agent.set_config_option(config_id="model", session_id=opened.session_id, value="nope")


# ------------------------------------------------------------------------------------------------------------- streams


async def test_thoughts_text_and_tool_calls_are_shown_with_their_states_and_replayed(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    call = Call("call_1", "read_file", json.dumps({"path": "notes.txt"}))
    fake.script += [Reply("I will look.", thinking="Where is it?", calls=(call,)), Reply("It says two.")]
    async with agent(tmp_path, folder, **on_claude(fake.url)) as one:
        session_id = await one.new()
        assert await one.ask(session_id, "What does it say?") == "end_turn"
        assert one.client.text("agent_thought_chunk") == "Where is it?"
        assert one.client.text() == "I will look.It says two."
        (start,) = one.client.of("tool_call")
        begun, ended = one.client.of("tool_call_update")
        assert (start.title, start.kind, start.status) == ("read_file", "read", "pending")
        assert (begun.tool_call_id, begun.status) == (start.tool_call_id, "in_progress")
        assert begun.raw_input == {"path": "notes.txt"}
        assert begun.title == "read_file: notes.txt"
        assert begun.locations[0].path == str(folder / "notes.txt")
        assert (ended.tool_call_id, ended.status) == (start.tool_call_id, "completed")
        assert "two" in ended.content[0].content.text
        one.client.updates.clear()
        await one.load(session_id)
        assert one.client.text("agent_thought_chunk") == "Where is it?"
        assert one.client.text() == "I will look.It says two."
        (start,) = one.client.of("tool_call")
        (ended,) = one.client.of("tool_call_update")
        assert (start.title, ended.tool_call_id) == ("read_file: notes.txt", start.tool_call_id)
        assert (ended.status, "two" in ended.content[0].content.text) == ("completed", True)


async def test_a_cancelled_prompt_ends_as_cancelled_and_what_was_shown_is_kept(
    one: Connection, fake: FakeProvider
) -> None:
    fake.script.append(STALL)
    session_id = await one.new()
    asking = asyncio.create_task(one.ask(session_id, "question"))
    await one.client.until(lambda: one.client.text() == STALLED_TEXT)
    with pytest.raises(RequestError, match="busy") as refused:
        await one.ask(session_id, "another")
    assert refused.value.data == {"kind": "conversation_busy", "isRetryable": True}
    await one.agent.cancel(session_id=session_id)
    assert await asking == "cancelled"
    assert one.client.text() == STALLED_TEXT
    fake.script.append(Reply("Well."))
    assert await one.ask(session_id, "and now?") == "end_turn"
    one.client.updates.clear()
    await one.load(session_id)
    assert one.client.text().startswith(STALLED_TEXT)
    assert "was stopped" in one.client.text()
    assert one.client.text().endswith("Well.")


async def test_what_a_service_refuses_is_told_as_a_sentence_and_the_session_goes_on(
    one: Connection, fake: FakeProvider
) -> None:
    fake.script += [Fault(401), Reply("Fine.")]
    session_id = await one.new()
    with pytest.raises(RequestError) as refused:
        await one.ask(session_id, "hello")
    assert refused.value.data["kind"] == "auth"
    assert "key" in str(refused.value)
    assert refused.value.code != -32000, "clients would ask the user to log in"
    assert await one.ask(session_id, "hello?") == "end_turn"
    assert one.client.text() == "Fine."


async def test_an_answer_that_a_killed_agent_left_is_told_of_when_it_is_loaded(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    fake.script.append(STALL)
    async with agent(tmp_path, folder, **on_fake(fake.url)) as one:
        session_id = await one.new()
        asking = asyncio.create_task(one.ask(session_id, "question"))
        await one.client.until(lambda: one.client.text() == STALLED_TEXT)
        one.process.kill()
        with pytest.raises(ConnectionError):
            await asking
    async with agent(tmp_path, folder, **on_fake(fake.url)) as two:
        await two.load(session_id)
        assert two.client.text().startswith(STALLED_TEXT)
        assert f"its text so far is kept ({len(STALLED_TEXT)} characters)" in two.client.text()
        assert await two.ask(session_id, "go on") == "end_turn"


# --------------------------------------------------------------------------------------------------------- permissions


async def test_a_page_that_a_prompt_mentions_is_fetched_after_a_permission(tmp_path: Path, folder: Path) -> None:
    (folder / ".palimpsest" / "commands").mkdir(parents=True)
    async with web_host(a=response(b"The pump is green.")) as host:
        (folder / ".palimpsest" / "commands" / "page.md").write_text(f"Read @{host.url('/a')}.")
        trust = await asyncio.create_subprocess_exec(COMMAND, "trust", str(folder), env=environment(**home(tmp_path)))
        assert await asyncio.wait_for(trust.wait(), WAIT_S) == 0
        async with agent(tmp_path, folder, PALIMPSEST_WEB_ALLOW_PRIVATE=host.place) as one:
            session_id = await one.new()
            with pytest.raises(RequestError, match="you did not agree"):
                await one.ask(session_id, f"Read @{host.url('/a')}.")
            with pytest.raises(RequestError, match="only for a message that you typed"):
                await one.ask(session_id, "/page")
            assert host.asked == []
            one.client.allow = lambda _: "once"
            assert await one.ask(session_id, f"Read @{host.url('/a')}.") == "end_turn"
            assert await one.ask(session_id, f"Again @{host.url('/a')}.") == "end_turn"
            assert len(host.asked) == 2
            assert [call.title for call, _ in one.client.asked] == [
                f"Fetch from {host.place} what your message mentions?"
            ] * 2


def commanding(marker: str) -> Reply:
    arguments = json.dumps({"command": ["touch", marker]})
    return Reply("I will.", calls=(Call(f"call_{marker}", "run_command", arguments),))


async def test_a_tool_that_changes_something_asks_first_and_the_answer_counts(
    one: Connection, fake: FakeProvider, tmp_path: Path
) -> None:
    session_id = await one.new()

    async def run(marker: str, answer: str | None) -> bool:
        one.client.allow = lambda _: answer
        one.client.updates.clear()
        fake.script += [commanding(marker), Reply("Done.")]
        assert await one.ask(session_id, "please") == "end_turn"
        return (one.folder / marker).exists()

    assert await run("first", "once")
    (call, options) = one.client.asked[0]
    assert [each.kind for each in options] == ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert call.tool_call_id == one.client.of("tool_call")[0].tool_call_id
    assert "touch first" in call.content[0].content.text
    assert not await run("second", "deny")
    assert one.client.of("tool_call_update")[-1].status == "failed"
    assert not await run("third", None), "a question that was closed is no yes"
    assert await run("fourth", "always")
    assert len(one.client.asked) == 4
    assert await run("fourth", "deny"), "the kept answer counts"
    assert len(one.client.asked) == 4


# --------------------------------------------------------------------------------------------------------- attachments


async def test_links_and_given_texts_become_attachments(one: Connection, fake: FakeProvider) -> None:
    root = one.folder
    link = resource_link_block("notes.txt", f"{(root / 'notes.txt').as_uri()}#L2-3")
    given = resource_block(schema.TextResourceContents(uri=(root / "unsaved.py").as_uri(), text="x = 'unsaved'\n"))
    page = resource_link_block("the manual", "https://example.invalid/manual")
    session_id = await one.new()
    await one.ask(session_id, text_block("Compare "), link, text_block(" with "), given, text_block(" and"), page)
    sent = json.dumps(fake.requests[-1].body["messages"][-1], ensure_ascii=False)
    assert "notes.txt:2-3" in sent
    assert "two\\\\nthree" in sent or "two\\nthree" in sent
    assert "one\\n" not in sent
    assert "x = 'unsaved'" in sent
    assert "Compare @notes.txt with @unsaved.py and [the manual](https://example.invalid/manual)" in sent
    await one.load(session_id)
    links = [u.content for u in one.client.of("user_message_chunk") if u.content.type == "resource_link"]
    assert [each.name for each in links] == ["notes.txt:2-3", "unsaved.py"]


async def test_what_cannot_be_attached_is_refused_and_nothing_is_sent(
    one: Connection, fake: FakeProvider, tmp_path: Path
) -> None:
    folder = one.folder
    outside = tmp_path / "outside.txt"
    outside.write_text("outside")
    secret = schema.TextResourceContents(uri=(folder / ".env").as_uri(), text="SECRET=hunter2")
    refused = [
        resource_link_block(".env", (folder / ".env").as_uri()),
        resource_link_block("outside", outside.as_uri()),
        resource_link_block("missing", (folder / "missing.txt").as_uri()),
        resource_block(secret),
        image_block("aGVsbG8=", "image/png"),
    ]
    session_id = await one.new()
    for block in refused:
        with pytest.raises(RequestError, match="Nothing was sent"):
            await one.ask(session_id, "Look at ", block)
    assert fake.requests == []
    listed = await one.agent.list_sessions(cwd=str(folder))
    assert session_id not in [each.session_id for each in listed.sessions]


# --------------------------------------------------------------------------------------------------------- two servers


async def test_an_agent_follows_and_stops_the_turn_of_a_language_server(one: Connection, fake: FakeProvider) -> None:
    fake.script.append(STALL)
    async with editor(one.folder.parent, one.folder, **on_fake(fake.url)) as ed:
        request = ed.client.start_request("palimpsest/chat", ed.chat_params("question", partialResultToken="p"))
        await ed.until_shown("p", STALLED_TEXT)
        conversation_id = ed.shown("p")[0]["conversationId"]
        await one.load(conversation_id)
        await one.client.until(lambda: one.client.text() == STALLED_TEXT)
        assert one.client.text("user_message_chunk") == "question"
        with pytest.raises(RequestError, match="busy"):
            await one.ask(conversation_id, "me too")
        await one.agent.cancel(session_id=conversation_id)
        assert (await request.answer(WAIT_S))["result"]["status"] == "cancelled"
        fake.script.append(Reply("From the agent."))
        assert await one.ask(conversation_id, "and now?") == "end_turn"
        page = await ed.read(conversation_id)
        assert [m["text"] for m in page["messages"]][2:] == ["and now?", "From the agent."]


# -------------------------------------------------------------------------------------------------------------- stdout


async def test_stdout_holds_nothing_but_the_protocol_whatever_comes_in(tmp_path: Path, folder: Path) -> None:
    lines = [
        b"this is no JSON",
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}',
        b'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":7}}',
        b'{"jsonrpc":"2.0","id":3,"method":"no/such/method"}',
        b'{"jsonrpc":"2.0","id":4,"method":"session/new","params":{"cwd":%b,"mcpServers":[]}}'
        % json.dumps(str(folder)).encode(),
    ]
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        "acp",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(**home(tmp_path)),
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"\n".join(lines) + b"\n")
    answers: dict[Any, Any] = {}
    async with asyncio.timeout(WAIT_S):
        while len(answers) < 4:
            message = json.loads(await process.stdout.readline())
            if "id" in message:
                answers[message["id"]] = message
        process.stdin.close()
        rest = await process.stdout.read()
        assert await process.wait() == 0
    assert [json.loads(line)["jsonrpc"] for line in rest.splitlines()] == ["2.0"] * len(rest.splitlines())
    assert {number: "result" in each for number, each in answers.items()} == {1: True, 2: False, 3: False, 4: True}


async def test_without_a_client_it_ends_with_a_sentence(tmp_path: Path, folder: Path) -> None:
    """/dev/null cannot be waited for, of which an event loop only logs a traceback."""
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "acp"),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(**home(tmp_path)),
    )
    async with asyncio.timeout(WAIT_S):
        said, failed = await process.communicate()
    assert (process.returncode, said) == (1, b"")
    assert failed.decode().strip().splitlines() == [
        "palimpsest: There is no stdin or no stdout. A client has to start this command."
    ]
