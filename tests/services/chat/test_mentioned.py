"""What a message mentions is attached, by the rules for tools, once, and in every editor alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.services.scripted import Bench, Opener
from tests.services.scripted_editor import SCOPE, ScriptedEditor

from palimpsest.services.chat.attachments import FileAttachment, Snapshot, take_snapshots
from palimpsest.services.chat.mentioned import (
    MAX_MENTIONS,
    Mentioning,
    mention_of,
    mentioned,
    names_in,
    without_code,
)
from palimpsest.services.chat.mentioned_places import MAX_TERMINAL
from palimpsest.services.chat.mentions import Mentions
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.from_editor import EditorTools, to_editor_tool
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope
from palimpsest.services.workspace.files import Place, WorkspaceFiles
from palimpsest.services.workspace.texts import WorkspaceTexts


async def of_folder(bench: Opener) -> Bench:
    b = await bench([])
    root = b.session.folder.root
    for path, text in {
        "src/app.py": "one\ntwo\nthree\nfour\n",
        "my notes.md": "notes\n",
        ".env": "KEY=zqxsecret\n",
        "a:7": "odd\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return b


async def taken(
    b: Bench, message: str, unsaved: Mapping[str, str] | None = None, attached: tuple[Snapshot, ...] = ()
) -> list[Snapshot]:
    texts = WorkspaceTexts(WorkspaceFiles(b.session.folder.root), unsaved or {})
    return list((await mentioned(Mentioning(b.session.folder, texts, message, attached))).snapshots)


def labels(found: list[Snapshot]) -> list[str]:
    return [each.label for each in found]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("See @src/app.py, please", ["src/app.py"]),
        ("(@src/app.py:2-3)", ["src/app.py:2-3"]),
        ("@src/app.py:2.", ["src/app.py:2-2"]),
        ('@"my notes.md" and @"my notes.md:1"', ["my notes.md", "my notes.md:1-1"]),
        ("@a:7 is a file of that name", ["a:7"]),
        ("@src/app.py @src/app.py", ["src/app.py"]),
        ("me@src/app.py", []),
        ("@decorator @.env @../else.txt @.env:1 @gone.py:3", []),
    ],
)
async def test_files_and_lines(bench: Opener, message: str, expected: list[str]) -> None:
    b = await of_folder(bench)
    assert labels(await taken(b, message)) == expected


@pytest.mark.parametrize(
    ("message", "remark"),
    [
        (
            "See @src/ap.py, please",
            "There is no 'src/ap.py' in this folder, so nothing is attached. Did you mean @src/",
        ),
        ("See @ap.py:3", "There is no 'ap.py' in this folder, so nothing is attached. Did you mean @src/app.py?"),
        ("See @other.py", "There is no 'other.py' in this folder, so nothing is attached."),
        ("See @src/x/y", "There is no 'src/x/y' in this folder, so nothing is attached."),
        ("See @src", "@src is a folder, and nothing of it is attached: @src/ attaches it."),
        ("See @.env", "@.env is not attached: '.env' "),
        ("See @../outside.txt", None),
        ("See @.env.gone", None),
        ("@decorator, @types/node, @app.route(x) and `@src/ap.py`", None),
        ("@src/app.py @src/", None),
    ],
)
async def test_a_mention_that_reads_like_a_file_and_is_none_is_told(
    bench: Opener, message: str, remark: str | None
) -> None:
    b = await of_folder(bench)
    texts = WorkspaceTexts(WorkspaceFiles(b.session.folder.root), {})
    found = (await mentioned(Mentioning(b.session.folder, texts, message))).remarks
    assert len(found) == (remark is not None)
    assert "".join(found).startswith(remark or "")


@pytest.mark.parametrize(
    ("mention", "problem"),
    [("@src/app.py:9", "has only 4 lines, so line 9 cannot be attached"), ("@src/app.py:3-2", "are not a range")],
)
async def test_lines_that_a_file_has_not_are_a_problem_of_the_message(
    bench: Opener, mention: str, problem: str
) -> None:
    (found,) = await taken(await of_folder(bench), mention)
    assert problem in (found.problem or "")


async def test_lines_are_those_that_the_editor_holds(bench: Opener) -> None:
    b = await of_folder(bench)
    (found,) = await taken(b, "@src/app.py:1-2", {"src/app.py": "unsaved\nalso\nmore\n"})
    assert found.parts[0].text == "unsaved\nalso\n"


async def test_what_is_attached_already_is_not_attached_again(bench: Opener) -> None:
    b = await of_folder(bench)
    texts = WorkspaceTexts(WorkspaceFiles(b.session.folder.root), {})
    attached = await take_snapshots(texts, [FileAttachment("src/app.py", 2, 3), FileAttachment("my notes.md")])
    assert await taken(b, '@src/app.py @src/app.py:2-3 @"my notes.md"', attached=tuple(attached)) == []


async def test_only_the_first_mentions_count(bench: Opener) -> None:
    b = await of_folder(bench)
    for n in range(MAX_MENTIONS + 3):
        (b.session.folder.root / f"f{n}").write_text("x")
    assert len(await taken(b, " ".join(f"@f{n}" for n in range(MAX_MENTIONS + 3)))) == MAX_MENTIONS


# Folders


async def test_a_folder_is_listed_with_its_small_files_and_what_is_left_out_is_told(bench: Opener) -> None:
    b = await of_folder(bench)
    root = b.session.folder.root
    (root / "src/large.txt").write_text("x" * 20_000)
    (root / "src/picture.bin").write_bytes(b"\0" * 10)
    (root / "src/.env").write_text("KEY=zqxsecret")
    (found,) = await taken(b, "See @src/")
    assert found.label == "src/"
    assert [part.label for part in found.parts] == ["src/", "src/app.py"]
    listing = found.parts[0].text
    assert "src/large.txt (20,000 bytes)" in listing
    assert "1 file too large for this message" in listing
    assert "1 file not readable as text" in listing
    assert "secret" not in repr(found)
    assert await taken(b, "@nowhere/ @../ @src/app.py/ @.git/") == []


async def test_a_folder_takes_a_small_part_of_a_small_window(bench: Opener) -> None:
    b = await of_folder(bench)
    for n in range(9):
        (b.session.folder.root / f"src/f{n}.txt").write_text("x" * 1_000)
    texts = WorkspaceTexts(WorkspaceFiles(b.session.folder.root), {})
    (found,) = (await mentioned(Mentioning(b.session.folder, texts, "@src/", (), 16_384))).snapshots
    assert sum(len(part.text) for part in found.parts[1:]) <= 3 * 16_384 // 16
    assert len(found.parts) > 2
    assert "too large for this message" in found.parts[0].text


async def test_the_files_of_a_folder_are_read_without_listing_it_for_each(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await of_folder(bench)
    for n in range(50):
        (b.session.folder.root / f"src/f{n:02}.txt").write_text("x")
    located, locate = list[str](), WorkspaceFiles.locate

    def noted(files: WorkspaceFiles, path: str) -> Place:
        located.append(path)
        return locate(files, path)

    monkeypatch.setattr(WorkspaceFiles, "locate", noted)
    (found,) = await taken(b, "@src/", {"src/f00.txt": "unsaved\n", "src/f01.txt": "x" * 20_000})
    assert len(located) < 5
    assert [part.text for part in found.parts if part.label == "src/f00.txt"] == ["unsaved\n"]
    assert all(part.label != "src/f01.txt" for part in found.parts), "what an editor holds has a bound too"
    assert len(found.parts) == 51


# Symbols and problems


class Editor(ScriptedEditor):
    """An editor whose language tools answer."""

    said: Mapping[str, str]

    async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput(self.said[name])


def attach(b: Bench, **said: str) -> None:
    editor = Editor()
    editor.said = said
    tools = [to_editor_tool(name, "It tells.", {}, is_read_only=True) for name in said]
    b.session.folder.editors.attach(editor, tools)


async def test_a_symbol_is_found_by_the_form_of_its_definition(bench: Opener) -> None:
    b = await of_folder(bench)
    code = "class Pump:\n    def start(self):\n        return 1\n\n\ndef start():\n    return 2\n"
    (b.session.folder.root / "src/pump.py").write_text(code)
    (found,) = await taken(b, "@symbol:Pump.start")
    assert [(part.label, part.text) for part in found.parts] == [
        ("src/pump.py:2-3", "    def start(self):\n        return 1\n")
    ]
    (missing,) = await taken(b, "@symbol:nowhere")
    assert missing.problem == "Nothing in this folder defines 'nowhere'."


async def test_the_editors_own_symbols_come_first(bench: Opener) -> None:
    b = await of_folder(bench)
    (b.session.folder.root / "src/pump.py").write_text("def other():\n    pass\n\n\ndef start():\n    return 2\n")
    (b.session.folder.root / "else.py").write_text("def start():\n    return 3\n")
    attach(b, symbols="src/pump.py:5:5: function start\n../out.py:1:1: function start\nelse.py:1:5: function starter")
    (found,) = await taken(b, "@symbol:start")
    assert [(part.label, part.text) for part in found.parts] == [("src/pump.py:5-6", "def start():\n    return 2\n")]


@pytest.mark.parametrize(
    ("n_places", "expected"),
    [
        (5, ()),
        (6, ("1 more place defines it; it is left out.",)),
        (8, ("3 more places define it; they are left out.",)),
    ],
)
async def test_places_of_a_symbol_that_are_left_out_are_told(
    bench: Opener, n_places: int, expected: tuple[str, ...]
) -> None:
    b = await of_folder(bench)
    for n in range(n_places):
        (b.session.folder.root / f"m{n}.py").write_text("def start():\n    return 2\n")
    (found,) = await taken(b, "@symbol:start")
    assert (len(found.parts), found.left_out) == (5, expected)


async def test_problems_are_the_editors(bench: Opener) -> None:
    b = await of_folder(bench)
    (found,) = await taken(b, "@problems")
    assert found.problem is not None
    assert "not available here" in found.problem
    attach(b, problems="src/app.py:1:1: error: odd")
    (found,) = await taken(b, "Fix @problems.")
    assert (found.label, found.parts[0].text) == ("problems", "src/app.py:1:1: error: odd")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("$ make\r\n\x1b[31mred\x1b[0m \x1b]0;title\x07end\r\n\r\n", "$ make\nred end"),
        ("10 %\r50 %\r100 %\nbell\x07\x00", "100 %\nbell"),
        ("\x1b]8;;https://a.org\x1b\\link\x1b]8;;\x1b\\ \x1b(Bx \x1b[?25l", "link x"),
        ("cut off \x1b[3", "cut off 3"),
    ],
)
async def test_a_terminal_is_attached_as_it_is_read(bench: Opener, shown: str, expected: str) -> None:
    b = await of_folder(bench)
    attach(b, terminal=shown)
    (found,) = await taken(b, "Why? @terminal.")
    assert (found.label, found.parts[0].text) == ("terminal", expected)


async def test_of_a_long_terminal_the_end_is_attached(bench: Opener) -> None:
    b = await of_folder(bench)
    attach(b, terminal="".join(f"line {n}\n" for n in range(20_000)))
    (found,) = await taken(b, "@terminal")
    first, *lines = found.parts[0].text.split("\n")
    assert first == f"[{found.left_out[0]}]"
    assert lines[-1] == "line 19999"
    assert first == f"[{20_000 - len(lines):,} earlier lines left out.]"
    assert 60_000 < len(found.parts[0].text) < 66_000


async def test_of_a_line_that_is_too_long_the_end_is_attached(bench: Opener) -> None:
    b = await of_folder(bench)
    attach(b, terminal="first\n" + "ü" * 100_000 + "end\n")
    (found,) = await taken(b, "@terminal")
    first, line = found.parts[0].text.split("\n")
    assert first == "[All but the end of the last line is left out.]" == f"[{found.left_out[0]}]"
    assert line.endswith("üüend")
    assert 60_000 < len(line.encode()) <= MAX_TERMINAL


async def test_a_terminal_of_another_editor_is_not_read(bench: Opener) -> None:
    b = await of_folder(bench)
    attach(b, terminal="somebody's elsewhere")
    own = ScriptedEditor()
    b.session.folder.editors.attach(own)
    texts = WorkspaceTexts(WorkspaceFiles(b.session.folder.root), {})
    (found,) = (await mentioned(Mentioning(b.session.folder, texts, "@terminal", editor=own))).snapshots
    assert "Paste the lines" in str(found.problem)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Why `x @src/app.py`?", []),
        ("``a ` @src/app.py`` and @src/app.py", ["src/app.py"]),
        ("```java\n@terminal\n@src/app.py\n```\nSee @src/app.py", ["src/app.py"]),
        ("  ~~~\n@terminal\n```\n", []),
        ("a ` alone @src/app.py", ["src/app.py"]),
        ("```@src/app.py``` is not @src/app.py", ["src/app.py"]),
    ],
)
async def test_code_mentions_nothing(bench: Opener, message: str, expected: list[str]) -> None:
    assert labels(await taken(await of_folder(bench), message)) == expected


def test_code_is_left_out_in_a_time_that_grows_with_the_message() -> None:
    text = "".join("`" * (n % 8 + 1) + "x" * 1_100 for n in range(400)) + "~~~\n```\n" * 20_000
    assert without_code(text)


async def test_a_terminal_that_no_editor_tells_of_is_a_problem(bench: Opener) -> None:
    b = await of_folder(bench)
    assert "Paste the lines" in str((await taken(b, "@terminal"))[0].problem)
    attach(b, terminal="\x1b[2J\r\n")
    assert (await taken(b, "@terminal"))[0].problem == "The terminal shows nothing."
    b = await of_folder(bench)

    class NoTerminal(ScriptedEditor):
        async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
            return ToolOutput("No terminal\nis open.", is_error=True)

    tool = to_editor_tool("terminal", "It tells.", {}, is_read_only=True, is_for_mentions=True)
    b.session.folder.editors.attach(NoTerminal(), [tool])
    assert (await taken(b, "@terminal"))[0].problem == "No terminal is open."


async def test_no_model_has_the_tools_that_are_for_mentions(bench: Opener) -> None:
    b = await of_folder(bench)
    folder = b.session.folder
    tools = [
        to_editor_tool(name, "It tells.", {}, is_read_only=True, is_for_mentions=name == "terminal")
        for name in ("terminal", "problems")
    ]
    folder.editors.attach(Editor(), tools)
    offer = EditorTools(folder.editors, Approvals(folder.store, folder.editors, folder.trust))
    assert [each.schema.name for each in offer(SCOPE)] == ["editor_problems"]
    assert await offered(b, "@ter") == ["@terminal"]


async def offered(b: Bench, typed: str) -> list[str]:
    found = await Mentions(WorkspaceFiles(b.session.folder.root)).complete(typed, len(typed), b.session.folder)
    return [each.insert_text for each in found.items]


async def test_mentions_of_a_kind_are_completed(bench: Opener) -> None:
    b = await of_folder(bench)
    assert await offered(b, "see @gi") == ["@git:diff", "@git:staged", "@git:"]
    assert await offered(b, "@git:s") == ["@git:staged"]
    assert await offered(b, "@prob") == []
    assert await offered(b, "@symbol:st") == []
    attach(b, problems="", symbols="src/app.py:1:1: function start")
    assert await offered(b, "@prob") == ["@problems"]
    assert await offered(b, "@symbol:st") == ["@symbol:start"]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (("a.py", None, None), "@a.py"),
        (("a.py", 3, 3), "@a.py:3"),
        (("a.py", 3, 9), "@a.py:3-9"),
        (("my a.py", 3, 9), '@"my a.py:3-9"'),
    ],
)
def test_a_mention_is_written_as_it_is_read(place: tuple[str, int | None, int | None], text: str) -> None:
    assert mention_of(*place) == text


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("(@https://x/a_(b))", "https://x/a_(b)"),
        ("@https://x/a_(b)).", "https://x/a_(b)"),
        ("@https://x" + ")" * 300_000, "https://x"),
    ],
)
def test_a_bracket_that_an_address_opens_belongs_to_it(message: str, name: str) -> None:
    assert names_in(message) == [name]
