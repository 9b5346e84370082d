"""How a call came out, as its result says it; and the paths that a model's summary may name."""

from __future__ import annotations

import pytest
from tests.domain.histories import as_lives
from tests.domain.pages import page_of

from palimpsest.domain.context.notebook.evidence import bounded_lines, has_failed, outcome_in
from palimpsest.domain.context.summaries.by_model import names_in, originals_text, problem
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.facts.extraction.names import places_in
from palimpsest.domain.messages import Content, Role, ToolCallPart, canonical_json, tool_result

NUMBERS = "\n".join(str(number) for number in range(400))
RAN = ToolCallPart("1", "run_command", '{"command": ["sh", "-c", "pytest"]}')


def outcome_of(text: str, *, is_command: bool) -> str:
    return outcome_in(bounded_lines(text), is_command=is_command)


@pytest.mark.parametrize(
    "path",
    ["C:\\tmp\\x.txt", "D:\\work\\app\\src\\main.py", "C:/tmp/x.txt", "/srv/gw/main.go", "scripts/build.sh"],
)
def test_a_path_is_a_name_as_it_was_written(path: str) -> None:
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
def test_what_was_raised_and_how_a_command_ended_are_told(printed: str, outcome: str) -> None:
    said = outcome_of(printed, is_command=True)
    assert said.endswith(outcome)
    assert has_failed(bounded_lines(printed), is_command=True)
    assert "→ failed: " in page_of([Content(Role.ASSISTANT, (RAN,)), tool_result(RAN, printed)])


@pytest.mark.parametrize("printed", ["12 tests have passed\n[Exit status 0.]", "exit code 0", "[Exit status 0.]"])
def test_a_command_that_ended_well_is_no_error(printed: str) -> None:
    assert not has_failed(bounded_lines(printed), is_command=True)
    assert "failed" not in page_of([Content(Role.ASSISTANT, (RAN,)), tool_result(RAN, printed)])


@pytest.mark.parametrize(
    ("printed", "has"),
    [
        ("✓ it throws\n✓ not found is an error\n18 pass\n0 fail", False),
        ("17 pass\n1 fail", True),
        ("docs/plan.md:12: ## Error Handling\ndocs/plan.md:40: failed requests are tried again", False),
        ("0a78e23 feat: Improve error handling\n1b2c3d4 fix: a failed start", False),
        ("cc -c src/error.c -o build/error.o", False),
        ("bash: uvx: command not found", True),
        ("error[E0308]: mismatched types", True),
        ("FAILED tests/t.py::test_idle", True),
        ("Build failed", True),
        ("Traceback (most recent call last):", True),
        ("src/a.py:3: raise ValueError", False),
    ],
)
def test_a_command_has_failed_where_it_says_so_itself(printed: str, has: bool) -> None:
    assert has_failed(bounded_lines(printed), is_command=True) is has


def test_the_outcome_of_a_command_that_ended_well_is_what_it_said() -> None:
    assert outcome_of("12 tests have passed\n[Exit status 0.]", is_command=True) == "12 tests have passed"


def test_a_file_that_defines_an_exception_or_speaks_of_exit_codes_has_not_failed() -> None:
    text = "class TankError(Exception):\n    exit_code = 3\n    def f(self): return 5"
    assert not has_failed(bounded_lines(text), is_command=False)
