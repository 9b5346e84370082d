"""Counting: what the services teach about it, and the exact count that is asked for near a limit.

Each answer reports its own usage, which is fitted for each model and kept in the store. Where the estimate is too close
to a limit, the service itself is asked.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Final

from palimpsest.domain.context.calibration import Calibration, ModelKey, Observation
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.errors import ProviderError
from palimpsest.domain.models.limits import Model
from palimpsest.domain.models.provider import LiveProvider, Provider
from palimpsest.machine import utc_now
from palimpsest.storage import models as stored
from palimpsest.storage.store import Store


def key_of(model: Model, tokenizer: str) -> ModelKey:
    """`tokenizer` is the one that really counts, which is `bytes` where no vocabulary could be loaded."""
    return ModelKey(model.provider, model.service_name, tokenizer)


async def calibrated(store: Store, model: Model, tokenizer: str) -> Model:
    """The model with what was learned of it; as it is where nothing was. Its own estimator is its family's."""
    calibration = await store.read(stored.read_calibration, key_of(model, tokenizer), model.estimator)
    return replace(model, estimator=calibration.to_estimator())


async def observe(store: Store, key: ModelKey, family: Estimator, raw_tokens: int, real_tokens: int) -> Estimator:
    """Learns from one answer: what a request of `raw_tokens` really took. The estimator from now on."""

    def learn() -> Calibration:
        calibration = stored.read_calibration(key, family).observe(Observation(raw_tokens, real_tokens))
        stored.write_calibration(calibration, utc_now())
        return calibration

    return (await store.run(learn)).to_estimator()


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
