"""A fact goes stale with its place in a file and fresh again with it, wherever the file goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.services.facts.librarians import CODE, librarian_of
from tests.services.scripted import Opener

from palimpsest.domain.errors import NotFound
from palimpsest.domain.facts.fact import FactFilter, FactState, Place, Span
from palimpsest.services.facts.places import Checked


async def test_a_pinned_fact_goes_stale_with_its_lines_and_fresh_again_with_them(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    fact = await keeper.pin_fact("Areas are computed with a short pi.", place=Place("shapes.py", Span(1, 2)))
    file = folder / "shapes.py"
    file.write_text("import math\n\n" + CODE)
    assert (await keeper.places.check(["shapes.py"])).changed == set()
    (source,) = (await keeper.get(fact.id)).sources
    assert (source.state, source.place.span) == (FactState.FRESH, Span(3, 4))
    file.write_text("import math\n\n" + CODE.replace("3.14", "math.pi"))
    assert (await keeper.places.check(["shapes.py"])).changed == {fact.id}
    assert [each.id for each in await keeper.select(FactFilter(is_stale=True))] == [fact.id]
    file.write_text("import math\n\n" + CODE)
    assert (await keeper.places.check(["shapes.py"])).changed == {fact.id}
    assert (await keeper.counts()).n_stale == 0


async def test_a_file_that_is_renamed_is_found_again_by_what_it_holds(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    fact = await keeper.pin_fact("Doubling is a function of its own.", place=Place("shapes.py", Span(5, 6)))
    (folder / "geometry").mkdir()
    (folder / "shapes.py").rename(folder / "geometry/circles.py")
    assert (await keeper.places.check(["shapes.py"])).changed == set()
    (source,) = (await keeper.get(fact.id)).sources
    assert (source.place.path, source.state) == ("geometry/circles.py", FactState.FRESH)


async def test_a_stale_place_goes_along_when_its_file_is_renamed(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    body = "\n".join(f"total_{n} = {n} * width + {n + 1}" for n in range(1, 9))
    old, new = folder / "lengths.py", folder / "widths.py"
    old.write_text(f"{body}\n")
    kept = await keeper.pin_fact("The first total is a width.", place=Place("lengths.py", Span(1, 2)))
    lost = await keeper.pin_fact("The last total is eightfold.", place=Place("lengths.py", Span(8, 8)))
    old.unlink()
    new.write_text(f"{body.replace('total_8 = 8 * width', 'none = depth')}\n")
    assert (await keeper.places.check(["lengths.py"])) == Checked(frozenset({lost.id}), has_moved=True)
    found = {fact.id: fact.sources[0] for fact in await keeper.all_facts()}
    assert {(each.place.path, each.state) for each in (found[kept.id], found[lost.id])} == {
        ("widths.py", FactState.FRESH),
        ("widths.py", FactState.MISSING),
    }
    new.write_text(f"{body}\n")
    assert (await keeper.places.check(["widths.py"])).changed == {lost.id}
    assert (await keeper.get(lost.id)).sources[0].state is FactState.FRESH


async def test_a_file_that_is_no_text_is_found_again_by_its_bytes(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    (folder / "logo.png").write_bytes(b"\x89PNG\x00\xff")
    fact = await keeper.pin_fact("The logo is blue.", place=Place("logo.png"))
    (folder / "logo.png").rename(folder / "brand.png")
    assert (await keeper.places.check(["logo.png"])).changed == set()
    (source,) = (await keeper.get(fact.id)).sources
    assert (source.place.path, source.state) == ("brand.png", FactState.FRESH)
    (folder / "brand.png").write_text("a text now\n")
    assert (await keeper.places.check(["brand.png"])).changed == {fact.id}


async def test_a_fact_rests_on_a_place_once_however_it_came_to_be_there(bench: Opener, folder: Path) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    said, place = "Areas are computed with a short pi.", Place("shapes.py", Span(1, 2))
    await keeper.pin_fact(said, place=place)
    assert len((await keeper.pin_fact(said, place=place)).sources) == 1
    (folder / "shapes.py").write_text(CODE.replace("3.14", "math.pi"))
    await keeper.places.check(["shapes.py"])
    (folder / "shapes.py").write_text("import math\n\n" + CODE)
    fact = await keeper.pin_fact(said, place=Place("shapes.py", Span(3, 4)))
    assert len(fact.sources) == 2
    await keeper.places.check(["shapes.py"])
    assert len((await keeper.get(fact.id)).sources) == 1


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", ".env"])
async def test_a_fact_rests_on_no_file_that_may_not_be_read(bench: Opener, folder: Path, path: str) -> None:
    keeper = librarian_of(await bench([]), folder).keeper
    (folder / ".env").write_text("KEY=1")
    (folder.parent / "outside.py").write_text(CODE)
    with pytest.raises(NotFound):
        await keeper.pin_fact("It rests on a secret.", place=Place(path))


async def test_switching_to_another_branch_and_back_leaves_nothing_stale(bench: Opener, folder: Path) -> None:
    """Files that are other there, gone there, or have another name there."""
    keeper = librarian_of(await bench([]), folder).keeper
    here = {"shapes.py": CODE, "gone.py": CODE.replace("area", "volume"), "old.py": CODE.replace("twice", "thrice")}
    there = {"shapes.py": CODE.replace("3.14", "3.2"), "new.py": here["old.py"]}
    for name, text in here.items():
        (folder / name).write_text(text)
        await keeper.pin_fact(f"What {name} holds is about shapes.", place=Place(name, Span(1, 2)))

    async def check_out(files: dict[str, str]) -> int:
        for name in {*here, *there} - set(files):
            (folder / name).unlink(missing_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        await keeper.places.check({*here, *there})
        return (await keeper.counts()).n_stale

    assert await check_out(there) == 2
    assert await check_out(here) == 0
    assert {source.place.path for fact in await keeper.all_facts() for source in fact.sources} == set(here)
