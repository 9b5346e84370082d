"""An editor with the least that the protocol allows - no progress, no dynamic registration, no applied edits, UTF-16,
one folder by `rootUri` - chats by plain requests and is sent nothing that it has not announced."""

from __future__ import annotations

from pathlib import Path

from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.in_process import connected_here
from tests.lsp.real_server import Editor, home, on_fake

KNOWN_TO_ALL = {"window/logMessage", "window/showMessage", "textDocument/publishDiagnostics"}
"""What a server may always send: our own notifications go to editors that ask for them."""


async def test_the_least_client_chats_through_plain_requests(tmp_path: Path, fake: FakeProvider) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    fake.script += [Reply(text="It grows 🎉 here."), Reply(text="Sure.")]
    async with connected_here(**home(tmp_path, **on_fake(fake.url))) as client:
        answer = await client.initialize({}, rootUri=folder.as_uri())
        assert answer["result"]["capabilities"].get("positionEncoding", "utf-16") == "utf-16"
        editor = Editor(client)
        first = (await editor.chat("Where does it grow?"))["result"]
        assert (first["status"], first["text"]) == ("committed", "It grows 🎉 here.")
        second = (await editor.chat("Sure?", conversationId=first["conversationId"]))["result"]
        assert second["text"] == "Sure."
        read = await editor.read(first["conversationId"])
        assert [each["text"] for each in read["messages"]] == [
            "Where does it grow?",
            "It grows 🎉 here.",
            "Sure?",
            "Sure.",
        ]
        params = {"text": "/us", "position": 3, "conversationId": first["conversationId"]}
        completed = await client.result("palimpsest/mentions/complete", params)
        assert [each["insertText"] for each in completed["items"]] == ["/usage"]
        opened = await client.result(
            "workspace/executeCommand",
            {"command": "palimpsest.chat.open", "arguments": [{"conversationId": first["conversationId"]}]},
        )
        assert opened["uri"] == Path(opened["path"]).as_uri()
        refused = await client.request(
            "workspace/executeCommand", {"command": "palimpsest.chat.send", "arguments": [{"uri": opened["uri"]}]}
        )
        assert "not an open chat document" in refused["error"]["message"]
        await client.result("shutdown")
        client.notify("exit")
        assert await client.exit_code() == 0
        asked = {message["method"] for message in client.inbox if "method" in message and "id" in message}
        told = {message["method"] for message in client.inbox if "method" in message and "id" not in message}
        assert asked == set()
        assert told <= KNOWN_TO_ALL
