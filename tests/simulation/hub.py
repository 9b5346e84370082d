"""A model of the hub in memory: what its PostgreSQL functions do, in Python, by a clock that it is given.

`tests/hub/test_model.py` plays the same calls against the real hub and against this one, and compares all answers.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from palimpsest.domain.conversation.chain import message_digest
from palimpsest.domain.messages import ConversationId, Digest, MessageId, TurnId
from palimpsest.domain.sharing.log import FORMAT, MOST_BYTES, Entry, MessageEntry, NewEntry, SharedConversation
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import (
    FOLLOWING_S,
    MOST_FACT_BYTES,
    MOST_FRAME_BYTES,
    FactChange,
    Frame,
    Head,
    Identity,
    Lease,
    LiveView,
    Member,
    NewConversation,
    NewFact,
    Replica,
    Team,
)

LEASE_S: Final = 30
_LONGEST_LEASE_S: Final = 300
_MOST_ENTRIES: Final = 200
"""Of one transaction, as the client cuts them."""
_PUSHED: Final = ("message", "turn", "hidden", "summary", "title")
_ROLES: Final = ("reader", "writer", "admin")
_WRITERS: Final = ("writer", "admin")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_MALFORMED: Final = "The hub does not take a value of this form."


@dataclass(slots=True)
class Row:
    """An entry of a conversation, as it is stored."""

    kind: str
    key: str
    author: str
    format: int
    body: str | None
    gone: str | None
    message: MessageEntry | None


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
    replicas: dict[str, tuple[str, int, float]] = field(default_factory=dict)
    """By store: its member, how far it has come, when that was told."""


@dataclass(slots=True)
class Facts:
    """The facts of a repository, by key."""

    head_seq: int = 0
    found: dict[str, FactChange] = field(default_factory=dict)


@dataclass(slots=True)
class Stored:
    """All that a backup of the hub holds."""

    hub: str
    incarnation: str
    members: dict[str, str] = field(default_factory=dict)
    """The name of each."""
    teams: dict[str, str] = field(default_factory=dict)
    roles: dict[tuple[str, str], str] = field(default_factory=dict)
    """By team and member."""
    conversations: dict[tuple[str, str], Conversation] = field(default_factory=dict)
    repositories: dict[tuple[str, str, str], str] = field(default_factory=dict)
    facts: dict[tuple[str, str], Facts] = field(default_factory=dict)


class ModelHub:
    """The hub. Each call is one transaction of a member; None for one whom it does not know."""

    def __init__(self, now_s: Callable[[], float], new_id: Callable[[], str]) -> None:
        self.now_s, self.new_id = now_s, new_id
        self.stored = Stored(new_id(), new_id())
        self.notify: Callable[[str], None] = lambda _: None
        """Called with the channel of what has changed."""

    def backup(self) -> Stored:
        return copy.deepcopy(self.stored)

    def restore(self, backup: Stored) -> None:
        """As after a restore: all is as it was then, but for the incarnation."""
        self.stored = replace(copy.deepcopy(backup), incarnation=self.new_id())

    # Who is who

    def identity(self, me: str | None) -> Identity:
        return Identity(self.stored.hub, self.stored.incarnation, self.me(me))

    def me(self, me: str | None) -> str:
        if me is None:
            raise HubRefused("token", "The hub does not know this login or token, or it has expired.")
        return me

    def teams(self, me: str | None) -> list[Team]:
        found = [
            Team(team, self.stored.teams[team], role)  # type: ignore[arg-type]
            for (team, member), role in self.stored.roles.items()
            if member == me and role != "left"
        ]
        return sorted(found, key=lambda each: each.name)

    def members(self, me: str | None, team: str) -> list[Member]:
        if not self._has(me, team):
            return []
        found = [
            Member(member, self.stored.members[member], role)  # type: ignore[arg-type]
            for (of, member), role in self.stored.roles.items()
            if of == team
        ]
        return sorted(found, key=lambda each: each.name)

    def set_membership(self, me: str | None, team: str, member: str, role: str) -> None:
        if not (role == "left" and member == me and self._has(me, team)):
            self._require(me, team, ("admin",), "Only an admin of the team may do that.")
        _check(role in (*_ROLES, "left") and member in self.stored.members)
        self.stored.roles[team, member] = role
        if role in ("left", "reader"):
            for each in self.stored.conversations.values():
                if each.team == team and each.member == member and each.store is not None:
                    each.store, each.epoch = None, each.epoch + 1

    def _has(self, me: str | None, team: str, roles: Sequence[str] = _ROLES) -> bool:
        return me is not None and self.stored.roles.get((team, me)) in roles

    def _require(self, me: str | None, team: str, roles: Sequence[str], sentence: str) -> str:
        if me is None:
            raise HubRefused("token", "The hub does not know this login or token, or it has expired.")
        if not self._has(me, team, roles):
            raise HubRefused("forbidden", sentence)
        return me

    # Conversations

    def share(self, me: str | None, team: str, new: NewConversation) -> None:
        me = self._require(me, team, _WRITERS, "You may not write in this team.")
        before, version = None, 1
        if new.parent is None and new.fork_at != 0:
            raise HubRefused("malformed", "A conversation without a parent begins with message 0.")
        if new.parent is not None:
            parent = self.stored.conversations.get((team, new.parent))
            found = None if parent is None else _message_at(parent, new.fork_at - 1)
            if found is None:
                raise HubRefused("no_parent", "The conversation that this is a fork of is not shared with this team.")
            before, version = found.digest, found.digest_version
        _check(re.fullmatch(r"[0-9a-f-]{32,36}", new.id) is not None and new.fork_at >= 0)
        _check(len(new.model) <= 300 and len(new.created_at) <= 40)
        if (here := self.stored.conversations.get((team, new.id))) is None:
            _check(new.repository is None or (team, new.repository) in self.stored.facts)
            self.stored.conversations[team, new.id] = Conversation(
                team, new, me, f"hub_{self.new_id()}", new.title[:300], new.fork_at, before, version
            )
            made = self.stored.conversations[team, new.id]
            rows = [] if new.parent is None else self.stored.conversations[team, new.parent].rows
            made.rows = [each for each in rows if each.kind == "purge" and _start_of(each) < new.fork_at]
            made.head_seq = len(made.rows)
        elif here.is_unshared:
            raise HubRefused("unshared", "This conversation was shared once and is no longer. Share a copy of it.")
        elif here.owner != me:
            raise HubRefused("taken", "Another member shares this conversation already.")

    def unshare(self, me: str | None, team: str, conversation: str) -> None:
        found = self._locked(me, team, conversation)
        if found.owner != me and not self._has(me, team, ("admin",)):
            raise HubRefused("forbidden", "Only its owner or an admin of the team may end the sharing.")
        found.rows.clear()
        found.live.clear()
        found.is_unshared, found.title, found.store, found.epoch = True, "", None, found.epoch + 1
        self.notify(found.channel)

    def conversations(self, me: str | None, team: str) -> list[SharedConversation]:
        if not self._has(me, team):
            return []
        found = [self._header(each, me) for each in self.stored.conversations.values() if each.team == team]
        return sorted(found, key=lambda each: (each.created_at, each.id))

    def conversation(self, me: str | None, team: str, conversation: str) -> SharedConversation:
        found = self.stored.conversations.get((team, conversation))
        if found is None or not self._has(me, team):
            raise HubRefused("not_shared", "This conversation is not shared with you.")
        return self._header(found, me)

    def _header(self, found: Conversation, me: str | None) -> SharedConversation:
        new, is_held = found.new, self._is_held(found)
        return SharedConversation(
            *(found.team, new.id, new.parent, new.fork_at, found.title or "", new.model, new.created_at, found.channel),
            *(found.head_seq, found.n_messages, found.is_unshared, found.owner, new.repository, found.format),
            *(found.head_digest, found.member if is_held else None, found.holder if is_held else None),
            *(self.stored.hub, self.stored.incarnation, me or ""),
            writer_store=found.store if is_held else None,
        )

    def _is_held(self, found: Conversation) -> bool:
        return found.store is not None and found.until_s > self.now_s()

    # Writing

    def _locked(self, me: str | None, team: str, conversation: str) -> Conversation:
        self._require(me, team, _WRITERS, "You may not write in this team.")
        found = self.stored.conversations.get((team, conversation))
        if found is None or found.is_unshared:
            raise HubRefused("not_shared", "This conversation is not shared with this team.")
        return found

    def _held(self, me: str | None, lease: Lease) -> Conversation:
        found = self._locked(me, lease.team, lease.conversation)
        if found.store is None or (found.member, found.store, found.epoch) != (me, lease.store, lease.epoch):
            raise HubRefused("lease_lost", "Another store has taken this conversation over.")
        return found

    def lease(
        self, me: str | None, team: str, conversation: str, store: str, holder: str, seconds: int, form: int = FORMAT
    ) -> Lease:
        found = self._locked(me, team, conversation)
        if not 1 <= len(store) <= 64:
            raise HubRefused("malformed", "The id of a store has 1 to 64 characters.")
        if found.format > form:
            raise HubRefused(
                "upgrade", "This conversation was continued by a newer Palimpsest. Install the newest version to go on."
            )
        if self._is_held(found) and (found.member, found.store) != (me, store):
            name = self.stored.members[found.member or ""]
            raise HubRefused("busy", f"{name} is writing here: {found.holder}.", iso(found.until_s))
        found.epoch, found.member, found.store, found.holder = found.epoch + 1, me, store, holder[:100]
        found.until_s = self.now_s() + max(1, min(seconds, _LONGEST_LEASE_S))
        found.live.clear()
        self.notify(found.channel)
        return Lease(
            *(team, conversation, store, found.epoch, found.head_seq, found.n_messages, found.head_digest),
            self.stored.incarnation,
        )

    def renew(self, me: str | None, lease: Lease, seconds: int) -> None:
        found = self._held(me, lease)
        found.until_s = self.now_s() + max(0, min(seconds, _LONGEST_LEASE_S))
        if seconds <= 0:
            found.store = None
            found.live.clear()
            self.notify(found.channel)

    def say(self, me: str | None, lease: Lease, turn: str, first: int, frames: Sequence[str]) -> None:
        for start in range(0, len(frames), _MOST_ENTRIES):
            found = self.stored.conversations.get((lease.team, lease.conversation))
            is_held = (
                found is not None
                and found.store is not None
                and (found.member, found.store, found.epoch) == (me, lease.store, lease.epoch)
            )
            if found is None or me is None or not is_held:
                raise HubRefused("lease_lost", "Another store has taken this conversation over.")
            piece = frames[start : start + _MOST_ENTRIES]
            _check(1 <= len(turn) <= 100 and all(_size(each) <= MOST_FRAME_BYTES for each in piece))
            for number, body in enumerate(piece, first + start):
                found.live.setdefault((lease.epoch, turn, number), body)
            self.notify(found.channel)

    def push(self, me: str | None, lease: Lease, entries: Sequence[NewEntry], form: int = FORMAT) -> Head:
        head = Head(lease.head_seq, lease.n_messages, lease.head_digest)
        for start in range(0, len(entries), _MOST_ENTRIES):
            found = self._held(me, lease)
            trial = replace(found, rows=list(found.rows))
            for each in entries[start : start + _MOST_ENTRIES]:
                _push(trial, each, me or "", form)
            _check(trial.title is not None)
            trial.format = max(trial.format, form)
            trial.live = {}
            self.stored.conversations[lease.team, lease.conversation] = trial
            self.notify(trial.channel)
            head = Head(trial.head_seq, trial.n_messages, trial.head_digest)
        return head

    def purge(self, me: str | None, lease: Lease, start: int, end: int) -> int:
        found = self._held(me, lease)
        if not found.new.fork_at <= start < end <= found.n_messages:
            raise HubRefused("malformed", "There are no such messages in this conversation.")
        within = [each for each in found.rows if each.message is not None and start <= each.message.message_id < end]
        is_others = any(each.author != me for each in within)
        if found.owner != me and not self._has(me, lease.team, ("admin",)) and is_others:
            raise HubRefused(
                "forbidden", "Only their author, the owner of the conversation or an admin may purge messages."
            )
        forks = self._forks_with(lease.team, lease.conversation, start)
        for each in forks:
            if self._is_held(each):
                name = self.stored.members[each.member or ""]
                sentence = f"{name} is writing in a fork that has the same messages: {each.holder}."
                raise HubRefused("busy", sentence, iso(each.until_s))
        found.rows = [replace(row, body=None, gone="purged") if row in within else row for row in found.rows]
        seq = found.head_seq + 1
        for each in (found, *forks):
            self._forget_derived(each, start, end, lease.conversation, me or "")
        return seq

    def _forks_with(self, team: str, conversation: str, start: int) -> list[Conversation]:
        """The conversations below that one which begin with messages from `start` on, and are still shared."""
        below, left = dict[str, Conversation](), [(conversation, 1 << 31)]
        while left:
            parent, n_shared = left.pop()
            for each in self.stored.conversations.values():
                n_common = min(each.new.fork_at, n_shared)
                if (each.team, each.new.parent) == (team, parent) and n_common > start:
                    below[each.new.id] = each
                    left.append((each.new.id, n_common))
        return [each for _, each in sorted(below.items()) if not each.is_unshared]

    def _forget_derived(self, found: Conversation, start: int, end: int, of: str, me: str) -> None:
        found.rows = [
            replace(row, body=None, gone="purged") if row.kind in ("summary", "title") else row for row in found.rows
        ]
        body = json.dumps([start, end, of])
        found.rows.append(Row("purge", f"{start}-{end}@{found.head_seq}", me, found.format, body, None, None))
        found.head_seq, found.title = found.head_seq + 1, ""
        if found.new.id != of:
            found.epoch, found.store = found.epoch + 1, None
        found.live = {}
        self.notify(found.channel)

    # Reading

    def entries(self, me: str | None, team: str, conversation: str, after: int, limit: int) -> list[Entry]:
        found = self.stored.conversations.get((team, conversation))
        if found is None or not self._has(me, team):
            return []
        return [
            Entry(seq, row.kind, row.key, row.author, row.format, row.body, row.message, row.gone)
            for seq, row in enumerate(found.rows, 1)
            if seq > after
        ][:limit]

    def live(self, me: str | None, team: str, conversation: str, turn: str, after: int) -> LiveView:
        found = self.stored.conversations.get((team, conversation))
        if found is None or found.is_unshared or not self._has(me, team):
            raise HubRefused("not_shared", "This conversation is not shared with you.")
        frames = tuple(
            Frame(of, number, body)
            for (epoch, of, number), body in sorted(found.live.items())
            if epoch == found.epoch and (of != turn or number > after)
        )
        writer = (found.member, found.holder, found.store) if self._is_held(found) else (None, None, None)
        return LiveView(found.head_seq, found.epoch, writer[0], frames, *writer[1:])

    def seen(self, me: str | None, team: str, conversation: str, store: str, seq: int) -> None:
        me = self._require(me, team, _ROLES, "This conversation is not shared with you.")
        found = self.stored.conversations.get((team, conversation))
        _check(found is not None and 1 <= len(store) <= 64)
        assert found is not None
        if found.replicas.get(store, (me,))[0] == me:
            found.replicas[store] = (me, seq, self.now_s())

    def replicas(self, me: str | None, team: str, conversation: str) -> list[Replica]:
        found = self.stored.conversations.get((team, conversation))
        if found is None or not self._has(me, team):
            return []
        return [
            Replica(store, member, seq, iso(at_s), self.now_s() - at_s < FOLLOWING_S)
            for store, (member, seq, at_s) in sorted(found.replicas.items())
        ]

    # Facts

    def repository(self, me: str | None, team: str, root_commit: str, remote: str) -> str:
        self._require(me, team, _WRITERS, "You may not write in this team.")
        _check(len(root_commit) <= 64 and len(remote) <= 1000)
        key = (team, root_commit, remote)
        if key not in self.stored.repositories:
            self.stored.repositories[key] = self.new_id()
            self.stored.facts[team, self.stored.repositories[key]] = Facts()
        return self.stored.repositories[key]

    def push_facts(self, me: str | None, team: str, repository: str, facts: Sequence[NewFact]) -> int:
        seq = 0
        for start in range(0, len(facts), _MOST_ENTRIES):
            me = self._require(me, team, _WRITERS, "You may not write in this team.")
            if (known := self.stored.facts.get((team, repository))) is None:
                raise HubRefused("not_shared", "The facts of this repository are not shared with this team.")
            trial = Facts(known.head_seq, dict(known.found))
            for each in facts[start : start + _MOST_ENTRIES]:
                _push_fact(trial, each, me)
            self.stored.facts[team, repository] = trial
            seq = trial.head_seq
        return seq

    def facts(self, me: str | None, team: str, repository: str, after: int, limit: int) -> list[FactChange]:
        known = self.stored.facts.get((team, repository))
        if known is None or not self._has(me, team):
            return []
        return sorted((each for each in known.found.values() if each.seq > after), key=lambda each: each.seq)[:limit]


def _push(found: Conversation, entry: NewEntry, me: str, form: int) -> None:
    """One entry at the end of the conversation, unless it is there. Raises HubRefused."""
    said, body = entry.message, entry.body
    if entry.kind not in _PUSHED:
        raise HubRefused("forbidden", "An entry of this kind cannot be pushed.")
    if body is not None and _size(body) > MOST_BYTES:
        raise HubRefused("too_large", "An entry has over 1 MiB.")
    if entry.kind == "message":
        at = None if said is None else said.message_id
        if at is not None and at < found.n_messages:
            there = _message_at(found, at)
            if said is None or there is None or there.digest != said.digest:
                raise HubRefused("diverged", "The hub has another message there.")
            return
        if said is None or at != found.n_messages or entry.key != str(at):
            raise HubRefused("gap", "Messages are missing before this one.")
        _check_message(found, said, body, me)
    _check(1 <= len(entry.key) <= 200 and (body is None) == (entry.missing is not None))
    if all((each.kind, each.key) != (entry.kind, entry.key) for each in found.rows):
        kept = said if entry.kind == "message" else None
        found.rows.append(Row(entry.kind, entry.key, me, form, body, entry.missing, kept))
        found.head_seq += 1
        if entry.kind == "title":
            found.title = None if body is None else body[:300]
    if entry.kind == "message" and said is not None:
        found.n_messages, found.head_digest = said.message_id + 1, said.digest
        found.digest_version = said.digest_version


def _check_message(found: Conversation, said: MessageEntry, body: str | None, me: str) -> None:
    version = said.digest_version
    if version not in (1, 2) or version < found.digest_version:
        raise HubRefused("digest", "The version of a digest is unknown, or older than the one before it.")
    due = message_digest(
        None if found.head_digest is None else Digest(found.head_digest),
        ConversationId(found.new.id),
        MessageId(said.message_id),
        said.said_at,
        None if said.turn is None else TurnId(said.turn),
        Digest(said.content_digest),
        me if version == 2 else None,
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
    _check(len(said.said_at) <= 40 and len(said.turn or "") <= 100 and said.role in ("user", "assistant", "tool"))
    _check(all(_DIGEST.fullmatch(each) is not None for each in (said.digest, said.content_digest)))


def _push_fact(found: Facts, fact: NewFact, me: str) -> None:
    if fact.body is not None and _size(fact.body) > MOST_FACT_BYTES:
        raise HubRefused("too_large", "A fact has over 256 KiB.")
    _check(_DIGEST.fullmatch(fact.key) is not None and fact.standing in ("open", "closed", "forgotten"))
    _check((fact.body is None) == (fact.standing == "forgotten"))
    new = FactChange(found.head_seq + 1, fact.key, fact.standing, me, fact.body)
    if (known := found.found.get(fact.key)) is not None:
        if known.standing in ("forgotten", fact.standing):
            return
        body = known.body if fact.standing != "forgotten" else None
        new = replace(known, seq=found.head_seq + 1, standing=fact.standing, body=body)
    found.found[fact.key], found.head_seq = new, found.head_seq + 1


def _start_of(purge: Row) -> int:
    return int(json.loads(purge.body or "[0]")[0])


def _message_at(found: Conversation, message_id: int) -> MessageEntry | None:
    rows = (each.message for each in found.rows if each.message is not None)
    return next((each for each in rows if each.message_id == message_id), None)


def _check(is_met: bool) -> None:
    """What a constraint of a table wants."""
    if not is_met:
        raise HubRefused("malformed", _MALFORMED)


def _size(text: str) -> int:
    return len(text.encode())


def iso(at_s: float) -> str:
    """A time of the hub's clock, as the hub writes times."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dump(stored: Stored) -> Mapping[str, Any]:
    """All of it as plain values, to be looked through."""
    return {f"{team} {at}": asdict(found) for (team, at), found in stored.conversations.items()}
