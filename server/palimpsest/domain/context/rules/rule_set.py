"""The ledger: every standing rule of a conversation, and which of them still hold.

Derived from the messages each time, and the same each time; only pins and the user's withdrawals are stored. A later
rule supersedes an earlier one only where the two cannot both be followed: losing a rule is worse than keeping two.
An open entry stands verbatim in its own message while that is live and whole, else in the block that covers the
message, whose text begins with `standing_rules`; a pin that comes from no message stands in front of the pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from palimpsest.domain.context.cut import Piece
from palimpsest.domain.context.rules.detection import read_rulings
from palimpsest.domain.context.rules.rulings import Rule, Withdrawal
from palimpsest.domain.context.rules.supersession import ends, is_near, nearness, supersedes
from palimpsest.domain.context.summaries.node import CLOSING, OPENING
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import MessageId

HEADING: Final = "## Standing rules"
NO_MESSAGE: Final = MessageId(-1)
"""Where a pin stands that comes from no message."""
_ITEM_OVERHEAD_TOKENS: Final = 8

_ITEM = re.compile(r"- \[(-?\d+)\.(\d+)(?: \+(\d+))?\] (.*)")


class RuleState(StrEnum):
    OPEN = "open"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, order=True)
class RuleId:
    """Sorts as entries were made, pins that come from no message first."""

    message_id: MessageId
    index: int
    """Among the message's rules; the pin's number where `message_id` is NO_MESSAGE."""

    def __str__(self) -> str:
        return f"{self.message_id}.{self.index}"


@dataclass(frozen=True, slots=True)
class Pin:
    number: int
    """Never used again after an unpin."""
    text: str

    @property
    def entry(self) -> StandingRule:
        """As an entry of its own, for a pin that comes from no message."""
        return StandingRule(RuleId(NO_MESSAGE, self.number), self.text, is_pin=True)


@dataclass(frozen=True, slots=True)
class StandingRule:
    id: RuleId
    text: str
    """As the user wrote it."""
    state: RuleState = RuleState.OPEN
    superseded_by: RuleId | None = None
    """The later entry; None also where a sentence that is no rule took it back."""
    ended_by: MessageId | None = None
    """The message whose words superseded it or took it back; None where it holds, or a command took it back."""
    is_pin: bool = False


@dataclass(frozen=True, slots=True)
class RuleSet:
    entries: tuple[StandingRule, ...]
    """All of them, by id."""

    def open_entries(self, within: range | None = None) -> tuple[StandingRule, ...]:
        """The entries that hold, by id; those of the given message ids where a range is given."""
        return tuple(
            entry
            for entry in self.entries
            if entry.state is RuleState.OPEN and (within is None or entry.id.message_id in within)
        )

    def without(self, dropped: Collection[StandingRule]) -> RuleSet:
        """The ledger without what the cap made ordinary facts."""
        ids = {entry.id for entry in dropped}
        return RuleSet(tuple(entry for entry in self.entries if entry.id not in ids))


@dataclass(frozen=True, slots=True)
class _Detected:
    entry: StandingRule
    rule: Rule


def build(messages: Iterable[StoredMessage], pins: Iterable[Pin], withdrawn: Collection[RuleId]) -> RuleSet:
    """The ledger of a conversation. `messages` are the visible ones, oldest first.

    A pin whose text is that of a detected entry protects the newest such entry; any other pin is an entry of its own.
    What a pin protects is superseded and withdrawn by the user's command only, never by a sentence.
    """
    pin_of = {pin.text: pin for pin in pins}
    found: dict[RuleId, _Detected] = {}
    for message in messages:
        rulings = read_rulings(message.content)
        index_of = {id(rule): index for index, rule in enumerate(rulings.rules)}
        taken_back: dict[int, list[RuleId]] = {}
        for said in rulings.in_order():
            if isinstance(said, Withdrawal):
                taken_back.setdefault(said.start, []).extend(_take_back(found, said, message.id, pin_of))
            # The markers of a block cannot stand inside one, so a rule that holds them could not be kept verbatim.
            elif OPENING not in said.text and CLOSING not in said.text:
                entry = StandingRule(RuleId(message.id, index_of[id(said)]), said.text)
                _supersede(found, _Detected(entry, said), taken_back.get(said.start, ()), pin_of)
    entries = {detected.entry.id: detected.entry for detected in found.values()}
    newest_of = {entry.text: entry.id for entry in entries.values()}
    for pin in pin_of.values():
        id_ = newest_of.get(pin.text, pin.entry.id)
        if id_ in withdrawn:  # it was pinned since: taking an entry back takes its pin
            id_ = pin.entry.id
        entries[id_] = replace(entries.get(id_, pin.entry), is_pin=True)
    for id_ in withdrawn:
        if id_ in entries:
            entries[id_] = replace(entries[id_], state=RuleState.WITHDRAWN, superseded_by=None, ended_by=None)
    return RuleSet(tuple(entries[id_] for id_ in sorted(entries)))


def _supersede(
    found: dict[RuleId, _Detected], new: _Detected, taken_back: Iterable[RuleId], pinned: Collection[str]
) -> None:
    """Adds the new rule, and closes what it takes the place of: also what its own sentence took back."""
    newest = _newest_before(found, new.entry.id.message_id)
    for old in list(found.values()):
        is_repeat = old.rule.text == new.rule.text
        near = nearness(old.entry.id.message_id, new.entry.id.message_id, is_newest=old.entry.id == newest)
        if (
            old.entry.state is RuleState.OPEN
            and (is_repeat or old.rule.text not in pinned)
            and (is_repeat or supersedes(new.rule, old.rule, near))
        ):
            found[old.entry.id] = _Detected(_ended(old.entry, new.entry.id), old.rule)
    for id_ in taken_back if not new.rule.is_prohibition else ():
        found[id_] = _Detected(_ended(found[id_].entry, new.entry.id), found[id_].rule)
    found[new.entry.id] = new


def _ended(entry: StandingRule, by: RuleId) -> StandingRule:
    return replace(entry, state=RuleState.SUPERSEDED, superseded_by=by, ended_by=by.message_id)


def _take_back(
    found: dict[RuleId, _Detected], withdrawal: Withdrawal, message_id: MessageId, pinned: Collection[str]
) -> list[RuleId]:
    """Withdraws what the words name, or the newest open rule where they name nothing."""
    live = [each for each in found.values() if each.entry.state is RuleState.OPEN and each.rule.text not in pinned]
    if withdrawal.subject_words or withdrawal.is_judged:
        newest = _newest_before(found, message_id)
        meant = [
            each
            for each in live
            if ends(
                withdrawal,
                each.rule,
                nearness(each.entry.id.message_id, message_id, is_newest=each.entry.id == newest),
            )
        ]
    else:
        near = [each for each in live if is_near(each.entry.id.message_id, message_id)]
        meant = (near if withdrawal.is_near else live)[-1:]
    for each in meant:
        entry = replace(each.entry, state=RuleState.WITHDRAWN, ended_by=message_id)
        found[entry.id] = _Detected(entry, each.rule)
    return [each.entry.id for each in meant]


def _newest_before(found: Mapping[RuleId, _Detected], message_id: MessageId) -> RuleId | None:
    """The last rule of an earlier message that holds."""
    return max(
        (
            each.entry.id
            for each in found.values()
            if each.entry.state is RuleState.OPEN and each.entry.id.message_id < message_id
        ),
        default=None,
    )


def over_cap(entries: Iterable[StandingRule], cap_tokens: int, count: CountText) -> tuple[StandingRule, ...]:
    """The detected entries that must become ordinary facts, so that the rest takes at most `cap_tokens` raw tokens.

    In the order in which they go: those that no longer hold first, oldest first. Pins count and never go, so the rest
    may still be over the cap: then pinning more is to be refused.
    """
    kept = list(entries)
    total = sum(_size(entry, count) for entry in kept)
    dropped: list[StandingRule] = []
    for entry in sorted(kept, key=lambda entry: (entry.state is RuleState.OPEN, entry.id)):
        if total <= cap_tokens:
            break
        if not entry.is_pin:
            dropped.append(entry)
            total -= _size(entry, count)
    return tuple(dropped)


def pin_tokens(entries: Iterable[StandingRule], count: CountText) -> int:
    """Raw tokens of the pins among them: what no cap can take away."""
    return sum(_size(entry, count) for entry in entries if entry.is_pin and entry.state is RuleState.OPEN)


def _size(entry: StandingRule, count: CountText) -> int:
    return count(entry.text) + _ITEM_OVERHEAD_TOKENS


def standing_rules(ledger: RuleSet, start: int, end: int) -> str:
    """The section that heads a summary of the messages [start, end); empty when no rule of them is open.

    A rule of several lines is kept as written; its item says how many lines follow, so `split_standing_rules` reads
    back any text. `standing_rules(ledger, NO_MESSAGE, 0)` are the pins that come from no message.
    """
    items = []
    for entry in ledger.open_entries(range(start, end)):
        n_more = entry.text.count("\n")
        items.append(f"- [{entry.id}{f' +{n_more}' if n_more else ''}] {entry.text}")
    return "\n".join([HEADING, *items]) if items else ""


def split_standing_rules(text: str) -> tuple[tuple[tuple[RuleId, str], ...], str]:
    """The rules at the head of a summary's text, and the rest of it. A text without the section is all rest."""
    lines = text.split("\n")
    if lines[0] != HEADING:
        return (), text
    rules: list[tuple[RuleId, str]] = []
    position = 1
    while position < len(lines) and (item := _ITEM.fullmatch(lines[position])) is not None:
        after = position + 1 + int(item[3] or 0)
        rule = "\n".join([item[4], *lines[position + 1 : after]])
        rules.append((RuleId(MessageId(int(item[1])), int(item[2])), rule))
        position = after
    return tuple(rules), "\n".join(lines[position:])


def missing(ledger: RuleSet, pieces: Sequence[Piece], front: str = "") -> tuple[StandingRule, ...]:
    """The open entries that do not stand verbatim where they must; empty in every sound context.

    That is the piece that covers the entry's message; `front`, which the request holds before the pieces, for a pin
    that comes from no message and where the message is left out.
    """
    lost: list[StandingRule] = []
    rest = iter(pieces)
    piece: Piece | None = next(rest, None)
    text: str | None = None
    for entry in ledger.open_entries():
        if entry.id.message_id == NO_MESSAGE:
            if entry.text not in front:
                lost.append(entry)
            continue
        while piece is not None and piece.end <= entry.id.message_id:
            piece, text = next(rest, None), None
        if piece is not None and text is None:
            text = piece.content.text
        where = front if piece is None or piece.start > entry.id.message_id else text or ""
        if entry.text not in where:
            lost.append(entry)
    return tuple(lost)
