"""A model of the hub in memory: what its PostgreSQL functions do, in Python, by a clock that it is given.

`tests/hub/test_model.py` plays the same calls against the real hub and against this one, and compares all answers.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tests.simulation.hub.stored import (
    Conversation,
    Facts,
    Pusher,
    Row,
    Stored,
    check,
    iso,
    message_at,
    push,
    push_fact,
    size,
    start_of,
)

from palimpsest.domain.messages import is_time
from palimpsest.domain.sharing.log import FORMAT, Entry, MessageEntry, NewEntry, SharedConversation
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import (
    FOLLOWING_S,
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
    Repository,
    Team,
)

NEWEST_FORMAT: Final = FORMAT + 1
"""The hub was set up by a newer version, so that members of two versions meet."""
LEASE_S: Final = 30
_LONGEST_LEASE_S: Final = 300
_RESTORING_S: Final = 30 * 24 * 3600
"""For how long members may push again what others had said, once the hub was restored."""
_MOST_ENTRIES: Final = 200
"""Of one transaction, as the client cuts them."""
_ROLES: Final = ("reader", "writer", "admin")
_WRITERS: Final = ("writer", "admin")


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
        self.stored = replace(copy.deepcopy(backup), incarnation=self.new_id(), restored_s=self.now_s())

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
        check(role in (*_ROLES, "left") and member in self.stored.members)
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
        before = None
        if new.parent is None and new.fork_at != 0:
            raise HubRefused("malformed", "A conversation without a parent begins with message 0.")
        if new.parent is not None:
            parent = self.stored.conversations.get((team, new.parent))
            found = None if parent is None or parent.is_unshared else self._message(parent, new.fork_at - 1)
            if found is None:
                raise HubRefused("no_parent", "The conversation that this is a fork of is not shared with this team.")
            before = found.digest
        check(re.fullmatch(r"[0-9a-f-]{32,36}", new.id) is not None and new.fork_at >= 0)
        check(len(new.model) <= 300 and is_time(new.created_at))
        if (here := self.stored.conversations.get((team, new.id))) is None:
            check(new.repository is None or (team, new.repository) in self.stored.facts)
            made = self.stored.conversations[team, new.id] = Conversation(
                team, new, me, f"hub_{self.new_id()}", new.title[:300], new.fork_at, before
            )
            rows = [] if new.parent is None else self.stored.conversations[team, new.parent].rows
            purges = [each for each in rows if each.kind == "purge" and start_of(each) < new.fork_at]
            made.rows = [
                replace(each, seq=seq, key=f"copied {each.key}", at_s=self.now_s())
                for seq, each in enumerate(purges, 1)
            ]
            made.head_seq = len(made.rows)
        elif here.is_unshared:
            raise HubRefused("unshared", "This conversation was shared once and is no longer. Share a copy of it.")
        elif here.owner != me:
            raise HubRefused("taken", "Another member shares this conversation already.")

    def unshare(self, me: str | None, team: str, conversation: str) -> None:
        found = self._locked(me, team, conversation)
        if found.owner != me and not self._has(me, team, ("admin",)):
            raise HubRefused("forbidden", "Only its owner or an admin of the team may end the sharing.")
        forks = self._forks_with(team, conversation, -1)
        n_kept = max((n_common for each, n_common in forks if not each.is_unshared), default=0)
        found.rows = [
            replace(row, body=None, gone="purged")
            for row in found.rows
            if row.message is not None and row.message.message_id < n_kept
        ]
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

    def updated(self, me: str | None, team: str) -> dict[str, str]:
        if not self._has(me, team):
            return {}
        found = [each for each in self.stored.conversations.values() if each.team == team and each.rows]
        return {each.new.id: iso(each.rows[-1].at_s) for each in found if each.rows[-1].seq == each.head_seq}

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
        return found.store is not None and 0 < found.until_s - self.now_s() <= _LONGEST_LEASE_S

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
        self,
        me: str | None,
        team: str,
        conversation: str,
        store: str,
        holder: str,
        seconds: int = LEASE_S,
        form: int = FORMAT,
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

    def release(self, me: str | None, lease: Lease) -> None:
        self.renew(me, lease, 0)

    def renew(self, me: str | None, lease: Lease, seconds: int = LEASE_S) -> None:
        found = self._held(me, lease)
        found.until_s = self.now_s() + max(0, min(seconds, _LONGEST_LEASE_S))
        if seconds <= 0:
            found.store = None
            found.live.clear()
            self.notify(found.channel)

    def let_go(self, me: str | None, team: str, conversation: str, store: str) -> None:
        found = self._locked(me, team, conversation)
        if (found.member, found.store) == (me, store):
            found.epoch, found.store = found.epoch + 1, None
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
            check(1 <= len(turn) <= 100 and all(size(each) <= MOST_FRAME_BYTES for each in piece))
            for number, body in enumerate(piece, first + start):
                found.live.setdefault((lease.epoch, turn, number), body)
            self.notify(found.channel)

    def push(self, me: str | None, lease: Lease, entries: Sequence[NewEntry], form: int = FORMAT) -> Head:
        head = Head(lease.head_seq, lease.n_messages, lease.head_digest)
        for start in range(0, len(entries), _MOST_ENTRIES):
            found = self._held(me, lease)
            if not 1 <= form <= NEWEST_FORMAT:
                raise HubRefused(
                    "schema",
                    "The hub does not know this format of entries yet. Ask its administrator to run "
                    "`palimpsest hub setup` with the newest Palimpsest.",
                )
            trial = replace(found, rows=list(found.rows))
            may_restore = self.now_s() - self.stored.restored_s < _RESTORING_S
            others = frozenset(member for team, member in self.stored.roles if team == lease.team and may_restore)
            pusher = Pusher(me or "", form, self.now_s(), others)
            for each in entries[start : start + _MOST_ENTRIES]:
                push(trial, each, pusher)
            check(trial.title is not None)
            trial.format = max(trial.format, form)
            trial.live = {}
            trial.replicas[lease.store, me or ""] = (trial.head_seq, self.now_s())
            self.stored.conversations[lease.team, lease.conversation] = trial
            self.notify(trial.channel)
            head = Head(trial.head_seq, trial.n_messages, trial.head_digest)
        return head

    def purge(self, me: str | None, lease: Lease, start: int, end: int) -> int:
        found = self._held(me, lease)
        self._purge(found, me or "", start, end)
        return found.head_seq

    def purge_forks(self, me: str | None, team: str, conversation: str, start: int, end: int) -> None:
        me = self._require(me, team, _WRITERS, "You may not write in this team.")
        found = self.stored.conversations.get((team, conversation))
        if found is None or not found.is_unshared:
            raise HubRefused("lease_lost", "A purge of a shared conversation needs its lease.")
        self._purge(found, me, start, end)

    def _purge(self, found: Conversation, me: str, start: int, end: int) -> None:
        if not found.new.fork_at <= start < end <= found.n_messages:
            raise HubRefused("malformed", "There are no such messages in this conversation.")
        within = [each for each in found.rows if each.message is not None and start <= each.message.message_id < end]
        is_others = any(each.author != me for each in within)
        if found.owner != me and not self._has(me, found.team, ("admin",)) and is_others:
            raise HubRefused(
                "forbidden", "Only their author, the owner of the conversation or an admin may purge messages."
            )
        found.rows = [replace(row, body=None, gone="purged") if row in within else row for row in found.rows]
        forks = [each for each, _ in self._forks_with(found.team, found.new.id, start)]
        for each in (found, *forks):
            if not each.is_unshared:
                self._forget_derived(each, start, end, found.new.id, me)

    def _message(self, found: Conversation, message_id: int) -> MessageEntry | None:
        """A message of the conversation, which may be one that it was forked with."""
        while found.new.parent is not None and found.new.fork_at > message_id:
            found = self.stored.conversations[found.team, found.new.parent]
        return message_at(found, message_id)

    def _forks_with(self, team: str, conversation: str, start: int) -> list[tuple[Conversation, int]]:
        """The conversations below that one which begin with messages from `start` on, and below which message all are
        those of that one."""
        below, left = dict[str, tuple[Conversation, int]](), [(conversation, 1 << 31)]
        while left:
            parent, n_shared = left.pop()
            for each in self.stored.conversations.values():
                n_common = min(each.new.fork_at, n_shared)
                if (each.team, each.new.parent) == (team, parent) and n_common > start:
                    below[each.new.id] = each, n_common
                    left.append((each.new.id, n_common))
        return [each for _, each in sorted(below.items())]

    def _forget_derived(self, found: Conversation, start: int, end: int, of: str, me: str) -> None:
        found.rows = [
            replace(row, body=None, gone="purged") if row.kind in ("summary", "title") else row for row in found.rows
        ]
        body = json.dumps([start, end, of])
        key = f"{start}-{end}@{found.head_seq}"
        found.head_seq, found.title = found.head_seq + 1, ""
        found.rows.append(Row(found.head_seq, "purge", key, me, found.format, body, None, None, self.now_s()))
        if found.new.id != of:
            found.epoch, found.store = found.epoch + 1, None
        found.live = {}
        self.notify(found.channel)

    # Reading

    def entries(self, me: str | None, team: str, conversation: str, after: int, limit: int = 500) -> list[Entry]:
        found = self.stored.conversations.get((team, conversation))
        if found is None or not self._has(me, team):
            return []
        return [
            Entry(row.seq, row.kind, row.key, row.author, row.format, row.body, row.message, row.gone)
            for row in found.rows
            if row.seq > after
        ][:limit]

    def live(self, me: str | None, team: str, conversation: str, turn: str = "", after: int = 0) -> LiveView:
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
        check(found is not None and 1 <= len(store) <= 64)
        assert found is not None
        found.replicas[store, me] = (seq, self.now_s())

    def replicas(self, me: str | None, team: str, conversation: str) -> list[Replica]:
        found = self.stored.conversations.get((team, conversation))
        if found is None or not self._has(me, team):
            return []
        return [
            Replica(store, member, seq, iso(at_s), self.now_s() - at_s < FOLLOWING_S)
            for (store, member), (seq, at_s) in sorted(found.replicas.items())
        ]

    # Facts

    def repositories(self, me: str | None, team: str) -> list[Repository]:
        found = [
            Repository(at, root_commit, remote, self.stored.facts[team, at].head_seq)
            for (of, root_commit, remote), at in self.stored.repositories.items()
            if of == team and self._has(me, team)
        ]
        return sorted(found, key=lambda each: (each.remote, each.root_commit))

    def repository(self, me: str | None, team: str, root_commit: str, remote: str) -> str:
        self._require(me, team, _WRITERS, "You may not write in this team.")
        check(len(root_commit) <= 64 and len(remote) <= 1000)
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
                push_fact(trial, each, me)
            self.stored.facts[team, repository] = trial
            seq = trial.head_seq
        return seq

    def facts(self, me: str | None, team: str, repository: str, after: int, limit: int = 1000) -> list[FactChange]:
        known = self.stored.facts.get((team, repository))
        if known is None or not self._has(me, team):
            return []
        return sorted((each for each in known.found.values() if each.seq > after), key=lambda each: each.seq)[:limit]
