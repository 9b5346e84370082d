from __future__ import annotations

from pathlib import Path

from benchmarks.sessions import agreement
from benchmarks.sessions.measures import (
    Cost,
    History,
    held,
    is_orphaned,
    kept_share,
    names_of,
    prefix_tokens,
)
from benchmarks.sessions.recording import Message

GOLDEN = {
    "NUold": 0.371429,
    "NUline": 0.121429,
    "SC": 0.5,
    "prefix": 0.7816,
    "fill": 0.9056,
    "over": 0.266667,
    "orphan": 0.4,
}


def said(text: str, role: str = "assistant") -> Message:
    return {"role": role, "content": text}


def test_the_measures_are_those_of_the_harness_that_defines_them(tmp_path: Path) -> None:
    """The figures are the harness's, for the made-up session: `python -m benchmarks.sessions.agreement FOLDER`."""
    path = tmp_path / "made-up.jsonl"
    agreement.write(agreement.made_up_session(), path)

    found = agreement.ours(path, agreement.CONSTRAINTS, agreement.BUDGET, agreement.STEPS)

    assert {name: round(value, 6) for name, value in found.items()} == GOLDEN


def words(text: str) -> int:
    return len(text.split())


def test_a_name_is_old_when_the_newest_messages_that_fit_have_lost_it() -> None:
    history = History(14, Cost(words))  # a message costs its words and 4
    history.append(said("src/first.py holds load_rows"))
    history.append(said("and src/second.py is new"))
    history.append(said("plus src/third.py"))

    old = history.old_names(said("src/first.py, src/third.py and src/unknown.py"))

    assert old == {"src/first.py"}


def test_a_name_is_told_only_by_a_line_whose_words_stand_in_one_message_with_it() -> None:
    history = History(1, Cost(words))
    history.append(said("The parser in src/first.py fails when rows are empty"))
    history.append(said("Nobody looked after src/second.py since spring"))
    names = names_of("src/first.py src/second.py")

    true = history.told(names, ["src/first.py: parser fails when rows are empty"])
    false = history.told(names, ["src/second.py: parser fails when rows are empty"])
    bare = history.told(names, ["src/first.py, src/second.py"])

    assert true == {"src/first.py"}
    assert not false
    assert not bare
    assert held(names, ["src/first.py, src/second.py"]) == names


def test_a_constraint_is_kept_when_nearly_all_of_its_words_stand_in_one_message() -> None:
    constraints = ["Never rename public functions quickly", "Always answer in one paragraph"]

    together = kept_share(constraints, ["He said: never rename public functions."])
    apart = kept_share(constraints, ["never rename", "public functions quickly"])

    assert (together, apart) == (0.5, 0.0)


def test_a_result_without_its_call_and_a_call_without_its_recorded_result_are_orphans() -> None:
    call: Message = {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "read", "arguments": "{}"}]}
    result: Message = {"role": "tool", "content": "text", "tool_call_id": "1"}
    behind = [said("one"), said("two")]

    assert not is_orphaned([call, result, *behind], {"1"})
    assert is_orphaned([result, *behind], {"1"})
    assert is_orphaned([call, *behind], {"1"})
    assert not is_orphaned([call, *behind], set())  # its result was never recorded
    assert not is_orphaned([*behind, call], {"1"})  # it is only now being carried out


def test_the_prefix_ends_at_the_first_message_that_is_another() -> None:
    before = [("user", "a"), ("assistant", "b"), ("user", "c")]
    now = [("user", "a"), ("assistant", "b"), ("user", "d"), ("user", "c")]

    assert prefix_tokens(before, now, [10, 20, 30, 40]) == 30
