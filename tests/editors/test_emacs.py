"""Emacs with eglot, which knows nothing but LSP, chats in a chat document: what the files in `emacs` promise."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.real_server import STALL, home, on_fake
from tests.slash import ANSWERED, EXAMPLES, typed

ROOT = Path(__file__).parents[2]
CHECKS = Path(__file__).parent / "emacs"
EGLOT = Path("/usr/share/emacs/site-lisp/elpa")
EMACS = shutil.which("emacs") or ""
pytestmark = [
    pytest.mark.skipif(not EMACS, reason="no emacs is installed (Debian: emacs-nox)"),
    pytest.mark.skipif(not list(EGLOT.glob("eglot-*")), reason="no eglot is installed (Debian: elpa-eglot)"),
    pytest.mark.timeout(240),
]


async def test_eglot_sends_streams_and_stops(tmp_path: Path, fake: FakeProvider) -> None:
    fake.script += [Reply(text="It grows 🎉 here."), STALL]
    await holds(tmp_path, fake, "chat.el", {"notes.txt": "Notes.\n"})


async def test_eglot_begins_chats_by_code_actions_and_every_slash_command_answers(
    tmp_path: Path, fake: FakeProvider
) -> None:
    fake.script += [Reply(text=ANSWERED), Reply(text="Still blue.")]
    code = "import os\n\n\ndef start():\n    pump = 18  # the gate\n    return pump\n"
    examples = [{"typed": typed(name), "expected": said} for name, (_, said) in EXAMPLES.items()]
    await holds(tmp_path, fake, "code.el", {"pump.py": code, "slash.json": json.dumps(examples)})


async def holds(tmp_path: Path, fake: FakeProvider, checks: str, files: Mapping[str, str]) -> None:
    """Runs the checks in a folder with these files."""
    folder = tmp_path / "a folder é"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    variables = {
        **os.environ,
        **home(tmp_path, **on_fake(fake.url)),
        "PYTHONPATH": f"{ROOT / 'server'}:{ROOT / 'clients'}",
        "CHECK_PYTHON": sys.executable,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }
    said = tmp_path / "said"
    with said.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(EMACS, "-Q", "--batch", "-l", str(CHECKS / checks)),
            cwd=folder,
            env=variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=out,
        )
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(180):
                await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = said.read_text(errors="replace")
    assert process.returncode == 0, text
    assert "rules hold" in text
