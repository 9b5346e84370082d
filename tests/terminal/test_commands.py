"""Slash commands are found, refused with a hint, and do through the public protocol what their help says."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections.abc import AsyncGenerator, Sequence

import pytest
from tests.terminal.chats import Chats
from tests.waiting import WAIT_S

from palimpsest.terminal.calls import Event
from palimpsest.terminal.commands import Commands, parse
from palimpsest.terminal.errors import CommandFailed, RequestFailed
from palimpsest.terminal.session import Session
from palimpsest.wire.areas.turns import TurnDelta
from palimpsest.wire.areas.usage import ContextEvent

TIMEOUT_S = WAIT_S


class Recorder:
    """A view that keeps what it is given."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.events: list[Event] = []
        self.recalled: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def draft(self, text: str) -> None:
        self.lines.append(text)

    def note(self, text: str) -> None:
        self.lines.append(text)

    def fail(self, sentence: str) -> None:
        self.lines.append(sentence)

    def answer(self, markdown: str) -> None:
        self.lines.append(markdown)

    def recall(self, text: str) -> None:
        self.recalled.append(text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        assert all(len(row) == len(columns) for row in rows)
        self.lines += [" | ".join(row) for row in rows]

    def show(self, event: Event) -> None:
        self.events.append(event)

    def finish(self) -> None:
        return


@contextlib.asynccontextmanager
async def commanding(chats: Chats, *scene: str) -> AsyncGenerator[tuple[Commands, Recorder, Session], None]:
    async with chats.connected(*scene) as (_, session), asyncio.timeout(TIMEOUT_S):
        view = Recorder()
        yield Commands(session, view), view, session


@pytest.mark.parametrize(
    ("line", "parsed"),
    [
        ("/help", ("help", "")),
        ("/Model  claude-5 ", ("model", "claude-5")),
        ("/new  A title, with words", ("new", "A title, with words")),
        ("/usr/bin/env is a path", None),
        ("/", None),
        ("// a comment", None),
        (" /help", None),
        ("what does /help do?", None),
        ("/pin one\ntwo", ("pin", "one\ntwo")),
        ("/2", None),
    ],
)
def test_a_command_is_a_slash_and_a_word(line: str, parsed: tuple[str, str] | None) -> None:
    assert parse(line) == parsed


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("modle", "model"), ("sum", "summarize"), ("ussage", "usage"), ("rsume", "resume")],
)
async def test_an_unknown_command_is_refused_with_the_nearest(chats: Chats, typed: str, meant: str) -> None:
    async with commanding(chats) as (commands, _, _):
        with pytest.raises(CommandFailed, match=f"Did you mean /{meant}"):
            await commands.run(typed, "")


async def test_a_command_far_from_all_points_to_help(chats: Chats) -> None:
    async with commanding(chats) as (commands, _, _):
        assert not difflib.get_close_matches("xyzzy", await commands.known(), 1, 0.5)
        with pytest.raises(CommandFailed, match="/help lists the commands"):
            await commands.run("xyzzy", "")


async def test_help_is_the_server_s_page_and_the_terminal_s_own_commands(chats: Chats) -> None:
    async with commanding(chats) as (commands, view, _):
        await commands.run("help", "")
    assert "Ran /help" in view.lines
    listed = [line.split()[0].removeprefix("/") for line in view.lines if line.startswith("/")]
    assert sorted(listed) == sorted({"resume", "read", "adopt", "quit"})


@pytest.mark.parametrize("name", ["help", "quit"])
async def test_an_argument_nobody_reads_is_refused(chats: Chats, name: str) -> None:
    async with commanding(chats) as (commands, _, _):
        with pytest.raises(CommandFailed, match="takes no argument"):
            await commands.run(name, "now")


async def test_reading_before_there_is_a_conversation_says_so(chats: Chats) -> None:
    async with commanding(chats) as (commands, _, _):
        with pytest.raises(CommandFailed, match="no conversation yet"):
            await commands.run("read", "")


async def test_the_server_runs_a_command_in_the_conversation_that_is_open(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "1") as (commands, view, session):
        await commands.run("usage", "")
        await commands.run("resume", "1")
        await commands.run("summarise", "0-1")
        await commands.run("fork", "")
        assert view.lines[-1] == "The chat continues in a fork."
        await commands.run("pin", "one\ntwo")
        assert session.conversation_id == "conversation-9"
        with pytest.raises(RequestFailed, match="no key"):
            await commands.run("model", "locked-2")
    folder = {"folderUri": chats.folder.as_uri()}
    assert chats.received("palimpsest/command/run") == [
        {"text": "/usage", **folder},
        {"text": "/summarize 0-1", "conversationId": "conversation-1"},
        {"text": "/fork", "conversationId": "conversation-1"},
        {"text": "/pin one\ntwo", "conversationId": "conversation-9"},
        {"text": "/model locked-2", "conversationId": "conversation-9"},
    ]


async def test_a_number_opens_what_the_list_shows_under_it(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "3") as (commands, view, session):
        await commands.run("resume", "")
        assert view.lines[1].startswith("2 | Title 2 | 4 | ")
        await commands.run("resume", "2")
        assert session.conversation_id == "conversation-2"
        assert "“Title 2” (4 messages, scripted-1)" in view.lines[-1]
        assert view.recalled == ["> What is a \x1b[31mcut\x1b[0m?\n\nA choice."]
        await commands.run("resume", "")
        assert view.lines[-3].startswith("2* | Title 2")
        await commands.run("resume", "title 3")
        assert session.conversation_id == "conversation-3"
        await commands.run("resume", "conversation-1")
        assert session.conversation_id == "conversation-1"
        listed = r"1 \(conversa Title 1\), 2 \(conversa Title 2\), 3 \(conversa Title 3\)"
        with pytest.raises(CommandFailed, match=rf"Several .* {listed}\. Name .* id"):
            await commands.run("resume", "title")


@pytest.mark.parametrize("argument", ["0", "4", "two", "-1", "²"])
async def test_a_number_that_is_not_in_the_list_opens_nothing(chats: Chats, argument: str) -> None:
    async with commanding(chats, "--conversations", "3") as (commands, _, session):
        with pytest.raises(CommandFailed, match="/resume lists them"):
            await commands.run("resume", argument)
        assert session.conversation_id is None


async def test_opening_follows_the_answer_that_is_being_written(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "1", "--running") as (commands, view, _):
        await commands.run("resume", "1")
    assert view.recalled == ["> What is a \x1b[31mcut\x1b[0m?"]
    assert [event.text for event in view.events if isinstance(event, TurnDelta)] == ["the rest of turn-elsewhere"]


async def test_new_leaves_nothing_behind_until_something_is_said(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "1") as (commands, _, session):
        await commands.run("resume", "1")
        await commands.run("new", "")
        assert session.conversation_id is None
        assert chats.received("palimpsest/command/run") == []
        await commands.run("new", "About cuts")
    (params,) = chats.received("palimpsest/command/run")
    assert params["text"] == "/new About cuts"


async def test_a_summary_is_followed_while_it_is_written(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "1") as (commands, view, _):
        await commands.run("resume", "1")
        await commands.run("summarize", "2-5")
    assert sum(isinstance(event, ContextEvent) for event in view.events) == 3
    assert view.lines[-1] == "Ran /summarize 2-5"


async def test_reading_shows_who_said_what_and_where_it_goes_on(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "1") as (commands, view, _):
        await commands.run("resume", "1")
        await commands.run("read", "")
        assert "A choice." in view.lines
        assert '→ read_file {"path": "cut.py"}' in view.lines
        assert any("[1] assistant" in line and "cancelled" in line for line in view.lines)
        assert view.lines[-1] == "There is more: /read 2"
        await commands.run("read", "40")
        assert any(line.startswith("[40] user") for line in view.lines)


async def test_a_turn_that_a_command_starts_is_followed_to_its_end(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "2") as (commands, view, session):
        await commands.run("retry", "")
        assert session.conversation_id == "conversation-1"
        assert [event.text for event in view.events if isinstance(event, TurnDelta)] == ["the rest of turn-8"]
        assert view.lines == []
        assert commands.turn is None


async def test_what_was_typed_is_shown_when_it_is_the_draft_again(chats: Chats) -> None:
    async with commanding(chats, "--conversations", "1") as (commands, view, _):
        await commands.run("rollback", "")
    assert view.lines == ["Hidden.", "What was *typed*\nthere"]


async def test_conversations_of_a_moved_folder_come_when_the_user_says_yes(chats: Chats) -> None:
    async with commanding(chats, "--left") as (commands, view, _):
        await commands.run("adopt", "")
        assert "/home/x/before" in view.lines[0]
        assert chats.received("palimpsest/adoption/resolve") == []
        await commands.run("adopt", "yes")
        assert "Copied 2 conversations and 1 pin." in view.lines[-2]
        assert "c9" in view.lines[-1]
        await commands.run("adopt", "no")
        with pytest.raises(CommandFailed, match="yes or /adopt no"):
            await commands.run("adopt", "maybe")
    assert [(p["store"], p["action"]) for p in chats.received("palimpsest/adoption/resolve")] == [
        ("before-1", "adopt"),
        ("before-1", "decline"),
    ]
