"""Taking in what a hub has: the entries of a log that follow on what was taken in before.

A member may push what he likes, so everything is checked: digests are derived anew, and a turn, a range or a summary
that is none is passed over.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.conversation.chain import content_digest, covered_author, message_digest
from palimpsest.domain.conversation.exchanges import unanswered_calls
from palimpsest.domain.conversation.titles import arrived_title
from palimpsest.domain.errors import ErrorKind, NotFound
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Role,
    TextPart,
    TurnId,
    is_time,
    read_content,
    tool_result,
)
from palimpsest.domain.sharing.log import FORMAT, LONGEST_TITLE, Entry, EntryKind, Missing
from palimpsest.domain.turns.recovery import Resolution
from palimpsest.domain.turns.states import FINAL_STATES, TurnState
from palimpsest.storage import contents, leases
from palimpsest.storage.context import visibility
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, passages, search
from palimpsest.storage.facts import facts
from palimpsest.storage.leases import Writer
from palimpsest.storage.lifecycle import purge
from palimpsest.storage.sharing import outgoing, shared
from palimpsest.storage.sharing.arriving_summaries import Summaries, number, text, text_or_none, time
from palimpsest.storage.sharing.shared import Unsound
from palimpsest.storage.sql import execute
from palimpsest.storage.turns import turns

_NOT_SHARED: Final = "[This was not shared.]"
_FAR: Final = 200
"""How many messages before a result are searched for its call."""
_INVALID: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError)
_KNOWN_KINDS: Final = (EntryKind.TURN, EntryKind.HIDDEN, EntryKind.SUMMARY)


_LONGEST_NAME: Final = 300
_LONGEST_ERROR: Final = 10_000
TAKING_IN: Final = "a pull from the hub"
"""The holder's name in the lease."""


class Diverged(Exception):
    """The hub has other messages from `at` on than this store."""

    def __init__(self, at: MessageId) -> None:
        super().__init__(at)
        self.at = at


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What came of taking entries in."""

    hub_seq: int
    """The last entry that was taken in: what is behind it has a format that this version does not know."""
    changed: tuple[ConversationId, ...]
    """The conversations whose contexts are out of date."""
    has_purged: bool
    """Whether the files of the store still have to be emptied (`services.conversation.purge`)."""


def take_in(writer: Writer, conversation_id: ConversationId, entries: Sequence[Entry]) -> TakenIn:
    """Stores what is new of the entries, which are in their order. Taking the same in again changes nothing.

    Raises Diverged and Unsound, and ConversationBusy while somebody writes here, or writes what a purge concerns.
    """
    lease, _ = turns.take(writer, conversation_id, TAKING_IN)
    ((seq,),) = execute("SELECT hub_seq FROM shared_conversation WHERE conversation = ?", conversation_id)
    messages, summaries = _Messages(conversation_id, writer.now), Summaries(conversation_id)
    changed: dict[ConversationId, None] = {}
    has_purged = False
    for entry in entries:
        if entry.seq <= seq:
            continue
        if entry.seq != seq + 1 or entry.format > FORMAT:
            break
        if entry.kind == EntryKind.MESSAGE:
            messages.add(entry)
        else:
            messages.settle()
            if entry.kind == EntryKind.PURGE:
                leases.release(lease)  # a purge takes it, with those of the forks
                purged = _purge(writer, conversation_id, entry)
                summaries = Summaries(conversation_id)
                lease, _ = turns.take(writer, conversation_id, TAKING_IN)
                changed |= dict.fromkeys(purged)
                has_purged = has_purged or bool(purged)
            elif entry.body is not None:
                with contextlib.suppress(*_INVALID):
                    if _take(conversation_id, entry, entry.body, summaries, writer.now):
                        changed[conversation_id] = None
            if entry.kind in _KNOWN_KINDS:
                shared.note_known(conversation_id, entry.kind, entry.key)
        seq = entry.seq
    messages.settle()
    if messages.has_added:
        changed[conversation_id] = None
    execute("UPDATE shared_conversation SET hub_seq = ? WHERE conversation = ?", seq, conversation_id)
    leases.release(lease)
    return TakenIn(seq, tuple(changed), has_purged)


class _Messages:
    """Messages that come one behind the other: checked and stored as they come, made findable together."""

    def __init__(self, conversation_id: ConversationId, now: str) -> None:
        self._conversation_id, self._now = conversation_id, now
        row = execute(
            "SELECT next_message_id, head_digest, updated_at FROM conversation WHERE id = ?", conversation_id
        ).fetchone()
        self._next, self._head, self._at = row
        self._added: list[passages.Added] = []
        self._purged: list[tuple[int, str]] = []
        self.has_added = False

    def add(self, entry: Entry) -> None:
        """Raises Diverged, and Unsound where the message does not follow."""
        said = entry.message
        try:
            author = None if said is None else covered_author(said.digest_version, entry.author)
        except ValueError:
            said = None
        if said is None or not is_time(said.said_at):
            raise self._unsound(entry, "is no message that this version knows")
        message_id, own, digest = MessageId(said.message_id), Digest(said.content_digest), Digest(said.digest)
        if message_id < self._next:
            stored = execute(
                """SELECT content IS NULL AND NOT EXISTS (
                    SELECT 1 FROM stand_in WHERE stand_in.conversation = ? AND stand_in.message_id = ?
                ) FROM message WHERE conversation = ? AND message_id = ? AND digest = ?""",
                *(self._conversation_id, message_id, self._conversation_id, message_id, digest),
            ).fetchone()
            if stored is None:
                raise Diverged(message_id)
            if stored[0] and entry.body is not None:
                self._purged.append((message_id, entry.author))
            shared.note_messages(self._conversation_id, message_id + 1)
            return
        turn = None if said.turn is None else TurnId(said.turn)
        try:
            content = None if entry.body is None else read_content(json.loads(entry.body))
            role = Role(said.role)
        except _INVALID as error:  # its author, or an admin, can purge it; then it is passed
            raise self._unsound(entry, "is no message") from error
        due = message_digest(self._head, self._conversation_id, message_id, said.said_at, turn, own, author)
        if message_id > self._next or due != digest or (content is not None and content_digest(content) != own):
            raise self._unsound(entry, "does not follow from what is here")
        row_id = execute(
            """INSERT INTO message (
                conversation, message_id, created_at, turn, digest_version, content_digest, digest, content,
                purged_role, author
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            *(self._conversation_id, message_id, said.said_at, turn, said.digest_version, own, digest, entry.body),
            *(role.value if content is None else None, entry.author),
        ).lastrowid
        if content is None and entry.missing == Missing.WITHHELD:
            self.settle()  # the call may have come just now
            _write_stand_in(self._conversation_id, message_id, role)
        elif content is not None:
            contents.refer_message(row_id or 0, content)  # another conversation may have the same picture
        self._added.append(passages.Added(row_id or 0, message_id, said.said_at, content))
        self._next, self._head, self._at = message_id + 1, digest, max(self._at, min(said.said_at, self._now))

    def settle(self) -> None:
        """Makes the messages findable, and moves the end of the conversation behind them. They are not read for facts:
        who wrote them does that, and facts come by the repository."""
        self._purge_again()
        if not self._added:
            return
        for each in self._added:
            if each.content is not None:
                search.add(each.row_id, each.content)
        passages.add(self._conversation_id, self._added)
        conversations.touch(self._conversation_id, self._at, next_message_id=self._next, head_digest=self._head)
        shared.note_messages(self._conversation_id, self._next)
        facts.set_extracted(self._conversation_id, MessageId(self._next))
        self._added, self.has_added = [], True

    def _purge_again(self) -> None:
        """A hub that was restored from a backup has words again that are purged. Each member may have his own purged,
        so one stretch is of one author."""
        purged, self._purged = self._purged, []
        for _, run in itertools.groupby(enumerate(purged), key=lambda each: (each[1][1], each[1][0] - each[0])):
            ids = [message_id for _, (message_id, _) in run]
            shared.intend_purge(self._conversation_id, ids[0], ids[-1] + 1)

    def _unsound(self, entry: Entry, what: str) -> Unsound:
        return Unsound(f"Entry {entry.seq} of the shared conversation {self._conversation_id} {what}.")


def _write_stand_in(conversation_id: ConversationId, message_id: MessageId, role: Role) -> None:
    """What is read, here and by models, in place of a message whose text was not shared. A result answers the first
    call that has none yet, because a model's service wants one for each."""
    content = Content(role, (TextPart(_NOT_SHARED),))
    if role is Role.TOOL:
        before = [each.content for each in message_log.read(conversation_id, max(0, message_id - _FAR), message_id)]
        waiting = set(unanswered_calls(before))
        call = next((call for each in before for call in each.calls if call.call_id in waiting), None)
        content = Content(role, ()) if call is None else tool_result(call, _NOT_SHARED)
    message_log.write_stand_in(conversation_id, message_id, content)


def _purge(writer: Writer, conversation_id: ConversationId, entry: Entry) -> Sequence[ConversationId]:
    """Carries the purge out that the entry tells of, and gives back the leases. What was purged already, a range that
    is none, and one of a conversation that this one is no fork of are passed over. Only the content of the very
    messages goes, because the hub has asked for the right to purge those and no others; whole exchanges are hidden."""
    try:
        start, end, *of = json.loads(entry.body or "")
        owner = ConversationId(str(of[0])) if of else conversation_id
        if owner not in {each for each, _, _ in conversations.lineage(conversation_id)} | {conversation_id}:
            return ()
        start, end = max(0, int(start)), min(int(end), conversations.get(owner).n_messages)
    except (*_INVALID, NotFound):
        return ()
    if start >= end:
        return ()
    wanted = MessageId(start), MessageId(end)
    scope = purge.find_scope(owner, wanted, is_widened=False)
    changed: Sequence[ConversationId] = ()
    has_hubs_title = shared.has_hubs_title(conversation_id)
    if (
        scope.n_contents
        or scope.n_summaries
        or not all(_is_hidden(each, *span) for each, span in scope.touched.items())
    ):
        done = purge.purge(writer, owner, wanted, is_widened=False)
        for lease in done.held:
            leases.release(lease)
        changed = done.changed
    if has_hubs_title and not scope.n_contents:  # it may have been made of words that were never here
        conversations.retitle(conversation_id, "", writer.now)
        changed = (*changed, conversation_id)
    shared.note_title(conversation_id, "")  # the hub forgot it: it may have been made of the text
    for each, span in scope.touched.items():
        _note_hidden(each, *span)
    return changed


def _note_hidden(conversation_id: ConversationId, first: int, after: int) -> None:
    """Every store hides what is purged, so the hub need not be told."""
    if shared.standing(conversation_id) is None:
        return
    for start, end, at in execute(
        """SELECT start_message_id, end_message_id, created_at FROM hidden
        WHERE conversation = ? AND start_message_id >= ? AND end_message_id <= ?""",
        *(conversation_id, first, after),
    ).fetchall():
        shared.note_known(conversation_id, EntryKind.HIDDEN, outgoing.hidden_key(start, end, at))


def _is_hidden(conversation_id: ConversationId, first: int, after: int) -> bool:
    """Whether no request shows the messages [first, after): of what came without its text, some may."""
    ranges = hidden_ranges.read(conversation_id)
    return all(any(each.start <= at < each.end for each in ranges) for at in range(first, after))


def _take(conversation_id: ConversationId, entry: Entry, body: str, summaries: Summaries, now: str) -> bool:
    """Whether the store had not what the entry says. Raises one of `_INVALID` for an entry that is none."""
    if entry.kind in (EntryKind.TITLE, EntryKind.SUMMARY) and shared.awaits_purge(conversation_id):
        return False  # it may hold purged words, and the hub forgets it when it hears of the purge
    match entry.kind:
        case EntryKind.TITLE:
            body = arrived_title(body[:LONGEST_TITLE])
            is_new = conversations.get(conversation_id).title != body
            shared.note_title(conversation_id, body)
            conversations.rename(conversation_id, body, now)
            return is_new
        case EntryKind.SUMMARY:
            return summaries.add(entry.key, body)
        case EntryKind.TURN:
            return _take_turn(conversation_id, entry.key, json.loads(body))
        case EntryKind.HIDDEN:
            return _take_hidden(conversation_id, json.loads(body), now)
        case _:
            raise ValueError(entry.kind)


def _take_turn(conversation_id: ConversationId, turn_id: str, said: dict[str, Any]) -> bool:
    if execute("SELECT 1 FROM turn WHERE id = ? OR request_id = ?", turn_id, turn_id).fetchone() is not None:
        return False
    state, asked = TurnState(said["state"]), number(said["user_message_id"])
    if state not in FINAL_STATES or not 0 <= asked < conversations.get(conversation_id).n_messages:
        raise ValueError("a turn that has not ended, or was not asked")
    kind, ended_at = said.get("error_kind"), said.get("ended_at")
    model, error = text(said["model"]), text_or_none(said.get("error_message"))
    if len(model) > _LONGEST_NAME:
        raise ValueError("a model that no service has")
    execute(
        """INSERT INTO turn (
            id, conversation, request_id, user_message_id, state, model, next_seq, stop_reason, error_kind,
            error_message, started_at, ended_at, resolution
        ) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)""",
        # Only a running editor repeats a request, so the request's id only has to be unique.
        *(text(turn_id), conversation_id, turn_id, asked, state.value, model),
        *(text_or_none(said.get("stop_reason")), None if kind is None else ErrorKind(kind).value),
        *(error and error[:_LONGEST_ERROR], time(said["started_at"]), None if ended_at is None else time(ended_at)),
        Resolution.KEEP.value,
    )
    return True


def _take_hidden(conversation_id: ConversationId, said: list[Any], now: str) -> bool:
    start, end, at = number(said[0]), number(said[1]), time(said[2])
    if not 0 <= start < end <= conversations.get(conversation_id).n_messages:
        raise ValueError("no range of this conversation")
    stored = execute(
        """SELECT 1 FROM hidden
        WHERE conversation = ? AND start_message_id = ? AND end_message_id = ? AND created_at = ?""",
        *(conversation_id, start, end, at),
    )
    if stored.fetchone() is not None:
        return False
    visibility.hide(conversation_id, MessageId(start), MessageId(end), now)
    execute(
        "UPDATE hidden SET created_at = ? WHERE id = (SELECT MAX(id) FROM hidden WHERE conversation = ?)",
        *(at, conversation_id),
    )
    return True
