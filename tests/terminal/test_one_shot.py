"""One question and its answer: on stdout for a person or a program, and what went wrong on stderr."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.terminal.chats import TIMEOUT_S, Chats

from palimpsest.cli.chat import _meant
from palimpsest.terminal import texts


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
    assert answer["error"] is None


@pytest.mark.parametrize(
    ("which", "question", "said", "answered"),
    [
        ("print", "fail", "The provider is overloaded; try again later.", "half of"),
        ("print", "", "There is no question.", ""),
        ("print", "  ", "There is no question.", ""),
        ("resume=7", "hello", "as `palimpsest export` does in a shell", ""),
    ],
)
def test_a_failure_is_a_sentence_on_stderr(chats: Chats, which: str, question: str, said: str, answered: str) -> None:
    out, err, code = ask(chats, which, question)
    assert said in err
    assert (out.strip(), code) == (answered, 1)


@pytest.mark.parametrize(
    ("question", "error", "text", "conversation"),
    [
        (
            "fail",
            {"message": "The provider is overloaded; try again later.", "kind": "overloaded", "retryable": True},
            "half of ",
            "conversation-1",
        ),
        ("/usage", {"message": texts.NO_JSON, "kind": None, "retryable": False}, "", None),
        ("", {"message": texts.NO_QUESTION, "kind": None, "retryable": False}, "", None),
    ],
)
def test_json_of_a_failure_has_the_keys_of_an_answer(
    chats: Chats, question: str, error: dict[str, Any], text: str, conversation: str | None
) -> None:
    whole, _, _ = ask(chats, "json", "tools")
    out, err, code = ask(chats, "json", question)
    failed = json.loads(out)
    assert (failed.keys(), code) == (json.loads(whole).keys(), 1)
    assert failed["error"] == error
    assert error["message"] in err
    assert (failed["text"], failed["status"], failed["conversation_id"]) == (text, "errored", conversation)


@pytest.mark.parametrize("scene", ["--crash", "--version=999"])
def test_json_is_one_object_also_without_a_server(chats: Chats, scene: str) -> None:
    out, err, code = ask(chats, "json", "hello", scene)
    failed = json.loads(out)
    assert failed["error"]["message"] in err
    assert (failed["status"], failed["conversation_id"], code) == ("errored", None, 1)


def test_a_command_can_be_run_and_a_conversation_chosen(chats: Chats) -> None:
    assert ask(chats, "print", "/usage", "--conversations", "1")[0] == "Ran /usage\n\n"
    assert ask(chats, "resume=Title 2", "hello", "--conversations", "3")[0].startswith("You said in conversation-2")


@pytest.mark.parametrize("is_wanted", [True, False])
def test_the_servers_log_goes_to_a_file_that_stderr_leads_to_when_it_is_wanted(chats: Chats, is_wanted: bool) -> None:
    done = subprocess.run(
        chats.command(which="print:log"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=chats.environment() | ({"CONTEXT_DEBUG": "true"} if is_wanted else {}),
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stderr == (b"context-guard/loop-init step=0\n" if is_wanted else b"")


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
