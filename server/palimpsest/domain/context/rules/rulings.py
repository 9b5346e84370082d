"""What one message of the user rules: the rules it sets and the rules it takes back, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence, or a piece of one, that sets a rule."""

    text: str
    """As the user wrote it."""
    start: int
    """Offset into the text of the message (`Content.text`), which holds `text` exactly here."""
    end: int
    subject_words: tuple[str, ...]
    """Stems of the words that say what the rule is about, in the order of the text, each once."""
    is_prohibition: bool
    rejected_words: tuple[str, ...]
    """Stems of what the rule turns down in favor of something else: npm in "yarn instead of npm"."""
    is_change: bool = False
    """The sentence says that it replaces something."""
    is_instead: bool = False
    """The sentence replaces what was said just before, which it does not name."""
    chosen_words: tuple[str, ...] = ()
    """Stems of what the rule chooses: Redis in "use Redis for the queue"."""
    purpose_words: tuple[str, ...] = ()
    """Stems of what the choice is for: the queue in "use Redis for the queue"."""
    is_decision: bool = False
    """The user reports a decision and gives no order."""
    whole: str = ""
    """The sentence that holds `text`, where `text` is only a piece of it; else empty."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A sentence that takes rules back."""

    text: str
    subject_words: tuple[str, ...]
    """Stems of the words that say which rule is meant; empty for the newest rule."""
    permits: bool
    """The sentence allows something again, so it can only take back a prohibition."""
    start: int = 0
    """Offset of the sentence into the text of the message."""
    drops: bool = False
    """The sentence gives a choice up, so it can only take back a rule that made this choice."""
    is_near: bool = False
    """The sentence points at what was said just before, and at nothing older."""
    is_judged: bool = False
    """The form of the sentence takes nothing back, but a trained model that sees it beside a rule may say it does."""


@dataclass(frozen=True, slots=True)
class Rulings:
    """The rules and withdrawals of one message; false where there are none."""

    rules: tuple[Rule, ...]
    """In the order of the message."""
    withdrawals: tuple[Withdrawal, ...]
    """In the order of the message."""

    def __bool__(self) -> bool:
        return bool(self.rules or self.withdrawals)

    def in_order(self) -> list[Rule | Withdrawal]:
        """All of them in the order of the message; where one sentence is both, the withdrawal comes first."""
        both: list[Rule | Withdrawal] = [*self.withdrawals, *self.rules]
        return sorted(both, key=lambda each: each.start)
