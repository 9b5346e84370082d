"""An edit is applied by the editor, to the text the user saw it for, or not at all; the disk is never written."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.services.scripted_editor import SCOPE, ScriptedEditor

from palimpsest.domain.approvals import Answer
from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.edit import EditTool, unified_diff
from palimpsest.services.tools.editors import Change, Editors, Replacement
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.store import open_store


@dataclass
class Desk:
    root: Path
    editors: Editors
    editor: ScriptedEditor
    tool: EditTool

    async def edit(self, path: str, *edits: tuple[str, str], **more: Any) -> str:
        arguments = {"path": path, "edits": [{"old_text": old, "new_text": new} for old, new in edits]} | more
        if not edits:
            del arguments["edits"]
        (tool,) = self.tool(SCOPE)
        assert not tool.is_read_only
        output = await tool.run(json.dumps(arguments))
        assert not output.is_error
        return output.text

    @contextmanager
    def refused(self, match: str) -> Iterator[None]:
        """Nothing is applied, and nobody was asked unless the text says so."""
        n_applied, n_asked = len(self.editor.applied), len(self.editor.asked)
        with pytest.raises(InvalidRequest, match=match) as caught:
            yield
        assert len(self.editor.applied) == n_applied
        assert len(self.editor.asked) == n_asked
        assert "hush" not in str(caught.value), "the text of a file was quoted"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    root = tmp_path / "folder"
    root.mkdir()
    store = await open_store(tmp_path / "store")
    editors, editor, files = Editors(), ScriptedEditor(), WorkspaceFiles(root)
    editors.attach(editor)
    yield Desk(root, editors, editor, EditTool(files, editors, Approvals(store, editors, FolderTrust(True))))
    await store.close()


async def test_the_user_sees_a_diff_and_the_editor_applies_it(desk: Desk) -> None:
    (desk.root / "a.py").write_text("one\ntwo\nthree\n")
    said = await desk.edit("a.py", ("three", "3"), ("one", "1"))
    (request,) = desk.editor.asked
    assert (request.title, request.covers) == ("Change a.py?", "edits of a.py")
    assert request.shown == "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+3\n"
    assert desk.editor.applied == [
        Change("a.py", "one\ntwo\nthree\n", (Replacement(0, 3, "1"), Replacement(8, 13, "3")))
    ]
    assert (desk.root / "a.py").read_text() == "one\ntwo\nthree\n", "the disk was written"
    assert "until the user saves" in said


async def test_what_the_editor_holds_wins_over_the_disk(desk: Desk) -> None:
    (desk.root / "a.py").write_text("disk\n")
    desk.editor.held["a.py"] = "buffer\n"
    with desk.refused("does not stand"):
        await desk.edit("a.py", ("disk", "x"))
    await desk.edit("a.py", ("buffer", "x"))
    assert desk.editor.applied[0].before == "buffer\n"
    desk.editor.held["never saved.py"] = "text\n"
    await desk.edit("never saved.py", ("text", "x"))
    assert desk.editor.applied[1].before == "text\n"


async def test_what_is_to_be_replaced_stands_there_exactly_once(desk: Desk) -> None:
    (desk.root / "a.py").write_text("aaa hush\nb\nb\n")
    for old, match in (("aa", "more than once"), ("b\n", "more than once"), ("x", "does not stand"), ("A", "does not")):
        with desk.refused(f"of edit 2 .*{match}"):
            await desk.edit("a.py", ("hush", "x"), (old, "y"))
    with desk.refused("Edits 1 and 2 overlap"):
        await desk.edit("a.py", ("hush\nb", "x"), ("aaa hush", "y"))
    with desk.refused("change nothing"):
        await desk.edit("a.py", ("hush", "hush"))


async def test_edits_side_by_side_do_not_overlap(desk: Desk) -> None:
    (desk.root / "a.py").write_text("ab")
    await desk.edit("a.py", ("b", "2"), ("a", "1"))
    assert desk.editor.applied[0].replacements == (Replacement(0, 1, "1"), Replacement(1, 2, "2"))


async def test_a_text_that_changed_while_the_user_thought_is_not_edited(desk: Desk) -> None:
    path = desk.root / "a.py"
    path.write_text("one\n")
    desk.editor.meanwhile = lambda: path.write_text("one\nmore\n")
    with pytest.raises(InvalidRequest, match="has changed since"):
        await desk.edit("a.py", ("one", "1"))
    desk.editor.held["a.py"] = "one\n"
    desk.editor.meanwhile = lambda: desk.editor.held.update({"a.py": "one!\n"})
    with pytest.raises(InvalidRequest, match="has changed since"):
        await desk.edit("a.py", ("one", "1"))
    desk.editor.meanwhile = lambda: (desk.root / "b.py").write_text("")
    (desk.root / "b.py").unlink(missing_ok=True)
    with pytest.raises(InvalidRequest, match="has changed since"):
        await desk.edit("b.py", content="text")
    assert desk.editor.applied == []


async def test_the_editors_refusal_is_told_and_so_is_that_it_went_away(desk: Desk) -> None:
    (desk.root / "a.py").write_text("one\n")
    desk.editor.refusal = "It says: wrong version"
    with pytest.raises(InvalidRequest, match="It says: wrong version"):
        await desk.edit("a.py", ("one", "1"))

    def leave() -> None:
        desk.editor.is_gone = True

    desk.editor.meanwhile = leave
    with pytest.raises(InvalidRequest, match="unknown whether"):
        await desk.edit("a.py", ("one", "1"))
    desk.editor.is_gone, desk.editor.meanwhile, desk.editor.answer = False, lambda: None, Answer.DENY
    with pytest.raises(InvalidRequest, match="said no"):
        await desk.edit("a.py", ("one", "1"))
    assert desk.editor.applied == []


async def test_what_facts_follow_is_what_may_have_been_applied(desk: Desk) -> None:
    (desk.root / "a.py").write_text("one\n")
    edits = desk.tool.edits
    desk.editor.refusal = "It says: wrong version"
    with pytest.raises(InvalidRequest, match="wrong version"):
        await desk.edit("a.py", ("one", "1"))
    assert edits.of("a.py") == ()
    desk.editor.refusal = None
    await desk.edit("a.py", ("one", "1"))
    await desk.edit("new.py", content="text\n")
    assert [(each.before, each.after) for each in edits.of("a.py")] == [("one\n", "1\n")]
    assert [(each.before, each.after) for each in edits.of("new.py")] == [(None, "text\n")]


async def test_without_an_editor_that_can_apply_it_nobody_is_asked(desk: Desk) -> None:
    (desk.root / "a.py").write_text("one\n")
    desk.editor.can_apply = False
    with desk.refused("No editor is connected that can apply edits"):
        await desk.edit("a.py", ("one", "1"))
    other = ScriptedEditor()
    desk.editors.attach(other)
    await desk.edit("a.py", ("one", "1"))
    assert len(other.applied) == 1
    desk.editor.held["a.py"] = "one\n"
    n_asked = len(desk.editor.asked)
    with pytest.raises(InvalidRequest, match="is open in an editor that cannot apply"):
        await desk.edit("a.py", ("one", "1"))
    assert (len(other.applied), len(desk.editor.asked)) == (1, n_asked)


async def test_the_editor_that_holds_the_file_applies_it(desk: Desk) -> None:
    other = ScriptedEditor(held={"a.py": "one\n"})
    desk.editors.attach(other)
    (desk.root / "a.py").write_text("one\n")
    await desk.edit("a.py", ("one", "1"))
    assert (len(desk.editor.applied), len(other.applied)) == (0, 1)


async def test_a_new_file_is_given_whole(desk: Desk) -> None:
    await desk.edit("b.py", content="text\n")
    assert desk.editor.applied == [Change("b.py", None, (Replacement(0, 0, "text\n"),))]
    assert desk.editor.asked[0].shown == "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+text\n"
    assert not (desk.root / "b.py").exists(), "the disk was written"
    (desk.root / "a.py").write_text("hush")
    (desk.root / "empty.py").write_text("")
    with desk.refused("exists already"):
        await desk.edit("a.py", content="x")
    with desk.refused("There is no file"):
        await desk.edit("c.py", ("a", "b"))
    await desk.edit("empty.py", content="x")
    assert desk.editor.applied[1].before == ""


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", ".env", "id_rsa", ".git/config", "out/a", "ignored.txt"])
async def test_what_may_not_be_read_may_not_be_edited(desk: Desk, tmp_path: Path, path: str) -> None:
    (tmp_path / "a").write_text("hush")
    (desk.root / ".env").write_text("hush")
    (desk.root / "id_rsa").write_text("hush")
    (desk.root / "ignored.txt").write_text("hush")
    (desk.root / ".gitignore").write_text("ignored.txt")
    (desk.root / "out").symlink_to(tmp_path)
    desk.editor.held.update({path: "hush"})
    with desk.refused(r"\.$"):
        await desk.edit(path, ("hush", "x"))
    with desk.refused(r"\.$"):
        await desk.edit(path, content="x")


async def test_keys_binaries_and_other_encodings_are_not_edited(desk: Desk) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nhush\n"
    (desk.root / "key.txt").write_text(key)
    (desk.root / "binary").write_bytes(b"hush\0")
    (desk.root / "latin.txt").write_bytes("hush é".encode("latin-1"))
    (desk.root / "large.txt").write_text("hush" + " " * 3_000_000)
    (desk.root / "held.txt").write_text("x")
    desk.editor.held["held.txt"] = key
    for path, match in (
        ("key.txt", "private key"),
        ("held.txt", "private key"),
        ("binary", "not UTF-8"),
        ("latin.txt", "not UTF-8"),
        ("large.txt", "too large"),
    ):
        with desk.refused(match):
            await desk.edit(path, ("hush", "x"))
    desk.editor.held["latin.txt"] = "hush é"
    await desk.edit("latin.txt", ("hush", "x"))


async def test_lines_keep_the_ends_the_file_has(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    await desk.edit("a.txt", ("one\ntwo", "1\n2"))
    assert desk.editor.applied[0].replacements == (Replacement(0, 8, "1\r\n2"),)
    assert "⟨" not in desk.editor.asked[0].shown
    (desk.root / "mixed.txt").write_bytes(b"one\r\ntwo\n")
    await desk.edit("mixed.txt", ("two", "2\r"))
    assert "+2⟨U+000D⟩\n" in desk.editor.asked[1].shown


async def test_what_cannot_be_seen_in_an_edit_is_made_visible(desk: Desk) -> None:
    (desk.root / "a.py").write_text("\tif admin:\n")
    await desk.edit("a.py", ("admin", "admin\u2066 # \u202e"))
    assert "+\tif admin⟨U+2066⟩ # ⟨U+202E⟩:\n" in desk.editor.asked[0].shown


text = st.lists(st.sampled_from(("a", "b", "\n", "\r\n", "\r", "\u2028", "é"))).map("".join)


@given(text, text)
def test_a_diff_shows_every_change(before: str, after: str) -> None:
    diff = unified_diff("f", before, after)
    has_plain_ends = all(each.count("\r\n") == each.count("\n") for each in (before, after))
    same = before.replace("\r\n", "\n") == after.replace("\r\n", "\n") if has_plain_ends else before == after
    assert (diff == "") == same
    lines = diff.split("\n")[3:-1]
    removed = sum(line.startswith("-") for line in lines)
    added = sum(line.startswith("+") for line in lines)
    assert added - removed == n_lines(after) - n_lines(before)


def n_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"path": "a"}',
        '{"path": "a", "edits": []}',
        '{"path": "a", "edits": [{"old_text": "x"}]}',
        '{"path": "a", "edits": [{"old_text": "", "new_text": "x"}]}',
        '{"path": "a", "edits": [{"old_text": 1, "new_text": "x"}]}',
        '{"path": "a", "edits": [{"old_text": "x", "new_text": "y", "all": true}]}',
        '{"path": "a", "edits": [{"old_text": "x", "new_text": "y"}], "content": "z"}',
        '{"path": "a", "content": 1}',
        '{"path": 1, "content": "x"}',
        '{"path": "a", "content": "x", "mode": 1}',
        '{"path": "", "content": "x"}',
    ],
)
async def test_arguments_that_cannot_be_meant_are_named(desk: Desk, arguments: str) -> None:
    (tool,) = desk.tool(SCOPE)
    with desk.refused(r"\.$"):
        await tool.run(arguments)
