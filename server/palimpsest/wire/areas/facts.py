"""Facts: what the librarian keeps of a folder, and the places in files it rests on.

That a fact has gone stale is told by plain LSP: a diagnostic with the source `palimpsest` on the line, with
`data.factIds`, and code actions on it.
"""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class FactKind(enum.StrEnum):
    """What kind of statement a fact is."""

    ENTITY = "entity"
    """What a file, a function, a variable, a path or an address is."""
    DECISION = "decision"
    """A choice of design, with its reason."""
    CONSTRAINT = "constraint"
    """A limit or a requirement."""
    CODE_STATE = "codeState"
    """What was made, changed or removed."""
    PINNED = "pinned"
    """What the user marked as important."""


class SourceCondition(enum.StrEnum):
    """How a place stands to what the fact rests on."""

    FRESH = "fresh"
    """Unchanged, at the same lines."""
    MOVED = "moved"
    """Unchanged but for its formatting, at other lines."""
    CHANGED = "changed"
    """It says something else now."""
    MISSING = "missing"
    """It is gone."""


@attrs.frozen(eq=False, repr=False)
class FactSource(Wire):
    """A place that a fact rests on."""

    uri: str
    """The file."""
    path: str
    """The file, below the folder, with `/`."""
    condition: SourceCondition
    """As the file on disk was last checked."""
    start_line: int | None = None
    """Its first line, counted from 0. Absent: the whole file is meant."""
    end_line: int | None = None
    """Its last line, counted from 0."""
    symbol: str | None = None
    """The function, class or heading that is meant."""


@attrs.frozen(eq=False, repr=False)
class FactInfo(Wire):
    """A fact."""

    id: int
    """Its id in its folder."""
    fact_type: FactKind
    """What kind of statement it is."""
    content: str
    """The statement, on one line."""
    entities: list[str]
    """The names it is found by."""
    sources: list[FactSource]
    """The places it rests on."""
    is_stale: bool
    """Whether one of them is changed or missing."""
    turn_number: int
    """The turn it was learned in, counted from 1 in its conversation; 0: none."""
    created_at: str
    """When it was learned."""
    uses: int
    """How often it was given to a model."""
    conversation_id: str | None = None
    """The conversation that it was said in."""
    message_id: int | None = None
    """The message that it was said in."""
    quote: str | None = None
    """The words it rests on, exactly as they stand there."""
    closed_at: str | None = None
    """When it ceased to hold. Absent: it holds."""
    superseded_by: int | None = None
    """The fact that contradicted it."""
    verified_at: str | None = None
    """When a person last said that it holds."""


@attrs.frozen(eq=False, repr=False)
class ListFactsParams(Wire):
    """List the facts of a folder, the newest first."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the first open folder."""
    fact_types: list[FactKind] | None = None
    """Only these kinds. Absent: all."""
    path: str | None = None
    """Only facts that rest on this file, below the folder, with `/`."""
    stale: bool | None = None
    """Only stale ones, or only those that are not. Absent: both."""
    include_closed: bool | None = None
    """Whether to list those that ceased to hold, too. Absent: no."""
    limit: int | None = None
    """How many at most, 1 to 1,000. Absent: 100."""
    before: int | None = None
    """Only ids below this: the last of the page before."""


@attrs.frozen(eq=False, repr=False)
class SearchFactsParams(Wire):
    """Find facts by their words, parts of identifiers, and the names they are about."""

    query: str
    """What is looked for, as it was typed: no character has a special meaning."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the first open folder."""
    limit: int | None = None
    """How many at most, 1 to 100. Absent: 20."""


@attrs.frozen(eq=False, repr=False)
class FactsResult(Wire):
    """Facts of one folder."""

    facts: list[FactInfo]
    """In the order the request names: the newest first, or the best first."""
    open: int
    """How many facts of the folder hold."""
    stale: int
    """How many of those are stale."""


@attrs.frozen(eq=False, repr=False)
class PinFactParams(Wire):
    """Keep a statement of the user's as a fact of the folder."""

    content: str
    """The statement, at most 1,000 characters."""
    entities: list[str] | None = None
    """The names it should be found by. Absent: those that stand in it."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the first open folder."""
    file_uri: str | None = None
    """A file it rests on."""
    start_line: int | None = None
    """The first line it rests on, counted from 0. Absent: the whole file."""
    end_line: int | None = None
    """The last line, counted from 0. Absent: the first."""


@attrs.frozen(eq=False, repr=False)
class FactParams(Wire):
    """A fact of a folder."""

    fact_id: int
    """The fact."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the first open folder."""


@attrs.frozen(eq=False, repr=False)
class ForgetFactResult(Wire):
    """What is left."""

    open: int
    """How many facts of the folder hold."""
    stale: int
    """How many of those are stale."""


@attrs.frozen(eq=False, repr=False)
class ListForgottenParams(Wire):
    """Of which folder."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first one."""


@attrs.frozen(eq=False, repr=False)
class ForgottenFact(Wire):
    """A fact that was forgotten and can be restored."""

    fact_id: int
    """Its id; restored, it has the same."""
    content: str
    """What it says."""
    forgotten_at: str
    """When it was forgotten. It can be restored for 30 days."""


@attrs.frozen(eq=False, repr=False)
class ForgottenResult(Wire):
    """What can be restored."""

    facts: list[ForgottenFact]
    """The last that was forgotten first."""


@attrs.frozen(eq=False, repr=False)
class FactsChangedParams(Wire):
    """The facts of a folder have changed, or the condition of their places."""

    folder_uri: str
    """URI of the workspace folder."""
    open: int
    """How many facts hold."""
    stale: int
    """How many of those are stale."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/facts/list", ListFactsParams, FactsResult, "List the facts of a folder."),
    Request("palimpsest/facts/search", SearchFactsParams, FactsResult, "Find facts of a folder, the best first."),
    Request("palimpsest/facts/pin", PinFactParams, FactInfo, "Keep a statement of the user's as a fact."),
    Request(
        "palimpsest/facts/verify",
        FactParams,
        FactInfo,
        "The user says that a fact holds as its files are now: its places are taken anew, and it is stale no longer.",
    ),
    Request(
        "palimpsest/facts/update",
        FactParams,
        FactInfo,
        "Say a fact anew from its file as it is now, by the librarian's model, and close the old one. Where "
        "no model can be asked, or its answer is no statement about the same thing that quotes the file, nothing "
        "changes, and the error says why and what to do.",
    ),
    Request(
        "palimpsest/facts/forget",
        FactParams,
        ForgetFactResult,
        "Forget a fact: it is in no list, search or request any more, and the same words do not make it again. It can "
        "be restored for 30 days. The messages stay.",
    ),
    Request("palimpsest/facts/forgotten", ListForgottenParams, ForgottenResult, "List what can be restored."),
    Request(
        "palimpsest/facts/restore",
        FactParams,
        FactInfo,
        "Take a forgetting back. The fact is as it was; when the same was said again meanwhile, it is that one.",
    ),
    Notification(
        "palimpsest/didChangeFacts",
        FactsChangedParams,
        "Facts of a folder, or the condition of their places, have changed.",
    ),
)
