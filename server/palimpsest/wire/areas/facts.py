"""Facts that the librarian keeps about a folder, and the places in files that they rest on. The server reports a stale
fact by plain LSP: a diagnostic on the line with the source `palimpsest` and `data.factIds`, and code actions for it."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class FactKind(enum.StrEnum):
    """The kind of a fact."""

    ENTITY = "entity"
    """What a file, function, variable, path or address is."""
    DECISION = "decision"
    """A design decision with its reason."""
    CONSTRAINT = "constraint"
    """A limit or a requirement."""
    CODE_STATE = "codeState"
    """Something that was made, changed or removed."""
    PINNED = "pinned"
    """A statement that the user pinned."""


class SourceCondition(enum.StrEnum):
    """The condition of a place compared with the text that the fact rests on."""

    FRESH = "fresh"
    """The text is unchanged and at the same lines."""
    MOVED = "moved"
    """The text is unchanged except for its formatting, and at other lines."""
    CHANGED = "changed"
    """The text is different."""
    MISSING = "missing"
    """The text is gone."""


@attrs.frozen(eq=False, repr=False)
class FactSource(Wire):
    """A place that a fact rests on."""

    uri: str
    """The file."""
    path: str
    """The path of the file below the folder, with `/`."""
    condition: SourceCondition
    """The condition when the file on disk was last checked."""
    start_line: int | None = None
    """The first line, counted from 0. Absent: the whole file."""
    end_line: int | None = None
    """The last line, counted from 0."""
    symbol: str | None = None
    """The function, class or heading that the fact is about."""
    was: str | None = None
    """For a `changed` or `missing` place: a line of it that is no longer there, without its indentation. Absent: it is
    not known."""
    now: str | None = None
    """For a `changed` place: the line that is there now, without its indentation. Absent: there is none."""
    now_line: int | None = None
    """The number of that line, counted from 0."""


@attrs.frozen(eq=False, repr=False)
class FactInfo(Wire):
    """A fact."""

    id: int
    """Its id in its folder."""
    fact_type: FactKind
    """The kind of the fact."""
    content: str
    """The statement, on one line."""
    entities: list[str]
    """The names by which the search finds it."""
    sources: list[FactSource]
    """The places it rests on."""
    is_stale: bool
    """Whether one of its places is changed or missing."""
    turn_number: int
    """The number of the turn it was learned in, counted from 1 in its conversation; 0: in no turn."""
    created_at: str
    """When it was learned."""
    uses: int
    """How often it was sent to a model."""
    shared: bool
    """Whether the user's team has it, through a hub."""
    conversation_id: str | None = None
    """The conversation that it comes from."""
    message_id: int | None = None
    """The message that it comes from."""
    quote: str | None = None
    """The words that it rests on, exactly as in the message."""
    closed_at: str | None = None
    """When it stopped being true. Absent: it holds."""
    superseded_by: int | None = None
    """The id of the fact that contradicted it."""
    verified_at: str | None = None
    """When a user last confirmed it."""
    author: str | None = None
    """The colleague who noted it, on another checkout; show it with that name. Absent: it is the user's own."""


@attrs.frozen(eq=False, repr=False)
class ListFactsParams(Wire):
    """Which facts to list."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""
    fact_types: list[FactKind] | None = None
    """Only these kinds. Absent: all."""
    path: str | None = None
    """Only facts that rest on this file; a path below the folder with `/`."""
    stale: bool | None = None
    """True: only stale facts; false: only others. Absent: both."""
    include_closed: bool | None = None
    """Whether to list facts that no longer hold, too. Absent: no."""
    limit: int | None = None
    """The largest number of facts, 1 to 1,000. Absent: 100."""
    before: int | None = None
    """Only facts with an id below this: the last id of the page before."""


@attrs.frozen(eq=False, repr=False)
class SearchFactsParams(Wire):
    """A search by words, parts of identifiers, and the names that facts are about."""

    query: str
    """The words as the user typed them; no character has a special meaning."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""
    limit: int | None = None
    """The largest number of facts, 1 to 100. Absent: 20."""


@attrs.frozen(eq=False, repr=False)
class FactsResult(Wire):
    """Facts of one folder."""

    facts: list[FactInfo]
    """For a list, the newest first; for a search, the best first."""
    open: int
    """How many facts of the folder hold."""
    stale: int
    """How many of those are stale."""


@attrs.frozen(eq=False, repr=False)
class PinFactParams(Wire):
    """A statement of the user to keep as a fact."""

    content: str
    """The statement, at most 1,000 characters."""
    entities: list[str] | None = None
    """The names by which the search finds it. Absent: the names in the statement."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""
    file_uri: str | None = None
    """URI of a file that the statement rests on."""
    start_line: int | None = None
    """The first line that it rests on, counted from 0. Absent: the whole file."""
    end_line: int | None = None
    """The last line, counted from 0. Absent: the first line."""


@attrs.frozen(eq=False, repr=False)
class FactParams(Wire):
    """A fact of a folder."""

    fact_id: int
    """The fact."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class ForgetFactResult(Wire):
    """The facts that are left."""

    open: int
    """How many facts of the folder hold."""
    stale: int
    """How many of those are stale."""


@attrs.frozen(eq=False, repr=False)
class ListForgottenParams(Wire):
    """Which folder to look at."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class ForgottenFact(Wire):
    """A forgotten fact that can be restored."""

    fact_id: int
    """Its id. It keeps the id when it is restored."""
    content: str
    """The statement."""
    forgotten_at: str
    """When the user forgot it. It can be restored for 30 days."""


@attrs.frozen(eq=False, repr=False)
class ForgottenResult(Wire):
    """The forgotten facts."""

    facts: list[ForgottenFact]
    """The one that was forgotten last comes first."""


@attrs.frozen(eq=False, repr=False)
class ShareFactsParams(Wire):
    """The facts of a folder that are to be shared with a team through a hub."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""
    confirm: bool | None = None
    """True: share them. False or absent: only say what would be shared."""
    repository: str | None = None
    """Where the plan is not certain: the id of one of its repositories, or `new` for another one."""


@attrs.frozen(eq=False, repr=False)
class SharedRepository(Wire):
    """A repository of a team."""

    id: str
    """Its id in the hub."""
    remote: str
    """The host and path that it is fetched from; empty: none is known."""
    root_commit: str
    """Its first commit; empty: not known."""


@attrs.frozen(eq=False, repr=False)
class FactsLeftOut(Wire):
    """Facts that are not shared."""

    reason: str
    """`pinned`; `place`: about places that cannot be told, or that hold a secret; `text`: nothing would be left;
    `colleague`: noted by colleagues, who share them themselves."""
    n_facts: int
    """How many."""


@attrs.frozen(eq=False, repr=False)
class ShareFactsResult(Wire):
    """What is shared, or would be."""

    shared: bool
    """Whether the facts of the folder are shared now."""
    team: str
    """The name of the team."""
    readers: list[str]
    """The names of those who read them."""
    n_facts: int
    """How many facts they read."""
    n_cleaned: int
    """How many of those are shared without a key or a path of this machine."""
    left_out: list[FactsLeftOut]
    """What is not shared, by reason."""
    certain: bool
    """Whether it is certain which repository of the team it is. False: the request needs `repository`."""
    repositories: list[SharedRepository]
    """The repositories of the team that it may be."""


@attrs.frozen(eq=False, repr=False)
class UnshareFactsParams(Wire):
    """A folder whose facts are to be shared no more."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class UnshareFactsResult(Wire):
    """What changed."""

    was_shared: bool
    """Whether the facts were shared until now."""


@attrs.frozen(eq=False, repr=False)
class FactsChangedParams(Wire):
    """A change of the facts of a folder, or of the condition of their places."""

    folder_uri: str
    """URI of the workspace folder."""
    open: int
    """How many facts hold."""
    stale: int
    """How many of those are stale."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/facts/list", ListFactsParams, FactsResult, "List the facts of a folder."),
    Request("palimpsest/facts/search", SearchFactsParams, FactsResult, "Search the facts of a folder, the best first."),
    Request("palimpsest/facts/pin", PinFactParams, FactInfo, "Keep a statement of the user as a fact."),
    Request(
        "palimpsest/facts/verify",
        FactParams,
        FactInfo,
        "Confirm that a fact holds with its files as they are now. Its places are recorded again, and it is no "
        "longer stale.",
    ),
    Request(
        "palimpsest/facts/update",
        FactParams,
        FactInfo,
        "Let the librarian's model state a fact again from its file as it is now, and close the old fact. When no "
        "model can be asked, or its answer is not a statement about the same thing that quotes the file, nothing "
        "changes, and the error says why and what to do.",
    ),
    Request(
        "palimpsest/facts/forget",
        FactParams,
        ForgetFactResult,
        "Forget a fact. No list, search or request contains it any more, and the same words do not make it again. "
        "It can be restored for 30 days. The messages stay. A `shared` fact is forgotten by the whole team, for good: "
        "ask the user first.",
    ),
    Request(
        "palimpsest/facts/forgotten",
        ListForgottenParams,
        ForgottenResult,
        "List the forgotten facts that can be restored.",
    ),
    Request(
        "palimpsest/facts/restore",
        FactParams,
        FactInfo,
        "Restore a forgotten fact. When the same statement was learned again meanwhile, the result is that fact.",
    ),
    Request(
        "palimpsest/facts/share",
        ShareFactsParams,
        ShareFactsResult,
        "Share the facts of a folder with those who work on the same git repository, or say what would be shared and "
        "who would read it. The setting `hub.facts` must be true to share.",
    ),
    Request(
        "palimpsest/facts/unshare",
        UnshareFactsParams,
        UnshareFactsResult,
        "Share the facts of a folder no more. The team keeps what it has, and this folder what came from it.",
    ),
    Notification(
        "palimpsest/didChangeFacts",
        FactsChangedParams,
        "The facts of a folder, or the condition of their places, have changed.",
    ),
)
