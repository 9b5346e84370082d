"""Facts in a hub: the last word counts, and what is forgotten stays so."""

from __future__ import annotations

import pytest
from tests.hub.lab import Lab

from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import MOST_FACT_BYTES, FactChange, NewFact

KEY = "0123456789abcdef" * 4


async def test_the_last_word_counts_and_what_is_forgotten_stays_so(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="writer")
    ann, bob = team.hub("ann"), team.hub("bob")
    repository = await ann.repository(team.id, "a" * 40, "example.org/app")
    assert await bob.repository(team.id, "a" * 40, "example.org/app") == repository
    assert (
        await ann.push_facts(team.id, repository, [NewFact(KEY, "open", "first"), NewFact("f" * 64, "open", "other")])
        == 2
    )
    assert await bob.push_facts(team.id, repository, [NewFact(KEY, "open", "first")]) == 2
    assert await bob.push_facts(team.id, repository, [NewFact(KEY, "closed", "again")]) == 3
    assert await ann.facts(team.id, repository, 2) == [FactChange(3, KEY, "closed", team.ids["ann"], "first")]
    assert await ann.push_facts(team.id, repository, [NewFact(KEY, "forgotten", None)]) == 4
    assert await bob.push_facts(team.id, repository, [NewFact(KEY, "open", "first")]) == 4
    assert await bob.facts(team.id, repository, 2) == [FactChange(4, KEY, "forgotten", team.ids["ann"], None)]
    # Who made all forget is on record, once.
    await ann.push_facts(team.id, repository, [NewFact(KEY, "forgotten", None)])
    query = "SELECT member::text, action, subject, detail FROM hub.audit WHERE team = %s"
    assert lab.owner.execute(query, [team.id]).fetchall() == [(team.ids["ann"], "forget", repository, KEY)]


async def test_other_words_under_a_key_stand_beside_those_of_its_first_author(lab: Lab) -> None:
    team = lab.team(ann="writer", bob="writer")
    ann, bob = team.hub("ann"), team.hub("bob")
    repository = await ann.repository(team.id, "b" * 40, "example.org/app")
    await bob.push_facts(team.id, repository, [NewFact(KEY, "open", "junk")])
    assert await ann.push_facts(team.id, repository, [NewFact(KEY, "open", "a fact")]) == 2
    assert await ann.push_facts(team.id, repository, [NewFact(KEY, "open", "a fact")]) == 2
    assert await ann.push_facts(team.id, repository, [NewFact(KEY, "closed", "a fact")]) == 4
    expected = [FactChange(3, KEY, "closed", team.ids["bob"], "junk")]
    expected.append(FactChange(4, KEY, "closed", team.ids["ann"], "a fact"))
    assert await bob.facts(team.id, repository, 0) == expected
    assert await bob.push_facts(team.id, repository, [NewFact(KEY, "forgotten", None)]) == 6
    assert [each.body for each in await bob.facts(team.id, repository, 0)] == [None, None]
    assert await ann.push_facts(team.id, repository, [NewFact(KEY, "open", "a fact")]) == 6


@pytest.mark.parametrize(
    "fact",
    [NewFact(KEY, "open", "x" * (MOST_FACT_BYTES + 1)), NewFact("short", "open", "x"), NewFact(KEY, "open", None)],
)
async def test_what_is_no_fact_is_refused(lab: Lab, fact: NewFact) -> None:
    team = lab.team(ann="writer")
    ann = team.hub("ann")
    repository = await ann.repository(team.id, "", "example.org/app")
    with pytest.raises(HubRefused) as refused:
        await ann.push_facts(team.id, repository, [fact])
    assert refused.value.kind in ("malformed", "too_large")
    assert await ann.facts(team.id, repository, 0) == []
