"""The keeper of the facts of one folder: people pin, verify, update, forget and restore facts, and everybody reads
them. Other servers and the librarian change them too, so what a decision rests on is looked at again when it is stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from palimpsest.domain.context.rules.rule_set import StandingRule
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.facts.extraction.agreement import ended_rule, overtaken_by
from palimpsest.domain.facts.extraction.names import entities_in
from palimpsest.domain.facts.extraction.restatement import Unusable
from palimpsest.domain.facts.fact import (
    LONGEST_ENTITY,
    LONGEST_FACT,
    MOST_ENTITIES,
    Evidence,
    Fact,
    FactFilter,
    FactId,
    FactType,
    Place,
    Span,
    StoredFact,
)
from palimpsest.domain.messages import ConversationId, clean_text
from palimpsest.machine import machine, utc_now
from palimpsest.services.facts.model import LibrarianModel
from palimpsest.services.facts.places import FactPlaces
from palimpsest.storage.context import knowledge, visibility
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import search as fact_search
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.facts import FactCounts
from palimpsest.storage.lifecycle import forgotten_facts
from palimpsest.storage.lifecycle.forgotten_facts import Forgotten, Ruled
from palimpsest.storage.store import Store

RESTORABLE_FOR: Final = timedelta(days=30)
"""The time for which a forgotten fact can be restored."""
MAX_FOUND: Final = 100


@dataclass(slots=True)
class FactKeeper:
    """The keeper of one workspace folder."""

    store: Store
    places: FactPlaces
    model: LibrarianModel
    rules: Callable[[ConversationId], Awaitable[StandingRules]]
    """The rules of a conversation as they hold now."""
    changed: Callable[[], None] = lambda: None
    """Runs when facts, or the condition of their places, have changed."""

    # ---------------------------------------------------------------------------------------------------------- changes

    async def pin_fact(self, content: str, entities: Sequence[str] = (), place: Place | None = None) -> StoredFact:
        """Keeps a statement that the user calls important. The same statement again is the same fact.

        Raises InvalidRequest for a statement that cannot be a fact, NotFound when the file is not there.
        """
        said = " ".join(clean_text(content)[0].split())
        if not said or len(said) > LONGEST_FACT:
            raise InvalidRequest(f"A fact is one statement of at most {LONGEST_FACT} characters. Make it shorter.")
        names = [" ".join(each.split())[:LONGEST_ENTITY] for each in entities] or list(entities_in(said))
        names += [place.path] if place is not None else []
        fact = Fact(FactType.PINNED, said, tuple(dict.fromkeys(name for name in names if name))[:MOST_ENTITIES])
        ties = [] if place is None else (await self.places.tie([place]))[0]
        if place is not None and not ties:
            raise NotFound(f"There is no file {place.path!r} in this folder that may be read.")

        def write() -> FactId:
            fact_id = next((known for known in facts.saying(fact)), None)
            if fact_id is None:
                fact_id = facts.add(fact, 0, None, utc_now())
            for tie in ties:
                fact_sources.add(fact_id, tie.version, tie.anchor, tie.symbol, tie.span, utc_now())
            return fact_id

        return await self._commit(write)

    async def verify(self, fact_id: FactId) -> StoredFact:
        """The user confirms that the fact holds as its files are now. Raises NotFound."""
        await self.get(fact_id)
        places = await self.places.now(fact_id)

        def write() -> FactId:
            facts.get(fact_id)
            places.take()
            facts.verify(fact_id, utc_now())
            return fact_id

        return await self._commit(write)

    async def update(self, fact_id: FactId) -> StoredFact:
        """States a fact anew from its places as they are now, by the librarian's model, and closes the old one. A fact
        that the model leaves as it is is verified.

        Raises NotFound; and InvalidRequest, with the reason and what to do, where the model's answer is no statement
        about the same thing. Nothing has changed then.
        """
        known = await self.get(fact_id)
        places = await self.places.now(fact_id)
        fact = await self.model.restate(known, places.texts)
        if isinstance(fact, Unusable):
            advice = "Look at its place, then mark it as still true, or forget it."
            raise InvalidRequest(f"The fact stays as it is: {fact.reason}. {advice}")

        def write() -> FactId:
            new = known.id if fact.content == known.fact.content else _replace(known, fact, utc_now())
            places.take()
            facts.verify(new, utc_now())
            return new

        return await self._commit(write)

    async def pin_again(self, fact_id: FactId) -> StoredFact:
        """The user says that a fact is important and holds: it becomes a pinned one, at the places as they are now, and
        is never evicted. Raises NotFound; nothing has changed then."""
        known = await self.get(fact_id)
        places = await self.places.now(fact_id)

        def write() -> FactId:
            is_pinned = facts.get(fact_id).fact.fact_type is FactType.PINNED
            pinned = Fact(FactType.PINNED, known.fact.content, known.fact.entities)
            new = fact_id if is_pinned else _replace(known, pinned, utc_now())
            places.take()
            facts.verify(new, utc_now())
            return new

        return await self._commit(write)

    async def unpin(self, fact_id: FactId) -> StoredFact:
        """The user takes back that a fact is important: it is again of the kind it had before it was pinned, or a
        decision when it was pinned from the start. Raises NotFound."""

        def write() -> FactId:
            known = facts.get(fact_id)
            if known.fact.fact_type is not FactType.PINNED:
                return fact_id
            before = facts.type_before_pin(fact_id) or FactType.DECISION
            return _replace(known, Fact(before, known.fact.content, known.fact.entities), utc_now())

        return await self._commit(write)

    async def forget(self, fact_id: FactId) -> FactCounts:
        """Takes a fact away, and the same words are not learned again; for `RESTORABLE_FOR` it can be restored. Raises
        NotFound."""

        def forget() -> None:
            forgotten_facts.forget(fact_id, utc_now(), _restorable_since())

        await self.store.commit(forget, self._tell)
        return await self.counts()

    async def restore(self, fact_id: FactId) -> StoredFact:
        """Restores a forgotten fact. It is closed where the user ruled otherwise, took it back or rolled it back
        meanwhile. Raises NotFound when the fact was not forgotten, or too long ago."""

        def read() -> tuple[Ruled, list[StoredFact], knowledge.Version]:
            return forgotten_facts.find(fact_id), *known_facts()

        while True:
            was, known, version = await self.store.search(read)
            since = [each for each in known if each.created_at >= was.forgotten_at]
            by = await asyncio.to_thread(overtaken_by, was.fact, was.evidence, since)
            ended = None if was.evidence is None else await self._ended_rule(was.fact, was.evidence)
            if ended is not None and ended.ended_by is None:
                by = None  # a command took it back: it does not hold again without what took its place
            write = functools.partial(_restore, fact_id, version, by, is_over=ended is not None or by is not None)
            with contextlib.suppress(knowledge.Changed):
                return await self._commit(write)

    async def _ended_rule(self, fact: Fact, said: Evidence) -> StandingRule | None:
        return ended_rule(fact, said, (await self.rules(said.conversation_id)).whole)

    async def drop_forgotten(self) -> None:
        """Removes the facts that can no longer be restored."""
        await self.store.run(forgotten_facts.drop_before, _restorable_since())

    async def clear(self) -> int:
        """Removes every fact of the folder and returns how many there were. What was read for facts is not read
        again."""

        def clear() -> int:
            forgotten_facts.clear()
            visibility.untell([each.id for each in facts.all_known()], utc_now())
            return facts.clear()

        return await self.store.commit(clear, self._tell)

    async def _commit(self, write: Callable[[], FactId]) -> StoredFact:
        """The fact that one transaction wrote. `changed` runs also when nobody waits for the fact any more."""
        return await self.get(await self.store.commit(write, self._tell))

    def _tell(self, _written: object) -> None:
        self.changed()

    # ---------------------------------------------------------------------------------------------------------- reading

    async def get(self, fact_id: FactId) -> StoredFact:
        """Raises NotFound."""
        return await self.store.read(facts.get, fact_id)

    async def select(self, wanted: FactFilter) -> list[StoredFact]:
        """The newest first."""
        return await self.store.read(facts.select, wanted)

    async def all_facts(self) -> list[StoredFact]:
        """The open facts, the oldest first."""
        return [each for each in await self.store.search(facts.all_known) if each.is_open]

    async def search(self, text: str, limit: int = 20) -> list[StoredFact]:
        """The open facts that match the words, the best first. Raises InvalidRequest for a limit out of range."""
        if not 1 <= limit <= MAX_FOUND:
            raise InvalidRequest(f"Ask for 1 to {MAX_FOUND} facts at a time.")

        def read() -> list[StoredFact]:
            return [each for each in facts.read(fact_search.match(text, 2 * limit)) if each.is_open][:limit]

        return await self.store.search(read)

    async def counts(self) -> FactCounts:
        return await self.store.read(facts.counts)

    async def forgotten(self) -> list[Forgotten]:
        """The facts that can be restored, the last that was forgotten first."""
        return await self.store.read(forgotten_facts.select, _restorable_since())

    async def forgotten_at(self, path: str) -> list[tuple[Forgotten, Span | None]]:
        """The same, of facts that rested on this file, with the lines where each was last; None for the whole file."""
        return await self.store.read(forgotten_facts.rested_on, path, _restorable_since())


def known_facts() -> tuple[list[StoredFact], knowledge.Version]:
    """In a transaction: all facts of the folder but those of colleagues, also closed ones, and the version of what is
    known."""
    return facts.own(), knowledge.version()


def _restorable_since() -> str:
    return (machine.now() - RESTORABLE_FOR).isoformat()


def _restore(fact_id: FactId, version: knowledge.Version, by: FactId | None, *, is_over: bool) -> FactId:
    """In a transaction. Raises knowledge.Changed."""
    knowledge.require(version)
    restored = forgotten_facts.restore(fact_id, utc_now())
    if is_over and restored == fact_id:
        facts.close(restored, utc_now(), by)
    return restored


def _replace(known: StoredFact, fact: Fact, now: str) -> FactId:
    """Puts another fact in the place of a known one, on the same grounds. Raises NotFound when the known one was
    forgotten, purged or closed since it was read."""
    if facts.get(known.id).closed_at != known.closed_at:
        raise NotFound(f"Fact {known.id} holds no longer. List the facts and choose one.")
    new = facts.add(fact, known.turn_number, known.evidence, now)
    fact_sources.hand_over(known.id, new)
    facts.close(known.id, now, new)
    return new
