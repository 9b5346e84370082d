"""The price of a conversation's requests at a provider that caches prompts, and the price of plain truncation.

Prices are in full-price tokens: one is the price of a prompt token without a cache. A request reads its unchanged
beginning from the cache and writes the rest to it. Answers, and the requests for summaries, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.messages import Content

CACHE_READ: Final = 0.1
"""The price of a token that is read from the cache (Anthropic's price list of 2026)."""
CACHE_WRITE: Final = 1.25
"""The price of a token that is written to the cache."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The comparison of a request with the one before it. Tokens are raw."""

    kept_tokens: int
    """The tokens of the unchanged parts at its beginning."""
    total_tokens: int
    is_broken: bool
    """Whether the request does not begin with the whole request before it."""


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
        """The price in full-price tokens."""
        return CACHE_READ * self.unchanged_tokens + CACHE_WRITE * (self.prompt_tokens - self.unchanged_tokens)


@dataclass(slots=True)
class NewestFirst:
    """Plain truncation: the newest exchanges that fit, complete and verbatim. The others are left out.

    An exchange that does not fit alone is left out, with all before it.
    """

    requests: PricedRequests = field(default_factory=PricedRequests)
    _exchanges: list[tuple[tuple[Content, ...], tuple[int, ...]]] = field(default_factory=list)

    def append(self, exchange: Sequence[Content], sizes: Sequence[int]) -> None:
        """Add the next exchange, as the raw tokens of each message."""
        self._exchanges.append((tuple(exchange), tuple(sizes)))

    def request(self, head: Sequence[object], head_sizes: Sequence[int], room: int) -> Prefix:
        """The next request: `head` and the exchanges that fit into `room` raw tokens, which include those of `head`."""
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
