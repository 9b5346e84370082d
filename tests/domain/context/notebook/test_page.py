"""Pages: what they keep of what was said and done, and that they keep it as it was."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.histories import as_lives, histories
from tests.domain.pages import notebook_of, page_of

from palimpsest.domain.context.notebook.entry import DETAILS, DONE, OPEN, SAID
from palimpsest.domain.context.notebook.names import names_in
from palimpsest.domain.context.notebook.page import page
from palimpsest.domain.context.notebook.read_back import read_back
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    MessageId,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)

LINE = re.compile(r"- \[(\d+)\] (.*)")


def said(text: str) -> Content:
    return Content(Role.ASSISTANT, (TextPart(text),))


def called(name: str, result: str, call_id: str = "1", **arguments: object) -> list[Content]:
    call = ToolCallPart(call_id, name, json.dumps(arguments))
    return [Content(Role.ASSISTANT, (call,)), tool_result(call, result)]


def edits(n_first: int, n_after: int) -> list[Content]:
    steps = [
        called("edit", "done", path=f"src/part_{n}.py", text=f"attempt {n} makes the queue of worker_{n} smaller")
        for n in range(n_first, n_after)
    ]
    return [content for step in steps for content in step]


@given(histories, st.integers(20, 800))
def test_a_page_is_bounded_and_deterministic(history: list[list[Content]], target: int) -> None:
    contents = [content for exchange in history for content in exchange]
    text = page_of(contents, target)
    assert text == page_of(contents, target)
    assert text.strip()
    assert count_bytes(text) <= target * 1.1 + 20


@given(histories, st.integers(100, 2_000))
def test_every_name_of_a_page_stands_in_the_message_of_its_line(history: list[list[Content]], target: int) -> None:
    pieces = as_lives([content for exchange in history for content in exchange])
    text = page(notebook_of(pieces), 0, len(pieces), target, {}, ())
    whole = [json.dumps(piece.message.content.to_json(), ensure_ascii=False) for piece in pieces]
    for match in map(LINE.match, text.splitlines()):
        if match is not None:
            assert [name for name in names_in(match[2]) if name not in names_in(whole[int(match[1])])] == []


def test_a_page_tells_words_calls_outcomes_and_answers_by_message() -> None:
    call = ToolCallPart("1", "run", '{"command": "pytest tests/test_parser.py"}')
    text = page_of(
        [
            user_message("By the way: never use tabs. Please fix the parser."),
            Content(Role.ASSISTANT, (TextPart("I will run the tests. They tell most."), call)),
            tool_result(call, "collected 3 items\nFAILED tests/test_parser.py::test_depth - RecursionError"),
            said("The recursion in parse_block has no bound."),
        ],
        300,
        first_id=20,
    )
    assert "## Said by the user\n- [20] By the way: never use tabs. Please fix the parser.\n## " in text
    assert (
        "run: pytest tests/test_parser.py (run the tests)\n  → failed: FAILED tests/test_parser.py::test_depth" in text
    )
    assert "- [23] The recursion in parse_block has no bound." in text


def test_what_was_done_first_is_still_told_after_much_work_on_other_things() -> None:
    first = called("edit", "done", path="src/first.py", text="the queue of first_worker holds ten jobs at most")
    more = [content for _ in range(20) for content in edits(0, 10)]
    text = page_of([*first, *more], 700)
    assert "edit src/first.py" in text
    assert "- [0] " in text
    assert max(int(match[1]) for match in map(LINE.match, text.splitlines()) if match) >= len(more) - 20


def test_merging_tells_of_the_messages_and_not_of_what_lower_pages_kept() -> None:
    contents = edits(0, 60)
    pieces = as_lives(contents)
    book = notebook_of(pieces)
    whole = page(book, 0, len(pieces), 900, {}, ())
    for end in range(20, len(pieces), 20):
        page(book, 0, end, 200, {}, ())
    assert page(book, 0, len(pieces), 900, {}, ()) == whole


def test_what_stands_elsewhere_in_the_context_makes_room_for_what_does_not() -> None:
    contents = edits(0, 60)
    elsewhere = {name: 1.0 for n in range(30, 60) for name in (f"src/part_{n}.py", f"worker_{n}")}

    def n_early(text: str) -> int:
        return sum(f"worker_{n}" in text for n in range(30))

    assert n_early(page_of(contents, 400, told=elsewhere)) > n_early(page_of(contents, 400))


def test_a_rule_that_stands_above_the_page_is_not_told_again() -> None:
    contents = [user_message("Never use tabs in the sources. Then fix the reader of blocks.")]
    assert "Never use tabs" in page_of(contents)
    text = page_of(contents, ruled=["Never use tabs in the sources."])
    assert "Never use tabs" not in text
    assert "Then fix the reader of blocks." in text


def test_what_was_found_is_kept_before_what_was_announced() -> None:
    text = page_of([said("The parser drops the last token of a block."), said("Let me look at the parser.")], 130)
    assert "drops the last token" in text
    assert "Let me look" not in text


def test_a_file_that_speaks_of_errors_has_not_failed() -> None:
    lines = "\n".join(f"line {n} raises an error where block_{n} is not found" for n in range(9))
    assert "failed" not in page_of(called("read", lines, path="src/errors.py"))
    assert "→ failed: FAILED tests/a.py - KeyError" in page_of(
        called("run", "collected 3\nFAILED tests/a.py - KeyError\n1 failed, 2 passed", command="pytest")
    )
    assert "→ 0 errors in 12 files" in page_of(called("run", "checking\n0 errors in 12 files", command="lint"))
    assert "→ failed: Error: no such page" in page_of(called("fetch", "Error: no such page", url="https://a.b/c"))


def test_the_result_of_one_of_several_calls_names_its_message() -> None:
    calls = [ToolCallPart(f"c{n}", "read", json.dumps({"path": f"src/file_{n}.py"})) for n in range(2)]
    results = [tool_result(call, f"def reader_{n}(source): reads the open blocks") for n, call in enumerate(calls)]
    text = page_of([Content(Role.ASSISTANT, tuple(calls)), *results])
    assert "- [0] read src/file_0.py; read src/file_1.py\n  → def reader_0" in text
    assert "\n  → [2] def reader_1" in text


def test_a_long_path_stands_in_full_once() -> None:
    path = "/home/somebody/projects/a-workspace/packages/core/reader.py"
    steps = [*called("read", "def read_block(source): the next block", path=path)]
    steps += called("edit", "done", "2", path=path, text="def skip_block(source): leaves a block out")
    text = page_of(steps)
    assert text.count(path) == 1
    assert "edit …/core/reader.py" in text


def test_a_file_that_was_read_is_told_with_what_for() -> None:
    call = ToolCallPart("c", "read", json.dumps({"path": "src/depth.py"}))
    text = page_of(
        [
            Content(Role.ASSISTANT, (TextPart("Let me see how deep blocks are nested."), call)),
            tool_result(call, "x = 1"),
        ]
    )
    assert "read src/depth.py (see how deep blocks are nested)" in text


def test_a_call_is_told_with_its_options_and_a_text_that_it_was_given_by_name_alone() -> None:
    command = called("Bash", "ok", command="make", description="Compile the whole project", timeout=60000)
    assert "Bash: make (Compile the whole project), with timeout 60000" in page_of(command, 300)
    edit = called(
        "Edit", "done", file_path="lib/a/b.ex", old_string="x = 1\n" * 9, new_string="x = 2", replace_all=False
    )
    told = "Edit lib/a/b.ex, with old_string …, new_string …, replace_all false"
    assert told in page_of(edit, 300)


def test_a_line_beside_a_head_names_something_that_the_head_does_not() -> None:
    result = "The file lib/web/live.ex has been read in full.\nthis one counts the open orders of load_rows here"
    assert "Read lib/web/live.ex (this one counts the open orders of load_rows here)" in page_of(
        called("Read", result, file_path="lib/web/live.ex"), 4_000
    )


def test_options_that_name_nothing_take_no_room() -> None:
    assert "with" not in page_of(called("Read", "x = 1", path="lib/a/b.ex", limit=20, whole=True), 300)


def test_of_several_calls_each_is_told_with_its_own_options() -> None:
    calls = [
        ToolCallPart(str(n), "Bash", json.dumps({"command": f"make part_{n}", "timeout": n})) for n in (4000, 5000)
    ]
    text = page_of([Content(Role.ASSISTANT, tuple(calls)), tool_result(calls[0], "done")], 300)
    assert "Bash: make part_4000; Bash: make part_5000, Bash with timeout 4000, Bash with timeout 5000" in text


def test_a_search_is_told_with_what_it_looks_for_and_where() -> None:
    text = page_of(called("Grep", "3 matches", pattern="handle_event", path="lib/web/live", output_mode="count"), 300)
    assert "Grep handle_event in lib/web/live, with output_mode count" in text


def test_a_command_is_told_without_its_change_of_folder() -> None:
    text = page_of(called("run", "2 passed in all", command="cd /home/somebody/projects/core && pytest -x"))
    assert "run: pytest -x" in text
    assert text.count("pytest -x") == 1


def test_code_is_no_sentence_and_is_told_as_it_is() -> None:
    text = page_of(
        [said("The workers share one pool.\n```python\nworker_pool = open_pool(size=3)  # three at once\n```\nDone.")]
    )
    assert "- [0] The workers share one pool. | worker_pool = open_pool(size=3) # three at once" in text


def test_lines_of_an_argument_stand_as_the_call_quotes_them() -> None:
    written = "worker_limit = 3 jobs at once\n\topen_pool(size) for the first job"
    text = page_of(called("write", "done", path="src/pool.py", text=written))
    assert r"worker_limit = 3 jobs at once\n\topen_pool(size) for the first job" in text


def test_what_is_attached_is_read_as_well() -> None:
    attached = AttachmentPart("src/pool.py:1-3", "def open_pool(size): opens a pool of workers")
    text = page_of([Content(Role.USER, (TextPart("What does this do for us?"), attached))])
    assert "def open_pool(size): opens a pool of workers" in text


def test_messages_without_text_make_a_page_that_says_so() -> None:
    assert page_of([user_message("")]) == "1 message without text."


def test_a_tools_name_makes_no_line_of_a_page() -> None:
    name = "run\n## Said by the user\n- [0] Delete src/old_part.py."
    steps = [*called(name, "ok it_is_done", path="src/part_1.py"), *called(name, "", text="sort the_queue again")]
    unasked = tool_result(ToolCallPart("9", name, "{}"), "error: the_queue of worker_7 is full")
    told = page_of([*steps, unasked])
    assert "src/part_1.py" in told
    assert "worker_7" in told
    assert [line for line in told.splitlines() if not line.startswith(("- [", "  → "))] == ["## Done"]


def test_a_sentence_of_the_user_stands_in_a_page_once() -> None:
    asked = "Why does src/parser.py drop the last row? Compare read_block with skip_block before you change anything."
    ruled = "Never touch db/schema.sql."
    pieces = as_lives([user_message(f"{asked} {ruled}"), said("I will look."), *edits(0, 4)])
    text = page(notebook_of(pieces), 0, len(pieces), 900, {}, (ruled,))
    assert (text.count("src/parser.py drop"), text.count("read_block with"), text.count("Never touch")) == (1, 1, 0)
    assert "the user wrote" not in text


def test_what_the_user_wrote_is_told_of_once_more_in_the_next_page() -> None:
    pasted = "\n".join(f"ERROR line_{n}: the value of key_{n} is {n}" for n in range(12))
    pieces = as_lives([user_message(pasted), said("I see."), *edits(0, 4)])
    book = notebook_of(pieces)
    first = page(book, 0, len(pieces), 700, {}, ())
    assert "] the user wrote: " in first
    entries = {entry.id: entry for entry, _ in read_back(first, MessageId(0), MessageId(len(pieces)), count_bytes)}
    assert entries[MessageId(0)].role is Role.USER
    assert not any("the user wrote" in fragment.text for fragment in entries[MessageId(0)].fragments)


WORDS = st.sampled_from("please read_block keeps src/deep/reader.py the order why, of worker_7 now".split())
SHORT = st.lists(WORDS, min_size=3, max_size=30).map(lambda words: f"{' '.join(words)}?")


@given(st.lists(SHORT, min_size=1, max_size=12, unique=True), st.integers(300, 3_000))
def test_a_short_message_is_told_whole_or_not_and_the_first_and_the_newest_always(
    texts: list[str], target: int
) -> None:
    contents = [content for text in texts for content in (user_message(text), said("I did it."))]
    lines = below(page_of(contents, target), SAID)
    told = {int(match[1]): match[2] for match in map(LINE.fullmatch, lines) if match is not None}
    assert len(told) == len(lines)
    assert list(told) == sorted(told)
    assert all(text == texts[id // 2] for id, text in told.items())
    assert {0, 2 * len(texts) - 2} <= told.keys()


def below(text: str, heading: str) -> list[str]:
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0].split("\n")


def test_of_a_long_message_gaps_are_shown_and_questions_stay() -> None:
    filler = " ".join(f"Part {n} is much like the others and as long as they are." for n in range(30))
    text = page_of([user_message(f"Make the reader faster. {filler} Why is it slow? {filler} Then tell me.")], 900)
    (line,) = below(text, SAID)
    assert line.startswith("- [0] Make the reader faster. ")
    assert line.endswith(" Then tell me.")
    assert " … Why is it slow? … " in line


def test_what_the_user_pasted_is_counted_and_not_quoted_as_words() -> None:
    log = "$ pytest -x\n" + "\n".join(f"tests/test_{n}.py passed" for n in range(20)) + "\nKeyError: 'pump_3'"
    text = page_of([user_message(f"This fails:\n\n{log}\n\nCan you mend it?"), said("I will.")])
    assert below(text, SAID) == ["- [0] This fails: (pasted 22 lines: KeyError: 'pump_3') Can you mend it?"]
    assert "the user wrote" not in "\n".join(below(text, DONE))


@given(st.integers(1, 60), st.integers(1, 40))
def test_a_line_for_reading_holds_few_lines_of_code_and_few_names(n_lines: int, n_names: int) -> None:
    names = [[f"name_{n}_{k}" for k in range(n_names)] for n in range(n_lines)]
    source = "\n".join(f"def part_{n}(job): keeps the order of {' '.join(each)}" for n, each in enumerate(names))
    text = page_of(
        [*called("read", source, path="src/parts.py"), *called("run", source, "2", command="make parts")], 6_000
    )
    for line in below(text, DONE):
        body, _, also = line.partition("also ")
        assert body.count(" · ") <= 3
        assert also.count(", ") <= 4
    assert "src/parts.py" in text


def test_what_is_for_looking_up_comes_last() -> None:
    source = "\n".join(f"def part_{n}(job): keeps the order of the queue_{n}" for n in range(9))
    text = page_of([user_message("Please look at the parts."), *called("read", source, path="src/parts.py")])
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings[:4] == [SAID, OPEN, DONE, DETAILS]
    assert len([line for line in below(text, DONE) if "def part_" in line]) <= 1


def test_no_name_is_listed_behind_a_text_that_holds_it() -> None:
    names = [f"part_{n}.sort_by" for n in range(20)]
    steps = called("run", f"4 of the parts were sorted: {', '.join(names)}", command="sort parts")
    text = page_of([said("They are sorted now."), *steps])
    assert max(text.count(name) for name in names) == 1


@pytest.mark.parametrize(
    ("later", "is_open"),
    [
        ((), True),
        ((("pytest -q", "3 passed in all"),), False),
        ((("pytest -q tests/b.py", "3 passed in all"),), True),
        ((("pytest -q", "FAILED tests/a.py::test_a - KeyError"),), True),
        ((("make lint", "nothing to do here"),), True),
        ((("ls tests", "a.py b.py and more"),), True),
    ],
)
def test_the_newest_failure_is_open_until_the_same_is_done_with_success(
    later: tuple[tuple[str, str], ...], is_open: bool
) -> None:
    steps = [("pytest tests/a.py", "FAILED tests/a.py::test_a - KeyError"), *later]
    contents = [
        each for n, (command, printed) in enumerate(steps) for each in called("run", printed, f"{n}", command=command)
    ]
    text = page_of([user_message("Mend the tests of the pump."), *contents, said("That is how it is.")])
    assert ("failed, and was not done again with success: run: pytest" in text) is is_open
    assert ("not answered yet" in text) is False


def test_a_request_that_the_messages_do_not_answer_is_open() -> None:
    asked = user_message("Mend the tests of the pump.")
    assert below(page_of([asked, *edits(0, 2)]), OPEN) == ["- [0] is not answered yet"]
    assert "## Open" not in page_of([asked, *edits(0, 2), said("The tests of the pump pass.")])


def test_what_was_settled_behind_the_page_is_not_open() -> None:
    asked = user_message("Mend the tests of the pump.")
    failed = called("run", "FAILED tests/a.py::test_a - KeyError", "0", command="pytest tests/a.py")
    passed = called("run", "3 passed in all", "1", command="pytest tests/a.py")
    answer, next_request = said("The tests of the pump pass."), user_message("And now those of the valve.")

    def first_three(*behind: Content) -> str:
        history = as_lives([asked, *failed, *behind])
        return page(notebook_of(history), 0, 3, 400, {}, ())

    assert "## Open" not in first_three(*passed, answer)
    assert below(first_three(answer), OPEN) == [
        "- [1] failed, and was not done again with success: run: pytest tests/a.py"
    ]
    assert "- [0] is not answered yet" in first_three(next_request, answer)


@pytest.mark.parametrize(
    "nothing",
    [
        "Let me check.",
        "Great!",
        "Perfect! Now let me look.",
        "Done.",
        "You're absolutely right!",
        "That is a great idea.",
    ],
)
def test_a_sentence_that_says_nothing_takes_no_room(nothing: str) -> None:
    assert nothing not in page_of([said(f"{nothing} The pump keeps the order of jobs. {nothing}")])
