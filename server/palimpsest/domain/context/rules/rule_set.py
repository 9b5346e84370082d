"""The rule set of a conversation: every rule that was set, and which rules still hold.

It is derived from the messages each time, with the same result; only pins and withdrawals by command are stored. A
later rule supersedes an earlier one only where the two cannot both be followed: losing a rule is worse than keeping
two. An open rule is sent verbatim: in its own message while that is sent whole, else in the summary of the message,
which begins with `standing_rules`; a pin that comes from no message is sent before the conversation.
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
"""The message id of a pin that comes from no message."""
_ITEM_OVERHEAD_TOKENS: Final = 8

_ITEM = re.compile(r"- \[([0-9]{1,18})\.([0-9]{1,18})(?: \+([0-9]{1,18}))?\] (.*)")


class RuleState(StrEnum):
    OPEN = "open"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, order=True)
class RuleId:
    """Sorts in the order in which rules were set, after the pins that come from no message."""

    message_id: MessageId
    index: int
    """The place among the rules of the message, from 0; the number of the pin where `message_id` is NO_MESSAGE."""

    def __str__(self) -> str:
        return f"pin-{self.index}" if self.message_id == NO_MESSAGE else f"{self.message_id}.{self.index}"


@dataclass(frozen=True, slots=True)
class Pin:
    number: int
    """Not used again after the pin is removed."""
    text: str

    @property
    def entry(self) -> StandingRule:
        """The pin as an entry of its own, where it comes from no message."""
        return StandingRule(RuleId(NO_MESSAGE, self.number), self.text, is_pin=True)


@dataclass(frozen=True, slots=True)
class StandingRule:
    id: RuleId
    text: str
    """As the user wrote it."""
    state: RuleState = RuleState.OPEN
    superseded_by: RuleId | None = None
    """The later entry; None where the rule holds, or a sentence that is no rule took it back."""
    ended_by: MessageId | None = None
    """The message that superseded the rule or took it back; None where the rule holds, or a command took it back."""
    is_pin: bool = False


@dataclass(frozen=True, slots=True)
class RuleSet:
    entries: tuple[StandingRule, ...]
    """All rules, by id."""

    def open_entries(self, within: range | None = None) -> tuple[StandingRule, ...]:
        """The rules that hold, by id; `within`: only those of these messages."""
        return tuple(
            entry
            for entry in self.entries
            if entry.state is RuleState.OPEN and (within is None or entry.id.message_id in within)
        )

    def without(self, dropped: Collection[StandingRule]) -> RuleSet:
        """The rule set without some rules, which the cap made ordinary text."""
        ids = {entry.id for entry in dropped}
        return RuleSet(tuple(entry for entry in self.entries if entry.id not in ids))


@dataclass(frozen=True, slots=True)
class _Detected:
    entry: StandingRule
    rule: Rule


def build(messages: Iterable[StoredMessage], pins: Iterable[Pin], withdrawn: Collection[RuleId]) -> RuleSet:
    """The rule set of a conversation. `messages`: the visible messages, oldest first; `withdrawn`: by command.

    A pin with the text of a detected rule protects the newest such rule; any other pin is an entry of its own. Only the
    user's command ends what a pin protects, never a sentence.
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
    """Adds the new rule and ends the rules that it replaces, among them those that its own sentence took back."""
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
    """Ends the rules that the words name, or the newest open rule where they name none; returns the ids."""
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
    """The newest open rule of an earlier message."""
    return max(
        (
            each.entry.id
            for each in found.values()
            if each.entry.state is RuleState.OPEN and each.entry.id.message_id < message_id
        ),
        default=None,
    )


def over_cap(entries: Iterable[StandingRule], cap_tokens: int, count: CountText) -> tuple[StandingRule, ...]:
    """The detected rules that must become ordinary text, so that the rest takes at most `cap_tokens` raw tokens.

    In the order in which they go: closed ones first, oldest first. Pins count and never go, so the rest may still be
    over the cap; then another pin is to be refused.
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
    """Raw tokens of the open pins among the entries, which no cap removes."""
    return sum(_size(entry, count) for entry in entries if entry.is_pin and entry.state is RuleState.OPEN)


def _size(entry: StandingRule, count: CountText) -> int:
    return count(entry.text) + _ITEM_OVERHEAD_TOKENS


def standing_rules(rules: RuleSet, start: int, end: int) -> str:
    """The first section of a summary of the messages [start, end); empty where none of their rules is open.

    A rule of several lines is kept as written; its item says how many lines follow, so `split_standing_rules` reads
    any text back.
    """
    items = []
    for entry in rules.open_entries(range(start, end)):
        n_more = entry.text.count("\n")
        items.append(f"- [{entry.id}{f' +{n_more}' if n_more else ''}] {entry.text}")
    return "\n".join([HEADING, *items]) if items else ""


def split_standing_rules(text: str) -> tuple[tuple[tuple[RuleId, str], ...], str]:
    """The rules in the first section of a summary's text, and the rest of the text: all of it without one."""
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


def missing(rules: RuleSet, pieces: Sequence[Piece], front: str = "") -> tuple[StandingRule, ...]:
    """The open rules that are not verbatim where they must be; empty in every sound context.

    A rule must be in the piece that covers its message. A pin that comes from no message, and a rule whose message is
    left out, must be in `front`, the text that a request holds before its pieces.
    """
    lost: list[StandingRule] = []
    rest = iter(pieces)
    piece: Piece | None = next(rest, None)
    text: str | None = None
    for entry in rules.open_entries():
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
