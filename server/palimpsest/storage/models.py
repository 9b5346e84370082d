"""Knowledge about models from their use: how their providers count, and which limits they have refused to exceed.

Both belong to a model of a service, not to a conversation, so no lease guards them: the last writer wins, and either
value is good.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from palimpsest.domain.context.calibration import Calibration, ModelKey
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.errors import ErrorKind
from palimpsest.storage.sql import execute

LEARNED_DAYS: Final = 30
"""How long a limit from an error counts."""


def read_calibration(key: ModelKey, family: Estimator) -> Calibration:
    """The stored calibration of `key`, within the bounds of `family`; the family's start when nothing is stored."""
    start = Calibration.start(key, family)
    row = execute(
        """SELECT overhead, factor, sigma, weight, mean_raw, variance_raw FROM calibration
        WHERE provider = ? AND model = ? AND tokenizer = ?""",
        *(key.provider, key.model, key.tokenizer),
    ).fetchone()
    if row is None:
        return start
    overhead, factor, sigma, weight, mean_raw, variance_raw = row
    return start.resumed(
        overhead=overhead, factor=factor, sigma=sigma, weight=weight, mean_raw=mean_raw, variance_raw=variance_raw
    )


def write_calibration(calibration: Calibration, now: str) -> None:
    """Stores the calibration in the place of an earlier one of the same key."""
    key = calibration.model_key
    execute(
        """INSERT OR REPLACE INTO calibration
        (provider, model, tokenizer, overhead, factor, sigma, weight, mean_raw, variance_raw, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        *(key.provider, key.model, key.tokenizer),
        *(calibration.overhead, calibration.factor, calibration.sigma),
        *(calibration.weight, calibration.mean_raw, calibration.variance_raw, now),
    )


def learned_limits(now: str) -> dict[str, int]:
    """The limits in tokens from errors in the 30 days before `now`, by `PROVIDER/MODEL`, with the provider's name of
    the model.

    `now` is UTC in ISO 8601, as every stored time is.
    """
    since = datetime.fromisoformat(now) - timedelta(days=LEARNED_DAYS)
    return {
        f"{provider}/{model}": max_input
        for provider, model, max_input, at in execute(
            "SELECT provider, model, max_input, learned_at FROM learned_limit"
        )
        if datetime.fromisoformat(at) > since
    }


def learn_limit(provider: str, model: str, max_input: int, now: str) -> None:
    """Stores the limit that an error of the provider named, in the place of an earlier one, larger or smaller."""
    if max_input < 1:
        raise ValueError("a learned limit is at least one token")
    execute(
        "INSERT OR REPLACE INTO learned_limit (provider, model, max_input, learned_at) VALUES (?, ?, ?, ?)",
        *(provider, model, max_input, now),
    )


def newest_error(model: str) -> ErrorKind | None:
    """The kind of error in which the newest ended turn with that model failed; None when it did not fail, or there is
    none."""
    row = execute(
        "SELECT error_kind FROM turn WHERE model = ? AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1", model
    ).fetchone()
    return None if row is None or row[0] is None else ErrorKind(row[0])
