"""The librarian learns facts from finished turns. It works behind the conversation; no turn waits for it.

A conversation is read for facts once, in order: how far is stored in the transaction that stores the facts, so a crash
loses nothing and repeats nothing, and of two servers one does the work. `domain.facts.extraction.admission` decides
which facts are kept, never a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.rules.rule_set import RuleSet
from palimpsest.domain.errors import NotFound
from palimpsest.domain.facts.extraction.admission import Admission, admit, most_open
from palimpsest.domain.facts.extraction.agreement import agree
from palimpsest.domain.facts.extraction.by_rules import Proposal, proposals
from palimpsest.domain.facts.extraction.exchange import Exchange
from palimpsest.domain.facts.fact import Candidate, FactId, FactType, Place, StoredFact
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.models.redaction import redact
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.facts.backlog import Portion, next_portion
from palimpsest.services.facts.checks import Tie
from palimpsest.services.facts.keeper import FactKeeper, known_facts
from palimpsest.services.models.helper import Check
from palimpsest.storage.context import knowledge
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.turns import turn_records

_REST: Final = 3.0
"""The pause behind each exchange that is read in the background, as a multiple of the time that reading it took: a long
conversation, such as an imported one, must not slow the editor down."""
_LONGEST_REST_S: Final = 0.2

_Words = tuple[int, str]
"""A message and a quote of it."""


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """The numbers of facts that were learned, known already, closed and refused."""

    n_new: int = 0
    n_duplicates: int = 0
    n_closed: int = 0
    n_refused: int = 0

    def plus(self, other: ExtractionResult) -> ExtractionResult:
        return ExtractionResult(
            self.n_new + other.n_new,
            self.n_duplicates + other.n_duplicates,
            self.n_closed + other.n_closed,
            self.n_refused + other.n_refused,
        )


@dataclass(slots=True)
class Librarian:
    """The librarian of one workspace folder."""

    keeper: FactKeeper
    """It gets what is learned."""
    folder: str
    """Absolute path, with `/`."""
    background: Background
    is_enabled: bool = True
    _at_work: set[ConversationId] = field(default_factory=set)

    def consider(self, conversation_id: ConversationId) -> None:
        """Reads the backlog of a conversation in the background, if it is enabled and not already reading there."""
        if self.is_enabled and conversation_id not in self._at_work:
            self._at_work.add(conversation_id)
            self.background.start(conversation_id, self._catch_up(conversation_id))

    async def _catch_up(self, conversation_id: ConversationId) -> None:
        try:
            await self._extract(conversation_id, _REST)
        finally:
            self._at_work.discard(conversation_id)

    async def resume(self) -> None:
        """Goes on where the last server of this folder stopped."""
        if self.is_enabled:
            for conversation_id in await self.keeper.store.read(facts.unread_conversations):
                self.consider(conversation_id)

    async def extract_and_store(self, conversation_id: ConversationId) -> ExtractionResult:
        """Reads all finished turns of the backlog and keeps the facts that are admitted. Raises NotFound."""
        return await self._extract(conversation_id, 0.0)

    async def _extract(self, conversation_id: ConversationId, rest: float) -> ExtractionResult:
        total = ExtractionResult()
        store = self.keeper.store
        while (portion := await store.read(next_portion, conversation_id, self.folder)) is not None:
            done = await self._learn(portion, rest)
            if done is not None:  # else another server was faster, or something was hidden meanwhile
                total = total.plus(done)
        return total

    async def _learn(self, portion: Portion, rest: float) -> ExtractionResult | None:
        """Stores the facts of a portion. None, and nothing is stored, when the portion is void.

        `rest`: how long it pauses behind each exchange, as a multiple of the time that reading it took, for each
        conversation that is being read.
        """
        store = self.keeper.store
        found: list[Proposal] = []
        numbers: dict[_Words, int] = {}
        clock = asyncio.get_running_loop().time

        async def check() -> None:
            if await store.read(portion.is_outdated):
                raise NotFound("Messages that were to be read for facts were hidden or purged meanwhile.")

        for exchange in portion.exchanges:
            # Another server's purge or roll back stops nothing here; its words must go to no model afterwards.
            if await store.read(portion.is_outdated):
                return None
            began = clock()
            told = await self._proposals(portion.conversation_id, exchange, check)
            await asyncio.sleep(min(rest * (clock() - began), _LONGEST_REST_S) * len(self._at_work))
            for each in told:
                if not isinstance(each, Candidate):
                    found.append(each)
                elif not _holds_secret(each):
                    found.append(each)
                    numbers[_words_of(each)] = exchange.turn_number
        return await self._store_admitted(portion, found, numbers)

    async def _proposals(self, conversation_id: ConversationId, exchange: Exchange, check: Check) -> Sequence[Proposal]:
        by_form = await asyncio.to_thread(proposals, exchange)
        by_model = await self.keeper.model.propose(conversation_id, exchange, check)
        if by_model is None:
            return by_form
        # Only the user's own words make a rule or a change of mind, whatever a model makes of them.
        ruled = (e for e in by_form if not isinstance(e, Candidate) or e.fact.fact_type is FactType.CONSTRAINT)
        return [*ruled, *by_model]

    async def _store_admitted(
        self, portion: Portion, found: Sequence[Proposal], numbers: Mapping[_Words, int]
    ) -> ExtractionResult | None:
        """Decides again for as long as others change meanwhile what the decision rests on."""
        keeper, conversation_id = self.keeper, portion.conversation_id
        cap = most_open(await keeper.store.read(turn_records.count))

        def tell(done: ExtractionResult | None) -> None:
            if done is not None and (done.n_new or done.n_closed):
                keeper.changed()

        while True:
            known, version = await keeper.store.search(known_facts) if found else ([], None)
            rules = (await keeper.rules(conversation_id)).whole if found else RuleSet(())
            admission = await asyncio.to_thread(_admit, found, known, cap, rules, conversation_id)
            ties = await keeper.places.tie([place for each in admission.new for place in _places_of(each)])
            write = functools.partial(_write, portion, admission, ties, numbers, version)
            with contextlib.suppress(knowledge.Changed):
                return await keeper.store.commit(write, tell)


def _holds_secret(candidate: Candidate) -> bool:
    """A key is no fact: lists, exports and requests would show it for ever."""
    said = f"{candidate.fact.content}\n{candidate.evidence.quote}"
    return redact(said) != said


def _places_of(candidate: Candidate) -> list[Place]:
    """The candidate's places, each with the words by which it may be found in its file."""
    said = f"{candidate.evidence.quote}\n{candidate.fact.content}"
    return [replace(place, said=said) for place in candidate.places]


def _words_of(candidate: Candidate) -> _Words:
    return candidate.evidence.message_id, candidate.evidence.quote


def _admit(
    found: Sequence[Proposal], known: Sequence[StoredFact], cap: int, rules: RuleSet, conversation_id: ConversationId
) -> Admission:
    return agree(admit(found, known, cap), rules, known, conversation_id)


def _write(
    portion: Portion,
    admission: Admission,
    ties: Sequence[Sequence[Tie]],
    numbers: Mapping[_Words, int],
    version: knowledge.Version | None,
) -> ExtractionResult | None:
    """In a transaction. None, and nothing is written, when the portion is void. `version` names the facts that the
    decision rests on, None where it rests on none; raises knowledge.Changed when they are others by now."""
    if version is not None:
        knowledge.require(version)
    if not portion.mark_read():
        return None
    now = utc_now()
    ids: dict[int, FactId] = {}
    tied = iter(ties)
    for candidate in admission.new:
        of_fact = [tie for place_ties in (next(tied) for _ in candidate.places) for tie in place_ties]
        if facts.is_forgotten(candidate.fact):
            continue
        number = numbers.get(_words_of(candidate), 0)
        ids[id(candidate)] = fact_id = facts.add_candidate(candidate, number, now)
        for tie in dict.fromkeys(of_fact):
            fact_sources.add(fact_id, tie.version, tie.anchor, tie.symbol, tie.span, now)
    for closed, candidate in admission.closes:
        facts.close(closed, now, ids.get(id(candidate)))
    for closed, by in admission.taken_back:
        facts.take_back(closed, now, portion.conversation_id, by)
    for closed in admission.evicted:
        facts.close(closed, now)
    n_closed = len(admission.closes) + len(admission.taken_back) + len(admission.evicted)
    return ExtractionResult(len(ids), len(admission.duplicates), n_closed, len(admission.refused))
