"""Chats with the real server, whose model is a fake on loopback that edits files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.lsp.real_server import COMMAND, home, on_fake
from tests.terminal.chats import TIMEOUT_S, Chats


class RealChats(Chats):
    """Each is to run in a thread, because the fake answers on the loop of the test."""

    def __init__(self, root: Path, fake: FakeProvider) -> None:
        super().__init__(root)
        self._home = home(root, **on_fake(fake.url))
        self._fake = fake

    def server(self, *scene: str) -> list[str]:
        return COMMAND

    def environment(self) -> dict[str, str]:
        return super().environment() | self._home

    def model_edits(self, *edits: tuple[str, str, str], then: str = "Done.") -> None:
        """The model's next answer: edits of files, each a path, what stands there and what is to, and then a text."""
        calls = tuple(Call(f"c{number}", "propose_edit", _arguments(*each)) for number, each in enumerate(edits))
        self._fake.script += [Reply(text="", calls=calls), Reply(text=then)]

    def program(self, *arguments: str) -> str:
        """What `palimpsest` prints."""
        command = [sys.executable, "-P", "-m", "palimpsest", *arguments]
        done = subprocess.run(
            command, capture_output=True, env=self.environment(), cwd=self.folder, timeout=TIMEOUT_S, check=True
        )
        return done.stdout.decode()

    def trust(self) -> None:
        self.program("trust", str(self.folder))
        self._home["TRUSTED"] = "1"

    def revoke_trust(self) -> None:
        self.program("trust", "--revoke", str(self.folder))
        del self._home["TRUSTED"]

    def ask(self, question: str, *, accepting: bool = False) -> tuple[str, str, int]:
        """One question by `-p`: stdout, stderr and the exit code."""
        which = f"{'accepting+' if accepting else ''}print:{question}"
        done = self.pipe("", which=which)
        return done.stdout, done.stderr, done.returncode

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode())

    def text(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()


def _arguments(path: str, old: str, new: str) -> str:
    """For a file that does not exist yet, nothing stands there."""
    if not old:
        return json.dumps({"path": path, "content": new})
    return json.dumps({"path": path, "edits": [{"old_text": old, "new_text": new}]})
