"""What stands in front of the conversation in a request: what the user ruled that no message there can say.

Pins come from no message; rules whose message is left out have none any more; and that a rule was taken back by command
stands nowhere else. All of it is the user's own word, so it is sent as what the user says.
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
_TAKEN_BACK: Final = "No longer in force: "


@dataclass(frozen=True, slots=True)
class Commands:
    """What the user has ruled by command, at one moment."""

    pins: tuple[Pin, ...] = ()
    closed_pins: tuple[Pin, ...] = ()
    taken_back: tuple[RuleId, ...] = ()
    """Rules of the conversation."""


@dataclass(frozen=True, slots=True)
class RulesBasis:
    """What the standing rules of a conversation follow from."""

    messages: tuple[StoredMessage, ...]
    """Of the user, visible, that make or take back a rule; oldest first."""
    commands: Commands
    cap_tokens: int
    """Raw tokens that standing rules may take."""

    def is_same(self, other: RulesBasis) -> bool:
        """Quick, because messages are compared by what they are, not by what they say."""
        ids = [(message.conversation_id, message.id) for message in self.messages]
        others = [(message.conversation_id, message.id) for message in other.messages]
        return ids == others and replace(self, messages=()) == replace(other, messages=())


@dataclass(frozen=True, slots=True)
class StandingRules:
    """The ledger of one conversation, and what the user said about it by command."""

    basis: RulesBasis
    whole: RuleSet
    """Every rule."""
    demoted: tuple[StandingRule, ...]
    """Those that became ordinary text, because all together are over their share."""
    pin_tokens: int
    """Raw tokens of the pins."""

    @property
    def ledger(self) -> RuleSet:
        """The rules that stand in every request."""
        return self.whole.without(self.demoted)

    @property
    def cap_tokens(self) -> int:
        """Raw tokens that standing rules may take."""
        return self.basis.cap_tokens

    def lines(self, left_out: Sequence[tuple[MessageId, MessageId]]) -> tuple[str, ...]:
        """What must stand in front of a conversation of which those messages are not sent."""
        return front_lines(self.whole, self.demoted, self.basis.commands.taken_back, left_out)


def derive(basis: RulesBasis, count: CountText) -> StandingRules:
    """The rules that follow from it."""
    whole = build(basis.messages, basis.commands.pins, basis.commands.taken_back)
    demoted = over_cap(whole.entries, basis.cap_tokens, count)
    return StandingRules(basis, whole, demoted, pin_tokens(whole.entries, count))


def front_lines(
    ledger: RuleSet,
    demoted: Collection[StandingRule],
    taken_back: Collection[RuleId],
    left_out: Sequence[tuple[MessageId, MessageId]],
) -> tuple[str, ...]:
    """What must stand in front, an item each, oldest first: verbatim, so an item may have several lines.

    `demoted` rules need not stand there. `taken_back` are the rules the user withdrew by command: their messages still
    say that they hold, so that they do not is said whatever the rules take.
    """
    lines: list[str] = []
    pinned = {entry.text for entry in ledger.entries if entry.is_pin and entry.state is RuleState.OPEN}
    for entry in ledger.entries:
        is_homeless = entry.id.message_id == NO_MESSAGE or any(
            start <= entry.id.message_id < end for start, end in left_out
        )
        if entry.state is RuleState.OPEN and is_homeless and entry not in demoted:
            lines.append(f"- {entry.text}")
        elif entry.id in taken_back and entry.text not in pinned:
            lines.append(f"- {_TAKEN_BACK}{entry.text}")
    return tuple(dict.fromkeys(lines))


def front_text(lines: Sequence[str]) -> str:
    """The lines as one text; empty for none."""
    return "\n".join([HEAD, *lines]) if lines else ""


def news_text(lines: Sequence[str], closed_pins: Iterable[Pin], told: str) -> str:
    """What `told` (the front, and what was added since, in their order) does not say as it is now; empty for nothing.

    A pin that was taken back is news only where it was told.
    """
    news = [line for line in lines if not _says(told, line)]
    news += [
        f"- {_TAKEN_BACK}{pin.text}"
        for pin in closed_pins
        if f"- {pin.text}" not in lines and _says(told, f"- {pin.text}")
    ]
    return "\n".join([NEWS_HEAD, *dict.fromkeys(news)]) if news else ""


def _says(told: str, line: str) -> bool:
    """Whether the item stands there as a whole, and not taken back behind it."""
    return _last(told, line) > _last(told, f"- {_TAKEN_BACK}{line.removeprefix('- ')}")


def _last(told: str, item: str) -> int:
    """Where the item stands last: its lines, and behind them nothing, a blank line, an item or a heading; else -1."""
    found = -1
    for match in re.finditer(rf"(?:\A|\n)(?={re.escape(item)}(?:\Z|\n(?:\n|- |\[)))", told):
        found = match.start()
    return found


def render_front(text: str) -> Content:
    return Content(Role.USER, (TextPart(text),))
