"""What requests cost at a service that charges less for the beginning of a prompt that it keeps.

A request is a list of texts, each a message. The first is the system prompt.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

from palimpsest.data import load_price_table
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, CountText
from palimpsest.domain.models.prices import Price
from palimpsest.domain.models.provider import TokenUsage

_CENTS: Final = 10_000_000
"""Nanodollars in one."""


@dataclass(frozen=True, slots=True)
class Service:
    """Who answers, and who writes summaries there."""

    name: str
    """For people."""
    provider: str
    model: str
    helper: str
    keeps_at_marks: bool = False
    """Whether a beginning is kept only as far as a request put a mark."""

    @property
    def price(self) -> Price:
        return _price(self.provider, self.model)

    @property
    def helper_price(self) -> Price:
        return _price(self.provider, self.helper)


def _price(provider: str, model: str) -> Price:
    found = load_price_table().find(provider, model)
    assert found is not None, f"{model} has no price"
    return found


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the model that answers, and what was summarized since the one before."""

    sent: Sequence[str]
    answer: str
    begins_turn: bool
    marked: Sequence[int] = (1,)
    """Of the messages at its beginning, how many a mark stands behind, beside the one at its end."""
    summarized: int = 0
    """Tokens that a summarizing model has read."""
    summaries: int = 0
    """Tokens that it wrote."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Of all requests of a session: tokens, or what they cost in cents."""

    kept: float = 0
    """Of a beginning that the service has kept."""
    new: float = 0
    """Behind a whole kept request: what was said since."""
    anew: float = 0
    """Sent before, or written in its place, and not kept: where a request does not begin with the whole last one."""
    summarized: float = 0
    """What the summarizing model read."""
    summaries: float = 0
    """What it wrote."""
    answers: float = 0
    """The same however the requests are made."""

    @property
    def prompts(self) -> float:
        return self.kept + self.new + self.anew

    @property
    def total(self) -> float:
        """Without the answers."""
        return self.prompts + self.summarized + self.summaries


class Sizes:
    """Counts the tokens of messages, each text once."""

    def __init__(self, count: CountText) -> None:
        self.of_text = functools.cache(count)

    def of(self, messages: Sequence[str]) -> int:
        return sum(self.of_text(each) + MESSAGE_OVERHEAD for each in messages)


def unchanged(requests: Sequence[Request], sizes: Sizes) -> float:
    """The share of all tokens sent that stands unchanged at the beginning, in the request before too."""
    same = sum(sizes.of(now.sent[: _n_same(old.sent, now.sent)]) for old, now in itertools.pairwise(requests))
    return same / sum(sizes.of(each.sent) for each in requests)


def _n_same(before: Sequence[str], now: Sequence[str]) -> int:
    pairs = zip(before, now, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def tokens(requests: Sequence[Request], sizes: Sizes, *, keeps_at_marks: bool, pauses: bool = False) -> Parts:
    """`pauses`: each turn begins after the service has forgotten the last one."""
    kept = new = anew = 0
    before: Sequence[str] = ()
    marked: Sequence[int] = ()
    for request in requests:
        n_same = 0 if pauses and request.begins_turn else _n_same(before, request.sent)
        goes_on = n_same == len(before)
        if keeps_at_marks and not goes_on:
            n_same = max((mark for mark in marked if mark <= n_same), default=0)
        kept += sizes.of(request.sent[:n_same])
        rest = sizes.of(request.sent[n_same:])
        if goes_on:
            new += rest
        else:
            anew += rest
        before, marked = request.sent, request.marked
    return Parts(
        kept,
        new,
        anew,
        sum(each.summarized for each in requests),
        sum(each.summaries for each in requests),
        sum(sizes.of_text(each.answer) for each in requests),
    )


def cents(used: Parts, service: Service, prompt_tokens: int) -> Parts:
    """What the tokens of a session cost. Nothing is kept where that would cost more than to send it all as new.
    `prompt_tokens`: the longest prompt, since long ones cost more."""
    price, helper = service.price, service.helper_price

    def of(by: Price, **usage: float) -> float:
        counts = TokenUsage(**{name: round(number) for name, number in usage.items()})
        return by.of(counts, prompt_tokens=prompt_tokens) / _CENTS

    keeping = (
        of(price, cache_read_tokens=used.kept),
        of(price, cache_write_tokens=used.new),
        of(price, cache_write_tokens=used.anew),
    )
    without = (
        of(price, input_tokens=used.kept),
        of(price, input_tokens=used.new),
        of(price, input_tokens=used.anew),
    )
    kept, new, anew = min(keeping, without, key=sum)
    return Parts(
        kept,
        new,
        anew,
        of(helper, input_tokens=used.summarized),
        of(helper, output_tokens=used.summaries),
        of(price, output_tokens=used.answers),
    )


def each(parts: Parts, n_requests: int) -> Parts:
    kept, new, anew, summarized, summaries, answers = (part / n_requests for part in astuple(parts))
    return Parts(kept, new, anew, summarized, summaries, answers)
