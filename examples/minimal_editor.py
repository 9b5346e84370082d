"""An editor in one page: starts the server, sends one message about a folder, and prints the answer as it comes.

    python examples/minimal_editor.py ~/src/thing "What is this project?"

It uses Python's standard library only, and the command `palimpsest` from the PATH. The second run of the same folder
finds the conversation of the first: the server keeps it. PROTOCOL.md describes every message.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any


class Server:
    """The server's process. Messages are JSON with a header that says how long they are."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["palimpsest", "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._last_id = 0

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message. Raises EOFError when the server has ended."""
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline()) != b"\r\n":
            if not line:
                raise EOFError("The server has ended.")
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return dict(json.loads(self._process.stdout.read(length)))

    def request(self, method: str, params: Any) -> Any:
        """The result of a request. What comes before it is handed to `heard`."""
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": params})
        while True:
            message = self.receive()
            if "method" in message:
                self.heard(message)
            elif message["id"] == self._last_id:
                if "error" in message:
                    sys.exit(message["error"]["message"])  # always a sentence for the user
                return message["result"]

    def heard(self, message: dict[str, Any]) -> None:
        """A notification, or a request from the server, which has an id and must be answered."""
        if message["method"] == "$/progress" and message["params"]["token"] == "answer":
            delta = message["params"]["value"]
            if delta["type"] == "text":
                print(delta["text"], end="", flush=True)
        elif "id" in message:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "This editor cannot do that."}})

    def close(self) -> None:
        self.request("shutdown", None)
        self.send({"method": "exit"})
        self._process.wait()


def open_folder(server: Server, folder: Path) -> None:
    folders = [{"uri": folder.as_uri(), "name": folder.name}]
    server.request("initialize", {"processId": None, "capabilities": {}, "workspaceFolders": folders})
    server.send({"method": "initialized", "params": {}})


def chat(server: Server, text: str) -> dict[str, Any]:
    """Sends a message to the folder's last conversation, or to a new one. It could be sent again: a `requestId` that is
    known finds its turn."""
    message = {"requestId": uuid.uuid4().hex, "text": text, "partialResultToken": "answer"}
    if found := server.request("palimpsest/conversation/list", {})["conversations"]:
        message["conversationId"] = found[0]["conversationId"]
    return dict(server.request("palimpsest/chat", message))


def arguments() -> tuple[Path, str]:
    """The folder and the text of the command line."""
    if len(sys.argv) != 3:
        sys.exit(f"Usage: python {sys.argv[0]} FOLDER TEXT")
    return Path(sys.argv[1]).resolve(), sys.argv[2]


def main() -> None:
    folder, text = arguments()
    server = Server()
    open_folder(server, folder)
    result = chat(server, text)
    print(f"\n({result['status']})")
    server.close()


if __name__ == "__main__":
    main()
