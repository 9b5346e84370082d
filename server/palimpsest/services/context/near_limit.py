"""Asking a provider how long a request really is, where guessing is too close to the limit."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ProviderError
from palimpsest.domain.models.provider import LiveProvider, Provider

log = logging.getLogger(__name__)

NEAR_SHARE: Final = 20
"""Near is within one twentieth of the limit, on either side."""
_PATIENCE_S: Final = 5.0
"""The person who asked waits for this too."""


def is_near(mean_tokens: int, upper_tokens: int, limit_tokens: int) -> bool:
    """Whether a count could change what the estimate says. An estimate without a spread is a count already."""
    return upper_tokens > mean_tokens and abs(upper_tokens - limit_tokens) * NEAR_SHARE <= limit_tokens


async def counted(provider: Provider, context: PreparedContext) -> int | None:
    """The tokens of the request as its provider counts them.

    None when the estimate is not near the limit, when the provider cannot be asked, and when it failed or took too
    long: the upper estimate holds then.
    """
    if not is_near(context.estimated_tokens, context.upper_tokens, context.limit_tokens):
        return None
    if not isinstance(provider, LiveProvider):
        return None
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await provider.count_tokens(context)
    except ProviderError as error:
        log.info("%s did not count a request: %s", provider.name, error.kind)
    except TimeoutError:
        log.info("%s did not count a request in time", provider.name)
    return None
