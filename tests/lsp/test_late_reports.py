"""An editor may answer that it has applied an edit before it reports the text that the edit made. The next edit of the
same turn is one of that text."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.lsp.document_editor import APPROVE, Documents, applies
from tests.lsp.in_process import connected_here
from tests.lsp.real_server import Editor, home, on_fake

from palimpsest.lsp.features import folder_editor


@contextlib.asynccontextmanager
async def asked_to_edit(
    directory: Path, fake: FakeProvider, *edits: tuple[str, str]
) -> AsyncIterator[tuple[Documents, asyncio.Task[object]]]:
    """The documents of an editor that reports late, whose only one is open, and a turn in which a model edits it: the
    first edit is applied, and the server has been told."""
    (directory / "folder").mkdir()
    path = directory / "folder" / "a.py"
    path.write_text("one\ntwo\n")
    calls = [
        Call(f"c{n}", "propose_edit", json.dumps({"path": "a.py", "edits": [{"old_text": old, "new_text": new}]}))
        for n, (old, new) in enumerate(edits)
    ]
    fake.script += [Reply(text="", calls=tuple(calls)), Reply(text="Done.")]
    async with connected_here(**home(directory, **on_fake(fake.url))) as client:
        await client.initialize(
            applies(),
            workspaceFolders=[{"uri": path.parent.as_uri(), "name": "folder"}],
            initializationOptions={"palimpsest": {"trust": True}},
        )
        documents, is_applied = Documents(client), asyncio.Event()
        documents.open(path.as_uri())
        documents.late, documents.after_apply = [], [is_applied.set]
        asking: asyncio.Task[object] = asyncio.create_task(Editor(client).chat("Do it."))
        await is_applied.wait()
        for _ in range(3):
            await client.result("palimpsest/conversation/list", {})  # what was sent before has been handled
        yield documents, asking
        await asking


async def test_the_next_edit_waits_for_the_report_of_the_one_before(tmp_path: Path, fake: FakeProvider) -> None:
    async with asked_to_edit(tmp_path, fake, ("two", "2"), ("2\n", "2\n3\n")) as (documents, asking):
        assert len(documents.client.received(APPROVE)) == 1
        documents.report()
        documents.late = None
        await asking
        assert "-2\n" not in documents.client.received(APPROVE)[1]["shown"]
        assert documents.text(tmp_path / "folder" / "a.py") == "one\n2\n3\n"


async def test_an_editor_that_never_reports_is_not_waited_for_long(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked_to_edit(tmp_path, fake, ("two", "2")) as (_, asking):
        assert not asking.done()
        loop, now = asyncio.get_running_loop(), asyncio.get_running_loop().time
        monkeypatch.setattr(loop, "time", lambda: now() + folder_editor._LATE_S)
        await asking
    assert "Applied in the editor" in fake.requests[-1].body["messages"][-1]["content"]


async def test_a_document_that_is_closed_is_not_waited_for(tmp_path: Path, fake: FakeProvider) -> None:
    async with asked_to_edit(tmp_path, fake, ("two", "2")) as (documents, asking):
        documents.late = None
        documents.close((tmp_path / "folder" / "a.py").as_uri())
        await asking
