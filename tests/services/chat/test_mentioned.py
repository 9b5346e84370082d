"""What a message mentions is attached, by the rules for tools, once, and in every editor alike."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.services.scripted import Bench, Opener

from palimpsest.services.chat.attachments import FileAttachment, Snapshot, take_snapshots
from palimpsest.services.chat.mentioned import MAX_MENTIONS, Mentioning, mention_of, mentioned
from palimpsest.services.workspace.files import WorkspaceFiles
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
    return await mentioned(Mentioning(b.session.folder, texts, message, attached))


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
        ("@decorator @.env @../else.txt @src/app.py:9 @src/app.py:3-2", []),
    ],
)
async def test_files_and_lines(bench: Opener, message: str, expected: list[str]) -> None:
    b = await of_folder(bench)
    assert labels(await taken(b, message)) == expected


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
