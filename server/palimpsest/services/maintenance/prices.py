"""What the requests of a conversation cost where a provider caches prompts, and what plain truncation would have cost.

Prices are in full-price tokens: one is the price of a prompt token without a cache. A request reads what stands
unchanged at its head from the cache and writes the rest to it. Not counted: answers, and the requests of a model that
writes summaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.messages import Content

CACHE_READ: Final = 0.1
"""Full-price tokens for a token that is read from the cache (Anthropic's price list, as of 2026)."""
CACHE_WRITE: Final = 1.25
"""Full-price tokens for a token that is written to it."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """How a request begins, beside the request before it. Tokens are raw."""

    kept_tokens: int
    """Of the parts that stand unchanged at its head."""
    total_tokens: int
    is_broken: bool
    """Whether the request before does not stand whole at its head."""


@dataclass(slots=True)
class PricedRequests:
    """Successive requests of one conversation, added up."""

    prompt_tokens: int = 0
    unchanged_tokens: int = 0
    _previous: tuple[object, ...] = ()

    def add(self, parts: Sequence[object], sizes: Sequence[int]) -> Prefix:
        """The next request: its parts in order, such as system prompt, tools and messages, and their raw tokens.

        Equal parts must be equal bytes in the request.
        """
        n_same = 0
        for before, after in zip(self._previous, parts, strict=False):
            if before is not after and before != after:
                break
            n_same += 1
        prefix = Prefix(sum(sizes[:n_same]), sum(sizes), n_same < len(self._previous))
        self.prompt_tokens += prefix.total_tokens
        self.unchanged_tokens += prefix.kept_tokens
        self._previous = tuple(parts)
        return prefix

    @property
    def price(self) -> float:
        """In full-price tokens."""
        return CACHE_READ * self.unchanged_tokens + CACHE_WRITE * (self.prompt_tokens - self.unchanged_tokens)


@dataclass(slots=True)
class NewestFirst:
    """Plain truncation: as many of the newest exchanges as fit, whole and as they were said; the others are left out.

    An exchange that does not fit by itself is left out like those before it.
    """

    requests: PricedRequests = field(default_factory=PricedRequests)
    _exchanges: list[tuple[tuple[Content, ...], tuple[int, ...]]] = field(default_factory=list)

    def append(self, exchange: Sequence[Content], sizes: Sequence[int]) -> None:
        """What was said next, and the raw tokens of each message."""
        self._exchanges.append((tuple(exchange), tuple(sizes)))

    def request(self, head: Sequence[object], head_sizes: Sequence[int], room: int) -> Prefix:
        """The request of now: `head`, and what fits into `room` raw tokens, `head` among them."""
        left = room - sum(head_sizes)
        first = len(self._exchanges)
        while first > 0 and (size := sum(self._exchanges[first - 1][1])) <= left:
            left -= size
            first -= 1
        parts, sizes = list(head), list(head_sizes)
        for contents, counts in self._exchanges[first:]:
            parts += contents
            sizes += counts
        return self.requests.add(parts, sizes)
