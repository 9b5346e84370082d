"""One question and its answer: on stdout for a person or a program, and what went wrong on stderr."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.terminal.chats import TIMEOUT_S, Chats

from palimpsest.cli.chat import _meant


def ask(chats: Chats, which: str, question: str, *scene: str, piped: str | None = None) -> tuple[str, str, int]:
    done = subprocess.run(
        [*chats.command(*scene, which=f"{which}:{question}")],
        input=(piped or "").encode(),
        capture_output=True,
        env=chats.environment(),
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stdout.decode(), done.stderr.decode(), done.returncode


def test_the_answer_is_printed_and_the_conversation_goes_on(chats: Chats) -> None:
    assert ask(chats, "print", "hello", "--conversations", "2") == (
        "You said in conversation-1: hello.\n\n",
        "",
        0,
    )


def test_what_is_piped_in_stands_behind_the_question(chats: Chats) -> None:
    ask(chats, "print", "What is it?", piped="one\ntwo\n")
    ask(chats, "print", "", piped="only this\n")
    asked = [each["text"] for each in chats.received("palimpsest/chat")]
    assert asked == ["What is it?\n\none\ntwo", "only this"]


def test_json_is_one_object_that_says_how_it_ended(chats: Chats) -> None:
    out, err, code = ask(chats, "json", "tools")
    answer = json.loads(out)
    assert (err, code) == (
        "The model stopped at its output limit, so the answer is incomplete. /continue goes on.\n",
        0,
    )
    assert answer["text"] == "Looking.\nFound it."
    assert answer["model"] == "scripted-1"
    assert answer["conversation_id"] == "conversation-1"
    assert (answer["status"], answer["stop_reason"]) == ("committed", "output_limit")
    assert answer["usage"]["used_tokens"] == 2100
    assert answer["usage"]["by_kind"][0] == {"kind": "messages", "tokens": 2000}


@pytest.mark.parametrize(
    ("which", "question", "said"),
    [
        ("json", "fail", "The provider is overloaded; try again later."),
        ("json", "/usage", "--json is for questions"),
        ("json", "", "There is no question."),
        ("print", "", "There is no question."),
        ("resume=7", "hello", "with a number or a title"),
    ],
)
def test_a_failure_is_a_sentence_on_stderr_and_no_json(chats: Chats, which: str, question: str, said: str) -> None:
    out, err, code = ask(chats, which, question)
    assert said in err
    assert code == 1
    assert "{" not in out


def test_a_command_can_be_run_and_a_conversation_chosen(chats: Chats) -> None:
    assert ask(chats, "print", "/usage", "--conversations", "1")[0] == "Ran /usage\n\n"
    assert ask(chats, "resume=Title 2", "hello", "--conversations", "3")[0].startswith("You said in conversation-2")


@pytest.mark.parametrize(
    ("words", "is_one_shot", "meant"),
    [
        ((None, None), False, (".", "")),
        (("{folder}", None), False, ("{folder}", "")),
        (("{folder}", "why?"), False, ("{folder}", "why?")),
        (("What is it?", None), False, (".", "What is it?")),
        (("mistyped", None), False, ("mistyped", "")),
        (("mistyped", None), True, (".", "mistyped")),
    ],
)
def test_a_folder_is_told_from_a_question(
    tmp_path: Path, words: tuple[str | None, str | None], is_one_shot: bool, meant: tuple[str, str]
) -> None:
    first, second = (word and word.format(folder=tmp_path) for word in words)
    folder, question = _meant(first, second, is_one_shot)
    assert (str(folder), question) == (meant[0].format(folder=tmp_path), meant[1])
