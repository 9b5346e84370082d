"""At a terminal: text is seen as it comes, and neither a model nor a Ctrl-C breaks the screen or loses a message."""

from __future__ import annotations

import re
import stat

import pytest
from tests.terminal.chats import CTRL_C, CTRL_D, ENTER, TAB, UP, Chats, left_standing

USAGE = "2.1k / 200k (1%) · scripted-1"


def test_an_answer_streams_and_its_usage_is_told(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect("A new conversation.")
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("You said in conversation-1: hello.")
        assert "\x1b[2m" in terminal.expect(USAGE)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert chats.received("exit") == [None]


def test_the_newest_conversation_goes_on_and_is_named(chats: Chats) -> None:
    with chats.terminal("--conversations", "2") as terminal:
        terminal.expect("“Title 1” (2 messages, scripted-1)")
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("in conversation-1: hello.")
        terminal.expect_prompt()
        assert terminal.leave("/quit" + ENTER) == 0


def test_a_new_conversation_begins_when_asked_for(chats: Chats) -> None:
    with chats.terminal("--conversations", "2", which="new") as terminal:
        assert "Title 1" not in terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("in conversation-3: hello.")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_an_answer_begun_elsewhere_is_followed(chats: Chats) -> None:
    with chats.terminal("--conversations", "1", "--running") as terminal:
        terminal.expect("the rest of turn-elsewhere")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_ctrl_c_cancels_the_answer_and_keeps_what_was_said(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("slow" + ENTER)
        terminal.expect("one two")
        terminal.type(CTRL_C)
        terminal.expect("The answer was cancelled. The part that you see is kept.")
        terminal.expect(USAGE)
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("You said in conversation-1: hello.")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert chats.received("palimpsest/turn/cancel") == [{"turnId": "turn-1"}]


def test_a_second_ctrl_c_stops_waiting(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("stuck" + ENTER)
        terminal.expect("one two")
        terminal.type(CTRL_C)
        terminal.expect(" three")
        terminal.type(CTRL_C)
        terminal.expect("No longer waiting")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert {"id": 3} in chats.received("$/cancelRequest")


def test_ctrl_c_clears_the_line_and_twice_leaves(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("not meant" + CTRL_C)
        terminal.expect_prompt()
        terminal.type("meant" + ENTER)
        terminal.expect("in conversation-1: meant.")
        terminal.expect_prompt()
        terminal.type(CTRL_C)
        terminal.expect("Press Ctrl-C again or Ctrl-D to leave.")
        terminal.expect_prompt()
        terminal.type("still here" + CTRL_C)
        terminal.expect_prompt()
        assert terminal.leave(CTRL_C) == 0
    assert [params["text"] for params in chats.received("palimpsest/chat")] == ["meant"]


def test_a_failed_turn_says_why_and_its_text_is_not_lost(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("fail" + ENTER)
        terminal.expect("half of")
        terminal.expect("The provider is overloaded; try again later.")
        terminal.expect_prompt()
        terminal.type(UP)
        terminal.expect("fail")
        terminal.type(ENTER)
        terminal.expect("The provider is overloaded; try again later.")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    first, second = chats.received("palimpsest/chat")
    assert first["text"] == second["text"]
    assert first["requestId"] != second["requestId"]


def test_a_server_that_dies_ends_the_chat_with_what_it_last_wrote(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("die" + ENTER)
        terminal.expect("half of")
        terminal.expect("has ended unexpectedly (exit status 3)")
        terminal.expect("MemoryError: no more room")
        assert terminal.end() == 1


def test_what_was_typed_is_there_in_the_next_run_and_private(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("remember me" + ENTER)
        terminal.expect(USAGE)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    (history,) = chats.state.rglob("history")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700
    history.chmod(0o644)
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type(UP)
        terminal.expect("remember me")
        terminal.type(CTRL_C)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_without_a_place_for_the_history_the_chat_goes_on(chats: Chats) -> None:
    chats.state.write_text("a file where the folder should be")
    with chats.terminal() as terminal:
        terminal.expect("Your input history is not kept")
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("You said in conversation-1: hello.")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_commands_and_models_are_completed(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("/us")
        terminal.expect("Show how full the context is.")
        terminal.type(TAB)
        terminal.expect("age")
        terminal.type(ENTER)
        terminal.expect("Ran /usage")
        terminal.expect_prompt()
        terminal.type("/model lo")
        terminal.expect("locked-2")
        terminal.type(TAB)
        terminal.expect("cked-2")
        terminal.type(ENTER)
        terminal.expect("There is no key for locked-2.")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_an_unknown_command_is_not_sent_to_the_model(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("/contxt" + ENTER)
        terminal.expect("Did you mean /context or /continue?")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert chats.received("palimpsest/chat") == []


def test_a_paste_of_many_lines_is_one_message(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("\x1b[200~first\r\nsecond\n\nthird\x1b[201~")
        terminal.expect("third")
        terminal.type(ENTER)
        terminal.expect(USAGE)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert [params["text"] for params in chats.received("palimpsest/chat")] == ["first\nsecond\n\nthird"]


def test_a_model_s_text_does_not_drive_the_terminal(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("hostile" + ENTER)
        shown = terminal.expect(USAGE)
        assert "\\x1b]0;owned\\x07\\x1b[2Jred\\u202etxt\\x9b31m\ttab" in shown
        assert not re.search("\x07|\x1b\\]|\x1b\\[2J|\x9b|\u202e", shown)
        terminal.expect_prompt()
        terminal.type("/read" + ENTER)
        terminal.expect("What is a \\x1b[31mcut\\x1b[0m?")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_thinking_is_dimmed_and_each_tool_call_is_one_line(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("tools" + ENTER)
        shown = terminal.expect(USAGE)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert "\x1b[2mI must " in shown
    assert left_standing(shown)[-7:-1] == [
        "thinking: I must look.",
        "Looking.",
        '→ read_file {"path": "b.py"} (3 lines)',
        '→ read_file {"path": "a.py"} (1 line)',
        "Found it.",
        "The model stopped at its output limit, so the answer is incomplete.",
    ]


def test_a_summary_is_one_line_that_is_rewritten(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("summary" + ENTER)
        shown = terminal.expect(USAGE)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert "Summarizing: 4 of 8 messages…" in shown
    assert left_standing(shown)[-3:-1] == ["Summarized 8 messages: 6,000 tokens fewer.", "after it"]


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_there_is_no_colour_where_none_is_wanted(chats: Chats, env: dict[str, str]) -> None:
    with chats.terminal(env=env) as terminal:
        prompt = "> " if env.get("TERM") else ">"
        terminal.expect("Ctrl-D leaves.")
        terminal.expect(prompt)
        terminal.type("tools" + ENTER)
        shown = terminal.expect(USAGE)
        terminal.expect(prompt)
        assert terminal.leave("/quit" + ENTER) == 0
    answer = shown[shown.index("thinking: ") :]
    assert not re.search("\x1b\\[[0-9;]*m", answer)
    if env.get("TERM"):
        assert "\x1b" not in answer


def test_what_is_typed_during_an_answer_is_not_echoed_and_waits_for_the_prompt(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("slow" + ENTER)
        terminal.expect("one two")
        terminal.type("later\n")
        # Not by Ctrl-C: with that key a terminal throws away what was typed before it.
        terminal.interrupt()
        assert "later" not in terminal.expect_prompt()
        terminal.expect("You said in conversation-1: later.")
        terminal.expect_prompt()
        assert terminal.leave(CTRL_D) == 0


def test_what_the_server_says_during_a_plain_request_is_shown(chats: Chats) -> None:
    with chats.terminal("--tells") as terminal:
        assert "Something broke off." in terminal.expect_prompt()
        terminal.leave()


def test_an_answer_that_a_command_asked_for_can_be_stopped_and_is_kept(chats: Chats) -> None:
    with chats.terminal("--conversations", "1", "--slow") as terminal:
        terminal.expect_prompt()
        terminal.type("/retry" + ENTER)
        terminal.expect("the rest of turn-8")
        terminal.type(CTRL_C)
        terminal.expect("was cancelled. The part that you see is kept")
        terminal.expect_prompt()
        terminal.leave()
    assert chats.received("palimpsest/turn/cancel") == [{"turnId": "turn-8"}]


def test_the_markdown_of_an_answer_is_rendered_and_drives_nothing(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("/facts" + ENTER)
        shown = terminal.expect("And more code.")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert "\x1b[1mmore" in shown
    assert re.search(r" 7 +a \*cut\* \\x1b\[31mred ", "\n".join(left_standing(shown)))
