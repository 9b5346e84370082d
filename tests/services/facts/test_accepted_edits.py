"""An accepted edit of the model makes no fact stale that its place still supports, whoever sees the edit first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.services.facts.librarians import CODE, librarian_of
from tests.services.scripted import Bench, Opener, calls, says
from tests.services.scripted_editor import SCOPE, ScriptedEditor

from palimpsest.domain.facts.fact import FactState, FactType, Place, Span, StoredFact
from palimpsest.domain.taking_back import ChangeState
from palimpsest.machine import utc_now
from palimpsest.services.facts.accepted_edits import MOST_CHARS, AcceptedEdits
from palimpsest.services.facts.librarian import Librarian
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.edit import EditTool
from palimpsest.services.tools.editors import Editors
from palimpsest.services.tools.toolbox import Toolbox
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage import file_changes
from palimpsest.storage.file_changes import NewChange

EDITED = CODE.replace("return 3.14 * r * r", "assert r >= 0\n    return 3.14 * r * r")
HEAD = "def area(r):\n"
EDIT = {"path": "shapes.py", "edits": [{"old_text": HEAD, "new_text": f"{HEAD}    assert r >= 0\n"}]}
KNOWN = "The function area() in shapes.py multiplies with 3.14."
BROKEN = CODE.replace("3.14", "math.pi")


@pytest.fixture
async def taught(bench: Opener, folder: Path) -> tuple[Bench, Librarian]:
    """A librarian that knows a fact about `area`."""
    b = await bench([])
    librarian = librarian_of(b, folder)
    await librarian.keeper.pin_fact(KNOWN, place=Place("shapes.py", Span(1, 2)))
    return b, librarian


async def states(librarian: Librarian) -> list[FactState]:
    return [source.state for fact in await librarian.keeper.all_facts() for source in fact.sources]


async def look(librarian: Librarian) -> None:
    await librarian.keeper.places.check(["shapes.py"])


async def test_a_place_follows_an_accepted_edit_when_it_is_saved(taught: tuple[Bench, Librarian], folder: Path) -> None:
    _, librarian = taught
    librarian.keeper.places.edits.add("shapes.py", CODE, EDITED)
    await look(librarian)
    assert await states(librarian) == [FactState.FRESH]
    assert [each.state.is_stale for each in await librarian.keeper.places.in_text("shapes.py", EDITED)] == [False]
    (folder / "shapes.py").write_text(EDITED)
    await look(librarian)
    assert await states(librarian) == [FactState.FRESH]
    (fact,) = await librarian.keeper.all_facts()
    assert fact.sources[0].place.span == Span(1, 3)
    (folder / "shapes.py").write_text(BROKEN)
    await look(librarian)
    assert await states(librarian) == [FactState.CHANGED]


async def test_the_same_change_by_anybody_else_is_looked_at(taught: tuple[Bench, Librarian], folder: Path) -> None:
    _, librarian = taught
    (folder / "shapes.py").write_text(EDITED)
    await look(librarian)
    assert await states(librarian) == [FactState.CHANGED]


async def test_a_watcher_that_saw_it_before_it_was_known_is_put_right(
    taught: tuple[Bench, Librarian], folder: Path
) -> None:
    _, librarian = taught
    (folder / "shapes.py").write_text(EDITED)
    await look(librarian)
    librarian.keeper.places.edits.add("shapes.py", CODE, EDITED)
    await look(librarian)
    assert await states(librarian) == [FactState.FRESH]


async def test_an_edit_that_takes_away_what_a_fact_says_makes_it_stale(
    taught: tuple[Bench, Librarian], folder: Path
) -> None:
    _, librarian = taught
    librarian.keeper.places.edits.add("shapes.py", CODE, BROKEN)
    (folder / "shapes.py").write_text(BROKEN)
    await look(librarian)
    assert await states(librarian) == [FactState.CHANGED]


async def test_what_the_user_changes_behind_an_accepted_edit_counts(
    taught: tuple[Bench, Librarian], folder: Path
) -> None:
    _, librarian = taught
    librarian.keeper.places.edits.add("shapes.py", CODE, EDITED)
    (folder / "shapes.py").write_text(EDITED.replace("r >= 0", "r > 1"))
    await look(librarian)
    assert await states(librarian) == [FactState.CHANGED]
    (folder / "shapes.py").write_text("import math\n\n" + EDITED)
    await look(librarian)
    assert await states(librarian) == [FactState.FRESH]


async def test_an_edit_that_was_not_applied_means_nothing(taught: tuple[Bench, Librarian], folder: Path) -> None:
    _, librarian = taught
    edits = librarian.keeper.places.edits
    edits.remove("shapes.py", edits.add("shapes.py", CODE, EDITED))
    (folder / "shapes.py").write_text(EDITED)
    await look(librarian)
    assert await states(librarian) == [FactState.CHANGED]


@pytest.mark.parametrize("is_saved_first", [True, False])
async def test_the_fact_about_the_models_own_edit_is_not_stale_at_once(
    bench: Opener, folder: Path, is_saved_first: bool
) -> None:
    b = await bench([calls(("1", "propose_edit", json.dumps(EDIT))), says("Done.")])
    librarian, editors = librarian_of(b, folder), Editors()
    editors.attach(ScriptedEditor())
    approvals = Approvals(b.store, editors, FolderTrust(True))
    tool = EditTool(librarian.keeper.places.files, editors, approvals, librarian.keeper.places.edits)
    b.session.turns.services = replace(b.session.turns.services, toolbox=Toolbox([lambda _: tool(SCOPE)]))
    assert await b.ask("Check the radius in shapes.py.") == "committed"
    if is_saved_first:
        (folder / "shapes.py").write_text(EDITED)
    await librarian.extract_and_store(b.conversation_id)
    for _ in range(2):
        await look(librarian)
        (change,) = await about_changes(librarian)
        assert {each.state for each in change.sources} == {FactState.FRESH}
        (folder / "shapes.py").write_text(EDITED)
    (folder / "shapes.py").write_text(EDITED.replace("r >= 0", "r > 1"))
    await look(librarian)
    (change,) = await about_changes(librarian)
    assert change.is_stale


@pytest.mark.parametrize("is_saved", [True, False])
async def test_an_accepted_edit_is_known_after_a_restart(
    taught: tuple[Bench, Librarian], folder: Path, is_saved: bool
) -> None:
    bench, librarian = taught
    new = NewChange("1", SCOPE.turn_id, "shapes.py", CODE, EDITED, 1, 0)
    await bench.store.run(file_changes.begin, new, utc_now())
    await bench.store.run(file_changes.settle, ["1"], ChangeState.APPLIED, utc_now())
    after = replace(librarian.keeper.places, edits=AcceptedEdits())
    after.edits.add_stored(await bench.store.read(file_changes.newest, MOST_CHARS))
    if is_saved:
        (folder / "shapes.py").write_text(EDITED)
    await after.check(["shapes.py"])
    assert await states(librarian) == [FactState.FRESH]
    (folder / "shapes.py").write_text(f"import math\n\n{EDITED}")
    await after.check(["shapes.py"])
    assert await states(librarian) == [FactState.FRESH]
    (folder / "shapes.py").write_text(BROKEN)
    await after.check(["shapes.py"])
    assert await states(librarian) == [FactState.CHANGED]


@pytest.mark.parametrize("is_restarted", [True, False])
async def test_an_edit_that_is_taken_back_leaves_older_facts_fresh_and_its_own_stale(
    bench: Opener, folder: Path, is_restarted: bool
) -> None:
    b = await bench([calls(("1", "propose_edit", json.dumps(EDIT))), says("Done.")])
    librarian, editors = librarian_of(b, folder), Editors()
    editors.attach(ScriptedEditor())
    await librarian.keeper.pin_fact(KNOWN, place=Place("shapes.py", Span(1, 2)))
    places = librarian.keeper.places
    tool = EditTool(places.files, editors, Approvals(b.store, editors, FolderTrust(True)), places.edits)
    b.session.turns.services = replace(b.session.turns.services, toolbox=Toolbox([lambda _: tool(SCOPE)]))
    assert await b.ask("Check the radius in shapes.py.") == "committed"
    (folder / "shapes.py").write_text(EDITED)
    await librarian.extract_and_store(b.conversation_id)
    await look(librarian)
    stored = await b.store.read(file_changes.newest, MOST_CHARS)
    if is_restarted:
        await b.store.run(file_changes.settle, [each[0].id for each in stored], ChangeState.TAKEN_BACK, utc_now())
        places = replace(places, edits=AcceptedEdits())
        places.edits.add_stored(await b.store.read(file_changes.newest, MOST_CHARS))
    else:
        places.edits.add("shapes.py", EDITED, CODE, takes_back=True)
    (folder / "shapes.py").write_text(CODE)
    await places.check(["shapes.py"])
    stale = {fact.fact.content == KNOWN: fact.is_stale for fact in await librarian.keeper.all_facts()}
    assert stale == {True: False, False: True}


async def test_the_fact_about_a_new_file_waits_for_what_the_editor_has_not_saved(bench: Opener, folder: Path) -> None:
    """An editor makes the file on disk, empty, and holds its text."""
    edit = {"path": "made.py", "content": EDITED}
    b = await bench([calls(("1", "propose_edit", json.dumps(edit))), says("Done.")])
    librarian, editors = librarian_of(b, folder), Editors()
    editors.attach(ScriptedEditor())
    places = librarian.keeper.places
    tool = EditTool(places.files, editors, Approvals(b.store, editors, FolderTrust(True)), places.edits)
    b.session.turns.services = replace(b.session.turns.services, toolbox=Toolbox([lambda _: tool(SCOPE)]))
    assert await b.ask("Make a file.") == "committed"
    (folder / "made.py").write_text("")
    await librarian.extract_and_store(b.conversation_id)
    for text in ("", EDITED):
        (folder / "made.py").write_text(text)
        await librarian.keeper.places.check(["made.py"])
        (made,) = await about_changes(librarian)
        assert {each.state for each in made.sources} == {FactState.FRESH}


async def about_changes(librarian: Librarian) -> list[StoredFact]:
    return [fact for fact in await librarian.keeper.all_facts() if fact.fact.fact_type is FactType.CODE_STATE]
