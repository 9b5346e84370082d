"""Facts: statements about a workspace that are kept apart from the messages they come from.

A fact rests on words that somebody said (its evidence), and on places in files (its sources). Its content never
changes; a fact that holds no longer is closed, and stays readable.
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
    """The kind of a statement."""

    ENTITY = "entity"
    """A description of a file, a function, a variable, a path or an address."""
    DECISION = "decision"
    """A choice of design, with its reason."""
    CONSTRAINT = "constraint"
    """A limit or a requirement."""
    CODE_STATE = "code_state"
    """Something that was made, changed or removed."""
    PINNED = "pinned"
    """A statement that the user marked as important."""


class Origin(StrEnum):
    """The speaker of the words that a fact rests on."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """A tool's result, or an assistant's paraphrase of one: never grounds for a constraint or a decision."""


class FactState(StrEnum):
    """The state of a fact's place, against the file as it is now."""

    FRESH = "fresh"
    """Unchanged, at the same lines."""
    MOVED = "moved"
    """Unchanged but for its formatting, at other lines."""
    CHANGED = "changed"
    MISSING = "missing"
    """The place, or the file, is gone."""

    @property
    def is_stale(self) -> bool:
        """Whether a person should look at the fact."""
        return self in (FactState.CHANGED, FactState.MISSING)


@dataclass(frozen=True, slots=True)
class Span:
    """Whole lines of a file, counted from 1, both ends included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement, and the names that it is found by."""

    fact_type: FactType
    content: str
    """One or two sentences, without line ends."""
    entities: tuple[str, ...] = ()
    """Names as they are written: paths, identifiers, tools. Each once."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words that a fact rests on."""

    conversation_id: ConversationId
    message_id: MessageId
    quote: str
    """Exactly as it is in the message."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the folder that a fact rests on."""

    path: str
    """Below the folder, with `/`."""
    span: Span | None = None
    """None: the whole file."""
    symbol: str = ""
    """The function, class or heading; empty for none."""
    said: str = ""
    """Words that tell the place in the file when neither `span` nor a present `symbol` does."""


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
    """With its lines as they are now; the last known ones when it is gone."""
    state: FactState


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact as the store has it."""

    id: FactId
    fact: Fact
    turn_number: int
    """Counted from 1 in the conversation; 0 for a fact of no turn."""
    created_at: str
    evidence: Evidence | None
    """None for a fact that a user pinned by command."""
    sources: tuple[SourceState, ...] = ()
    closed_at: str | None = None
    """The time since which it holds no longer; None for an open fact."""
    superseded_by: FactId | None = None
    """The fact that contradicted it; None when it was closed for another reason."""
    verified_at: str | None = None
    """The time at which a person last confirmed it."""
    n_uses: int = 0
    """The number of times a model got it."""
    author: str | None = None
    """The colleague who noted it, on another checkout; None for a fact of this store's own. It is shown with that name,
    and decides about no fact or rule of the user."""
    is_shared: bool = False
    """Whether a team has it."""

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
class FactFilter:
    """The facts that are listed."""

    types: Collection[FactType] = ()
    """Empty: all types."""
    path: str | None = None
    """Only facts that rest on this file; None: any."""
    is_stale: bool | None = None
    """Only stale facts, or only others; None: both."""
    includes_closed: bool = False
    limit: int = 100
    before: FactId | None = None
    """Only facts with a smaller id, which a page ended with; None: from the newest on."""
