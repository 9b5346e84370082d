"""What a hub stores, and what its tables take."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from palimpsest.domain.conversation.chain import message_digest
from palimpsest.domain.messages import ConversationId, Digest, MessageId, TurnId, is_time
from palimpsest.domain.sharing.log import LONGEST_TITLE, MOST_BYTES, MessageEntry, NewEntry
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import MOST_FACT_BYTES, FactChange, NewConversation, NewFact

_PUSHED: Final = ("message", "turn", "hidden", "summary", "title")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_MALFORMED: Final = "The hub does not take a value of this form."


@dataclass(slots=True)
class Row:
    """An entry of a conversation, as it is stored."""

    seq: int
    kind: str
    key: str
    author: str
    format: int
    body: str | None
    gone: str | None
    message: MessageEntry | None
    at_s: float


@dataclass(slots=True)
class Conversation:
    """A conversation with its log."""

    team: str
    new: NewConversation
    owner: str
    channel: str
    title: str | None
    """None only within a push, which is refused then."""
    n_messages: int = 0
    head_digest: str | None = None
    digest_version: int = 1
    format: int = 1
    head_seq: int = 0
    """Stays when the entries go."""
    epoch: int = 0
    member: str | None = None
    store: str | None = None
    """None: nobody holds the lease."""
    holder: str | None = None
    until_s: float = 0.0
    is_unshared: bool = False
    rows: list[Row] = field(default_factory=list)
    live: dict[tuple[int, str, int], str] = field(default_factory=dict)
    """By epoch, turn and number."""
    replicas: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    """By store and member: how far it has come, when that was told."""


@dataclass(slots=True)
class Facts:
    """The facts of a repository, by key and author."""

    head_seq: int = 0
    found: dict[tuple[str, str], FactChange] = field(default_factory=dict)


@dataclass(slots=True)
class Stored:
    """All that a backup of the hub holds."""

    hub: str
    incarnation: str
    restored_s: float = float("-inf")
    """When it was restored from a backup."""
    members: dict[str, str] = field(default_factory=dict)
    """The name of each."""
    teams: dict[str, str] = field(default_factory=dict)
    roles: dict[tuple[str, str], str] = field(default_factory=dict)
    """By team and member."""
    conversations: dict[tuple[str, str], Conversation] = field(default_factory=dict)
    repositories: dict[tuple[str, str, str], str] = field(default_factory=dict)
    facts: dict[tuple[str, str], Facts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pusher:
    """Who pushes, in which format of entries, when."""

    me: str
    format: int
    now_s: float
    others: frozenset[str]
    """The members whose messages may be pushed again."""


def push(found: Conversation, entry: NewEntry, pusher: Pusher) -> None:
    """One entry at the end of the conversation, unless it is there. Raises HubRefused."""
    said, body = entry.message, entry.body
    if entry.kind not in _PUSHED:
        raise HubRefused("forbidden", "An entry of this kind cannot be pushed.")
    if body is not None and size(body) > MOST_BYTES:
        raise HubRefused("too_large", "An entry has over 1 MiB.")
    if entry.kind == "title" and body is not None and len(body) > LONGEST_TITLE:
        raise HubRefused("too_large", "A title has over 300 characters.")
    if entry.kind == "message":
        at = None if said is None else said.message_id
        if at is not None and at < found.n_messages:
            there = message_at(found, at)
            if said is None or there is None or there.digest != said.digest:
                raise HubRefused("diverged", "The hub has another message there.")
            return
        if said is None or at != found.n_messages or entry.key != str(at):
            raise HubRefused("gap", "Messages are missing before this one.")
        _check_message(found, said, body, pusher)
    check(1 <= len(entry.key) <= 200 and (body is None) == (entry.missing is not None))
    if all((each.kind, each.key) != (entry.kind, entry.key) for each in found.rows):
        kept = said if entry.kind == "message" else None
        author = (kept.author if kept is not None else None) or pusher.me
        kept = None if kept is None else replace(kept, author=None)
        found.head_seq += 1
        row = Row(found.head_seq, entry.kind, entry.key, author, pusher.format, body, entry.missing, kept, pusher.now_s)
        found.rows.append(row)
        if entry.kind == "title":
            found.title = body
    if entry.kind == "message" and said is not None:
        found.n_messages, found.head_digest = said.message_id + 1, said.digest
        found.digest_version = said.digest_version


def _check_message(found: Conversation, said: MessageEntry, body: str | None, pusher: Pusher) -> None:
    version = said.digest_version
    if version not in (1, 2) or version < found.digest_version:
        raise HubRefused("digest", "The version of a digest is unknown, or older than the one before it.")
    if said.author not in (None, pusher.me, *pusher.others):
        raise HubRefused(
            "author",
            "Another member wrote this message. If the hub was restored from a backup, its administrator has to run "
            "`palimpsest hub setup --restored`.",
        )
    due = message_digest(
        None if found.head_digest is None else Digest(found.head_digest),
        ConversationId(found.new.id),
        MessageId(said.message_id),
        said.said_at,
        None if said.turn is None else TurnId(said.turn),
        Digest(said.content_digest),
        said.author or pusher.me if version == 2 else None,
    )
    if said.digest != due or (body is not None and said.content_digest != hashlib.sha256(body.encode()).hexdigest()):
        raise HubRefused("digest", "A digest does not follow from the message and those before it.")
    if body is not None:
        try:
            role = json.loads(body).get("role")
        except (ValueError, AttributeError):
            role = None
        if role is None or role != said.role:
            raise HubRefused("malformed", "The role of a message is not the one in its text.")
    check(is_time(said.said_at) and len(said.turn or "") <= 100 and said.role in ("user", "assistant", "tool"))
    check(all(_DIGEST.fullmatch(each) is not None for each in (said.digest, said.content_digest)))


def push_fact(found: Facts, fact: NewFact, me: str) -> None:
    if fact.body is not None and size(fact.body) > MOST_FACT_BYTES:
        raise HubRefused("too_large", "A fact has over 256 KiB.")
    check(_DIGEST.fullmatch(fact.key) is not None and fact.standing in ("open", "closed", "forgotten"))
    check((fact.body is None) == (fact.standing == "forgotten"))
    known = sorted((each for each in found.found.values() if each.key == fact.key), key=lambda each: each.seq)
    if any(each.standing == "forgotten" for each in known):
        return
    changed = [each for each in known if each.standing != fact.standing]
    for each in changed:
        body = each.body if fact.standing != "forgotten" else None
        found.head_seq += 1
        found.found[each.key, each.author] = replace(each, seq=found.head_seq, standing=fact.standing, body=body)
    is_told = any(fact.standing != "open" or each.body == fact.body for each in known)
    if not changed and not is_told and (fact.key, me) not in found.found:
        found.head_seq += 1
        found.found[fact.key, me] = FactChange(found.head_seq, fact.key, fact.standing, me, fact.body)


def start_of(purge: Row) -> int:
    return int(json.loads(purge.body or "[0]")[0])


def message_at(found: Conversation, message_id: int) -> MessageEntry | None:
    rows = (each.message for each in found.rows if each.message is not None)
    return next((each for each in rows if each.message_id == message_id), None)


def check(is_met: bool) -> None:
    """What a constraint of a table wants."""
    if not is_met:
        raise HubRefused("malformed", _MALFORMED)


def size(text: str) -> int:
    return len(text.encode())


def iso(at_s: float) -> str:
    """A time of the hub's clock, as the hub writes times."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
