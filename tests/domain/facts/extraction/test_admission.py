"""A fact is kept once, with its evidence, until its opposite comes; and a folder holds a bounded number of facts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.telling import candidate, in_store
from tests.properties import examples

from palimpsest.domain.facts.extraction.admission import MOST_OPEN, Admission, admit, most_open
from palimpsest.domain.facts.extraction.code_changes import Change, Deed, Touched
from palimpsest.domain.facts.extraction.refusals import Refusal
from palimpsest.domain.facts.fact import LONGEST_FACT, Candidate, FactId, FactType, Origin, Place, Span, StoredFact

ENTITY, DECISION = FactType.ENTITY, FactType.DECISION
CONSTRAINT, CODE_STATE = FactType.CONSTRAINT, FactType.CODE_STATE


def reasons(admission: Admission) -> list[Refusal]:
    return [why for _, why in admission.refused]


def contents(admission: Admission) -> list[str]:
    return [each.fact.content for each in admission.new]


def stored_after(admission: Admission, existing: list[StoredFact]) -> list[StoredFact]:
    closed = {id for id, _ in admission.closes} | set(admission.evicted)
    kept = [replace(each, closed_at="then") if each.id in closed else each for each in existing]
    return kept + in_store(admission.new, len(existing) + 1)


@pytest.mark.parametrize(
    ("proposed", "why"),
    [
        (candidate(ENTITY, "The parser reads files.", quote=" "), Refusal.NO_EVIDENCE),
        (candidate(ENTITY, "The parser."), Refusal.TOO_SHORT),
        (candidate(DECISION, "Use tabs."), Refusal.TOO_SHORT),
        (candidate(ENTITY, "parser reads " * LONGEST_FACT), Refusal.TOO_LONG),
        (candidate(ENTITY, "It contains the main parser struct."), Refusal.NO_SUBJECT),
        (candidate(DECISION, "This makes parser errors readable."), Refusal.NO_SUBJECT),
        (candidate(CONSTRAINT, "Never deploy servers on Fridays.", origin=Origin.TOOL), Refusal.NOT_FROM_THE_USER),
        (candidate(CONSTRAINT, "Never deploy servers on Fridays.", origin=Origin.ASSISTANT), Refusal.NOT_FROM_THE_USER),
        (candidate(DECISION, "We chose Redis over Memcached.", origin=Origin.TOOL), Refusal.NOT_FROM_THE_USER),
    ],
)
def test_what_has_no_grounds_no_words_or_no_subject_is_refused(proposed: Candidate, why: Refusal) -> None:
    admission = admit([proposed], [])
    assert reasons(admission) == [why]
    assert admission.new == ()


def test_a_rule_of_the_user_is_kept_however_short() -> None:
    rule = candidate(CONSTRAINT, "Use tabs.")
    assert admit([rule], []).new == (rule,)


def test_a_decision_the_user_agreed_to_and_a_statement_of_a_tool_are_kept() -> None:
    proposed = [
        candidate(DECISION, "We chose Redis over Memcached.", origin=Origin.ASSISTANT),
        candidate(ENTITY, "The server listens on port 8080.", origin=Origin.TOOL),
    ]
    assert admit(proposed, []).new == tuple(proposed)


@pytest.mark.parametrize(
    "again",
    [
        "Never deploy the servers on Fridays.",
        "never deploy the servers on fridays!",
        "Please never deploy the servers on Fridays.",
    ],
)
def test_what_is_known_is_a_duplicate(again: str) -> None:
    known = in_store([candidate(CONSTRAINT, "Never deploy the servers on Fridays.")])
    said = candidate(CONSTRAINT, again, message_id=7)
    assert admit([said], known).duplicates == ((said, FactId(1)),)


@pytest.mark.parametrize(
    "other",
    [
        "The parser module waits 20 seconds for each answer from the server.",
        "The parser module waits not 10 seconds for each answer from the server.",
        "The lexer module waits 10 seconds for each answer from the server.",
    ],
)
def test_another_number_name_or_a_not_is_another_fact(other: str) -> None:
    first = candidate(
        ENTITY, "The parser module waits 10 seconds for each answer from the server.", entities=("parser",)
    )
    entities = ("lexer",) if "lexer" in other else ("parser",)
    said = candidate(ENTITY, other, message_id=7, entities=entities)
    assert admit([said], in_store([first])).new == (said,)


def test_two_candidates_that_say_the_same_are_kept_once() -> None:
    proposed = [candidate(ENTITY, "The server listens on port 8080.", message_id=id) for id in (1, 2)]
    admission = admit(proposed, [])
    assert (admission.new, reasons(admission)) == ((proposed[0],), [Refusal.REPEATED])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ((CONSTRAINT, "Indent all code with tabs."), (CONSTRAINT, "Indent all code with spaces.")),
        ((CONSTRAINT, "Always write tests before code."), (CONSTRAINT, "Never write tests before code.")),
        ((DECISION, "We will use npm for packages."), (DECISION, "We will use yarn instead of npm.")),
        (
            (DECISION, "Let's go with threads for background workers."),
            (DECISION, "Let's use asyncio rather than threads."),
        ),
        ((CONSTRAINT, "Keep functions under 40 lines."), (CONSTRAINT, "Keep functions under 60 lines.")),
    ],
)
def test_a_later_rule_closes_the_one_that_cannot_be_followed_with_it(
    older: tuple[FactType, str], newer: tuple[FactType, str]
) -> None:
    known = in_store([candidate(*older)])
    said = candidate(*newer, message_id=7)
    admission = admit([said], known)
    assert admission.closes == ((FactId(1), said),)
    in_one = admit([candidate(*older), said], [])
    assert (in_one.new, reasons(in_one)) == ((said,), [Refusal.OVERTAKEN])


def test_rules_that_can_both_be_followed_stay_and_pins_are_never_closed() -> None:
    known = in_store(
        [
            candidate(CONSTRAINT, "Never deploy servers on Fridays."),
            candidate(FactType.PINNED, "Indent all code with tabs."),
        ]
    )
    said = [
        candidate(CONSTRAINT, "Write commit messages in English.", message_id=7),
        candidate(CONSTRAINT, "Indent all code with spaces.", message_id=7),
    ]
    assert admit(said, known).closes == ()


def test_a_rule_said_again_after_it_was_closed_holds_again() -> None:
    known = [replace(in_store([candidate(CONSTRAINT, "Never deploy servers on Fridays.")])[0], closed_at="then")]
    said = candidate(CONSTRAINT, "Never deploy servers on Fridays.", message_id=7)
    assert admit([said], known).new == (said,)
    same_words = candidate(CONSTRAINT, "Never deploy servers on Fridays.")
    assert admit([same_words], known).duplicates == ((same_words, FactId(1)),)


def change(text: str, message_id: int, *places: Place) -> Candidate:
    return candidate(CODE_STATE, text, quote=text, origin=Origin.ASSISTANT, message_id=message_id, places=places)


def test_what_was_done_to_a_file_is_one_fact_the_newest() -> None:
    known = in_store([change("`src/a.py`: added `one`, `two`.", 1), change("`src/b.py`: added `one`.", 2)])
    admission = admit([change("`src/a.py`: changed `one`; removed `two`; renamed `x` to `three`.", 3)], known)
    assert contents(admission) == ["`src/a.py`: added `one`; removed `two`; renamed `x` to `three`."]
    assert [id for id, _ in admission.closes] == [1]
    assert {place.symbol for place in admission.new[0].places} == {"one", "three"}


def test_a_state_told_freely_replaces_what_was_told_of_the_same_symbol_or_lines() -> None:
    known = in_store(
        [
            change("The loader reads YAML files.", 1, Place("a.py", symbol="load")),
            change("The writer writes TOML files.", 1, Place("a.py", Span(10, 20))),
            change("The checker checks JSON files.", 1, Place("a.py", Span(30, 40))),
        ]
    )
    said = [
        change("The loader reads TOML files only.", 2, Place("a.py", symbol="load")),
        change("The writer was removed entirely yesterday.", 2, Place("a.py", Span(15, 16))),
    ]
    assert [id for id, _ in admit(said, known).closes] == [1, 2]


def test_a_folder_holds_so_many_facts_and_rulings_outlast_the_rest() -> None:
    ruling = candidate(DECISION, "We chose Redis over Memcached.")
    others = [
        candidate(ENTITY, f"Server{number} listens on port{number} alone.", message_id=number) for number in range(9)
    ]
    used = replace(in_store([candidate(ENTITY, "The parser reads every file.", message_id=99)], 2)[0], n_uses=3)
    known = [*in_store([ruling]), used, *in_store(others[:6], 3)]
    admission = admit(others[6:], known, cap=5)
    assert admission.evicted == (3, 4, 5, 6, 7, 8)
    assert contents(admission) == [each.fact.content for each in others[6:]]
    assert len([each for each in stored_after(admission, known) if each.is_open]) == 5
    assert reasons(admit(others, [], cap=2)) == [Refusal.NO_ROOM] * 7


def test_the_cap_grows_with_the_folder() -> None:
    assert [most_open(n) for n in (0, 200, 400)] == [MOST_OPEN, MOST_OPEN, 2 * MOST_OPEN]


def test_what_was_overtaken_does_not_come_back_when_its_message_is_read_again() -> None:
    proposed = [
        candidate(CONSTRAINT, "Indent all code with tabs.", message_id=3),
        candidate(CONSTRAINT, "Indent all code with spaces.", message_id=3),
    ]
    first = admit(proposed, [])
    again = admit(proposed, stored_after(first, []))
    assert (again.new, again.closes, again.duplicates) == ((), (), ((proposed[1], FactId(1)),))
    assert reasons(again) == [Refusal.OVERTAKEN]


_SUBJECTS = st.sampled_from(["parser", "cache", "`load`", "server", "tests", "npm"])
_RULES = st.builds("{} {} {} in every {}.".format, st.sampled_from(["Never use", "Always use", "Indent with"]),
                   _SUBJECTS, st.sampled_from(["tabs", "spaces", "40 lines", "yarn"]), _SUBJECTS)  # fmt: skip
_STATES = st.builds(
    "`src/{}.py`: {} `{}`.".format,
    st.sampled_from("ab"),
    st.sampled_from(["added", "changed", "removed"]),
    st.sampled_from(["one", "two", "three"]),
)
_CANDIDATES = st.lists(
    st.one_of(
        st.builds(candidate, st.sampled_from([CONSTRAINT, DECISION]), _RULES, message_id=st.integers(0, 3)),
        st.builds(candidate, st.just(ENTITY), _RULES, message_id=st.integers(0, 3)),
        st.builds(change, _STATES, st.integers(0, 3)),
    ),
    max_size=8,
)


@examples(60)
@given(earlier=_CANDIDATES, proposed=_CANDIDATES)
def test_admitting_the_same_again_gives_nothing_but_duplicates(
    earlier: list[Candidate], proposed: list[Candidate]
) -> None:
    known = stored_after(admit(earlier, []), [])
    first = admit(proposed, known)
    assert first == admit(proposed, known)
    again = admit(proposed, stored_after(first, known))
    assert (again.closes, again.evicted) == ((), ())
    assert again.new == ()


_TOUCHED = st.builds(Touched, st.sampled_from(["a", "bb", "ccc", "d_d"]), st.sampled_from(list(Deed)[:3]))
_CHANGES = st.builds(
    lambda touched, notes, is_created: Change("src/a.py").followed_by(
        Change("src/a.py", is_created, tuple({each.symbol: each for each in touched}.values()), tuple(notes))
    ),
    st.lists(_TOUCHED, max_size=5),
    st.lists(st.sampled_from(["add `x` to the list", "use the client"]), max_size=2, unique=True),
    st.booleans(),
)


@given(change=_CHANGES, later=_CHANGES)
def test_a_change_is_read_back_from_its_text_and_following_twice_is_following_once(
    change: Change, later: Change
) -> None:
    both = change.followed_by(later)
    assert both.followed_by(later) == both
    for each in (change, both):
        assert not each.says_something or Change.read(each.text) == each
    assert Change.read("The parser reads files.") is None
