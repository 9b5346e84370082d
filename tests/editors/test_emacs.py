"""Emacs with eglot, which knows nothing but LSP, chats in a chat document: what `emacs/chat.el` promises."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.real_server import STALL, home, on_fake

ROOT = Path(__file__).parents[2]
CHECKS = Path(__file__).parent / "emacs"
EGLOT = Path("/usr/share/emacs/site-lisp/elpa")
EMACS = shutil.which("emacs") or ""
pytestmark = [
    pytest.mark.skipif(not EMACS, reason="no emacs is installed (Debian: emacs-nox)"),
    pytest.mark.skipif(not list(EGLOT.glob("eglot-*")), reason="no eglot is installed (Debian: elpa-eglot)"),
    pytest.mark.timeout(200),
]


async def test_eglot_sends_streams_and_stops(tmp_path: Path, fake: FakeProvider) -> None:
    folder = tmp_path / "a folder é"
    folder.mkdir()
    (folder / "notes.txt").write_text("Notes.\n")
    fake.script += [Reply(text="It grows 🎉 here."), STALL]
    variables = {
        **os.environ,
        **home(tmp_path, **on_fake(fake.url)),
        "PYTHONPATH": f"{ROOT / 'server'}:{ROOT / 'clients'}",
        "CHECK_PYTHON": sys.executable,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }
    process = await asyncio.create_subprocess_exec(
        *(EMACS, "-Q", "--batch", "-l", str(CHECKS / "chat.el")),
        cwd=folder,
        env=variables,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await asyncio.wait_for(process.communicate(), 150)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode("utf-8", "replace")
    assert b"rules hold" in said
