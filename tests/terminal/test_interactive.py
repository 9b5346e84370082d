"""At a terminal: text is seen as it comes, and neither a model nor a Ctrl-C breaks the screen or loses a message."""

from __future__ import annotations

import re
import signal
import stat

import pytest
from tests.terminal.chats import CTRL_A, CTRL_C, CTRL_D, ENTER, TAB, UP, Chats

from palimpsest.terminal import texts

USAGE = "context 2.1k / 200k (1%) · scripted-1"


def test_an_answer_streams_and_its_usage_is_told(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect("A new conversation.")
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("You said in conversation-1: hello.")
        terminal.until(USAGE)
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
    assert {"id": 4} in chats.received("$/cancelRequest")


def test_ctrl_c_clears_the_line_and_twice_leaves(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("not meant" + CTRL_C + "meant" + ENTER)
        terminal.expect("in conversation-1: meant.")
        terminal.expect_prompt()
        terminal.type(CTRL_C)
        terminal.expect("Press Ctrl-C again or Ctrl-D to leave.")
        terminal.type("still here" + CTRL_C)
        terminal.expect_prompt()
        terminal.type(CTRL_C)
        terminal.expect("Press Ctrl-C again or Ctrl-D to leave.")
        assert terminal.leave(CTRL_C) == 0
    assert [params["text"] for params in chats.received("palimpsest/chat")] == ["meant"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("typed", ["", "slow" + ENTER])
def test_a_signal_that_ends_programs_leaves_the_terminal_as_it_was(chats: Chats, number: int, typed: str) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type(typed)
        if typed:
            terminal.until("Ctrl-C stops")
        assert not terminal.is_as_before
        terminal.interrupt(number)
        assert terminal.end() == 128 + number
        assert terminal.is_as_before


def test_a_message_whose_answer_failed_is_not_to_be_typed_again(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("broken" + ENTER)
        terminal.expect("It broke off.")
        terminal.expect(texts.KEPT)
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_a_failed_turn_says_why_and_its_text_is_not_lost(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("fail" + ENTER)
        terminal.expect("half of")
        terminal.expect("The provider is overloaded; try again later.")
        terminal.expect_prompt()
        terminal.type(UP)
        terminal.until("> fail")
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
        terminal.until(USAGE)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    (history,) = chats.state.rglob("history")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700
    history.chmod(0o644)
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type(UP)
        terminal.until("> remember me")
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


def test_commands_models_and_files_are_completed(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("/us")
        terminal.until("Show how full the context is.")
        terminal.type(TAB)
        terminal.until("> /usage")
        terminal.type(ENTER)
        terminal.expect("Ran /usage")
        terminal.expect_prompt()
        terminal.type("/model lo")
        terminal.until("locked-2")
        terminal.type(TAB + ENTER)
        terminal.expect("There is no key for locked-2.")
        terminal.expect_prompt()
        terminal.type("What does 👩 @pri")
        terminal.until("prices.py", "src/shop")
        terminal.type(TAB)
        terminal.until("@src/shop/prices.py")
        terminal.type("do?" + ENTER)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert [each["text"] for each in chats.received("palimpsest/chat")] == ["What does 👩 @src/shop/prices.py do?"]


def test_a_conversation_that_only_searches_is_said_to_go_on_with_the_model_that_there_is(chats: Chats) -> None:
    with chats.terminal("--conversations", "1", "--offline") as terminal:
        terminal.expect("this conversation only searches (`/model scripted-1` goes on with a model)")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_a_setting_that_names_no_model_is_told_before_the_first_message(chats: Chats) -> None:
    with chats.terminal("--mistyped") as terminal:
        terminal.expect("There is no model 'scirpted'.")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_after_an_error_of_the_settings_the_conversation_goes_on_and_no_other_is_begun(chats: Chats) -> None:
    with chats.terminal("--conversations", "2", "--corrected", "2") as terminal:
        terminal.expect("modle is not a setting.")
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("modle is not a setting.")
        terminal.expect(texts.IN_HISTORY)
        terminal.expect_prompt()
        terminal.type(UP + ENTER)
        terminal.expect("Continuing")
        terminal.expect("You said in conversation-1: hello.")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert [each["text"] for each in chats.received("palimpsest/chat")] == ["hello"]


def test_a_question_for_a_conversation_that_there_is_not_begins_no_other(chats: Chats) -> None:
    with chats.terminal("--conversations", "1", which="asking=Nonsense:hello") as terminal:
        terminal.expect("There is no conversation “Nonsense” here.")
        terminal.until("> hello")
        terminal.type(CTRL_A + "\x0b")
        assert terminal.leave() == 0
    assert chats.received("palimpsest/chat") == []


def test_conversations_to_resume_are_listed_completed_and_continued(chats: Chats) -> None:
    with chats.terminal("--conversations", "2") as terminal:
        terminal.expect_prompt()
        terminal.type("/resume" + ENTER)
        terminal.expect("/resume N goes on with one of them")
        terminal.expect_prompt()
        terminal.type("/resume 2")
        terminal.until("Title 2", "4 messages")
        terminal.type(TAB + ENTER)
        terminal.expect("Continuing “Title 2” (4 messages, scripted-1).")
        terminal.expect("> What is a")
        terminal.expect("A choice.")
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.expect("in conversation-2: hello.")
        assert terminal.leave() == 0


def test_an_unknown_command_is_not_sent_to_the_model(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("/contxt" + ENTER)
        terminal.expect("Did you mean /context or /cost or /continue?")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert chats.received("palimpsest/chat") == []


def test_a_paste_of_many_lines_is_one_message(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("\x1b[200~first\r\nsecond\n\nthird\x1b[201~")
        terminal.until("> first", "  second", "  third")
        terminal.type(ENTER)
        terminal.until(USAGE)
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert [params["text"] for params in chats.received("palimpsest/chat")] == ["first\nsecond\n\nthird"]


def test_a_model_s_text_does_not_drive_the_terminal(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("hostile" + ENTER)
        terminal.expect("> hostile")
        shown = terminal.expect("line \\ud800")
        assert "\\x1b]0;owned\\x07\\x1b[2Jred\\u202etxt\\x9b31m" in shown
        assert not re.search("\x07|\x1b\\]|\x1b\\[2J|\x9b|\u202e", shown)
        terminal.expect_prompt()
        terminal.type("/read" + ENTER)
        terminal.expect("What is a \\x1b[31mcut\\x1b[0m?")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_thinking_and_each_tool_call_stand_in_the_order_they_came(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("tools" + ENTER)
        terminal.expect("so the answer is incomplete.")
        terminal.expect_prompt()
        shown = [line for line in terminal.transcript if line]
        assert terminal.leave() == 0
    at = shown.index("> tools")
    assert shown[at + 1 : at + 8] == [
        "thinking: I must look.",
        "Looking.",
        "→ Read b.py · 3 lines",
        "→ Read a.py · 1 line",
        "→ Changing c.py: not done. Nobody can.",
        "Found it.",
        "The model stopped at its output limit, so the answer is incomplete. /continue goes on.",
    ]


def test_the_newest_line_of_a_running_program_is_in_sight(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("tests" + ENTER)
        terminal.until("Running pytest -q: \\x1b[2Jtwo of three passed")
        terminal.type(CTRL_C)
        terminal.expect("The answer was cancelled.")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_of_a_summary_one_line_is_left(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("summary" + ENTER)
        terminal.expect("after it")
        terminal.expect_prompt()
        shown = [line for line in terminal.transcript if line]
        assert terminal.leave() == 0
    at = shown.index("> summary")
    assert shown[at + 1 : at + 3] == ["Summarized 8 messages: 6,000 tokens fewer.", "after it"]


def test_how_full_the_context_is_stays_true_after_a_command(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("hello" + ENTER)
        terminal.until(USAGE)
        terminal.expect_prompt()
        terminal.type("/summarize 2-5" + ENTER)
        terminal.until("context 1.1k / 200k (1%) · scripted-1")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_there_is_no_color_where_none_is_wanted(chats: Chats) -> None:
    with chats.terminal(env={"NO_COLOR": "1"}) as terminal:
        shown = terminal.expect_prompt()
        terminal.type("page" + ENTER)
        shown += terminal.expect("The end.")
        shown += terminal.expect_prompt()
        assert terminal.leave("/quit" + ENTER) == 0
    codes = {code for found in re.findall("\x1b\\[([0-9;]*)m", shown) for code in found.split(";") if code}
    assert not [code for code in codes if int(code) >= 30], codes
    assert "1" in codes


def test_a_terminal_that_only_prints_gets_no_control_at_all_and_can_be_asked(chats: Chats) -> None:
    with chats.terminal(env={"TERM": "dumb"}) as terminal:
        shown = terminal.expect("Ctrl-D leaves.")
        shown += terminal.expect("> ")
        terminal.type("tools\n")
        shown += terminal.expect("Found it.")
        shown += terminal.expect("> ")
        terminal.type("slow\n")
        terminal.expect("one two")
        terminal.interrupt()
        said = terminal.expect("The answer was cancelled. The part that you see is kept.")
        assert said[: said.index("The answer")].endswith("\r\n"), "a note begins a line of its own"
        shown += said + terminal.expect("> ")
        assert terminal.leave("/quit\n") == 1
    assert "\x1b" not in shown


def test_what_is_typed_during_an_answer_is_seen_and_sent_after_it(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("held" + ENTER)
        terminal.until("one two")
        terminal.type("later" + ENTER + "and more")
        terminal.until("next: later", "> and more")
        terminal.type(CTRL_A + "/usage" + ENTER)
        terminal.until("next: /usageand more")
        chats.let_go()
        terminal.expect("You said in conversation-1: later.")
        terminal.expect("There is no command /usageand")
        terminal.expect_prompt()
        shown = [line for line in terminal.transcript if line]
        assert terminal.leave() == 0
    assert shown.index("one two and the rest") < shown.index("> later")


def test_what_waits_when_an_answer_is_stopped_is_there_to_be_edited(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("slow" + ENTER)
        terminal.until("one two")
        terminal.type("later" + ENTER)
        terminal.until("next: later")
        terminal.type(CTRL_C)
        terminal.expect("The answer was cancelled.")
        terminal.until("> later")
        terminal.type(" on" + ENTER)
        terminal.expect("You said in conversation-1: later on.")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_a_command_that_only_shows_is_answered_while_an_answer_is_written(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("held" + ENTER)
        terminal.until("one two")
        terminal.type("/resume" + ENTER)
        terminal.expect("/resume N goes on with one of them")
        terminal.until("scripted-1 is writing")
        chats.let_go()
        terminal.expect("one two and the rest")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_leaving_during_an_answer_is_asked_for_twice(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("slow" + ENTER)
        terminal.until("one two")
        terminal.type(CTRL_D)
        terminal.expect(texts.LEAVE_RUNNING)
        assert terminal.leave() == 0


def test_each_block_is_printed_once_and_the_screen_holds_the_whole_page(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("page" + ENTER)
        shown = terminal.expect("The end.")
        terminal.expect_prompt()
        lines = terminal.transcript
        assert terminal.leave() == 0
    assert "\x1b[35" in shown  # the code has colors
    text = "\n".join(lines)
    for once in ("Prices", "def gross(net):", "Rate   Where", " • one item"):
        assert text.count(once) == 1, text
    assert "```" not in text
    assert "**" not in text


def test_a_window_that_gets_narrower_wraps_what_follows_at_blanks(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.resize(30, 40)
        terminal.type("page" + ENTER)
        terminal.expect("The end.")
        terminal.expect_prompt()
        lines = terminal.transcript
        assert terminal.leave() == 0
    assert "The gross price is the net price with" in lines
    assert all(len(line) <= 40 for line in lines)


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
        lines = terminal.transcript
    assert "\x1b[1mmore" in shown
    assert any(re.fullmatch(r"7 +a \*cut\* \\x1b\[31mred", line) for line in lines)


def test_the_answer_of_a_colleague_is_shown_when_nothing_else_is(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("shared" + ENTER)
        terminal.expect("ann is writing.")
        terminal.expect("the rest of turn-of-ann")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert [each["turnId"] for each in chats.received("palimpsest/turn/attach")] == ["turn-of-ann"]


def test_what_a_colleague_said_between_two_looks_and_the_end_of_the_sharing_are_told(chats: Chats) -> None:
    with chats.terminal("--conversations", "1") as terminal:
        terminal.expect_prompt()
        terminal.type("between" + ENTER)
        terminal.expect("Others wrote here meanwhile.")
        terminal.expect("shared no longer")
        terminal.expect_prompt()
        assert terminal.leave() == 0


def test_the_answer_of_a_colleague_goes_on_when_it_is_looked_at_no_longer(chats: Chats) -> None:
    with chats.terminal("--conversations", "1", "--slow") as terminal:
        terminal.expect_prompt()
        terminal.type("shared" + ENTER)
        terminal.expect("the rest of turn-of-ann")
        terminal.until("ann is writing")
        terminal.type(CTRL_C)
        terminal.expect("The answer goes on")
        terminal.expect_prompt()
        assert terminal.leave() == 0
    assert chats.received("palimpsest/turn/cancel") == []


def test_what_cannot_be_said_now_can_be_said_in_a_fork(chats: Chats) -> None:
    with chats.terminal() as terminal:
        terminal.expect_prompt()
        terminal.type("busy" + ENTER)
        terminal.expect("ann is writing.")
        terminal.expect("/fork goes on in a fork")
        terminal.expect_prompt()
        terminal.type("apart" + ENTER)
        terminal.expect("“Herons” while the hub was away.")
        terminal.expect("(apart)” now.")
        terminal.expect_prompt()
        assert terminal.leave() == 0
