"""What was learned about models: how their providers count, and what they refused.

Both belong to a model of a service, not to a conversation, so no lease guards them: the last writer wins, and either
answer is a good one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from palimpsest.domain.calibration import Calibration, ModelKey
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.tokens import Estimator
from palimpsest.storage import tables

LEARNED_DAYS: Final = 30
"""How long a limit counts that was learned from an error."""


def read_calibration(key: ModelKey, family: Estimator) -> Calibration:
    """What was learned for `key`, within the bounds of `family`; the family's start when nothing was."""
    start = Calibration.start(key, family)
    row = tables.Calibration.get_or_none(
        tables.Calibration.provider == key.provider,
        tables.Calibration.model == key.model,
        tables.Calibration.tokenizer == key.tokenizer,
    )
    if row is None:
        return start
    return start.resumed(
        overhead=row.overhead,
        factor=row.factor,
        sigma=row.sigma,
        weight=row.weight,
        mean_raw=row.mean_raw,
        variance_raw=row.variance_raw,
    )


def write_calibration(calibration: Calibration, now: str) -> None:
    """Replaces what was known of the same key."""
    key = calibration.model_key
    tables.Calibration.insert(
        provider=key.provider,
        model=key.model,
        tokenizer=key.tokenizer,
        overhead=calibration.overhead,
        factor=calibration.factor,
        sigma=calibration.sigma,
        weight=calibration.weight,
        mean_raw=calibration.mean_raw,
        variance_raw=calibration.variance_raw,
        updated_at=now,
    ).on_conflict_replace().execute()


def learned_limits(now: str) -> dict[str, int]:
    """Limits in tokens learned in the 30 days before `now`, by `PROVIDER/MODEL`, MODEL as its provider calls it.

    `now` is UTC in ISO 8601, as every stored time is.
    """
    since = datetime.fromisoformat(now) - timedelta(days=LEARNED_DAYS)
    return {
        f"{row.provider}/{row.model}": row.max_input
        for row in tables.LearnedLimit.select()
        if datetime.fromisoformat(row.learned_at) > since
    }


def learn_limit(provider: str, model: str, max_input: int, now: str) -> None:
    """`max_input` is what an error of the provider named. The newest word replaces an older one, larger or smaller."""
    if max_input < 1:
        raise ValueError("a learned limit is at least one token")
    tables.LearnedLimit.insert(
        provider=provider, model=model, max_input=max_input, learned_at=now
    ).on_conflict_replace().execute()


def newest_error(model: str) -> ErrorKind | None:
    """How the newest turn that ended was failed by the model of that name; None when it was not, or there is none."""
    row = (
        tables.Turn.select(tables.Turn.error_kind)
        .where(tables.Turn.model == model, tables.Turn.ended_at.is_null(False))
        .order_by(tables.Turn.ended_at.desc())
        .first()
    )
    return None if row is None or row.error_kind is None else ErrorKind(row.error_kind)
