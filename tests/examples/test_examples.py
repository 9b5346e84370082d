"""The examples do what they say, with the real command."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.lsp.real_server import home, on_fake
from tests.waiting import WAIT_S

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "thing"
    made.mkdir()
    return made


async def run(example: str, folder: Path, text: str, fake: FakeProvider) -> str:
    """Returns the output of the example, which must exit with 0."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / example),
        str(folder),
        text,
        env=os.environ | home(folder.parent, **on_fake(fake.url), PATH=path),
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 0
    return printed.decode()


async def test_the_minimal_editor_prints_an_answer_and_finds_the_conversation_again(
    folder: Path, fake: FakeProvider
) -> None:
    fake.script += [Reply(text="A thing with 🎉."), Reply(text="As I said.")]
    assert await run("minimal_editor.py", folder, "What is this?", fake) == "A thing with 🎉.\n(committed)\n"
    assert "As I said." in await run("minimal_editor.py", folder, "And now?", fake)
    said = [message["content"] for message in fake.requests[-1].body["messages"] if message["role"] != "system"]
    assert said == ["What is this?", "A thing with 🎉.", "And now?"]


async def test_the_tool_of_the_editor_is_run_for_the_model(folder: Path, fake: FakeProvider) -> None:
    fake.script += [Reply(text="", calls=(Call("1", "editor_clock", "{}"),)), Reply(text="It is late.")]
    assert await run("custom_tool.py", folder, "What time is it?", fake) == "It is late.\n"
    (result,) = [each["content"] for each in fake.requests[-1].body["messages"] if each["role"] == "tool"]
    assert result.startswith("20")


@pytest.mark.parametrize("example", ["minimal_editor.py", "custom_tool.py"])
@pytest.mark.parametrize("arguments", [[], ["folder"]])
def test_an_example_without_its_arguments_says_how_it_is_called(example: str, arguments: list[str]) -> None:
    called = [sys.executable, str(EXAMPLES / example), *arguments]
    done = subprocess.run(called, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Usage: python {called[1]} FOLDER TEXT\n")
