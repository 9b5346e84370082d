"""A command runs as it was shown and not otherwise: no shell, no keys, no input, in the folder; and it ends in time,
with everything it started, and never fills the memory."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.services.mcp.scripted_server import until
from tests.services.scripted_editor import SCOPE, ScriptedEditor
from tests.waiting import WAIT_S

from palimpsest.domain.approvals import Answer
from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.tools import run_command as command_tool
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.editors import Editors
from palimpsest.services.tools.run_command import BoundedOutput, CommandTool, scrubbed
from palimpsest.services.tools.toolbox import ToolOutput
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.store import open_store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are those of POSIX")


@dataclass
class Desk:
    root: Path
    editor: ScriptedEditor
    tool: CommandTool

    async def run(self, *command: str, **more: Any) -> ToolOutput:
        (tool,) = self.tool(SCOPE)
        assert not tool.is_read_only
        return await asyncio.wait_for(tool.run(json.dumps({"command": command} | more)), 60)

    async def python(self, program: str, *arguments: str, **more: Any) -> ToolOutput:
        return await self.run(sys.executable, "-S", "-c", program, *arguments, **more)

    def child(self) -> asyncio.Task[int]:
        """The pid that ASKED_TO_END will write."""
        os.mkfifo(self.root / "child")
        return asyncio.create_task(asyncio.to_thread(lambda: int((self.root / "child").read_text())))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    root = tmp_path / "folder"
    (root / "sub").mkdir(parents=True)
    store = await open_store(tmp_path / "store")
    editors, editor = Editors(), ScriptedEditor()
    editors.attach(editor)
    approvals = Approvals(store, editors, FolderTrust(True))
    environ = {**os.environ, "OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "t", "SSH_AUTH_SOCK": "/s", "PYTHONPATH": "x"}
    yield Desk(root, editor, CommandTool(root, WorkspaceFiles(root), approvals, environ))
    await store.close()


async def test_output_of_both_kinds_and_the_exit_status_are_told(desk: Desk) -> None:
    output = await desk.python("import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)")
    assert (output.text, output.is_error) == ("out\nerr\n[Exit status 3.]", False)
    assert (await desk.python("")).text == "[Exit status 0. It wrote nothing.]"
    assert "ended by signal 9" in (await desk.python("import os; os.kill(os.getpid(), 9)")).text


async def test_what_it_writes_is_shown_while_it_runs(desk: Desk) -> None:
    """Also a character that comes in two pieces."""
    said: list[str] = []
    (tool,) = desk.tool(replace(SCOPE, say=said.append))
    program = "import os; os.write(1, b'on\\n\\xc3'); open('seen').read(); os.write(2, b'\\xa9 end')"
    os.mkfifo(desk.root / "seen")
    command = json.dumps({"command": [sys.executable, "-S", "-c", program]})
    running = asyncio.ensure_future(tool.run(command))
    await until(lambda: "on\n" in "".join(said))
    await asyncio.to_thread((desk.root / "seen").write_text, "")
    output = await asyncio.wait_for(running, WAIT_S)
    assert "".join(said) == "on\né end"
    assert output.text == "on\né end\n[Exit status 0.]"


async def test_what_no_command_can_hold_is_cleaned_before_it_is_shown_and_runs_as_shown(desk: Desk) -> None:
    output = await desk.python("import sys; print(ascii(sys.argv[1:]))", "a\0b", "half \ud83d")
    assert output.text.startswith("['ab', 'half \\ufffd']")
    assert "half \ufffd" in desk.editor.asked[0].shown
    with pytest.raises(InvalidRequest, match="names no program"):
        await desk.run("\0", "x")


async def test_no_shell_reads_the_words(desk: Desk) -> None:
    words = ("$HOME", "*", "a b", "; echo no", "`id`", "'", '"', "é\u202e", "")
    output = await desk.python("import sys, json; print(json.dumps(sys.argv[1:]))", *words)
    assert json.loads(output.text.partition("\n")[0]) == list(words)


async def test_what_is_shown_is_what_runs(desk: Desk) -> None:
    await desk.run("echo", "a\u202eb", "c d", cwd="sub", timeout_s=7)
    (request,) = desk.editor.asked
    assert (request.shown, request.title) == ("echo 'a⟨U+202E⟩b' 'c d'", "Run this command in sub, for at most 7 s?")


async def test_nothing_runs_without_the_users_word(desk: Desk) -> None:
    desk.editor.answer = Answer.DENY
    with pytest.raises(InvalidRequest, match="said no"):
        await desk.run("touch", "made")
    assert not (desk.root / "made").exists()


async def test_a_program_finds_no_keys_no_input_and_a_terminal_that_can_nothing(desk: Desk) -> None:
    program = (
        "import os, sys, json; print(json.dumps([dict(os.environ), sys.stdin.read(), os.getsid(0) == os.getpid()]))"
    )
    environ, read, leads_its_session = json.loads((await desk.python(program)).text.partition("\n")[0])
    assert set(environ).isdisjoint(("OPENAI_API_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "PYTHONPATH"))
    assert environ["TERM"] == "dumb"
    assert environ["HOME"] == os.environ["HOME"]
    assert (read, leads_its_session) == ("", True)


key_names = st.builds(
    "{}_{}".format, st.text("ABZ_", min_size=1), st.sampled_from(("KEY", "TOKEN", "SECRET", "PASSWORD", "AUTH", "PAT"))
)


@given(st.dictionaries(key_names, st.text()))
def test_nothing_that_could_be_a_key_is_passed_on(environ: dict[str, str]) -> None:
    assert set(scrubbed(environ)).isdisjoint(environ)


def test_programs_of_the_folder_are_not_found_by_their_bare_name() -> None:
    assert scrubbed({"PATH": ":.:bin:/usr/bin:./x:/bin"})["PATH"] == "/usr/bin:/bin"


async def test_it_runs_in_the_folder_and_nowhere_else(desk: Desk, tmp_path: Path) -> None:
    assert (await desk.run("pwd", "-P")).text.startswith(f"{desk.root.resolve()}\n")
    assert (await desk.run("pwd", "-P", cwd="sub")).text.startswith(f"{(desk.root / 'sub').resolve()}\n")
    (desk.root / "out").symlink_to(tmp_path)
    (desk.root / "file").write_text("")
    n_asked = len(desk.editor.asked)
    for cwd in ("..", "/", "out", str(tmp_path), "file", "none/x", ".git"):
        with pytest.raises(InvalidRequest):
            await desk.run("pwd", cwd=cwd)
    assert len(desk.editor.asked) == n_asked, "the user was asked for nothing"


async def test_a_folder_that_is_another_one_after_the_question_is_not_run_in(desk: Desk) -> None:
    def swap() -> None:
        (desk.root / "sub").rmdir()
        (desk.root / "other").mkdir()
        (desk.root / "sub").symlink_to("other")

    desk.editor.meanwhile = swap
    with pytest.raises(InvalidRequest, match="changed meanwhile"):
        await desk.run("touch", "made", cwd="sub")
    assert list((desk.root / "other").iterdir()) == []


async def test_the_end_of_its_time_ends_it_and_what_it_started(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_tool, "_ASKED_S", 0.1)
    child = desk.child()
    output = await desk.python(ASKED_TO_END, timeout_s=1)
    assert output.is_error
    assert "begun\n" in output.text
    assert "its time was up" in output.text
    assert gone(await child)


async def test_a_cancel_ends_it_and_what_it_started(desk: Desk) -> None:
    writing = desk.child()
    running = asyncio.create_task(desk.python(ASKED_TO_END, timeout_s=600))
    child = await asyncio.wait_for(writing, WAIT_S)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert gone(child)


async def test_what_it_leaves_running_ends_with_it(desk: Desk) -> None:
    program = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    output = await desk.python(program)
    assert output.text.endswith("[Exit status 0.]")
    assert gone(int(output.text.split()[0]))


@pytest.mark.skipif(not command_tool.HOLDS_ALL, reason="only Linux lets a process adopt what others leave behind")
async def test_what_leaves_its_session_ends_with_it_too(desk: Desk) -> None:
    program = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True)"
    output = await desk.python(f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {program!r}])")
    assert output.text.endswith("[Exit status 0.]")
    assert gone(int(output.text.split()[0]))


async def test_how_it_ended_is_told(desk: Desk) -> None:
    assert (await desk.run("sh", "-c", "exit 3")).text == "[Exit status 3. It wrote nothing.]"
    assert (await desk.run("sh", "-c", "kill -9 $$")).text == "[It was ended by signal 9. It wrote nothing.]"
    assert "its exit status is unknown" in (await desk.run("sh", "-c", "kill -9 $PPID; sleep 600")).text


ASKED_TO_END = """
import pathlib, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
print("begun", flush=True)
pathlib.Path("child").write_text(str(child.pid))
time.sleep(600)
"""
"""A program that does not end when asked, with a child whose pid it writes into the pipe `child`."""


def gone(pid: int) -> bool:
    """Whether it ends; one that was killed may take a moment on a busy machine."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        os.sched_yield()
    return False


async def test_of_much_output_head_and_tail_are_kept(desk: Desk) -> None:
    output = await desk.python("print('head'); print('x' * 1_000_000); print('tail')")
    assert output.text.startswith("head\nxxx")
    assert output.text.endswith("xxx\ntail\n[Exit status 0.]")
    assert len(output.text) < 26_000
    kept = output.text.removesuffix("[Exit status 0.]").count("x")
    assert f"[{1_000_000 - kept:,} bytes left out here]" in output.text


async def test_a_program_that_never_stops_writing_is_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_tool, "MAX_OUTPUT_BYTES", 1_000_000)
    output = await desk.run("yes", timeout_s=600)
    assert output.is_error
    assert output.text.endswith("[It was ended, because it wrote more than 1000000 bytes.]")


@given(st.lists(st.binary(max_size=30)), st.integers(1, 40))
def test_bounded_output_counts_every_byte_and_keeps_the_ends(pieces: list[bytes], kept: int) -> None:
    output = BoundedOutput(kept)
    for piece in pieces:
        output.feed(piece)
    whole = b"".join(pieces)
    if len(whole) <= 2 * kept:
        assert output.text() == whole.decode("utf-8", "replace")
    else:
        missing = len(whole) - 2 * kept
        head, tail = whole[:kept].decode("utf-8", "replace"), whole[-kept:].decode("utf-8", "replace")
        assert output.text() == f"{head}\n[{missing:,} byte{'s' if missing > 1 else ''} left out here]\n{tail}"


async def test_a_program_that_is_not_there_is_an_error(desk: Desk) -> None:
    with pytest.raises(InvalidRequest, match="'no-such-program' cannot be started: No such file"):
        await desk.run("no-such-program")


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"command": []}',
        '{"command": "ls -l"}',
        '{"command": [1]}',
        '{"command": [""]}',
        '{"command": ["ls"], "timeout_s": 601}',
        '{"command": ["ls"], "timeout_s": true}',
        '{"command": ["ls"], "cwd": 1}',
        '{"command": ["ls"], "shell": true}',
        json.dumps({"command": ["ls"] * 300}),
        json.dumps({"command": ["x" * 20_000]}),
        "not json",
    ],
)
async def test_arguments_that_cannot_be_meant_are_named_before_anybody_is_asked(desk: Desk, arguments: str) -> None:
    (tool,) = desk.tool(SCOPE)
    with pytest.raises(InvalidRequest, match=r"\.$"):
        await tool.run(arguments)
    assert desk.editor.asked == []
