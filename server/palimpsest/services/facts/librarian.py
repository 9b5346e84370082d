"""The librarian: learns facts from finished turns, and keeps them. It works behind the conversation; no turn waits.

A conversation is read for facts once, in order: how far is stored in the transaction that stores the facts, so a crash
loses nothing and repeats nothing, and of two servers one does the work. What is kept is decided by
`domain.facts.extraction.admission`, never by a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from palimpsest.domain.context.rules.rule_set import RuleSet, StandingRule
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.facts.extraction import from_model
from palimpsest.domain.facts.extraction import restatement as restating
from palimpsest.domain.facts.extraction.admission import Admission, admit, most_open
from palimpsest.domain.facts.extraction.agreement import agree, ended_rule, overtaken_by
from palimpsest.domain.facts.extraction.by_rules import Proposal, proposals
from palimpsest.domain.facts.extraction.exchange import Exchange
from palimpsest.domain.facts.extraction.names import entities_in
from palimpsest.domain.facts.extraction.restatement import Unusable
from palimpsest.domain.facts.fact import (
    LONGEST_ENTITY,
    LONGEST_FACT,
    MOST_ENTITIES,
    Candidate,
    Evidence,
    Fact,
    FactId,
    FactType,
    Place,
    StoredFact,
    Wanted,
)
from palimpsest.domain.messages import ConversationId, MessageId, Role, clean_text
from palimpsest.domain.models.provider import StopReason
from palimpsest.domain.models.redaction import redact
from palimpsest.machine import machine, utc_now
from palimpsest.services.background import Background
from palimpsest.services.facts.checks import Tie
from palimpsest.services.facts.librarian_model import LibrarianModel
from palimpsest.services.facts.places import FactPlaces
from palimpsest.services.models.helper import Check
from palimpsest.storage.context import cuts as contexts
from palimpsest.storage.context import knowledge
from palimpsest.storage.conversation import conversations
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import search as fact_search
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.facts import FactCounts
from palimpsest.storage.lifecycle import forgotten_facts
from palimpsest.storage.lifecycle.forgotten_facts import Forgotten, Ruled
from palimpsest.storage.store import Store
from palimpsest.storage.turns import turns

log = logging.getLogger(__name__)

RESTORABLE_FOR: Final = timedelta(days=30)
"""How long a fact that was forgotten can be restored."""
_BATCH_MESSAGES: Final = 200
"""Messages read at once."""
_BEFORE: Final = 20
"""Messages before an exchange that it may refer to."""
_PART_TOKENS: Final = 400
"""Of one message, in a transcript for a model."""
_MODEL_LIMIT_S: Final = 60.0
_REST: Final = 3.0
"""In the background: reading a long conversation, such as an imported one, must not slow the editor down."""
_LONGEST_REST_S: Final = 0.2
_TOPIC: Final = "facts"
MAX_FOUND: Final = 100


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """What reading for facts brought."""

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


@dataclass(frozen=True, slots=True)
class _Work:
    """Finished exchanges that were not read for facts yet."""

    exchanges: tuple[Exchange, ...]
    start: MessageId
    end: MessageId
    last_hidden: int
    """As it was read: what was hidden or purged since makes the work void."""


@dataclass(slots=True)
class Librarian:
    """Of one folder."""

    store: Store
    places: FactPlaces
    folder: str
    """Absolute path, with `/`."""
    model: LibrarianModel
    background: Background
    rules: Callable[[ConversationId], Awaitable[StandingRules]]
    """Of a conversation, as they hold now."""
    is_enabled: bool = True
    changed: Callable[[], None] = lambda: None
    """Called when facts, or the condition of their places, have changed."""
    _at_work: set[ConversationId] = field(default_factory=set)

    # --------------------------------------------------------------------------------------------------------- learning

    def consider(self, conversation_id: ConversationId) -> None:
        """Something was said: reads what is new in the background, if a turn has ended."""
        if self.is_enabled and conversation_id not in self._at_work:
            self._at_work.add(conversation_id)
            self.background.start(conversation_id, self._catch_up(conversation_id))

    async def _catch_up(self, conversation_id: ConversationId) -> None:
        try:
            await self._extract(conversation_id, _REST)
        finally:
            self._at_work.discard(conversation_id)

    async def resume(self) -> None:
        """Goes on where the last server of this folder stopped. What can be restored no longer is dropped."""
        await self.store.run(forgotten_facts.drop_before, _restorable_since())
        if self.is_enabled:
            for conversation_id in await self.store.read(facts.unread_conversations):
                self.consider(conversation_id)

    async def extract_and_store(self, conversation_id: ConversationId) -> ExtractionResult:
        """Reads all finished turns that were not read yet, and keeps what is worth it. Raises NotFound."""
        return await self._extract(conversation_id, 0.0)

    async def _extract(self, conversation_id: ConversationId, rest: float) -> ExtractionResult:
        total = ExtractionResult()
        while (work := await self.store.read(self._next, conversation_id)) is not None:
            done = await self._learn(conversation_id, work, rest)
            if done is None:  # another server was faster, or something was hidden meanwhile
                continue
            total = total.plus(done)
        return total

    def _next(self, conversation_id: ConversationId) -> _Work | None:
        start = facts.extracted_until(conversation_id)
        record = conversations.get(conversation_id)
        if record.parent is not None:  # the parent's messages are read there
            start = max(start, record.fork_at)
        end = min(turns.first_unfinished(conversation_id, record.n_messages), start + _BATCH_MESSAGES)
        if start >= end:
            return None
        before = conversations.read_visible(conversation_id, max(0, start - _BEFORE), start)
        messages = conversations.read_messages(conversation_id, start, end)
        if end < record.n_messages and end == start + _BATCH_MESSAGES:
            messages = _whole_exchanges(messages)
        hidden = conversations.hidden_ranges(conversation_id)
        shown = [m for m in messages if m.purged is None and not any(h.start <= m.id < h.end for h in hidden)]
        exchanges = [
            Exchange.of(
                exchange,
                turn_number=turns.number_of(conversation_id, exchange[0].id),
                before=[each for each in (*before, *shown) if each.id < exchange[0].id][-_BEFORE:],
                folder=self.folder,
            )
            for exchange in _exchanges(shown)
        ]
        last_hidden = conversations.last_hidden(conversation_id)
        return _Work(tuple(exchanges), start, MessageId(messages[-1].id + 1), last_hidden)

    async def _learn(self, conversation_id: ConversationId, work: _Work, rest: float) -> ExtractionResult | None:
        """`rest`: how long it pauses behind each exchange, as a multiple of what that took, for each conversation that
        is read at the time. None, and nothing is kept, when the work is void: see `_keep`."""
        found: list[Proposal] = []
        numbers: dict[tuple[int, str], int] = {}
        clock = asyncio.get_running_loop().time

        async def is_void() -> bool:
            return await self.store.read(conversations.last_hidden, conversation_id) != work.last_hidden

        async def check() -> None:
            if await is_void():
                raise NotFound("What was to be read for facts was taken back meanwhile.")

        for exchange in work.exchanges:
            # Another server's purge or roll back stops nobody here; its words must go to no model afterwards.
            if await is_void():
                return None
            began = clock()
            told = await self._proposals(conversation_id, exchange, check)
            await asyncio.sleep(min(rest * (clock() - began), _LONGEST_REST_S) * len(self._at_work))
            for each in told:
                if not isinstance(each, Candidate):
                    found.append(each)
                elif not _holds_secret(each):
                    found.append(each)
                    numbers[_key(each)] = exchange.turn_number
        cap = most_open(await self.store.read(turns.count))

        def tell(done: ExtractionResult | None) -> None:
            if done is not None and (done.n_new or done.n_closed):
                self.changed()

        while True:
            known, version = await self.store.search(_known) if found else ([], None)
            rules = (await self.rules(conversation_id)).whole if found else RuleSet(())
            admission = await asyncio.to_thread(_admit, found, known, cap, rules, conversation_id)
            ties = await self.places.tie([place for each in admission.new for place in _said_places(each)])
            kept = functools.partial(_keep, conversation_id, work, admission, ties, numbers)
            with contextlib.suppress(knowledge.Changed):
                return await self.store.commit(functools.partial(_keep_if_known, version, kept), tell)

    async def _proposals(self, conversation_id: ConversationId, exchange: Exchange, check: Check) -> Sequence[Proposal]:
        by_form = await asyncio.to_thread(proposals, exchange)
        request = functools.partial(from_model.transcript, exchange, _PART_TOKENS)
        reply = await self.model.ask(conversation_id, from_model.INSTRUCTIONS, request, _TOPIC, _MODEL_LIMIT_S, check)
        if reply is None:
            return by_form
        told = await asyncio.to_thread(from_model.parse, reply.text, exchange)
        # A rule is one by the user's own words, whatever a model makes of them; so is a change of mind.
        ruled = (e for e in by_form if not isinstance(e, Candidate) or e.fact.fact_type is FactType.CONSTRAINT)
        return [*ruled, *told]

    # ---------------------------------------------------------------------------------------------------------- keeping

    async def pin_fact(self, content: str, entities: Sequence[str] = (), place: Place | None = None) -> StoredFact:
        """Keeps what the user says is important. The same statement again is the same fact.

        Raises InvalidRequest for one that cannot be a fact, NotFound when the file is not there.
        """
        said = " ".join(clean_text(content)[0].split())
        if not said or len(said) > LONGEST_FACT:
            raise InvalidRequest(f"A fact is one statement of at most {LONGEST_FACT} characters. Say it shorter.")
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
        """A person says that the fact holds as its files are now. Raises NotFound."""
        await self.get(fact_id)
        places = await self.places.now(fact_id)

        def write() -> FactId:
            facts.get(fact_id)
            places.take()
            facts.verify(fact_id, utc_now())
            return fact_id

        return await self._commit(write)

    async def update(self, fact_id: FactId) -> StoredFact:
        """Says a fact anew from its places as they are now, by the librarian's model; the old one is closed. Where it
        says the same, the fact is verified.

        Raises NotFound; and InvalidRequest, which says why and what to do, where no statement about the same thing
        comes of it. Nothing has changed then.
        """
        known = await self.get(fact_id)
        places = await self.places.now(fact_id)
        fact = await self._restated(known, places.texts)
        if isinstance(fact, Unusable):
            advice = "Look at its place, then say that it still holds, or forget it."
            raise InvalidRequest(f"The fact stays as it is: {fact.reason}. {advice}")

        def write() -> FactId:
            new = known.id if fact.content == known.fact.content else _replace(known, fact, utc_now())
            places.take()
            facts.verify(new, utc_now())
            return new

        return await self._commit(write)

    async def _restated(self, known: StoredFact, texts: Sequence[str]) -> Fact | Unusable:
        """The fact as the texts have it now."""
        if not texts:
            return Unusable("none of its places is there to be read")
        if known.evidence is None:
            return Unusable("it says what you pinned, in your words. Pin what holds now")
        reply = await self.model.ask(
            known.evidence.conversation_id,
            restating.INSTRUCTIONS,
            lambda: restating.to_request(known.fact, texts),
            _TOPIC,
            _MODEL_LIMIT_S,
        )
        if reply is None:
            return Unusable("no model could be asked to say it anew")
        if reply.stop_reason is not StopReason.END:
            return Unusable("the model's answer broke off")
        fact = await asyncio.to_thread(restating.read_restated, reply.text, known.fact, texts)
        if isinstance(fact, Fact) and redact(fact.content) != fact.content:
            return Unusable("the place holds a key, and a key is no fact")
        return fact

    async def pin_again(self, fact_id: FactId) -> StoredFact:
        """The user says that a fact is important and holds: it becomes a pinned one, at the places as they are now, and
        is never put aside for others. Raises NotFound; nothing has changed then."""
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

    async def forget(self, fact_id: FactId) -> FactCounts:
        """Takes a fact away and does not learn the same words again; for `RESTORABLE_FOR` it can be restored. Raises
        NotFound."""

        def forget() -> None:
            forgotten_facts.forget(fact_id, utc_now(), _restorable_since())

        await self.store.commit(forget, self._tell)
        return await self.counts()

    async def restore(self, fact_id: FactId) -> StoredFact:
        """Takes a forgetting back. It is closed where what it says was ruled otherwise, taken back or rolled back
        meanwhile. Raises NotFound when the fact was not forgotten, or too long ago."""

        def read() -> tuple[Ruled, list[StoredFact], knowledge.Version]:
            return forgotten_facts.find(fact_id), *_known()

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

    async def forgotten(self) -> list[Forgotten]:
        """What can be restored, the last that was forgotten first."""
        return await self.store.read(forgotten_facts.select, _restorable_since())

    async def clear(self) -> int:
        """Removes every fact of the folder; how many there were. What was read for facts is not read again."""

        def clear() -> int:
            forgotten_facts.clear()
            contexts.untell([each.id for each in facts.all_known()], utc_now())
            return facts.clear()

        return await self.store.commit(clear, self._tell)

    async def _commit(self, write: Callable[[], FactId]) -> StoredFact:
        """The fact that one transaction wrote; everybody hears of it, also when nobody waits for it any more."""
        return await self.get(await self.store.commit(write, self._tell))

    def _tell(self, _written: object) -> None:
        self.changed()

    # ---------------------------------------------------------------------------------------------------------- looking

    async def get(self, fact_id: FactId) -> StoredFact:
        """Raises NotFound."""
        return await self.store.read(facts.get, fact_id)

    async def select(self, wanted: Wanted) -> list[StoredFact]:
        """The newest first."""
        return await self.store.read(facts.select, wanted)

    async def all_facts(self) -> list[StoredFact]:
        """Those that hold, the oldest first."""
        return [each for each in await self.store.read(facts.all_known) if each.is_open]

    async def search(self, text: str, limit: int = 20) -> list[StoredFact]:
        """The facts that hold and match the words, the best first. Raises InvalidRequest for a limit out of range."""
        if not 1 <= limit <= MAX_FOUND:
            raise InvalidRequest(f"Ask for 1 to {MAX_FOUND} facts at a time.")

        def read() -> list[StoredFact]:
            return [each for each in facts.read(fact_search.match(text, 2 * limit)) if each.is_open][:limit]

        return await self.store.search(read)

    async def counts(self) -> FactCounts:
        return await self.store.read(facts.counts)


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
    """Another fact in the place of a known one, on the same grounds. Raises NotFound when that was forgotten, purged
    or closed since it was read."""
    if facts.get(known.id).closed_at != known.closed_at:
        raise NotFound(f"Fact {known.id} holds no longer. List the facts and choose one.")
    new = facts.add(fact, known.turn_number, known.evidence, now)
    fact_sources.hand_over(known.id, new)
    facts.close(known.id, now, new)
    return new


def _holds_secret(candidate: Candidate) -> bool:
    """A key is no fact: it would stand in lists, exports and requests for ever."""
    said = f"{candidate.fact.content}\n{candidate.evidence.quote}"
    return redact(said) != said


def _said_places(candidate: Candidate) -> list[Place]:
    """Its places, each with the words by which it may be found in its file."""
    said = f"{candidate.evidence.quote}\n{candidate.fact.content}"
    return [replace(place, said=said) for place in candidate.places]


def _key(candidate: Candidate) -> tuple[int, str]:
    return candidate.evidence.message_id, candidate.evidence.quote


def _known() -> tuple[list[StoredFact], knowledge.Version]:
    return facts.all_known(), knowledge.version()


def _admit(
    found: Sequence[Proposal], known: Sequence[StoredFact], cap: int, rules: RuleSet, conversation_id: ConversationId
) -> Admission:
    return agree(admit(found, known, cap), rules, known, conversation_id)


def _keep_if_known(
    version: knowledge.Version | None, keep: Callable[[str], ExtractionResult | None]
) -> ExtractionResult | None:
    """In a transaction. `version`: of what the decision rests on, None where it rests on nothing. Raises
    knowledge.Changed."""
    if version is not None:
        knowledge.require(version)
    return keep(utc_now())


def _keep(
    conversation_id: ConversationId,
    work: _Work,
    admission: Admission,
    ties: Sequence[Sequence[Tie]],
    numbers: dict[tuple[int, str], int],
    now: str,
) -> ExtractionResult | None:
    """All of it or nothing; None, and nothing is kept or closed, when the work is void: another server has read those
    messages meanwhile, or something was rolled back or purged, so that they must be read again without it."""
    if facts.extracted_until(conversation_id) > work.start:
        return None
    if conversations.last_hidden(conversation_id) != work.last_hidden:
        return None
    facts.set_extracted(conversation_id, work.end)
    ids: dict[int, FactId] = {}
    tied = iter(ties)
    for candidate in admission.new:
        of_fact = [tie for place_ties in (next(tied) for _ in candidate.places) for tie in place_ties]
        if facts.is_forgotten(candidate.fact):
            continue
        number = numbers.get(_key(candidate), 0)
        ids[id(candidate)] = fact_id = facts.add_candidate(candidate, number, now)
        for tie in dict.fromkeys(of_fact):
            fact_sources.add(fact_id, tie.version, tie.anchor, tie.symbol, tie.span, now)
    for closed, candidate in admission.closes:
        facts.close(closed, now, ids.get(id(candidate)))
    for closed, by in admission.taken_back:
        facts.take_back(closed, now, conversation_id, by)
    for closed in admission.evicted:
        facts.close(closed, now)
    n_closed = len(admission.closes) + len(admission.taken_back) + len(admission.evicted)
    return ExtractionResult(len(ids), len(admission.duplicates), n_closed, len(admission.refused))


def _exchanges(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    """By turn; what came from no turn, by user message."""
    groups: list[list[StoredMessage]] = []
    for message in messages:
        last = groups[-1][-1] if groups else None
        begins = (
            last is None
            or message.turn_id != last.turn_id
            or (message.turn_id is None and message.content.role is Role.USER)
        )
        if begins:
            groups.append([])
        groups[-1].append(message)
    return groups


def _whole_exchanges(messages: list[StoredMessage]) -> list[StoredMessage]:
    """Without the last exchange, which may go on; all of them where they are one."""
    groups = _exchanges(messages)
    return [each for group in (groups[:-1] or groups) for each in group]
