"""A user at a terminal is asked there what a tool may do. Through pipes nobody is asked, so the answer is no."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.terminal.chats import CTRL_C, CTRL_D, ENTER, HERE, Chats


class ApprovingChats(Chats):
    def server(self, *scene: str) -> list[str]:
        return [sys.executable, "-P", str(HERE / "approving_server.py"), str(self.log), *scene]


@pytest.fixture
def chats(tmp_path: Path) -> Chats:
    return ApprovingChats(tmp_path)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("y" + ENTER, "once"),
        ("a" + ENTER, "always"),
        ("Always" + ENTER, "always"),
        ("n" + ENTER, "deny"),
        ("No" + ENTER, "deny"),
        ("!" + ENTER, "never"),
        ("never" + ENTER, "never"),
        (CTRL_D, "deny"),
        (CTRL_C, "deny"),
    ],
)
def test_what_is_typed_is_the_answer(chats: Chats, keys: str, answer: str) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("approve" + ENTER)
        terminal.expect("Run this command?")
        terminal.expect("rm 'photo⟨U+202E⟩gnp'")
        terminal.expect("`always` and `never` apply to commands in . that begin with: rm.")
        terminal.until("?  y yes  n no  a always  ! never  then Enter")
        terminal.type(keys)
        terminal.expect(f"The answer is {answer}")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_any_other_line_waits_as_a_message_and_always_is_not_said_to_a_shell(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("shell" + ENTER)
        terminal.until("  y yes  n no  ! never  then Enter")
        for typed in ("", "maybe", "always"):
            terminal.type(typed + ENTER)
        terminal.until("next: maybe", "next: always")
        terminal.type("yes" + ENTER)
        terminal.expect("The answer is once")
        terminal.expect("You said in conversation-1: maybe.")
        terminal.expect("You said in conversation-1: always.")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_what_is_being_typed_when_a_question_comes_is_no_answer(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("approve" + ENTER + "yes, and then")
        terminal.until("  y yes  n no  a always  ! never  then Enter", "> yes, and then")
        terminal.type(ENTER)
        terminal.until("next: yes, and then")
        terminal.type("n" + ENTER)
        terminal.expect("The answer is deny")
        terminal.expect("You said in conversation-1: yes, and then.")
        assert terminal.leave() == 0


def test_a_change_is_shown_in_colors_and_no_second_yes_answers_a_question_that_was_not_read(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("edits" + ENTER)
        terminal.expect("Change a.py?")
        shown = terminal.expect("edits of a.py")
        terminal.until("then Enter")
        assert not any("Change b.py?" in line for line in terminal.transcript)
        terminal.type("y" + ENTER)
        terminal.expect("Change b.py?")
        terminal.type("y" + ENTER)
        terminal.expect("That came before this could be read. Answer once more.")
        terminal.until("then Enter")
        terminal.type("n" + ENTER)
        terminal.expect("a.py once, b.py deny")
        assert terminal.leave() == 0
    assert re.search("\x1b\\[31[0-9;]*m-old", shown)
    assert re.search("\x1b\\[32[0-9;]*m\\+new", shown)


def test_a_terminal_that_only_prints_asks_too(chats: Chats) -> None:
    with chats.terminal(env={"TERM": "dumb"}) as terminal:
        terminal.expect("> ")
        terminal.type("approve\ny\n")
        terminal.expect("y yes, n no, a always, ! never? ")
        terminal.type("what?\n")
        terminal.expect("y yes, n no, a always, ! never? ")
        terminal.type("a\n")
        terminal.expect("The answer is always")
        terminal.expect("You said in conversation-1: y.")
        assert terminal.leave("/quit\n") == 0


@pytest.mark.parametrize("scene", ["settled", "unreadable"])
def test_a_question_that_is_settled_elsewhere_or_cannot_be_read_is_not_waited_for(chats: Chats, scene: str) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type(scene + ENTER)
        terminal.expect("The answer is -32803")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_through_pipes_nobody_is_asked_and_that_is_said(chats: Chats) -> None:
    done = chats.pipe("approve\n")
    assert done.stdout == "The answer is -32803\n\n"
    said = done.stderr.splitlines()[0]
    assert said.startswith("Not approved, because there is nobody to ask: Run this command? An `a` (always) that you")
    assert "--accept-edits" not in said
