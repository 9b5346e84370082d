"""Events and results in words, and the protocol of the views.

Text of a model, a file or a tool must not control the terminal: all of it goes through `sanitise`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from palimpsest.printing import sanitise
from palimpsest.terminal import texts
from palimpsest.terminal.calls import Event
from palimpsest.wire.areas.turns import ChatResult, TurnStatus
from palimpsest.wire.areas.usage import MANUAL, SUMMARIZING, ContextEvent, ContextEventType
from palimpsest.wording import counted

_HALF = re.compile("[\ud800-\udfff]")


class View(Protocol):
    """Shows everything to the user. Its methods take any text and make it harmless."""

    def say(self, text: str) -> None:
        """Show lines that the user asked for."""

    def draft(self, text: str) -> None:
        """Offer a text as what the user types next, or show it where nothing can be typed for them."""

    def note(self, text: str) -> None:
        """Show a less important line."""

    def answer(self, markdown: str) -> None:
        """Show the answer of a command."""

    def recall(self, text: str) -> None:
        """Show whoever sits there what they saw last of the conversation that goes on."""

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show rows under column heads."""

    def fail(self, sentence: str) -> None:
        """Show an error."""

    def show(self, event: Event) -> None:
        """Show an event of a running request."""

    def finish(self) -> None:
        """End the output of a request: no more events will come."""


def one_line(text: str) -> str:
    """The text on one line: every run of white space becomes one blank."""
    return sanitise(" ".join(text.split()))


def first_sentence(text: str) -> str:
    """What the error of a tool says has happened. What follows tells the model what to do next."""
    line = next(iter(text.splitlines()), "")
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", line, maxsplit=1)[0]


def clean(text: str) -> str:
    """The input without surrogates, which Python makes of bytes that are not UTF-8."""
    return _HALF.sub("\ufffd", text)


def unescaped(markdown: str) -> str:
    """The source of Markdown, without the backslashes that escape its marks."""
    return re.sub(r"\\([\\`*_{}\[\]<>#|~&])", r"\1", markdown)


def ending(result: ChatResult) -> str | None:
    """The end of a turn in words; None for a complete answer."""
    if result.status is not TurnStatus.COMMITTED:
        return texts.ENDINGS[result.status.value]
    reason = result.stop_reason or "end"
    return texts.STOP_REASONS[reason] if reason in texts.STOP_REASONS else texts.stopped_for(reason)


def passing(event: ContextEvent) -> str | None:
    """The text of the status line for an event; None for an event that does not change it."""
    if event.strategy not in SUMMARIZING:
        return None
    if event.type is ContextEventType.SUMMARIZATION_START:
        return texts.summarizing(_messages(event.total_items))
    if event.type is ContextEventType.SUMMARIZATION_PROGRESS:
        return texts.summarizing_so_far(event.items_processed or 0, _messages(event.total_items))
    return None


def lasting(event: ContextEvent) -> str | None:
    """The note about an event, which stays on the screen; None for an event without one."""
    if event.type is ContextEventType.SUMMARIZATION_COMPLETE and event.strategy in SUMMARIZING:
        saved = "" if event.tokens_saved is None else f": {counted(event.tokens_saved, 'token')} fewer"
        return texts.summarized(_messages(event.items_processed or event.total_items), saved)
    if event.type is ContextEventType.SUMMARIZATION_ERROR and event.strategy == MANUAL:
        return None  # the answer to who asked for it says why
    if event.type in (ContextEventType.SUMMARIZATION_ERROR, ContextEventType.SUMMARIZATION_FALLBACK):
        return event.error or texts.NO_SUMMARY
    if event.type is ContextEventType.NOT_RECALLED:
        return texts.NOT_RECALLED
    if event.type is ContextEventType.BUDGET:
        return event.error
    if event.type is ContextEventType.GUARD:
        return event.error or texts.GUARD_OUTCOMES.get(event.outcome or "")
    if event.type is ContextEventType.LEFT_OUT:
        left_out = ", ".join(f"{each.start} to {each.end - 1}" for each in event.left_out or ())
        return texts.left_out(left_out) if left_out else None
    if event.type is ContextEventType.RULES_CAP:
        return texts.RULES_CAP
    return None


def local_time(stamp: str) -> str:
    """A time of the protocol in the user's time zone, to the minute; an invalid stamp as it is."""
    try:
        return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return one_line(stamp)


def _messages(count: int | None) -> str:
    return "older messages" if count is None else counted(count, "message")
