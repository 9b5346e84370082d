"""Attacks by a member who speaks SQL: entries that no Palimpsest writes. Whatever he pushes is refused or passed over,
and what is taken in can be exported and imported. Each test says the harm that it would do."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hub.lab import AT, TestTeam, message
from tests.hub.machines import Machine, share
from tests.services.scripted import open_bench

from palimpsest.domain.conversation.chain import message_digest
from palimpsest.domain.messages import ConversationId, Digest, MessageId, TurnId, canonical_json
from palimpsest.domain.sharing.log import EntryKind, NewEntry, key_of
from palimpsest.services.conversation.transfer import Transfers
from palimpsest.services.sharing.watch import Watch
from palimpsest.storage.conversation import conversations
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import NewConversation

TURN: dict[str, object] = {"user_message_id": 0, "state": "interrupted", "model": "m", "started_at": AT, "ended_at": AT}


async def push(machine: Machine, team: TestTeam, at: ConversationId, *entries: NewEntry) -> None:
    hub = machine.sharing.hub
    lease = await hub.lease(team.id, at, "another store", "x")
    try:
        await hub.push(lease, entries)
    finally:
        await hub.release(lease)


async def next_message(machine: Machine, team: TestTeam, at: ConversationId, text: str, said_at: str = AT) -> NewEntry:
    """A message behind the newest one, with digests that follow."""
    found = await machine.sharing.hub.conversation(team.id, at)
    entry = message(at, found.n_messages, text, found.head_digest)
    assert entry.message is not None
    digest = message_digest(
        None if found.head_digest is None else Digest(found.head_digest),
        at,
        MessageId(found.n_messages),
        said_at,
        TurnId("t1"),
        Digest(entry.message.content_digest),
        (await machine.sharing.hub.identity()).me,
    )
    return replace(entry, message=replace(entry.message, said_at=said_at, digest=digest, digest_version=2))


@pytest.mark.parametrize("said_at", ["zzzz", "9999999999-01-01T00:00:00Z", "2026-01-01T00:00:00Z\x1b[2J", ""])
async def test_a_time_that_is_none(machines: list[Machine], team: TestTeam, said_at: str) -> None:
    """A message of no time: the conversation stands first in every list for ever, Neovim's lists fail at it, and the
    terminal shows what it pleases."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    entry = await next_message(bob, team, at, "What time is it?", said_at)
    with pytest.raises(HubRefused):
        await push(bob, team, at, entry)
    with pytest.raises(HubRefused):
        await bob.sharing.hub.share(team.id, NewConversation("a" * 32, "x", "m", said_at))


@pytest.mark.parametrize("escaped", ["\\ud800", "\\u0000"])
async def test_a_text_that_no_store_can_hold(machines: list[Machine], team: TestTeam, escaped: str) -> None:
    """Half a character in a message: the watch of every member's folder ends, and with it all that is shared stays as
    it is there until the server is started anew."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    entry = await next_message(bob, team, at, "HALF")
    body = (entry.body or "").replace("HALF", escaped)
    own = Digest(hashlib.sha256(body.encode()).hexdigest())
    found = await bob.sharing.hub.conversation(team.id, at)
    assert found.head_digest is not None
    assert entry.message is not None
    before, me = Digest(found.head_digest), team.ids["bob"]
    digest = message_digest(before, at, MessageId(found.n_messages), AT, TurnId("t1"), own, me)
    entry = replace(entry, body=body, message=replace(entry.message, content_digest=own, digest=digest))
    with pytest.raises(HubRefused):
        await push(bob, team, at, entry)


async def test_what_is_taken_in_can_be_exported(machines: list[Machine], team: TestTeam, tmp_path: Path) -> None:
    """Turns, ranges, summaries and titles that are none: an export of the conversation can never be imported again, and
    lists show what it pleases."""
    ann, bob = machines
    at = await share(machines, team)
    await ann.settle()
    turns: list[dict[str, object]] = [
        {"user_message_id": 4711},
        {"user_message_id": -5},
        {"user_message_id": 2**62},
        {"started_at": "now"},
        {"ended_at": "\x1b[2J"},
        {"model": "\0"},
        {"model": "m" * 5000},
        {"stop_reason": "\ud800"},
        {"error_message": "\ud800"},
    ]
    entries = [NewEntry(EntryKind.TURN, f"made up {n}", json.dumps(TURN | each)) for n, each in enumerate(turns)]
    entries.append(NewEntry(EntryKind.HIDDEN, "h1", canonical_json([0, 1, "now"])))
    entries.append(NewEntry(EntryKind.HIDDEN, "h2", '[1, 2, "\\ud800"]'))
    said = {"start_message_id": 0, "end_message_id": 2, "level": 1, "kind": "summary", "text": "x", "author": "a"}
    said |= dict.fromkeys(("original_tokens", "duration_ms", "input_tokens", "output_tokens"), 1)
    for change in ({"created_at": "now"}, {"created_at": AT, "text": "\0"}, {"created_at": AT, "kind": "?"}):
        body = canonical_json(said | {"children": []} | change)
        entries.append(NewEntry(EntryKind.SUMMARY, key_of(body), body))
    entries.append(NewEntry(EntryKind.TITLE, "t", "one\ntwo\x1b[2J\u202ethree"))
    await push(bob, team, at, *entries)
    await Watch(ann.sharing, 1).look()
    title = (await ann.bench.store.read(conversations.get, at)).title
    await ann.assert_sound()
    text = (await Transfers(ann.bench.session.conversations).export(at)).text
    other = await open_bench(tmp_path / "other")
    await Transfers(other.session.conversations).import_text(text)
    await other.session.folder.close()
    assert title.isprintable()
