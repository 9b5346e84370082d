"""The hub as a member's server sees it: each call is one transaction and may be repeated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import asdict, replace
from types import TracebackType
from typing import Final, Self, TypeVar

import psycopg
from psycopg import sql

from palimpsest.domain.conversation.titles import arrived_title
from palimpsest.domain.sharing.log import FORMAT, Entry, MessageEntry, NewEntry, SharedConversation
from palimpsest_hub.connection import Connection, Pauses, connect
from palimpsest_hub.errors import HubRefused, HubUnreachable
from palimpsest_hub.records import (
    FOLLOWING_S,
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
    RoleInTeam,
    Team,
)

LEASE_S: Final = 30
"""How long a lease lasts. Renew it each third of that."""
LOOK_EVERY_S: Final = 15.0
"""How often a follower looks even when no notification came, because one may be lost."""
POLL_S: Final = 1.0
"""How often one looks at a hub that has no notifications."""
_LONGEST_PAUSE_S: Final = 30.0
MOST_FRAMES: Final = 500
"""Of one look: a member may show any number."""
_MOST_AT_ONCE: Final = 200
_MOST_BYTES_AT_ONCE: Final = 4 << 20
_TIME: Final = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
_IS_HELD: Final = """lease_store IS NOT NULL AND lease_until > clock_timestamp()
    AND lease_until <= clock_timestamp() + interval '5 min'"""
"""No lease is longer, so one that ends later is from before the hub's clock was set back."""


class Hub:
    """A member's way to a hub. Every call raises HubRefused when the hub says no, and HubUnreachable when it does not
    answer. Calls that write go one after another over one connection, those that read over a second one, so that a
    turn does not wait while much is taken in; each follower has one of its own."""

    def __init__(
        self,
        address: str,
        *,
        password: str | None = None,
        token: str | None = None,
        listen_address: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        """`password`: of the login; None leaves it to libpq (`PGPASSFILE`). `token`: of the member, where members share
        a login. `listen_address`: past a pooler that gives no sessions; None for the same address."""
        self._calls = Connection(address, password, token, timeout_s)
        self._reads = Connection(address, password, token, timeout_s)
        self._listen_address, self._password = listen_address or address, password

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._calls.end()
        await self._reads.end()

    # Who is who

    async def identity(self) -> Identity:
        """Which hub this is, and who asks. Raises HubRefused `token`, as `me`."""
        ((hub, incarnation, me),) = await self._reads.rows(
            "SELECT hub::text, id::text, hub.me()::text FROM hub.incarnation"
        )
        if me is None:
            raise _unknown_member()
        return Identity(hub, incarnation, me)

    async def me(self) -> str:
        """The caller's id. Raises HubRefused `token` for a login or token that the hub does not know."""
        ((found,),) = await self._reads.rows("SELECT hub.me()::text")
        if found is None:
            raise _unknown_member()
        return str(found)

    async def teams(self) -> list[Team]:
        query = """SELECT id::text, name, role FROM hub.team JOIN hub.membership ON team = id
            WHERE member = hub.me() AND role <> 'left' ORDER BY name"""
        return [Team(*row) for row in await self._reads.rows(query)]

    async def members(self, team: str) -> list[Member]:
        """With those who have left, by name."""
        query = """SELECT id::text, name, role FROM hub.member JOIN hub.membership ON member = id
            WHERE team = %s ORDER BY name"""
        return [Member(*row) for row in await self._reads.rows(query, team)]

    async def set_membership(self, team: str, member: str, role: RoleInTeam) -> None:
        """An admin of the team may; every member may leave."""
        await self._calls.call("set_membership", team, member, role)

    # Conversations

    async def share(self, team: str, conversation: NewConversation) -> None:
        """Begin to share. A second call changes nothing."""
        new = conversation
        await self._calls.call(
            "share", team, new.id, new.repository, new.parent, new.fork_at, new.title, new.model, new.created_at
        )

    async def unshare(self, team: str, conversation: str) -> None:
        """Take the conversation's text out of the hub. Its owner and admins of the team may."""
        await self._calls.call("unshare", team, conversation)

    async def conversations(self, team: str) -> list[SharedConversation]:
        """All of a team's, with those no longer shared; the first created first."""
        return await self._conversations("WHERE team = %s ORDER BY created_at, c.id", team)

    async def conversation(self, team: str, conversation: str) -> SharedConversation:
        """Raises HubRefused `not_shared` when it is not there, or not for this member."""
        found = await self._conversations("WHERE team = %s AND c.id = %s", team, conversation)
        if not found:
            raise HubRefused("not_shared", "This conversation is not shared with you.")
        return found[0]

    async def updated(self, team: str) -> dict[str, str]:
        """When the log of each of a team's conversations grew last; without those that have no entry."""
        query = f"""SELECT c.id, {_TIME.format("e.stored_at")} FROM hub.conversation c JOIN hub.entry e
            ON e.team = c.team AND e.conversation = c.id AND e.seq = c.head_seq WHERE c.team = %s"""
        return {str(each): str(at) for each, at in await self._reads.rows(query, team)}

    async def _conversations(self, where: str, *arguments: object) -> list[SharedConversation]:
        query = f"""SELECT team::text, c.id, parent, fork_message_id, title, model, created_at, channel, head_seq,
            next_message_id, unshared_at IS NOT NULL, owner::text, repository::text, format, head_digest,
            CASE WHEN {_IS_HELD} THEN lease_member::text END, CASE WHEN {_IS_HELD} THEN lease_holder END,
            i.hub::text, i.id::text, hub.me()::text, CASE WHEN {_IS_HELD} THEN lease_store END
            FROM hub.conversation c, hub.incarnation i {where}"""
        found = [SharedConversation(*row) for row in await self._reads.rows(query, *arguments)]
        return [replace(each, title=arrived_title(each.title), writes=_shown(each.writes)) for each in found]

    # Writing

    async def lease(self, team: str, conversation: str, store: str, holder: str, seconds: int = LEASE_S) -> Lease:
        """The right to write. `store` names the store, not the server: servers of one store do not wait for each other
        here. `holder` is what others read, such as `a turn`. Raises HubRefused `busy` (with `until`), `upgrade`."""
        (row,) = await self._calls.call("lease", team, conversation, store, holder, FORMAT, seconds)
        return Lease(team, conversation, store, *row)

    async def renew(self, lease: Lease, seconds: int = LEASE_S) -> None:
        """Raises HubRefused `lease_lost`, as every call with a lease does."""
        await self._calls.call("renew", lease.team, lease.conversation, lease.store, lease.epoch, seconds)

    async def release(self, lease: Lease) -> None:
        await self.renew(lease, 0)

    async def let_go(self, team: str, conversation: str, store: str) -> None:
        """Give back the lease that the store may have got, when its answer was not heard."""
        await self._calls.call("let_go", team, conversation, store)

    async def say(self, lease: Lease, turn: str, first: int, frames: Sequence[str]) -> None:
        """Show frames of the running step to followers, each at most 64 KiB. `first` is the seq of the first one."""
        where = (lease.team, lease.conversation, lease.store, lease.epoch)
        for start in range(0, len(frames), _MOST_AT_ONCE):
            piece = list(frames[start : start + _MOST_AT_ONCE])
            await self._calls.call("say", *where, turn, first + start, piece)

    async def push(self, lease: Lease, entries: Sequence[NewEntry]) -> Head:
        """Append the entries that the hub lacks, in pieces. Pushing again changes nothing. Raises HubRefused `gap`,
        `diverged`, `digest`, `too_large`; then the pieces before are in the hub."""
        head = Head(lease.head_seq, lease.n_messages, lease.head_digest)
        where = (lease.team, lease.conversation, lease.store, lease.epoch)
        for piece in _pieces(entries):
            text = json.dumps([_to_json(each) for each in piece], ensure_ascii=False)
            (row,) = await self._calls.rows(
                "SELECT * FROM hub.push(%s, %s, %s, %s, %s, %s::jsonb)", *where, FORMAT, text
            )
            head = Head(*row)
        return head

    async def purge(self, lease: Lease, start: int, end: int) -> int:
        """Take the text of messages [start, end) out of the hub; the seq of the entry that tells the other stores.
        Their author, the conversation's owner and admins may."""
        where = (lease.team, lease.conversation, lease.store, lease.epoch)
        ((seq,),) = await self._calls.call("purge", *where, start, end)
        return int(seq)

    async def purge_forks(self, team: str, conversation: str, start: int, end: int) -> None:
        """The same for a conversation that is shared no longer: in the shared forks that have the messages. Raises
        HubRefused `lease_lost` for one that is shared."""
        await self._calls.call("purge", team, conversation, None, None, start, end)

    # Reading

    async def entries(self, team: str, conversation: str, after: int, limit: int = 500) -> list[Entry]:
        """The entries behind seq `after`, in order."""
        query = """SELECT seq, kind, key, author::text, format, body, message_id, said_at, turn, content_digest, digest,
            role, digest_version, gone FROM hub.entry
            WHERE team = %s AND conversation = %s AND seq > %s ORDER BY seq LIMIT %s"""
        rows = await self._reads.rows(query, team, conversation, after, limit)
        return [
            Entry(seq, kind, key, author, form, body, MessageEntry(*said) if said[0] is not None else None, gone)
            for seq, kind, key, author, form, body, *said, gone in rows
        ]

    async def live(self, team: str, conversation: str, turn: str = "", after: int = 0) -> LiveView:
        """In one round trip, how far the conversation is, and the first frames of the running step that are new: of
        `turn` those behind `after`, and any of another turn. Raises HubRefused `not_shared`."""
        query = f"""SELECT c.head_seq, c.epoch, CASE WHEN {_IS_HELD} THEN lease_member::text END,
            CASE WHEN {_IS_HELD} THEN lease_holder END, CASE WHEN {_IS_HELD} THEN lease_store END, l.turn, l.seq, l.body
            FROM hub.conversation c LEFT JOIN hub.live l ON l.team = c.team AND l.conversation = c.id
                AND l.epoch = c.epoch AND (l.turn <> %s OR l.seq > %s)
            WHERE c.team = %s AND c.id = %s AND c.unshared_at IS NULL ORDER BY l.turn, l.seq LIMIT {MOST_FRAMES}"""
        rows = await self._reads.rows(query, turn, after, team, conversation)
        if not rows:
            raise HubRefused("not_shared", "This conversation is not shared with you.")
        frames = tuple(Frame(*row[5:]) for row in rows if row[5] is not None)
        head_seq, epoch, writer, writes, store = rows[0][:5]
        return LiveView(head_seq, epoch, writer, frames, _shown(writes), store)

    async def seen(self, team: str, conversation: str, store: str, seq: int) -> None:
        """Tell the team how far a store has come."""
        await self._reads.call("seen", team, conversation, store, seq)

    async def replicas(self, team: str, conversation: str) -> list[Replica]:
        query = f"""SELECT store, member::text, applied_seq, {_TIME.format("seen_at")},
            seen_at > clock_timestamp() - interval '{FOLLOWING_S} s' FROM hub.replica
            WHERE team = %s AND conversation = %s ORDER BY store, member"""
        return [Replica(*row) for row in await self._reads.rows(query, team, conversation)]

    async def wakings(self, channel: str, poll_s: float | None = None) -> AsyncGenerator[None]:
        """Yield when it is time to look: at once, when the channel was notified, and every 15 s in any case. With
        `poll_s`, and where there is no LISTEN, by the clock alone. Ends only by being closed: a lost connection is made
        again, after pauses that grow, and what it meant to tell is looked for. Raises HubRefused."""
        pauses = Pauses(_LONGEST_PAUSE_S)
        while poll_s is None:
            pause_s = pauses.next_s()
            try:
                connection = await connect(self._listen_address, self._password)
                async with connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    pauses.reset()
                    yield
                    while True:
                        async for _ in connection.notifies(timeout=LOOK_EVERY_S, stop_after=1):
                            pass
                        yield
            except psycopg.NotSupportedError:
                poll_s = POLL_S
            except (HubUnreachable, psycopg.OperationalError):
                yield
                await asyncio.sleep(pause_s)
        while True:
            yield
            await asyncio.sleep(poll_s)

    # Facts

    async def repositories(self, team: str) -> list[Repository]:
        """The repositories of a team, by remote."""
        query = """SELECT id::text, root_commit, remote, head_seq FROM hub.repository
            WHERE team = %s ORDER BY remote, root_commit"""
        return [Repository(*row) for row in await self._calls.rows(query, team)]

    async def repository(self, team: str, root_commit: str, remote: str) -> str:
        """The id of a repository in a team; it is made when it is new."""
        ((found,),) = await self._calls.call("repository_id", team, root_commit, remote)
        return str(found)

    async def push_facts(self, team: str, repository: str, facts: Sequence[NewFact]) -> int:
        """Take facts up; the seq of the newest change. A forgotten fact stays forgotten; else the last word counts."""
        seq = 0
        for piece in _pieces(facts):
            text = json.dumps(
                [{"key": f.key, "standing": f.standing, "body": f.body} for f in piece], ensure_ascii=False
            )
            ((seq,),) = await self._calls.rows("SELECT hub.push_facts(%s, %s, %s::jsonb)", team, repository, text)
        return int(seq)

    async def facts(self, team: str, repository: str, after: int, limit: int = 1000) -> list[FactChange]:
        """The changes behind seq `after`, in order: the newest of each fact."""
        query = """SELECT seq, key, standing, author::text, body FROM hub.fact
            WHERE team = %s AND repository = %s AND seq > %s ORDER BY seq LIMIT %s"""
        return [FactChange(*row) for row in await self._reads.rows(query, team, repository, after, limit)]


def _shown(text: str | None) -> str | None:
    """What a member wrote for people to read."""
    return None if text is None else arrived_title(text)


def _unknown_member() -> HubRefused:
    return HubRefused("token", "The hub does not know this login or token, or it has expired.")


def _to_json(entry: NewEntry) -> dict[str, object]:
    """An entry as `hub.push` takes it."""
    value: dict[str, object] = {"kind": entry.kind, "key": entry.key, "body": entry.body, "gone": entry.missing}
    return value | asdict(entry.message) if entry.message is not None else value


_Pushed = TypeVar("_Pushed", NewEntry, NewFact)


def _pieces(entries: Sequence[_Pushed]) -> Iterator[list[_Pushed]]:
    """What is pushed, in order, in pieces of at most 200 and about 4 MiB."""
    piece: list[_Pushed] = []
    n_bytes = 0
    for each in entries:
        size = len((each.body or "").encode())
        if piece and (len(piece) == _MOST_AT_ONCE or n_bytes + size > _MOST_BYTES_AT_ONCE):
            yield piece
            piece, n_bytes = [], 0
        piece.append(each)
        n_bytes += size
    if piece:
        yield piece
