"""Accepted edits are listed and taken back through the editor, whoever asks: a request, a roll back, a retry or a slash
command; a purge and the end of a server leave what is true."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.lsp.document_editor import APPLY, Documents, applies
from tests.lsp.in_process import connected_here
from tests.lsp.real_server import Editor, files_of_now, home, on_fake
from tests.waiting import WAIT_S

AT, HEAD = "palimpsest/context/at", "[Edits taken back]"
CHANGES, UNDO, TEXTS = "palimpsest/turn/changes", "palimpsest/turn/undoChanges", "palimpsest/turn/changeTexts"


@dataclass
class Chat:
    """A chat in an editor that holds documents, with a model that edits files."""

    root: Path
    fake: FakeProvider
    editor: Editor
    documents: Documents
    conversation_id: str = ""

    async def edit(self, *calls: dict[str, Any], says: str = "Do it.") -> str:
        """A turn in which the model makes these edits; its id."""
        self.fake.script += [
            Reply(
                text="", calls=tuple(Call(f"c{n}", "propose_edit", json.dumps(each)) for n, each in enumerate(calls))
            ),
            Reply(text="Done."),
        ]
        named = {"conversationId": self.conversation_id} if self.conversation_id else {}
        result = (await self.editor.chat(says, **named))["result"]
        self.conversation_id = result["conversationId"]
        return str(result["turnId"])

    async def ask(self, method: str, **params: Any) -> Any:
        return await self.editor.client.result(method, {"conversationId": self.conversation_id, **params})

    async def listed(self, **params: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.ask(CHANGES, **params))["changes"]
        return found

    async def states(self) -> list[tuple[str, str, bool]]:
        return [(each["path"], each["state"], each["canTakeBack"]) for each in await self.listed()]

    async def command(self, text: str) -> str:
        done: dict[str, Any] = await self.ask("palimpsest/command/run", text=text)
        if "turnId" in done:
            await self.editor.client.result("palimpsest/turn/attach", {"turnId": done["turnId"]})
        return str(done["text"])

    def text(self, name: str) -> str:
        return self.documents.text(self.root / name)


def _call(number: int, edit: dict[str, Any]) -> Call:
    return Call(f"c{number}", "propose_edit", json.dumps(edit))


@contextlib.asynccontextmanager
async def chatting(directory: Path, fake: FakeProvider, root: Path, *operations: str) -> AsyncIterator[Chat]:
    async with connected_here(**home(directory, **on_fake(fake.url))) as client:
        await client.initialize(
            applies(*operations or ("create", "delete")),
            workspaceFolders=[{"uri": root.as_uri(), "name": "folder"}],
            initializationOptions={"palimpsest": {"trust": True}},
        )
        await client.result("palimpsest/conversation/list", {})
        yield Chat(root, fake, Editor(client), Documents(client))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "a folder é"
    root.mkdir()
    for name in ("a.py", "b.py"):
        (root / name).write_text("one\ntwo\nthree\n")
    return root


@pytest.fixture
async def chat(tmp_path: Path, fake: FakeProvider, root: Path) -> AsyncIterator[Chat]:
    async with chatting(tmp_path, fake, root) as chat:
        yield chat


def replacing(path: str, old: str, new: str) -> dict[str, Any]:
    return {"path": path, "edits": [{"old_text": old, "new_text": new}]}


BOTH = (replacing("a.py", "two", "2"), replacing("b.py", "two", "2\n2.5"), {"path": "new é.py", "content": "new\n"})


async def test_edits_of_a_turn_are_listed_compared_and_taken_back(chat: Chat) -> None:
    await chat.edit(*BOTH)
    second = await chat.edit(replacing("a.py", "three", "three!"))
    listed = await chat.listed()
    assert [(each["path"], each["kind"], each["added"], each["removed"]) for each in listed] == [
        ("a.py", "changed", 1, 1),
        ("b.py", "changed", 2, 1),
        ("new é.py", "created", 1, 0),
        ("a.py", "changed", 1, 1),
    ]
    assert listed[2]["uri"] == (chat.root / "new é.py").as_uri()
    assert await chat.states() == [(each["path"], "applied", True) for each in listed]
    assert [each["id"] for each in await chat.listed(turnId=second)] == [listed[3]["id"]]
    chat.documents.write((chat.root / "a.py").as_uri(), f"mine\n{chat.text('a.py')}")
    texts = await chat.ask(TEXTS, changes=[listed[0]["id"], listed[3]["id"]])
    assert texts == {
        "path": "a.py",
        "before": "one\ntwo\nthree\n",
        "after": "one\n2\nthree!\n",
        "now": "mine\none\n2\nthree!\n",
    }
    n_applied = len(chat.editor.client.received(APPLY))
    done = await chat.ask(UNDO, changes=[listed[0]["id"]])
    assert done == {"files": [{"path": "a.py", "changes": [listed[0]["id"]], "outcome": "takenBack"}]}
    (applied,) = chat.editor.client.received(APPLY)[n_applied:]
    (change,) = applied["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 4
    assert change["edits"] == [
        {"range": {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 0}}, "newText": "two\n"}
    ]
    chat.documents.write((chat.root / "b.py").as_uri(), "one\n2\nmine\nthree\n")
    done = await chat.ask(UNDO)
    assert [(each["path"], each["outcome"]) for each in done["files"]] == [
        ("a.py", "takenBack"),
        ("b.py", "refused"),
        ("new é.py", "takenBack"),
    ]
    assert "Compare the texts" in done["files"][1]["reason"]
    assert chat.text("a.py") == "mine\none\ntwo\nthree\n"
    assert not (chat.root / "new é.py").exists()
    assert [each["state"] for each in await chat.listed()] == ["takenBack", "applied", "takenBack", "takenBack"]


async def test_named_paths_and_what_is_not_there(chat: Chat) -> None:
    await chat.edit(*BOTH)
    done = await chat.ask(UNDO, paths=["b.py", "no.py"])
    assert [each["path"] for each in done["files"]] == ["b.py"]
    refused = await chat.editor.client.request(
        UNDO, {"conversationId": chat.conversation_id, "changes": ["no such edit"]}
    )
    assert refused["error"]["data"]["kind"] == "not_found"


async def test_a_new_file_in_which_somebody_types_at_the_last_moment_is_not_deleted(chat: Chat) -> None:
    await chat.edit(BOTH[2])
    uri = (chat.root / "new é.py").as_uri()
    chat.documents.before_apply = [lambda: chat.documents.write(uri, "new\nmine\n")]
    (done,) = (await chat.ask(UNDO))["files"]
    assert done["outcome"] == "refused"
    assert chat.text("new é.py") == "new\nmine\n"


async def test_a_removed_file_is_gone_although_its_document_is_closed_later(chat: Chat) -> None:
    chat.documents.closes_removed = False
    await chat.edit(BOTH[2])
    assert [each["outcome"] for each in (await chat.ask(UNDO))["files"]] == ["takenBack"]
    assert await chat.states() == [("new é.py", "takenBack", False)]
    (chat.root / "new é.py").touch()  # the editor's undo
    assert await chat.states() == [("new é.py", "applied", True)]


async def test_an_editor_that_does_not_delete_files_is_not_asked_to(
    tmp_path: Path, fake: FakeProvider, root: Path
) -> None:
    async with chatting(tmp_path, fake, root, "create") as chat:
        await chat.edit(BOTH[2])
        (done,) = (await chat.ask(UNDO))["files"]
        assert "cannot delete files" in done["reason"]


@pytest.mark.parametrize("how", ["request", "command"])
async def test_a_roll_back_takes_edits_back_on_request(chat: Chat, how: str) -> None:
    await chat.edit(BOTH[0])
    await chat.edit(replacing("a.py", "three", "3"), BOTH[1])
    if how == "request":
        done = await chat.ask("palimpsest/conversation/rollback", takeBackChanges=True)
        assert [(each["path"], each["outcome"]) for each in done["files"]] == [
            ("a.py", "takenBack"),
            ("b.py", "takenBack"),
        ]
    else:
        said = await chat.command("/rollback edits")
        assert "`a.py`: taken back." in said
    assert (chat.text("a.py"), chat.text("b.py")) == ("one\n2\nthree\n", "one\ntwo\nthree\n")
    await chat.ask("palimpsest/conversation/rollback")
    assert chat.text("a.py") == "one\n2\nthree\n", "nobody asked for it"


@pytest.mark.parametrize("how", ["request", "command", "recovery"])
async def test_a_retry_takes_the_edits_of_the_answer_back_before_it_is_answered_again(chat: Chat, how: str) -> None:
    turn_id = await chat.edit(BOTH[0])
    chat.fake.script += [
        Reply(text="", calls=(Call("again", "read_file", json.dumps({"path": "a.py"})),)),
        Reply(text="", calls=(Call("c", "propose_edit", json.dumps(replacing("a.py", "two", "II"))),)),
        Reply(text="Done."),
    ]
    request = {"turnId": turn_id, "takeBackChanges": True}
    if how == "request":
        done = await chat.editor.client.result("palimpsest/turn/retry", request)
        assert [each["outcome"] for each in done["files"]] == ["takenBack"]
        repeated = await chat.editor.client.result("palimpsest/turn/retry", request)
        assert repeated["turnId"] == done["turnId"]
        assert repeated["files"] == []
    elif how == "recovery":
        await chat.editor.client.result("palimpsest/recovery/resolve", {**request, "action": "retry"})
    else:
        assert "`a.py`: taken back." in await chat.command("/retry edits")
    results = [each for each in chat.fake.requests[-1].body["messages"] if each["role"] == "tool"]
    assert "two" in results[0]["content"], "it read what the hidden answer had left"
    assert chat.text("a.py") == "one\nII\nthree\n"


async def test_slash_commands_and_commands_of_any_editor(chat: Chat) -> None:
    await chat.edit(BOTH[0])
    await chat.edit(BOTH[1], BOTH[2])
    listed = await chat.command("/changes")
    assert "| 1 | a.py | +1 -1 |" in listed
    assert "| 3 | new é.py | +1 -0 (new) |" in listed
    assert "-two\n+2" in await chat.command("/changes 1")
    said = await chat.command("/revert")
    assert "`b.py`: taken back." in said
    assert "a.py" not in said
    assert "undo brings the edits again" in said
    assert "`a.py`: taken back." in await chat.command("/revert 1")
    assert "taken back" in await chat.command("/revert")
    assert "nothing to take back" in await chat.command("/revert a.py")
    assert "nothing to take back" in await chat.command("/revert all")
    refused = await chat.editor.client.request(
        "palimpsest/command/run", {"conversationId": chat.conversation_id, "text": "/revert 9"}
    )
    assert "There is no edit 9" in refused["error"]["message"]
    argument = {"conversationId": chat.conversation_id, "argument": ""}
    done = await chat.editor.client.result(
        "workspace/executeCommand", {"command": "palimpsest.command.changes", "arguments": [argument]}
    )
    assert "taken back" in done["text"]


async def test_a_fork_has_the_edits_of_the_messages_it_inherits(chat: Chat) -> None:
    await chat.edit(BOTH[0])
    forked = await chat.ask("palimpsest/conversation/fork")
    await chat.edit(BOTH[1])
    chat.conversation_id = forked["conversationId"]
    assert await chat.states() == [("a.py", "applied", True)]
    await chat.ask(UNDO)
    assert chat.text("a.py") == "one\ntwo\nthree\n"


async def test_a_purge_removes_the_texts_and_leaves_the_files(chat: Chat, tmp_path: Path) -> None:
    await chat.edit({"path": "new.py", "content": "a word that nobody wrote: Xyzzyplugh\n"})
    await chat.edit(BOTH[0])
    kept = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert any(b"Xyzzyplugh" in path.read_bytes() for path in kept)
    await chat.ask("palimpsest/conversation/purge", range={"start": 0, "end": 4}, confirm=True)
    assert [each["path"] for each in await chat.listed()] == ["a.py"]
    kept = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not any(b"Xyzzyplugh" in path.read_bytes() for path in kept)
    assert chat.text("new.py")


async def test_an_export_holds_no_text_of_a_file(chat: Chat) -> None:
    (chat.root / "a.py").write_text("one\ntwo\nPlughxyzzy\n")
    await chat.edit(BOTH[0])
    exported = await chat.ask("palimpsest/conversation/export")
    assert "Plughxyzzy" not in json.dumps(exported)


@pytest.mark.parametrize("is_applied", [True, False])
@pytest.mark.parametrize("while_", ["edited", "taken back"])
async def test_a_server_that_is_killed_in_between_leaves_what_the_file_tells(
    tmp_path: Path, fake: FakeProvider, root: Path, is_applied: bool, while_: str
) -> None:
    """What a kill leaves behind is taken as the editor gets the edit, or as it has applied and saved it."""
    bring_back: list[Any] = []
    uri = (root / "a.py").as_uri()
    async with chatting(tmp_path, fake, root) as chat:
        if while_ == "taken back":
            await chat.edit(BOTH[0])

        def kill() -> None:
            bring_back.append(files_of_now(tmp_path))
            if is_applied:
                (root / "a.py").write_text(chat.documents.held[uri][1])

        setattr(chat.documents, "after_apply" if is_applied else "before_apply", [kill])
        if while_ == "edited":
            await chat.edit(BOTH[0])
        else:
            await chat.ask(UNDO)
        if not is_applied and while_ == "taken back":
            (root / "a.py").write_text("one\n2\nthree\n")
    bring_back[0]()
    async with chatting(tmp_path, fake, root) as again:
        again.conversation_id = chat.conversation_id
        stands = is_applied == (while_ == "edited")
        assert await again.states() == [("a.py", "applied" if stands else "takenBack", stands)]
        (done,) = (await again.ask(UNDO))["files"]
        assert done["outcome"] == ("takenBack" if stands else "asBefore")


async def test_nothing_of_it_is_sent_to_a_model_or_a_log(
    tmp_path: Path, fake: FakeProvider, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "a.py").write_text("one\ntwo\nPlughxyzzy\n")
    async with chatting(tmp_path, fake, root) as chat:
        await chat.edit(BOTH[0])
        await chat.ask(UNDO)
        await chat.editor.chat("And now?", conversationId=chat.conversation_id)
    assert "Plughxyzzy" not in json.dumps([each.body for each in fake.requests])
    assert "Plughxyzzy" not in caplog.text


async def test_the_next_turn_is_told_once_what_was_taken_back_and_is_shown_again_as_it_was(
    tmp_path: Path, fake: FakeProvider, root: Path
) -> None:
    async def turn(chat: Chat) -> tuple[str, str]:
        """A turn, and the request that it made."""
        fake.script.append(Reply(text="Yes."))
        result = (await chat.editor.chat("And now?", conversationId=chat.conversation_id))["result"]
        return result["turnId"], json.dumps(fake.requests[-1].body)

    async with chatting(tmp_path, fake, root) as chat:
        await chat.edit(*BOTH[:2])
        assert HEAD not in (await turn(chat))[1]
        await chat.ask(UNDO, paths=["a.py"])
        told, request = await turn(chat)
        assert request.count(HEAD) == 1
        assert "- a.py (edit 1)" in request
        assert "- b.py (edit" not in request
        assert (await turn(chat))[1].count("- a.py (edit 1)") == 1
        await chat.ask(UNDO)
        _, request = await turn(chat)
        assert [request.count(each) for each in (HEAD, "- a.py (edit 1)", "- b.py (edit 2)")] == [2, 1, 1]
        assert (await chat.ask(AT, turnId=told))["isSame"] is True
    async with chatting(tmp_path, fake, root) as again:
        again.conversation_id = chat.conversation_id
        assert (await turn(again))[1].count("- b.py (edit 2)") == 1
        shown = await again.ask(AT, turnId=told)
        assert shown["isSame"] is True
        assert "- a.py (edit 1)" in json.dumps(shown["messages"])
        await again.ask("palimpsest/conversation/purge", range={"start": 0, "end": 2}, confirm=True)
        assert "(edit" not in (await turn(again))[1]


async def test_of_edits_that_a_roll_back_hides_nothing_is_told(chat: Chat) -> None:
    await chat.edit(BOTH[0])
    await chat.edit(BOTH[1])
    await chat.command("/rollback edits")
    chat.fake.script.append(Reply(text="Yes."))
    await chat.editor.chat("And now?", conversationId=chat.conversation_id)
    assert HEAD not in json.dumps(chat.fake.requests[-1].body)


async def test_two_editors_hear_of_it_and_take_back_once(chat: Chat) -> None:
    await chat.edit(BOTH[0])
    both = await asyncio.wait_for(asyncio.gather(chat.ask(UNDO), chat.ask(UNDO)), WAIT_S)
    assert sorted(each["files"][0]["outcome"] for each in both) == ["asBefore", "takenBack"]
