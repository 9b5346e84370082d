"""Nothing is done that the user did not want: they are shown exactly what would happen, an answer that is kept covers
what it said and no more, and nobody there to ask means no."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.services.scripted_editor import SCOPE, ScriptedEditor
from tests.waiting import WAIT_S

from palimpsest.domain.approvals import (
    Answer,
    ApprovalRequest,
    command_request,
    edit_request,
    editor_tool_request,
    show_command,
    visible,
)
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.tools.approvals import MAX_SHOWN_CHARACTERS, Approvals
from palimpsest.services.tools.editors import Editors, EditorTool
from palimpsest.services.tools.from_editor import EditorTools, check_together, to_editor_tool
from palimpsest.services.tools.toolbox import Toolbox
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage.store import open_store


@dataclass
class Desk:
    approvals: Approvals
    editors: Editors
    trust: FolderTrust

    def attach(self, **script: object) -> ScriptedEditor:
        editor = ScriptedEditor(**script)  # type: ignore[arg-type]
        self.editors.attach(editor)
        return editor

    async def allows(self, request: ApprovalRequest) -> bool:
        try:
            await asyncio.wait_for(self.approvals.require(SCOPE, request), WAIT_S)
        except InvalidRequest:
            return False
        return True


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = await open_store(tmp_path / "store")
    editors, trust = Editors(), FolderTrust(True)
    yield Desk(Approvals(store, editors, trust), editors, trust)
    await store.close()


def command(*words: str, cwd: str = ".") -> ApprovalRequest:
    return command_request(words, cwd, 60)


# ------------------------------------------------------------------------------------------------------ what is shown

SPECIAL = "\u202e\u202d\u2066\u2069\u200b\u200d\u00ad\ufeff\u3164\u2800\u115f\ufe0f\u034f\x1b\x00\r\n\t\x7f\x9b\u2028"
words = st.lists(st.text(st.characters() | st.sampled_from(SPECIAL + "⟨⟩ '\"\\$;U+0E")), min_size=1, max_size=4)


@given(words, words)
def test_two_commands_that_differ_are_never_shown_alike(one: list[str], other: list[str]) -> None:
    assert (show_command(one) == show_command(other)) == (one == other)


@given(st.text(), st.text())
@example("\u202e", "⟨U+202E⟩")
def test_what_a_mark_stands_for_cannot_be_spelled_out(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)


@given(words)
def test_no_character_that_cannot_be_seen_survives(command: list[str]) -> None:
    shown = show_command(command)
    assert not set(shown) & set(SPECIAL)
    assert {unicodedata.category(each) for each in shown if each != " "}.isdisjoint(
        ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs")
    )


def test_a_reversed_text_is_shown_as_it_is() -> None:
    assert show_command(["rm", "photo\u202egnp.exe"]) == "rm 'photo⟨U+202E⟩gnp.exe'"
    assert visible("a\tb\r\nc", keep="\n\t") == "a\tb⟨U+000D⟩\nc"


def test_titles_and_what_is_covered_stay_on_one_line_and_are_visible() -> None:
    for request in (
        command("ls", cwd="a\u202eb"),
        edit_request("a\u202eb", ""),
        editor_tool_request("tool\n", "{}"),
    ):
        assert "\u202e" not in request.title + request.covers
        assert "\n" not in request.title + request.covers


# ------------------------------------------------------------------------------------------------- what a rule covers


async def test_always_covers_the_same_beginning_of_a_command_in_the_same_folder(desk: Desk) -> None:
    editor = desk.attach(answer=Answer.ALWAYS)
    assert await desk.allows(command("git", "status"))
    editor.answer = Answer.DENY
    assert await desk.allows(command("git", "status"))
    assert await desk.allows(command("git", "status", "--short"))
    assert len(editor.asked) == 1, "a kept answer is not asked for again"
    for other in (
        command("git", "push"),
        command("git"),
        command("git", "status; rm"),
        command("git status"),
        command("git", "status", cwd="sub"),
        command("./git", "status"),
        edit_request("git", ""),
    ):
        assert not await desk.allows(other), other


@pytest.mark.parametrize(
    "words",
    [
        ("bash", "-c", "ls"),
        ("/bin/sh", "x.sh"),
        ("C:\\Windows\\System32\\CMD.EXE", "/c", "dir"),
        ("zsh-5.9", "-c", "ls"),
        ("env", "ls"),
        ("sudo", "ls"),
        ("xargs", "ls"),
        ("find", ".", "-name", "x"),
        ("python",),
        ("python3.11", "-c", "print()"),
        ("python3", "-m"),
        ("python3", "-Ic", "print()"),
        ("node", "-e", "1"),
        ("perl", "-e", "1"),
        ("deno", "eval", "1"),
        ("sed", "1e ls"),
    ],
)
async def test_always_never_covers_what_runs_anything_it_is_given(desk: Desk, words: tuple[str, ...]) -> None:
    editor = desk.attach(answer=Answer.ALWAYS)
    assert not command(*words).may_be_always
    assert await desk.allows(command(*words))
    editor.answer = Answer.DENY
    assert not await desk.allows(command(*words)), "it was kept"
    assert await desk.approvals.rules() == []


@pytest.mark.parametrize(
    "words", [("pytest", "-q"), ("python", "-m", "pytest"), ("node", "build.js"), ("make",), ("7z", "l", "a.7z")]
)
def test_a_program_with_a_purpose_may_always_run(words: tuple[str, ...]) -> None:
    assert command(*words).may_be_always


async def test_never_covers_shells_too_and_wins_over_always(desk: Desk) -> None:
    editor = desk.attach(answer=Answer.NEVER)
    assert not await desk.allows(command("bash", "-c", "rm x"))
    assert not await desk.allows(command("make", "install"))
    editor.answer = Answer.ALWAYS
    assert await desk.allows(command("make"))
    assert not await desk.allows(command("bash", "-c", "rm x"))
    assert not await desk.allows(command("make", "install", "x"))
    assert await desk.allows(command("make", "test"))
    assert len(editor.asked) == 3


async def test_always_covers_edits_of_one_file_and_every_call_of_an_editors_tool(desk: Desk) -> None:
    editor = desk.attach(answer=Answer.ALWAYS)
    assert await desk.allows(edit_request("a.py", "x"))
    assert await desk.allows(editor_tool_request("editor_format", "{}"))
    editor.answer = Answer.DENY
    assert await desk.allows(edit_request("a.py", "y"))
    assert not await desk.allows(edit_request("a.py.bak", "y"))
    assert await desk.allows(editor_tool_request("editor_format", '{"x": 1}'))
    assert not await desk.allows(editor_tool_request("editor_format2", "{}"))


async def test_a_kept_answer_outlives_the_store_and_is_asked_again_once_revoked(tmp_path: Path) -> None:
    editors = Editors()
    editor = ScriptedEditor(Answer.ALWAYS)
    editors.attach(editor)
    for _ in range(2):
        store = await open_store(tmp_path)
        approvals = Approvals(store, editors, FolderTrust(True))
        await approvals.require(SCOPE, command("make", "test"))
        (kept,) = await approvals.rules()
        await store.close()
    assert len(editor.asked) == 1
    store = await open_store(tmp_path)
    approvals = Approvals(store, editors, FolderTrust(True))
    await approvals.revoke(kept.number)
    with pytest.raises(NotFound):
        await approvals.revoke(kept.number)
    await approvals.require(SCOPE, command("make", "test"))
    assert len(editor.asked) == 2
    assert [each.number for each in await approvals.rules()] == [kept.number + 1], "numbers are not used again"
    await store.close()


async def test_a_later_answer_replaces_the_earlier_one(desk: Desk) -> None:
    editor = desk.attach(answer=Answer.ALWAYS)
    await desk.allows(command("make"))
    (kept,) = await desk.approvals.rules()
    await desk.approvals.revoke(kept.number)
    editor.answer = Answer.NEVER
    await desk.allows(command("make"))
    assert [each.rule.answer for each in await desk.approvals.rules()] == [Answer.NEVER]


# --------------------------------------------------------------------------------------------------------- who is asked


async def test_nobody_who_can_be_asked_means_no(desk: Desk) -> None:
    with pytest.raises(InvalidRequest, match="No editor is connected"):
        await desk.approvals.require(SCOPE, command("make"))
    desk.attach(answer=None)
    desk.attach(is_gone=True)
    with pytest.raises(InvalidRequest, match="No editor is connected"):
        await desk.approvals.require(SCOPE, command("make"))


@pytest.mark.parametrize(("answer", "is_allowed"), [(Answer.ONCE, True), (Answer.DENY, False)])
async def test_the_first_of_several_editors_answers_and_the_others_stop_asking(
    desk: Desk, answer: Answer, is_allowed: bool
) -> None:
    slow = desk.attach(gate=asyncio.Event(), answer=Answer.ALWAYS)
    cannot = desk.attach(answer=None)
    quick = desk.attach(answer=answer)
    assert await desk.allows(command("make")) is is_allowed
    assert (len(slow.asked), len(cannot.asked), len(quick.asked)) == (1, 1, 1)
    assert slow.n_withdrawn == 1
    assert await desk.approvals.rules() == []


async def test_a_cancel_ends_the_wait_and_takes_the_question_back(desk: Desk) -> None:
    editor = desk.attach(gate=asyncio.Event())
    waiting = asyncio.create_task(desk.approvals.require(SCOPE, command("make")))
    await asyncio.wait_for(editor.is_asked.wait(), WAIT_S)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert editor.n_withdrawn == 1


async def test_what_is_too_much_to_show_is_not_asked(desk: Desk) -> None:
    editor = desk.attach()
    assert not await desk.allows(edit_request("a", "x" * (MAX_SHOWN_CHARACTERS + 1)))
    assert editor.asked == []


async def test_without_trust_nothing_is_asked_and_no_rule_counts(desk: Desk) -> None:
    editor = desk.attach(answer=Answer.ALWAYS)
    assert await desk.allows(command("make"))
    desk.trust.is_trusted = False
    assert not await desk.allows(command("make"))
    assert len(editor.asked) == 1


async def test_trust_that_is_taken_back_while_the_user_thinks_counts(desk: Desk) -> None:
    def distrust() -> None:
        desk.trust.is_trusted = False

    desk.attach(meanwhile=distrust)
    assert not await desk.allows(command("make"))


# ------------------------------------------------------------------------------------------------------- editors' tools


def tool(name: str, *, is_read_only: bool = False) -> EditorTool:
    return to_editor_tool(name, "Does it.", {}, is_read_only=is_read_only)


async def test_an_editors_tool_that_changes_something_is_run_after_approval(desk: Desk) -> None:
    editor = desk.attach()
    desk.editors.bring(editor, [tool("format"), tool("symbols", is_read_only=True)])
    offered = {each.schema.name: each for each in EditorTools(desk.editors, desk.approvals)(SCOPE)}
    assert {name: each.is_read_only for name, each in offered.items()} == {
        "editor_format": False,
        "editor_symbols": True,
    }
    assert (await offered["editor_symbols"].run("")).text == "done"
    assert editor.asked == []
    assert (await offered["editor_format"].run('{"path": "a\\u202eb"}')).text == "done"
    assert json.loads(editor.asked[0].shown.replace("⟨U+202E⟩", "\u202e")) == {"path": "a\u202eb"}
    assert editor.ran == [("symbols", {}), ("format", {"path": "a\u202eb"})]
    editor.answer = Answer.DENY
    with pytest.raises(InvalidRequest, match="said no"):
        await offered["editor_format"].run("{}")
    with pytest.raises(InvalidRequest, match="JSON"):
        await offered["editor_format"].run("[1]")
    assert len(editor.ran) == 2


async def test_an_untrusted_folder_is_offered_only_what_reads(desk: Desk) -> None:
    editor = desk.attach()
    desk.editors.bring(editor, [tool("format"), tool("symbols", is_read_only=True)])
    toolbox = Toolbox((EditorTools(desk.editors, desk.approvals),), lambda: desk.trust.is_trusted)
    assert [each.name for each in toolbox.schemas()] == ["editor_format", "editor_symbols"]
    desk.trust.is_trusted = False
    assert [each.name for each in toolbox.schemas()] == ["editor_symbols"]


async def test_tools_go_with_their_editor_and_come_from_the_one_that_is_left(desk: Desk) -> None:
    first, second = ScriptedEditor(), ScriptedEditor()
    leave = desk.editors.attach(first, [tool("format"), tool("only")])
    desk.editors.attach(second, [tool("format")])
    make = EditorTools(desk.editors, desk.approvals)
    before = {each.schema.name: each for each in make(SCOPE)}
    leave()
    assert [each.schema.name for each in make(SCOPE)] == ["editor_format"]
    assert (await before["editor_format"].run("{}")).text == "done"
    assert (len(first.ran), len(second.ran)) == (0, 1)
    with pytest.raises(InvalidRequest, match="has left"):
        await before["editor_only"].run("{}")
    second.is_gone = True
    desk.attach()
    output = await before["editor_format"].run("{}")
    assert output.is_error
    assert "unknown whether the tool took effect" in output.text


async def test_a_tool_that_calls_itself_reading_later_is_not_run_as_if_it_had_before(desk: Desk) -> None:
    editor = desk.attach()
    desk.editors.bring(editor, [tool("x", is_read_only=True)])
    (before,) = EditorTools(desk.editors, desk.approvals)(SCOPE)
    desk.editors.bring(editor, [tool("x")])
    with pytest.raises(InvalidRequest):
        await before.run("{}")
    assert editor.ran == []


@pytest.mark.parametrize("name", ["", "a b", "a" * 58, "ü", "a.b", "a\n"])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="name has"):
        tool(name)


def test_declarations_that_cannot_be_offered_are_refused() -> None:
    with pytest.raises(InvalidRequest, match='type is "object"'):
        to_editor_tool("a", "", {"type": "array"}, is_read_only=True)
    with pytest.raises(InvalidRequest, match="longer than"):
        to_editor_tool("a", "x" * 20_000, {}, is_read_only=True)
    with pytest.raises(InvalidRequest, match="2 tools are called 'a'"):
        check_together([tool("a"), tool("b"), tool("a")])
    with pytest.raises(InvalidRequest, match="may bring at most 64"):
        check_together([tool(f"a{number}") for number in range(65)])
    check_together([])
    assert tool("run_command").schema == ToolSchema(
        "editor_run_command", "Does it.", {"type": "object", "properties": {}}
    )
