"""A user at a terminal is asked there what a tool may do. Through pipes nobody is asked, so the answer is no."""

from __future__ import annotations

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
    [("y", "once"), ("always", "always"), ("No", "deny"), ("never", "never"), (CTRL_D, "deny"), (CTRL_C, "deny")],
)
def test_what_is_typed_is_the_answer(chats: Chats, keys: str, answer: str) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("approve" + ENTER)
        terminal.expect("Run this command?")
        terminal.expect("rm 'photo⟨U+202E⟩gnp'")
        terminal.expect("`always` and `never` apply to commands in . that begin with: rm.")
        terminal.expect("yes, no, always or never?")
        terminal.type(keys + (ENTER if len(keys) > 1 or keys.isalpha() else ""))
        terminal.expect(f"The answer is {answer}")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_nothing_but_an_answer_is_one_and_always_is_not_said_to_a_shell(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("shell" + ENTER)
        for typed in ("", "maybe", "always"):
            terminal.expect("yes, no or never?")
            terminal.type(typed + ENTER)
        terminal.expect("yes, no or never?")
        terminal.type("yes" + ENTER)
        terminal.expect("The answer is once")
        terminal.expect_prompt()
        assert terminal.leave() == 0


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
    assert done.stderr.splitlines()[0] == "Not approved, because there is nobody to ask: Run this command?"
