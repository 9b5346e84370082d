"""Checkouts of one repository, each with its member and store, for tests of shared facts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.hub.lab import TestTeam

from palimpsest.domain.facts.fact import Fact, FactFilter, FactId, FactState, FactType, Place, StoredFact
from palimpsest.machine import utc_now
from palimpsest.services.chat.commands.run import run_command
from palimpsest.services.chat.commands.scope import Scope
from palimpsest.services.folder.folders import Folders
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.repository_facts import FactsPlan, RepositoryFacts
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.sql import execute

T = TypeVar("T")

REMOTE = "git@example.org:birds/heron.git"
CODE = "def wade():\n    return 'reeds'\n\n\ndef fly():\n    return 'sky'\n"
WADE = "wade answers with the reeds."
FLY = "fly answers with the sky."


@dataclass(slots=True)
class Checkout:
    """A member's checkout of the repository, with the folder that is open in it."""

    folders: Folders
    top: Path
    root: Path
    team: TestTeam

    async def shared(self) -> RepositoryFacts:
        return (await self.folders.get(self.root)).folder.sharing.require_facts()

    async def plan(self) -> FactsPlan:
        shared = await self.shared()
        return await shared.plan(await publication.team(shared.sharing, self.team.name))

    async def share(self, choice: str | None = None) -> None:
        await (await self.shared()).share(await self.plan(), choice)

    async def look(self) -> None:
        """One look of the watch."""
        watch = (await self.folders.get(self.root)).folder.sharing.watch
        assert watch is not None
        await watch.look()

    async def type(self, text: str) -> str:
        return (await run_command(Scope(await self.folders.get(self.root), None), text)).text

    async def run(self, do: Callable[..., T], *arguments: object) -> T:
        return await (await self.folders.get(self.root)).folder.store.run(do, *arguments)

    async def note(
        self, text: str, *places: Place, type: FactType = FactType.ENTITY, entities: tuple[str, ...] = ()
    ) -> FactId:
        """Stores a fact of one's own, as the librarian does."""
        keeper = (await self.folders.get(self.root)).folder.facts.keeper
        ties = [tie for found in await keeper.places.tie(places) for tie in found]
        assert len(ties) == len(places)

        def write() -> FactId:
            fact_id = facts.add(Fact(type, text, entities), 1, None, utc_now())
            for tie in ties:
                fact_sources.add(fact_id, tie.version, tie.anchor, tie.symbol, tie.span, utc_now())
            return fact_id

        return await self.run(write)

    async def facts(self, *, includes_closed: bool = False) -> list[StoredFact]:
        keeper = (await self.folders.get(self.root)).folder.facts.keeper
        return (await keeper.select(FactFilter(includes_closed=includes_closed, limit=1_000)))[::-1]

    async def states(self) -> dict[str, list[FactState]]:
        """By statement, the states of the places."""
        return {each.fact.content: [source.state for source in each.sources] for each in await self.facts()}

    async def said(self) -> list[str]:
        return [each.fact.content for each in await self.facts()]

    async def fact(self, text: str) -> StoredFact:
        (found,) = [each for each in await self.facts(includes_closed=True) if each.fact.content == text]
        return found

    async def check(self) -> None:
        """Looks at the files as an editor's save makes the server do."""
        await (await self.folders.get(self.root)).folder.facts.look_at_all()


def kept_bodies() -> list[str]:
    """The stored texts of facts that are about files outside of the folder."""
    return [text for (text,) in execute("SELECT body FROM shared_fact WHERE body IS NOT NULL")]


Open = Callable[..., Awaitable[Checkout]]
