"""What must be true, whatever was done: looked at with every request to a service, and whenever nothing is under way.

Every message holds a word that nothing else holds, so that where a word stands tells whose text it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.simulation import past_requests
from tests.simulation.areas.chat import Looks
from tests.simulation.areas.history import Purges
from tests.simulation.scheduler import NODE
from tests.simulation.service import WORD, raw_tokens
from tests.simulation.store_view import StoreView
from tests.simulation.world import FOLDER, World

from palimpsest.domain.context.cut import MessagePiece, is_partition
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.rules.rule_set import missing
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import Content, ConversationId, MessageId, Role
from palimpsest.domain.turns.states import FINAL_STATES
from palimpsest.services.context.rules import news_of, read_rules
from palimpsest.services.context.state import ContextState, load_state
from palimpsest.services.conversation import search
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.storage.conversation import hidden_ranges
from palimpsest.storage.maintenance import health

_TOO_LARGE = ("recent_messages_too_large", "context_too_long", "rules_too_large")
_ON_ITS_WAY = 30
"""Steps of a server between its last look at what is sent to a helper, and the sending, with what else it does."""
_OF_THE_END = re.compile(r"zqword9\d{3}u")
"""A word of the chats with which each run ends."""
_FINAL = tuple(state.value for state in FINAL_STATES)


@dataclass(slots=True)
class Oracle:
    """The oracle of the store of one folder."""

    world: World
    root: Path
    """The folder."""
    view: StoreView = field(init=False)
    ended: set[str] = field(default_factory=set)
    """Turns whose end was looked at."""
    stood: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By conversation: its changes, and the version of its cut."""
    compared: dict[tuple[str, str], tuple[ContextState, tuple[int, ...]]] = field(default_factory=dict)
    """By server and conversation: what was held in memory when it was last held against the store, and how that stood.
    The state itself, because the address of one that is gone may be another's."""
    looked_for: frozenset[str] = frozenset()
    """Purged words that no search found."""
    told: set[tuple[str, str]] = field(default_factory=set)
    """Hidden words that conversations were told, at the last look, and words that they may go on being told."""
    written: dict[str, int] = field(default_factory=dict)
    """How often each conversation had been written by then."""

    def __post_init__(self) -> None:
        self.view = StoreView(self.world.directory_of(self.root))

    def _renew(self) -> None:
        self.view.renew()
        for each in self.view.changed:
            self.world.problem("message changed", each)

    # ---------------------------------------------------------------------------------------------- with each request

    def sent(self, context: PreparedContext) -> None:
        """A request fits, keeps calls and results together, and holds nothing that was hidden or purged in its folder.

        A folder owns one store, and what is purged or hidden there is gone from that store: not from a file that was
        exported before, nor from another folder that has imported it and shows it. So the other folder may send it, for
        whom it is a message like any other; this one may not, whoever else shows it.
        """
        said = "\n".join([context.system, *map(_text, context.messages)])
        if context.tools:
            self._look_at_the_writers_state(context.conversation_id)
            raw = raw_tokens(context)
            if raw > context.limit_tokens:  # the least factor that an estimator can learn here is 1
                self.world.problem("does not fit", f"{raw} raw, {context.upper_tokens} of {context.limit_tokens}")
            if not pairs_are_whole(context.messages):
                self.world.problem("pairs", "a call without its result")
            if FOLDER.get() in (None, self.root):
                past_requests.sent(self.world, self.view, context)
        present = frozenset(WORD.findall(said))
        if not present or FOLDER.get() not in (None, self.root):
            return
        self._renew()
        if context.tools and any(map(_OF_THE_END.fullmatch, present)):  # nobody rules anything by command any more
            for (pin,) in self.view.ask("SELECT text FROM pin WHERE is_open"):
                if pin not in said:
                    self.world.problem("pin not told", pin)
        purged = present & self.view.purged_words()
        if purged and not context.tools and self._was_on_its_way():
            return
        to = "to the model" if context.tools else "to a helper"
        for word in sorted(purged):
            self.world.problem("purged word sent", f"{word} {to}")
        if context.tools:
            hidden = present & self.view.hidden_words(context.conversation_id)
            for word in sorted(hidden - self.view.verified_words() if hidden else hidden):
                self.world.problem("hidden word sent", f"{word} {to}")

    def _was_on_its_way(self) -> bool:
        """Whether the server lost the processor between its last look and this call, which nothing can be closer to:
        the one call that may still be made. What it brings is not kept, and that is looked at when all is quiet."""
        node = NODE.get(None)
        if node is None or (woken := self.world.woken.get(node)) is None:
            return False
        if node.n_steps - woken.at < _ON_ITS_WAY:
            return True
        woken.n_looks -= 1
        return woken.n_looks >= 0

    def _look_at_the_writers_state(self, conversation_id: ConversationId) -> None:
        """What others are told of a conversation that is written is what its writer has, unless it was taken for dead:
        then it hears with its next write that somebody else writes."""
        if self.world.has_unlocked:
            return
        node = NODE.get(None)
        for session in [each.session for each in self.world.servers if each.node is node]:
            contexts = None if session is None else session.contexts
            if contexts is None or (written := contexts._written.get(conversation_id)) is None:
                continue  # its turn goes on with the settings it began with
            query = "SELECT COALESCE(MAX(message_id) + 1, 0) FROM message WHERE conversation = ?"
            ((n_stored,),) = self.view.ask(query, conversation_id)
            if (n_held := written.state.n_messages) < n_stored:
                self.world.problem("not the writer's state", f"{n_held} of {n_stored} messages")

    # -------------------------------------------------------------------------------------- when nothing is under way

    def look(self) -> None:
        """All of it."""
        if not self.world.conversations:
            return
        self.world.disk.repair()
        self._renew()
        self._look_at_what_is_held()
        self._look_at_shown()
        self._look_at_facts()
        self._look_at_what_was_told()
        purged = self.view.purged_words() - self.world.kept
        self._look_at_files(purged)
        self.stood = {
            each: tuple(rest)
            for each, *rest in self.view.ask(
                "SELECT id, change_seq, (SELECT COALESCE(MAX(version), 0) FROM cut WHERE conversation = c.id) "
                "FROM conversation AS c"
            )
        }
        for server in self.world.servers_of(self.root):
            if server.session is not None:
                self.world.do(server, self._look_at_memory(server.node.name, server.session, purged))
        self.looked_for = purged

    def _look_at_what_is_held(self) -> None:
        """Leases, turns and steps: nothing is left open by who still runs."""
        view, world = self.view, self.world
        live = {server.session.folder.store.server_id for server in world.servers if server.session is not None}
        died_at = {name: each.killed_at for each in world.graveyard for name in each.opened}
        opened_at = world.newest_opening(self.root)
        held = dict(view.ask("SELECT conversation, server FROM lease WHERE server IS NOT NULL"))
        for conversation_id, holder in view.ask("SELECT conversation, holder FROM lease WHERE server IS NOT NULL"):
            if held[conversation_id] in live:
                world.problem("lease held by nobody", str(holder))
        for turn_id, owner, state, kind, said in view.ask(
            "SELECT id, conversation, state, error_kind, error_message FROM turn"
        ):
            if state not in _FINAL:
                if held.get(owner) in live | {None} or opened_at > (died_at.get(held[owner]) or opened_at):
                    world.problem("turn left open", str(state))
            elif turn_id not in self.ended:
                self.ended.add(turn_id)
                if kind == "internal":
                    world.problem("turn broke", str(said))
                elif kind in _TOO_LARGE and not world.service.has_refused and not self._has_steps(turn_id):
                    world.problem("admitted and not sent", f"{kind}: {said}")
        open_steps = "SELECT turn.state FROM step JOIN turn ON turn.id = step.turn WHERE step.ending IS NULL"
        if any(state in _FINAL for (state,) in view.ask(open_steps)):
            world.problem("step left open", "in a turn that has ended")

    def _has_steps(self, turn_id: str) -> bool:
        """Whether a request of the turn was sent at all."""
        return bool(self.view.ask("SELECT 1 FROM step WHERE turn = ? LIMIT 1", turn_id))

    def _look_at_shown(self) -> None:
        """What an editor was shown is stored, once; what a client sent is stored at most once."""
        final = {turn_id for (turn_id,) in self.view.ask(f"SELECT id FROM turn WHERE state IN {_FINAL}")}
        rows = self.view.rows.values()
        for look in self.world.part(Looks):
            if look.server.root != self.root:
                continue
            stored = sorted((row for row in rows if row.turn == look.turn_id), key=lambda row: row.id)
            if look.turn_id not in final or any(row.is_purged for row in stored):
                continue
            text = "".join(row.text for row in stored if row.role is Role.ASSISTANT)
            shown = "".join(look.said)
            if not (text == shown if look.saw_end and look.server in self.world.servers else text.startswith(shown)):
                self.world.problem("shown and stored differ", f"{len(shown)} shown, {len(text)} stored")
        own = [row for row in rows if row.role is Role.USER and row.owner not in self._copies()]
        # What was rolled back stands in the input again, and may be sent once more.
        seen = (row for row in own if not self.view.is_hidden(row.owner, row.id))
        asked = [word for row in seen for word in WORD.findall(row.text)[:1]]
        if len(asked) != len(set(asked)):
            self.world.problem("asked twice", "")

    def _copies(self) -> frozenset[str]:
        """The conversations that are copies of others, wherever they were copied."""
        views = [each.view for each in self.world.part(Oracles).values() if each.view.exists]
        return frozenset(at for view in views for at in view.read_copies())

    def _look_at_facts(self) -> None:
        at = {(row.owner, row.id): row for row in self.view.rows.values()}
        for owner, message_id, kind, closed, verified in self.view.ask(
            "SELECT conversation, message_id, fact_type, closed_at, verified_at FROM fact"
        ):
            row = at.get((owner, message_id))
            if row is not None and row.is_purged:
                self.world.problem("fact of a purged message", str(kind))
            elif row is not None and closed is None and verified is None and self.view.is_hidden(owner, message_id):
                # One that a person says holds, holds.
                self.world.problem("fact of a hidden message", str(kind))

    def _look_at_what_was_told(self) -> None:
        """What another conversation was told of words that are hidden now is told no more; one that somebody wrote at
        the moment may keep it until its next cut."""
        query = """SELECT conversation, text FROM injection AS each WHERE NOT is_ended AND cut_version =
            (SELECT COALESCE(MAX(version), 0) FROM cut WHERE conversation = each.conversation)"""
        hidden = self.view.words_out_of_sight()
        closed = {
            word
            for (content,) in self.view.ask("SELECT content FROM fact WHERE closed_at IS NOT NULL")
            for word in WORD.findall(content)
        }
        found = self.view.ask(query) if hidden or closed else []
        words = {(owner, word) for owner, text in found for word in WORD.findall(text)}
        told = {(owner, word) for owner, word in words if word in hidden}
        written = dict(self.view.ask("SELECT conversation, epoch FROM lease"))
        for owner, word in sorted(told - self.told):
            if written.get(owner) == self.written.get(owner):
                self.world.problem("hidden word told", f"{word} in another conversation")
        # What was closed while somebody wrote may be kept, also when the last copy of its words is hidden later.
        kept = {
            (owner, word) for owner, word in words if word in closed and written.get(owner) != self.written.get(owner)
        }
        self.told, self.written = told | kept | (self.told & words), written

    def _look_at_files(self, purged: Iterable[str]) -> None:
        purges = self.world.part(Purges)
        purges.take_stock()
        if purges:
            return
        for path in sorted(self.view.directory.rglob("*")):
            data = path.read_bytes() if path.is_file() else b""
            for word in sorted(word for word in purged if word.encode() in data):
                self.world.problem("purged word in a file", f"{word} {path.name} {self.view.table_of(word)}")

    async def _look_at_memory(self, node: str, session: FolderSession, purged: Iterable[str]) -> None:
        """What a server holds in memory is what it would load; rules hold; nothing purged is found."""
        for conversation_id, held in list(session.contexts._states.items()):
            seen = (len(held.pieces), *self.stood[conversation_id])
            known, as_it_was = self.compared.get((node, conversation_id), (None, ()))
            if known is held and as_it_was == seen:
                continue
            self.compared[node, conversation_id] = held, seen
            try:
                await self._compare(session, conversation_id)
            except PalimpsestError as error:
                self.world.problem("state", f"{type(error).__name__} {error}")
        for word in sorted(frozenset(purged) - self.looked_for):
            if await search.find(session.folder.store, search.Wanted(word, includes_hidden=True)):
                self.world.problem("purged word found", word)

    async def _compare(self, session: FolderSession, conversation_id: ConversationId) -> None:
        state = await session.contexts.state(conversation_id)
        fresh = await load_state(
            session.folder.store, conversation_id, state.model, state.budget, state.tokenizer, state.frame
        )
        for name, here, loaded in _compared(state, fresh):
            if here != loaded:
                self.world.problem("memory differs", f"{name}: {_first_difference(here, loaded)}")
        hidden = await session.folder.store.read(hidden_ranges.read, conversation_id)
        absent = {MessageId(each) for h in hidden for each in range(h.start, h.end)}
        absent |= {MessageId(each) for first, after in state.cut.left_out for each in range(first, after)}
        if not is_partition(state.pieces, state.n_messages, absent):
            at = [(piece.start, piece.end) for piece in state.pieces]
            self.world.problem("no partition", f"{at} of {state.n_messages} without {sorted(absent)}")
        rules = await read_rules(session.contexts, state)
        # Behind a message, or what the next turn is told first.
        told = [piece.injection for piece in state.pieces if isinstance(piece, MessagePiece)]
        told.append(news_of(state, rules))
        absent_rules = missing(rules.kept, state.pieces, state.front.text)
        if lost := [each for each in absent_rules if not any(each.text in text for text in told)]:
            self.world.problem("rule lost", lost[0].text)

    # ------------------------------------------------------------------------------------------------------- at the end

    def examine(self) -> None:
        """The product's own look at the whole store: digests, forest, rows that belong to rows."""
        if self.world.conversations:
            for finding in health.look(self.view.directory, lambda _: False):
                if finding.verdict is health.Verdict.PROBLEM:
                    self.world.problem("health", f"{finding.check}: {finding.text}")

    def close(self) -> None:
        self.view.close()


class Oracles(dict[Path, Oracle]):
    """The oracle of each machine's folder."""

    def __init__(self, world: World) -> None:
        super().__init__({root: Oracle(world, root) for root in world.homes})
        self._first = self[world.root]

    def of(self, folder: Path | None) -> Oracle:
        """The one that looks at what is sent for a folder; that of the world for its other folders."""
        return self.get(folder or self._first.root, self._first)


def _text(content: Content) -> str:
    """All text of a message."""
    return "\n".join(str(getattr(part, "text", "")) for part in content.parts)


def _compared(state: ContextState, fresh: ContextState) -> list[tuple[str, object, object]]:
    return [
        ("pieces", [_shape(piece) for piece in state.pieces], [_shape(piece) for piece in fresh.pieces]),
        ("front", state.front, fresh.front),
        ("cut", (state.cut.version, state.cut.left_out), (fresh.cut.version, fresh.cut.left_out)),
        ("expansions", set(state.expansions), set(fresh.expansions)),
        ("n_messages", state.n_messages, fresh.n_messages),
    ]


def _shape(piece: Any) -> tuple[object, ...]:
    return (type(piece).__name__, piece.start, piece.end, piece.tokens, getattr(piece, "preview", None) is not None)


def _first_difference(held: Any, loaded: Any) -> str:
    if isinstance(held, list):
        of = [pair for pair in zip(held, loaded, strict=False) if pair[0] != pair[1]]
        return f"{of[0][0]} held, {of[0][1]} loaded" if of else f"{len(held)} held, {len(loaded)} loaded"
    return f"{held} held, {loaded} loaded"[:200]
