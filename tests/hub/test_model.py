"""The hub of the simulation is a model: calls that a seed draws get the same answers and the same refusals from it and
from PostgreSQL."""

from __future__ import annotations

import dataclasses
import json
import random
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeVar

import pytest
from tests.hub.lab import AT, Lab, TestTeam, message
from tests.simulation.hub.model import ModelHub

from palimpsest.domain.messages import Role
from palimpsest.domain.sharing.log import FORMAT, MOST_BYTES, EntryKind, Missing, NewEntry
from palimpsest_hub.client import Hub, _to_json
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import Lease, NewConversation, NewFact

T = TypeVar("T")

N_CALLS: Final = 200
ROLES: Final = {"ann": "admin", "bob": "writer", "carl": "writer", "dora": "reader"}
STORES: Final = ("a store", "another store", "", "x" * 65)
OUTSIDERS: Final = ("eve", "nobody")
"""A member of another team, and one without a token."""
RARE: Final = ("unshare", "set_membership", "pass_time")
AWAY: Final = 400


class Both:
    """The real hub and the model, asked the same."""

    def __init__(self, team: TestTeam, others: TestTeam, chance: random.Random) -> None:
        self.team, self.chance = team, chance
        self.ids: dict[str, str | None] = {**team.ids, "eve": others.ids["eve"], "nobody": None}
        self.hubs: dict[str, Hub] = {name: team.hub(name) for name in team.ids}
        self.hubs |= {"eve": others.hub("eve"), "nobody": team.lab.hub("a token that nobody has")}
        self.now_s, self.given = 0.0, ""
        self.model = ModelHub(lambda: self.now_s, lambda: self.given)
        stored = self.model.stored
        ((stored.hub, stored.incarnation),) = team.lab.owner.execute("SELECT hub::text, id::text FROM hub.incarnation")
        for each in (team, others):
            stored.teams[each.id] = each.name
            stored.members |= {each.ids[name]: each.full_name(name) for name in each.ids}
        stored.roles |= {(team.id, team.ids[name]): role for name, role in ROLES.items()}
        stored.roles[others.id, others.ids["eve"]] = "admin"
        self.leases: list[Lease] = []
        self.known: list[str] = []
        self.repositories: list[str] = [str(uuid.UUID(int=1))]
        self.seen: list[tuple[str, object]] = []

    async def ask(self, name: str, who: str, *arguments: Any, real: Awaitable[Any] | None = None, **more: Any) -> Any:
        """The answer of both, which is compared; None for a refusal."""
        theirs = await _outcome(real or getattr(self.hubs[who], name)(*arguments))
        if name == "repository" and not isinstance(theirs, tuple):
            self.given = theirs
        ours = await _outcome(_called(getattr(self.model, name), self.ids[who], *arguments, **more))
        self.seen.append((f"{name} {who} {str(arguments)[:200]}", theirs))
        assert _comparable(ours) == _comparable(theirs), self.seen[-6:]
        return None if isinstance(theirs, tuple) else theirs

    # What is drawn

    def who(self) -> str:
        return self.chance.choice((*ROLES, "ann", "bob", "ann", "bob", *OUTSIDERS))

    def conversation(self) -> str:
        return self.chance.choice((*self.known[-3:] * 4, uuid.UUID(int=7).hex))

    def lease(self, who: str) -> tuple[Lease, str]:
        """One of the leases, mostly a new one with whoever took it."""
        if not self.leases:
            return Lease(self.team.id, self.conversation(), STORES[0], 1, 0, 0, None, ""), who
        found = self.leases[-1] if self.chance.random() < 0.75 else self.chance.choice(self.leases)
        stored = self.model.stored.conversations.get((found.team, found.conversation))
        holder = next((name for name, each in self.ids.items() if stored is not None and each == stored.member), who)
        if self.chance.random() < 0.05:
            found = dataclasses.replace(found, epoch=found.epoch + 1)
        return found, holder if self.chance.random() < 0.85 else who

    def entries(self, conversation: str, who: str) -> list[NewEntry]:
        """What somebody might push: mostly what follows, with one thing wrong now and then."""
        v = self.chance
        found = self.model.stored.conversations.get((self.team.id, conversation))
        number, before = (found.n_messages, found.head_digest) if found is not None else (0, None)
        version = found.digest_version if found is not None else 1
        author = self.ids[who] if v.random() < (0.85 if version == 2 else 0.1) else None
        made: list[NewEntry] = []
        for _ in range(v.randrange(3)):
            role = v.choice((Role.USER, Role.ASSISTANT, Role.TOOL))
            said_by = self.ids["carl"] if author is not None and v.random() < 0.15 else author
            new = message(conversation, number, f'é "{v.random()}"\n', before, role, said_by)
            assert new.message is not None
            named = said_by if said_by != author or v.random() < 0.3 else None
            made.append(dataclasses.replace(new, message=dataclasses.replace(new.message, author=named)))
            number, before = number + 1, new.message.digest
        if made and v.random() < 0.5:
            made[-1] = self.wrong(made[-1])
        if found is not None and found.rows and v.random() < 0.2:  # once more
            row = v.choice(found.rows)
            if row.kind != "purge":
                gone = None if row.gone is None else Missing(row.gone)
                made.insert(0, NewEntry(EntryKind(row.kind), row.key, row.body, row.message, gone))
        if v.random() < 0.4:
            kind = v.choice((EntryKind.TITLE, EntryKind.SUMMARY, EntryKind.TURN, EntryKind.HIDDEN, EntryKind.PURGE))
            body, gone = v.choice(((f"says {v.random()}", None), ("t" * 400, None), (None, Missing.WITHHELD)))
            key = v.choice(("k1", "k2", f"{v.random()}", "", "k" * 201))
            made.insert(v.randrange(len(made) + 1), NewEntry(kind, key, body, None, gone))
        return made

    def wrong(self, entry: NewEntry) -> NewEntry:
        v, said = self.chance, entry.message
        assert said is not None
        outer: list[dict[str, Any]] = [
            {"body": None, "missing": Missing.WITHHELD},
            {"body": None, "missing": Missing.PURGED},
            {"body": None},
            {"missing": Missing.WITHHELD},
            {"body": '{"role":"user"}'},
            {"body": "x" * (MOST_BYTES + 1)},
            {"body": "no JSON"},
            {"key": "another"},
            {"message": None},
        ]
        inner: list[dict[str, Any]] = [
            {"digest": "0" * 64},
            {"content_digest": "0" * 64},
            {"digest_version": 3},
            {"digest_version": 2},
            {"said_at": "2020-01-01T00:00:00Z"},
            {"turn": None},
            {"role": "user"},
            {"role": "system"},
            {"message_id": said.message_id + 1},
            {"message_id": 0},
            {"author": self.ids["dora"]},
            {"author": self.ids["eve"]},
        ]
        if v.random() < 0.5:
            return dataclasses.replace(entry, **v.choice(outer))
        changed = dataclasses.replace(said, **v.choice(inner))
        key = str(changed.message_id) if v.random() < 0.5 else entry.key
        return dataclasses.replace(entry, key=key, message=changed)

    # The calls

    async def share(self, who: str) -> None:
        v = self.chance
        new = v.choice((uuid.UUID(int=v.getrandbits(128)).hex, *self.known[-2:]))
        if v.random() < 0.05:
            new = "no id"
        parent, fork_at = (v.choice(self.known), v.randrange(-1, 5)) if self.known and v.random() < 0.4 else (None, 0)
        if v.random() < 0.05:
            fork_at = 1
        repository = v.choice(self.repositories) if v.random() < 0.2 else None
        title, model = v.choice(("A talk", "t" * 301)), "m" * v.choice((5, 5, 5, 301))
        header = NewConversation(new, title, model, AT, parent, fork_at, repository)
        await self.ask("share", who, self.team.id, header)
        if (self.team.id, new) in self.model.stored.conversations and new not in self.known:
            self.known.append(new)

    async def unshare(self, who: str) -> None:
        await self.ask("unshare", who, self.team.id, self.conversation())

    async def set_membership(self, who: str) -> None:
        v = self.chance
        member = v.choice([*(each for each in self.ids.values() if each is not None), str(uuid.UUID(int=5))])
        role: Any = v.choice(("reader", "writer", "admin", "left", "king"))
        if v.random() < 0.3 and self.ids[who] is not None:
            member, role = str(self.ids[who]), "left"
        if (member, role) != (self.ids["ann"], "left"):  # somebody has to be able to take others back
            await self.ask("set_membership", who, self.team.id, member, role)
        if self.leases:  # nothing that a writer who is gone has shown is shown
            await self.ask("live", "ann", self.team.id, self.leases[-1].conversation, "", 0)
        back: Literal["writer"] = "writer"
        await self.ask("set_membership", "ann", self.team.id, self.team.ids[v.choice(("bob", "carl"))], back)

    async def take(self, who: str) -> None:
        v = self.chance
        store = v.choice((*STORES[:2] * 6, *STORES))
        holder = v.choice(("a turn", "h" * 101))
        seconds = v.choice((30, 30, 1000))
        found = await self.ask("lease", who, self.team.id, self.conversation(), store, holder, seconds)
        if found is not None:
            self.leases.append(found)

    async def renew(self, who: str) -> None:
        lease, who = self.lease(who)
        await self.ask("renew", who, lease, self.chance.choice((30, 30, 1000, 0, -3)))

    async def say(self, who: str) -> None:
        v = self.chance
        lease, who = self.lease(who)
        frames = [f"frame {v.random()}"] * v.choice((0, 1, 3, 201)) + ["x" * 65537] * (v.random() < 0.05)
        await self.ask("say", who, lease, v.choice(("t1", "t1", "t2", "")), v.randrange(1, 4), frames)

    async def push(self, who: str) -> None:
        lease, who = self.lease(who)
        await self.ask("push", who, lease, self.entries(lease.conversation, who))

    async def push_newer(self, who: str) -> None:
        """As a newer version of the product pushes."""
        if self.chance.random() < 0.8:
            return
        lease, who = self.lease(who)
        entries = self.entries(lease.conversation, who)[:1]
        if entries:
            form = self.chance.choice((FORMAT + 1, FORMAT + 1, FORMAT + 2, 0))
            await self.ask("push", who, lease, entries, real=_pushed(self.hubs[who], lease, entries, form), form=form)

    async def purge(self, who: str) -> None:
        lease, who = self.lease(who)
        start = self.chance.choice((-1, 0, 0, 1, 2, 3))
        await self.ask("purge", who, lease, start, start + self.chance.randrange(4))
        await self.ask("entries", "ann", lease.team, lease.conversation, 0, 500)

    async def purge_forks(self, who: str) -> None:
        start = self.chance.choice((-1, 0, 0, 1))
        await self.ask("purge_forks", who, self.team.id, self.conversation(), start, start + self.chance.randrange(4))

    async def let_go(self, who: str) -> None:
        await self.ask("let_go", who, self.team.id, self.conversation(), self.chance.choice(STORES))

    async def read(self, who: str) -> None:
        v, team, at = self.chance, self.team.id, self.conversation()
        await self.ask("entries", who, team, at, v.randrange(4), v.choice((1, 500)))
        await self.ask("live", who, team, at, v.choice(("", "t1", "t2")), v.randrange(3))
        await self.ask("conversation", who, team, at)
        await self.ask("conversations", who, team)
        await self.ask("members", who, team)
        await self.ask("updated", who, team)
        await self.ask("repositories", who, team)
        await self.ask("teams", who)
        await self.ask("me", who)
        await self.ask("identity", who)

    async def seen_by(self, who: str) -> None:
        v, at = self.chance, self.conversation()
        await self.ask("seen", who, self.team.id, at, v.choice(STORES), v.randrange(9))
        await self.ask("replicas", who, self.team.id, at)

    async def facts(self, who: str) -> None:
        v, team = self.chance, self.team.id
        found = await self.ask("repository", who, team, v.choice((*["0a"] * 6, "0b", "c" * 65)), "example.org/a")
        self.repositories += [found] if found is not None else []
        at = self.repositories[-1] if v.random() < 0.8 else v.choice(self.repositories)
        facts = []
        for _ in range(v.randrange(1, 5)):
            standing: Any = v.choice(("open", "open", "closed", "forgotten", "lost"))
            body = None if standing == "forgotten" else f"{v.random()}"
            body = v.choice((None, "b" * (1 << 18), "b" * ((1 << 18) + 1))) if v.random() < 0.05 else body
            facts.append(NewFact(v.choice(("0" * 64, "1" * 64, "2" * 64, "3" * 63)), standing, body))
        await self.ask("push_facts", who, team, at, facts)
        await self.ask("facts", who, team, at, v.randrange(3), v.choice((1, 1000)))

    async def pass_time(self, who: str) -> None:
        seconds = self.chance.choice((7, AWAY))
        self.now_s += seconds
        self.team.lab.owner.execute(
            "UPDATE hub.conversation SET lease_until = lease_until - make_interval(secs => %s) WHERE team = %s",
            [seconds, self.team.id],
        )


async def _called(call: Callable[..., T], *arguments: Any, **more: Any) -> T:
    return call(*arguments, **more)


async def _pushed(hub: Hub, lease: Lease, entries: list[NewEntry], form: int) -> object:
    from palimpsest_hub.records import Head

    where = (lease.team, lease.conversation, lease.store, lease.epoch, form)
    text = json.dumps([_to_json(each) for each in entries])
    (row,) = await hub._calls.rows("SELECT * FROM hub.push(%s, %s, %s, %s, %s, %s::jsonb)", *where, text)
    return Head(*row)


async def _outcome(call: Awaitable[Any]) -> Any:
    """What a call answers; for a refusal a tuple."""
    try:
        return await call
    except HubRefused as refused:
        sentence = str(refused) if refused.kind != "token" else ""  # one asks for a new token besides
        return "refused", refused.kind, sentence, refused.until is not None


def _comparable(value: Any) -> Any:
    """Without what only one of the two decides."""
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    if isinstance(value, dict):
        return sorted(value)
    without = {name: "" for name in ("channel", "seen_at", "is_following") if hasattr(value, name)}
    return dataclasses.replace(value, **without) if without else value


@pytest.mark.parametrize("seed", range(12))
async def test_the_model_answers_as_the_hub_does(lab: Lab, newer_hub: None, seed: int) -> None:
    chance = random.Random(f"hub {seed}")
    both = Both(lab.team(**ROLES), lab.team(eve="admin"), chance)
    calls = [both.share, *[both.take] * 3, both.renew, both.say, *[both.push] * 5, both.push_newer, *[both.purge] * 2]
    calls += [both.purge_forks, both.let_go]
    calls += [both.read, both.read, both.seen_by, *[both.facts] * 2, both.unshare, both.set_membership, both.pass_time]
    await both.share("ann")
    if seed % 3 == 0:
        both.model.stored.restored_s = both.now_s
        lab.owner.execute("UPDATE hub.incarnation SET restored_at = now()")
    for _ in range(N_CALLS):
        call = chance.choice(calls)
        if call.__name__ not in RARE or chance.random() < 0.25:
            await call(both.who())
    kinds = {each[1] for _, each in both.seen if isinstance(each, tuple)}
    assert len(kinds) > 4
