"""Every slash command in the terminal, through pipes and with the real server, says what it says in every editor."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.rawlsp import environment
from tests.lsp.real_server import home, on_fake
from tests.slash import ANSWERED, ASKED, EXAMPLES, typed
from tests.waiting import WAIT_S

from palimpsest.domain.command_names import CommandName

OWN = {CommandName.HELP: "a message that begins with a slash", CommandName.NEW: "A new conversation"}
"""What the terminal answers itself."""


async def test_every_command_and_one_of_ones_own(tmp_path: Path, fake: FakeProvider) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    commands = tmp_path / "config/palimpsest/commands"
    commands.mkdir(parents=True)
    (commands / "re-view.md").write_text("Review $1 *twice*.")
    fake.script += [Reply(text=ANSWERED), Reply(text="Still blue.")]
    lines = [ASKED, "/re-view the-gate", *map(typed, EXAMPLES)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "palimpsest", "chat"),
        cwd=folder,
        env=environment(**home(tmp_path, **on_fake(fake.url))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(4 * WAIT_S):
            out, err = await process.communicate("\n".join(lines).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = f"{out.decode()}\n{err.decode()}".replace("\\", "")
    assert ANSWERED in said
    assert "Review the-gate *twice*." in said
    for name, (_, expected) in EXAMPLES.items():
        wanted = OWN.get(name, "Still blue." if name is CommandName.RETRY else expected)
        assert wanted in said, (name, said)
    assert "There is no command" not in said
