"""Through pipes: one message a line in, answers and nothing else on stdout, what went wrong on stderr."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from tests.terminal.chats import TIMEOUT_S, Chats


def test_each_line_is_answered_and_an_empty_line_follows(chats: Chats) -> None:
    done = chats.pipe("hello\n\n   \nbye")
    assert done.stdout == "You said in conversation-1: hello.\n\nYou said in conversation-1: bye.\n\n"
    assert (done.stderr, done.returncode) == ("", 0)
    assert [params["text"] for params in chats.received("palimpsest/chat")] == ["hello", "bye"]
    assert all(uuid.UUID(params["requestId"]).version == 4 for params in chats.received("palimpsest/chat"))


def test_nothing_said_is_nothing_done(chats: Chats) -> None:
    done = chats.pipe("")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert chats.received("palimpsest/conversation/create") == []
    assert chats.received("shutdown") == [None]


def test_the_newest_conversation_goes_on(chats: Chats) -> None:
    assert "in conversation-1:" in chats.pipe("hello\n", "--conversations", "2").stdout
    assert chats.received("palimpsest/conversation/list") == [{"folder": chats.folder.as_uri()}]


def test_a_new_conversation_begins_when_asked_for(chats: Chats) -> None:
    assert "in conversation-3:" in chats.pipe("hello\n", "--conversations", "2", which="new").stdout


def test_a_failed_turn_is_told_and_the_lines_behind_it_are_answered(chats: Chats) -> None:
    done = chats.pipe("fail\nhello\n")
    assert done.stdout == "half of \n\nYou said in conversation-1: hello.\n\n"
    assert done.stderr == "The provider is overloaded; try again later.\n"
    assert done.returncode == 1


def test_an_internal_error_is_told_with_what_the_server_logged(chats: Chats) -> None:
    done = chats.pipe("bug\n")
    assert "its log says more" in done.stderr
    assert "ZeroDivisionError in turns.py" in done.stderr


def test_a_server_that_dies_ends_the_chat_with_what_it_last_wrote(chats: Chats) -> None:
    done = chats.pipe("die\nhello\n")
    assert done.stdout == "half of \n\n"
    assert "has ended unexpectedly (exit status 3)" in done.stderr
    assert "MemoryError: no more room" in done.stderr
    assert done.returncode == 1
    assert [params["text"] for params in chats.received("palimpsest/chat")] == ["die"]


@pytest.mark.parametrize(
    ("scene", "sentence"), [(["--crash"], "the store is damaged"), (["--version", "2"], "speaks version 2")]
)
def test_a_server_that_cannot_be_used_is_told(chats: Chats, scene: list[str], sentence: str) -> None:
    done = chats.pipe("hello\n", *scene)
    assert sentence in done.stderr
    assert "File " not in done.stderr
    assert (done.stdout, done.returncode) == ("", 1)


def test_tools_and_thinking_are_not_part_of_the_answer(chats: Chats) -> None:
    done = chats.pipe("tools\n")
    assert done.stdout == "Looking.\nFound it.\n\n"
    assert "output limit" in done.stderr
    assert done.returncode == 0


def test_what_becomes_of_the_context_is_told_beside_the_answers(chats: Chats) -> None:
    done = chats.pipe("summary\n")
    assert done.stdout == "after it\n\n"
    assert done.stderr == "Summarized 8 messages: 6,000 tokens fewer.\n"
    assert done.returncode == 0


def test_commands_work_and_write_no_escape_codes(chats: Chats) -> None:
    done = chats.pipe("hello\n/resume\n/usage\n/facts\n/help\nsummary\n")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    for expected in (
        "1*\tTitle 1\t2\t",
        "Ran /usage",
        "| 7 | a *cut* \\x1b[31mred |",
        "Ran /help",
        "/resume [N]\t",
    ):
        assert expected in done.stdout


def test_quit_leaves_the_other_lines_unsaid(chats: Chats) -> None:
    done = chats.pipe("/quit\nhello\n")
    assert (done.stdout, done.returncode) == ("", 0)
    assert chats.received("palimpsest/chat") == []


def test_a_command_that_cannot_be_done_is_a_failure(chats: Chats) -> None:
    done = chats.pipe("/modle\nhello\n")
    assert "Did you mean /model?" in done.stderr
    assert "hello." in done.stdout
    assert done.returncode == 1


def test_bytes_that_are_not_utf8_are_replaced_and_told(chats: Chats) -> None:
    done = chats.pipe(b"\xef\xbb\xbfgood\nb\xffd\n")
    assert "Line 2 is not valid UTF-8" in done.stderr
    assert [params["text"] for params in chats.received("palimpsest/chat")] == ["good", "b\ufffdd"]
    assert done.returncode == 0


def test_what_reads_the_pipe_gets_no_control_characters_either_and_utf8(chats: Chats) -> None:
    shown = chats.pipe("hostile\nein Käfer\n").stdout
    hostile, _, rest = shown.partition("\n\n")
    assert hostile == "\\x1b]0;owned\\x07\\x1b[2Jred\\u202etxt\\x9b31m\ttab\nline \\ud800"
    assert "ein Käfer" in rest


def test_what_goes_wrong_is_told_without_control_characters(chats: Chats) -> None:
    chats.folder.rmdir()
    chats.folder = chats.folder.with_name("gone\x1b]0;owned\x07")
    done = chats.pipe("hello\n")
    assert (done.returncode, "\x1b" in done.stderr) == (1, False)
    assert "gone\\x1b]0;owned\\x07 cannot be opened" in done.stderr


def test_a_terminal_gets_no_control_characters_also_when_stdin_is_a_pipe(chats: Chats) -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(chats.command(), stdin=subprocess.PIPE, stdout=slave, env=chats.environment()) as chat:
        os.close(slave)
        assert chat.stdin is not None
        chat.stdin.write(b"hostile\n")
        chat.stdin.close()
        shown = b""
        with contextlib.suppress(OSError):  # How Linux tells that nobody has the other side open any more.
            while select.select([master], [], [], TIMEOUT_S)[0]:
                shown += os.read(master, 1 << 16)
        assert chat.wait(TIMEOUT_S) == 0
    os.close(master)
    expected = "\\x1b]0;owned\\x07\\x1b[2Jred\\u202etxt\\x9b31m\ttab\r\nline \\ud800\r\n\r\n"
    assert shown.decode() == expected


def test_an_interrupt_cancels_the_turn_and_keeps_what_was_said(chats: Chats) -> None:
    with chats.popen() as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write(b"slow\nhello\n")
        chat.stdin.flush()
        assert chat.stdout.read(7) == b"one two"
        chat.send_signal(signal.SIGINT)
        stdout, stderr = chat.communicate(timeout=TIMEOUT_S)
    assert (stdout, chat.returncode) == (b"\n\n", 130)
    assert b"cancelled" in stderr
    assert chats.received("palimpsest/turn/cancel") == [{"turnId": "turn-1"}]
    assert chats.received("shutdown") == [None]
    assert len(chats.received("palimpsest/chat")) == 1


def test_a_second_interrupt_does_not_wait_for_the_server(chats: Chats) -> None:
    with chats.popen() as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write(b"stuck\n")
        chat.stdin.flush()
        assert chat.stdout.read(7) == b"one two"
        chat.send_signal(signal.SIGINT)
        assert chat.stdout.read(6) == b" three"
        chat.send_signal(signal.SIGINT)
        chat.communicate(timeout=TIMEOUT_S)
    assert chat.returncode == 130


def test_an_interrupt_ends_the_wait_for_a_line(chats: Chats) -> None:
    with chats.popen() as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write(b"hello\n")
        chat.stdin.flush()
        assert chat.stdout.readline() == b"You said in conversation-1: hello.\n"
        assert chat.stdout.readline() == b"\n"
        chat.send_signal(signal.SIGINT)
        # Its stdin stays open: only the interrupt can end it.
        assert chat.wait(TIMEOUT_S) == 130
        assert chat.stderr is not None
        assert chat.stderr.read() == b""
    assert chats.received("exit") == [None]


def test_a_reader_that_goes_away_ends_the_chat_quietly(chats: Chats) -> None:
    with chats.popen() as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdout.close()
        chat.stdin.write(b"hello\nhello\n")
        chat.stdin.close()
        assert chat.wait(TIMEOUT_S) == 141
        assert chat.stderr is not None
        assert chat.stderr.read() == b""
    assert chats.received("exit") == [None]


def test_a_folder_that_is_none_is_told(chats: Chats) -> None:
    command = chats.command()
    for folder, sentence in ((str(chats.folder / "nowhere"), "cannot be opened"), (__file__, "is not a folder")):
        command[command.index(str(chats.folder))] = folder
        done = subprocess.run(
            command, input=b"", capture_output=True, env=chats.environment(), timeout=TIMEOUT_S, check=False
        )
        assert sentence in done.stderr.decode()
        assert done.returncode == 1
        command = chats.command()


def test_a_server_that_does_not_exist_is_told(chats: Chats) -> None:
    command = chats.command(server=[str(chats.folder / "nowhere")])
    done = subprocess.run(
        command, input=b"hello\n", capture_output=True, env=chats.environment(), timeout=TIMEOUT_S, check=False
    )
    assert "The server could not be started" in done.stderr.decode()
    assert done.returncode == 1


def test_pipes_need_neither_a_terminal_library_nor_the_server_s_own(chats: Chats, tmp_path: Path) -> None:
    command = chats.command()
    server = command[command.index("newest") + 1 :]
    unwanted = {"prompt_toolkit", "rich", "markdown_it", "pygments", "pygls", "lsprotocol", "peewee", "httpx"}
    script = (
        "import sys; from pathlib import Path; from palimpsest.terminal.chat import Wish, run\n"
        f"status = run(Wish(Path({str(tmp_path)!r})), {server!r}, lambda folder: False)\n"
        f"sys.stderr.write(' '.join({{name.partition('.')[0] for name in sys.modules}} & {unwanted!r}))\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        input=b"hello\n",
        capture_output=True,
        env=chats.environment(),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.stderr, done.returncode) == (b"", 0)
    assert b"hello." in done.stdout


def test_what_the_server_says_during_a_plain_request_is_told(chats: Chats) -> None:
    done = chats.pipe("hello\n", "--tells")
    assert done.stdout == "You said in conversation-1: hello.\n\n"
    assert done.stderr == "Something broke off.\nBringing the conversations up to date …\n"
