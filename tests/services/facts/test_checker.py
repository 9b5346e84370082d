"""Many files are checked in a process, with the same result as on a thread; without a process a thread does the work,
and no process is left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from palimpsest.domain.facts.fact import FactId, FactState, Span
from palimpsest.services.facts.checker import MANY_FILES, MOST_PROCESSES, PlaceChecker
from palimpsest.services.facts.checks import News, SourceFile, check_links
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.storage.facts.sources import Link

WAIT_S = 60


@pytest.fixture
async def checker() -> AsyncIterator[PlaceChecker]:
    made = PlaceChecker()
    yield made
    await made.close()


def text(number: int) -> str:
    return f"# Part {number}.\n\ndef part_{number}(x):\n    y = x + {number}\n    return y * {number}\n"


def filled(root: Path, n_files: int) -> list[Link]:
    """Links to a function in each of `n_files` files, which hold what the links are tied to."""
    links = []
    for number in range(n_files):
        path = f"part_{number}.py"
        (root / path).write_text(text(number))
        tie = SourceFile.of(path, text(number).encode()).tie(Span(3, 5), "")
        links.append(Link(number, FactId(number), tie.version, tie.anchor, "", tie.span, FactState.FRESH))
    return links


def states(found: list[News]) -> dict[int, FactState]:
    return {news.now.link.id: news.now.state for news in found}


async def test_the_process_finds_what_a_thread_finds(tmp_path: Path, checker: PlaceChecker) -> None:
    links = filled(tmp_path, MANY_FILES)
    (tmp_path / "part_1.py").write_text(text(1).replace("y * 1", "y - 1"))
    (tmp_path / "part_2.py").write_text("import math\n" + text(2))
    (tmp_path / "part_3.py").unlink()
    (tmp_path / "part_4.py").rename(tmp_path / "renamed.py")
    files = WorkspaceFiles(tmp_path)
    found = await asyncio.wait_for(checker.check(files, links), WAIT_S)
    (pid,) = checker.pids
    assert pid != os.getpid()
    assert found == check_links(files, links)
    assert states(found) == {
        1: FactState.CHANGED,
        2: FactState.MOVED,
        3: FactState.MISSING,
        4: FactState.MOVED,
    }
    assert await asyncio.wait_for(checker.check(files, links), WAIT_S) == found
    assert checker.pids == {pid}
    both = await asyncio.wait_for(asyncio.gather(checker.check(files, links), checker.check(files, links)), WAIT_S)
    assert list(both) == [found, found]
    assert pid in checker.pids
    assert len(checker.pids) == MOST_PROCESSES


async def test_few_files_need_no_process(tmp_path: Path, checker: PlaceChecker) -> None:
    links = filled(tmp_path, 2)
    (tmp_path / "part_1.py").unlink()
    found = await asyncio.wait_for(checker.check(WorkspaceFiles(tmp_path), links), WAIT_S)
    assert (states(found), checker.pids) == ({1: FactState.MISSING}, set())


@pytest.mark.parametrize("command", [("/nonexistent/python",), (sys.executable, "-c", "print('no answer')")])
async def test_without_the_process_a_thread_does_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    links = filled(tmp_path, MANY_FILES)
    (tmp_path / "part_7.py").unlink()
    checker = PlaceChecker(command)
    found = await asyncio.wait_for(checker.check(WorkspaceFiles(tmp_path), links), WAIT_S)
    assert (states(found), checker.pids) == ({7: FactState.MISSING}, set())
    await checker.close()


async def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next(
    tmp_path: Path, checker: PlaceChecker
) -> None:
    links = filled(tmp_path, MANY_FILES)
    files = WorkspaceFiles(tmp_path)
    (tmp_path / "part_5.py").unlink()
    await asyncio.wait_for(checker.check(files, links), WAIT_S)
    given_up = asyncio.create_task(checker.check(files, links))
    while checker.pids:  # noqa: ASYNC110  # nothing tells that it works
        await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    (tmp_path / "part_5.py").write_text(text(5))
    (tmp_path / "part_6.py").unlink()
    assert states(await asyncio.wait_for(checker.check(files, links), WAIT_S)) == {6: FactState.MISSING}


async def test_closing_ends_the_process(tmp_path: Path) -> None:
    checker = PlaceChecker()
    await asyncio.wait_for(checker.check(WorkspaceFiles(tmp_path), filled(tmp_path, MANY_FILES)), WAIT_S)
    (pid,) = checker.pids
    await asyncio.wait_for(checker.close(), WAIT_S)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_hundreds_of_renamed_files_are_found_again(tmp_path: Path, checker: PlaceChecker) -> None:
    links = filled(tmp_path, 600)
    (tmp_path / "moved").mkdir()
    for number in range(600):
        (tmp_path / f"part_{number}.py").rename(tmp_path / f"moved/{number}.py")
    found = await asyncio.wait_for(checker.check(WorkspaceFiles(tmp_path), links), WAIT_S)
    there = {news.now.link.id: news.tie.version.path for news in found if news.tie is not None}
    assert there == {number: f"moved/{number}.py" for number in range(600)}
