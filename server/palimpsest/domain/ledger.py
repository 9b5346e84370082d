"""The ledger: every standing rule of a conversation, and which of them still hold (invariant 9).

Derived from the messages each time, and the same each time; only pins and the user's withdrawals are stored. A later
rule supersedes an earlier one only where the two cannot both be followed: losing a rule is worse than keeping two.
An open entry stands verbatim in its own message while that is live and whole, else in the block that covers the
message, whose text begins with `standing_rules`; a pin that comes from no message stands in front of the pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.constraints import Constraint, detect, detect_withdrawals, normal_form, subject_words
from palimpsest.domain.cut import Piece
from palimpsest.domain.forest import CLOSING, OPENING
from palimpsest.domain.messages import MessageId
from palimpsest.domain.tokens import CountText

HEADING: Final = "## Standing rules"
NO_MESSAGE: Final = MessageId(-1)
"""Where a pin stands that comes from no message."""
_ITEM_OVERHEAD_TOKENS: Final = 8

_RIVALS: Final = tuple(
    frozenset(group.split())
    for group in (
        "tab spac",
        "metric imperial",
        "singl doubl",
        "camelcas camel-cas snake_cas snake-cas snake kebab-cas pascalcas",
        "npm yarn pnpm bun",
        "pip poetry uv conda pipenv",
        "pytest unittest nose",
        "merg rebas squash",
        "british american",
        "english german french spanish italian dutch portuguese japanese chinese",
        "formal informal casual",
    )
)
"""Stems of which only one can be chosen."""
_TOPICS: Final = frozenset(
    "indent indentation unit quot naming nam packag manager spell languag repli reply answ".split()
)
_CHOOSING: Final = frozenset(
    "use prefer reply answer respond write speak indent name call stick target format we let's i".split()
)
_SCOPES: Final = frozenset(
    "code project repo file files session everything function functions class classes test tests".split()
)
_ITEM = re.compile(r"- \[(-?\d+)\.(\d+)(?: \+(\d+))?\] (.*)")


class EntryState(StrEnum):
    OPEN = "open"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, order=True)
class EntryId:
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
    def entry(self) -> LedgerEntry:
        """As an entry of its own, for a pin that comes from no message."""
        return LedgerEntry(EntryId(NO_MESSAGE, self.number), self.text, is_pin=True)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    id: EntryId
    text: str
    """As the user wrote it."""
    state: EntryState = EntryState.OPEN
    superseded_by: EntryId | None = None
    """The later entry; None also where a sentence that is no rule took it back."""
    is_pin: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    entries: tuple[LedgerEntry, ...]
    """All of them, by id."""

    def open_entries(self, within: range | None = None) -> tuple[LedgerEntry, ...]:
        """The entries that hold, by id; those of the given message ids where a range is given."""
        return tuple(
            entry
            for entry in self.entries
            if entry.state is EntryState.OPEN and (within is None or entry.id.message_id in within)
        )

    def without(self, dropped: Collection[LedgerEntry]) -> Ledger:
        """The ledger without what the cap made ordinary facts."""
        ids = {entry.id for entry in dropped}
        return Ledger(tuple(entry for entry in self.entries if entry.id not in ids))


@dataclass(frozen=True, slots=True)
class _Detected:
    entry: LedgerEntry
    rule: Constraint


def build(messages: Iterable[StoredMessage], pins: Iterable[Pin], withdrawn: Collection[EntryId]) -> Ledger:
    """The ledger of a conversation. `messages` are the visible ones, oldest first.

    A pin whose text is that of a detected entry protects the newest such entry; any other pin is an entry of its own.
    What a pin protects is superseded and withdrawn by the user's command only, never by a sentence.
    """
    pin_of = {pin.text: pin for pin in pins}
    found: dict[EntryId, _Detected] = {}
    for message in messages:
        for withdrawal in detect_withdrawals(message.content):
            _take_back(found, withdrawal.subject_words, withdrawal.permits, pin_of)
        for index, rule in enumerate(detect(message.content)):
            # The markers of a block cannot stand inside one, so a rule that holds them could not be kept verbatim.
            if OPENING in rule.text or CLOSING in rule.text:
                continue
            new = _Detected(LedgerEntry(EntryId(message.id, index), rule.text), rule)
            for old in list(found.values()):
                is_repeat = old.rule.text == rule.text
                if (
                    old.entry.state is EntryState.OPEN
                    and (is_repeat or old.rule.text not in pin_of)
                    and (is_repeat or supersedes(rule, old.rule))
                ):
                    entry = replace(old.entry, state=EntryState.SUPERSEDED, superseded_by=new.entry.id)
                    found[entry.id] = _Detected(entry, old.rule)
            found[new.entry.id] = new
    entries = {detected.entry.id: detected.entry for detected in found.values()}
    newest_of = {entry.text: entry.id for entry in entries.values()}
    for pin in pin_of.values():
        id = newest_of.get(pin.text, pin.entry.id)
        entries[id] = replace(entries.get(id, pin.entry), is_pin=True)
    for id in withdrawn:
        if id in entries:
            entries[id] = replace(entries[id], state=EntryState.WITHDRAWN, superseded_by=None)
    return Ledger(tuple(entries[id] for id in sorted(entries)))


def _take_back(found: dict[EntryId, _Detected], words: Sequence[str], permits: bool, pinned: Collection[str]) -> None:
    """Withdraws what the words name, or the newest open rule where they name nothing."""
    live = [each for each in found.values() if each.entry.state is EntryState.OPEN and each.rule.text not in pinned]
    if permits:
        live = [each for each in live if each.rule.is_prohibition]
    meant = live[-1:] if not words else [each for each in live if _share(words, each.rule.subject_words) > 0.5]
    for each in meant:
        entry = replace(each.entry, state=EntryState.WITHDRAWN)
        found[entry.id] = _Detected(entry, each.rule)


def _share(words: Sequence[str], among: Sequence[str]) -> float:
    return len(set(words) & set(among)) / len(set(words))


def supersedes(newer: Constraint, older: Constraint) -> bool:
    """Whether the newer rule says the older again, turns it round, or chooses something else in its place."""
    new_form, old_form = normal_form(newer.text), normal_form(older.text)
    if new_form == old_form:
        return True
    new, old = set(newer.subject_words), set(older.subject_words)
    if not new or not old:
        return False
    rejected = set(newer.rejected_words)
    if rejected and rejected <= old and not older.is_prohibition and not rejected & set(older.rejected_words):
        return True
    if newer.is_prohibition != older.is_prohibition:
        both = len(new & old) / len(new | old)
        return both > 0.5 or (new <= old and both >= 1 / 3)
    if newer.is_prohibition:
        return False
    return _is_rival(new - rejected, old - set(older.rejected_words)) or _fills_same_slot(new_form, old_form)


def _is_rival(new: set[str], old: set[str]) -> bool:
    """Two choices from one group, where the newer is at least as general."""
    for group in _RIVALS:
        if new & group and old & group and not new & old & group:
            return new - group - _TOPICS <= old - group
    return False


def _fills_same_slot(new: tuple[str, ...], old: tuple[str, ...]) -> bool:
    """One sentence with other words in one place: another number, or another choice for the same purpose."""
    n_head = 0
    while n_head < min(len(new), len(old)) and new[n_head] == old[n_head]:
        n_head += 1
    n_tail = 0
    while n_tail < min(len(new), len(old)) - n_head and new[-1 - n_tail] == old[-1 - n_tail]:
        n_tail += 1
    new_slot, old_slot = new[n_head : len(new) - n_tail], old[n_head : len(old) - n_tail]
    common = new[:n_head] + new[len(new) - n_tail :]
    if not new_slot or not old_slot or len(common) < 2:
        return False
    if all(word.isdigit() for word in new_slot + old_slot):
        return True
    purpose = new[len(new) - n_tail :]
    return (
        new[0] in _CHOOSING
        and n_head > 0
        and max(len(new_slot), len(old_slot)) <= 2
        and purpose[:1] in (("for",), ("as",))
        and not set(purpose) & _SCOPES
        and bool(subject_words(" ".join(purpose)))
    )


def over_cap(entries: Iterable[LedgerEntry], cap_tokens: int, count: CountText) -> tuple[LedgerEntry, ...]:
    """The detected entries that must become ordinary facts, so that the rest takes at most `cap_tokens` raw tokens.

    In the order in which they go: those that no longer hold first, oldest first. Pins count and never go, so the rest
    may still be over the cap: then pinning more is to be refused.
    """
    kept = list(entries)
    total = sum(_size(entry, count) for entry in kept)
    dropped: list[LedgerEntry] = []
    for entry in sorted(kept, key=lambda entry: (entry.state is EntryState.OPEN, entry.id)):
        if total <= cap_tokens:
            break
        if not entry.is_pin:
            dropped.append(entry)
            total -= _size(entry, count)
    return tuple(dropped)


def pin_tokens(entries: Iterable[LedgerEntry], count: CountText) -> int:
    """Raw tokens of the pins among them: what no cap can take away."""
    return sum(_size(entry, count) for entry in entries if entry.is_pin and entry.state is EntryState.OPEN)


def _size(entry: LedgerEntry, count: CountText) -> int:
    return count(entry.text) + _ITEM_OVERHEAD_TOKENS


def standing_rules(ledger: Ledger, start: int, end: int) -> str:
    """The section that heads a summary of the messages [start, end); empty when no rule of them is open.

    A rule of several lines is kept as written; its item says how many lines follow, so `split_standing_rules` reads
    back any text. `standing_rules(ledger, NO_MESSAGE, 0)` are the pins that come from no message.
    """
    items = []
    for entry in ledger.open_entries(range(start, end)):
        n_more = entry.text.count("\n")
        items.append(f"- [{entry.id}{f' +{n_more}' if n_more else ''}] {entry.text}")
    return "\n".join([HEADING, *items]) if items else ""


def split_standing_rules(text: str) -> tuple[tuple[tuple[EntryId, str], ...], str]:
    """The rules at the head of a summary's text, and the rest of it. A text without the section is all rest."""
    lines = text.split("\n")
    if lines[0] != HEADING:
        return (), text
    rules: list[tuple[EntryId, str]] = []
    position = 1
    while position < len(lines) and (item := _ITEM.fullmatch(lines[position])) is not None:
        after = position + 1 + int(item[3] or 0)
        rule = "\n".join([item[4], *lines[position + 1 : after]])
        rules.append((EntryId(MessageId(int(item[1])), int(item[2])), rule))
        position = after
    return tuple(rules), "\n".join(lines[position:])


def missing(ledger: Ledger, pieces: Sequence[Piece], front: str = "") -> tuple[LedgerEntry, ...]:
    """The open entries that do not stand verbatim where they must; empty in every sound context (invariant 9).

    That is the piece that covers the entry's message; `front`, which the request holds before the pieces, for a pin
    that comes from no message and where the message is left out.
    """
    lost: list[LedgerEntry] = []
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
