"""Facts: statements about a workspace that are kept apart from the messages they come from.

Each names what it rests on: words that somebody said (its evidence), and places in files (its sources). What a fact
says never changes; one that holds no longer is closed, and stays readable.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from palimpsest.domain.messages import ConversationId, MessageId

FactId = NewType("FactId", int)

LONGEST_FACT: Final = 1_000
"""Characters. A longer statement is not a fact but a text."""
LONGEST_ENTITY: Final = 200
"""Characters."""
MOST_ENTITIES: Final = 20


class FactType(StrEnum):
    """What kind of statement it is."""

    ENTITY = "entity"
    """What a file, a function, a variable, a path or an address is."""
    DECISION = "decision"
    """A choice of design, with its reason."""
    CONSTRAINT = "constraint"
    """A limit or a requirement."""
    CODE_STATE = "code_state"
    """What was made, changed or removed."""
    PINNED = "pinned"
    """What the user marked as important."""


class Origin(StrEnum):
    """Who said what a fact rests on."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """A tool's result, or an assistant's paraphrase of one: never grounds for a constraint or a decision."""


class FactState(StrEnum):
    """How a fact's place in a file stands to what the file holds."""

    FRESH = "fresh"
    """Unchanged, at the same lines."""
    MOVED = "moved"
    """Unchanged but for its formatting, at other lines."""
    CHANGED = "changed"
    MISSING = "missing"
    """The place, or the file, is gone."""

    @property
    def is_stale(self) -> bool:
        """Whether somebody should look at it."""
        return self in (FactState.CHANGED, FactState.MISSING)


@dataclass(frozen=True, slots=True)
class Span:
    """Whole lines of a file, counted from 1, both ends included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement, and the keywords it is found by."""

    fact_type: FactType
    content: str
    """One or two sentences, without line ends."""
    entities: tuple[str, ...] = ()
    """Names as they are written: paths, identifiers, tools. Each once."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words a fact rests on."""

    conversation_id: ConversationId
    message_id: MessageId
    quote: str
    """Stands in the message exactly so."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the folder a fact rests."""

    path: str
    """Below the folder, with `/`."""
    span: Span | None = None
    """None: the whole file."""
    symbol: str = ""
    """The function, class or heading that is meant, if one is."""
    said: str = ""
    """Words by which the place is looked for in the file, where neither lines nor a symbol that is there tell it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that somebody proposes. Admission decides whether it is kept."""

    fact: Fact
    evidence: Evidence
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceState:
    """One source of a fact, as it was last checked."""

    place: Place
    """Its lines as they are now; where it is gone, where it last was."""
    state: FactState


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact of the store."""

    id: FactId
    fact: Fact
    turn_number: int
    """Counted from 1 in its conversation; 0 for one that came from no turn."""
    created_at: str
    evidence: Evidence | None
    """None for what a user pinned by command."""
    sources: tuple[SourceState, ...] = ()
    closed_at: str | None = None
    """When it ceased to hold; None while it does."""
    superseded_by: FactId | None = None
    """The fact that contradicted it, if that is why."""
    verified_at: str | None = None
    """When a person last said that it holds."""
    n_uses: int = 0
    """Times it was given to a model."""

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def stale_sources(self) -> tuple[str, ...]:
        """Paths that no longer say what the fact rests on; each once."""
        return tuple(dict.fromkeys(each.place.path for each in self.sources if each.state.is_stale))

    @property
    def is_stale(self) -> bool:
        return bool(self.stale_sources)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which facts are listed."""

    types: Collection[FactType] = ()
    """Empty: all."""
    path: str | None = None
    """Only those that rest on this file."""
    is_stale: bool | None = None
    """None: whether or not."""
    includes_closed: bool = False
    limit: int = 100
    before: FactId | None = None
    """Only ids below it: the last of the page before."""
