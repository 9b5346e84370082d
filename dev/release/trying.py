"""What a user would do first with an installed `palimpsest`, and what has to come of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from dev.release.places import CheckFailed, Place
from palimpsest.__about__ import __version__
from palimpsest.wire.codec.framing import FrameDecoder

QUESTION: Final = "Where is the deploy key kept?"
ANSWER: Final = "vault seven"
_FILES: Final = {
    "notes.md": f"# Notes\n\nThe deploy key is kept in {ANSWER}, beside the spare one.\n",
    "shop.py": "RATE = 0.19\n\n\ndef gross(net):\n    return net * (1 + RATE)\n",
}
_LSP: Final = (
    {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
    {"method": "initialized", "params": {}},
    {"id": 2, "method": "shutdown"},
    {"method": "exit"},
)


def make_folder(place: Place) -> Path:
    """A folder to talk about, in which `ANSWER` answers `QUESTION`."""
    folder = place.home / "a shop"
    folder.mkdir(exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def try_program(place: Place, program: Path) -> None:
    """Ask a question without a key, check the conversation, and start the language server. Raises CheckFailed."""
    folder = make_folder(place)
    _expect(f"palimpsest {__version__}", place.run(program, "--version"), "--version")
    answer = place.run(program, "chat", "-p", folder, typed=QUESTION)
    _expect(ANSWER, answer, "the answer to a question")
    _expect(QUESTION.split()[-1], place.run(program, "export", "1", "--folder", folder), "the exported conversation")
    place.run(program, "doctor", folder)
    _expect("_palimpsest", place.run(program, "completion", "bash"), "the completion for bash")
    _try_server(place, program, folder)


def _try_server(place: Place, program: Path, folder: Path) -> None:
    bodies = [json.dumps({"jsonrpc": "2.0"} | message).encode() for message in _LSP]
    typed = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    served = subprocess.run(
        [str(program), "serve", "--stdio"],
        input=typed,
        capture_output=True,
        cwd=folder,
        env=dict(place.environ),
        timeout=120,
        check=False,
    )
    answers: list[dict[str, Any]] = [json.loads(body) for body in FrameDecoder().feed(served.stdout)]
    about = next((each["result"]["serverInfo"] for each in answers if each.get("id") == 1), None)
    if about != {"name": "palimpsest", "version": __version__} or served.returncode != 0:
        raise CheckFailed(
            f"The server named itself {about} and ended with {served.returncode}: {served.stderr.decode()}"
        )


def _expect(wanted: str, said: str, what: str) -> None:
    if wanted not in said:
        raise CheckFailed(f"{wanted!r} is not in {what}:\n{said}")
