"""The fake that plugin writers get answers our own clients in every format, and its command says how to reach it.

Our clients lose nothing of what it sends, wherever the bytes are cut, and ignore events that nobody knows.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from contextlib import aclosing
from dataclasses import fields
from pathlib import Path

import pytest
from tests.clients.contexts import Answer, assistant, collect, context, user
from tests.clients.fault_table import BUILD
from tests.waiting import WAIT_S

from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import Content, TextPart, ToolCallPart, tool_result
from palimpsest_clients.fake.command import announcement, run
from palimpsest_clients.fake.dialect import Dialect
from palimpsest_clients.fake.replies import Call, Reply, Usage
from palimpsest_clients.fake.script import read_script
from palimpsest_clients.fake.server import DIALECTS, NAMES, Failure, FakeModels
from palimpsest_clients.fake.service import Sent, cut
from palimpsest_clients.retry import RetryPolicy

FULL = Reply(thinking="Hm\u2028m \u0085.", calls=(Call("c1", "read_file", '{"path":"a\u2028b.py"}'),))
STRIDE = 13
UNKNOWN = {
    "anthropic": b'event: novelty\ndata: {"type": "novelty", "index": 0}\n\n',
    "openai": b'event: response.novelty\ndata: {"type": "response.novelty", "sequence_number": 0}\n\n',
    "gemini": b'data: {"novelty": {"a": 1}}\r\n\r\n',
    "ollama": b'{"novelty": {"a": 1}}\n',
    "chat": b': a comment\n\nevent: novelty\ndata: {"novelty": {"a": 1}}\n\n',
}
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


async def ask(fake: FakeModels, dialect: Dialect, *contents: Content) -> Answer:
    async with aclosing(BUILD[dialect.name](fake.url, RetryPolicy(attempts=1))) as client, asyncio.timeout(WAIT_S):
        return await collect(client.stream(context(*contents)))


def check_whole(answer: Answer) -> None:
    assert answer.error is None
    assert (answer.text, answer.thinking) == (FULL.text, FULL.thinking)
    [(name, arguments)] = answer.calls.values()
    assert (name, json.loads(arguments)) == ("read_file", {"path": "a\u2028b.py"})


@every_dialect
async def test_nothing_is_lost_at_whichever_byte_a_stream_is_cut(dialect: Dialect) -> None:
    events = [*dialect.events({"model": "m", "stream_options": {"include_usage": True}}, Usage(10), FULL)]
    data = b"".join(events)
    async with FakeModels() as fake, aclosing(BUILD[dialect.name](fake.url, RetryPolicy(attempts=1))) as client:
        for first in range(1, STRIDE + 1):  # together these cut at every byte
            fake.script.append(Sent(cut(data, *range(first, len(data), STRIDE)), dialect.content_type))
            check_whole(await collect(client.stream(context(user("Hi")))))


@every_dialect
async def test_events_that_nobody_knows_are_ignored(dialect: Dialect) -> None:
    events = [*dialect.events({"model": "m", "stream_options": {"include_usage": True}}, Usage(10), FULL)]
    chunks = [piece for event in events for piece in (UNKNOWN[dialect.name], event)]
    async with FakeModels() as fake:
        fake.script.append(Sent(tuple(chunks), dialect.content_type))
        check_whole(await ask(fake, dialect, user("Hi")))


@every_dialect
async def test_what_is_said_comes_back_and_a_file_is_asked_for_and_reported(dialect: Dialect) -> None:
    async with FakeModels() as fake:
        assert (await ask(fake, dialect, user("Good day"))).text == "You said: Good day"
        assert (await ask(fake, dialect, user("list 3"))).text.count("\n") == 2
        wanted = await ask(fake, dialect, user("Please read a/b.py"))
        [(call_id, (name, arguments))] = wanted.calls.items()
        assert (name, json.loads(arguments)) == ("read_file", {"path": "a/b.py"})
        call = ToolCallPart(call_id, name, arguments)
        said = assistant(TextPart(wanted.text), call)
        told = await ask(fake, dialect, user("Please read a/b.py"), said, tool_result(call, "print(1)"))
        assert told.text == "The tool answered:\n\nprint(1)"
        assert told.finished.usage.prompt_tokens == fake.counts[-1]


@every_dialect
async def test_a_request_over_the_limit_and_one_without_a_key_are_refused(dialect: Dialect) -> None:
    async with FakeModels(limit_tokens=50) as fake:
        refused = await ask(fake, dialect, user("x" * 4000))
        assert refused.error is not None
        assert refused.error.kind.value == "context_too_long"
        assert dialect.name == "ollama" or not dialect.has_key({})


def test_a_script_is_read_line_by_line() -> None:
    lines = ['{"text": "A", "calls": [{"name": "t", "arguments": {"a": 1}}]}', "", '{"status": 429}', '{"after": 2}']
    reply, refusal, broken = read_script(lines)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.calls[0].name, reply.calls[0].arguments) == ("A", "t", '{"a": 1}')
    assert (refusal, broken) == (Failure(429), Failure(after=2))


@pytest.mark.parametrize("line", ["[]", "{", '{"tekst": "a"}', '{"status": 99}', '{"after": 1, "then": "x"}', "3"])
def test_a_line_that_cannot_be_meant_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="Line 2 of the script"):
        read_script(["{}", line])


def test_the_announcement_names_what_to_set() -> None:
    lines = announcement("http://127.0.0.1:5", list(NAMES)).splitlines()
    assert lines[0] == "http://127.0.0.1:5"
    assert "export OPENAI_BASE_URL=http://127.0.0.1:5/v1" in lines
    assert "export OLLAMA_HOST=http://127.0.0.1:5" in lines


def test_a_port_in_use_and_a_script_that_is_not_there_are_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(port, "chat", None) == 1
    assert f"The port {port} on 127.0.0.1 is in use by another program. Choose another" in capsys.readouterr().err
    assert run(0, "chat", tmp_path / "gone.jsonl") == 1
    assert run(70_000, "chat", None) == 1
    told = capsys.readouterr().err
    assert "gone.jsonl" in told
    assert "0 to 65535" in told
    assert "Errno" not in told


async def test_the_script_of_the_documentation_is_answered_as_it_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fake-provider.md").read_text(encoding="utf-8")
    *_, script = page.split("```jsonl\n")
    replies = read_script(script.partition("```")[0].split("\n"))
    told = {f"`{name}`" for name in ("text", "thinking", "calls", "stop", *(each.name for each in fields(Failure)))}
    assert all(name in page for name in told)
    async with FakeModels() as fake:
        fake.replies += replies
        async with aclosing(BUILD["anthropic"](fake.url, RetryPolicy(attempts=1))) as client:
            answers = [await collect(client.stream(context(user("Hi")))) for _ in replies]
    assert [(each.text, each.error is not None) for each in answers[:4]] == [
        ("Hello. I will look at the file.", False),
        ("It defines one function.", False),
        ("", True),
        ("After a pause.", False),
    ]
    assert answers[2].error is not None
    assert answers[2].error.kind is ErrorKind.RATE_LIMITED
    assert answers[4].error is not None, "the connection broke"


async def test_the_command_serves_its_script_until_it_is_stopped(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"text": "From the script"}\n')
    command = [sys.executable, "-P", "-m", "palimpsest", "fake-provider", "--format", "chat", "--script", str(script)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(WAIT_S):
            url = (await process.stdout.readline()).decode().strip()
        async with aclosing(BUILD["chat"](url, RetryPolicy(attempts=1))) as client, asyncio.timeout(WAIT_S):
            assert (await collect(client.stream(context(user("Hi"))))).text == "From the script"
        async with aclosing(BUILD["ollama"](url, RetryPolicy(attempts=1))) as client, asyncio.timeout(WAIT_S):
            assert (await collect(client.stream(context(user("Hi"))))).error is not None
    finally:
        process.terminate()
        await process.wait()
