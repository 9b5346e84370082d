"""What a model's service took for the parts of the last request, and so will take for the next one.

An estimator guesses each request from its size alone; prose, code and logs differ more than limits bear. But every
answer says what its request took as a whole, and requests of a conversation share most of their parts. What begins with
the measured request byte for byte took exactly that; only what was added is guessed, with a spread of its own. Where a
cut took parts away, each that is left counts as its share of what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.messages import Role

_START_SPREAD: Final = 0.12
"""Of text nobody measured, as a share of what is guessed for it, before a conversation has shown its own."""
_LEAST_SPREAD: Final = 0.02
_MOST_SPREAD: Final = 0.5
_SPREAD_GAIN: Final = 0.1
_SAFETY: Final = 1.2
"""On the spread, which is itself an estimate from a few requests."""
_SMALL_TOKENS: Final = 300
"""Below this a service's own tokens around a message hide the rest: the spread is measured as if it were this much."""
_BEFORE_SPREAD: Final = 300.0
"""Tokens. How far off the guess may be for what stands before the conversation, with what a service adds by itself."""
_IMAGE_SPREAD: Final = 0.02
"""Of what a formula says of pictures, as a share of it."""
_ROUNDING: Final = 16
"""Tokens that a request may differ in from the sum of its parts."""
_PRIOR_RAW: Final = 1_000
"""Raw tokens that the estimator's factor counts as, beside those that were measured; and the conversation's factor,
beside those of a kind."""
_REMEMBERED_RAW: Final = 50_000
"""Raw tokens of a kind after which what was measured of it counts 1/e."""
_FACTOR_LOW: Final = 0.5
_FACTOR_HIGH: Final = 2.0
"""Times the estimator's: where the factor of a kind may go."""
_PLAUSIBLE: Final = 3.0
"""Times the guess, either way: a service that says something else about what was added has changed what it counts."""


class Part(NamedTuple):
    """A stretch of a request. Its text is told by its place and its size: a summary that is written again to the very
    same size is taken for the old one, which is as large."""

    start: int
    """The first message it stands for; -1 for what stands before the conversation."""
    end: int
    raw_tokens: int
    kind: str = ""
    """What such texts have in common: who said it, or which tool."""
    image_tokens: int = 0
    """What its pictures take beside the text, in the model's own tokens, by the formula of its service."""


class Estimate(NamedTuple):
    """Of a request, in the model's tokens."""

    mean: int
    upper: int
    """Mean + 2 sigma."""


def whole_estimate(estimator: Estimator, raw_tokens: int, image_tokens: int) -> Estimate:
    """Of a request of which nothing was measured. `image_tokens`: what its pictures take by their formula; they are
    among `raw_tokens`."""
    texts = raw_tokens - image_tokens
    more = math.ceil(image_tokens * (1 + 2 * _IMAGE_SPREAD))
    return Estimate(estimator.mean(texts) + image_tokens, estimator.upper(texts) + more)


class _Share(NamedTuple):
    """What one part took of what was measured."""

    tokens: float
    variance: float


class _Kind(NamedTuple):
    """What the parts of one kind took, older ones discounted."""

    raw_tokens: float
    tokens: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one conversation with one model; empty where nothing was measured yet."""

    request: tuple[Part, ...] = ()
    """The one that was measured last."""
    real_tokens: int = 0
    """What it took."""
    shares: Mapping[Part, _Share] = field(default_factory=dict)
    """Of each of its parts."""
    kinds: Mapping[str, _Kind] = field(default_factory=dict)
    """What was measured of each kind."""
    spread: float = _START_SPREAD

    def estimate(self, parts: Sequence[Part], estimator: Estimator) -> Estimate:
        """Of a request of those parts. `estimator` guesses what was not measured."""
        known, variance = self._known(parts)
        guessed, guessed_variance = self._guess(parts, estimator)
        tokens, sigma = known + guessed, math.sqrt(variance + guessed_variance)
        if (told_otherwise := self._told_otherwise(parts, estimator)) is not None:
            tokens, sigma = min((tokens, sigma), told_otherwise, key=lambda each: each[1])
        mean = math.ceil(tokens)
        upper = mean + math.ceil(2 * sigma) + (_ROUNDING if parts != self.request else 0)
        if parts and tuple(parts) == self.request[: len(parts)]:
            # What the measured request began with takes no more than all of it: so what was sent can be sent again.
            most = math.ceil(self.real_tokens)
            return Estimate(min(mean, most), min(upper, most))
        return Estimate(mean, upper)

    def shares_of(self, parts: Sequence[Part], estimator: Estimator) -> list[float]:
        """What each of the parts of a request takes: as it was measured, or else as it is guessed. In the model's
        tokens, unrounded; the first part bears what a service adds to every request by itself."""
        usual, factors = self._factors(estimator)
        found = []
        for part in parts:
            if (share := self.shares.get(part)) is not None:
                found.append(share.tokens)
            else:
                guessed = factors.get(part.kind, usual) * part.raw_tokens + part.image_tokens
                found.append(guessed + estimator.overhead if part.start < 0 else guessed)
        return found

    def observe(self, parts: Sequence[Part], estimator: Estimator, real_tokens: int) -> Self:
        """With the word of its service about a request of those parts. A service that counts far too little (only what
        it did not cache, or nothing) is not believed at all: by its word a context would grow without end."""
        expected = estimator.mean(sum(part.raw_tokens for part in parts)) + sum(part.image_tokens for part in parts)
        if real_tokens < expected / _PLAUSIBLE - _SMALL_TOKENS:
            return type(self)()
        known, _ = self._known(parts)
        guessed, _ = self._guess(parts, estimator)
        found = real_tokens - known
        low, high = guessed / _PLAUSIBLE - _SMALL_TOKENS, guessed * _PLAUSIBLE + _SMALL_TOKENS
        base = self
        if self.request and not low <= found <= high:
            # The service counts otherwise than before (or no longer what it answers from its cache).
            return type(self)(spread=self.spread, kinds=self.kinds)
        if self._is_prefix_of(parts) and guessed > 0:
            error = (found - guessed) / max(guessed, _SMALL_TOKENS)
            squared = (1 - _SPREAD_GAIN) * self.spread**2 + _SPREAD_GAIN * error**2
            base = replace(self, spread=min(max(math.sqrt(squared), _LEAST_SPREAD), _MOST_SPREAD))
        shares = base._shared(parts, estimator, real_tokens)
        return replace(base, request=tuple(parts), real_tokens=real_tokens, shares=shares, kinds=base._learned(shares))

    def _is_prefix_of(self, parts: Sequence[Part]) -> bool:
        return bool(self.request) and tuple(parts[: len(self.request)]) == self.request

    def _told_otherwise(self, parts: Sequence[Part], estimator: Estimator) -> tuple[float, float] | None:
        """Tokens and sigma of a request that begins like the measured one but for what is told beside its messages:
        rules and recalled text stand now behind a user's message, now in front, now nowhere. Only they are guessed, so
        that what was sent once can be sent again. None for any other."""
        pairs = list(zip(self.request, parts, strict=False))
        if not self.request or len(pairs) < len(self.request):
            return None
        for old, new in pairs:
            is_same_place = (old.start, old.end, old.kind) == (new.start, new.end, new.kind)
            if old != new and not (is_same_place and (new.start < 0 or new.kind == Role.USER.value)):
                return None
        usual, _ = self._factors(estimator)
        rest = self._priors(parts[len(pairs) :], estimator)
        more = [new.raw_tokens - old.raw_tokens for old, new in pairs]
        tokens = self.real_tokens + usual * sum(more) + sum(each.tokens for each in rest)
        sigma = max(estimator.sigma, _SAFETY * self.spread * usual) * sum(map(abs, more))
        return tokens, sigma + sum(math.sqrt(each.variance) for each in rest)

    def _known(self, parts: Sequence[Part]) -> tuple[float, float]:
        """Tokens and variance of the parts that were measured."""
        if self._is_prefix_of(parts):
            return self.real_tokens, 0.0
        shares = [self.shares[part] for part in parts if part in self.shares]
        return sum(each.tokens for each in shares), sum(each.variance for each in shares)

    def _guess(self, parts: Sequence[Part], estimator: Estimator) -> tuple[float, float]:
        """The same of those that were not. Texts of one kind come together, so their errors add up."""
        priors = self._priors([part for part in parts if part not in self.shares], estimator)
        sigma = sum(math.sqrt(each.variance) for each in priors)
        return sum(each.tokens for each in priors), sigma**2

    def _factors(self, estimator: Estimator) -> tuple[float, Mapping[str, float]]:
        """For texts of any kind, and by kind: texts of one conversation, and the results of one tool, resemble each
        other more than others."""
        low, high = _FACTOR_LOW * estimator.factor, _FACTOR_HIGH * estimator.factor
        raw = sum(each.raw_tokens for each in self.kinds.values())
        tokens = sum(each.tokens for each in self.kinds.values())
        usual = (_PRIOR_RAW * estimator.factor + tokens) / (_PRIOR_RAW + raw)
        usual = min(max(usual, low), high)
        found = {name: (_PRIOR_RAW * usual + k.tokens) / (_PRIOR_RAW + k.raw_tokens) for name, k in self.kinds.items()}
        return usual, {name: min(max(factor, low), high) for name, factor in found.items()}

    def _priors(self, parts: Sequence[Part], estimator: Estimator) -> list[_Share]:
        """What is guessed for parts that were not measured."""
        usual, factors = self._factors(estimator)
        found = []
        for part in parts:
            factor = factors.get(part.kind, usual)
            sigma = max(estimator.sigma, _SAFETY * self.spread * factor) * part.raw_tokens
            sigma += _IMAGE_SPREAD * part.image_tokens
            tokens = factor * part.raw_tokens + part.image_tokens
            if part.start < 0:
                found.append(_Share(estimator.overhead + tokens, sigma**2 + _BEFORE_SPREAD**2))
            else:
                found.append(_Share(tokens, sigma**2))
        return found

    def _learned(self, shares: Mapping[Part, _Share]) -> dict[str, _Kind]:
        """The kinds with those of the parts that are measured for the first time."""
        kinds = dict(self.kinds)
        for part, share in shares.items():
            if part.start >= 0 and part not in self.shares:
                kept = math.exp(-part.raw_tokens / _REMEMBERED_RAW)
                raw, tokens = kinds.get(part.kind, (0.0, 0.0))
                of_text = max(share.tokens - part.image_tokens, 0.0)
                kinds[part.kind] = _Kind(raw * kept + part.raw_tokens, tokens * kept + of_text)
        return kinds

    def _shared(self, parts: Sequence[Part], estimator: Estimator, real_tokens: int) -> dict[Part, _Share]:
        """What was measured, among the parts: what the guess was off by goes where the guess was least sure."""
        fresh = [part for part in parts if part not in self.shares]
        guessed = dict(zip(fresh, self._priors(fresh, estimator), strict=True))
        priors = {part: guessed.get(part) or self.shares[part] for part in parts}
        if self._is_prefix_of(parts):
            rest = fresh
            left = real_tokens - self.real_tokens - sum(priors[part].tokens for part in rest)
        else:
            rest, left = list(parts), real_tokens - sum(each.tokens for each in priors.values())
        total = sum(priors[part].variance for part in rest)
        for part in rest:
            prior = priors[part]
            gain = prior.variance / total if total else 0.0
            priors[part] = _Share(max(prior.tokens + gain * left, 0.0), prior.variance * (1 - gain))
        return priors
