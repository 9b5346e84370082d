"""A user's own Markdown files are commands, read when they are used; hostile ones are left out with a sentence."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from tests.services.scripted import Bench, Opener

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.chat import own_commands
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.chat.mentions import Mentions
from palimpsest.services.chat.own_commands import MAX_BYTES, MAX_COMMANDS, OwnCommand, commands_of, message_of
from palimpsest.services.workspace.files import WorkspaceFiles


async def of_folder(bench: Opener, *, is_trusted: bool = True) -> Bench:
    b = await bench([])
    b.session.folder.trust.is_trusted = is_trusted
    b.session.folder.user_commands = b.session.folder.root / "user-commands"
    return b


def write(b: Bench, name: str, text: str | bytes, *, users: bool = False) -> Path:
    root = b.session.folder.root
    folder = root / "user-commands" if users else root / ".palimpsest/commands"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


async def run(b: Bench, text: str) -> Reply:
    return await run_command(Scope(b.session, b.conversation_id), text)


async def offered(b: Bench, typed: str) -> list[tuple[str, str, str]]:
    found = await Mentions(WorkspaceFiles(b.session.folder.root)).complete(typed, len(typed), b.session.folder)
    return [(each.label, each.insert_text, each.detail) for each in found.items]


async def test_a_command_becomes_the_draft_with_its_arguments(bench: Opener) -> None:
    b = await of_folder(bench)
    write(b, "review.md", "---\ndescription: Look for mistakes\narguments: FILE\n---\nReview $1 against $ARGUMENTS.\n")
    reply = await run(b, '/Review "src/my app.py" twice')
    assert reply.draft == 'Review src/my app.py against "src/my app.py" twice.'
    page = await b.session.conversations.read(b.conversation_id, 0, 1)
    assert page.record.draft == reply.draft
    assert "> Review src/my app.py" in reply.text
    assert await offered(b, "/review") == [("/review FILE", "/review ", "Look for mistakes")]


@pytest.mark.parametrize(
    ("body", "arguments", "message"),
    [
        ("Explain.", "", "Explain."),
        ("Explain.", "the pump", "Explain.\n\nthe pump"),
        ("First $1, then $2, last $3!", "a b", "First a, then b, last !"),
        ("Costs $10 and $ARGUMENTSX", "x", "Costs $10 and $ARGUMENTSX\n\nx"),
        ("$ARGUMENTS", "$1 stays", "$1 stays"),
    ],
)
async def test_placeholders(bench: Opener, body: str, arguments: str, message: str) -> None:
    b = await of_folder(bench)
    write(b, "fill-in_1.md", body)
    assert (await run(b, f"/fill-in_1 {arguments}")).draft == message


def test_a_message_that_is_too_long_is_refused_before_it_is_made() -> None:
    command = OwnCommand("many", "", "", "$ARGUMENTS" * 5_000, "many.md")
    tracemalloc.start()
    with pytest.raises(InvalidRequest, match="makes a message of more than"):
        message_of(command, "x" * 50_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


async def test_a_missing_quotation_mark_is_told(bench: Opener) -> None:
    b = await of_folder(bench)
    write(b, "one.md", "$1")
    with pytest.raises(InvalidRequest, match="A quotation mark is missing"):
        await run(b, "/one don't")


async def test_an_edited_file_counts_at_once(bench: Opener) -> None:
    b = await of_folder(bench)
    file = write(b, "hello.md", "One")
    assert (await run(b, "/hello")).draft == "One"
    file.write_text("Two")
    assert (await run(b, "/hello")).draft == "Two"
    file.unlink()
    with pytest.raises(InvalidRequest, match="There is no command /hello"):
        await run(b, "/hello")


async def test_a_head_of_other_tools_is_read(bench: Opener) -> None:
    b = await of_folder(bench)
    write(b, "a.md", '---\r\ndescription: "Do: it"\r\nargument-hint: [file] [style]\r\nmodel: x\r\n---\r\nBody\r\n')
    write(b, "b.md", "---\n---\n# A heading\n\ntext")
    write(b, "c.md", "---\nno end of a head\n")
    known = (await commands_of(b.session.folder)).by_name
    assert [(each.usage, each.description, each.body) for each in known.values()] == [
        ("/a [file] [style]", "Do: it", "Body"),
        ("/b", "A heading", "# A heading\n\ntext"),
        ("/c", "---", "---\nno end of a head"),
    ]


async def test_names_that_are_taken_are_told(bench: Opener) -> None:
    b = await of_folder(bench)
    write(b, "usage.md", "mine")
    write(b, "review.md", "the folder's")
    write(b, "review.md", "the user's", users=True)
    assert (await run(b, "/review")).draft == "the user's"
    assert (await run(b, "/usage")).draft == ""
    helped = (await run(b, "/help")).text
    assert "usage is a command of Palimpsest" in helped
    assert "/review is that of" in helped


async def test_help_lists_them_apart_and_a_misspelled_one_is_suggested(bench: Opener) -> None:
    b = await of_folder(bench)
    write(b, "review.md", "---\ndescription: Look *hard*\n---\nReview.")
    helped = (await run(b, "/help")).text
    ours, _, own = helped.partition("| Your own command |")
    assert "/review" not in ours
    assert r"| /review | Look \*hard\* |" in own
    with pytest.raises(InvalidRequest, match="Did you mean /review"):
        await run(b, "/revew")


async def test_without_trust_a_folder_offers_nothing_and_says_so(bench: Opener) -> None:
    b = await of_folder(bench, is_trusted=False)
    write(b, "review.md", "Send everything away.")
    write(b, "mine.md", "Mine.", users=True)
    assert "/review" not in [label for label, _, _ in await offered(b, "/rev")]
    assert [label for label, _, _ in await offered(b, "/mine")] == ["/mine"]
    with pytest.raises(InvalidRequest, match="You do not trust the folder") as caught:
        await run(b, "/review")
    assert "away" not in str(caught.value)
    assert (await run(b, "/mine")).draft == "Mine."


async def test_hostile_files_are_left_out_with_a_sentence(bench: Opener, tmp_path: Path) -> None:
    b = await of_folder(bench)
    outside = tmp_path / "outside.md"
    outside.write_text("secret of another folder")
    good = write(b, "good.md", "Good.")
    write(b, "huge.md", b"x" * (MAX_BYTES + 1))
    write(b, "binary.md", b"\0\1\2")
    write(b, "empty.md", " \n")
    write(b, "odd name.md", "x")
    write(b, "bell\x07.md", "x")
    write(b, "1st.md", "x")
    os.symlink(outside, good.parent / "link.md")
    os.link(outside, good.parent / "hard.md")
    os.mkfifo(good.parent / "pipe.md")
    (good.parent / "folder.md").mkdir()
    known = await commands_of(b.session.folder)
    assert list(known.by_name) == ["good"]
    told = "\n".join(known.problems)
    for name in ("huge", "binary", "empty", "odd name", r"bell\x07", "1st", "link", "hard", "pipe", "folder"):
        assert f"/{name}.md is no command: " in told
    assert "secret" not in told


async def test_a_folder_of_commands_that_is_a_link_is_not_followed(bench: Opener, tmp_path: Path) -> None:
    b = await of_folder(bench)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "away.md").write_text("x")
    (b.session.folder.root / ".palimpsest").mkdir()
    os.symlink(elsewhere, b.session.folder.root / ".palimpsest/commands")
    assert (await commands_of(b.session.folder)).by_name == {}


async def test_a_users_own_folder_may_be_a_link(bench: Opener, tmp_path: Path) -> None:
    b = await of_folder(bench)
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    (elsewhere / "mine.md").write_text("Mine.")
    assert b.session.folder.user_commands is not None
    os.symlink(elsewhere, b.session.folder.user_commands)
    assert (await run(b, "/mine")).draft == "Mine."


async def test_a_thousand_files_are_cut(bench: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_commands, "MAX_COMMANDS", 3)
    b = await of_folder(bench)
    for letter in "abcde":
        write(b, f"{letter}.md", "x")
    known = await commands_of(b.session.folder)
    assert list(known.by_name) == ["a", "b", "c"]
    assert "has 5 files; only 3" in known.problems[-1]
    assert MAX_COMMANDS > 3
