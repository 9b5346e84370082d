"""The rules that a request holds before its messages, because no message in it states them.

These are pins, which come from no message, rules whose message is left out, and rules that a command took back. All are
the user's own words, so they are sent in the user's role.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.rules.rule_set import (
    NO_MESSAGE,
    Pin,
    RuleId,
    RuleSet,
    RuleState,
    StandingRule,
    build,
    over_cap,
    pin_tokens,
)
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import Content, MessageId, Role, TextPart

HEAD: Final = "[Standing rules]\nThe user's standing rules, beside those in the conversation:"
NEWS_HEAD: Final = "[Standing rules]\nSince the conversation began, the user has also ruled:"
TAKEN_BACK: Final = "No longer in force: "


@dataclass(frozen=True, slots=True)
class Commands:
    """The pins and withdrawals by command, at one moment."""

    pins: tuple[Pin, ...] = ()
    closed_pins: tuple[Pin, ...] = ()
    taken_back: tuple[RuleId, ...] = ()
    """Rules of the conversation."""


@dataclass(frozen=True, slots=True)
class RulesBasis:
    """Everything that the rules of a conversation are derived from."""

    messages: tuple[StoredMessage, ...]
    """The visible messages of the user that set or take back a rule, oldest first."""
    commands: Commands
    cap_tokens: int
    """Raw tokens that rules may take."""

    def is_same(self, other: RulesBasis) -> bool:
        """Whether both are equal; quick, because messages are compared by their ids."""
        ids = [(message.conversation_id, message.id) for message in self.messages]
        others = [(message.conversation_id, message.id) for message in other.messages]
        return ids == others and replace(self, messages=()) == replace(other, messages=())


@dataclass(frozen=True, slots=True)
class StandingRules:
    """The rules of one conversation, and which of them every request states."""

    basis: RulesBasis
    whole: RuleSet
    """Every rule."""
    demoted: tuple[StandingRule, ...]
    """The rules that became ordinary text, because all together are over the cap."""
    pin_tokens: int
    """Raw tokens of the pins."""

    @property
    def kept(self) -> RuleSet:
        """The rules that every request states."""
        return self.whole.without(self.demoted)

    @property
    def cap_tokens(self) -> int:
        """Raw tokens that rules may take."""
        return self.basis.cap_tokens

    def taken_back(self) -> set[str]:
        """The texts of rules and pins that held once and hold no longer."""
        entries = self.whole.entries
        closed = {entry.text for entry in entries if entry.state is not RuleState.OPEN}
        closed |= {pin.text for pin in self.basis.commands.closed_pins}
        return closed - {entry.text for entry in entries if entry.state is RuleState.OPEN}

    def lines(self, left_out: Sequence[tuple[MessageId, MessageId]]) -> tuple[str, ...]:
        """The items that a request must hold before its messages, when `left_out` are not sent (`front_lines`)."""
        return front_lines(self.whole, self.demoted, self.basis.commands.taken_back, left_out)


def derive(basis: RulesBasis, count: CountText) -> StandingRules:
    """The rules that follow from `basis`."""
    whole = build(basis.messages, basis.commands.pins, basis.commands.taken_back)
    demoted = over_cap(whole.entries, basis.cap_tokens, count)
    return StandingRules(basis, whole, demoted, pin_tokens(whole.entries, count))


def front_lines(
    rules: RuleSet,
    demoted: Collection[StandingRule],
    taken_back: Collection[RuleId],
    left_out: Sequence[tuple[MessageId, MessageId]],
) -> tuple[str, ...]:
    """The items that a request must hold before its messages, oldest first; verbatim, so one may have several lines.

    `demoted` rules are left out. `taken_back` are the rules that the user withdrew by command: their messages still
    state them, so an item says that they no longer hold, whatever the cap.
    """
    lines: list[str] = []
    pinned = {entry.text for entry in rules.entries if entry.is_pin and entry.state is RuleState.OPEN}
    for entry in rules.entries:
        is_homeless = entry.id.message_id == NO_MESSAGE or any(
            start <= entry.id.message_id < end for start, end in left_out
        )
        if entry.state is RuleState.OPEN and is_homeless and entry not in demoted:
            lines.append(f"- {entry.text}")
        elif entry.id in taken_back and entry.text not in pinned:
            lines.append(f"- {TAKEN_BACK}{entry.text}")
    return tuple(dict.fromkeys(lines))


def front_text(lines: Sequence[str]) -> str:
    """The items as one text; empty for none."""
    return "\n".join([HEAD, *lines]) if lines else ""


def news_text(lines: Sequence[str], closed_pins: Iterable[Pin], told: str) -> str:
    """A text with the items that `told` does not state; empty where it states all.

    `told`: the rules that the request holds already, and those added since, in their order. A pin that was taken back
    is news only where it was told.
    """
    news = [line for line in lines if not _says(told, line)]
    news += [
        f"- {TAKEN_BACK}{pin.text}"
        for pin in closed_pins
        if f"- {pin.text}" not in lines and _says(told, f"- {pin.text}")
    ]
    return "\n".join([NEWS_HEAD, *dict.fromkeys(news)]) if news else ""


def _says(told: str, line: str) -> bool:
    """Whether the item is in the text as a whole and is not taken back behind."""
    return _last(told, line) > _last(told, f"- {TAKEN_BACK}{line.removeprefix('- ')}")


def _last(told: str, item: str) -> int:
    """The offset of the last such item: its lines, followed by nothing, a blank line, an item or a heading; else -1."""
    found = -1
    for match in re.finditer(rf"(?:\A|\n)(?={re.escape(item)}(?:\Z|\n(?:\n|- |\[)))", told):
        found = match.start()
    return found


def render_front(text: str) -> Content:
    return Content(Role.USER, (TextPart(text),))
