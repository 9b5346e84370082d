"""What a provider counts for our raw counts: `real = overhead + factor x raw`, fitted to the usage it reports.

A weighted least-squares line with exponential forgetting, held as the line and two moments, so one row stores it. The
weight of an observation is its raw tokens: large requests are the ones that meet limits. Nothing here can leave its
bounds, so a provider that reports nonsense costs room, never a request that cannot be built.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Self

from palimpsest.domain.context.tokens import Estimator

FACTOR_LOW: Final = 0.5
FACTOR_HIGH: Final = 2.0
"""Times the family's start: where a factor may go."""
MAX_OVERHEAD: Final = 2_000
"""Tokens. What a service adds to each request on its own: about a page at most."""
TRUSTED_TOKENS: Final = 200_000
"""Weight from which the measured spread may go below the family's, and an outlier is told by it."""

_MEMORY: Final = 1_000_000
"""Tokens after which an observation counts 1/e."""
_MAX_WEIGHT: Final = 10_000
"""Of one observation: consecutive requests are mostly the same text, so a large one does not tell more."""
_START_WEIGHT: Final = 20_000
_START_RAW: Final = 10_000.0
_START_SPREAD: Final = 2_000.0
"""The family's start counts as observations of that weight, around that size."""
_MAX_GAIN: Final = 0.25
"""Of the difference to one observation that is taken over at once."""
_SMALL_RAW: Final = 500
"""Below this the overhead hides the factor: the spread is measured as if the request were this large."""
_OUTLIER: Final = 3.0
_IMPLAUSIBLE: Final = 1.5
"""Spreads from the line: what lies farther off pulls no more than this; less where no line within bounds could be."""
_SAFETY: Final = 1.35
"""On the measured spread, which is itself an estimate from a few dozen requests."""
_MIN_SIGMA: Final = 0.01
_MAX_SIGMA: Final = 0.5
"""Times the family's start: where a spread may go."""
_EXACT_SIGMA: Final = 0.005
"""The start of a family that counts exactly: small enough to stay within noise."""
EXACT_NOISE: Final = 0.005
_EXACT_SPREAD: Final = 0.01
"""How far the line of an exact family may be off, at the size of the requests seen, and how wide its spread may be,
before raw counts are no longer taken for the model's own. (The 5 % margin of a budget is larger by far.)"""


@dataclass(frozen=True, slots=True)
class ModelKey:
    """What a calibration is about. A raw count means nothing without its tokenizer."""

    provider: str
    model: str
    """What the provider calls it."""
    tokenizer: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One request, as we counted it and as its provider did."""

    raw_tokens: int
    real_tokens: int
    """Uncached + cache read + cache write; 0 where the provider did not say."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The line for one model, and how sure it is."""

    model_key: ModelKey
    family: Estimator
    """What was assumed before anything was observed; the bounds follow from it."""
    overhead: float
    factor: float
    sigma: float
    """Spread of real / raw around the line, as measured."""
    weight: float
    """Raw tokens seen, discounted by age, the start included."""
    mean_raw: float
    """Of the observations, weighted as they are."""
    variance_raw: float

    def __post_init__(self) -> None:
        low, high = _bounds(self.family)
        if not (low <= self.factor <= high and 0 <= self.overhead <= MAX_OVERHEAD):
            raise ValueError("a calibration left its bounds")

    @classmethod
    def start(cls, model_key: ModelKey, estimator: Estimator) -> Self:
        """Nothing observed yet: the family's own estimator."""
        return cls(
            model_key,
            estimator,
            overhead=_clamp(estimator.overhead, 0, MAX_OVERHEAD),
            factor=estimator.factor,
            sigma=estimator.sigma / _SAFETY or _EXACT_SIGMA * estimator.factor,
            weight=_START_WEIGHT,
            mean_raw=_START_RAW,
            variance_raw=_START_SPREAD**2,
        )

    def resumed(
        self, *, overhead: float, factor: float, sigma: float, weight: float, mean_raw: float, variance_raw: float
    ) -> Self:
        """A start with what was learned before. Clamped, because the table of families may have changed since."""
        low, high = _bounds(self.family)
        return replace(
            self,
            overhead=_clamp(overhead, 0, MAX_OVERHEAD),
            factor=_clamp(factor, low, high),
            sigma=_clamp(sigma, 0, _MAX_SIGMA * self.family.factor),
            weight=max(weight, 1.0),
            mean_raw=max(mean_raw, 1.0),
            variance_raw=max(variance_raw, 0.0),
        )

    def observe(self, observation: Observation) -> Self:
        """With one more request. Unchanged when the provider did not say what it took."""
        raw, real = observation.raw_tokens, observation.real_tokens
        if raw < 1 or real < 1:
            return self
        added = min(raw, _MAX_WEIGHT)
        weight = self.weight * math.exp(-added / _MEMORY) + added
        gain = min(_MAX_GAIN, added / weight)
        size = max(raw, _SMALL_RAW)
        error = real - self._line(raw)
        limit = math.inf if self.weight < TRUSTED_TOKENS else _OUTLIER * self._spread * size
        if not self._is_plausible(raw, real):
            limit = _IMPLAUSIBLE * self._spread * size
        error = _clamp(error, -limit, limit)

        distance = raw - self.mean_raw
        difference = self._line(raw) + error - self._line(self.mean_raw)
        mean_raw = self.mean_raw + gain * distance
        mean_real = self._line(self.mean_raw) + gain * difference
        variance = (1 - gain) * (self.variance_raw + gain * distance**2)
        covariance = (1 - gain) * (self.factor * self.variance_raw + gain * distance * difference)

        # The line always goes through the means, whatever the bounds do to its slope: it is right where requests are.
        low, high = _bounds(self.family)
        slope = _clamp(covariance / variance, low, high) if variance > 0 else self.factor
        overhead = _clamp(mean_real - slope * mean_raw, 0, MAX_OVERHEAD)
        factor = _clamp((mean_real - overhead) / mean_raw, low, high)
        left = real - (overhead + factor * raw)
        left = _clamp(left, -abs(error), abs(error))
        squared = (1 - gain) * self.sigma**2 + gain * abs(error * left) / size**2
        sigma = min(math.sqrt(squared), _MAX_SIGMA * self.family.factor)
        return replace(
            self,
            overhead=overhead,
            factor=factor,
            sigma=sigma,
            weight=weight,
            mean_raw=mean_raw,
            variance_raw=variance,
        )

    def to_estimator(self) -> Estimator:
        """What limits are tested with. A family that counts exactly stays exact while the line is within its noise."""
        if self.family == Estimator() and self._is_exact_within_noise:
            return self.family
        return Estimator(self.factor, self._spread, math.ceil(self.overhead))

    @property
    def _spread(self) -> float:
        """The sigma that may be relied on: with a safety, and never below the family's until enough was seen."""
        floor = _MIN_SIGMA * self.factor
        if self.weight < TRUSTED_TOKENS:
            floor = max(floor, self.family.sigma)
        return max(floor, _SAFETY * self.sigma)

    @property
    def _is_exact_within_noise(self) -> bool:
        off = self._line(self.mean_raw) / self.mean_raw - 1
        return abs(off) <= EXACT_NOISE and self.sigma <= _EXACT_SPREAD

    def _line(self, raw: float) -> float:
        return self.overhead + self.factor * raw

    def _is_plausible(self, raw: int, real: int) -> bool:
        """Whether any line within the bounds goes through it."""
        low, high = _bounds(self.family)
        return low * raw <= real <= MAX_OVERHEAD + high * raw


def _bounds(family: Estimator) -> tuple[float, float]:
    return FACTOR_LOW * family.factor, FACTOR_HIGH * family.factor


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
