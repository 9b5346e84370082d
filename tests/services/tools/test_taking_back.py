"""Edits that the user accepted are taken back by the editor, file by file; what was typed since stays, to the
character, and what became of an edit is told by its file, whatever ended in the middle."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.services.scripted_editor import SCOPE
from tests.waiting import WAIT_S

from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.taking_back import ChangeState
from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.facts.accepted_edits import AcceptedEdits
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.current_files import CurrentFiles
from palimpsest.services.tools.edit import EditTool, apply
from palimpsest.services.tools.editors import Change, EditorGone, Editors
from palimpsest.services.tools.taking_back import FileChanges, Outcome
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage import file_changes
from palimpsest.storage.conversation import conversations
from palimpsest.storage.maintenance.health import Verdict, look
from palimpsest.storage.sql import execute
from palimpsest.storage.store import Store, open_store

C, T, NOW = SCOPE.conversation_id, SCOPE.turn_id, "2026-01-01T00:00:00.000Z"


@dataclass(eq=False)
class TypingEditor:
    """An editor that holds documents, in which somebody types, and saves them when it is told to."""

    root: Path
    can_apply: bool = True
    held: dict[str, str] = field(default_factory=dict)
    is_gone: bool = False
    refusal: str | None = None
    before_apply: list[Callable[[], object]] = field(default_factory=list)
    """Each is done once, as an edit comes."""
    after_apply: list[Callable[[], object]] = field(default_factory=list)
    """Each is done once, when an edit was applied and before the answer."""
    undone: list[tuple[str, str | None]] = field(default_factory=list)
    """What its own undo brings back."""

    def open(self, path: str) -> str:
        if path not in self.held:
            self.held[path] = (self.root / path).read_bytes().decode()
        return self.held[path]

    def save(self, path: str) -> None:
        (self.root / path).write_bytes(self.held[path].encode())

    def close(self, path: str) -> None:
        self.save(path)
        del self.held[path]

    def undo(self) -> None:
        path, text = self.undone.pop()
        assert text is not None
        self.held[path] = text

    def texts(self) -> Mapping[str, str]:
        return dict(self.held)

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        return Answer.ONCE

    async def apply(self, change: Change) -> str | None:
        if self.before_apply:
            self.before_apply.pop(0)()
        if self.is_gone:
            raise EditorGone
        if self.refusal is not None:
            return self.refusal
        if change.before is None:
            assert not (self.root / change.path).exists()
            (self.root / change.path).touch()
        before = self.open(change.path)
        if before != (change.before or ""):
            return "The text is another one."
        self.undone.append((change.path, before))
        self.held[change.path] = apply(before, change.replacements)
        if self.after_apply:
            self.after_apply.pop(0)()
        if self.is_gone:
            raise EditorGone
        return None

    async def delete(self, path: str, text: str) -> str | None:
        if self.before_apply:
            self.before_apply.pop(0)()
        if self.is_gone:
            raise EditorGone
        if self.open(path) != text:
            return "The text is another one."
        self.undone.append((path, self.held.pop(path)))
        (self.root / path).unlink()
        return None

    async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        raise AssertionError("nobody calls tools")


@dataclass
class Desk:
    root: Path
    store: Store
    editors: Editors
    editor: TypingEditor
    edits: AcceptedEdits
    changes: FileChanges
    told: list[ConversationId]

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_bytes(text.encode())

    async def edit(self, path: str, *edits: tuple[str, str], content: str | None = None) -> str:
        """An edit of the model that the user accepts; its id."""
        before = await self.ids()
        arguments: dict[str, Any] = {"path": path}
        if content is None:
            arguments["edits"] = [{"old_text": old, "new_text": new} for old, new in edits]
        else:
            arguments["content"] = content
        approvals = Approvals(self.store, self.editors, FolderTrust(True))
        (tool,) = EditTool(self.changes.current.files, self.editors, approvals, self.edits)(SCOPE)
        await tool.run(json.dumps(arguments))
        (change_id,) = [each for each in await self.ids() if each not in before]
        return change_id

    async def ids(self) -> list[str]:
        rows = await self.store.read(lambda: execute("SELECT id FROM file_change ORDER BY number").fetchall())
        return [str(change_id) for (change_id,) in rows]

    async def states(self) -> list[tuple[str, ChangeState, bool]]:
        return [(each.change.path, each.state, each.problem is None) for each in await self.changes.listed(C)]

    async def take_back(self, *ids: str) -> list[Outcome]:
        done = await self.changes.take_back(C, change_ids=ids or None)
        return [each.outcome for each in done]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    root = tmp_path / "folder"
    root.mkdir()
    store = await open_store(tmp_path / "store")

    def begin() -> None:
        conversations.create(C, "", "offline", NOW)
        execute(
            "INSERT INTO turn (id, conversation, request_id, user_message_id, state, model, next_seq, started_at) "
            "VALUES (?, ?, 'r', 0, 'streaming', 'm', 1, ?)",
            *(T, C, NOW),
        )

    await store.run(begin)
    editors, editor, edits, told = Editors(), TypingEditor(root), AcceptedEdits(), list[ConversationId]()
    editors.attach(editor)
    listeners = Listeners()
    listeners.add(lambda event: told.append(event.conversation_id) if isinstance(event, ConversationChanged) else None)
    changes = FileChanges(store, CurrentFiles(WorkspaceFiles(root), editors), edits, listeners)
    yield Desk(root, store, editors, editor, edits, changes, told)
    await store.close()


async def test_an_edit_is_listed_and_taken_back_and_the_editors_undo_brings_it_again(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\n")
    first = await desk.edit("a.py", ("two", "2\n3"))
    (listed,) = await desk.changes.listed(C, T)
    change = listed.change
    assert (change.id, change.path, change.n_added, change.n_removed) == (first, "a.py", 2, 1)
    assert (listed.state, listed.problem) == (ChangeState.APPLIED, None)
    assert await desk.changes.listed(C, TurnId("another")) == []
    assert await desk.take_back(first) == [Outcome.TAKEN_BACK]
    assert desk.editor.held["a.py"] == "one\ntwo\n"
    assert desk.told == [C]
    assert await desk.states() == [("a.py", ChangeState.TAKEN_BACK, True)]
    assert await desk.take_back() == [Outcome.AS_BEFORE]
    desk.editor.undo()
    assert await desk.states() == [("a.py", ChangeState.APPLIED, True)]
    assert await desk.take_back() == [Outcome.TAKEN_BACK]
    assert (desk.root / "a.py").read_text() == "one\ntwo\n", "the disk was written"


async def test_what_was_typed_stays_and_what_was_typed_over_is_refused_file_by_file(desk: Desk) -> None:
    for path in ("a.py", "b.py"):
        desk.write(path, "one\ntwo\nthree\n")
        await desk.edit(path, ("two", "2"))
    desk.editor.held["a.py"] += "mine\n"
    desk.editor.held["b.py"] = "one\n2 or so\nthree\n"
    assert await desk.states() == [("a.py", ChangeState.APPLIED, True), ("b.py", ChangeState.APPLIED, False)]
    done = await desk.changes.take_back(C)
    assert [each.outcome for each in done] == [Outcome.TAKEN_BACK, Outcome.REFUSED]
    assert "Compare the texts" in (done[1].problem or "")
    assert desk.editor.held == {"a.py": "one\ntwo\nthree\nmine\n", "b.py": "one\n2 or so\nthree\n"}
    texts = await desk.changes.texts(C, done[1].change_ids)
    assert (texts.before, texts.after, texts.now) == ("one\ntwo\nthree\n", "one\n2\nthree\n", "one\n2 or so\nthree\n")


async def test_a_later_edit_of_the_same_lines_is_named(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\nthree\n")
    first = await desk.edit("a.py", ("two", "2"))
    second = await desk.edit("a.py", ("2", "2 and more"))
    listed = await desk.changes.listed(C)
    assert [each.state for each in listed] == [ChangeState.APPLIED] * 2
    assert ["later edit" in (each.problem or "") for each in listed] == [True, False]
    (refused,) = await desk.changes.take_back(C, change_ids=[first])
    assert refused.outcome is Outcome.REFUSED
    assert "later edit" in (refused.problem or "")
    assert await desk.take_back(first, second) == [Outcome.TAKEN_BACK]
    assert desk.editor.held["a.py"] == "one\ntwo\nthree\n"


async def test_a_file_that_an_edit_made_is_removed_unless_it_was_changed(desk: Desk) -> None:
    made = await desk.edit("new.py", content="text\n")
    desk.editor.held["new.py"] = "text\nmine\n"
    (refused,) = await desk.changes.take_back(C)
    assert refused.outcome is Outcome.REFUSED
    assert "is not removed" in (refused.problem or "")
    desk.editor.held["new.py"] = "text\n"
    assert await desk.take_back(made) == [Outcome.TAKEN_BACK]
    assert not (desk.root / "new.py").exists()
    assert await desk.states() == [("new.py", ChangeState.TAKEN_BACK, True)]


@pytest.mark.parametrize("what", ["deleted", "renamed", "its folder deleted", "a link", "ignored"])
async def test_a_file_that_is_gone_is_refused(desk: Desk, what: str) -> None:
    (desk.root / "sub").mkdir()
    path = "sub/a.py"
    desk.write(path, "one\ntwo\n")
    await desk.edit(path, ("two", "2"))
    desk.editor.close(path)
    place = desk.root / path
    text = place.read_text()
    if what == "renamed":
        place.rename(desk.root / "b.py")
    elif what == "ignored":
        (desk.root / ".gitignore").write_text("sub/\n")
    else:
        place.unlink()
    if what == "its folder deleted":
        place.parent.rmdir()
    if what == "a link":
        (desk.root / "b.py").write_text(text)
        place.symlink_to(desk.root / "b.py")
    assert await desk.take_back() == [Outcome.REFUSED]
    assert (await desk.changes.listed(C))[0].problem
    for left in desk.root.rglob("*.py"):
        assert left.read_text() == text


async def test_somebody_types_at_every_moment_in_between(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\nthree\n")
    await desk.edit("a.py", ("two", "2"))

    def type_on() -> None:
        desk.editor.held["a.py"] += "mine\n"

    desk.editor.before_apply = [type_on, type_on]
    assert await desk.take_back() == [Outcome.TAKEN_BACK]
    assert desk.editor.held["a.py"] == "one\ntwo\nthree\nmine\nmine\n"
    desk.editor.undo()
    desk.editor.before_apply = [type_on] * 5
    (refused,) = await desk.changes.take_back(C)
    assert refused.outcome is Outcome.REFUSED
    assert "2" in desk.editor.held["a.py"]


async def test_without_an_editor_that_can_nothing_happens(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\n")
    await desk.edit("a.py", ("two", "2"))
    desk.editor.can_apply = False
    assert await desk.take_back() == [Outcome.REFUSED]
    desk.editor.can_apply, desk.editor.refusal = True, "It is read-only."
    (refused,) = await desk.changes.take_back(C)
    assert (refused.outcome, refused.problem) == (Outcome.REFUSED, "It is read-only.")


@pytest.mark.parametrize("is_applied", [True, False])
async def test_an_editor_that_goes_away_in_between_leaves_what_its_file_tells(desk: Desk, is_applied: bool) -> None:
    desk.write("a.py", "one\ntwo\n")
    editor = desk.editor

    def leave() -> None:
        editor.is_gone = True

    for _ in range(2):  # once for the edit, once for taking it back
        editor.is_gone = False
        setattr(editor, "after_apply" if is_applied else "before_apply", [leave])
        if not await desk.states():
            with pytest.raises(InvalidRequest, match="unknown whether"):
                await desk.edit("a.py", ("two", "2"))
            stands = is_applied
        else:
            (done,) = await desk.changes.take_back(C)
            assert done.outcome is (Outcome.UNKNOWN if stands else Outcome.AS_BEFORE)
            stands = stands and not is_applied
        expected = ChangeState.APPLIED if stands else ChangeState.TAKEN_BACK
        assert await desk.states() == [("a.py", expected, True)]


async def test_of_an_edit_that_was_only_asked_for_the_file_tells_what_became_of_it(desk: Desk) -> None:
    """As after a server that was killed between the row and the answer."""
    for path, now in (("a.py", "one\n2\nmine\n"), ("b.py", "one\ntwo\nmine\n"), ("c.py", "other\n")):
        desk.write(path, now)
        change = file_changes.NewChange(path, T, path, "one\ntwo\n", "one\n2\n", 1, 1)
        await desk.store.run(file_changes.begin, change, "2099-01-01T00:00:00.000Z")
    assert await desk.states() == [
        ("a.py", ChangeState.APPLIED, True),
        ("b.py", ChangeState.TAKEN_BACK, True),
        ("c.py", ChangeState.ASKED, False),
    ]
    assert await desk.take_back() == [Outcome.TAKEN_BACK, Outcome.AS_BEFORE, Outcome.REFUSED]
    assert desk.editor.held == {"a.py": "one\ntwo\nmine\n"}


async def test_what_was_refused_or_said_no_to_is_not_kept(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\n")
    desk.editor.refusal = "no"
    with pytest.raises(InvalidRequest):
        await desk.edit("a.py", ("two", "2"))
    assert await desk.states() == []
    assert await desk.store.read(lambda: execute("SELECT COUNT(*) FROM content").fetchone()) == (0,)


async def test_the_doctor_finds_no_fault_in_kept_edits_and_sees_a_changed_text(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\n")
    await desk.edit("a.py", ("two", "2"))
    await desk.edit("new.py", content="text")

    def verdicts() -> dict[str, Verdict]:
        return {each.check: each.verdict for each in look(desk.store.directory, lambda _: True)}

    sound = await asyncio.to_thread(verdicts)
    assert {sound[name] for name in ("schema", "references", "contents", "unused contents")} == {Verdict.OK}
    await desk.store.run(
        execute, "UPDATE content SET bytes = x'00' WHERE digest = (SELECT MIN(after) FROM file_change)"
    )
    assert (await asyncio.to_thread(verdicts))["contents"] is Verdict.PROBLEM
    (damaged,) = [each for each in await desk.changes.listed(C) if each.problem is not None]
    assert "no longer kept" in (damaged.problem or "")


async def test_two_takings_back_at_once_take_back_once(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\n")
    await desk.edit("a.py", ("two", "2"))
    both = await asyncio.wait_for(asyncio.gather(desk.take_back(), desk.take_back()), WAIT_S)
    assert sorted(outcome.name for (outcome,) in both) == ["AS_BEFORE", "TAKEN_BACK"]
    assert desk.editor.held["a.py"] == "one\ntwo\n"


async def test_of_two_editors_the_one_that_holds_the_file_changes_it(desk: Desk) -> None:
    other = TypingEditor(desk.root)
    desk.editors.attach(other)
    desk.write("a.py", "one\ntwo\n")
    await desk.edit("a.py", ("two", "2"))
    desk.editor.close("a.py")
    other.open("a.py")
    assert await desk.take_back() == [Outcome.TAKEN_BACK]
    assert (other.held, desk.editor.held) == ({"a.py": "one\ntwo\n"}, {})
    other.undo()
    desk.editor.open("a.py")
    other.held["a.py"] += "mine\n"
    (refused,) = await desk.changes.take_back(C)
    assert "two editors" in (refused.problem or "")
    with pytest.raises(InvalidRequest, match="two editors"):
        await desk.changes.texts(C, refused.change_ids)
    other.close("a.py")
    desk.editor.held.clear()
    done = await desk.changes.take_back(C, other)
    assert done[0].outcome is Outcome.TAKEN_BACK
    assert (other.held, desk.editor.held) == ({"a.py": "one\ntwo\nmine\n"}, {}), "the editor that asked is preferred"


async def test_a_purge_while_an_edit_is_taken_back(desk: Desk) -> None:
    desk.write("a.py", "one\ntwo\n")
    change_id = await desk.edit("a.py", ("two", "2"))
    purges: list[asyncio.Task[None]] = []

    def purge() -> None:
        purges.append(asyncio.create_task(desk.store.run(file_changes.drop, change_id)))

    desk.editor.before_apply = [purge]
    assert await desk.take_back(change_id) == [Outcome.TAKEN_BACK]
    await asyncio.gather(*purges)
    assert await desk.states() == []
    with pytest.raises(NotFound):
        await desk.take_back(change_id)


async def test_what_is_kept_is_bounded_by_time_and_room(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(name: str, text: str) -> file_changes.NewChange:
        return file_changes.NewChange(name, T, name, None, text, 1, 0)

    monkeypatch.setattr(file_changes, "MOST_BYTES", 100)
    for day, name in ((1, "a"), (20, "b"), (25, "c")):
        await desk.store.run(file_changes.begin, change(name, name * 30), f"2026-01-{day:02}T00:00:00.000Z")
    assert await desk.ids() == ["a", "b", "c"]
    await desk.store.run(file_changes.begin, change("d", "d" * 30), "2026-02-05T00:00:00.000Z")
    assert await desk.ids() == ["b", "c", "d"]
    await desk.store.run(file_changes.begin, change("e", "e" * 30), "2026-02-05T00:00:00.000Z")
    assert await desk.ids() == ["c", "d", "e"]
    await desk.store.run(file_changes.begin, change("f", "f" * 300), "2026-02-05T00:00:00.000Z")
    assert await desk.ids() == ["f"]
    assert await desk.store.read(lambda: execute("SELECT COUNT(*) FROM content").fetchone()) == (1,)


ENDS = {"lf": "\n", "crlf": "\r\n"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("at_once", [True, False])
async def test_thirty_edits_over_ten_files_with_typing_in_between_lose_no_character(
    desk: Desk, seed: int, at_once: bool
) -> None:
    """What is typed is of letters that occur nowhere else, so each can be looked for. The name of a failed test
    says its seed."""
    rng = random.Random(seed)
    editor, typed = desk.editor, dict[str, list[str]]()
    paths = [f"{number}.py" for number in range(10)]
    n_typed = 0

    def type_somewhere(path: str) -> None:
        nonlocal n_typed
        if path not in editor.held:
            return
        text = editor.held[path]
        at = rng.randrange(len(text) + 1)
        if text[at - 1 : at + 1] == "\r\n":  # an editor has one character there
            at -= 1
        word = "".join(chr(0x4E00 + n_typed + n) for n in range(rng.randrange(1, 5)))
        n_typed += len(word)
        typed.setdefault(path, []).extend(word)
        end = "\r\n" if "\r\n" in text else "\n"
        editor.held[path] = f"{text[:at]}{rng.choice(['', end])}{word}{rng.choice(['', end])}{text[at:]}"

    def something_happens() -> None:
        path = rng.choice(paths)
        for _ in range(rng.randrange(3)):
            type_somewhere(path)
        if path in editor.held and rng.random() < 0.3:
            (editor.save if rng.random() < 0.5 else editor.close)(path)

    for number, path in enumerate(paths):
        end = "\r\n" if number % 3 == 0 else "\n"
        text = end.join(f"line {n} of {path}" for n in range(40)) + ("" if number % 4 == 1 else end)
        if number != 9:
            desk.write(path, text)
    ids: list[str] = []
    for number in range(30):
        path = paths[number % 10]
        try:
            if path == "9.py" and number == 9:
                ids.append(await desk.edit(path, content="".join(f"line {n} of {path}\n" for n in range(40))))
            else:
                line = f"line {rng.randrange(10) * 4 + number // 10} of {path}"
                ids.append(await desk.edit(path, (line, f"edited {number}\n" * rng.randrange(3) + "done")))
        except InvalidRequest:  # somebody typed in the line, or an edit took it
            pass
        something_happens()
    assert len(ids) > 20
    untouched = {path for path in paths if path not in typed}
    listed = {each.change.id: each for each in await desk.changes.listed(C)}
    assert set(listed) == set(ids)
    outcomes: list[Outcome] = []
    if at_once:
        editor.before_apply = [something_happens for _ in range(40)]
        outcomes += [each.outcome for each in await desk.changes.take_back(C)]
    else:
        for change_id in rng.sample(ids, len(ids)):
            outcomes += await desk.take_back(change_id)
            something_happens()
    assert Outcome.TAKEN_BACK in outcomes
    for path in paths:
        if not (desk.root / path).exists():
            assert path not in typed
            continue
        now = editor.open(path)
        assert sorted(each for each in now if each >= "\u4e00") == sorted(typed.get(path, []))
        if path in untouched and path not in typed and path != "9.py":
            left = [each for each in await desk.changes.listed(C) if each.change.path == path]
            if all(each.state is ChangeState.TAKEN_BACK for each in left):
                assert "edited" not in now
                assert [line for line in now.split() if line == "of"] == ["of"] * 40
