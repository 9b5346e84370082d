"""Whatever a program does that calls itself a server, our client stays whole: bounded, answered with a sentence, and
rid of it in the end."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="`make test-agents` sets up what this needs")

from tests.agents.mcp_desk import connected, ignore, lives, noted, odd, program, until

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.content import Answer, Text
from palimpsest.mcp_client import guard
from palimpsest.mcp_client.lines import MAX_LINE_BYTES
from palimpsest.services.mcp import server as life
from palimpsest.services.mcp.connection import McpFailure
from palimpsest.services.mcp.server import McpServer, ServerState
from palimpsest.services.tools.toolbox import unheard

MIB = 1024 * 1024


def words(answer: Answer) -> str:
    (block,) = answer.blocks
    assert isinstance(block, Text)
    return block.text


async def test_a_lie_about_a_schema_costs_one_tool_and_is_named(tmp_path: Path) -> None:
    async with connected(odd(tmp_path, "lies", "prints")) as one:
        offer = await one.offer()
        assert [each.name for each in offer.tools] == ["big", "die", "endless", "env", "hang", "liar", "noise"]
        said = "\n".join(offer.problems)
        assert all(f"'{name}'" in said for name in ("wrong", "none", "unsound"))
        assert "without a name" in said
        assert "twice" in said
        assert words(await one.call("liar", {}, ignore)) == "done", "what it promised of its answers is not our matter"


async def test_an_answer_of_fifty_megabytes_is_refused_and_little_of_it_is_kept(tmp_path: Path) -> None:
    async with connected(odd(tmp_path)) as one:
        await one.offer()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with pytest.raises(McpFailure, match="50,000,0") as refused:
            await one.call("big", {}, ignore)
        assert not refused.value.is_over
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before < 3 * MAX_LINE_BYTES
        assert len(words(await one.call("big", {"bytes": 2_000_000}, ignore))) == 2_000_000
        assert words(await one.call("env", {}, ignore))


async def test_of_many_and_large_declarations_only_so_many_are_judged(tmp_path: Path) -> None:
    async with connected(odd(tmp_path, "much")) as one:
        offer = await one.offer()
        assert 2 < len(offer.tools) < 100
        said = "\n".join(offer.problems)
        assert "'wide' is left out: its declaration is longer" in said
        assert "have more than 262,144 characters" in said
    async with connected(odd(tmp_path, "much", tools=("tool900",))) as one:
        assert [each.name for each in (await one.offer()).tools] == ["tool900"]


async def test_of_an_answer_only_so_many_parts_are_taken(tmp_path: Path) -> None:
    async with connected(odd(tmp_path, "much")) as one:
        await one.offer()
        *parts, last = (await one.call("parts", {}, ignore)).blocks
        assert parts == [Text("x")] * guard.MAX_PARTS
        assert last == Text("[2,000 more parts came. They are left out.]")
        assert words(await one.call("odd_number", {}, ignore)) == '{"a":"NaN"}'


@pytest.mark.parametrize(("habit", "sentence"), [("noise", "nobody asked for"), ("endless", "does not end")])
async def test_a_server_that_floods_is_ended(tmp_path: Path, habit: str, sentence: str) -> None:
    async with connected(odd(tmp_path)) as one:
        with pytest.raises(McpFailure) as failed:
            await one.call(habit, {}, ignore)
        assert failed.value.is_over
        with pytest.raises(McpFailure, match=sentence):
            await one.changed()
    assert not any(lives(int(pid)) for pid in noted(tmp_path, "pids"))
    assert guard.ALLOWANCE > 100


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async with connected(odd(tmp_path)) as one:
        call = asyncio.create_task(one.call("hang", {}, ignore))
        await until(lambda: bool(noted(tmp_path, "hangs")))
        call.cancel()
        await asyncio.wait({call})
        assert call.cancelled()
        await until(lambda: noted(tmp_path, "cancelled") == noted(tmp_path, "hangs"))
        assert words(await one.call("env", {}, ignore)), "the connection goes on"


async def test_its_environment_has_what_the_user_names_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    async with connected(odd(tmp_path, env={"NAMED": "value"})) as one:
        found = json.loads(words(await one.call("env", {}, ignore)))
    assert found["NAMED"] == "value"
    assert "PATH" in found
    assert not [name for name in found if "KEY" in name]


async def test_changed_lists_are_told(tmp_path: Path) -> None:
    async with connected(odd(tmp_path, "changes")) as one:
        assert len((await one.offer()).tools) == 7
        await one.call("new_tool", {}, ignore)
        await one.changed()
        assert "later" in [each.name for each in (await one.offer()).tools]


async def test_a_program_that_is_missing_or_ends_at_once_is_a_sentence(tmp_path: Path) -> None:
    for command, sentence, is_final in (
        (("no-such-program",), "'no-such-program' cannot be started", True),
        ((sys.executable, "-c", "import sys; sys.exit('no luck')"), "ended with exit status 1", False),
    ):
        with pytest.raises(McpFailure, match=sentence) as failed:
            async with connected(program(tmp_path, *command)):
                pass
        assert failed.value.is_final is is_final
        assert failed.value.detail in ("no luck", "no-such-program: No such file or directory")
    with pytest.raises(McpFailure, match="cannot be started in"):
        async with connected(ServerConfig("one", command=("x",), cwd=str(tmp_path / "none"))):
            pass


async def test_it_ends_with_everything_it_started_however_it_feels_about_that(tmp_path: Path) -> None:
    async with connected(odd(tmp_path, "children", "stays")) as one:
        await one.offer()
        pids = [int(pid) for pid in noted(tmp_path, "pids")]
        assert len(pids) == 2
        assert all(map(lives, pids))
    await until(lambda: not any(map(lives, pids)))


async def test_it_ends_when_our_own_process_is_killed(tmp_path: Path) -> None:
    script = (
        "import asyncio, pathlib, sys\n"
        "from tests.agents.mcp_desk import connected, odd\n"
        "async def main():\n"
        "    async with connected(odd(pathlib.Path(sys.argv[1]), 'children', 'stays')) as one:\n"
        "        await one.offer()\n"
        "        print('ready', flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(tmp_path)), stdout=asyncio.subprocess.PIPE, env=env
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    pids = [int(pid) for pid in noted(tmp_path, "pids")]
    assert all(map(lives, pids))
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await until(lambda: not any(map(lives, pids)))


async def test_a_server_that_dies_in_a_call_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from palimpsest.mcp_client.connection import connect

    monkeypatch.setattr(life, "FIRST_PAUSE_S", 0.0)
    said: list[str] = []
    server = McpServer(odd(tmp_path), lambda config: config, connect, lambda: said.append(server.status.sentence))
    await server.settled.wait()
    assert server.status.state is ServerState.READY, server.status.sentence
    die = next(each for each in server.status.offer.tools if each.name == "die")
    with pytest.raises(McpFailure, match=r"exit status 3|connection was lost"):
        await server.call(die, {"status": 3}, unheard)
    await until(lambda: len(noted(tmp_path, "pids")) == 2 and server.status.state is ServerState.READY)
    assert any('It ended with exit status 3. It said: "it hurts". It is started again' in each for each in said)
    await server.stop()
    assert not any(lives(int(pid)) for pid in noted(tmp_path, "pids"))


async def test_a_server_that_says_nothing_is_given_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from palimpsest.mcp_client.connection import connect

    monkeypatch.setattr(life, "MAX_FAILURES", 0)
    server = McpServer(odd(tmp_path, "silent", start_timeout_s=3), lambda config: config, connect, lambda: None)
    await server.settled.wait()
    assert "did not answer within 3 s" in server.status.sentence
    await server.stop()
    assert not any(lives(int(pid)) for pid in noted(tmp_path, "pids"))
