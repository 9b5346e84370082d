"""The lists of a hybrid summary hold names, commands and errors as the originals have them."""

from __future__ import annotations

import pytest
from tests.domain.histories import as_lives

from palimpsest.domain.context.summaries.by_model import names_in, originals_text, problem
from palimpsest.domain.context.summaries.evidence import is_trouble, outcome_of
from palimpsest.domain.context.summaries.hybrid import COMMANDS, ERRORS, FILES, hybrid_text
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.facts.extraction.names import places_in
from palimpsest.domain.messages import Content, Role, ToolCallPart, canonical_json, tool_result, user_message

NUMBERS = "\n".join(str(number) for number in range(400))
RAN = ToolCallPart("1", "run_command", '{"command": ["sh", "-c", "pytest"]}')


def listed(contents: list[Content], heading: str) -> list[str]:
    """The lines under a heading, without their messages' numbers."""
    text = hybrid_text("They worked.", as_lives(contents), 4_000, count_bytes)
    _, _, section = text.partition(f"## {heading}\n")
    return [line.partition("] ")[2] for line in section.split("\n\n")[0].splitlines() if line.startswith("- [")]


@pytest.mark.parametrize(
    "path",
    ["C:\\tmp\\x.txt", "D:\\work\\app\\src\\main.py", "C:/tmp/x.txt", "/srv/gw/main.go", "scripts/build.sh"],
)
def test_a_path_is_listed_as_it_was_written(path: str) -> None:
    call = ToolCallPart("1", "edit", canonical_json({"text": f"see {path} for that"}))
    assert listed([user_message(f"Please fix {path}, and then stop.")], FILES) == [path]
    assert listed([Content(Role.ASSISTANT, (call,)), tool_result(call, f"changed {path}")], FILES) == [path]
    assert names_in(f"in {path}:").paths == (path,)


def test_a_summary_may_name_a_path_that_stands_in_the_arguments_of_a_call() -> None:
    call = ToolCallPart("1", "edit", canonical_json({"path": "C:\\tmp\\x.txt", "text": "one\ntwo"}))
    pieces = as_lives([Content(Role.ASSISTANT, (call,)), tool_result(call, "done")])
    assert problem("I changed C:\\tmp\\x.txt as asked.", originals_text(pieces), 400, count_bytes) is None


def test_a_path_outside_the_folder_is_no_file_of_the_folder() -> None:
    assert places_in("x is 3 in C:\\tmp\\x.txt.", "/work") == ()


@pytest.mark.parametrize(
    ("printed", "outcome"),
    [
        (
            f"E   AssertionError: 3 != 4 in tests/t.py::test_idle\nFAILED tests/t.py\n{NUMBERS}\n[Exit status 2.]",
            "E AssertionError: 3 != 4 in tests/t.py::test_idle; Exit status 2",
        ),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyError: "x"\n[Exit status 1.]',
            'KeyError: "x"; Exit status 1',
        ),
        (f"{NUMBERS}\n[Exit status 3.]", "[Exit status 3.]"),
        ("[Exit status 1. It wrote nothing.]", "[Exit status 1. It wrote nothing.]"),
        ("compiling the crate\nexit code: 101", "compiling the crate; exit code: 101"),
        ("Process exited with code 137", "Process exited with code 137"),
        ("half of it was written\n[It was ended by signal 9.]", "half of it was written; by signal 9"),
        (f"requests.exceptions.ConnectionError: refused {'x' * 400}\n[Exit status 4.]", "…; Exit status 4"),
    ],
)
def test_what_was_raised_and_how_a_command_ended_are_listed(printed: str, outcome: str) -> None:
    (line,) = listed([Content(Role.ASSISTANT, (RAN,)), tool_result(RAN, printed)], ERRORS)
    assert line.startswith("run_command: ")
    assert line.endswith(outcome)


@pytest.mark.parametrize("printed", ["12 tests have passed\n[Exit status 0.]", "exit code 0", "[Exit status 0.]"])
def test_a_command_that_ended_well_is_no_error(printed: str) -> None:
    contents = [Content(Role.ASSISTANT, (RAN,)), tool_result(RAN, printed)]
    assert listed(contents, ERRORS) == []
    assert listed(contents, COMMANDS) == ["sh -c pytest"]


def test_the_outcome_of_a_command_that_ended_well_is_what_it_said() -> None:
    assert outcome_of("12 tests have passed\n[Exit status 0.]", is_command=True) == "12 tests have passed"


def test_a_file_that_defines_an_exception_or_speaks_of_exit_codes_has_not_failed() -> None:
    text = "class TankError(Exception):\n    exit_code = 3\n    def f(self): return 5"
    assert not is_trouble(outcome_of(text, is_command=False), is_command=False)
