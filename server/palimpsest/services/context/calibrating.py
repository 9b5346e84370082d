"""What answers teach about counting: each provider's own usage, fitted per model and kept in the store."""

from __future__ import annotations

from dataclasses import replace

from palimpsest.domain.context.calibration import Calibration, ModelKey, Observation
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.models.limits import Model
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
