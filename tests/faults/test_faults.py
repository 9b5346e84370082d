"""Whatever ends or fails under a server, what an editor was shown is stored, once; a short selection of `make faults`.

Each trial runs the whole `palimpsest serve` over stdio with a real store, and the model in another process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.faults import crowd, misbehaviour, surroundings
from tests.faults.checks import Broken, Seen, check_turns
from tests.faults.lab import Lab
from tests.faults.run import MIN_STATEMENTS
from tests.faults.script import turn_with_tools
from tests.faults.serve import Fault
from tests.faults.trials import error_at, kill_at, kill_at_random, recover, run_turn, statements_of
from tests.slow import slow

# One process for all of them, because making the lab takes longer than most trials.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("faults")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab() -> AsyncIterator[Lab]:
    async with Lab.opened() as opened:
        yield opened


async def test_a_server_killed_at_a_statement_loses_and_doubles_nothing(lab: Lab) -> None:
    lines = await statements_of(lab, turn_with_tools())
    assert len(lines) >= MIN_STATEMENTS, "the trials have lost sight of some statements"
    # Only some: a busy machine makes fewer statements, and the turn must be under way when it is killed.
    began = next(number for number, line in enumerate(lines, 1) if line.startswith("INSERT INTO conversation"))
    faults = [Fault(kill_before=number) for number in (1, began, began + 40, began + 80)]
    commits = [number for number, line in enumerate(lines, 1) if line == "COMMIT" and number < began + 100]
    for fault in (*faults, Fault(kill_after=commits[-1])):
        assert (await kill_at(lab, fault)).was_reached


@pytest.mark.slow
async def test_a_server_killed_at_a_random_moment_loses_and_doubles_nothing(lab: Lab) -> None:
    await kill_at_random(lab, 3)


@pytest.mark.parametrize(("error", "until"), [("io", False), slow("full", True)])
async def test_a_store_that_fails_ends_the_turn_and_not_the_conversation(lab: Lab, error: str, until: bool) -> None:
    fault = Fault(error_at=2, error_among="INSERT INTO step", error=error)
    assert (await error_at(lab, fault, until)).answer == "store"


@pytest.mark.parametrize(
    "name",
    ["hangs", *(slow(each) for each in ("sends half an event", "repeats a call"))],
)
async def test_a_model_that_misbehaves_ends_the_turn_with_its_text_kept(lab: Lab, name: str) -> None:
    outcome = await dict(misbehaviour.cases(lab))[name]()
    assert outcome.answer == misbehaviour.CASES[name][1]


@pytest.mark.parametrize("name", ["a file that must not grow", slow("a clock that runs backwards")])
async def test_surroundings_that_fail_lose_nothing(lab: Lab, name: str) -> None:
    assert (await dict(surroundings.cases(lab))[name]()).was_reached


async def test_two_servers_on_one_folder_leave_no_gap_and_double_nothing(lab: Lab) -> None:
    assert "committed" in (await crowd.interleave(lab, 2, 16, 2)).answer


@pytest.mark.slow
async def test_the_checks_find_what_is_lost_or_not_stored(lab: Lab) -> None:
    place = lab.place()
    async with lab.server(place) as server:
        seen = await run_turn(server, turn_with_tools(), None)
        await server.leave()
    await recover(lab, place, [seen])
    text = next(delta for delta in seen.deltas if delta["type"] == "text")
    more = [{**text, "text": text["text"] + "!"} if delta is text else delta for delta in seen.deltas]
    with pytest.raises(Broken, match="lost"):
        check_turns(place.database, [Seen(seen.script, seen.request_id, more)])
    with pytest.raises(Broken, match="no turn"):
        check_turns(place.database, [Seen(seen.script, "another", seen.deltas)])
    with pytest.raises(Broken, match="repeat"):
        check_turns(place.database, [Seen(seen.script, seen.request_id, [*seen.deltas, text])])
